//! Frames in loops: what stays written, what does not, and what a dirty frame may show.

use crate::support::{bind, parse};
use cembra::compile::Options;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::frame::FrameError;
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::qtype::{FLOAT64, INT64, TEXT};
use cembra::vm::value::{QType, Value};

fn bound(text: &str, inputs: &[(&str, QType)], overriding: bool) -> BoundExpr {
    let source = Source::new(parse(text, Dialect::Cembra), inputs.to_vec());
    let options = Options { allow_overriding_input_slots: overriding, ..Options::default() };
    bind(source, &Prepare::standard(), options)
}

#[test]
fn a_loop_rewrites_only_what_changes() {
    let inputs = [("x", FLOAT64), ("theta", FLOAT64)];
    let model = bound("(x - theta) * (x - theta) * 0.5", &inputs, false);
    let (x, theta) = (model.input::<f64>("x").expect("x"), model.input::<f64>("theta").expect("theta"));
    let loss = model.output::<f64>().expect("f64");
    let mut frame = model.new_frame().expect("memory");
    frame.set(x, 3.0);
    let mut best = (f64::INFINITY, 0.0);
    for step in 0..=600 {
        let t = f64::from(step) * 0.01;
        frame.set(theta, t);
        model.execute(&mut frame).expect("no error");
        best = if frame.get(loss) < best.0 { (frame.get(loss), t) } else { best };
    }
    assert_eq!(best, (0.0, 3.0));
}

#[test]
fn an_overridden_input_is_missing_in_the_next_run() {
    let inputs = [("x", FLOAT64), ("y", FLOAT64)];
    let model = bound("math.sqrt(x * 2.0) + math.sqrt(y)", &inputs, true);
    let mut frame = model.new_frame().expect("memory");
    let (x, y) = (model.input::<f64>("x").expect("x"), model.input::<f64>("y").expect("y"));
    frame.set(x, 2.0);
    frame.set(y, 9.0);
    model.execute(&mut frame).expect("no error");
    assert_eq!(frame.get(model.output::<f64>().expect("f64")), 5.0);
    let error = model.execute(&mut frame).expect_err("an input was overridden");
    assert!(error.to_string().starts_with("missing input `"), "{error}");
    frame.set(x, 8.0);
    frame.set(y, 1.0);
    model.execute(&mut frame).expect("no error");
    assert_eq!(frame.get(model.output::<f64>().expect("f64")), 5.0);
}

#[test]
fn a_pooled_frame_shows_nothing_of_its_last_tenant() {
    let model = bound("x * 2.0", &[("x", FLOAT64)], false);
    let pool = model.new_pool();
    let x = model.input::<f64>("x").expect("x");
    {
        let mut frame = pool.take().expect("memory");
        frame.set(x, 21.0);
        model.execute(&mut frame).expect("no error");
        assert_eq!(frame.read(model.output_slot()).expect("written"), Value::from(42.0));
    }
    assert_eq!(pool.idle(), 1);
    let mut frame = pool.take().expect("memory");
    assert_eq!(pool.idle(), 0);
    assert!(matches!(frame.read(model.output_slot()), Err(FrameError::Unwritten { .. })));
    let error = model.execute(&mut frame).expect_err("nothing was written");
    assert_eq!(error.to_string(), "missing input `x`: it has not been written to this frame");
}

#[test]
fn a_failed_run_has_no_output() {
    let model = bound("x // y", &[("x", INT64), ("y", INT64)], false);
    let mut frame = model.new_frame().expect("memory");
    let (x, y) = (model.input::<i64>("x").expect("x"), model.input::<i64>("y").expect("y"));
    for divisor in [2, 0, 2, 0] {
        frame.set(x, 10);
        frame.set(y, divisor);
        let outcome = model.execute(&mut frame);
        let output = frame.read(model.output_slot());
        match divisor {
            0 => assert!(outcome.is_err() && matches!(output, Err(FrameError::Unwritten { .. }))),
            _ => assert_eq!((outcome, output), (Ok(()), Ok(Value::from(5i64)))),
        }
    }
}

#[test]
fn foreign_slots_and_types_are_refused() {
    let model = bound("strings.length(t)", &[("t", TEXT)], false);
    let other = bound("x + y + z", &[("x", FLOAT64), ("y", FLOAT64), ("z", FLOAT64)], false);
    let mut frame = model.new_frame().expect("memory");
    let slot = model.input_slot("t").expect("an input").clone();
    assert!(matches!(frame.write(&slot, &Value::from(1.0)), Err(FrameError::TypeMismatch { .. })));
    let foreign = other.input_slot("z").expect("an input");
    assert!(matches!(frame.write(foreign, &Value::from(1.0)), Err(FrameError::ForeignSlot { .. })));
    assert!(matches!(frame.read(foreign), Err(FrameError::ForeignSlot { .. })));
    let error = other.execute(&mut frame).expect_err("another layout");
    assert!(error.to_string().contains("layout"), "{error}");
}

/// Text of any length goes through a kept buffer without traces of longer texts.
#[test]
fn buffers_of_texts_forget() {
    let model = bound("strings.join(t, '|', strings.upper(t))", &[("t", TEXT)], false);
    let mut frame = model.new_frame().expect("memory");
    for text in ["", "a long text before a short one", "x", "straße", "", "Ωmega"] {
        frame.write(model.input_slot("t").expect("t"), &Value::from(text)).expect("a text");
        model.execute(&mut frame).expect("no error");
        let expected = format!("{text}|{}", text.to_uppercase());
        assert_eq!(frame.read(model.output_slot()).expect("written"), Value::from(&*expected));
    }
}
