//! The machine on programs written by hand: jumps in both directions, calls, traps, fuel,
//! cancellation, panics, observers.

use cembra_vm::builtins;
use cembra_vm::frame::FramePool;
use cembra_vm::layout::access::Text;
use cembra_vm::layout::{FrameLayout, LayoutBuilder, TypedSlot};
use cembra_vm::machine::{BoundExpr, CancelToken, NdViewMut, Profile, RunErrorKind, RunOptions, Trace};
use cembra_vm::operator::{Family, OperatorTable};
use cembra_vm::program::instruction::{Span, Trap};
use cembra_vm::program::program::ValueInfo;
use cembra_vm::program::{Body, Instruction, Program, Routine, ValueId, dump, slot_check};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT32, FLOAT64, INT64, OPTIONAL_UNIT, TEXT};
use cembra_vm::value::{Category, Fault, QType, Value};
use std::sync::Arc;

/// Writes a routine by hand: one slot per value.
struct Writer {
    layout: LayoutBuilder,
    values: Vec<ValueInfo>,
    inputs: Vec<(Arc<str>, ValueId)>,
    literals: Vec<(ValueId, Value)>,
    body: Body,
    table: Arc<OperatorTable>,
}

impl Writer {
    fn new() -> Writer {
        Writer {
            layout: FrameLayout::builder(),
            values: Vec::new(),
            inputs: Vec::new(),
            literals: Vec::new(),
            body: Body::new(),
            table: builtins::table(),
        }
    }

    fn value(&mut self, slot: TypedSlot) -> ValueId {
        self.values.push(ValueInfo { slot, view_of: None });
        ValueId(self.values.len() as u32 - 1)
    }

    fn input(&mut self, name: &str, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.layout.place_input(&slot);
        let value = self.value(slot);
        self.inputs.push((name.into(), value));
        value
    }

    fn output(&mut self, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.layout.place_output(&slot);
        self.value(slot)
    }

    fn temporary(&mut self, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.value(slot)
    }

    fn literal(&mut self, literal: impl Into<Value>) -> ValueId {
        let literal = literal.into();
        let slot = self.layout.literal(literal.clone());
        let value = self.value(slot);
        self.literals.push((value, literal));
        value
    }

    fn op(&mut self, name: &str, operands: &[ValueId], result: ValueId) {
        let types: Vec<QType> =
            operands.iter().map(|v| self.values[v.index()].slot.qtype().clone()).collect();
        let overload = self.table.overload(name, &types).unwrap_or_else(|| panic!("{name}{types:?}"));
        let operator = self.body.add_operator(overload);
        self.body.push_operator(operator, operands, result, Span::default());
    }

    fn push(&mut self, instruction: Instruction) {
        self.body.push(instruction, Span::default());
    }

    fn routine(self, output: ValueId) -> Routine {
        Routine {
            literals: self.literals,
            ..Routine::new(self.layout.build().expect("small"), self.values, self.inputs, output, self.body)
        }
    }
}

fn bind(routines: Vec<Routine>) -> BoundExpr {
    let program = Program::new(routines);
    slot_check::check(&program).expect("hand-written programs are right");
    BoundExpr::new(Arc::new(program)).expect("hand-written programs verify")
}

/// `math.add(core.to_float64(L.x), float64{1})`, the first published example.
fn seed_example_1() -> BoundExpr {
    let mut w = Writer::new();
    let x = w.input("x", FLOAT32);
    let out = w.output(FLOAT64);
    let t = w.temporary(FLOAT64);
    let one = w.literal(1.0);
    w.op("core.to_float64", &[x], t);
    w.op("math.add", &[t, one], out);
    bind(vec![w.routine(out)])
}

/// Sums 0 + 1 + … + (n - 1) with a backward jump.
fn sum_loop() -> BoundExpr {
    let mut w = Writer::new();
    let n = w.input("n", INT64);
    let sum = w.output(INT64);
    let (zero, one) = (w.literal(0i64), w.literal(1i64));
    let (i, more) = (w.temporary(INT64), w.temporary(OPTIONAL_UNIT));
    w.op("core._copy", &[zero], sum);
    w.op("core._copy", &[zero], i);
    w.op("core.less", &[i, n], more);
    w.push(Instruction::JumpIfNot { condition: more, offset: 3 });
    w.op("math.add", &[sum, i], sum);
    w.op("math.add", &[i, one], i);
    w.push(Instruction::Jump { offset: -5 });
    bind(vec![w.routine(sum)])
}

/// n! by recursion: routine 1 calls itself.
fn factorial() -> BoundExpr {
    let mut main = Writer::new();
    let n = main.input("n", INT64);
    let out = main.output(INT64);
    let (operands, results) = (main.body.add_list([n]), main.body.add_list([out]));
    main.push(Instruction::Call { routine: 1, operands, results });
    let mut w = Writer::new();
    let n = w.input("n", INT64);
    let out = w.output(INT64);
    let (one, stop) = (w.literal(1i64), w.temporary(OPTIONAL_UNIT));
    let (less, rest) = (w.temporary(INT64), w.temporary(INT64));
    w.op("core.less_equal", &[n, one], stop);
    w.push(Instruction::JumpIfNot { condition: stop, offset: 2 });
    w.op("core._copy", &[one], out);
    w.push(Instruction::Jump { offset: 3 });
    w.op("math.subtract", &[n, one], less);
    let (operands, results) = (w.body.add_list([less]), w.body.add_list([rest]));
    w.push(Instruction::Call { routine: 1, operands, results });
    w.op("math.multiply", &[n, rest], out);
    bind(vec![main.routine(out), w.routine(out)])
}

/// Three routines that call each other in turn, `n` times; each sets an element of the array that goes through all of
/// them, and adds its length.
fn mutual_recursion() -> BoundExpr {
    let array: QType = "NDARRAY_INT64_N".parse().expect("a type");
    let routine = |other: u32| {
        let mut w = Writer::new();
        let (n, a) = (w.input("n", INT64), w.input("a", array.clone()));
        let out = w.output(INT64);
        let (zero, one) = (w.literal(0i64), w.literal(1i64));
        let (ends, less, rest) = (w.temporary(BOOLEAN), w.temporary(INT64), w.temporary(INT64));
        let size = w.temporary(INT64);
        w.op("core._copy", &[zero], out);
        w.op("bool.less", &[n, one], ends);
        w.push(Instruction::JumpIf { condition: ends, offset: 5 });
        w.op("math.subtract", &[n, one], less);
        w.op("nd.set", &[a, n, less], a);
        let (operands, results) = (w.body.add_list([less, a]), w.body.add_list([rest]));
        w.push(Instruction::Call { routine: other, operands, results });
        w.op("nd.length", &[a, zero], size);
        w.op("math.add", &[rest, size], out);
        let mut routine = w.routine(out);
        routine.updated_inputs.push(a);
        routine
    };
    bind(vec![routine(1), routine(2), routine(0)])
}

#[test]
fn routines_that_call_each_other_share_an_array() {
    let bound = mutual_recursion();
    let (n, out) = (bound.input::<i64>("n").expect("n"), bound.output::<i64>().expect("i64"));
    let a = bound.input_slot("a").expect("a").clone();
    let mut frame = bound.new_frame().expect("memory");
    let mut values = vec![0i64; 100];
    for depth in [0, 1, 2, 3, 7, 100] {
        frame.set(n, depth);
        values.fill(0);
        let mut view = NdViewMut::from_slice(&mut values, &[100]).expect("fits");
        bound.call(&mut frame).update(&a, &mut view).expect("it is changed").run().expect("no error");
        assert_eq!(frame.get(out), 100 * depth);
        let expected: Vec<i64> = (1..=100).map(|i| if i <= depth { i } else { 0 }).collect();
        assert_eq!(values, expected);
    }
    // Too deep, or outside of the array: what was changed is changed, and the array is back.
    frame.set(n, 101);
    let mut view = NdViewMut::from_slice(&mut values, &[100]).expect("fits");
    let call = bound.call(&mut frame).update(&a, &mut view).expect("it is changed");
    call.run().expect_err("index 100 of 100");
    frame.set(n, 100);
    let options = RunOptions::new().call_depth(50);
    let mut view = NdViewMut::from_slice(&mut values, &[100]).expect("fits");
    let call = bound.call(&mut frame).update(&a, &mut view).expect("it is changed");
    call.options(options).run().expect_err("too deep");
    values[99] = -1;
    assert_eq!(values[98..], [99, -1]);
}

#[test]
fn published_example_runs_and_dumps() {
    let bound = seed_example_1();
    assert_eq!(bound.layout().size(), 32);
    let expected = "Input slots:\nx: FLOAT32 [0x00]\n\nOutput slot:\nFLOAT64 [0x08]\n\nInit operations:\n\
                    FLOAT64 [0x18] = float64{1}\n\nEval operations:\n\
                    FLOAT64 [0x10] = core.to_float64(FLOAT32 [0x00])\n\
                    FLOAT64 [0x08] = math.add(FLOAT64 [0x10], FLOAT64 [0x18])\n";
    assert_eq!(dump::dump(bound.program()), expected);
    let (x, y) = (bound.input::<f32>("x").expect("x"), bound.output::<f64>().expect("f64"));
    let mut frame = bound.new_frame().expect("memory");
    for value in [1.5, -3.0] {
        frame.set(x, value);
        bound.execute(&mut frame).expect("total");
        assert_eq!(frame.get(y), f64::from(value) + 1.0);
        let bytes = frame.plain_bytes();
        assert_eq!(bytes[..4], value.to_ne_bytes(), "x stands at 0x00");
        assert_eq!(bytes[8..16], frame.get(y).to_ne_bytes(), "the output stands at 0x08");
    }
}

#[test]
fn missing_inputs_and_foreign_frames_are_errors() {
    let bound = seed_example_1();
    let mut frame = bound.new_frame().expect("memory");
    let error = bound.execute(&mut frame).unwrap_err();
    assert_eq!(error.to_string(), "missing input `x`: it has not been written to this frame");
    let mut other = sum_loop().new_frame().expect("memory");
    assert!(matches!(bound.execute(&mut other).unwrap_err().kind, RunErrorKind::ForeignFrame { .. }));
    assert!(bound.input::<f64>("x").unwrap_err().to_string().contains("`x` is FLOAT32, not FLOAT64"));
    assert!(bound.input::<f32>("y").unwrap_err().to_string().contains("no input `y`; it has `x`"));
}

#[test]
fn loops_run_and_use_fuel_exactly() {
    let bound = sum_loop();
    let (n, sum) = (bound.input::<i64>("n").expect("n"), bound.output::<i64>().expect("i64"));
    let mut frame = bound.new_frame().expect("memory");
    frame.set(n, 10);
    // Two copies, eleven comparisons with their jumps, ten rounds of two additions and a jump.
    let needed = 2 + 11 * 2 + 10 * 3;
    for fuel in 0..needed {
        let error = bound.execute_with(&mut frame, RunOptions::new().fuel(fuel)).unwrap_err();
        assert_eq!(error.category(), Category::FuelExhausted);
        assert!(!frame.is_written(1));
    }
    bound.execute_with(&mut frame, RunOptions::new().fuel(needed)).expect("enough fuel");
    assert_eq!(frame.get(sum), 45);
    let (mut trace, mut profile) = (Trace::default(), Profile::default());
    bound.execute_with(&mut frame, RunOptions::new().fuel(needed).observer(&mut trace)).expect("same fuel");
    bound.execute_with(&mut frame, RunOptions::new().observer(&mut profile)).expect("total");
    assert_eq!(trace.entries.len() as u64, needed);
    assert_eq!(profile.counts[0].iter().map(|c| c.runs).collect::<Vec<_>>(), [1, 1, 11, 11, 10, 10, 10]);
    let last_sum = trace.entries.iter().rev().find(|e| e.ip == 4).map(|e| e.written.clone());
    assert_eq!(last_sum, Some(vec![(ValueId(1), Value::from(45i64))]));
}

/// What a register holds of a value ends where the value is defined again, by nothing but a copy onto
/// itself too.
#[test]
fn copies_onto_themselves_define() {
    let mut w = Writer::new();
    let (text, x) = (w.input("text", TEXT), w.input("x", INT64));
    let out = w.output(INT64);
    let length = w.temporary(INT64);
    let twice = w.value(w.values[length.index()].slot.clone());
    w.op("math.add", &[x, x], twice);
    w.op("strings.length", &[text], length);
    w.op("core._copy", &[length], twice);
    w.op("math.add", &[twice, x], out);
    let bound = bind(vec![w.routine(out)]);
    let mut frame = bound.new_frame().expect("memory");
    frame.set(bound.input::<Text>("text").expect("text"), "cembra");
    frame.set(bound.input::<i64>("x").expect("x"), 10);
    let mut trace = Trace::default();
    for options in [RunOptions::new().fuel(4), RunOptions::new().fuel(4).observer(&mut trace)] {
        bound.execute_with(&mut frame, options).expect("four instructions");
        assert_eq!(frame.get(bound.output::<i64>().expect("i64")), 16);
    }
    assert!(bound.execute_with(&mut frame, RunOptions::new().fuel(3)).is_err());
    assert_eq!(trace.entries.iter().map(|e| e.ip).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn endless_loops_can_be_cancelled() {
    let bound = sum_loop();
    let n = bound.input::<i64>("n").expect("n");
    let mut frame = bound.new_frame().expect("memory");
    frame.set(n, i64::MAX);
    let token = CancelToken::new();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| token.cancel());
        bound.execute_with(&mut frame, RunOptions::new().cancel(&token)).unwrap_err()
    });
    assert_eq!(error.kind, RunErrorKind::Cancelled);
    frame.set(n, 3);
    bound.execute(&mut frame).expect("the frame is still good");
}

#[test]
fn cancelled_tokens_stop_short_programs_too() {
    let bound = seed_example_1();
    let mut frame = bound.new_frame().expect("memory");
    frame.set(bound.input::<f32>("x").expect("x"), 1.5);
    bound.execute(&mut frame).expect("total");
    let token = CancelToken::new();
    bound.execute_with(&mut frame, RunOptions::new().cancel(&token)).expect("not cancelled");
    token.cancel();
    let error = bound.execute_with(&mut frame, RunOptions::new().cancel(&token)).unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Cancelled);
    assert!(frame.read(bound.output_slot()).is_err());
}

#[test]
fn open_calls_are_bounded_by_bytes() {
    let bound = factorial();
    let (n, out) = (bound.input::<i64>("n").expect("n"), bound.output::<i64>().expect("i64"));
    let bytes = u64::from(bound.program().routines()[1].layout.size());
    let mut frame = bound.new_frame().expect("memory");
    for round in 0..2 {
        frame.set(n, 5);
        let error =
            bound.execute_with(&mut frame, RunOptions::new().call_frame_bytes(5 * bytes - 1)).unwrap_err();
        let (actual, limit) = (5 * bytes, 5 * bytes - 1);
        assert_eq!(error.kind, RunErrorKind::CallFrameBytes { actual, limit }, "{round}");
        assert_eq!(error.category(), Category::Limit);
        bound.execute_with(&mut frame, RunOptions::new().call_frame_bytes(5 * bytes)).expect("enough");
        assert_eq!(frame.get(out), 120);
    }
}

/// Without being asked, a run stops long before the memory of a machine is used up.
#[test]
#[cfg_attr(miri, ignore = "hundreds of MiB")]
fn open_calls_are_bounded_by_bytes_unasked() {
    let mut main = Writer::new();
    let x = main.input("x", INT64);
    let out = main.output(INT64);
    let (operands, results) = (main.body.add_list([x]), main.body.add_list([out]));
    main.push(Instruction::Call { routine: 1, operands, results });
    let mut w = Writer::new();
    let x = w.input("x", INT64);
    let result = w.output(INT64);
    w.layout.reserve(8 << 20, 8);
    let (operands, results) = (w.body.add_list([x]), w.body.add_list([result]));
    w.push(Instruction::Call { routine: 1, operands, results });
    let bound = bind(vec![main.routine(out), w.routine(result)]);
    let mut frame = bound.new_frame().expect("memory");
    frame.set(bound.input::<i64>("x").expect("x"), 1);
    let error = bound.execute(&mut frame).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("limit call-frame-bytes: the frames of open calls have 276824064 bytes"),
        "{error}"
    );
}

#[test]
fn recursion_uses_the_call_stack() {
    let bound = factorial();
    let (n, out) = (bound.input::<i64>("n").expect("n"), bound.output::<i64>().expect("i64"));
    let mut frame = bound.new_frame().expect("memory");
    for _ in 0..2 {
        frame.set(n, 20);
        bound.execute(&mut frame).expect("shallow");
        assert_eq!(frame.get(out), 2_432_902_008_176_640_000);
    }
    // Miri takes time with the square of the depth.
    let (deep, limit) = if cfg!(miri) { (60, 50) } else { (100_000, 1_000) };
    let options = if cfg!(miri) { RunOptions::new().call_depth(limit) } else { RunOptions::new() };
    frame.set(n, deep);
    let error = bound.execute_with(&mut frame, options).unwrap_err();
    let expected = format!("limit call-depth: {limit} calls are open at once (in call, instruction 5)");
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.at.map(|at| at.routine), Some(1));
    bound.execute_with(&mut frame, RunOptions::new().call_depth(100_000)).expect("a deeper stack");
    let mut trace = Trace::default();
    frame.set(n, 3);
    bound.execute_with(&mut frame, RunOptions::new().observer(&mut trace)).expect("shallow");
    assert_eq!(frame.get(out), 6);
    let calls = trace.entries.iter().filter(|e| e.routine == 1 && e.ip == 5);
    assert_eq!(
        calls.map(|e| (e.depth, e.written[0].1.clone())).collect::<Vec<_>>(),
        [(2, 1i64.into()), (1, 2i64.into())]
    );
}

/// `n` tripled by a routine whose frame is large and holds a text, or copied by one that is small.
fn one_of_two_callees(large: bool) -> BoundExpr {
    let mut main = Writer::new();
    let n = main.input("n", INT64);
    let out = main.output(INT64);
    let (operands, results) = (main.body.add_list([n]), main.body.add_list([out]));
    main.push(Instruction::Call { routine: 1, operands, results });
    let mut w = Writer::new();
    let n = w.input("n", INT64);
    let result = w.output(INT64);
    let mut last = n;
    for _ in 0..if large { 100 } else { 0 } {
        let next = w.temporary(INT64);
        w.op("math.add", &[last, n], next);
        last = next;
    }
    if large {
        let (name, copy) = (w.literal("pinus"), w.temporary(TEXT));
        w.op("core._copy", &[name], copy);
    }
    w.op("core._copy", &[last], result);
    bind(vec![main.routine(out), w.routine(result)])
}

/// A frame keeps the frames of calls for the next run, which may be of a program with other routines.
#[test]
fn programs_on_one_frame_do_not_share_call_frames() {
    let programs = [one_of_two_callees(false), one_of_two_callees(true)];
    assert_eq!(programs[0].layout().id(), programs[1].layout().id());
    let mut frame = programs[0].new_frame().expect("memory");
    frame.set(programs[0].input::<i64>("n").expect("n"), 5);
    for (index, expected) in [(0, 5i64), (1, 505), (1, 505), (0, 5), (1, 505)] {
        programs[index].execute(&mut frame).expect("total");
        assert_eq!(frame.read(programs[index].output_slot()), Ok(Value::from(expected)));
    }
}

#[test]
fn traps_and_faults_say_where() {
    let mut w = Writer::new();
    let c = w.input("c", OPTIONAL_UNIT);
    let x = w.input("x", INT64);
    let out = w.output(INT64);
    w.push(Instruction::JumpIf { condition: c, offset: 1 });
    let trap =
        w.body.add_trap(Trap { category: Category::DivisionByZero, message: "division by zero".into() });
    w.push(Instruction::Trap { trap });
    w.op("math.floordiv", &[x, x], out);
    let bound = bind(vec![w.routine(out)]);
    let (c, x) = (bound.input::<Option<()>>("c").expect("c"), bound.input::<i64>("x").expect("x"));
    let mut frame = bound.new_frame().expect("memory");
    frame.set(c, None);
    frame.set(x, 0);
    let error = bound.execute(&mut frame).unwrap_err();
    assert_eq!(error.to_string(), "division by zero (in trap, instruction 1)");
    assert_eq!(error.category(), Category::DivisionByZero);
    frame.set(c, Some(()));
    let error = bound.execute(&mut frame).unwrap_err();
    assert_eq!(error.to_string(), "division by zero (in math.floordiv, instruction 2)");
    frame.set(x, -7);
    bound.execute(&mut frame).expect("defined");
}

#[test]
fn panics_are_contained_and_destroy_the_frame() {
    let mut table = OperatorTable::new();
    let row = Family::new("host.pick", &["x"], "Panics for negative numbers.").host();
    table
        .add(row.function1(|x: i64| {
            assert!(x >= 0, "negative: {x}");
            if x == 7 { Err(Fault::Host { message: "seven".to_owned() }) } else { Ok(x) }
        }))
        .expect("a new name");
    let mut w = Writer::new();
    w.table = Arc::new(table);
    let x = w.input("x", INT64);
    let out = w.output(INT64);
    w.op("host.pick", &[x], out);
    let bound = bind(vec![w.routine(out)]);
    let (x, y) = (bound.input::<i64>("x").expect("x"), bound.output::<i64>().expect("i64"));
    let pool = FramePool::new(bound.layout());
    let run = |value: i64| {
        let mut frame = pool.take().expect("memory");
        frame.set(x, value);
        bound.execute(&mut frame).map(|()| frame.get(y)).map_err(|e| (e.to_string(), e.category()))
    };
    assert_eq!(run(3), Ok(3));
    assert_eq!(run(7), Err(("seven (in host.pick, instruction 0)".to_owned(), Category::Host)));
    assert_eq!(pool.idle(), 1);
    let message = "the operator panicked: negative: -1 (in host.pick, instruction 0)".to_owned();
    assert_eq!(run(-1), Err((message, Category::Panic)));
    assert_eq!(pool.idle(), 0);
    assert_eq!(run(4), Ok(4));
}

/// One operator of a row on arguments of these types, and what it gives for values.
fn apply(row: Family, args: &[Value]) -> Result<Value, (String, Category)> {
    let types: Vec<QType> = args.iter().map(Value::qtype).collect();
    let overload = row.overload(&types).unwrap_or_else(|| panic!("{row:?} takes {types:?}"));
    let mut w = Writer::new();
    let mut table = OperatorTable::new();
    table.add(row).expect("a new name");
    w.table = Arc::new(table);
    let operands: Vec<ValueId> =
        types.iter().enumerate().map(|(i, t)| w.input(&i.to_string(), t.clone())).collect();
    let out = w.output(overload.result().clone());
    w.op(&overload.name().clone(), &operands, out);
    let bound = bind(vec![w.routine(out)]);
    let mut frame = bound.new_frame().expect("memory");
    for (i, value) in args.iter().enumerate() {
        frame.write(&bound.input_slot(&i.to_string()).expect("an input").clone(), value).expect("its type");
    }
    bound.execute(&mut frame).map_err(|e| (e.to_string(), e.category()))?;
    Ok(frame.read(bound.output_slot()).expect("written"))
}

/// What is optional in a closure already is its own affair; only the rest is lifted.
#[test]
fn closures_with_optionals_are_lifted_where_they_have_none() {
    let row = || Family::new("host.op", &["x", "y"], "A host operator.").host();
    let (missing, some) = (Value::from(None::<f64>), |x: f64| Value::from(Some(x)));
    let root = || row().function1(|x: f64| (x >= 0.0).then(|| x.sqrt()));
    assert_eq!(apply(root(), &[4.0.into()]), Ok(some(2.0)));
    assert_eq!(apply(root(), &[(-4.0).into()]), Ok(missing.clone()));
    assert_eq!(apply(root(), &[some(4.0)]), Ok(some(2.0)));
    assert_eq!(apply(root(), &[some(-4.0)]), Ok(missing.clone()));
    assert_eq!(apply(root(), std::slice::from_ref(&missing)), Ok(missing.clone()));
    let positive = || row().function1(|x: f64| (x >= 0.0).then_some(()));
    assert_eq!(apply(positive(), &[some(1.0)]), Ok(Value::presence(true)));
    assert_eq!(apply(positive(), std::slice::from_ref(&missing)), Ok(Value::presence(false)));
    let or = || row().function2(|x: Option<f64>, y: f64| x.unwrap_or(y));
    assert_eq!(apply(or(), &[some(1.0), 2.0.into()]), Ok(1.0.into()));
    assert_eq!(apply(or(), &[missing.clone(), 2.0.into()]), Ok(2.0.into()));
    assert_eq!(apply(or(), &[some(1.0), some(2.0)]), Ok(some(1.0)));
    assert_eq!(apply(or(), &[missing.clone(), some(2.0)]), Ok(some(2.0)));
    assert_eq!(apply(or(), &[some(1.0), missing.clone()]), Ok(missing.clone()));
    assert_eq!(apply(or(), &[missing.clone(), missing.clone()]), Ok(missing.clone()));
    let zero = row().function1(|x: Option<f64>| x.unwrap_or(0.0));
    assert_eq!(zero.overloads().len(), 1);
    assert_eq!(apply(zero, &[missing]), Ok(0.0.into()));
}

#[test]
fn kernels_must_write_their_result() {
    let row = || Family::new("host.op", &["x"], "One, but only for positive numbers.").host();
    let lazy = || {
        row().general(&[FLOAT64], FLOAT64, |call| {
            if call.plain::<f64>(0) > 0.0 {
                call.set_plain(1.0);
            }
            Ok(())
        })
    };
    assert_eq!(apply(lazy(), &[2.0.into()]), Ok(1.0.into()));
    let error = ("the operator wrote no result (in host.op, instruction 0)".to_owned(), Category::Panic);
    assert_eq!(apply(lazy(), &[(-2.0).into()]), Err(error.clone()));
    assert_eq!(apply(lazy(), &[Some(-2.0).into()]), Err(error));
}

/// A scalar kernel leaves no trace while it runs; the operator before it is not to blame.
#[test]
fn panics_are_blamed_on_the_right_operator_or_on_none() {
    let row = |name| Family::new(name, &["x"], "A host operator.").host();
    let mut table = OperatorTable::new();
    table.add(row("host.fine").function1(|x: f64| x + 1.0)).expect("a new name");
    table
        .add(row("host.boom").unary(|x: f64| -> f64 {
            if x > 3.0 { panic!("too large") } else { x }
        }))
        .expect("a new name");
    let mut w = Writer::new();
    w.table = Arc::new(table);
    let x = w.input("x", FLOAT64);
    let (next, out) = (w.temporary(FLOAT64), w.output(FLOAT64));
    w.op("host.fine", &[x], next);
    w.op("host.boom", &[next], out);
    let bound = bind(vec![w.routine(out)]);
    let mut frame = bound.new_frame().expect("memory");
    frame.set(bound.input::<f64>("x").expect("x"), 5.0);
    let error = bound.execute(&mut frame).unwrap_err();
    assert_eq!((error.to_string(), error.at), ("the operator panicked: too large".to_owned(), None));
}

/// Literals stand for every run on the frame.
#[test]
fn literals_are_read_and_not_written() {
    let bound = seed_example_1();
    let main = bound.program().main();
    let literal = main.slot(main.literals[0].0).clone();
    let mut frame = bound.new_frame().expect("memory");
    let error = frame.write(&literal, &5.0.into()).unwrap_err();
    assert_eq!(error.to_string(), "FLOAT64 [0x18] holds a literal, which cannot be written");
    // Half of it, too.
    let half = TypedSlot::new(literal.offset() + 4, FLOAT32);
    assert!(frame.write(&half, &5.0f32.into()).is_err());
    let slot = bound.layout().slot::<f64>(&literal).expect("a slot to read");
    assert_eq!(frame.get(slot), 1.0);
    let set = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| frame.set(slot, 5.0)));
    assert!(set.is_err());
    frame.set(bound.input::<f32>("x").expect("x"), 1.5);
    bound.execute(&mut frame).expect("total");
    assert_eq!(frame.get(bound.output::<f64>().expect("f64")), 2.5);
}

/// Binding, looking up and writing inputs takes time in proportion to their number.
#[test]
fn a_hundred_thousand_inputs_are_bound_and_written() {
    let count = if cfg!(miri) { 100 } else { 100_000 };
    let mut w = Writer::new();
    let inputs: Vec<ValueId> = (0..count).map(|i| w.input(&format!("x{i}"), INT64)).collect();
    let out = w.output(INT64);
    let add = w.table.overload("math.add", &[INT64, INT64]).expect("a standard operator");
    let add = w.body.add_operator(add);
    w.op("core._copy", &[inputs[0]], out);
    for x in &inputs[1..] {
        // Each result takes the bytes of an input that nobody reads any more.
        let result = w.value(w.values[x.index()].slot.clone());
        let last = ValueId(w.values.len() as u32 - 2);
        let last = if last.index() < inputs.len() + 1 { out } else { last };
        w.body.push_operator(add, &[last, *x], result, Span::default());
    }
    let result = ValueId(w.values.len() as u32 - 1);
    w.op("core._copy", &[result], out);
    let mut routine = w.routine(out);
    routine.overrides_inputs = true;
    let started = std::time::Instant::now();
    let bound = BoundExpr::new(Arc::new(Program::new(vec![routine]))).expect("it verifies");
    let mut frame = bound.new_frame().expect("memory");
    for i in 0..count {
        let name = format!("x{i}");
        frame.set(bound.input::<i64>(&name).expect("an input"), 1);
        frame
            .write(bound.input_slot(&name).expect("an input"), &Value::from(i64::from(i)))
            .expect("an INT64");
    }
    bound.execute(&mut frame).expect("every input is written");
    assert_eq!(frame.read(bound.output_slot()), Ok(Value::from(i64::from(count) * i64::from(count - 1) / 2)));
    // The first input alone keeps its bytes.
    assert!(frame.is_written(0) && (1..count as u32).all(|bit| !frame.is_written(bit)));
    assert!(cfg!(miri) || started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    println!("{count} inputs: {:?}", started.elapsed());
}
