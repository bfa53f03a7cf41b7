//! Elements of arrays of every type and rank: inside, from the end, outside; written with any number.

use crate::agree::{Tiers, plain};
use crate::draft::Draft;
use cembra_vm::value::qtype::INT64;
use cembra_vm::value::{NdRows, NdType, QType, ScalarType, Value};
use std::sync::Arc;

const SHAPE: [usize; 3] = [3, 2, 4];
const INDICES: [i64; 8] = [0, 1, -1, 2, -4, 4, i64::MAX, i64::MIN];

fn array(name: &str, rank: usize) -> Value {
    let of = NdType::from_name(name).expect("a type of arrays");
    let shape = &SHAPE[..rank];
    let len = shape.iter().product();
    macro_rules! cells {
        ($($scalar:ident $cell:ty),*) => {
            match of.element() {
                ScalarType::Boolean => {
                    let cells: Vec<bool> = (0..len).map(|at| at % 3 == 0).collect();
                    NdRows::from_slice(of, shape, &cells)
                }
                $(ScalarType::$scalar => {
                    let cells: Vec<$cell> = (0..len).map(|at| (at as $cell) * (5 as $cell) - (9 as $cell)).collect();
                    NdRows::from_slice(of, shape, &cells)
                })*
                ScalarType::Uint8 => {
                    let cells: Vec<u8> = (0..len).map(|at| at as u8 * 11).collect();
                    NdRows::from_slice(of, shape, &cells)
                }
                ScalarType::Uint16 => {
                    let cells: Vec<u16> = (0..len).map(|at| at as u16 * 2_800).collect();
                    NdRows::from_slice(of, shape, &cells)
                }
                ScalarType::Uint32 => {
                    let cells: Vec<u32> = (0..len).map(|at| at as u32 * 180_000_000).collect();
                    NdRows::from_slice(of, shape, &cells)
                }
                // Every other one is beyond INT64.
                _ => {
                    let cells: Vec<u64> = (0..len).map(|at| at as u64 + ((at as u64 & 1) << 63)).collect();
                    NdRows::from_slice(of, shape, &cells)
                }
            }
        };
    }
    let rows = cells!(Int8 i8, Int16 i16, Int32 i32, Int64 i64, Float32 f32, Float64 f64);
    Value::NdArray(Arc::new(rows.expect("the shape fits")))
}

/// Calls `then` with every choice of indices.
fn indices(rank: usize, then: &mut dyn FnMut(&[Value])) {
    for number in 0..INDICES.len().pow(rank as u32) {
        let at = |axis: usize| INDICES[number / INDICES.len().pow(axis as u32) % INDICES.len()];
        then(&(0..rank).map(|axis| Value::from(at(axis))).collect::<Vec<_>>());
    }
}

fn types() -> impl Iterator<Item = (String, usize)> {
    let elements = [
        "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FLOAT32",
        "FLOAT64",
    ];
    elements.into_iter().flat_map(|element| {
        (1..=3).map(move |rank| (format!("NDARRAY_{element}_{}", "N".repeat(rank)), rank))
    })
}

fn element_of(qtype: &QType, rank: usize) -> QType {
    let args: Vec<QType> = [qtype.clone()].into_iter().chain(vec![INT64; rank]).collect();
    let overload = cembra_vm::builtins::table().overload("nd.get", &args).expect("elements can be read");
    overload.result().clone()
}

#[test]
fn elements_are_read() {
    for (name, rank) in types() {
        let (mut draft, value) = (Draft::new(), array(&name, rank));
        let a = draft.next_input(value.qtype());
        let at: Vec<_> = (0..rank).map(|_| draft.next_input(INT64)).collect();
        let out = draft.next_output(element_of(&value.qtype(), rank));
        // Read twice: the second time the place is known.
        draft.run("nd.get", &[&[a], &*at].concat(), out);
        draft.run("nd.get", &[&[a], &*at].concat(), out);
        let names = ["i", "j", "k"];
        let inputs: Vec<_> = [("a", a)].into_iter().chain(names.into_iter().zip(at)).collect();
        let tiers = Tiers::of(vec![draft.finish(&inputs, out)]);
        indices(rank, &mut |at| {
            tiers.agree(&[std::slice::from_ref(&value), at].concat(), &plain);
        });
    }
}

#[test]
fn elements_are_written() {
    for (name, rank) in types() {
        let (mut draft, value) = (Draft::new(), array(&name, rank));
        let element = element_of(&value.qtype(), rank);
        let a = draft.next_input(value.qtype());
        let x = draft.next_input(element.clone());
        let at: Vec<_> = (0..rank).map(|_| draft.next_input(INT64)).collect();
        let out = draft.next_output(element.clone());
        draft.run("nd.set", &[&[a, x], &*at].concat(), a);
        draft.run("nd.set", &[&[a, x], &*at].concat(), a);
        draft.run("core._copy", &[x], out);
        draft.updated.push(a);
        let names = ["i", "j", "k"];
        let inputs: Vec<_> = [("a", a), ("x", x)].into_iter().chain(names.into_iter().zip(at)).collect();
        let tiers = Tiers::of(vec![draft.finish(&inputs, out)]);
        let written: Vec<Value> = match element {
            QType::Scalar(ScalarType::Boolean) => vec![true.into(), false.into()],
            QType::Scalar(ScalarType::Int32) => vec![5i32.into(), i32::MIN.into()],
            QType::Scalar(ScalarType::Float32) => vec![0.5f32.into(), f32::NAN.into()],
            QType::Scalar(ScalarType::Float64) => vec![0.5f64.into(), (-0.0f64).into()],
            _ => vec![5i64.into(), (-1i64).into(), 300i64.into(), i64::MIN.into()],
        };
        indices(rank, &mut |at| {
            for x in &written {
                tiers.agree(&[&[value.clone(), x.clone()], at].concat(), &plain);
            }
        });
    }
}

#[test]
fn axes_are_measured() {
    let (mut draft, value) = (Draft::new(), array("NDARRAY_FLOAT64_NN", 2));
    let (a, axis) = (draft.next_input(value.qtype()), draft.next_input(INT64));
    let out = draft.next_output(INT64);
    draft.run("nd.length", &[a, axis], out);
    draft.run("nd.length", &[a, axis], out);
    let tiers = Tiers::of(vec![draft.finish(&[("a", a), ("axis", axis)], out)]);
    indices(1, &mut |axis| {
        tiers.agree(&[std::slice::from_ref(&value), axis].concat(), &plain);
    });
}
