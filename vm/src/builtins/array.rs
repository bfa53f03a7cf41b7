//! `array.*`: rows chosen, ordered and counted; arrays of a shape.

use crate::array::read_rows::ReadRows;
use crate::array::row_moves::{chosen, each_chosen, row_number};
use crate::array::rows_out::RowsOut;
use crate::builtins::distinct::Distinct;
use crate::operator::operand_view::OperandView;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::cell_size;
use crate::value::qtype::{BOOLEAN, INT64};
use crate::value::{ArrayClass, ArrayRows, ArrayType, Fault, QType, ScalarType, ScalarValue, Value};
use bytemuck::Pod;
use std::ops::Range;

/// Name of `array.at`.
pub const AT: &str = "array.at";
/// Name of `array.take`.
pub const TAKE: &str = "array.take";
/// Name of `array.slice`.
pub const SLICE: &str = "array.slice";
/// Name of `array.select`.
pub const SELECT: &str = "array.select";
/// Name of `array.present_indices`.
pub const PRESENT_INDICES: &str = "array.present_indices";
/// Name of `array.present_values`.
pub const PRESENT_VALUES: &str = "array.present_values";
/// Name of `array.concat`.
pub const CONCAT: &str = "array.concat";
/// Name of `array.unique`.
pub const UNIQUE: &str = "array.unique";
/// Name of `array.inverse_mapping`.
pub const INVERSE_MAPPING: &str = "array.inverse_mapping";
/// Name of `math.searchsorted`.
pub const SEARCHSORTED: &str = "math.searchsorted";
/// Name of `array._shape`.
pub const SHAPE_OF_SIZE: &str = "array._shape";
/// Name of `array.iota`.
pub const IOTA: &str = "array.iota";
/// Name of `array._const`.
pub const CONST: &str = "array._const";
/// Name of `array._of_shape`.
pub const OF_SHAPE: &str = "array._of_shape";
/// Name of `array._shape_of`.
pub const SHAPE_OF: &str = "array._shape_of";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(AT, &["x", "i"], "Row i. Raises if there is no such row.").raises().on_demand(at),
        Family::new(TAKE, &["x", "ids"], "The rows of these numbers. Raises if there is no such row.")
            .cost_of(10)
            .raises()
            .by_rows_of(1)
            .on_demand(take),
        Family::new(
            SLICE,
            &["x", "offset", "size"],
            "`size` rows from `offset` on, to the end if size is -1. Raises if there are not so many.",
        )
        .cost_of(10)
        .raises()
        .on_demand(slice),
        Family::new(SELECT, &["x", "fltr"], "The rows where the mask is present.")
            .cost_of(10)
            .raises()
            .on_demand(select),
        Family::new(PRESENT_INDICES, &["x"], "Numbers of the present rows.")
            .cost_of(10)
            .on_demand(present_indices),
        Family::new(PRESENT_VALUES, &["x"], "The present rows.").cost_of(10).on_demand(present_values),
        Family::new(CONCAT, &["x", "y"], "The rows of x, then those of y.").cost_of(10).on_demand(concat),
        Family::new(UNIQUE, &["x"], "The present rows without repetition, in order of first appearance. Zeros of both signs are one value, and so are all NaN.")
            .cost_of(30)
            .on_demand(unique),
        Family::new(
            INVERSE_MAPPING,
            &["x"],
            "The number of the row that holds each number. Raises if the rows are not distinct numbers of rows.",
        )
        .cost_of(20)
        .raises()
        .on_demand(inverse_mapping),
        Family::new(
            SEARCHSORTED,
            &["haystack", "needle", "right"],
            "How many rows of a sorted array are below the needle, or with `right` not above it; a row for each of several needles.",
        )
        .cost_of(20)
        .on_demand(search),
        Family::new(SHAPE_OF, &["x"], "The number of rows, as a shape.").on_demand(shape_of),
        Family::new(SHAPE_OF_SIZE, &["size"], "The shape of this many rows. Raises if there are fewer than 0.")
            .raises()
            .exact_general(&[INT64], QType::ArrayShape(ArrayClass::Dense), shape),
        Family::new(IOTA, &["shape"], "The numbers 0, 1, … of the rows of a shape.")
            .cost_of(10)
            .on_demand(iota),
        Family::new(OF_SHAPE, &["shape", "x"], "The rows of x. Raises if there are not as many as the shape says.")
            .raises()
            .on_demand(of_shape),
        Family::new(CONST, &["shape", "value"], "The value in every row of a shape.")
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
    fill: impl Fn(&mut KernelCall<'_>, &mut RowsOut<'_>) -> Result<(), Fault> + Send + Sync + 'static,
) -> Overload {
    let element = result.element().expect("the result is an array");
    family.make_general(args, result, move |call| {
        // The rows leave the frame while arguments are read.
        let mut rows = std::mem::replace(call.array_rows_out(), ArrayRows::new(element));
        rows.start(element);
        let filled = fill(call, &mut RowsOut::new(&mut rows, call.meter()));
        *call.array_rows_out() = rows;
        filled
    })
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
    (ids.element == ScalarType::Int64).then(|| {
        let overload = filling(family, args, QType::Array(ids.of(x.element)), |call, out| {
            let (rows, ids) = (call.array(0), call.array(1));
            call.charge_rows(ids.len())?;
            out.take(rows, ids)
        });
        choosing(overload, x.element)
    })
}

/// The overload, whose result regions may read where rows of its first operand are chosen, if they have cells.
pub(super) fn choosing(overload: Overload, element: ScalarType) -> Overload {
    match cell_size(element) {
        0 => overload,
        _ => overload.viewing(OperandView::Chosen),
    }
}

fn slice(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), offset, size] = args else { return None };
    (*offset == INT64 && *size == INT64).then(|| {
        let overload = filling(family, args, args[0].clone(), |call, out| {
            let rows = call.array(0);
            let part = part(rows.len(), [call.plain(1), call.plain(2)])?;
            out.join(&[(rows, part)])
        });
        match cell_size(t.element) {
            0 => overload,
            _ => overload.viewing(OperandView::Rows(part)),
        }
    })
}

/// The rows of a slice.
fn part(len: usize, [offset, size]: [i64; 2]) -> Result<Range<usize>, Fault> {
    let len = len as i64;
    if !(0..=len).contains(&offset) {
        return Err(refuse(format!("expected `offset` in [0, {len}], but got {offset}")));
    }
    let left = len - offset;
    if !(-1..=left).contains(&size) {
        return Err(refuse(format!("expected `size` in [0, {left}], but got {size}")));
    }
    let size = if size < 0 { left } else { size };
    Ok(offset as usize..(offset + size) as usize)
}

fn select(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(x), QType::Array(mask)] = args else { return None };
    (mask.element == ScalarType::Unit && x.class == mask.class).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let (rows, mask) = (call.array(0), call.array(1));
            if rows.len() != mask.len() {
                return Err(Fault::Sizes { sizes: vec![rows.len() as u64, mask.len() as u64] });
            }
            out.choose(rows, mask)
        })
    })
}

fn present_indices(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    Some(filling(family, args, QType::Array(t.of(ScalarType::Int64)), |call, out| {
        let rows = call.array(0);
        out.resize_for_kernel(ScalarType::Int64, chosen(rows))?;
        let mut numbers = bytemuck::cast_slice_mut::<_, i64>(out.bytes_mut()).iter_mut();
        each_chosen(&ReadRows::kept(rows), call.meter(), |row| {
            numbers.next().into_iter().for_each(|number| *number = row as i64);
            Ok(())
        })
    }))
}

fn present_values(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(_)] = args else { return None };
    Some(filling(family, args, args[0].clone(), |call, out| out.choose(call.array(0), call.array(0))))
}

fn concat(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(x), QType::Array(y)] = args else { return None };
    (x == y).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let (x, y) = (call.array(0), call.array(1));
            call.charge_rows(x.len() + y.len())?;
            out.join(&[(x, 0..x.len()), (y, 0..y.len())])
        })
    })
}

fn unique(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(_)] = args else { return None };
    Some(filling(family, args, args[0].clone(), |call, out| {
        let rows = call.array(0);
        let mut seen = Distinct::new(rows, call.meter())?;
        seen.number(&mut [])?;
        out.gather(rows, seen.firsts())
    }))
}

fn inverse_mapping(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    (t.element == ScalarType::Int64).then(|| {
        filling(family, args, args[0].clone(), |call, out| {
            let rows = call.array(0);
            // Numbers of rows from 1; 0 where there is none yet.
            let mut inverse = call.meter().zeros::<u32>(rows.len())?;
            for stride in call.meter().strides(rows.len()) {
                for row in stride? {
                    let Some(target) = rows.get(row).and_then(|v| v.as_i64()) else { continue };
                    let place = usize::try_from(target).ok().and_then(|target| inverse.get_mut(target));
                    let place = place.ok_or_else(|| {
                        refuse(format!(
                            "invalid permutation, element {target} is out of range [0, {})",
                            rows.len()
                        ))
                    })?;
                    if std::mem::replace(place, row as u32 + 1) > 0 {
                        return Err(refuse(format!(
                            "invalid permutation, element {target} appears twice in the permutation"
                        )));
                    }
                }
            }
            out.reserve(rows.len())?;
            for stride in call.meter().strides(rows.len()) {
                for row in inverse[stride?].iter().map(|number| number.checked_sub(1)) {
                    out.push(row.map(|row| ScalarValue::Int64(i64::from(row))).as_ref())?;
                }
            }
            Ok(())
        })
    })
}

fn search(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), needle, right] = args else { return None };
    if needle.array().map_or(needle.scalar(), |of| Some(of.element)) != Some(t.element)
        || needle.is_optional()
        || *right != BOOLEAN
    {
        return None;
    }
    let of_needles = needle.array().map(|needles| QType::Array(needles.of(ScalarType::Int64)));
    macro_rules! kernel {
        ($rust:ty) => {
            match &of_needles {
                Some(result) => family.make_general(args, result.clone(), search_rows::<$rust>),
                None => family.make_general(args, INT64, |call| {
                    let place = place_of(call.array(0), call.plain::<$rust>(1), call.plain::<bool>(2));
                    call.set_plain(place);
                    Ok(())
                }),
            }
        };
    }
    Some(match t.element {
        ScalarType::Int32 => kernel!(i32),
        ScalarType::Int64 => kernel!(i64),
        ScalarType::Float32 => kernel!(f32),
        ScalarType::Float64 => kernel!(f64),
        _ => return None,
    })
}

/// How many rows of a sorted array are below a needle, or not above it.
fn place_of<T: Pod + PartialOrd>(rows: &ArrayRows, needle: T, right: bool) -> i64 {
    let cells: &[T] = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
    cells.partition_point(|x| *x < needle || (right && *x == needle)) as i64
}

/// The same of each row of an array of needles.
fn search_rows<T: Pod + PartialOrd>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (rows, needles, right) = (call.array(0), call.array(1), call.plain::<bool>(2));
    let meter = call.meter();
    let mut out = call.rows_out(ScalarType::Int64, needles.len())?;
    let places: &mut [i64] = bytemuck::cast_slice_mut(out.bytes_mut());
    let wanted: &[T] = &bytemuck::cast_slice(needles.bytes())[..needles.len()];
    for stride in meter.strides(needles.len()) {
        for needle in stride? {
            places[needle] = place_of(rows, wanted[needle], right);
        }
    }
    if let Some(words) = needles.presence() {
        out.presence_mut()?.copy_from_slice(words);
    }
    Ok(())
}

fn shape_of(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    let class = t.class;
    let shape = family.make_general(args, QType::ArrayShape(class), move |call| {
        call.set_value(&Value::ArrayShape(class, call.rows(0).len() as u64));
        Ok(())
    });
    Some(shape.reading_lent())
}

fn shape(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let QType::ArrayShape(class) = *call.result_type() else { unreachable!("the row says so") };
    let size = call.plain::<i64>(0);
    let rows = u64::try_from(size).map_err(|_| refuse(format!("bad shape: size {size} is below 0")))?;
    call.set_value(&Value::ArrayShape(class, rows));
    Ok(())
}

fn rows_of_shape(call: &KernelCall<'_>) -> Result<usize, Fault> {
    match call.value(0)? {
        Value::ArrayShape(_, size) => {
            let rows = usize::try_from(size).unwrap_or(usize::MAX);
            call.meter().check_array(rows).map(|()| rows)
        }
        other => panic!("{other} is no shape"),
    }
}

fn iota(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class)] = args else { return None };
    let result = QType::Array(ArrayType { class: *class, element: ScalarType::Int64 });
    Some(filling(family, args, result, |call, out| {
        let rows = rows_of_shape(call)?;
        call.charge_rows(rows)?;
        out.resize(ScalarType::Int64, rows)?;
        let cells: &mut [i64] = bytemuck::cast_slice_mut(out.bytes_mut());
        for stride in call.meter().strides(rows) {
            for row in stride? {
                cells[row] = row as i64;
            }
        }
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
            call.copy(1)
        })
    })
}

fn constant(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class), value] = args else { return None };
    let result = QType::Array(ArrayType { class: *class, element: value.scalar()? });
    Some(filling(family, args, result, |call, out| {
        let value = call.value(1)?;
        let rows = rows_of_shape(call)?;
        call.charge_rows(rows)?;
        out.repeat(value.scalar(), rows)
    }))
}
