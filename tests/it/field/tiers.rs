//! Tiers: native code and machine code give the values of the interpreter, or its error, in every way that a statement runs.
//!
//! `CEMBRA_NATIVE=1` compares all programs, not some.

use crate::field::generate::{Flavor, Generator};
use crate::field::random::{PROGRAMS, compare, scattered};
use crate::field::recorded::{ALL, agreeing, agreeing_of_some};
use crate::field::{outputs_on, run_case};
use crate::function::native::SANITIZE;
use cembra::backend::{FieldPlan, FieldTier, InterpretedStage, TierObserver};
use cembra::field::json::read_field_case;
use cembra::field::{
    FieldBuffer, FieldCells, FieldData, FieldProblem, FieldProgram, FieldRole, TableEntries, check_program,
    parse_field_program,
};
use cembra::native::{CompileC, Compiler, NativeBuild, NativeCache};
use cembra::vm::machine::{Budget, SharedBudget};
use cembra::vm::value::Category;
use fastrand::Rng;
use serde_json::Value as Json;
use std::sync::{Arc, OnceLock};

/// Every how many random programs one is compared with native code, which takes a tenth of a second for each box.
const USUAL: u64 = 40;

/// The same for recorded programs that are not those of the published systems.
const USUAL_OF_RECORDED: u64 = 4;

/// Every how many of these a compiler optimises; the others stop the process where C leaves open what happens.
const OPTIMISED: u64 = 2;

type Cache = (tempfile::TempDir, NativeCache);

/// A cache of libraries that are built with some flags.
fn cache(flags: &[&str]) -> Cache {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    let compile = flags.iter().fold(CompileC::new(compiler, ""), |compile, flag| compile.flag(*flag));
    let cache = NativeCache::of(NativeBuild::c(compile), folder.path());
    (folder, cache)
}

/// Libraries that are optimised a little.
pub fn native() -> FieldTier {
    static CACHE: OnceLock<Cache> = OnceLock::new();
    FieldTier::Native(CACHE.get_or_init(|| cache(&["-O1"])).1.clone())
}

/// Libraries that stop the process where C leaves open what happens. Optimised, they would take five times as long to build.
pub fn sanitized() -> FieldTier {
    static CACHE: OnceLock<Cache> = OnceLock::new();
    FieldTier::Native(CACHE.get_or_init(|| cache(&[SANITIZE[0], SANITIZE[1], "-O0"])).1.clone())
}

/// Runs a case on a tier, as `run_case` does; all stages have a form in C.
pub(super) fn case_on(tier: &FieldTier, case: &Json) -> Result<Json, String> {
    let run = || {
        let (program, data) = read_field_case(case)?;
        check_program(&program).map_err(|mut errors| errors.remove(0))?;
        let (outputs, reasons) = outputs_on(tier, &program, data)?;
        assert!(reasons.is_empty() || matches!(tier, FieldTier::Jit), "{reasons:?}\n{case}");
        Ok::<_, cembra::field::FieldError>(outputs)
    };
    run().map_err(|error| error.problem.class().to_owned())
}

#[test]
fn recorded_programs_agree_on_all_tiers() {
    for tier in [FieldTier::Jit, FieldTier::Steps] {
        assert_eq!(agreeing(|case| case_on(&tier, case)), ALL);
    }
    let every = every(USUAL_OF_RECORDED) as usize;
    let [first, second, some @ ..] = agreeing_of_some(every, |case| case_on(&sanitized(), case));
    assert_eq!([first, second], [ALL[0], ALL[1]]);
    for ((values, errors), (all_values, all_errors)) in some.into_iter().zip(ALL.into_iter().skip(2)) {
        assert_eq!(values + errors, (all_values + all_errors).div_ceil(every));
    }
}

/// Every how many programs one is built.
fn every(usual: u64) -> u64 {
    std::env::var("CEMBRA_NATIVE").ok().and_then(|text| text.parse().ok()).unwrap_or(usual).max(1)
}

/// Compares a tier with the interpreter: values, or the class and the text of the error.
fn check(tier: &FieldTier, seed: u64, flavor: Flavor) -> bool {
    let case = Generator::new(seed, flavor).case(flavor);
    let context = || format!("seed {seed} {flavor:?}\n{case}");
    let expected = run_case(&case).map_err(|error| error.to_string());
    let (program, data) = read_field_case(&case).expect("a case");
    let mut rng = Rng::with_seed(seed);
    let fields = data.fields.iter().map(|(name, buffer)| (name.clone(), scattered(buffer, &mut rng)));
    let moved = FieldData { fields: fields.collect(), ..data.clone() };
    for data in [data, moved] {
        match (&expected, outputs_on(tier, &program, data)) {
            (Ok(expected), Ok((outputs, reasons))) => {
                assert_eq!(compare(expected, &outputs), None, "{}", context());
                let is_known = |reason: &String| reason.contains("reads, of which a C compiler");
                let are_known = reasons.iter().all(is_known) || matches!(tier, FieldTier::Jit);
                assert!(are_known, "{reasons:?}\n{}", context());
            }
            (Err(expected), Err(error)) => assert_eq!(error.to_string(), *expected, "{}", context()),
            (expected, found) => panic!("{expected:?}, on the tier {found:?}\n{}", context()),
        }
    }
    expected.is_ok()
}

/// Compares every so many random programs, on the tier of their number; how many of each kind have values.
fn check_all(tier: impl Fn(u64) -> FieldTier, every: u64) -> [usize; 4] {
    PROGRAMS.map(|(seeds, flavor)| {
        let chosen = (0..).zip(seeds.step_by(every as usize));
        chosen.filter(|(number, seed)| check(&tier(*number), *seed, flavor)).count()
    })
}

#[test]
fn random_programs_agree_with_native_code() {
    let every = every(USUAL);
    let tier = |number: u64| if number.is_multiple_of(OPTIMISED) { native() } else { sanitized() };
    let with_values = check_all(tier, every);
    let least = if every <= USUAL { [8, 4, 2, 2] } else { [0; 4] };
    let is_enough = with_values.iter().zip(least).all(|(count, least)| *count >= least);
    assert!(is_enough, "{with_values:?} programs have values");
}

#[test]
fn random_programs_agree_with_machine_code() {
    let [grids, meshes, ..] = check_all(|_| FieldTier::Jit, 1);
    assert!(grids >= 360 && meshes >= 200, "{grids} programs on grids and {meshes} on meshes have values");
}

#[test]
fn random_programs_agree_step_by_step() {
    let [grids, meshes, ..] = check_all(|_| FieldTier::Steps, 1);
    assert!(grids >= 360 && meshes >= 200, "{grids} programs on grids and {meshes} on meshes have values");
}

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

fn row(cells: FieldCells) -> FieldBuffer {
    let count = cells.len();
    FieldBuffer::row_major(cells, &[0], &[count]).expect("as many cells")
}

/// What an operation refuses is an error on every tier, with the same text; nothing of its statement is stored.
#[test]
fn refused_values_are_the_same_errors() {
    let program = parse(
        "horizontal I\ninput n[I]: int32\ninput x[I]\noutput a[I], c[I]: int32, d[I]: int64\na = x + 1.0\n\
         c = where(n != 0, 100 // n, 0)\nd = int64(x)\nc = 100 // n\n",
    );
    for tier in [FieldTier::Interpreter, FieldTier::Steps, FieldTier::Jit, native()] {
        let run = |n: [i32; 3], x: [f64; 3]| {
            let mut data = FieldData::default();
            data.fields.insert("n".to_owned(), row(FieldCells::Int32(n.to_vec())));
            data.fields.insert("x".to_owned(), row(FieldCells::Float64(x.to_vec())));
            data.complete(&program).expect("one dimension");
            let plan = FieldPlan::new(&program, &data).expect("a plan");
            let outcome = plan.on(tier.clone()).expect("memory").run(&mut data);
            (outcome, data.fields["c"].cells().clone(), data.fields["d"].cells().clone())
        };
        let (outcome, c, d) = run([3, -7, i32::MIN], [1.5, -2.5, 1e15]);
        assert_eq!(outcome, Ok(()), "{tier:?}");
        assert_eq!(c, FieldCells::Int32(vec![33, -15, -1]));
        assert_eq!(d, FieldCells::Int64(vec![1, -2, 1_000_000_000_000_000]));
        let (outcome, c, _) = run([3, 0, 1], [1.0, 2.0, 3.0]);
        let error = outcome.expect_err("a zero divisor");
        assert_eq!(error.statement, Some((4, "c".to_owned())), "{tier:?}: {error}");
        assert!(
            matches!(*error.problem, FieldProblem::Run { category: Category::DivisionByZero, .. }),
            "{error}"
        );
        assert_eq!(error.to_string(), "statement 4 (`c`): division by zero, at I = 1");
        assert_eq!(c, FieldCells::Int32(vec![33, 0, 100]), "{tier:?}: what the second statement has stored");
        let (outcome, _, d) = run([1, 1, 1], [1.0, f64::NAN, 3.0]);
        let error = outcome.expect_err("NaN is no integer");
        assert_eq!(error.statement, Some((3, "d".to_owned())), "{tier:?}: {error}");
        assert_eq!(d, FieldCells::Int64(vec![0; 3]), "{tier:?}");
    }
}

/// Scans, lists, truth values and temporaries, with buffers in any order of memory: what a library goes over at once, and what it
/// does not.
#[test]
fn sweeps_agree_with_the_interpreter() {
    const HEAD: &str = "horizontal I\nvertical K\ninput a[I, K]\ninput m[I]\ninput z[K]\n";
    const MESH: &str = "horizontal Edge, Cell\nvertical K\ntable C2E: Cell -> Edge width 2 skip -1\ninput e[Edge]\n\
        input w[Cell]\ninput l[Edge, K]\n";
    let bodies = [
        "output p[I=0:5, K=0:8], n[I=0:5, K=0:8]: int32\np, n = scan(K forward; s = 0.5, c = int32(2); s*0.5 + a*m, c + 1)\n",
        "output p[I=0:5, K=0:8] fill 7.0\np[I=1:4, K=2:7] = scan(K backward; s = -0.0; s - a*z)\n",
        "output p[I=0:5, K=0:8], q[I=0:5, K=0:8]\np, q = scan(K forward; s = 0.0, t = 1.0; t, s)\n",
        "output p[I=0:5, K=0:8], q[I=0:5, K=0:8]\np, q = scan(K forward; s = 0.0, t = 1.0; s + t, s + t)\n",
        "output p[I=0:5, K=0:8], q[I=0:5, K=0:8]\np, q = a + m, a + m\n",
        "output p[K=0:8]\np = scan(K backward; s = 0.25; max(s, z) - 0.5*s)\n",
        "output b[I=0:5, K=0:8]: bool\nb = scan(K forward; s = false; not s or a > 0.75)\n",
        "output p[I=0:5, K=0:8]\np[I=0:5, K=0:1] = scan(K forward; s = 0.25; s + a)\n",
        "output p[I=0:5, K=0:8], n[I=0:5, K=0:8]: int32\np, n = scan(I backward; s = 0.5, c = int32(2); s*0.5 + a*z, c + 1)\n",
        "output p[I=0:5, K=0:8]\np[I=1:4, K=2:7] = scan(I forward; s = -0.0; s - a[I-1]*m[I+1])\n",
        "output p[I=0:5]\np = scan(I forward; s = 0.25; max(s, m) - 0.5*s)\n",
        "output p[I=0:5, K=0:8]\np = scan(K forward; s = 0.0; concat_where(K == 0, 2.0*a, a - a[K-1])*m + 0.5*s)\n",
        "output p[I=0:5, K=0:8]\np = scan(I backward; s = 0.0; concat_where(I < 3, a[I+1], a[I-3])*concat_where(K < 2, z[K+1], z) + 0.5*s)\n",
        "output p[I=0:5, K=0:8]\np[I=0:5, K=3:3] = scan(K forward; s = 0.25; s + a)\n",
        "output p[I=0:5, K=0:8] fill 0.5\np = scan(K forward; s = 0.25; s + p*a)\n",
        "output p[I=0:5, K=0:8]\nscalar k = 0.5\np[I=0:5, K=1:7] = 2.0*k*(a[K-1] - a[K+1])*z + m\n",
        "output p[I=0:5, K=0:8]\nd = a*a + 0.5*z - m/(z + 1.0)\np[I=1:4, K=1:7] = d[I-1] + d[I+1] + d[K-1] + d[K+1]\n",
    ];
    let of_mesh = [
        "output p[Cell=0:6]\np = neighbor_sum(e[C2E], C2E) - w\n",
        "output p[Cell=0:6, K=0:4]\np = neighbor_sum(l[C2E], C2E)*w\n",
        "output p[Cell=0:6, K=0:4]\np = scan(K forward; s = 0.0; s + neighbor_sum(e[C2E], C2E))\n",
        "output p[Cell=0:6, K=0:4]\np = scan(Cell forward; s = 0.0; s*w + neighbor_sum(l[C2E], C2E))\n",
        "output p[Cell=0:6]\np = scan(Cell backward; s = 0.0; s*w + neighbor_sum(e[C2E], C2E))\n",
    ];
    let mut rng = Rng::with_seed(23);
    let heads = bodies.map(|body| (HEAD, body)).into_iter().chain(of_mesh.map(|body| (MESH, body)));
    for (head, body) in heads {
        let program = parse(&format!("{head}{body}"));
        let mut data = FieldData::default();
        let sizes = |name: &str| match name {
            "a" => vec![5, 8],
            "z" => vec![8],
            "m" => vec![5],
            "l" => vec![7, 4],
            "w" => vec![6],
            _ => vec![7],
        };
        for field in program.fields.iter().filter(|field| field.role == FieldRole::Input) {
            let shape = sizes(&field.name);
            let count = shape.iter().product::<usize>();
            let cells = FieldCells::Float64((0..count).map(|_| f64::from(rng.u8(..)) / 128.0).collect());
            let origin = vec![0; shape.len()];
            let buffer = FieldBuffer::row_major(cells, &origin, &shape).expect("as many cells");
            data.fields.insert(field.name.to_string(), buffer);
        }
        let entries = vec![3, 6, 0, 0, 5, -1, 1, 2, -1, -1, 6, 4];
        data.tables.insert("C2E".to_owned(), TableEntries::new(entries, 2).expect("whole rows"));
        data.complete(&program).expect("outputs have extents");
        let (expected, _) = outputs_on(&FieldTier::Interpreter, &program, data.clone()).expect("values");
        for _ in 0..4 {
            let fields = data.fields.iter().map(|(name, buffer)| (name.clone(), scattered(buffer, &mut rng)));
            let moved = FieldData { fields: fields.collect(), ..data.clone() };
            for data in [&data, &moved] {
                let (found, reasons) = outputs_on(&native(), &program, data.clone()).expect("values");
                assert_eq!((compare(&expected, &found), &reasons[..]), (None, &[][..]), "{body}");
            }
        }
    }
}

/// A library knows no sizes: a plan for fields of another size, and with scalars of other values, finds it.
#[test]
fn a_native_plan_takes_other_data() {
    let program = parse("horizontal I\nscalar k\ninput u[I]\noutput v[I]\nv = k*u - 0.5\n");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let cache = NativeCache::new(folder.path(), None).expect("cargo needs a C compiler to link");
    let mut data = FieldData::default();
    let mut plan: Option<FieldPlan> = None;
    for (k, count) in [(2.0, 5), (-0.0, 5), (3.0, 9), (f64::NAN, 1), (1.0, 0)] {
        let u: Vec<f64> = (0..count).map(|at| at as f64 / 4.0).collect();
        data.fields.insert("u".to_owned(), row(FieldCells::Float64(u.clone())));
        data.fields.insert("v".to_owned(), row(FieldCells::Float64(vec![7.0; count])));
        data.scalars.insert("k".to_owned(), cembra::vm::value::ScalarValue::Float64(k));
        let mut used = plan.take().unwrap_or_else(|| {
            let made = FieldPlan::new(&program, &data).expect("a plan");
            made.on(FieldTier::Native(cache.clone())).expect("memory")
        });
        assert_eq!(used.interpreted(), []);
        used.run(&mut data).expect("values");
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        let expected: Vec<u64> = u.iter().map(|u| bits(k * u - 0.5)).collect();
        let found: Vec<u64> = data.fields["v"].view().cells::<f64>().map(bits).collect();
        assert_eq!(found, expected, "{k} {count}");
        plan = Some(used);
    }
    assert_eq!(cembra::native::cache::entries(folder.path()).len(), 1);
}

#[test]
fn a_budget_holds_on_every_tier() {
    let program = parse("horizontal I\ninput u[I]\noutput v[I]\nv = 2.0*u\n");
    for tier in [FieldTier::Interpreter, FieldTier::Steps, FieldTier::Jit, native()] {
        let mut data = FieldData::default();
        data.fields.insert("u".to_owned(), row(FieldCells::Float64(vec![1.5; 100])));
        data.complete(&program).expect("one dimension");
        let budget = Arc::new(SharedBudget::new(Budget { rows: Some(1000), ..Budget::default() }));
        let plan = FieldPlan::new(&program, &data).expect("a plan").within(budget);
        let mut plan = plan.on(tier.clone()).expect("memory");
        let stopped =
            (0..100).find_map(|step| plan.run(&mut data).err().map(|error| (step, error.to_string())));
        let (step, message) = stopped.expect("an error");
        assert!(
            step == 10 && message.starts_with("statement 1 (`v`): out of rows"),
            "{tier:?}, {step}: {message}"
        );
    }
}

/// Looks at nothing, but keeps builds one after the other.
struct Watching;

impl TierObserver for Watching {
    fn ended(&self, _: usize, _: &str, _: &'static str, _: &dyn cembra::workflow::Artifact) {}
}

/// Libraries that threads build give the same values as those that are built one after the other, and notes name the same stages.
#[test]
fn libraries_are_built_side_by_side() {
    // The third statement has more reads than are built.
    let reads: Vec<String> = (-20..21).map(|by| format!("u[I{by:+}]")).collect();
    let mut text =
        "horizontal I\ninput u[I]\noutput a[I], b[I], d[I], e[I]\na = 2.0*u + 1.0\nb = a*a - u\n".to_owned();
    text += &format!("d[I=20:30] = {}\n", reads.join(" + "));
    text += "e = where(b < d, exp(0.01*a), min(d, u)/3.0)\na = a + 0.5*e\n";
    let program = parse(&text);
    let mut data = FieldData::default();
    let u = (0..50).map(|at| f64::from(at) / 8.0 - 2.0).collect();
    data.fields.insert("u".to_owned(), row(FieldCells::Float64(u)));
    for name in ["a", "b", "d", "e"] {
        data.fields.insert(name.to_owned(), row(FieldCells::Float64(vec![0.25; 50])));
    }
    let run = |observer: &dyn TierObserver| {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let cache = NativeCache::new(folder.path(), None).expect("cargo needs a C compiler to link");
        let plan = FieldPlan::new(&program, &data).expect("a plan");
        let mut plan = plan.on_observed(FieldTier::Native(cache), observer).expect("memory");
        let mut data = data.clone();
        plan.run(&mut data).expect("values");
        let built = cembra::native::cache::entries(folder.path()).len();
        (data, plan.interpreted().to_vec(), built)
    };
    let (together, one_by_one) = (run(&()), run(&Watching));
    assert_eq!(together, one_by_one);
    let (_, notes, built) = together;
    assert_eq!((notes.len(), notes[0].statement, &*notes[0].target, built), (1, 3, "d", 4));
    assert!(notes[0].reason.contains("41 reads"), "{notes:?}");

    // Each stage has an error of its own.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    let build = NativeBuild::c(CompileC::new(compiler, "").flag("--no-such-flag"));
    let cache = NativeCache::of(build, folder.path());
    let plan = FieldPlan::new(&program, &data).expect("a plan").on(FieldTier::Native(cache)).expect("memory");
    let stages = plan.interpreted().iter().map(|stage| (stage.statement, &*stage.target));
    assert_eq!(stages.collect::<Vec<_>>(), [(1, "a"), (2, "b"), (3, "d"), (4, "e"), (5, "a")]);
    let is_told = |stage: &InterpretedStage| stage.statement == 3 || stage.reason.contains("no-such-flag");
    assert!(plan.interpreted().iter().all(is_told), "{:?}", plan.interpreted());
}

const HEAT: &str = "horizontal I, J\noutput u[I=0:6, J=0:5] fill 1.5\noutput v[I=0:6, J=0:5] fill 0.5\n\
    v[I=1:5, J=1:4] = u + 0.2*(-4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1])\nu = v\n";

#[test]
fn commands_take_a_tier() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    std::fs::write(place.path().join("heat.field"), HEAT).expect("a file");
    let cembra = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(args).current_dir(place.path()).env("CEMBRA_CACHE_DIR", place.path().join("cache"));
        let output = command.output().expect("the command starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let plain = cembra(&["field", "run", "heat.field"]);
    assert!(plain.0 && plain.2.is_empty(), "{plain:?}");
    assert_eq!(cembra(&["field", "run", "heat.field", "--tier", "native"]), plain);
    let jit = cembra(&["field", "run", "heat.field", "--tier", "jit"]);
    match cfg!(feature = "jit") {
        true => {
            assert_eq!((jit.0, &jit.1), (plain.0, &plain.1));
            assert!(jit.2.starts_with("note: the interpreter runs statement 1 (`v`): "), "{}", jit.2);
        }
        false => {
            assert!(!jit.0 && jit.1.is_empty(), "{jit:?}");
            assert!(jit.2.contains("--tier jit: built without the feature `jit`"), "{}", jit.2);
        }
    }
    let (is_shown, text, _) = cembra(&["field", "explain", "heat.field", "--tier", "native"]);
    assert!(is_shown && text.starts_with("statement 1 (`v`)\n\nruns as: C\n"), "{text}");
    assert!(text.contains("r0_flat") && !text.contains("statement 2"), "{text}");
    // It is the library that the run has made.
    let stages = text.lines().last().expect("a line");
    assert!(stages.starts_with("stages: find compiler ") && stages.contains(", cache hit "), "{stages}");
    let explain = ["field", "explain", "heat.field", "--tier", "native", "--cache", "process"];
    let stages = cembra(&explain).1;
    assert!(stages.contains(", C compiler ") && stages.contains(", publish "), "{stages}");
    // A language without arrays has no form for a statement over points.
    let rust = ["field", "run", "heat.field", "--tier", "native", "--backend", "rust"];
    let found = cembra(&rust);
    assert_eq!((found.0, &found.1), (plain.0, &plain.1));
    assert!(found.2.starts_with("note: the interpreter runs statement 1 (`v`): "), "{}", found.2);
    assert_eq!(found.2.lines().count(), 1, "{}", found.2);
    for command in ["run", "explain"] {
        let found = cembra(&["field", command, "heat.field", "--tier", "interpreter", "--backend", "rust"]);
        assert!(!found.0 && found.2.contains("--backend needs --tier native"), "{found:?}");
    }
    // A compiler that is none is an error, not another tier.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cembra"));
    command.args(["field", "run", "heat.field", "--tier", "native"]).current_dir(place.path());
    command.env("CEMBRA_CC", "no-such-compiler").env("CEMBRA_CACHE_DIR", place.path().join("other"));
    let output = command.output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("--tier native: "), "{text}");
}
