//! How long loops take: nanoseconds for each cell of an empty loop, for each element read and written, for each call.
//!
//! `cargo run --release -p cembra-vm --example loops`

#[path = "../tests/support/draft.rs"]
mod draft;

use cembra_vm::machine::{BoundExpr, NdViewMut};
use cembra_vm::program::{Instruction, Program, Routine, ValueId};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{NdType, QType, Value};
use draft::Draft;
use std::sync::Arc;
use std::time::Instant;

/// Iterations of a run: short enough to be alone on a processor now and then.
const TIMES: i64 = 20_000;

/// Runs of which the shortest counts.
const RUNS: usize = 2_000;

/// A loop over `i` below `n`, around what `body` appends.
struct Counting {
    draft: Draft,
    i: ValueId,
    n: ValueId,
    one: ValueId,
    zero: ValueId,
}

impl Counting {
    fn new() -> Counting {
        let mut draft = Draft::new();
        let n = draft.next_input(INT64);
        let i = draft.next_temporary(INT64);
        let (zero, one) = (draft.next_literal(Value::from(0i64)), draft.next_literal(Value::from(1i64)));
        Counting { draft, i, n, one, zero }
    }

    /// The test stands behind the body, and jumps back.
    fn around(&mut self, body: impl FnOnce(&mut Draft, ValueId)) {
        let more = self.draft.next_temporary(BOOLEAN);
        self.draft.run("core._copy", &[self.zero], self.i);
        let start = self.draft.push(Instruction::Jump { offset: 0 });
        let top = self.draft.body.instructions().len();
        body(&mut self.draft, self.i);
        self.draft.run("math.add", &[self.i, self.one], self.i);
        self.draft.body.jump_to_here(start);
        self.draft.run("bool.less", &[self.i, self.n], more);
        let back = self.draft.push(Instruction::JumpIf { condition: more, offset: 0 });
        self.draft.body.set_target(back, top);
    }
}

fn bind(routines: Vec<Routine>) -> BoundExpr {
    BoundExpr::new(Arc::new(Program::new(routines))).unwrap_or_else(|error| panic!("{error}"))
}

/// The shortest of some runs, in nanoseconds for each iteration.
fn measure(what: &str, cells: i64, mut run: impl FnMut()) {
    let time = |run: &mut dyn FnMut()| {
        let begin = Instant::now();
        run();
        begin.elapsed().as_secs_f64() * 1e9
    };
    let best = (0..RUNS).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min) / TIMES as f64;
    println!("{what:<40} {best:6.2} ns, {:5.2} ns a cell", best / cells as f64);
}

fn count() {
    let mut counting = Counting::new();
    counting.around(|_, _| {});
    let Counting { mut draft, i, n, .. } = counting;
    let out = draft.next_output(INT64);
    draft.run("core._copy", &[i], out);
    let bound = bind(vec![draft.finish(&[("n", n)], out)]);
    let mut frame = bound.new_frame().expect("small");
    frame.set(bound.input::<i64>("n").expect("an input"), TIMES);
    measure("count: add, compare and jump", 2, || bound.execute(&mut frame).expect("no error"));
}

/// The sum of an array, and every element one more.
fn elements(is_lent: bool) {
    let array: NdType = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
    for (what, writes, cells) in [("get", false, 4), ("get and set", true, 6)] {
        let mut counting = Counting::new();
        let a = counting.draft.next_input(QType::NdArray(array));
        let s = counting.draft.next_output(FLOAT64);
        let x = counting.draft.next_temporary(FLOAT64);
        let (none, one) =
            (counting.draft.next_literal(Value::from(0.0)), counting.draft.next_literal(Value::from(1.0)));
        counting.draft.run("core._copy", &[none], s);
        counting.around(|draft, i| {
            draft.run("nd.get", &[a, i], x);
            draft.run("math.add", &[s, x], s);
            if writes {
                draft.run("math.add", &[x, one], x);
                draft.run("nd.set", &[a, x, i], a);
            }
        });
        let Counting { mut draft, n, .. } = counting;
        draft.updated.push(a);
        let bound = bind(vec![draft.finish(&[("n", n), ("a", a)], s)]);
        let mut frame = bound.new_frame().expect("small");
        frame.set(bound.input::<i64>("n").expect("an input"), TIMES);
        let mut values = vec![1.0; TIMES as usize];
        let slot = bound.input_slot("a").expect("an input").clone();
        if is_lent {
            measure(&format!("{what}, lent"), cells, || {
                let mut view = NdViewMut::from_slice(&mut values, &[TIMES as usize]).expect("fits");
                let call = bound.call(&mut frame).update(&slot, &mut view).expect("an input");
                call.run().expect("no error");
            });
        } else {
            let view = cembra_vm::value::NdView::from_slice(&values, &[TIMES as usize]).expect("fits");
            frame.write_nd(&slot, &view).expect("fits");
            measure(what, cells, || bound.execute(&mut frame).expect("no error"));
        }
    }
}

/// `fib(n)` by recursion, each call with one argument and one result.
fn calls() {
    let recursive = |routine: u32| {
        let mut draft = Draft::new();
        let (n, out) = (draft.next_input(INT64), draft.next_output(INT64));
        let (two, one) = (draft.next_literal(Value::from(2i64)), draft.next_literal(Value::from(1i64)));
        let (small, m) = (draft.next_temporary(BOOLEAN), draft.next_temporary(INT64));
        let (first, second) = (draft.next_temporary(INT64), draft.next_temporary(INT64));
        draft.run("bool.less", &[n, two], small);
        let more = draft.push(Instruction::JumpIfNot { condition: small, offset: 0 });
        draft.run("core._copy", &[n], out);
        let end = draft.push(Instruction::Jump { offset: 0 });
        draft.body.jump_to_here(more);
        draft.run("math.subtract", &[n, one], m);
        draft.call(routine, &[m], &[first]);
        draft.run("math.subtract", &[n, two], m);
        draft.call(routine, &[m], &[second]);
        draft.run("math.add", &[first, second], out);
        draft.body.jump_to_here(end);
        draft.finish(&[("n", n)], out)
    };
    let bound = bind(vec![recursive(1), recursive(1)]);
    let mut frame = bound.new_frame().expect("small");
    frame.set(bound.input::<i64>("n").expect("an input"), 18);
    // fib(n) takes 2 fib(n + 1) - 1 calls.
    let calls = 2.0 * 4_181.0 - 1.0;
    let scale = TIMES as f64 / calls;
    let begin = |run: &mut dyn FnMut()| {
        let begin = Instant::now();
        run();
        begin.elapsed().as_secs_f64() * 1e9
    };
    let best = (0..RUNS).map(|_| begin(&mut || bound.execute(&mut frame).expect("no error")));
    println!("{:40} {:6.2} ns", "call", best.fold(f64::INFINITY, f64::min) / TIMES as f64 * scale);
}

fn main() {
    count();
    calls();
    elements(false);
    elements(true);
}
