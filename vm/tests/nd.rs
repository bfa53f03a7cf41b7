//! Operators on n-dimensional arrays, one at a time: small enough for checkers that watch every access.

use cembra_vm::builtins;
use cembra_vm::frame::Frame;
use cembra_vm::layout::FrameLayout;
use cembra_vm::machine::RunErrorKind;
use cembra_vm::machine::invoke::{InvokeError, invoke};
use cembra_vm::operator::Family;
use cembra_vm::value::{Axes, Fault, NdRows, NdType, NdView, QType, ScalarType, ScalarValue, Value};
use ndarray::Array2;
use std::sync::Arc;

fn nd_type(name: &str) -> NdType {
    NdType::from_name(name).unwrap_or_else(|| panic!("{name} is a type"))
}

fn floats(name: &str, shape: &[usize], f: impl Fn(usize) -> f64) -> Value {
    let cells: Vec<f64> = (0..shape.iter().product()).map(f).collect();
    Value::NdArray(Arc::new(NdRows::from_slice(nd_type(name), shape, &cells).expect("fits")))
}

/// The same array, given by columns, one byte out of line.
fn by_columns(value: &Value) -> Value {
    let Value::NdArray(rows) = value else { panic!("{value} is no array") };
    let shape = rows.shape();
    let transposed: Vec<f64> = rows.view().select_axes([1, 0]).cells().collect();
    let mut bytes = vec![0u8];
    bytes.extend(transposed.iter().flat_map(|x| x.to_le_bytes()));
    let strides = [8, 8 * shape[0] as isize];
    Value::NdArray(Arc::new(NdRows::from_strided(rows.qtype(), &bytes, 1, shape, &strides).expect("fits")))
}

fn apply(operator: &str, args: &[Value]) -> Result<Value, Fault> {
    let types: Vec<QType> = args.iter().map(Value::qtype).collect();
    let overload =
        builtins::table().overload(operator, &types).unwrap_or_else(|| panic!("{operator} {types:?}"));
    invoke(&overload, args).map_err(|error| match error {
        InvokeError::Run(RunErrorKind::Fault(fault)) => fault,
        other => panic!("{operator}: {other}"),
    })
}

fn cells(value: &Value) -> Vec<f64> {
    match value {
        Value::NdArray(rows) => rows.view().scalars().map(|x| x.as_f64().expect("a number")).collect(),
        other => panic!("{other} is no array"),
    }
}

#[test]
fn operands_may_lie_in_any_order() {
    for (height, width) in [(0, 3), (1, 1), (3, 2), (2, 40), (40, 3), (3, 700)] {
        let x = floats("NDARRAY_FLOAT64_NN", &[height, width], |i| i as f64);
        let row = floats("NDARRAY_FLOAT64_1N", &[1, width], |i| 0.5 * i as f64);
        let column = floats("NDARRAY_FLOAT64_N1", &[height, 1], |i| 1000.0 * i as f64);
        let expected: Vec<f64> =
            (0..height * width).map(|i| 1.5 * i as f64 - 0.5 * (i / width * width) as f64).collect();
        for x in [x.clone(), by_columns(&x)] {
            assert_eq!(cells(&apply("math.add", &[x.clone(), row.clone()]).expect("no fault")), expected);
            let sums = cells(&apply("math.add", &[column.clone(), row.clone()]).expect("no fault"));
            assert!(
                sums.iter()
                    .enumerate()
                    .all(|(i, sum)| *sum == 1000.0 * (i / width) as f64 + 0.5 * (i % width) as f64)
            );
            assert_eq!(apply("math.add", &[x.clone(), x.clone()]), apply("math.multiply", &[x, 2.0.into()]));
        }
    }
}

#[test]
fn both_operands_may_repeat() {
    let bytes: &[u8] = bytemuck::bytes_of(&7.5f64);
    let same =
        NdRows::from_strided(nd_type("NDARRAY_FLOAT64_NN"), bytes, 0, &[3, 50], &[0, 0]).expect("fits");
    let same = Value::NdArray(Arc::new(same));
    assert_eq!(cells(&apply("math.add", &[same.clone(), same.clone()]).expect("no fault")), [15.0; 150]);
    let axes = Value::Axes(Axes::new([1]).expect("an axis"));
    assert_eq!(cells(&apply("nd._sum", &[same, axes]).expect("no fault")), [375.0; 3]);
}

#[test]
fn faults_name_shapes_and_elements() {
    let (x, y) =
        (floats("NDARRAY_FLOAT64_NN", &[2, 3], |i| i as f64), floats("NDARRAY_FLOAT64_N", &[2], |_| 0.0));
    let fault = apply("math.add", &[x.clone(), y]).expect_err("sizes differ");
    assert_eq!(fault, Fault::Shapes { shapes: vec![vec![2, 3], vec![2]], axis: 1 });
    let fault =
        apply("math.floordiv", &[7i64.into(), ints(&[2, 40], |i| 50 - i)]).expect_err("a division by zero");
    assert_eq!(fault, Fault::Element { index: vec![1, 10], fault: Box::new(Fault::DivisionByZero) });
    let wide =
        NdRows::from_strided(nd_type("NDARRAY_BOOLEAN_N1"), &[1], 0, &[1 << 20, 1], &[0, 0]).expect("fits");
    let high =
        NdRows::from_strided(nd_type("NDARRAY_BOOLEAN_1N"), &[1], 0, &[1, 1 << 20], &[0, 0]).expect("fits");
    let both = [wide, high].map(|rows| Value::NdArray(Arc::new(rows)));
    let fault = apply("bool.logical_and", &both).expect_err("too large");
    assert_eq!(fault, Fault::Limit { limit: "array-rows", actual: 1 << 40, maximum: 1 << 27 });
}

fn ints(shape: &[usize], f: impl Fn(i64) -> i64) -> Value {
    let cells: Vec<i64> = (0..shape.iter().product::<usize>() as i64).map(f).collect();
    Value::NdArray(Arc::new(NdRows::from_slice(nd_type("NDARRAY_INT64_NN"), shape, &cells).expect("fits")))
}

#[test]
fn kernels_of_a_host_see_elements() {
    let limit = 5;
    let family = Family::new("host.below", &["x"], "x, which must be below a limit")
        .host()
        .function1(move |x: i64| if x < limit { Ok(x as f64 / 2.0) } else { Err(Fault::DivisionByZero) });
    let run = |x: Value| {
        let overload = family.overload(&[x.qtype()]).expect("an overload for elements");
        invoke(&overload, &[x])
    };
    assert_eq!(cells(&run(ints(&[2, 2], |i| i)).expect("no fault")), [0.0, 0.5, 1.0, 1.5]);
    let fault = Fault::Element { index: vec![1, 2], fault: Box::new(Fault::DivisionByZero) };
    match run(ints(&[2, 3], |i| i)) {
        Err(InvokeError::Run(RunErrorKind::Fault(found))) => assert_eq!(found, fault),
        other => panic!("{other:?}"),
    }
}

#[test]
fn frames_lend_arrays_of_the_host() {
    let mut layout = FrameLayout::builder();
    let slot = layout.typed(QType::NdArray(nd_type("NDARRAY_FLOAT64_N1")));
    let mut frame = Frame::new(&layout.build().expect("small")).expect("memory");
    let array = Array2::from_shape_fn((3, 1), |(i, _)| i as f64);
    let view = NdView::from_ndarray(array.view()).expect("no gaps").expect("small");
    frame.write_nd(&slot, &view).expect("fits");
    let lent = frame.nd_view(&slot).expect("written").to_ndarray::<f64>().expect("aligned");
    assert_eq!(lent, array.view().into_dyn());
    let wrong = NdView::from_slice(&[1.0, 2.0], &[1, 2]).expect("fits");
    assert_eq!(
        frame.write_nd(&slot, &wrong).unwrap_err().to_string(),
        "NDARRAY_FLOAT64_N1 [0x00] cannot hold an array of FLOAT64 with the shape [1, 2]"
    );
    assert_eq!(frame.read(&slot).map(|value| cells(&value)), Ok(vec![0.0, 1.0, 2.0]));
}

#[test]
fn empty_slots_hold_the_zero_of_their_type() {
    let qtype = nd_type("NDARRAY_INT32_1N");
    let mut layout = FrameLayout::builder();
    let slot = layout.typed(QType::NdArray(qtype));
    let frame = Frame::new(&layout.build().expect("small")).expect("memory");
    assert_eq!(frame.read(&slot), Ok(Value::zero(&QType::NdArray(qtype))));
    assert_eq!(NdRows::empty(qtype).view().element(), ScalarType::Int32);
    assert_eq!(
        NdRows::from_scalars(qtype, &[1, 1], &[ScalarValue::Int32(3)]).map(|rows| rows.view().len()),
        Ok(1)
    );
}
