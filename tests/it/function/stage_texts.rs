//! Texts of stages that were edited: each error has a place, and nothing panics or hangs.

use crate::function::laws;
use crate::function::stages::stages_of;
use crate::hostile::mutate::mutated;
use crate::hostile::{count, seed};
use crate::support::oracle;
use cembra::cli::function_value::{read_arguments, recorded};
use cembra::function::stage::{
    StageFailure, StageName, check_stage, compile_stage, low_document, stage_text, tssa_document,
    untyped_functions, ussa_document,
};
use cembra::function::{CompiledFunction, FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::python::SourceLines;
use cembra::vm::value::{Budget, Value};
use fastrand::Rng;
use serde_json::{Value as Json, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const WORKED: &str =
    "def f(n):\n    s = 0\n    for i in range(n):\n        if i % 2: s += i * 0.5\n    return s\n";

/// The texts of the stages of a function that compiles.
fn texts(source: &str, args: &[Value]) -> [String; 3] {
    let stages = stages_of(source, "f", args, &FunctionOptions::default());
    let lines = SourceLines::new(source);
    StageName::ALL.map(|stage| {
        let document = match stage {
            StageName::Ussa => ussa_document(&untyped_functions(&stages.instances), Some(&lines)),
            StageName::Tssa => tssa_document(&stages.instances, Some(&lines)),
            StageName::Low => low_document(&stages.low, Some(&lines)),
        };
        stage_text(stage, &document).expect("a text of moderate size")
    })
}

fn types(args: &[Value]) -> Vec<FunctionType> {
    args.iter().map(|value| FunctionType::of_qtype(&value.qtype()).expect("a type of functions")).collect()
}

fn compiled(stage: StageName, text: &str, args: &[Value]) -> Result<CompiledFunction, StageFailure> {
    compile_stage(stage, text, &types(args), &FunctionOptions::default())
}

/// Findings about an edited text: `line: message`.
fn findings(stage: StageName, text: &str) -> Vec<String> {
    let lines = SourceLines::new(text);
    let found = check_stage(stage, text).expect_err("an edit that is wrong");
    found.iter().map(|error| format!("{}: {error}", lines.line(error.span))).collect()
}

#[test]
fn the_worked_example_runs_from_every_stage() {
    let args = read_arguments(&json!([10])).expect("arguments");
    let module = FunctionModule::parse(WORKED).expect("it is a module");
    for (stage, text) in StageName::ALL.into_iter().zip(texts(WORKED, &args)) {
        let function = compiled(stage, &text, &args).unwrap_or_else(|failure| panic!("{failure:?}\n{text}"));
        for (n, expected) in [(10, "12.5"), (0, "0.0"), (-3, "0.0"), (2, "0.5")] {
            let result = function.call(&[Value::from(n as i64)], &Budget::default()).expect("a value");
            assert_eq!(recorded(&result.value), json!({ "t": "float", "v": expected }), "{stage}");
        }
        let [direct, again] = [
            compile_function(&module, "f", &types(&args), &FunctionOptions::default()).expect("it compiles"),
            compiled(stage, &text, &args).expect("it compiles"),
        ];
        for function in [direct, again] {
            laws::check(&function, WORKED, &args);
        }
        // Two of the four values of the loop share bytes: literals aside, 32 bytes hold the frame.
        let literals = 4 * 8;
        assert_eq!(function.bound().program().main().layout.size() as usize - literals, 32, "{stage}");
    }
}

#[test]
fn recorded_functions_run_from_every_stage() {
    let cases = oracle("numba_ir/cases.json");
    let mut count = 0;
    for case in cases.as_array().expect("a list of functions") {
        let source = case["source"].as_str().expect("a text");
        for run in case["runs"].as_array().expect("a list of calls").iter().take(1) {
            let Ok(args) = read_arguments(&run["args"]) else { continue };
            let Ok(module) = FunctionModule::parse(source) else { continue };
            let options = FunctionOptions::default();
            let Ok(direct) = compile_function(&module, "f", &types(&args), &options) else { continue };
            let outcome = |function: &CompiledFunction| match function.call(&args, &Budget::default()) {
                Ok(result) => (recorded(&result.value).to_string(), format!("{:?}", result.arrays)),
                Err(error) => (error.to_string(), String::new()),
            };
            let expected = outcome(&direct);
            for (stage, text) in StageName::ALL.into_iter().zip(texts(source, &args)) {
                // Machine operators know no default values.
                if stage == StageName::Low && args.len() < direct.args().len() {
                    continue;
                }
                let function =
                    compiled(stage, &text, &args).unwrap_or_else(|f| panic!("{f:?}\n{text}\n{source}"));
                assert_eq!(outcome(&function), expected, "{stage}\n{text}");
                count += 1;
            }
        }
    }
    assert!(count > 600, "{count}");
}

#[test]
fn edited_texts_say_where_they_are_wrong() {
    let args = read_arguments(&json!([10])).expect("arguments");
    let [ussa, tssa, low] = texts(WORKED, &args);
    let edits: &[(StageName, &str, &str, &str)] = &[
        (StageName::Ussa, "Binary(Mult, ", "Binary(Times, ", "Unknown constructor Times"),
        (
            StageName::Ussa,
            "RangeBound(\"n.0\")",
            "RangeBound(\"n.7\")",
            "no value of this function is called `n.7`",
        ),
        (
            StageName::Ussa,
            "Def(\"n.0\", Param(0)",
            "Def(\"n.0\", Param(1)",
            "rule 10: the function has no parameter 1",
        ),
        (StageName::Ussa, "Def(\"n.0\"", "Def(\"s.0\"", "`s.0` is defined already"),
        (StageName::Ussa, "Jump(1)", "Jump(99)", "the function has no block 99"),
        (StageName::Tssa, "Float, Binary(Mult", "Int, Binary(Mult", "rule 11: mul gives f64 here"),
        (StageName::Tssa, "Bool, Truth(", "Truth(", "At Def.of: Cannot be a Truth"),
        (StageName::Tssa, "Const(0.5)", "Const(99999999999999999999)", "99999999999999999999 is no constant"),
        (StageName::Tssa, "From(1, ", "From(0, ", "rule 6: the phi has no operand from bb1"),
        (StageName::Low, "\"math.multiply\"", "\"math.times\"", "Expecting machineop but got"),
        (StageName::Low, "\"math.multiply\"", "\"bool.less\"", "rule 11: BOOLEAN is given"),
        (StageName::Low, "\"core.to_float64\"", "\"core._to_int64\"", "rule 11:"),
        (StageName::Low, "Literal(0.5)", "Literal(\"a\")", "a literal of the machine is"),
        (
            StageName::Low,
            "\"FLOAT64\", Phi",
            "\"INT64\", Phi",
            "rule 12: a phi of INT64 reads a value of FLOAT64",
        ),
    ];
    for (stage, from, to, expected) in edits {
        let text = match stage {
            StageName::Ussa => &ussa,
            StageName::Tssa => &tssa,
            StageName::Low => &low,
        };
        assert!(text.contains(from), "{from}\n{text}");
        let edited = text.replacen(from, to, 1);
        let line = 1 + text[..text.find(from).expect("it is there")].matches('\n').count();
        let found = findings(*stage, &edited);
        let is_found = found.iter().any(|finding| {
            let (at, what) = finding.split_once(": ").expect("a line and a message");
            what.contains(expected) && at.parse::<usize>().is_ok_and(|at| at.abs_diff(line) <= 4)
        });
        assert!(is_found, "{stage} line {line}: {expected}\nfound {found:#?}\n{edited}");
    }
    // All at once.
    let edited = tssa.replace("Int,", "Bool,");
    assert!(findings(StageName::Tssa, &edited).len() > 3, "{edited}");
}

/// Words that texts of stages consist of.
const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    ", ",
    "_",
    "\"s.1\"",
    "\"%0\"",
    "\"%3\"",
    "\"n.0\"",
    "0",
    "1",
    "2",
    "-1",
    "99",
    "1.5",
    "nan",
    "none",
    "true",
    "\"text\"",
    "Phi([])",
    "Undef",
    "Int",
    "Float",
    "Bool",
    "Nothing",
    "Text",
    "Optional(Int)",
    "TupleOf([])",
    "ListOf(\"INT64\")",
    "ArrayOf(\"FLOAT64\", 1)",
    "\"INT64\"",
    "\"FLOAT64\"",
    "\"BOOLEAN\"",
    "\"UNIT\"",
    "Const(0)",
    "Const(none)",
    "Truth(",
    "Binary(Add, ",
    "Binary(Pow, ",
    "Compare(Lt, ",
    "Unary(Not, ",
    "Library(\"len\", _, ",
    "Library(\"_pop\", _, ",
    "Library(\"_contains\", _, ",
    "Call(0, ",
    "Tuple(",
    "GetItem(",
    "SetItem(",
    "Unpack(",
    "Step(",
    "RangeCount(",
    "Attribute(",
    "Part(",
    "Partial(\"python.mod\", ",
    "Total(\"math.add\", ",
    "Update(\"nd.set\", ",
    "Jump(1)",
    "Jump(0)",
    "Return(\"s.1\")",
    "Fail(0)",
    "@1:2",
];

/// Texts of stages of recorded functions, mutated: checked, compiled and run within a budget.
#[test]
fn mutated_stage_texts_are_compiled_or_refused() {
    let cases = oracle("numba_ir/cases.json");
    let mut seeds: Vec<(StageName, String, Json)> = Vec::new();
    for case in cases.as_array().expect("a list of functions").iter().step_by(3) {
        let (source, args) = (case["source"].as_str().expect("a text"), &case["runs"][0]["args"]);
        let Ok(values) = read_arguments(args) else { continue };
        let Ok(module) = FunctionModule::parse(source) else { continue };
        if compile_function(&module, "f", &types(&values), &FunctionOptions::default()).is_ok() {
            let all = StageName::ALL.into_iter().zip(texts(source, &values));
            seeds.extend(all.map(|(stage, text)| (stage, text, args.clone())));
        }
    }
    let all: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.1.as_bytes().to_vec()).collect();
    let (seed, mut compiled) = (seed(), 0);
    for number in 0..count(3_000) {
        let mut random = Rng::with_seed(seed ^ (number << 20));
        let at = random.usize(..seeds.len());
        let (stage, text, args) = &seeds[at];
        let edited = match number % 4 {
            0 => String::from_utf8_lossy(&mutated(&mut random, &all[at], &all, TOKENS)).into_owned(),
            _ => with_other_words(&mut random, text),
        };
        let start = Instant::now();
        let place = || format!("seed {seed}, text {number}, stage {stage}, arguments {args}\n{edited}");
        match catch_unwind(AssertUnwindSafe(|| survives(*stage, &edited, args))) {
            Ok(is_compiled) => compiled += u32::from(is_compiled),
            Err(_) => panic!("{}", place()),
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}, {}", start.elapsed(), place());
    }
    eprintln!("{compiled} mutated texts still compile");
    assert!(compiled > 10, "{compiled}");
}

/// A text with one to three words that others of it, or of [`TOKENS`], replace.
fn with_other_words(random: &mut Rng, text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for character in text.chars() {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '"' | '.' | '%' | '_');
        match words.last_mut() {
            Some(last) if last.chars().all(is_word) && is_word(character) => last.push(character),
            _ => words.push(character.to_string()),
        }
    }
    for _ in 0..random.usize(1..4) {
        let (at, other) = (random.usize(..words.len()), random.usize(..words.len()));
        match random.usize(..6) {
            0 => words[at] = TOKENS[random.usize(..TOKENS.len())].to_owned(),
            1 => words.swap(at, other),
            _ => {
                // A word of the same kind mostly: the text stays well formed.
                let first =
                    |word: &str| word.chars().next().map(|c| (c.is_numeric(), c == '"', c.is_alphabetic()));
                let wanted = first(&words[at]);
                let found =
                    (0..200).map(|_| random.usize(..words.len())).find(|o| first(&words[*o]) == wanted);
                words[at] = words[found.unwrap_or(other)].clone();
            }
        }
    }
    words.concat()
}

/// Checks, compiles and calls; true if there was something to call.
fn survives(stage: StageName, text: &str, args: &Json) -> bool {
    if let Err(errors) = check_stage(stage, text) {
        assert!(!errors.is_empty());
        for error in errors {
            assert!(error.span.end as usize <= text.len(), "{error:?}");
            assert!(!error.to_string().is_empty());
        }
    }
    let values = read_arguments(args).expect("arguments");
    match compiled(stage, text, &values) {
        Err(StageFailure::Stage(errors)) => assert!(!errors.is_empty()),
        Err(StageFailure::Function(errors)) => {
            assert!(errors.iter().all(|error| error.span.end as usize <= text.len()), "{errors:?}");
        }
        Ok(function) => {
            let time = Some(Duration::from_secs(2));
            let budget =
                Budget { instructions: Some(50_000), time, bytes_alive: 1 << 26, ..Budget::default() };
            let _ = function.call(&values, &budget);
            return true;
        }
    }
    false
}
