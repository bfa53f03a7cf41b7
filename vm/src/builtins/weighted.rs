//! Shares of weights: `math.cdf` with weights.
//!
//! ```text
//! x        3    1    2    1        in order   1    1    2    3
//! weights  .1   .2   .3   .4       summed     .2   .6   .9   1.
//! result   1.   .6   .9   .6
//! ```

use crate::array::meter::Meter;
use crate::array::rows_out::RowsOut;
use crate::builtins::present::{GroupsOf, Members, check_children};
use crate::layout::access::PlainScalar;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::{ArrayRows, Fault, QType, ScalarType};
use crate::vector::order::{self, Place};
use crate::vector::select::Key;
use crate::vector::spread::SummedFloat;
use bytemuck::Pod;

/// Name of `math._weighted_cdf`.
pub const WEIGHTED_CDF: &str = "math._weighted_cdf";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            WEIGHTED_CDF,
            &["x", "weights", "*grouping"],
            "Share of the weights of the rows that are not above the row, of those where both are present; NaN for all if a row is NaN.",
        )
        .cost_of(40)
        .on_demand(weighted_cdf),
    ]
}

fn weighted_cdf(family: &Family, args: &[QType]) -> Option<Overload> {
    let (x, weights) = match args {
        [x, weights] => (x, weights),
        [x, weights, edge] if is_edge_of(edge, x) => (x, weights),
        _ => return None,
    };
    if x != weights {
        return None;
    }
    Some(match x.array()?.element {
        ScalarType::Float32 => family.make_general(args, x.clone(), shares::<f32>),
        ScalarType::Float64 => family.make_general(args, x.clone(), shares::<f64>),
        _ => return None,
    })
}

fn is_edge_of(edge: &QType, rows: &QType) -> bool {
    let class = rows.array().map(|t| t.class);
    matches!(edge, QType::Edge(of) | QType::EdgeToScalar(of) if Some(*of) == class)
}

/// A float that is added in FLOAT64.
trait Weight: Key + Pod + PlainScalar + SummedFloat + Into<f64> {}

impl Weight for f32 {}
impl Weight for f64 {}

/// Two arrays of floats with a row for each other.
struct Weighted<'a, T> {
    rows: [&'a ArrayRows; 2],
    x: &'a [T],
    weights: &'a [T],
}

fn shares<T: Weight>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (rows, meter) = ([call.array(0), call.array(1)], call.meter());
    let count = rows[0].len();
    if rows[1].len() != count {
        return Err(Fault::Sizes { sizes: vec![count as u64, rows[1].len() as u64] });
    }
    let edge = (call.len() > 2).then(|| call.edge(2));
    if let Some(edge) = edge {
        check_children(count, edge)?;
    }
    let cells = |index: usize| &bytemuck::cast_slice::<_, T>(rows[index].bytes())[..count];
    let weighted = Weighted { rows, x: cells(0), weights: cells(1) };
    let mut out = call.array_out();
    out.resize(T::SCALAR, count)?;
    out.presence_mut()?.fill(0);
    match edge {
        None => weighted.write(Members::Range(0..count), &mut out, meter)?,
        Some(edge) => {
            let groups = GroupsOf::new(edge, meter)?;
            groups.iter().try_for_each(|members| weighted.write(members, &mut out, meter))?;
        }
    }
    out.normalize();
    Ok(())
}

impl<T: Weight> Weighted<'_, T> {
    /// Writes the shares of the rows of a group.
    fn write(&self, members: Members<'_>, out: &mut RowsOut<'_>, meter: &Meter<'_>) -> Result<(), Fault> {
        let mut places = meter.vec::<Place>(members.count())?;
        for stride in meter.strides(members.count()) {
            for row in stride?.map(|place| members.row(place)) {
                if self.rows.iter().all(|rows| rows.is_present(row)) {
                    places.push((order::key(self.x[row], false), row as u32));
                }
            }
        }
        let mut spare = meter.zeros::<Place>(places.len())?;
        order::sort(&mut places, &mut spare, &|| meter.stop());
        meter.poll()?;
        let Some(last) = places.last() else { return Ok(()) };
        let has_nan = self.x[last.1 as usize].is_nan();
        let weight = |place: &Place| -> f64 { self.weights[place.1 as usize].into() };
        let total = match has_nan {
            true => f64::NAN,
            false => places.iter().fold(0.0, |sum, place| sum + weight(place)),
        };
        let (mut sum, mut first, mut pace) = (0.0, 0, meter.pace());
        while let Some(place) = places.get(first) {
            // Equal rows have one share.
            let end = first + places[first..].iter().take_while(|other| other.0 == place.0).count();
            sum = places[first..end].iter().fold(sum, |sum, place| sum + weight(place));
            let share = T::of(sum / total);
            places[first..end].iter().try_for_each(|place| out.put_plain(place.1 as usize, share))?;
            pace.over(end - first)?;
            first = end;
        }
        Ok(())
    }
}
