//! Programs built by hand, one for each thing that a text must carry.

use crate::draft::Draft;
use cembra_vm::layout::TypedSlot;
use cembra_vm::program::instruction::{Span, Trap};
use cembra_vm::program::{Instruction, Program, ValueId};
use cembra_vm::value::qtype::{BOOLEAN, BYTES, FLOAT32, FLOAT64, INT64, OPTIONAL_UNIT, TEXT};
use cembra_vm::value::sequence::SequenceValue;
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{Axes, Category, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

/// Every program with its name.
pub fn all() -> Vec<(&'static str, Program)> {
    vec![
        ("arithmetic", arithmetic()),
        ("branches", branches()),
        ("counting loop", counting_loop()),
        ("recursion", recursion()),
        ("compound values", compound_values()),
        ("literals", literals()),
        ("shared layout", shared_layout()),
        ("overridden input", overridden_input()),
        ("rows", rows()),
        ("elements", elements()),
        ("updates", updates()),
    ]
}

/// `x + 1` for a FLOAT32 x and a FLOAT64 1: the published example.
pub fn arithmetic() -> Program {
    let mut d = Draft::new();
    let x = d.input(0x00, FLOAT32);
    let output = d.output(0x08, FLOAT64);
    let wide = d.temporary(0x10, FLOAT64);
    let one = d.literal(0x18, 1.0);
    d.run_at("core.to_float64", &[x], wide, Span { start: 0, end: 1 });
    d.run_at("math.add", &[wide, one], output, Span { start: 0, end: 5 });
    Program::new(vec![d.finish(&[("x", x)], output)])
}

/// `where(x < y, x + y, <trap>)` with the condition as a side output.
fn branches() -> Program {
    let mut d = Draft::new();
    let x = d.input(0x00, FLOAT64);
    let y = d.input(0x08, FLOAT64);
    let output = d.output(0x10, FLOAT64);
    let less = d.temporary(0x18, OPTIONAL_UNIT);
    let not_less = d.temporary(0x19, OPTIONAL_UNIT);
    d.run("core.less", &[x, y], less);
    d.run("core.presence_not", &[less], not_less);
    let skip = d.push(Instruction::JumpIf { condition: not_less, offset: 0 });
    d.run("math.add", &[x, y], output);
    let done = d.push(Instruction::Jump { offset: 0 });
    d.body.jump_to_here(skip);
    let trap = Trap { category: Category::DivisionByZero, message: "it's 1 // 0 # here\n".into() };
    let trap = d.body.add_trap(trap);
    d.push(Instruction::Trap { trap });
    d.push(Instruction::Trap { trap });
    d.body.jump_to_here(done);
    let mut routine = d.finish(&[("x", x), ("the other 'y'", y)], output);
    routine.side_outputs = vec![("is less".into(), less), ("not less".into(), not_less)];
    Program::new(vec![routine])
}

/// Adds 3 until it is no longer below n.
fn counting_loop() -> Program {
    let mut d = Draft::new();
    let n = d.input(0x00, INT64);
    let sum = d.output(0x08, INT64);
    let (zero, step) = (d.literal(0x10, 0i64), d.literal(0x18, 3i64));
    let below = d.temporary(0x20, OPTIONAL_UNIT);
    d.run("core._copy", &[zero], sum);
    d.run("math.add", &[sum, step], sum);
    d.run("core.less", &[sum, n], below);
    d.push(Instruction::JumpIf { condition: below, offset: -3 });
    Program::new(vec![d.finish(&[("n", n)], sum)])
}

/// Routine 1 halves its input until it is below the second one, by calling itself.
fn recursion() -> Program {
    let mut main = Draft::new();
    let x = main.input(0x00, FLOAT64);
    let output = main.output(0x08, FLOAT64);
    let one = main.literal(0x10, 1.0);
    main.call(1, &[x, one], &[output]);
    let mut callee = Draft::new();
    let x = callee.input(0x00, FLOAT64);
    let bound = callee.input(0x08, FLOAT64);
    let result = callee.output(0x10, FLOAT64);
    let half = callee.literal(0x18, 0.5);
    let halved = callee.temporary(0x20, FLOAT64);
    let below = callee.temporary(0x28, OPTIONAL_UNIT);
    callee.run("core.less", &[x, bound], below);
    let again = callee.push(Instruction::JumpIfNot { condition: below, offset: 0 });
    callee.run("core._copy", &[x], result);
    let done = callee.push(Instruction::Jump { offset: 0 });
    callee.body.jump_to_here(again);
    callee.run("math.multiply", &[x, half], halved);
    callee.call(1, &[halved, bound], &[result]);
    callee.body.jump_to_here(done);
    let main = main.finish(&[("x", ValueId(0))], output);
    Program::new(vec![main, callee.finish(&[("x", x), ("bound", bound)], result)])
}

/// Texts, a tuple around an operand that stands in it, views, an optional and a sequence.
pub fn compound_values() -> Program {
    let mut d = Draft::new();
    let name = d.input(0x00, TEXT);
    let weight = d.input(0x18, QType::Optional(ScalarType::Float64));
    let pair = TupleType::new([TEXT, QType::Optional(ScalarType::Float64)]).expect("small");
    let fields = [QType::Tuple(pair), INT64, BYTES];
    let names = ["pair".into(), "not_a_word".into(), "raw".into()];
    let named = QType::Tuple(TupleType::named(names, fields.clone()).expect("small"));
    let output = d.output(0x28, QType::Tuple(TupleType::new(fields).expect("small")));
    let first = d.slot(output).field(0).expect("three fields");
    let inner = d.value(first.clone());
    let steps = d.literal(0x70, sequence(ScalarType::Int64, &[1i64, 2, 3].map(ScalarValue::Int64)));
    let size = d.temporary(0x88, INT64);
    let raw = d.literal(0x90, vec![0u8, b'\'', 0xff]);
    d.run("core.make_tuple", &[name, weight], inner);
    d.run("seq.size", &[steps], size);
    d.run("core.make_tuple", &[inner, size, raw], output);
    let renamed = d.view(output, TypedSlot::new(0x28, named));
    let view = d.view(renamed, first);
    let optional = d.slot(view).field(1).expect("two fields");
    let presence = d.view(view, optional.presence().expect("an optional"));
    let mask = d.temporary(0xa8, OPTIONAL_UNIT);
    d.run("core.presence_not", &[presence], mask);
    let mut routine = d.finish(&[("name", name), ("weight", weight)], output);
    routine.side_outputs = vec![("mask".into(), mask), ("size".into(), size)];
    Program::new(vec![routine])
}

/// A literal of every type and of every kind of float.
pub fn literals() -> Program {
    let mut d = Draft::new();
    let output = d.output(0x00, FLOAT64);
    let nan = |bits: u64| ScalarValue::Float64(f64::from_bits(bits));
    let pair = Value::tuple([Value::from(1i32), Value::tuple([]).expect("small")]).expect("small");
    let named = TupleType::named(["a".into(), "b".into()], [TEXT, QType::ScalarShape]).expect("small");
    let values = [
        Value::Scalar(ScalarValue::Unit),
        true.into(),
        i32::MIN.into(),
        i64::MAX.into(),
        0.1f32.into(),
        f32::from_bits(0x7f80_0001).into(),
        f32::NEG_INFINITY.into(),
        (-0.0).into(),
        5e-324.into(),
        f64::INFINITY.into(),
        f64::NAN.into(),
        Value::Scalar(nan(0xfff8_0000_0000_0000)),
        Value::Present(nan(0x7ff0_0000_dead_beef)),
        Value::Scalar(ScalarValue::WeakFloat(-2.5)),
        Value::Missing(ScalarType::WeakFloat),
        "Zürich 'é' \u{202e}\\\"\r\n\t\u{0}#".into(),
        Some("missing").into(),
        None::<Vec<u8>>.into(),
        (0..=255).collect::<Vec<u8>>().into(),
        Value::presence(true),
        Value::presence(false),
        None::<bool>.into(),
        Value::ScalarShape,
        Value::OptionalScalarShape,
        pair,
        Value::of_tuple_type(named, [Value::from("("), Value::ScalarShape]),
        sequence(ScalarType::Float32, &[f32::NAN, -0.0, 1e21].map(ScalarValue::Float32)),
        sequence(ScalarType::Boolean, &[true, false].map(ScalarValue::Boolean)),
        sequence(ScalarType::Unit, &[ScalarValue::Unit]),
        sequence(ScalarType::WeakFloat, &[]),
    ];
    for value in values {
        d.next_literal(value);
    }
    let one = d.next_literal(1.0.into());
    d.run("core._copy", &[one], output);
    Program::new(vec![d.finish(&[], output)])
}

/// The arithmetic on a layout that other programs use as well.
fn shared_layout() -> Program {
    let mut d = Draft::new();
    let x = d.input(0x00, FLOAT32);
    let output = d.output(0x08, FLOAT64);
    let wide = d.temporary(0x10, FLOAT64);
    let one = d.literal(0x18, 1.0);
    d.layout.place_input(&TypedSlot::new(0x04, FLOAT32));
    d.layout.place_output(&TypedSlot::new(0x20, BYTES));
    d.layout.place_literal(0x38, Value::from("theirs"));
    d.layout.place(&TypedSlot::new(0x50, QType::Sequence(ScalarType::Float32)));
    d.layout.reserve(0x100, 64);
    d.run("core.to_float64", &[x], wide);
    d.run("math.add", &[wide, one], output);
    Program::new(vec![d.finish(&[("x", x)], output)])
}

/// `x + x + x` where the sum takes the place of x.
fn overridden_input() -> Program {
    let mut d = Draft::new();
    let x = d.input(0x00, FLOAT64);
    let y = d.input(0x08, FLOAT64);
    let output = d.output(0x10, FLOAT64);
    let sum = d.temporary(0x00, FLOAT64);
    d.run("math.add", &[x, y], sum);
    d.run("math.add", &[sum, y], output);
    let mut routine = d.finish(&[("x", x), ("y", y)], output);
    routine.overrides_inputs = true;
    Program::new(vec![routine])
}

fn sequence(element: ScalarType, values: &[ScalarValue]) -> Value {
    Value::Sequence(Arc::new(SequenceValue::from_scalars(element, values).expect("plain scalars")))
}

/// Operators on rows: a region whose handles are used again, a reduction that nobody reads, a scalar in its place.
fn rows() -> Program {
    let (float, int) = (qtype("DENSE_ARRAY_FLOAT64"), qtype("DENSE_ARRAY_INT32"));
    let mut d = Draft::new();
    let (x, i, k) = (d.input(0x00, float.clone()), d.input(0x18, int), d.input(0x30, FLOAT64));
    let output = d.output(0x38, float.clone());
    let (t, u) = (d.temporary(0x50, float.clone()), d.temporary(0x68, float.clone()));
    let (v, w) = (d.temporary(0x50, float.clone()), d.temporary(0x68, float));
    let (s, sum, twice) =
        (d.temporary(0x80, FLOAT64), d.temporary(0x80, FLOAT64), d.temporary(0x88, FLOAT64));
    d.run("math.multiply", &[x, k], t);
    d.run("core.to_float64", &[i], u);
    d.run("math._sum", &[t], s);
    d.run("math.add", &[k, k], sum);
    d.run("math.add", &[t, u], output);
    d.run("math.subtract", &[output, x], v);
    d.run("math.multiply", &[v, v], w);
    d.run("math._sum", &[w], twice);
    let mut routine = d.finish(&[("i", i), ("k", k), ("x", x)], output);
    routine.side_outputs = vec![("sum".into(), sum), ("twice".into(), twice)];
    Program::new(vec![routine])
}

/// Operators on arrays over axes, of which some are repeated.
fn elements() -> Program {
    let (matrix, column, row) =
        (qtype("NDARRAY_FLOAT64_NN"), qtype("NDARRAY_FLOAT64_N1"), qtype("NDARRAY_FLOAT64_N"));
    let mut d = Draft::new();
    let (m, n) = (d.input(0x00, matrix.clone()), d.input(0x18, column.clone()));
    let output = d.output(0x30, matrix.clone());
    let (t, u) = (d.temporary(0x48, matrix.clone()), d.temporary(0x60, matrix));
    let (c, r) = (d.temporary(0x78, column), d.output(0x90, row));
    let axes = d.literal(0xa8, Value::Axes(Axes::new([1]).expect("an axis")));
    d.run("math.add", &[n, n], c);
    d.run("math.multiply", &[m, c], t);
    d.run("math.add", &[t, m], u);
    d.run("nd._sum", &[u, axes], r);
    d.run("math.subtract", &[u, n], output);
    let mut routine = d.finish(&[("m", m), ("n", n)], output);
    routine.side_outputs = vec![("r".into(), r)];
    Program::new(vec![routine])
}

/// The type with this name.
fn qtype(name: &str) -> QType {
    name.parse().unwrap_or_else(|_| panic!("{name} is no type"))
}

/// Sets the elements of an array one after the other, each by a call; the output is how many there are.
pub fn updates() -> Program {
    let array: QType = "NDARRAY_INT64_N".parse().expect("a type");
    let mut d = Draft::new();
    let a = d.input(0x00, array.clone());
    let i = d.output(0x18, INT64);
    let n = d.temporary(0x20, INT64);
    let more = d.temporary(0x28, BOOLEAN);
    let zero = d.literal(0x30, 0i64);
    let one = d.literal(0x38, 1i64);
    let unit = d.temporary(0x40, INT64);
    d.run("core._copy", &[zero], i);
    d.run("nd.length", &[a, zero], n);
    let start = d.push(Instruction::Jump { offset: 0 });
    d.call(1, &[a, i], &[unit]);
    d.run("math.add", &[i, one], i);
    d.body.jump_to_here(start);
    d.run("bool.less", &[i, n], more);
    d.push(Instruction::JumpIf { condition: more, offset: -4 });
    d.updated.push(a);
    let main = d.finish(&[("a", a)], i);
    let mut d = Draft::new();
    let a = d.input(0x00, array);
    let i = d.input(0x18, INT64);
    let out = d.output(0x20, INT64);
    d.run("nd.set", &[a, i, i], a);
    d.run("core._copy", &[i], out);
    d.updated.push(a);
    Program::new(vec![main, d.finish(&[("a", a), ("i", i)], out)])
}
