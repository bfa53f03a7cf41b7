//! Programs built by hand that the verifier refuses: it alone stands between them and the memory of a frame.

use crate::draft::Draft;
use crate::{bound, qtype, stored};
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::verify::{VerifyError, verify};
use cembra_vm::program::{Program, Routine, ValueId};
use cembra_vm::value::ScalarType;
use cembra_vm::value::qtype::{FLOAT64, INT32, INT64};
use std::sync::Arc;

fn refused(routine: Routine) -> VerifyError {
    let program = Program::new(vec![routine]);
    let error = verify(&program).expect_err("it breaks a rule");
    assert!(BoundExpr::new(Arc::new(program)).is_err());
    error
}

/// A second value of another type on the handle of an input, of a temporary, of a field of a tuple.
#[test]
fn values_on_one_handle_have_one_type() {
    let pairs = [
        ("DENSE_ARRAY_BOOLEAN", "DENSE_ARRAY_FLOAT64"),
        ("ARRAY_FLOAT64", "DENSE_ARRAY_FLOAT64"),
        ("NDARRAY_FLOAT64_N1", "NDARRAY_FLOAT64_NN"),
        ("NDARRAY_FLOAT64_NN", "NDARRAY_FLOAT64_N1"),
        ("NDARRAY_INT32_NN", "NDARRAY_FLOAT64_NN"),
        ("DENSE_ARRAY_EDGE", "DENSE_ARRAY_TO_SCALAR_EDGE"),
        ("SEQUENCE[INT64]", "SEQUENCE[FLOAT64]"),
        ("TEXT", "BYTES"),
        ("tuple<DENSE_ARRAY_INT32,FLOAT64>", "DENSE_ARRAY_FLOAT64"),
    ];
    for (held, other) in pairs {
        for is_input in [true, false] {
            let mut d = Draft::new();
            let x = if is_input { d.input(0, qtype(held)) } else { d.temporary(0, qtype(held)) };
            let y = d.value(TypedSlot::new(0, qtype(other)));
            let out = d.output(64, qtype(other));
            d.run("core._copy", &[y], out);
            let inputs = [("x", x)];
            let error = refused(d.finish(if is_input { &inputs } else { &[] }, out));
            assert!(
                matches!(error, VerifyError::Slot { value: ValueId(1), .. }),
                "{other} on {held}: {error}"
            );
        }
    }
}

/// WEAK_FLOAT is stored as FLOAT64: both may be on one handle.
#[test]
fn types_of_one_storage_are_one() {
    let mut d = Draft::new();
    let x = d.input(0, qtype("DENSE_ARRAY_WEAK_FLOAT"));
    let y = d.view(x, TypedSlot::new(0, qtype("DENSE_ARRAY_FLOAT64")));
    let out = d.output(24, qtype("DENSE_ARRAY_FLOAT64"));
    d.run("math.add", &[y, y], out);
    bound(d.finish(&[("x", x)], out));
}

/// A result reaches over an input, which may be overridden, to the literal behind it.
#[test]
fn every_range_under_a_result_counts() {
    for before in [0, 4] {
        let mut d = Draft::new();
        let x = d.input(before, INT32);
        let seven = d.literal(4 - before, 7i32);
        let (y, out) = (d.input(8, INT64), d.output(16, INT32));
        let wide = d.temporary(0, INT64);
        d.run("math.add", &[x, seven], out);
        d.run("math.add", &[y, y], wide);
        let mut routine = d.finish(&[("x", x), ("y", y)], out);
        routine.overrides_inputs = true;
        assert!(stored(routine.clone()).is_err());
        assert!(matches!(refused(routine), VerifyError::Written { what: "on a literal", .. }));
    }
}

/// Results of one tuple: the tuple, a view of a field, a value that stands in a field; and others, which are refused.
#[test]
fn results_are_parts_of_each_other_or_apart() {
    let tuple = || qtype("tuple<FLOAT64,FLOAT64>");
    let with = |at: u32, is_view: bool, name: &str| {
        let mut d = Draft::new();
        let (x, whole) = (d.input(0, FLOAT64), d.output(8, tuple()));
        let part = match is_view {
            true => d.view(whole, TypedSlot::new(at, qtype(name))),
            false => d.temporary(at, qtype(name)),
        };
        d.run("core.make_tuple", &[x, x], whole);
        let mut routine = d.finish(&[("x", x)], whole);
        routine.side_outputs = vec![("part".into(), part)];
        verify(&Program::new(vec![routine]))
    };
    assert_eq!(with(8, true, "FLOAT64"), Ok(()));
    assert_eq!(with(16, false, "FLOAT64"), Ok(()));
    assert_eq!(with(24, false, "FLOAT64"), Ok(()));
    let wrong = [(8, "tuple<FLOAT64,FLOAT64>"), (16, "INT64"), (12, "INT32"), (16, "tuple<FLOAT64,FLOAT64>")];
    for (at, name) in wrong {
        let error = with(at, false, name).expect_err("they share bytes").to_string();
        assert!(error.contains("share bytes"), "{name} at {at}: {error}");
    }
}

/// A literal decides the type of its handle, whatever else was placed there before.
#[test]
fn literals_decide() {
    let mut d = Draft::new();
    let dense = |element| crate::array(element, std::iter::empty());
    let wrong = d.temporary(0, qtype("DENSE_ARRAY_FLOAT64"));
    d.literal(0, dense(ScalarType::Int32));
    let out = d.output(24, FLOAT64);
    d.run("math._sum", &[wrong], out);
    assert!(matches!(refused(d.finish(&[], out)), VerifyError::Slot { value: ValueId(0), .. }));
}
