//! Arrays made of values and of other arrays, rows taken by groups, and sizes of shapes.

use crate::array::row_moves::row_number;
use crate::array::rows_out::RowsOut;
use crate::builtins::edge::fill_rows;
use crate::builtins::present::{GroupsOf, check_children};
use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::broadcast::check_count;
use crate::value::budget::Account;
use crate::value::qtype::INT64;
use crate::value::{ArrayClass, ArrayRows, ArrayType, Fault, QType, ScalarType, Value};

/// Name of `array._make_dense_array`.
pub const MAKE_DENSE_ARRAY: &str = "array._make_dense_array";
/// Name of `array._interleave`.
pub const INTERLEAVE: &str = "array._interleave";
/// Name of `array._of_class`.
pub const AS_DENSE_ARRAY: &str = "array._as_dense_array";
/// Name of `array._as_array`.
pub const AS_ARRAY: &str = "array._as_array";
/// Name of `array._take_over`.
pub const TAKE_OVER: &str = "array._take_over";
/// Name of `array._resize_shape`.
pub const RESIZE_SHAPE: &str = "array._resize_shape";
/// Name of `array._array_shape`.
pub const ARRAY_SHAPE: &str = "array._array_shape";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(MAKE_DENSE_ARRAY, &["*values"], "A dense array with a row for each of the values.")
            .cost_of(10)
            .on_demand(make_dense_array),
        Family::new(
            INTERLEAVE,
            &["*arrays"],
            "The first rows of all arrays, then their second ones, and so on.",
        )
        .cost_of(10)
        .raises()
        .on_demand(interleave),
        Family::new(AS_DENSE_ARRAY, &["x"], "The rows as a dense array.")
            .cost_of(10)
            .on_demand(|family, args| of_class(family, args, ArrayClass::Dense)),
        Family::new(AS_ARRAY, &["x"], "The rows as an array.")
            .cost_of(10)
            .on_demand(|family, args| of_class(family, args, ArrayClass::Array)),
        Family::new(
            TAKE_OVER,
            &["x", "ids", "over", "ids_over"],
            "The rows of these numbers in their groups. Raises if there is no such row.",
        )
        .cost_of(20)
        .raises()
        .on_demand(take_over),
        Family::new("array.array_shape_size", &["array_shape"], "The number of rows of a shape.")
            .on_demand(shape_size),
        Family::new(
            RESIZE_SHAPE,
            &["array_shape", "size"],
            "The shape of this many rows, of the same family.",
        )
        .raises()
        .on_demand(resize_shape),
        Family::new(ARRAY_SHAPE, &["size"], "The shape of this many rows of an array.")
            .raises()
            .exact_general(&[INT64], QType::ArrayShape(ArrayClass::Array), |call| {
                set_shape(call, 0, ArrayClass::Array)
            }),
    ]
}

/// The overload for scalars and optionals of one type.
fn make_dense_array(family: &Family, args: &[QType]) -> Option<Overload> {
    let element = args.first()?.scalar()?;
    if args.iter().any(|arg| arg.scalar() != Some(element)) {
        return None;
    }
    let result = QType::Array(ArrayType { class: ArrayClass::Dense, element });
    Some(family.make_general(args, result, move |call| {
        let rows = call.len();
        call.charge_rows(rows)?;
        // The rows leave the frame while arguments are read.
        let mut made = std::mem::replace(call.array_rows_out(), ArrayRows::new(element));
        let mut out = RowsOut::new(&mut made, call.meter());
        out.start(element);
        let pushed = (0..rows).try_for_each(|index| out.push(call.value(index)?.scalar()));
        *call.array_rows_out() = made;
        pushed
    }))
}

fn interleave(family: &Family, args: &[QType]) -> Option<Overload> {
    let QType::Array(t) = args.first()? else { return None };
    let element = t.element;
    args.iter().all(|arg| *arg == args[0]).then(|| {
        family.make_general(args, args[0].clone(), move |call| {
            let (count, rows) = (call.len(), call.array(0).len());
            let sizes: Vec<usize> = (0..count).map(|index| call.array(index).len()).collect();
            if sizes.iter().any(|size| *size != rows) {
                return Err(Fault::Sizes { sizes: sizes.into_iter().map(|size| size as u64).collect() });
            }
            let all = rows.saturating_mul(count);
            check_count(&[all])?;
            call.charge_rows(all)?;
            let (arrays, meter) =
                ((0..count).map(|index| call.array(index)).collect::<Vec<_>>(), call.meter());
            let mut out = call.array_out();
            out.start(element);
            out.reserve(all)?;
            for stride in meter.strides(rows) {
                for row in stride? {
                    arrays.iter().try_for_each(|array| out.push_row_of(array, row))?;
                }
            }
            out.normalize();
            Ok(())
        })
    })
}

fn of_class(family: &Family, args: &[QType], class: ArrayClass) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    let result = QType::Array(ArrayType { class, element: t.element });
    Some(family.make_general(args, result, |call| {
        let rows = call.array(0);
        call.array_out().join(&[(rows, 0..rows.len())])
    }))
}

/// The overload for two edges to arrays of groups, or two to scalars.
fn take_over(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(x), QType::Array(ids), over, ids_over] = args else { return None };
    let are_edges = match over {
        QType::Edge(class) | QType::EdgeToScalar(class) => *class == x.class && x.class == ids.class,
        _ => false,
    };
    (are_edges && over == ids_over && ids.element == ScalarType::Int64)
        .then(|| family.make_general(args, args[0].clone(), take_in_groups))
}

fn take_in_groups(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (rows, ids, over, ids_over) = (call.array(0), call.array(1), call.edge(2), call.edge(3));
    check_children(rows.len(), over)?;
    check_children(ids.len(), ids_over)?;
    if over.parent_size() != ids_over.parent_size() {
        return Err(Fault::Sizes { sizes: vec![over.parent_size() as u64, ids_over.parent_size() as u64] });
    }
    call.charge_rows(ids.len())?;
    let meter = call.meter();
    let (groups, groups_of_ids) = (GroupsOf::new(over, meter)?, GroupsOf::new(ids_over, meter)?);
    let numbers = fill_rows(meter, |numbers| {
        let mut out = RowsOut::new(numbers, meter);
        out.resize(ScalarType::Int64, ids.len())?;
        let (cells, presence) = out.parts()?;
        let cells: &mut [i64] = bytemuck::cast_slice_mut(cells);
        presence.fill(0);
        let wanted: &[i64] = &bytemuck::cast_slice(ids.bytes())[..ids.len()];
        let mut pace = meter.pace();
        for (members, of_ids) in groups.iter().zip(groups_of_ids.iter()) {
            pace.over(1)?;
            for place in 0..of_ids.count() {
                pace.over(1)?;
                let row = of_ids.row(place);
                if ids.is_present(row) {
                    cells[row] = members.row(row_number(wanted[row], members.count())?) as i64;
                    presence[row / ROWS_OF_A_WORD] |= 1 << (row % ROWS_OF_A_WORD);
                }
            }
        }
        out.normalize();
        Ok(())
    })?;
    let outcome = call.array_out().take(rows, &numbers);
    meter.give_back(numbers.heap_bytes());
    outcome
}

fn shape_size(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(_)] = args else { return None };
    Some(family.make_general(args, INT64, |call| {
        let Value::ArrayShape(_, rows) = call.value(0)? else { unreachable!("the row says so") };
        call.set_plain(rows as i64);
        Ok(())
    }))
}

fn resize_shape(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class), size] = args else { return None };
    let class = *class;
    (*size == INT64)
        .then(|| family.make_general(args, args[0].clone(), move |call| set_shape(call, 1, class)))
}

fn set_shape(call: &mut KernelCall<'_>, size: usize, class: ArrayClass) -> Result<(), Fault> {
    let size = call.plain::<i64>(size);
    let rows = u64::try_from(size)
        .map_err(|_| Fault::Range { message: format!("bad shape: size {size} is below 0") })?;
    call.set_value(&Value::ArrayShape(class, rows));
    Ok(())
}
