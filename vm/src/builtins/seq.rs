//! `seq.*`: sequences of plain scalars.
//!
//! `seq.reduce` has no row here: the compiler turns it into a loop over `seq.size` and `seq.at`.

use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::cell_size;
use crate::value::qtype::{INT64, OPTIONAL_UNIT};
use crate::value::{ArrayClass, ArrayType, Fault, QType, ScalarType, ScalarValue, Value};

/// Name of `seq.at`.
pub const AT: &str = "seq.at";
/// Name of `seq.size`.
pub const SIZE: &str = "seq.size";

/// Name of `seq._repeat`.
pub const REPEAT: &str = "seq._repeat";
/// Name of `seq._rows`.
pub const ROWS: &str = "seq._rows";
/// Name of `seq._of_rows`.
pub const OF_ROWS: &str = "seq._of_rows";

/// Elements a sequence may have: 8 bytes each, 128 MiB in all.
pub const MAX_ELEMENTS: u64 = 1 << 24;

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            "seq._range",
            &["start", "stop", "step"],
            "The INT64 numbers start, start + step, … before stop. Raises for a zero step or too many elements.",
        )
        .raises()
        .exact_general(&[INT64, INT64, INT64], QType::Sequence(ScalarType::Int64), range),
        Family::new(SIZE, &["seq"], "Number of elements.").on_demand(|family, args| {
            let [QType::Sequence(_)] = args else { return None };
            Some(family.make_general(args, INT64, |call| {
                let size = call.sequence(0).len() as i64;
                call.set::<i64>(size);
                Ok(())
            }))
        }),
        Family::new(AT, &["seq", "i"], "The element at position i, from 0. Raises outside the sequence.")
            .raises()
            .on_demand(at),
        Family::new(
            "seq.slice",
            &["seq", "start", "stop"],
            "The elements from `start` on, before `stop`; numbers below 0 count from the end.",
        )
        .on_demand(slice),
        Family::new("seq.make", &["*elements"], "A sequence of the values, which have one plain scalar type.")
            .on_demand(make),
        Family::new("seq.all_equal", &["seq"], "Present if all elements are equal; NaN equals nothing.")
            .cost_of(5)
            .on_demand(all_equal),
        Family::new(REPEAT, &["value", "n"], "The value n times; none if n is below 0. Raises for too many elements.")
            .cost_of(5)
            .raises()
            .on_demand(repeat),
        Family::new(ROWS, &["seq"], "The elements as the rows of a dense array.").cost_of(5).on_demand(rows_of),
        Family::new(OF_ROWS, &["x"], "The rows of a dense array as a sequence. Raises if one is missing.")
            .cost_of(5)
            .raises()
            .on_demand(of_rows),
    ]
}

fn range(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (start, stop, step) = (call.get::<i64>(0), call.get::<i64>(1), call.get::<i64>(2));
    if step == 0 {
        return Err(Fault::Host { message: "seq.range expects a step other than 0".to_owned() });
    }
    let span =
        if step > 0 { i128::from(stop) - i128::from(start) } else { i128::from(start) - i128::from(stop) };
    let count = (span.max(0) as u128).div_ceil(u128::from(step.unsigned_abs()));
    if count > u128::from(MAX_ELEMENTS) {
        let actual = u64::try_from(count).unwrap_or(u64::MAX);
        return Err(Fault::Limit { limit: "sequence-elements", actual, maximum: MAX_ELEMENTS });
    }
    let cells = call.sequence_room(count as usize)?;
    // Every element lies between start and stop; only i * step may wrap, and the sum wraps it back.
    cells.extend((0..count as i64).map(|i| start.wrapping_add(i.wrapping_mul(step)) as u64));
    Ok(())
}

fn at(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Sequence(element), QType::Scalar(ScalarType::Int64)] = args else { return None };
    let element = *element;
    Some(family.make_general(args, QType::Scalar(element), move |call| {
        let (cells, i) = (call.sequence(0), call.get::<i64>(1));
        let cell = usize::try_from(i).ok().and_then(|i| cells.get(i));
        let Some(cell) = cell else {
            return Err(Fault::Index { index: i, size: cells.len() as i64 });
        };
        match element {
            ScalarType::Boolean => call.set::<bool>(*cell != 0),
            ScalarType::Int32 => call.set::<i32>(*cell as i32),
            ScalarType::Int64 => call.set::<i64>(*cell as i64),
            ScalarType::Float32 => call.set::<f32>(f32::from_bits(*cell as u32)),
            ScalarType::Float64 | ScalarType::WeakFloat => call.set::<f64>(f64::from_bits(*cell)),
            // UNIT has no bytes.
            _ => call.set::<()>(()),
        }
        Ok(())
    }))
}

fn slice(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Sequence(_), INT64, INT64] = args else { return None };
    Some(family.make_general(args, args[0].clone(), |call| {
        let (cells, start, stop) = (call.sequence(0), call.get::<i64>(1), call.get::<i64>(2));
        let place = |index: i64| match usize::try_from(index) {
            Ok(index) => index.min(cells.len()),
            Err(_) => cells.len().saturating_sub(usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX)),
        };
        let part = cells.get(place(start)..place(stop)).unwrap_or_default();
        call.sequence_room(part.len())?.extend_from_slice(part);
        Ok(())
    }))
}

fn make(family: &Family, args: &[QType]) -> Option<Overload> {
    let Some(QType::Scalar(element)) = args.first() else { return None };
    if !element.is_plain() || args.iter().any(|a| *a != QType::Scalar(*element)) {
        return None;
    }
    Some(family.make_general(args, QType::Sequence(*element), |call| {
        // The buffer leaves the frame while arguments are read.
        let mut cells = std::mem::take(call.sequence_room(call.len())?);
        for index in 0..call.len() {
            cells.push(bits(&call.value(index)?));
        }
        *call.sequence_out() = cells;
        Ok(())
    }))
}

/// The bits of a plain scalar as a sequence holds them.
fn bits(value: &Value) -> u64 {
    value.scalar().and_then(ScalarValue::plain_bits).unwrap_or_default()
}

fn check_elements(count: usize) -> Result<(), Fault> {
    match count as u64 > MAX_ELEMENTS {
        true => Err(Fault::Limit { limit: "sequence-elements", actual: count as u64, maximum: MAX_ELEMENTS }),
        false => Ok(()),
    }
}

fn all_equal(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Sequence(element)] = args else { return None };
    let element = *element;
    Some(family.make_general(args, OPTIONAL_UNIT, move |call| {
        let cells = call.sequence(0);
        let are_equal = |pair: &[u64]| match element {
            ScalarType::Float32 => f32::from_bits(pair[0] as u32) == f32::from_bits(pair[1] as u32),
            ScalarType::Float64 | ScalarType::WeakFloat => f64::from_bits(pair[0]) == f64::from_bits(pair[1]),
            _ => pair[0] == pair[1],
        };
        call.set::<Option<()>>(cells.windows(2).all(are_equal).then_some(()));
        Ok(())
    }))
}

fn repeat(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Scalar(element), INT64] = args else { return None };
    element.is_plain().then(|| {
        family.make_general(args, QType::Sequence(*element), |call| {
            let (value, n) = (bits(&call.value(0)?), call.get::<i64>(1));
            let count = usize::try_from(n.max(0)).unwrap_or(usize::MAX);
            check_elements(count)?;
            call.sequence_room(count)?.resize(count, value);
            Ok(())
        })
    })
}

fn rows_of(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Sequence(element)] = args else { return None };
    let element = *element;
    let result = QType::Array(ArrayType { class: ArrayClass::Dense, element });
    Some(family.make_general(args, result, move |call| {
        let cells = call.sequence(0);
        let meter = call.meter();
        let mut out = call.rows_out(element, cells.len())?;
        let size = cell_size(element);
        let bytes = out.cells_mut();
        for stride in meter.strides(cells.len()) {
            for row in stride? {
                // A cell is the first bytes of a word.
                bytes[row * size..][..size].copy_from_slice(&cells[row].to_le_bytes()[..size]);
            }
        }
        Ok(())
    }))
}

fn of_rows(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(ArrayType { class: ArrayClass::Dense, element })] = args else { return None };
    element.is_plain().then(|| {
        family.make_general(args, QType::Sequence(*element), |call| {
            let (rows, meter) = (call.array(0), call.meter());
            check_elements(rows.len())?;
            let cells = call.sequence_room(rows.len())?;
            for stride in meter.strides(rows.len()) {
                for row in stride? {
                    if !rows.is_present(row) {
                        return Err(Fault::MissingValue { operator: "seq.map" });
                    }
                    let mut word = [0; 8];
                    let cell = rows.raw(row);
                    word[..cell.len()].copy_from_slice(cell);
                    cells.push(u64::from_le_bytes(word));
                }
            }
            Ok(())
        })
    })
}
