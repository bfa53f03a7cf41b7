//! Random programs, run in regions and one instruction after the other: both give the same bits.
//!
//! The slots of temporaries are few, so that results take the places of others that regions still read or have yet to lay
//! out; some results nobody reads, some values are defined again, some code no path reaches. Programs are slot-checked.

use crate::draft::Draft;
use crate::{array, axes, counting, floats, qtype, run, stored};
use cembra_vm::builtins;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::BoundExpr;
use cembra_vm::operator::{OperatorTable, Overload};
use cembra_vm::program::instruction::Span;
use cembra_vm::program::{Instruction, Routine, ValueId};
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

const PROGRAMS: u64 = 1500;

/// Operators, and the types of their operands: rows, elements over axes, scalars, and what leads from one to another.
const OPERATORS: [(&str, &[&str]); 30] = [
    ("math.add", &["DENSE_ARRAY_FLOAT64", "DENSE_ARRAY_FLOAT64"]),
    ("math.multiply", &["DENSE_ARRAY_FLOAT64", "DENSE_ARRAY_FLOAT64"]),
    ("math.subtract", &["DENSE_ARRAY_FLOAT64", "FLOAT64"]),
    ("math.add", &["OPTIONAL_FLOAT64", "DENSE_ARRAY_FLOAT64"]),
    ("math.sqrt", &["DENSE_ARRAY_FLOAT64"]),
    ("core._copy", &["DENSE_ARRAY_FLOAT64"]),
    ("math._cum_sum", &["DENSE_ARRAY_FLOAT64"]),
    ("math._sum", &["DENSE_ARRAY_FLOAT64"]),
    ("math._max", &["DENSE_ARRAY_FLOAT64"]),
    ("math._median", &["DENSE_ARRAY_FLOAT64"]),
    ("array.size", &["DENSE_ARRAY_FLOAT64"]),
    ("math.add", &["DENSE_ARRAY_INT32", "DENSE_ARRAY_INT32"]),
    ("math.floordiv", &["DENSE_ARRAY_INT32", "DENSE_ARRAY_INT32"]),
    ("core.to_float64", &["DENSE_ARRAY_INT32"]),
    ("math._sum", &["DENSE_ARRAY_INT32"]),
    ("core.has._array", &["DENSE_ARRAY_FLOAT64"]),
    ("core.presence_and", &["DENSE_ARRAY_FLOAT64", "DENSE_ARRAY_UNIT"]),
    ("math.add", &["NDARRAY_FLOAT64_NN", "NDARRAY_FLOAT64_NN"]),
    ("math.multiply", &["NDARRAY_FLOAT64_NN", "NDARRAY_FLOAT64_N1"]),
    ("math.add", &["NDARRAY_FLOAT64_N1", "NDARRAY_FLOAT64_N1"]),
    ("math.subtract", &["NDARRAY_FLOAT64_NN", "FLOAT64"]),
    ("nd._sum", &["NDARRAY_FLOAT64_NN", "AXES_0"]),
    ("nd._sum", &["NDARRAY_FLOAT64_NN", "AXES_1"]),
    ("nd._expand_dims", &["NDARRAY_FLOAT64_N", "AXES_1"]),
    ("math.add", &["NDARRAY_FLOAT64_N", "NDARRAY_FLOAT64_N"]),
    ("math.add", &["FLOAT64", "FLOAT64"]),
    ("math.add", &["INT32", "INT32"]),
    ("core.to_float64", &["INT32"]),
    ("core.to_float64", &["INT64"]),
    ("core.presence_or", &["OPTIONAL_FLOAT64", "FLOAT64"]),
];

/// Types with handles that temporaries have, and how many of each.
const HANDLES: [(&str, u32); 6] = [
    ("DENSE_ARRAY_FLOAT64", 4),
    ("DENSE_ARRAY_INT32", 2),
    ("DENSE_ARRAY_UNIT", 1),
    ("NDARRAY_FLOAT64_NN", 3),
    ("NDARRAY_FLOAT64_N1", 2),
    ("NDARRAY_FLOAT64_N", 2),
];

/// Plain types of temporaries, which share a few bytes.
const PLAIN: [&str; 4] = ["FLOAT64", "INT64", "INT32", "OPTIONAL_FLOAT64"];
/// Where those bytes begin, and how many there are.
const PLAIN_BYTES: (u32, u32) = (512, 48);

/// A routine while it is made.
struct Maker {
    rng: Rng,
    table: Arc<OperatorTable>,
    draft: Draft,
    /// Values that hold their bytes here.
    alive: Vec<ValueId>,
    /// Slots that temporaries can have.
    places: Vec<TypedSlot>,
    inputs: Vec<(&'static str, ValueId)>,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        let mut d = Draft::new();
        let inputs = [
            ("c", "OPTIONAL_UNIT", 0),
            ("f", "FLOAT64", 8),
            ("i", "DENSE_ARRAY_INT32", 16),
            ("k", "INT32", 40),
            ("m", "NDARRAY_FLOAT64_NN", 48),
            ("n", "NDARRAY_FLOAT64_N1", 72),
            ("x", "DENSE_ARRAY_FLOAT64", 96),
            ("y", "DENSE_ARRAY_FLOAT64", 120),
        ];
        let inputs: Vec<_> = inputs.map(|(name, t, at)| (name, d.input(at, qtype(t)))).into();
        let literals = [d.literal(1, axes([0])), d.literal(2, axes([1]))];
        let mut places = Vec::new();
        let mut at = 144;
        for (name, count) in HANDLES {
            places.extend((0..count).map(|i| TypedSlot::new(at + 24 * i, qtype(name))));
            at += 24 * count;
        }
        for t in PLAIN.map(qtype) {
            let (first, bytes) = PLAIN_BYTES;
            let offsets = (first..first + bytes - t.size() + 1).step_by(t.align() as usize);
            places.extend(offsets.map(|offset| TypedSlot::new(offset, t.clone())));
        }
        places.iter().for_each(|slot| d.layout.place(slot));
        let alive = inputs.iter().map(|(_, value)| *value).chain(literals).collect();
        let (rng, table) = (Rng::with_seed(seed), builtins::table());
        Maker { rng, table, draft: d, alive, places, inputs }
    }

    fn routine(mut self) -> Routine {
        for _ in 0..self.rng.usize(1..5) {
            match self.rng.u8(0..4) {
                0 => self.skipped(),
                1 => self.dead(),
                _ => {}
            }
            for _ in 0..self.rng.usize(1..12) {
                self.instruction(false);
            }
        }
        let out = self.draft.output(600, qtype("DENSE_ARRAY_FLOAT64"));
        let arrays = self.of_type(&qtype("DENSE_ARRAY_FLOAT64"), false);
        let result = self.rng.choice(arrays).expect("inputs are there");
        self.draft.run("core._copy", &[result], out);
        let mut side_outputs: Vec<(Arc<str>, ValueId)> = Vec::new();
        let is_input = |value: ValueId| self.inputs.iter().any(|(_, input)| *input == value);
        for value in self.alive.iter().copied().filter(|value| !is_input(*value)) {
            if self.rng.u8(0..3) == 0 {
                side_outputs.push((format!("s{:03}", side_outputs.len()).into(), value));
            }
        }
        let mut routine = self.draft.finish(&self.inputs, out);
        routine.side_outputs = side_outputs;
        routine
    }

    /// Instructions that run if the condition is present.
    fn skipped(&mut self) {
        let condition = self.inputs[0].1;
        let jump = self.draft.push(Instruction::JumpIfNot { condition, offset: 0 });
        let before = self.alive.clone();
        for _ in 0..self.rng.usize(1..6) {
            self.instruction(false);
        }
        self.draft.body.jump_to_here(jump);
        self.alive.retain(|value| before.contains(value));
    }

    /// Instructions that no path reaches. They read anything.
    fn dead(&mut self) {
        let jump = self.draft.push(Instruction::Jump { offset: 0 });
        let before = self.alive.clone();
        for _ in 0..self.rng.usize(1..6) {
            self.instruction(true);
        }
        self.draft.body.jump_to_here(jump);
        self.alive = before;
    }

    fn instruction(&mut self, is_dead: bool) {
        let (name, types) = self.rng.choice(OPERATORS).expect("a list");
        let types: Vec<QType> = types.iter().map(|t| qtype(t)).collect();
        let found = types.iter().map(|t| {
            let values = self.of_type(t, is_dead);
            self.rng.choice(values)
        });
        let Some(operands) = found.collect::<Option<Vec<ValueId>>>() else { return };
        let overload = self.table.overload(name, &types).unwrap_or_else(|| panic!("{name} {types:?}"));
        let Some(result) = self.result(&overload, &operands) else { return };
        let operator = self.draft.body.add_operator(overload);
        self.draft.body.push_operator(operator, &operands, result, Span::default());
        let slot = self.draft.slot(result);
        self.alive.retain(|value| !self.draft.values[value.index()].slot.overlaps(&slot));
        self.alive.push(result);
    }

    /// A place for a result, under a new name or under one that it has had before.
    fn result(&mut self, overload: &Overload, operands: &[ValueId]) -> Option<ValueId> {
        let is_free = |slot: &&TypedSlot| {
            let overlaps = |value: &ValueId| self.draft.values[value.index()].slot.overlaps(slot);
            slot.qtype() == overload.result()
                && (overload.reads_before_writing() || !operands.iter().any(overlaps))
        };
        let free: Vec<TypedSlot> = self.places.iter().filter(is_free).cloned().collect();
        let slot = self.rng.choice(free)?;
        let names = (0..self.draft.values.len() as u32).map(ValueId);
        let names: Vec<ValueId> = names.filter(|v| self.draft.values[v.index()].slot == slot).collect();
        let is_redefined = self.rng.u8(0..4) == 0;
        let again = self.rng.choice(names).filter(|_| is_redefined);
        Some(again.unwrap_or_else(|| self.draft.value(slot)))
    }

    fn of_type(&self, t: &QType, is_dead: bool) -> Vec<ValueId> {
        let all = (0..self.draft.values.len() as u32).map(ValueId);
        let is_it = |value: &ValueId| {
            self.draft.values[value.index()].slot.qtype() == t && (is_dead || self.alive.contains(value))
        };
        all.filter(is_it).collect()
    }
}

/// Inputs of a number of rows, with missing ones.
fn inputs(rng: &mut Rng, is_present: bool) -> Vec<(&'static str, Value)> {
    let rows = [1, 5, 64, 700, 3000][rng.usize(0..5)];
    let (r, c) = ([1, 3, 40][rng.usize(0..3)], [1, 7, 900][rng.usize(0..3)]);
    let float = |rng: &mut Rng| f64::from(rng.i32(-8..100)) / 4.0;
    let missing = rng.bool();
    let x =
        (0..rows).map(|_| Some(ScalarValue::Float64(float(rng))).filter(|_| !missing || rng.u8(0..5) > 0));
    let x = array(ScalarType::Float64, x.collect::<Vec<_>>().into_iter());
    let y = floats((0..rows).map(|_| float(rng)).collect::<Vec<_>>());
    let i = array(ScalarType::Int32, (0..rows).map(|_| Some(ScalarValue::Int32(rng.i32(1..50)))));
    vec![
        ("c", Value::presence(is_present)),
        ("f", Value::from(float(rng))),
        ("i", i),
        ("k", Value::from(rng.i32(-9..9))),
        ("m", counting("NDARRAY_FLOAT64_NN", &[r, c])),
        ("n", counting("NDARRAY_FLOAT64_N1", &[r, 1])),
        ("x", x),
        ("y", y),
    ]
}

#[test]
fn regions_give_what_instructions_give() {
    let base = std::env::var("CEMBRA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0u64);
    let (mut regions, mut failed) = (0, 0);
    let programs = std::env::var("CEMBRA_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    for seed in base..base + programs {
        let program =
            stored(Maker::new(seed).routine()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let bound = BoundExpr::new(Arc::new(program)).expect("verified");
        regions += bound.regions().len();
        let mut rng = Rng::with_seed(seed);
        for is_present in [true, false] {
            let inputs = inputs(&mut rng, is_present);
            match run(&bound, &inputs) {
                [Ok(fused), Ok(stepped)] => assert_eq!(fused, stepped, "seed {seed}\n{}", dump(&bound)),
                // Of two errors another one may be reported.
                [Err(_), Err(_)] => failed += 1,
                [fused, stepped] => panic!("seed {seed}: {fused:?}, but {stepped:?}\n{}", dump(&bound)),
            }
        }
    }
    assert!(regions as u64 > programs && failed < programs, "{regions} regions, {failed} errors");
}

fn dump(bound: &BoundExpr) -> String {
    let regions = bound.regions().iter().map(|region| format!("{:?}\n", region.members)).collect::<String>();
    cembra_vm::program::text::print(bound.program()) + &regions
}
