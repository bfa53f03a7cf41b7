//! Kernels of a host that fill a result with something else than its type says.

use crate::draft::Draft;
use crate::{bound, counting, qtype};
use cembra_vm::machine::BoundExpr;
use cembra_vm::machine::room::Room;
use cembra_vm::operator::{Family, KernelCall};
use cembra_vm::program::Program;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, Fault, NdRows, NdType, NdView};
use std::sync::Arc;

/// `wrong(x) + b` over axes, where the kernel of `wrong` does what a test says.
fn with_kernel(kernel: fn(&mut KernelCall<'_>) -> Result<(), Fault>) -> BoundExpr {
    let (narrow, wide) = (qtype("NDARRAY_FLOAT64_N1"), qtype("NDARRAY_FLOAT64_NN"));
    let wrong = Family::new("host.wrong", &["x"], "not what it says");
    let wrong = wrong.exact_general(std::slice::from_ref(&narrow), narrow.clone(), kernel);
    let mut d = Draft::new();
    let (x, b) = (d.input(0, narrow.clone()), d.input(24, wide.clone()));
    let (t, out) = (d.output(48, narrow), d.output(72, wide));
    let operator = d.body.add_operator(wrong.overloads()[0].clone());
    d.body.push_operator(operator, &[x], t, Span::default());
    d.run("math.add", &[t, b], out);
    let mut routine = d.finish(&[("x", x), ("b", b)], out);
    routine.side_outputs = vec![("t".into(), t)];
    BoundExpr::new(Arc::new(Program::new(vec![routine]))).expect("verified")
}

/// Regions look at what they read: other axes, another element, other sizes than the type has.
#[test]
fn regions_refuse_arrays_of_another_type() {
    type Run = fn(&mut KernelCall<'_>) -> Result<(), Fault>;
    let kernels: [Run; 3] = [
        |call| {
            let wide = NdType::from_name("NDARRAY_FLOAT64_NN").expect("a type");
            call.nd_out(wide, &[3, 4]).map(|cells| cells.fill(0))
        },
        |call| {
            let bytes = NdType::from_name("NDARRAY_BOOLEAN_N1").expect("a type");
            call.nd_out(bytes, &[3, 1]).map(|cells| cells.fill(0))
        },
        |call| {
            let flat = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
            call.nd_out(flat, &[1]).map(|cells| cells.fill(0))
        },
    ];
    for kernel in kernels {
        let bound = with_kernel(kernel);
        let mut frame = bound.new_frame().expect("memory");
        let inputs = [
            ("x", counting("NDARRAY_FLOAT64_N1", &[3, 1])),
            ("b", counting("NDARRAY_FLOAT64_NN", &[3, 5000])),
        ];
        crate::write(&bound, &mut frame, &inputs);
        let error = bound.execute(&mut frame).expect_err("an array of another type");
        assert_eq!(error.category(), Category::Panic);
    }
}

/// What a host's kernel leaves in an output is not copied into memory for other elements.
#[test]
fn rooms_refuse_other_elements() {
    let float = qtype("NDARRAY_FLOAT64_N");
    let wrong = Family::new("host.wrong", &["x"], "integers");
    let wrong = wrong.exact_general(std::slice::from_ref(&float), float.clone(), |call| {
        let long = NdType::from_name("NDARRAY_INT64_N").expect("a type");
        call.nd_out(long, &[3]).map(|cells| cells.fill(1))
    });
    let mut d = Draft::new();
    let (x, out) = (d.input(0, float.clone()), d.output(24, float));
    let operator = d.body.add_operator(wrong.overloads()[0].clone());
    d.body.push_operator(operator, &[x], out, Span::default());
    let program = Program::new(vec![d.finish(&[("x", x)], out)]);
    let bound = BoundExpr::new(Arc::new(program)).expect("verified");
    let mut frame = bound.new_frame().expect("memory");
    crate::write(&bound, &mut frame, &[("x", counting("NDARRAY_FLOAT64_N", &[3]))]);
    let mut target = [0.0; 3];
    let room = Room::new(bound.output_slot(), &mut target[..]);
    assert!(bound.call(&mut frame).run_into(&mut [room]).is_err());
    assert_eq!(target, [0.0; 3]);
}

/// An output that is an input is in the frame before the run, where no room is lent.
#[test]
fn a_room_of_an_output_that_is_an_input_gets_its_elements() {
    let mut d = Draft::new();
    let x = d.input(0, qtype("NDARRAY_FLOAT64_N"));
    d.layout.place_output(&d.values[0].slot.clone());
    let bound = bound(d.finish(&[("x", x)], x));
    let mut frame = bound.new_frame().expect("memory");
    crate::write(&bound, &mut frame, &[("x", counting("NDARRAY_FLOAT64_N", &[3]))]);
    let mut target = [9.0; 3];
    let room = Room::new(bound.output_slot(), &mut target[..]);
    bound.call(&mut frame).run_into(&mut [room]).expect("no error");
    assert_eq!(target, [0.0, 1.0, 2.0]);
}

/// A host's kernel writes bytes; what comes of them are truth values.
#[test]
fn truths_of_a_host_are_truths() {
    let truth = qtype("NDARRAY_BOOLEAN_N");
    let odd = Family::new("host.odd", &["x"], "bytes that are no truths");
    let odd = odd.exact_general(std::slice::from_ref(&truth), truth.clone(), |call| {
        let t = NdType::from_name("NDARRAY_BOOLEAN_N").expect("a type");
        call.nd_out(t, &[3]).map(|cells| cells.copy_from_slice(&[2, 0, 255]))
    });
    let mut d = Draft::new();
    let (x, out) = (d.input(0, truth.clone()), d.output(24, truth));
    let operator = d.body.add_operator(odd.overloads()[0].clone());
    d.body.push_operator(operator, &[x], out, Span::default());
    let program = Program::new(vec![d.finish(&[("x", x)], out)]);
    let bound = BoundExpr::new(Arc::new(program)).expect("verified");
    let mut frame = bound.new_frame().expect("memory");
    let input = bound.input_slot("x").expect("an input").clone();
    let view = NdView::from_slice(&[true], &[1]).expect("fits");
    let mut target = [false; 3];
    let room = Room::new(bound.output_slot(), &mut target[..]);
    bound.call(&mut frame).input(&input, &view).expect("its type").run_into(&mut [room]).expect("no error");
    assert_eq!(bytemuck::cast_slice::<bool, u8>(&target), [1, 0, 1]);
    let t = NdType::from_name("NDARRAY_BOOLEAN_N").expect("a type");
    let resized = std::panic::catch_unwind(|| NdRows::empty(t).resize(t, &[3]).fill(2));
    assert!(resized.is_err());
}
