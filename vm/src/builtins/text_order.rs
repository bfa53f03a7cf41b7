//! The order of texts: the number of each row among the distinct texts or bytes of an array.
//!
//! ```text
//! rows       "b"  "a"  -  "b"  "c"
//! distinct    0    1       0    2       numbered as they come
//! order       1    0       1    2       numbered in the order of their bytes
//! ```
//!
//! Only distinct texts are compared, by merging of runs, which asks now and then whether to stop.

use crate::array::meter::{Meter, Scratch};
use crate::builtins::distinct::Distinct;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::{ArrayRows, Fault, QType, ScalarType};

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            "array._text_order",
            &["x"],
            "Number of each text among the distinct ones, in the order of their bytes.",
        )
        .cost_of(50)
        .on_demand(text_order),
    ]
}

fn text_order(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    matches!(t.element, ScalarType::Text | ScalarType::Bytes)
        .then(|| family.make_general(args, QType::Array(t.of(ScalarType::Int64)), number))
}

fn number(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (rows, meter) = (call.array(0), call.meter());
    call.charge_rows(rows.len())?;
    let mut out = call.rows_out(ScalarType::Int64, rows.len())?;
    let numbers: &mut [i64] = bytemuck::cast_slice_mut(out.bytes_mut());
    let mut distinct = Distinct::new(rows, meter)?;
    distinct.number(numbers)?;
    let order = in_order(rows, distinct.firsts(), meter)?;
    let mut ranks = meter.zeros::<u32>(order.len())?;
    for stride in meter.strides(order.len()) {
        for rank in stride? {
            ranks[order[rank] as usize] = rank as u32;
        }
    }
    for stride in meter.strides(rows.len()) {
        for row in stride?.filter(|row| rows.is_present(*row)) {
            numbers[row] = i64::from(ranks[numbers[row] as usize]);
        }
    }
    if let Some(words) = rows.presence() {
        out.presence_mut()?.copy_from_slice(words);
    }
    Ok(())
}

/// The places of some rows, in the order of their bytes.
fn in_order<'m>(rows: &ArrayRows, chosen: &[u32], meter: &'m Meter<'m>) -> Result<Scratch<'m, u32>, Fault> {
    let count = chosen.len();
    let text = |place: u32| rows.raw(chosen[place as usize] as usize);
    let mut from = meter.collect(0..count as u32)?;
    let mut to = meter.zeros::<u32>(count)?;
    let mut run = 1;
    while run < count {
        let (mut left, mut right, mut middle, mut end) = (0, 0, 0, 0);
        for stride in meter.slow_strides(count) {
            for at in stride? {
                if at == end {
                    (left, middle, end) = (at, (at + run).min(count), (at + 2 * run).min(count));
                    right = middle;
                }
                let is_right = left == middle || right < end && text(from[right]) < text(from[left]);
                let next = if is_right { &mut right } else { &mut left };
                to[at] = from[*next];
                *next += 1;
            }
        }
        std::mem::swap(&mut from, &mut to);
        run *= 2;
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ScalarValue;

    #[test]
    fn places_are_in_the_order_of_bytes() {
        let meter = Meter::of_default();
        for count in [0, 1, 2, 3, 700] {
            let texts: Vec<String> = (0..count).map(|i| format!("{}ä{i}", i * 7919 % 31)).collect();
            let cells: Vec<_> =
                texts.iter().map(|text| Some(ScalarValue::Text(text.as_str().into()))).collect();
            let rows = ArrayRows::from_values(ScalarType::Text, &cells);
            let all: Vec<u32> = (0..count).collect();
            let mut expected = all.clone();
            expected.sort_by_key(|place| &texts[*place as usize]);
            assert_eq!(in_order(&rows, &all, &meter).expect("memory")[..], expected);
        }
    }
}
