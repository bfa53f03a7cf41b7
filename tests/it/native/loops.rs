//! Loops that native code could write twice: stored programs that no front makes, in which the test before the loop would
//! not hold for every round. Results and errors must be those of the interpreter.

use crate::native::arrays::sanitized;
use crate::native::{fresh, function};
use cembra::native::{ArrayLayout, NativeCache, ProgramCall, TranslateToC, call_library};
use cembra::vm::builtins::table;
use cembra::vm::layout::{FrameLayout, TypedSlot};
use cembra::vm::library::Argument;
use cembra::vm::machine::BoundExpr;
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::program::instruction::{Instruction, Span};
use cembra::vm::program::program::ValueInfo;
use cembra::vm::program::{Body, Program, Routine, ValueId};
use cembra::vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra::vm::value::{NdRows, NdType, QType, ScalarType, ScalarValue, Value};
use cembra::workflow::Step;
use fastrand::Rng;
use std::sync::Arc;

/// A routine by hand: values first, then instructions.
struct Assembler {
    layout: cembra::vm::layout::LayoutBuilder,
    values: Vec<ValueInfo>,
    inputs: Vec<ValueId>,
    literals: Vec<(ValueId, Value)>,
    body: Body,
}

impl Assembler {
    fn new() -> Assembler {
        let (values, inputs, literals) = (Vec::new(), Vec::new(), Vec::new());
        Assembler { layout: FrameLayout::builder(), values, inputs, literals, body: Body::new() }
    }

    fn push(&mut self, slot: TypedSlot, view_of: Option<ValueId>) -> ValueId {
        self.values.push(ValueInfo { slot, view_of });
        ValueId(self.values.len() as u32 - 1)
    }

    fn value(&mut self, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.push(slot, None)
    }

    fn input(&mut self, qtype: QType) -> ValueId {
        let value = self.value(qtype);
        self.layout.place_input(&self.values[value.0 as usize].slot);
        self.inputs.push(value);
        value
    }

    fn literal(&mut self, x: i64) -> ValueId {
        let literal = Value::Scalar(ScalarValue::Int64(x));
        let slot = self.layout.literal(literal.clone());
        let value = self.push(slot, None);
        self.literals.push((value, literal));
        value
    }

    /// A field of a tuple.
    fn field(&mut self, tuple: ValueId, index: usize) -> ValueId {
        let slot = self.values[tuple.0 as usize].slot.field(index).expect("a field");
        self.push(slot, Some(tuple))
    }

    fn operator(&mut self, name: &str, operands: &[ValueId], result: ValueId) {
        let types: Vec<QType> =
            operands.iter().map(|value| self.values[value.0 as usize].slot.qtype().clone()).collect();
        let overload = table().overload(name, &types).unwrap_or_else(|| panic!("{name} of {types:?}"));
        let number = self.body.add_operator(overload);
        self.body.push_operator(number, operands, result, Span::default());
    }

    fn jump(&mut self) -> usize {
        self.body.push(Instruction::Jump { offset: 0 }, Span::default())
    }

    fn jump_if(&mut self, condition: ValueId) -> usize {
        self.body.push(Instruction::JumpIf { condition, offset: 0 }, Span::default())
    }

    fn here(&self) -> usize {
        self.body.instructions().len()
    }

    fn program(mut self, output: ValueId) -> Program {
        self.layout.place_output(&self.values[output.0 as usize].slot);
        Program::new(vec![Routine {
            layout: self.layout.build().expect("few values"),
            inputs: self.inputs.iter().map(|value| (value.to_string().into(), *value)).collect(),
            output,
            side_outputs: Vec::new(),
            literals: self.literals,
            overrides_inputs: false,
            updated_inputs: Vec::new(),
            parallel: None,
            values: self.values,
            body: self.body,
        }])
    }
}

/// What the loops below have in common: `s` of elements `a[i]`, a counter, its bound.
struct Sum {
    at: Assembler,
    a: ValueId,
    n: ValueId,
    k: ValueId,
    i: ValueId,
    one: ValueId,
    zero: ValueId,
    s: ValueId,
    x: ValueId,
    c: ValueId,
}

impl Sum {
    fn new() -> Sum {
        let mut at = Assembler::new();
        let rows = QType::NdArray(NdType::new(ScalarType::Float64, 1, 0).expect("a type"));
        let (a, n, k) = (at.input(rows), at.input(INT64), at.input(INT64));
        let (i, one, zero) = (at.value(INT64), at.literal(1), at.literal(0));
        let (s, x, c) = (at.value(FLOAT64), at.value(FLOAT64), at.value(BOOLEAN));
        at.operator("core._copy", &[zero], i);
        at.operator("core.to_float64", &[zero], s);
        Sum { at, a, n, k, i, one, zero, s, x, c }
    }

    fn add_element(&mut self, index: ValueId) {
        self.at.operator("nd.get", &[self.a, index], self.x);
        self.at.operator("math.add", &[self.s, self.x], self.s);
    }

    fn count_on(&mut self) {
        self.at.operator("math.add", &[self.i, self.one], self.i);
    }

    fn compare(&mut self, bound: ValueId) {
        self.at.operator("bool.less", &[self.i, bound], self.c);
    }

    /// The jump into a loop; gives where the loop begins.
    fn enter(&mut self) -> (usize, usize) {
        let entry = self.at.jump();
        (entry, self.at.here())
    }

    /// The comparison and the jump back.
    fn close(&mut self, (entry, first): (usize, usize), bound: ValueId) {
        let condition = self.at.here();
        self.at.body.set_target(entry, condition);
        self.compare(bound);
        let back = self.at.jump_if(self.c);
        self.at.body.set_target(back, first);
    }
}

fn number(x: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(x))
}

/// Compares a program with the interpreter for bounds around the size of the array; true if a loop was written twice.
fn check(what: &str, program: Program) -> bool {
    let (_folder, cache) = fresh();
    checked(&cache, what, program, &[])
}

/// The same with a cache, and with far numbers as bounds and steps.
fn checked(cache: &NativeCache, what: &str, program: Program, far: &[i64]) -> bool {
    let program = Arc::new(program);
    let bound = BoundExpr::new(program.clone()).expect("a program");
    let mut frame = bound.new_frame().expect("memory");
    let rows = NdType::new(ScalarType::Float64, 1, 0).expect("a type");
    let call = ProgramCall::new("f", program, ArrayLayout::Strided).expect("a name");
    let library = cache.library(&call).expect("it has a form in C");
    for size in [0usize, 1, 3, 6] {
        let elements: Vec<f64> = (0..size).map(|x| 0.5 + x as f64).collect();
        let elements = NdRows::from_slice(rows, &[size], &elements).expect("elements");
        let elements = Value::NdArray(Arc::new(elements));
        for n in (-2..10).chain(far.iter().copied()) {
            for k in [-9, -1, 0, 1, 2, 5, 8].into_iter().chain(far.iter().copied()) {
                let args = [&elements, &number(n), &number(k)];
                for ((name, _), value) in bound.program().main().inputs.iter().zip(args) {
                    frame.write(bound.input_slot(name).expect("an input"), value).expect("its type");
                }
                let mut native = library.bind(args.map(Argument::Value)).expect("its types");
                match (bound.execute(&mut frame), native.run()) {
                    (Ok(()), Ok(())) => {
                        let expected = frame.read(bound.output_slot()).expect("a result");
                        assert_eq!(native.result(0), expected, "{what}: {size} elements, n = {n}, k = {k}");
                    }
                    (Err(error), Err(raised)) => {
                        let RunErrorKind::Fault(fault) = &error.kind else { panic!("{what}: {error}") };
                        assert_eq!(raised.category, fault.category(), "{what}: {size}, {n}, {k}");
                    }
                    (expected, found) => panic!("{what}: {size}, {n}, {k}: {expected:?}, native {found:?}"),
                }
            }
        }
    }
    let source = TranslateToC::default().run(call).expect("it has a form in C");
    source.text.contains("u;")
}

#[test]
fn a_plain_loop_is_written_twice() {
    let mut f = Sum::new();
    let begin = f.enter();
    f.add_element(f.i);
    f.count_on();
    f.close(begin, f.n);
    assert!(check("plain", f.at.program(f.s)));
}

#[test]
fn a_way_back_around_the_comparison() {
    let mut f = Sum::new();
    let flag = f.at.value(BOOLEAN);
    let begin = f.enter();
    f.add_element(f.i);
    f.count_on();
    f.at.operator("bool.less", &[f.i, f.k], flag);
    let around = f.at.jump_if(flag);
    let condition = f.at.here();
    f.at.body.set_target(begin.0, condition);
    f.compare(f.n);
    let back = f.at.jump_if(f.c);
    f.at.body.set_target(around, back);
    f.at.body.set_target(back, begin.1);
    check("around the comparison", f.at.program(f.s));
}

#[test]
fn a_way_around_the_sum_of_the_counter() {
    let mut f = Sum::new();
    let (flag, rounds) = (f.at.value(BOOLEAN), f.at.value(INT64));
    f.at.operator("core._copy", &[f.zero], rounds);
    let begin = f.enter();
    f.add_element(f.i);
    f.at.operator("math.add", &[rounds, f.one], rounds);
    f.at.operator("bool.less", &[rounds, f.k], flag);
    let around = f.at.jump_if(flag);
    f.count_on();
    let condition = f.at.here();
    f.at.body.set_target(around, condition);
    f.close(begin, f.n);
    check("around the sum", f.at.program(f.s));
}

#[test]
fn an_index_that_is_a_field_of_a_tuple() {
    let mut f = Sum::new();
    let pair = f.at.value("tuple<INT64,INT64>".parse().expect("a type"));
    let second = f.at.field(pair, 1);
    let begin = f.enter();
    f.at.operator("core.make_tuple", &[f.n, f.i], pair);
    f.add_element(second);
    f.count_on();
    f.close(begin, f.n);
    check("a field that changes", f.at.program(f.s));
    let mut f = Sum::new();
    let pair = f.at.value("tuple<INT64,INT64>".parse().expect("a type"));
    let second = f.at.field(pair, 1);
    f.at.operator("core.make_tuple", &[f.n, f.k], pair);
    let begin = f.enter();
    f.add_element(second);
    f.count_on();
    f.close(begin, f.n);
    check("a field that stays", f.at.program(f.s));
}

#[test]
fn a_counter_that_is_changed_twice() {
    let mut f = Sum::new();
    let begin = f.enter();
    f.add_element(f.i);
    f.at.operator("math.add", &[f.i, f.k], f.i);
    f.at.operator("math.subtract", &[f.i, f.k], f.i);
    f.count_on();
    f.close(begin, f.n);
    check("changed and back", f.at.program(f.s));
    let mut f = Sum::new();
    let begin = f.enter();
    f.count_on();
    f.add_element(f.i);
    f.count_on();
    f.close(begin, f.n);
    check("before and behind", f.at.program(f.s));
}

#[test]
fn a_counter_of_two_loops() {
    // One in the other: the inner one goes on where it has ended.
    let mut f = Sum::new();
    let (rounds, three, goes_on) = (f.at.value(INT64), f.at.literal(3), f.at.value(BOOLEAN));
    f.at.operator("core._copy", &[f.zero], rounds);
    let outer = f.at.here();
    let begin = f.enter();
    f.add_element(f.i);
    f.count_on();
    f.close(begin, f.n);
    f.at.operator("math.subtract", &[f.i, f.k], f.i);
    f.at.operator("math.add", &[rounds, f.one], rounds);
    f.at.operator("bool.less", &[rounds, three], goes_on);
    let back = f.at.jump_if(goes_on);
    f.at.body.set_target(back, outer);
    check("one in the other", f.at.program(f.s));
    // One behind the other, with bounds of their own.
    let mut f = Sum::new();
    for bound in [f.k, f.n] {
        let begin = f.enter();
        f.add_element(f.i);
        f.count_on();
        f.close(begin, bound);
    }
    check("one behind the other", f.at.program(f.s));
}

#[test]
fn a_bound_or_a_step_that_changes() {
    let mut f = Sum::new();
    let bound = f.at.value(INT64);
    f.at.operator("core._copy", &[f.k], bound);
    let begin = f.enter();
    f.add_element(f.i);
    f.count_on();
    f.at.operator("core._copy", &[f.n], bound);
    f.close(begin, bound);
    check("a bound", f.at.program(f.s));
    let mut f = Sum::new();
    let step = f.at.value(INT64);
    f.at.operator("core._copy", &[f.one], step);
    let begin = f.enter();
    f.add_element(f.i);
    f.at.operator("math.add", &[f.i, step], f.i);
    f.at.operator("math.add", &[step, f.one], step);
    f.close(begin, f.n);
    check("a step", f.at.program(f.s));
}

/// An index of an element: mostly a form of the counter.
fn index(f: &mut Sum, literals: &[ValueId], rng: &mut Rng) -> ValueId {
    let operators = ["math.add", "math.subtract", "python.add", "python.subtract", "math.multiply"];
    let name = operators[rng.usize(..operators.len())];
    let (counter, k, literal) = (f.i, f.k, literals[rng.usize(..literals.len())]);
    let operands = match rng.usize(..8) {
        0 | 1 => return counter,
        2 => return k,
        3 => [counter, literal],
        4 => [literal, counter],
        5 => [counter, k],
        _ => {
            let of = index(f, literals, rng);
            [of, if rng.bool() { k } else { literal }]
        }
    };
    let index = f.at.value(INT64);
    f.at.operator(name, &operands, index);
    index
}

/// A loop with a counter that goes up or down by a literal or by `k`, to `n`, of 50 rounds at most.
fn random_loop(rng: &mut Rng) -> Sum {
    let mut f = Sum::new();
    let (rounds, most, is_over) = (f.at.value(INT64), f.at.literal(50), f.at.value(BOOLEAN));
    f.at.operator("core._copy", &[f.zero], rounds);
    let literals: Vec<ValueId> = [1, -1, 2, -2, 3, 5].map(|x| f.at.literal(x)).into();
    let goes_down = rng.usize(..3) == 0;
    if goes_down {
        f.at.operator("core._copy", &[literals[5]], f.i);
    }
    let begin = f.enter();
    f.at.operator("math.add", &[rounds, f.one], rounds);
    f.at.operator("bool.less", &[most, rounds], is_over);
    let out = f.at.jump_if(is_over);
    for _ in 0..rng.usize(1..4) {
        let index = index(&mut f, &literals, rng);
        f.add_element(index);
    }
    let step = match rng.usize(..4) {
        0 => f.k,
        _ => literals[[0, 2, 4][rng.usize(..3)]],
    };
    let by = if goes_down { "math.subtract" } else { ["math.add", "python.add"][rng.usize(..2)] };
    f.at.operator(by, &[f.i, step], f.i);
    if rng.usize(..3) == 0 {
        let index = index(&mut f, &literals, rng);
        f.add_element(index);
    }
    let condition = f.at.here();
    f.at.body.set_target(begin.0, condition);
    let compared = ["bool.less", "bool.less_equal"][rng.usize(..2)];
    let operands = if goes_down { [f.n, f.i] } else { [f.i, f.n] };
    f.at.operator(compared, &operands, f.c);
    let back = f.at.jump_if(f.c);
    f.at.body.set_target(back, begin.1);
    let behind = f.at.here();
    f.at.body.set_target(out, behind);
    f
}

/// Forms of any kind, in both directions; bounds, steps and values that indices are made of may be far.
#[test]
fn forms_of_the_counter_are_inside_where_the_test_says_so() {
    let mut rng = Rng::with_seed(11);
    let (_folder, cache) = sanitized();
    let mut twice = 0;
    for number in 0..24 {
        let f = random_loop(&mut rng);
        let program = f.at.program(f.s);
        twice += usize::from(checked(&cache, &format!("loop {number}"), program, &[i64::MAX, 1 << 41]));
    }
    assert!(twice >= 12, "{twice} loops are written twice");
}

/// The index is the counter, but the sum on the way to it overflows where `k` is far: that raises.
#[test]
fn a_value_that_cancels_is_looked_at() {
    let (_folder, cache) = sanitized();
    let mut f = Sum::new();
    let (sum, index) = (f.at.value(INT64), f.at.value(INT64));
    let begin = f.enter();
    f.at.operator("python.add", &[f.i, f.k], sum);
    f.at.operator("python.subtract", &[sum, f.k], index);
    f.add_element(index);
    f.count_on();
    f.close(begin, f.n);
    assert!(checked(&cache, "cancels", f.at.program(f.s), &[i64::MAX, (1 << 40) - 1, 1 << 40]));
}

const CHOOSING: &str = "def f(n, m):
    found = 0
    other = 7
    for i in range(n):
        if (i & 3) >= m:
            found ^= i
        if not i & 1:
            other |= i
        if i == m:
            other = found // m
    return found * 1000 + other
";

/// One operation behind a branch is computed either way, unless it refuses operands.
#[test]
fn a_branch_around_one_operation_on_integers_is_a_choice() {
    let (_folder, cache) = sanitized();
    let args = |n: i64, m: i64| [n, m].map(|x| Value::Scalar(ScalarValue::Int64(x))).to_vec();
    let call = function(CHOOSING, &args(1, 1), ArrayLayout::Strided);
    let source = TranslateToC::default().run(call.clone()).expect("it has a form in C");
    let choices = source.text.lines().filter(|line| line.starts_with("    v") && line.contains(" ? ("));
    assert_eq!(choices.count(), 2, "{}", source.text);
    let library = cache.library(&call).expect("a library");
    for (n, m) in [(0, 1), (1, 1), (9, 2), (100, 3), (100, -7)] {
        let (mut found, mut other) = (0, 7);
        for i in 0..n {
            found = if i & 3 >= m { found ^ i } else { found };
            other = if i & 1 == 0 { other | i } else { other };
            other = if i == m { found / m } else { other };
        }
        let result = call_library(&library, &args(n, m)).expect("no error");
        assert_eq!(result.results, [Value::Scalar(ScalarValue::Int64(found * 1000 + other))], "{n} {m}");
    }
    let zero = call_library(&library, &args(1, 0)).expect_err("a quotient by zero");
    assert!(zero.to_string().contains("zero"), "{zero}");
}
