//! Aggregations whose result is a row of the group or made of its texts: collapsing, joining, quantiles.

use crate::array::read_rows::ReadRows;
use crate::array::rows_out::RowsOut;
use crate::builtins::distinct::plain_key;
use crate::builtins::present::{Cell, Gathered, GroupsOf, Members, check_children};
use crate::builtins::strings::units::check_length;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::qtype::{FLOAT32, FLOAT64};
use crate::value::{ArrayRows, Fault, QType, ScalarType, ScalarValue, Value};
use crate::vector::order::{self, RowShare};
use crate::vector::select::Key;

/// Name of `array._collapse`.
pub const COLLAPSE: &str = "array._collapse";
/// Name of `math._inverse_cdf`.
pub const INVERSE_CDF: &str = "math._inverse_cdf";
/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            COLLAPSE,
            &["x", "*grouping"],
            "The row that all present rows of a group are, else missing.",
        )
        .cost_of(20)
        .raises()
        .on_demand(collapse),
        Family::new(
            "strings._agg_join",
            &["x", "*grouping"],
            "The present texts or bytes of a group, with a separator between.",
        )
        .cost_of(30)
        .raises()
        .on_demand(agg_join),
        Family::new(
            INVERSE_CDF,
            &["x", "*grouping"],
            "The least row of a group such that this share of the present rows is not above it; NaN if there is one. Raises unless the share is in 0 … 1.",
        )
        .cost_of(50)
        .raises()
        .on_demand(inverse_cdf),
    ]
}

/// One row for each group of rows; without an edge, of all rows, which is a single value if `all_to_scalar`.
fn each_group(
    family: &Family,
    args: &[QType],
    all_to_scalar: bool,
    f: impl Fn(&KernelCall<'_>, &ArrayRows, &Members<'_>) -> Result<Option<ScalarValue>, Fault>
    + Send
    + Sync
    + 'static,
) -> Option<Overload> {
    each_group_checked(family, args, all_to_scalar, |_| Ok(()), f)
}

/// The same with a look at the options first, which is taken where there are no groups, too.
fn each_group_checked(
    family: &Family,
    args: &[QType],
    all_to_scalar: bool,
    check: fn(&KernelCall<'_>) -> Result<(), Fault>,
    f: impl Fn(&KernelCall<'_>, &ArrayRows, &Members<'_>) -> Result<Option<ScalarValue>, Fault>
    + Send
    + Sync
    + 'static,
) -> Option<Overload> {
    let QType::Array(t) = *args.first()? else { return None };
    let edge = match args.get(1) {
        Some(QType::Edge(class) | QType::EdgeToScalar(class)) if *class == t.class => true,
        Some(QType::Edge(_) | QType::EdgeToScalar(_)) => return None,
        _ => false,
    };
    let to_scalar = matches!(args.get(1), Some(QType::EdgeToScalar(_))) || !edge && all_to_scalar;
    let result = if to_scalar { QType::Optional(t.element) } else { QType::Array(t) };
    Some(family.make_general(args, result, move |call| {
        let rows = call.array(0);
        if edge {
            check_children(rows.len(), call.edge(1))?;
        }
        check(call)?;
        let meter = call.meter();
        if to_scalar || !edge {
            let value = f(call, rows, &Members::Range(0..rows.len()))?;
            if to_scalar {
                call.set_value(&value.map_or(Value::Missing(t.element), Value::Present));
                return Ok(());
            }
            let mut out = call.array_out();
            out.start(t.element);
            return out.push(value.as_ref());
        }
        let groups = GroupsOf::new(call.edge(1), meter)?;
        // The rows leave the frame while arguments are read.
        let mut rows_out = std::mem::replace(call.array_rows_out(), ArrayRows::new(t.element));
        rows_out.start(t.element);
        let mut out = RowsOut::new(&mut rows_out, meter);
        let mut pace = meter.pace();
        let filled = groups.iter().try_for_each(|group| {
            pace.over(group.count() + 1)?;
            out.push(f(call, rows, &group)?.as_ref())
        });
        *call.array_rows_out() = rows_out;
        filled
    }))
}

/// The present rows of a group, with polls.
fn each_present(
    call: &KernelCall<'_>,
    rows: &ArrayRows,
    group: &Members<'_>,
    mut f: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for stride in call.meter().strides(group.count()) {
        stride?.map(|place| group.row(place)).filter(|row| rows.is_present(*row)).try_for_each(&mut f)?;
    }
    Ok(())
}

fn collapse(family: &Family, args: &[QType]) -> Option<Overload> {
    (args.len() <= 2).then_some(())?;
    each_group(family, args, false, |call, rows, group| {
        let (mut first, mut is_one) = (None, true);
        each_present(call, rows, group, |row| {
            let first = *first.get_or_insert(row);
            is_one &= match plain_key(rows, row) {
                None => rows.raw(first) == rows.raw(row),
                key => plain_key(rows, first) == key,
            };
            Ok(())
        })?;
        Ok(first.filter(|_| is_one).and_then(|row| rows.get(row)))
    })
}

fn agg_join(family: &Family, args: &[QType]) -> Option<Overload> {
    let QType::Array(t) = args.first()? else { return None };
    let is_joined = matches!(t.element, ScalarType::Text | ScalarType::Bytes);
    (is_joined && *args.last()? == QType::Scalar(t.element)).then_some(())?;
    let element = t.element;
    each_group(family, args, false, move |call, rows, group| {
        let separator = call.value(call.len() - 1)?;
        let separator: &[u8] = match separator.scalar() {
            Some(ScalarValue::Text(text)) => text.as_bytes(),
            Some(ScalarValue::Bytes(bytes)) => bytes,
            _ => &[],
        };
        let mut joined: Option<Vec<u8>> = None;
        each_present(call, rows, group, |row| {
            let text = rows.raw(row);
            match &mut joined {
                None => joined = Some(text.to_vec()),
                Some(joined) => {
                    check_length(joined.len() + separator.len() + text.len())?;
                    joined.extend_from_slice(separator);
                    joined.extend_from_slice(text);
                }
            }
            Ok(())
        })?;
        Ok(joined.map(|joined| ScalarValue::of_cell(element, &joined)))
    })
}

fn inverse_cdf(family: &Family, args: &[QType]) -> Option<Overload> {
    let QType::Array(t) = args.first()? else { return None };
    (t.element.is_numeric() && matches!(*args.last()?, FLOAT32 | FLOAT64)).then_some(())?;
    let check = |call: &KernelCall<'_>| asked_share(call).map(|_| ());
    each_group_checked(family, args, true, check, |call, rows, group| match rows.element() {
        ScalarType::Int32 => Ok(share_of(call, rows, group)?.map(ScalarValue::Int32)),
        ScalarType::Int64 => Ok(share_of(call, rows, group)?.map(ScalarValue::Int64)),
        ScalarType::Float32 => Ok(share_of(call, rows, group)?.map(ScalarValue::Float32)),
        _ => Ok(share_of(call, rows, group)?.map(ScalarValue::Float64)),
    })
}

/// The share that an operator of quantiles is asked for.
fn asked_share(call: &KernelCall<'_>) -> Result<RowShare, Fault> {
    let last = call.len() - 1;
    let share = match *call.qtype(last) {
        FLOAT32 => RowShare::Single(call.plain::<f32>(last)),
        _ => RowShare::Double(call.plain::<f64>(last)),
    };
    match (0.0..=1.0).contains(&share.value()) {
        true => Ok(share),
        false => Err(Fault::Range { message: format!("cdf_arg must be in [0, 1], got {}", share.value()) }),
    }
}

/// The least present row of a group such that a share of the rows is not above it.
fn share_of<T: Cell + Key>(
    call: &KernelCall<'_>,
    rows: &ArrayRows,
    group: &Members<'_>,
) -> Result<Option<T>, Fault> {
    let (meter, share) = (call.meter(), asked_share(call)?);
    let mut gathered = Gathered::<T>::new(meter, call.arena())?;
    let present = gathered.present(ReadRows::kept(rows), group.clone(), meter)?;
    let value = order::inverse_cdf(present.values(), share, &|| meter.stop());
    meter.poll()?;
    Ok(value)
}
