//! Scans: a row for each row of an array, by the rows of its group before it or all of them.
//!
//! ```text
//! rows of a group     3  -  1  2        present values 3 1 2, at places 0 2 3
//! scanned             3     4  6        what a function makes of the values
//! result              3  -  4  6        put where they stood
//! ```
//!
//! Floats are added in double and rounded to their type row by row; integers stay what they are.
//!
//! A scan that knows of a group's rows only a sum, the greatest or how many there were takes the rows of all groups
//! as they come (`vm/src/array/group_scan.rs`). Running sums and numbers of all rows are members of regions (`vm/src/array/scan.rs`).

use crate::array::group_ranges::scan_ranges;
use crate::array::group_scan::{GroupScan, scan_groups};
use crate::array::meter::{Meter, Scratch};
use crate::array::scan::{Running, ScanKernel, TOGETHER, scan_rows};
use crate::builtins::present::{Cell, Gathered, GroupsOf, Present, Unit, check_children, with_number};
use crate::builtins::rows_so_far::{RowsSoFar, RunningMax, RunningSum};
use crate::operator::general::GeneralKernel;
use crate::operator::{Family, Kernel, KernelCall};
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::edge::Parents;
use crate::value::qtype::{BOOLEAN, FLOAT64};
use crate::value::{Fault, QType, ScalarType};
use crate::vector::math::dispatch::unary_rows;
use crate::vector::math::lanes::Exp;
use crate::vector::order::{self, Place};
use crate::vector::select::Key;
use crate::vector::spread::SummedFloat;
use bytemuck::Pod;

/// Name of `array._ordinal_rank`.
pub const ORDINAL_RANK: &str = "array._ordinal_rank";
/// Name of `array._dense_rank`.
pub const DENSE_RANK: &str = "array._dense_rank";
/// Name of `math._cdf`.
pub const CDF: &str = "math._cdf";
/// Name of `math._softmax`.
pub const SOFTMAX: &str = "math._softmax";
/// Name of `math._cum_sum`.
pub const CUM_SUM: &str = "math._cum_sum";
/// Name of `math._cum_max`.
pub const CUM_MAX: &str = "math._cum_max";
/// Name of `array._cum_count`.
pub const CUM_COUNT: &str = "array._cum_count";
/// Name of `array._agg_index`.
pub const ROW_OF_GROUP: &str = "array._agg_index";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        family(CUM_SUM, "Sum of the present rows up to this one. Integers wrap.", None, numbers, |element| {
            match element {
                ScalarType::Int32 => Some(sums::<i32>()),
                ScalarType::Int64 => Some(sums::<i64>()),
                ScalarType::Float32 => Some(sums::<f32>()),
                ScalarType::Float64 => Some(sums::<f64>()),
                _ => None,
            }
        }),
        family(
            CUM_MAX,
            "The greatest present row up to this one; NaN from the first NaN on.",
            None,
            numbers,
            |element| {
                Some(with_number!(element, T => {
                    in_turn::<_, _, RunningMax>(one_by_one::<T, RunningMax>).over_rows::<T, RunningMax>(Running::Greatest)
                }))
            },
        ),
        family(CUM_COUNT, "Number of present rows up to this one.", None, counts, |_| {
            let scan = in_turn::<_, _, RowsSoFar<false>>(|of: Group<'_, Unit, i64>| {
                write(of, |value| value as i64 + 1)
            });
            Some(scan.over_rows::<Unit, RowsSoFar<false>>(Running::Present))
        }),
        family(ROW_OF_GROUP, "Number of the row in its group.", None, counts, |_| {
            let scan = in_turn::<_, _, RowsSoFar<true>>(|of: Group<'_, Unit, i64>| {
                let rows = of.rows;
                write(of, |value| rows.place(value))
            });
            Some(scan.over_rows::<Unit, RowsSoFar<true>>(Running::Before))
        }),
        family(
            ORDINAL_RANK,
            "Place of each present row in their order; of equal rows the first comes first, NaN comes last.",
            Some(BOOLEAN),
            ranks,
            |element| Some(with_number!(element, T => kernel(ordinal::<T>))),
        ),
        family(
            DENSE_RANK,
            "Place of each present row among the distinct values in their order; NaN comes last, and each is a value of its own.",
            Some(BOOLEAN),
            ranks,
            |element| Some(with_number!(element, T => kernel(dense::<T>))),
        ),
        family(
            CDF,
            "Share of the present rows that are not above the row; NaN for all if there is one.",
            None,
            shares,
            |element| match element {
                ScalarType::Int32 => Some(kernel(share::<i32, f64>)),
                ScalarType::Int64 => Some(kernel(share::<i64, f64>)),
                ScalarType::Float32 => Some(kernel(share::<f32, f32>)),
                ScalarType::Float64 => Some(kernel(share::<f64, f64>)),
                _ => None,
            },
        ),
        family(
            SOFTMAX,
            "exp(beta * (x - max)), over the sum of it for all present rows.",
            Some(FLOAT64),
            shares,
            |element| match element {
                ScalarType::Int32 => Some(kernel(|of: Group<'_, i32, f64>| softmax(of, f64::from))),
                ScalarType::Int64 => Some(kernel(|of: Group<'_, i64, f64>| softmax(of, |x| x as f64))),
                ScalarType::Float32 => Some(kernel(|of: Group<'_, f32, f32>| softmax(of, f64::from))),
                ScalarType::Float64 => Some(kernel(|of: Group<'_, f64, f64>| softmax(of, |x| x))),
                _ => None,
            },
        ),
    ]
}

/// Numbers of the type of the rows.
fn numbers(element: ScalarType) -> ScalarType {
    element
}

/// By where rows are present.
fn counts(_: ScalarType) -> ScalarType {
    ScalarType::Int64
}

/// By the order of the rows.
fn ranks(_: ScalarType) -> ScalarType {
    ScalarType::Int64
}

/// Shares of integers are FLOAT64.
fn shares(element: ScalarType) -> ScalarType {
    if element.is_float() { element } else { ScalarType::Float64 }
}

/// The code of a scan over an array, or by the edge behind it, with an option.
type WholeScan = Box<dyn Fn(&mut KernelCall<'_>, bool, f64) -> Result<(), Fault> + Send + Sync>;

/// The code of a scan.
struct ScanCode {
    whole: WholeScan,
    /// Over blocks of an array.
    rows: Option<ScanKernel>,
}

impl ScanCode {
    /// The same with code over blocks of rows.
    fn over_rows<T: Copy, S: GroupScan<T>>(self, running: Running) -> ScanCode {
        ScanCode { rows: Some(ScanKernel::of_rows::<T, S>(running)), ..self }
    }
}

/// What a scan makes of the present rows of a group: a result for each.
type Scan<T, R> = fn(Group<'_, T, R>) -> Result<(), Fault>;

/// The present rows of a group, the option, and room for the results.
struct Group<'a, T, R> {
    rows: &'a Present<'a, T>,
    option: f64,
    out: &'a mut [R],
    meter: &'a Meter<'a>,
}

fn kernel<T: Cell + 'static, R: Pod>(scan: Scan<T, R>) -> ScanCode {
    ScanCode { whole: Box::new(move |call, has_edge, option| run(call, has_edge, option, scan)), rows: None }
}

/// The same of a scan that may take the rows of all groups as they come.
fn in_turn<T: Cell + 'static, R: Pod, S: GroupScan<T, Out = R>>(scan: Scan<T, R>) -> ScanCode {
    let whole: WholeScan =
        Box::new(move |call, has_edge, option| match has_edge && run_as_they_come::<T, S>(call)? {
            true => Ok(()),
            false => run(call, has_edge, option, scan),
        });
    ScanCode { whole, rows: None }
}

/// Running sums.
fn sums<T: Cell + Pod>() -> ScanCode
where
    RunningSum: GroupScan<T, Out = T>,
{
    in_turn::<T, T, RunningSum>(one_by_one::<T, RunningSum>).over_rows::<T, RunningSum>(Running::Sum)
}

/// An operator of an array, perhaps an edge, and perhaps an option of a type.
fn family(
    name: &str,
    meaning: &str,
    option: Option<QType>,
    result: fn(ScalarType) -> ScalarType,
    code: fn(ScalarType) -> Option<ScanCode>,
) -> Family {
    Family::new(name, &["x", "*grouping"], meaning).cost_of(30).on_demand(move |family, args| {
        let (QType::Array(t), rest) = args.split_first()? else { return None };
        let has_edge = rest.first().is_some_and(QType::is_edge);
        let rest = if has_edge { &rest[1..] } else { rest };
        if rest.len() > 1 || rest.first() != option.as_ref() {
            return None;
        }
        let ScanCode { whole: scan, rows } = code(t.element)?;
        // An edge may have another number of children than the array has rows.
        let family = if has_edge { family.clone().raises() } else { family.clone() };
        let whole = GeneralKernel::new(move |call| {
            let last = call.len() - 1;
            let option = match call.qtype(last) {
                qtype if *qtype == BOOLEAN => f64::from(u8::from(call.plain::<bool>(last))),
                qtype if qtype.storage() == FLOAT64 => call.plain::<f64>(last),
                _ => 0.0,
            };
            scan(call, has_edge, option)
        });
        let has_cells = t.element == ScalarType::Unit || t.element.is_plain();
        let kernel = match rows.filter(|_| args.len() == 1 && has_cells) {
            Some(scan) => Kernel::Scan { whole, scan },
            None => Kernel::General(whole),
        };
        Some(family.make(args, QType::Array(t.of(result(t.element))), kernel).reading_lent())
    })
}

fn run<T: Cell, R: Pod>(
    call: &mut KernelCall<'_>,
    has_edge: bool,
    option: f64,
    scan: Scan<T, R>,
) -> Result<(), Fault> {
    let (rows, meter) = (call.rows(0), call.meter());
    let edge = has_edge.then(|| call.edge(1));
    edge.map_or(Ok(()), |edge| check_children(rows.len(), edge))?;
    let element = call.result_type().element().expect("the result is an array");
    let arena = call.arena();
    let mut out = call.rows_out(element, rows.len())?;
    let (cells, presence) = out.parts()?;
    let cells: &mut [R] = bytemuck::cast_slice_mut(cells);
    let mut gathered = Gathered::<T>::new(meter, arena)?;
    if edge.is_none() && rows.are_all_present() {
        let all = gathered.of_all(rows, meter)?;
        scan(Group { rows: &all, option, out: &mut cells[..all.len()], meter })?;
        out.normalize();
        return Ok(());
    }
    presence.fill(0);
    let mut results = meter.vec::<R>(0)?;
    let mut group = |present: &Present<'_, T>, row_at: &dyn Fn(usize) -> usize| {
        results.reset(present.len())?;
        scan(Group { rows: present, option, out: &mut results, meter })?;
        for stride in meter.strides(present.len()) {
            for value in stride? {
                let row = row_at(present.place(value) as usize);
                cells[row] = results[value];
                presence[row / ROWS_OF_A_WORD] |= 1 << (row % ROWS_OF_A_WORD);
            }
        }
        Ok::<(), Fault>(())
    };
    match edge {
        None => group(&gathered.of_all(rows, meter)?, &|row| row)?,
        Some(edge) => {
            let groups = GroupsOf::new(edge, meter)?;
            for members in groups.iter() {
                let present = gathered.present(rows, members.clone(), meter)?;
                group(&present, &|place| members.row(place))?;
            }
        }
    }
    out.normalize();
    Ok(())
}

/// Takes the rows of all groups as they come; `false`, and nothing is done, if they are not one after the other, or the parent is
/// no row.
fn run_as_they_come<T: Cell, S: GroupScan<T>>(call: &mut KernelCall<'_>) -> Result<bool, Fault> {
    let (rows, edge, meter) = (call.rows(0), call.edge(1), call.meter());
    check_children(rows.len(), edge)?;
    let alike = T::alike(rows.len());
    let cells = alike.as_deref().or_else(|| T::all(&rows));
    let (Some(cells), Some(parents)) = (cells, edge.parents()) else { return Ok(false) };
    let element = call.result_type().element().expect("the result is an array");
    let mut out = call.rows_out(element, rows.len())?;
    let (results, presence) = out.parts()?;
    let results = &mut bytemuck::cast_slice_mut(results)[..rows.len()];
    match parents {
        Parents::Stored(parents) => {
            scan_groups::<T, S>((cells, &rows), (parents, edge.parent_size()), (results, presence), meter)?;
        }
        Parents::Points(points) => scan_ranges::<T, S>((cells, &rows), points, (results, presence), meter)?,
    }
    out.normalize();
    Ok(true)
}

/// Writes a result for each value.
fn write<T, R>(of: Group<'_, T, R>, f: impl Fn(usize) -> R) -> Result<(), Fault> {
    let Group { rows, out, meter, .. } = of;
    for stride in meter.strides(rows.len()) {
        for value in stride? {
            out[value] = f(value);
        }
    }
    Ok(())
}

/// Rows one after the other.
fn one_by_one<T: Copy, S: GroupScan<T>>(of: Group<'_, T, S::Out>) -> Result<(), Fault> {
    let Group { rows: x, out, meter, .. } = of;
    let mut state = S::START;
    for stride in meter.strides(x.len()) {
        let stride = stride?;
        scan_rows::<T, S>(&mut state, &x.values()[stride.clone()], &mut out[stride]);
    }
    Ok(())
}

/// The places of values in their order, and the room that sorting took: to be kept until all is done, since nobody asks
/// while gigabytes are given back.
fn sorted<'m, T: Key>(
    x: &Present<'_, T>,
    descending: bool,
    meter: &'m Meter<'m>,
) -> Result<(Scratch<'m, Place>, Scratch<'m, Place>), Fault> {
    let keys = x.values().iter().map(|value| order::key(*value, descending));
    let mut places = meter.collect(keys.zip(0..x.len() as u32))?;
    let mut spare = meter.zeros::<Place>(places.len())?;
    order::sort(&mut places, &mut spare, &|| meter.stop());
    meter.poll()?;
    Ok((places, spare))
}

fn ordinal<T: Key>(of: Group<'_, T, i64>) -> Result<(), Fault> {
    let Group { rows: x, option: descending, out, meter } = of;
    let (places, _spare) = sorted(x, descending != 0.0, meter)?;
    for stride in meter.strides(places.len()) {
        for rank in stride? {
            out[places[rank].1 as usize] = rank as i64;
        }
    }
    Ok(())
}

fn dense<T: Key>(of: Group<'_, T, i64>) -> Result<(), Fault> {
    let Group { rows: x, option: descending, out, meter } = of;
    let (places, _spare) = sorted(x, descending != 0.0, meter)?;
    let mut ranks = order::dense(&places, x.values());
    for stride in meter.strides(places.len()) {
        for (place, rank) in places[stride?].iter().zip(&mut ranks) {
            out[place.1 as usize] = i64::from(rank);
        }
    }
    Ok(())
}

/// From the greatest down, equal values share the number of all that are not above them; NaN comes last.
fn share<T: Key, R: SummedFloat>(of: Group<'_, T, R>) -> Result<(), Fault> {
    let Group { rows: x, option, out, meter } = of;
    let (places, _spare) = sorted(x, false, meter)?;
    if places.last().is_some_and(|last| x.values()[last.1 as usize].is_nan()) {
        return write(Group { rows: x, option, out, meter }, |_| R::of(f64::NAN));
    }
    let (count, mut end) = (places.len(), places.len());
    for stride in meter.strides(count) {
        for index in stride?.map(|step| count - 1 - step) {
            let (key, value) = places[index];
            if index + 1 < count && key != places[index + 1].0 {
                end = index + 1;
            }
            out[value as usize] = R::of(end as f64 / count as f64);
        }
    }
    Ok(())
}

/// Exponents whose powers are made together.
const EXPONENTS: usize = 256;

fn softmax<T: Copy, R: SummedFloat + Default>(
    of: Group<'_, T, R>,
    real: impl Fn(T) -> f64,
) -> Result<(), Fault> {
    let Group { rows: x, option: beta, out, meter } = of;
    let mut max = f64::NEG_INFINITY;
    for stride in meter.strides(x.len()) {
        for values in x.values()[stride?].chunks(TOGETHER) {
            // As above: most values are below one that was met before.
            if !values.iter().fold(true, |is_last, value| is_last & (real(*value) <= max)) {
                max = values.iter().fold(max, |max, value| max.max(real(*value)));
            }
        }
    }
    let (mut powers, mut sum) = (meter.zeros::<f64>(x.len())?, 0.0);
    for stride in meter.strides(x.len()) {
        let stride = stride?;
        let chunks = x.values()[stride.clone()].chunks(EXPONENTS).zip(powers[stride].chunks_mut(EXPONENTS));
        for (values, powers) in chunks {
            let mut exponents = [0.0; EXPONENTS];
            let exponents = &mut exponents[..values.len()];
            values.iter().zip(&mut *exponents).for_each(|(value, out)| *out = beta * (real(*value) - max));
            unary_rows::<Exp, f64>(exponents, powers);
            sum = powers.iter().fold(sum, |sum, power| sum + power);
        }
    }
    write(Group { rows: x, option: beta, out, meter }, |value| R::of(powers[value] / sum))
}
