//! Damaged texts: cut at every byte, and with every byte replaced, as they are and sealed again.
//!
//! The result is an error or a program that has passed the verifier and the slot checker, and that
//! reads back; never a panic. Sealed means that the hash is right: then only the checkers are left to
//! find what is wrong. Programs that are accepted are run, in regions and one instruction after the other, which gives
//! the same, within a budget of two seconds and 512 MiB.
//!
//! `CEMBRA_HOSTILE=1200000 cargo test -p cembra-vm --test program_text -- exchanged --nocapture` exchanges tokens in so
//! many texts instead of 30,000; `CEMBRA_SEED` begins with others.

use crate::{ARITHMETIC, programs, read, read_sealed};
use cembra_vm::machine::{BoundExpr, RunOptions, Trace};
use cembra_vm::program::Program;
use cembra_vm::program::text::{ProgramTextError, print};
use cembra_vm::value::{ArrayRows, Category, NdRows, QType, ScalarValue, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Texts whose tokens are exchanged, unless another number is asked for.
const USUAL: u64 = 30_000;

/// Instructions that a damaged program may run for.
const FUEL: u64 = 2_000;

/// Memory that a damaged program is given.
const BYTES: u64 = 512 << 20;

/// Time that a damaged program is given, and time that it may take.
const TIME: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(5));

/// Digits, letters, signs and separators that turn tokens into other tokens.
const REPLACEMENTS: &[u8] = b"0179afvlot<>()[]'\\#=,:@+-. \n_Z\x00\x7f";

fn texts() -> Vec<String> {
    let programs = programs::all();
    let chosen = programs
        .iter()
        .filter(|(name, _)| ["recursion", "compound values", "branches", "rows", "elements"].contains(name));
    chosen.map(|(_, program)| print(program)).chain([ARITHMETIC.to_owned()]).collect()
}

/// What became of the damaged texts.
#[derive(Debug, Default)]
struct Outcomes {
    accepted: u32,
    unreadable: u32,
    refused_by_verifier: u32,
    refused_by_slot_check: u32,
}

impl Outcomes {
    /// Reads a damaged text; if it is accepted, it prints and reads back.
    fn add(&mut self, text: &str) {
        match read_sealed(text) {
            Ok(program) => {
                self.accepted += 1;
                let again = print(&program);
                let back = read(&again).unwrap_or_else(|e| panic!("{e}\n{text}\n{again}"));
                assert_eq!(print(&back), again);
                run(program, text);
            }
            Err(ProgramTextError::Verify(_)) => self.refused_by_verifier += 1,
            Err(ProgramTextError::SlotCheck(_)) => self.refused_by_slot_check += 1,
            Err(error) => {
                assert!(!matches!(error, ProgramTextError::Hash { .. }), "{error}\n{text}");
                self.unreadable += 1;
            }
        }
    }

    /// Whoever never refuses anything is not tested.
    fn check(&self) {
        let all = [self.accepted, self.unreadable, self.refused_by_verifier, self.refused_by_slot_check];
        assert!(all.iter().all(|count| *count > 0), "{self:?}");
    }
}

/// Runs a program on inputs of its types. A panic of an operator would be an error of this category.
fn run(program: Program, text: &str) {
    let bound = BoundExpr::new(Arc::new(program)).expect("verified");
    let main = bound.program().main();
    let mut outcomes = Vec::new();
    for is_stepped in [false, true] {
        let start = Instant::now();
        let mut frame = bound.new_frame().expect("memory");
        for (_, input) in &main.inputs {
            let slot = main.slot(*input);
            frame.write(slot, &value(slot.qtype())).expect("a value of the type");
        }
        let mut trace = Trace::default();
        let options = RunOptions::new().fuel(FUEL).bytes_alive(BYTES).time(TIME.0);
        let options = if is_stepped { options.observer(&mut trace) } else { options };
        let outcome = bound.execute_with(&mut frame, options);
        assert!(start.elapsed() < TIME.1, "{:?}\n{text}", start.elapsed());
        let results = || main.results().map(|v| frame.read(main.slot(v)).ok()).collect::<Vec<_>>();
        outcomes.push(match outcome {
            Ok(()) => Some(results()),
            Err(error) => {
                assert_ne!(error.category(), Category::Panic, "{error}\n{text}");
                None
            }
        });
    }
    assert_eq!(outcomes[0], outcomes[1], "{text}");
}

/// A value of a type: of arrays some rows, of which one is missing.
fn value(qtype: &QType) -> Value {
    let scalar = |t, i: i64| match Value::zero(&QType::Scalar(t)).scalar() {
        Some(ScalarValue::Float64(_)) => ScalarValue::Float64(i as f64 + 0.5),
        Some(ScalarValue::Int32(_)) => ScalarValue::Int32(i as i32),
        Some(ScalarValue::Int64(_)) => ScalarValue::Int64(i),
        other => other.cloned().expect("a scalar has a zero"),
    };
    match qtype {
        QType::Scalar(t) => Value::Scalar(scalar(*t, 3)),
        QType::Array(t) => {
            let rows: Vec<_> = (0..70).map(|i| Some(scalar(t.element, i)).filter(|_| i != 5)).collect();
            Value::Array(t.class, Arc::new(ArrayRows::from_values(t.element, &rows)))
        }
        QType::NdArray(t) => {
            let shape: Vec<usize> = t.units().map(|is_unit| if is_unit { 1 } else { 4 }).collect();
            let cells: Vec<_> =
                (0..shape.iter().product::<usize>()).map(|i| scalar(t.element(), i as i64)).collect();
            Value::NdArray(Arc::new(NdRows::from_scalars(*t, &shape, &cells).expect("a shape of the type")))
        }
        other => Value::zero(other),
    }
}

#[test]
fn truncated_texts_are_refused() {
    for text in texts() {
        let whole = text.trim_end();
        for end in 0..whole.len() {
            assert!(read_sealed(&text[..end]).is_err(), "{}", &text[..end]);
        }
    }
}

#[test]
fn a_replaced_byte_is_found() {
    let mut outcomes = Outcomes::default();
    for text in texts() {
        let original = print(&read(&text).expect("a golden text"));
        for (at, byte) in (0..text.len()).flat_map(|at| REPLACEMENTS.iter().map(move |b| (at, *b))) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            let Ok(damaged) = String::from_utf8(bytes) else { continue };
            if let Ok(program) = read(&damaged) {
                assert_eq!(print(&program), original, "{damaged}");
            }
            outcomes.add(&damaged);
        }
    }
    outcomes.check();
}

#[test]
fn removed_and_doubled_lines_are_survived() {
    let mut outcomes = Outcomes::default();
    for text in texts() {
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(at);
            outcomes.add(&fewer.join("\n"));
            for to in 0..lines.len() {
                let mut more = lines.clone();
                more.insert(to, lines[at]);
                outcomes.add(&more.join("\n"));
            }
        }
    }
    outcomes.check();
}

/// Puts tokens of one text into the place of tokens of another, one to three at a time.
#[test]
fn exchanged_tokens_are_survived() {
    let texts = texts();
    let tokens: Vec<Vec<&str>> = texts.iter().map(|text| tokens(text)).collect();
    let mut outcomes = Outcomes::default();
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}: a number")))
    };
    let mut seed = number("CEMBRA_SEED", 0x9E37_79B9_7F4A_7C15);
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let count = number("CEMBRA_HOSTILE", USUAL);
    for _ in 0..count {
        let mut damaged = tokens[random(tokens.len())].clone();
        for _ in 0..=random(3) {
            let donor = &tokens[random(tokens.len())];
            let at = random(damaged.len());
            damaged[at] = donor[random(donor.len())];
        }
        outcomes.add(&damaged.concat());
    }
    println!("{outcomes:?}");
    // Few texts need not have one that the slot checker refuses: it refuses one of thousands.
    if count >= USUAL {
        outcomes.check();
    }
}

/// Cuts a text into words and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (token, after) = rest.split_at(word.max(first.len_utf8()));
        tokens.push(token);
        rest = after;
    }
    tokens
}
