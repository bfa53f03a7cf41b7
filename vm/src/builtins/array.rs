//! `array.*`: rows chosen, ordered and counted; arrays of a shape.

use crate::operator::{Call, Family, Overload};
use crate::value::array::MAX_ROWS;
use crate::value::qtype::{BOOLEAN, INT64};
use crate::value::{ArrayClass, ArrayRows, ArrayType, Fault, QType, ScalarType, ScalarValue, Value};
use std::collections::HashSet;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new("array.at", &["x", "i"], "Row i. Raises if there is no such row.").raises().on_demand(at),
        Family::new("array.take", &["x", "ids"], "The rows of these numbers. Raises if there is no such row.")
            .cost_of(10)
            .raises()
            .on_demand(take),
        Family::new(
            "array.slice",
            &["x", "offset", "size"],
            "`size` rows from `offset` on, to the end if size is -1. Raises if there are not so many.",
        )
        .cost_of(10)
        .raises()
        .on_demand(slice),
        Family::new("array.select", &["x", "fltr"], "The rows where the mask is present.")
            .cost_of(10)
            .raises()
            .on_demand(select),
        Family::new("array.present_indices", &["x"], "Numbers of the present rows.")
            .cost_of(10)
            .on_demand(present_indices),
        Family::new("array.present_values", &["x"], "The present rows.").cost_of(10).on_demand(present_values),
        Family::new("array.concat", &["x", "y"], "The rows of x, then those of y.").cost_of(10).on_demand(concat),
        Family::new("array.unique", &["x"], "The present rows without repetition, in order of first appearance.")
            .cost_of(30)
            .on_demand(unique),
        Family::new(
            "array.inverse_mapping",
            &["x"],
            "The number of the row that holds each number. Raises if the rows are not distinct numbers of rows.",
        )
        .cost_of(20)
        .raises()
        .on_demand(inverse_mapping),
        Family::new(
            "math.searchsorted",
            &["haystack", "needle", "right"],
            "How many rows of a sorted array are below the needle, or with `right` not above it.",
        )
        .cost_of(20)
        .on_demand(search),
        Family::new("array._shape_of", &["x"], "The number of rows, as a shape.").on_demand(shape_of),
        Family::new("array._shape", &["size"], "The shape of this many rows. Raises if there are fewer than 0.")
            .raises()
            .exact_general(&[INT64], QType::ArrayShape(ArrayClass::Dense), shape),
        Family::new("array.iota", &["shape"], "The numbers 0, 1, … of the rows of a shape.")
            .cost_of(10)
            .on_demand(iota),
        Family::new("array._of_shape", &["shape", "x"], "The rows of x. Raises if there are not as many as the shape says.")
            .raises()
            .on_demand(of_shape),
        Family::new("array._const", &["shape", "value"], "The value in every row of a shape.")
            .cost_of(10)
            .on_demand(constant),
    ]
}

fn refuse(message: String) -> Fault {
    Fault::Range { message }
}

/// Fills an array result.
fn filling(
    family: &Family,
    args: &[QType],
    result: QType,
    fill: impl Fn(&Call<'_>, &mut ArrayRows) -> Result<(), Fault> + Send + Sync + 'static,
) -> Overload {
    let element = result.element().expect("the result is an array");
    family.make_general(args, result, move |call| {
        // The rows leave the frame while arguments are read.
        let mut out = std::mem::replace(call.array_out(), ArrayRows::new(element));
        out.start(element);
        let filled = fill(call, &mut out);
        *call.array_out() = out;
        filled
    })
}

fn row_number(index: i64, len: usize) -> Result<usize, Fault> {
    let row = usize::try_from(index).ok().filter(|row| *row < len);
    row.ok_or_else(|| refuse(format!("array index {index} out of range [0, {len})")))
}

fn at(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), index] = args else { return None };
    if index.scalar() != Some(ScalarType::Int64) {
        return None;
    }
    let element = t.element;
    Some(family.make_general(args, QType::Optional(element), move |call| {
        let rows = call.array(0);
        let index = match call.qtype(1).is_optional() {
            true => call.plain::<Option<i64>>(1),
            false => Some(call.plain::<i64>(1)),
        };
        let row = index.map(|index| row_number(index, rows.len())).transpose()?;
        let value = row.and_then(|row| rows.get(row));
        call.set_value(&value.map_or(Value::Missing(element), Value::Present));
        Ok(())
    }))
}

fn take(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(x), QType::Array(ids)] = args else { return None };
    (ids.element == ScalarType::Int64 && x.class == ids.class).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let (rows, ids) = (call.array(0), call.array(1));
            for id in ids.iter() {
                match id.and_then(|id| id.as_i64()) {
                    Some(id) => out.push_row_of(rows, row_number(id, rows.len())?),
                    None => out.push_missing(),
                }
            }
            Ok(())
        })
    })
}

fn slice(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(_), offset, size] = args else { return None };
    (*offset == INT64 && *size == INT64).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let rows = call.array(0);
            let (offset, size) = (call.plain::<i64>(1), call.plain::<i64>(2));
            let len = rows.len() as i64;
            if !(0..=len).contains(&offset) {
                return Err(refuse(format!("expected `offset` in [0, {len}], but got {offset}")));
            }
            let left = len - offset;
            if !(-1..=left).contains(&size) {
                return Err(refuse(format!("expected `size` in [0, {left}], but got {size}")));
            }
            let size = if size < 0 { left } else { size };
            (offset..offset + size).for_each(|row| out.push_row_of(rows, row as usize));
            Ok(())
        })
    })
}

fn select(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(x), QType::Array(mask)] = args else { return None };
    (mask.element == ScalarType::Unit && x.class == mask.class).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let (rows, mask) = (call.array(0), call.array(1));
            if rows.len() != mask.len() {
                return Err(Fault::Sizes { sizes: vec![rows.len() as u64, mask.len() as u64] });
            }
            (0..rows.len()).filter(|row| mask.is_present(*row)).for_each(|row| out.push_row_of(rows, row));
            Ok(())
        })
    })
}

fn present_indices(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    Some(filling(family, args, QType::Array(t.of(ScalarType::Int64)), |call, out| {
        let rows = call.array(0);
        let present = (0..rows.len()).filter(|row| rows.is_present(*row));
        present.for_each(|row| out.push_value(&ScalarValue::Int64(row as i64)));
        Ok(())
    }))
}

fn present_values(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(_)] = args else { return None };
    Some(filling(family, args, args[0].clone(), |call, out| {
        let rows = call.array(0);
        (0..rows.len()).filter(|row| rows.is_present(*row)).for_each(|row| out.push_row_of(rows, row));
        Ok(())
    }))
}

fn concat(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(x), QType::Array(y)] = args else { return None };
    (x == y).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            check_rows((call.array(0).len() + call.array(1).len()) as u64)?;
            for rows in [call.array(0), call.array(1)] {
                (0..rows.len()).for_each(|row| out.push_row_of(rows, row));
            }
            Ok(())
        })
    })
}

fn unique(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(_)] = args else { return None };
    Some(filling(family, args, args[0].clone(), |call, out| {
        let rows = call.array(0);
        let mut seen = HashSet::new();
        for (row, value) in rows.iter().enumerate() {
            if value.is_some_and(|value| seen.insert(value)) {
                out.push_row_of(rows, row);
            }
        }
        Ok(())
    }))
}

fn inverse_mapping(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    (t.element == ScalarType::Int64).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let rows = call.array(0);
            let mut inverse: Vec<Option<i64>> = vec![None; rows.len()];
            for (row, value) in rows.iter().enumerate() {
                let Some(target) = value.and_then(|v| v.as_i64()) else { continue };
                let place = usize::try_from(target).ok().and_then(|target| inverse.get_mut(target));
                let place = place.ok_or_else(|| {
                    refuse(format!(
                        "invalid permutation, element {target} is out of range [0, {})",
                        rows.len()
                    ))
                })?;
                if place.replace(row as i64).is_some() {
                    return Err(refuse(format!(
                        "invalid permutation, element {target} appears twice in the permutation"
                    )));
                }
            }
            for row in inverse {
                out.push(row.map(ScalarValue::Int64).as_ref());
            }
            Ok(())
        })
    })
}

fn search(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), QType::Scalar(needle), right] = args else { return None };
    macro_rules! kernel {
        ($rust:ty) => {
            family.make_general(args, INT64, |call| {
                let (rows, right) = (call.array(0), call.plain::<bool>(2));
                let needle = call.plain::<$rust>(1);
                let cells: &[$rust] = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
                let below = cells.partition_point(|x| *x < needle || (right && *x == needle));
                call.set_plain(below as i64);
                Ok(())
            })
        };
    }
    if t.element != *needle || *right != BOOLEAN {
        return None;
    }
    Some(match t.element {
        ScalarType::Int32 => kernel!(i32),
        ScalarType::Int64 => kernel!(i64),
        ScalarType::Float32 => kernel!(f32),
        ScalarType::Float64 => kernel!(f64),
        _ => return None,
    })
}

fn shape_of(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    let class = t.class;
    Some(family.make_general(args, QType::ArrayShape(class), move |call| {
        call.set_value(&Value::ArrayShape(class, call.array(0).len() as u64));
        Ok(())
    }))
}

fn shape(call: &mut Call<'_>) -> Result<(), Fault> {
    let QType::ArrayShape(class) = *call.result_type() else { unreachable!("the row says so") };
    let size = call.plain::<i64>(0);
    let rows = u64::try_from(size).map_err(|_| refuse(format!("bad shape: size {size} is below 0")))?;
    call.set_value(&Value::ArrayShape(class, rows));
    Ok(())
}

fn check_rows(rows: u64) -> Result<(), Fault> {
    match rows > MAX_ROWS as u64 {
        true => Err(Fault::Limit { limit: "array-rows", actual: rows, maximum: MAX_ROWS as u64 }),
        false => Ok(()),
    }
}

fn rows_of_shape(call: &Call<'_>) -> Result<usize, Fault> {
    match call.value(0) {
        Value::ArrayShape(_, size) => check_rows(size).map(|()| size as usize),
        other => panic!("{other} is no shape"),
    }
}

fn iota(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class)] = args else { return None };
    let result = QType::Array(ArrayType { class: *class, element: ScalarType::Int64 });
    Some(filling(family, args, result, |call, out| {
        (0..rows_of_shape(call)?).for_each(|row| out.push_value(&ScalarValue::Int64(row as i64)));
        Ok(())
    }))
}

fn of_shape(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class), QType::Array(t)] = args else { return None };
    (*class == t.class).then(|| {
        family.make_general(args, args[1].clone(), |call| {
            let (shape, rows) = (rows_of_shape(call)?, call.array(1).len());
            if shape != rows {
                return Err(Fault::Sizes { sizes: vec![shape as u64, rows as u64] });
            }
            call.copy(1);
            Ok(())
        })
    })
}

fn constant(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class), value] = args else { return None };
    let result = QType::Array(ArrayType { class: *class, element: value.scalar()? });
    Some(filling(family, args, result, |call, out| {
        let value = call.value(1);
        for _ in 0..rows_of_shape(call)? {
            out.push(value.scalar());
        }
        Ok(())
    }))
}
