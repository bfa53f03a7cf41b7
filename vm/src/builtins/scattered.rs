//! Rows put where ascending numbers say.
//!
//! ```text
//! indices  1  3      values  a  b      size 5:   -  a  -  b  -
//! ```

use crate::array::rows_out::RowsOut;
use crate::builtins::edge::fill_rows;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::broadcast::check_count;
use crate::value::budget::Account;
use crate::value::qtype::INT64;
use crate::value::{ArrayRows, Fault, QType, ScalarType};

/// Name of `array._from_indices_and_values`.
pub const FROM_INDICES_AND_VALUES: &str = "array._from_indices_and_values";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            FROM_INDICES_AND_VALUES,
            &["indices", "values", "size"],
            "An array of this size with the values at ascending numbers of rows; the others are missing.",
        )
        .cost_of(10)
        .raises()
        .on_demand(from_indices_and_values),
    ]
}

fn from_indices_and_values(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(indices), QType::Array(values), INT64] = args else { return None };
    (indices.element == ScalarType::Int64 && indices.class == values.class)
        .then(|| family.make_general(args, args[1].clone(), scatter))
}

fn refuse(message: String) -> Fault {
    Fault::Range { message }
}

fn scatter(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (indices, values, size) = (call.array(0), call.array(1), call.plain::<i64>(2));
    if indices.len() != values.len() {
        return Err(Fault::Sizes { sizes: vec![indices.len() as u64, values.len() as u64] });
    }
    let size = usize::try_from(size)
        .map_err(|_| refuse(format!("expected a non-negative integer, got size={size}")))?;
    check_count(&[size])?;
    call.charge_rows(size)?;
    let meter = call.meter();
    // Which value each row has.
    let chosen = fill_rows(meter, |chosen| {
        let mut out = RowsOut::new(chosen, meter);
        out.resize(ScalarType::Int64, size)?;
        let (cells, presence) = out.parts()?;
        let cells: &mut [i64] = bytemuck::cast_slice_mut(cells);
        presence.fill(0);
        let mut last = None;
        for stride in meter.strides(indices.len()) {
            for value in stride? {
                let row = row_of(indices, value, last, size)?;
                cells[row] = value as i64;
                presence[row / ROWS_OF_A_WORD] |= 1 << (row % ROWS_OF_A_WORD);
                last = Some(row);
            }
        }
        Ok(())
    })?;
    let outcome = call.array_out().take(values, &chosen);
    meter.give_back(chosen.heap_bytes());
    outcome
}

/// The number of a row, which must be above the last one.
fn row_of(indices: &ArrayRows, value: usize, last: Option<usize>, size: usize) -> Result<usize, Fault> {
    let index = indices.get(value).and_then(|index| index.as_i64());
    let index = index.ok_or_else(|| refuse("missing indices are not supported".to_owned()))?;
    let row = usize::try_from(index)
        .map_err(|_| refuse(format!("expected non-negative indices, got index={index}")))?;
    match last {
        _ if row >= size => Err(refuse(format!("index is out of range, index={index} >= size={size}"))),
        Some(last) if row <= last => Err(refuse(format!(
            "expected a strictly increasing sequence of indices, got [..., {last}, {index}, ...]"
        ))),
        _ => Ok(row),
    }
}
