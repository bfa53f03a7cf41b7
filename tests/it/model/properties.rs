//! Random models: schedule, machine and interpreter agree, and graphs survive being written as files.

use super::recorded::difference;
use crate::reference::replay;
use cembra::backend::model::CompiledModel;
use cembra::model::component::{Function, Package, Role, Semantics};
use cembra::model::graph::from_model::graph_of;
use cembra::model::graph::print;
use cembra::model::schedule::schedule;
use cembra::model::{interpret, load, to_yaml};
use fastrand::Rng;

/// Models of one run.
const MODELS: u64 = 300;

/// A random value that is sensible for a parameter of that name.
fn value(random: &mut Rng, name: &str) -> f64 {
    let digits = |x: f64| (x * 1000.0).round() / 1000.0;
    match name {
        "x0" => digits(83.0 + 5.0 * random.f64()),
        "xStart" => 82.0,
        "xStop" => 89.0,
        "t0" => digits(2.0 * random.f64() - 1.0),
        "pShirley" => 1e-3,
        _ => digits(0.2 + 3.0 * random.f64()),
    }
}

fn parameters(
    random: &mut Rng,
    function: Function,
    semantics: Semantics,
    known: &mut Vec<String>,
    own: &str,
) -> String {
    let mut names = function.parameters(semantics);
    if random.u8(..8) == 0 {
        random.shuffle(&mut names);
    }
    let mut out = String::new();
    for name in names {
        let number = value(random, name);
        let is_free_of_rules = !matches!(name, "xStart" | "xStop") && function.role() != Role::Kernel;
        let specification = match random.u8(..6) {
            0 if is_free_of_rules && !known.is_empty() => {
                let other = &known[random.usize(..known.len())];
                let scale = number / 50.0;
                ["[\"{other}*{scale} + 1\"]", "[\"sqrt(abs({other})) + {scale}\"]", "[\"{other}\"]"]
                    [random.usize(..3)]
                .replace("{other}", other)
                .replace("{scale}", &scale.to_string())
            }
            1 => format!("[{number}, False]"),
            _ if function.role() == Role::Kernel => format!("[{number}, True, 1.0e-6, 50]"),
            2 => format!("[{number}, True, -50, 1000]"),
            3 => format!("[{number}, project, -1000, 1000]"),
            _ => format!("[{number}, True]"),
        };
        if !specification.contains('"') {
            known.push(format!("{own}_{name}"));
        }
        out += &format!("    {name}: {specification}\n");
    }
    out
}

/// Components of one package, the last one additive; gives the text and the parameters that are numbers.
fn model(random: &mut Rng, package: Package, semantics: Semantics) -> (String, Vec<String>) {
    let mut functions: Vec<Function> = Function::ALL
        .iter()
        .copied()
        .filter(|f| f.package() == package && f.exists_in(semantics) && f.role() != Role::Placeholder)
        .collect();
    random.shuffle(&mut functions);
    let count = random.usize(1..5);
    let mut chosen: Vec<Function> = functions.iter().copied().take(count).collect();
    let additive = functions.iter().copied().find(|f| f.role() == Role::Additive).expect("there is one");
    chosen.push(additive);
    let mut numbers = std::collections::HashMap::<Function, usize>::new();
    let (mut text, mut known) = (String::new(), Vec::new());
    for function in chosen {
        let number = numbers.entry(function).or_default();
        *number += 1;
        let name = match function.is_numbered() {
            true => format!("{}_{number:02}", function.name()),
            false => function.name().to_owned(),
        };
        text += &format!("  {}:\n", function.name());
        text += &parameters(random, function, semantics, &mut known, &name);
    }
    (text, known)
}

/// A file with a header; profiles and dynamics on some parameters.
fn file(random: &mut Rng) -> String {
    let semantics = if random.u8(..3) == 0 { Semantics::V0_9 } else { Semantics::Current };
    let (energy_model, targets) = model(random, Package::Energy, semantics);
    let is_2d = random.bool();
    let mut header = format!("cembra:\n  semantics: \"{}\"\n  model: m\n", semantics.name());
    header += "  energy: {from: 80, to: 92, points: 9}\n  aux: [0, 0.5, 2]\n";
    let mut models = format!("m:\n{energy_model}");
    let targets: Vec<&String> =
        targets.iter().filter(|t| !t.ends_with("xStart") && !t.ends_with("xStop")).collect();
    if is_2d {
        header += "  time: {from: -3, to: 8.3, points: 12}\n";
        let (first, second) =
            (model(random, Package::Time, semantics).0, model(random, Package::Time, semantics).0);
        models += &format!("d:\n{first}e:\n{second}none_:\n  none: {{}}\n");
        let has_kernel_twice = |name: &str| first.contains(name) && second.contains(name);
        let clash = Function::ALL.iter().any(|f| f.role() == Role::Kernel && has_kernel_twice(f.name()));
        let list = match random.u8(..3) {
            0 if !clash => "[d, e], frequency: 0.231",
            1 if !clash => "[none_, d, e], frequency: 0.117",
            _ => "[d]",
        };
        if let Some(target) = targets.first() {
            header += &format!("  dynamics: [{{target: {target}, models: {list}}}]\n");
        }
    }
    if let Some(target) = targets.get(1).filter(|_| random.bool()) {
        models += &format!("p:\n{}", model(random, Package::Profile, semantics).0);
        header += &format!("  profiles: [{{target: {target}, model: p}}]\n");
    }
    header + &models
}

#[test]
fn random_models_agree_everywhere() {
    let (mut evaluated, mut rejected) = (0, 0);
    for seed in 0..MODELS {
        let mut random = Rng::with_seed(seed);
        let text = file(&mut random);
        let place = || format!("seed {seed}\n{text}");
        let model = match load::read([("random.yaml", text.as_str())]) {
            Ok(loaded) => loaded.model,
            Err(errors) => {
                // Expressions may chain through what varies, which is an error and no bug.
                let code = errors[0].kind.code();
                assert!(
                    ["expression-chain", "initial-not-finite"].contains(&code),
                    "{}: {}",
                    errors[0],
                    place()
                );
                rejected += 1;
                continue;
            }
        };
        let graph = graph_of(&model).unwrap_or_else(|e| panic!("{e}: {}", place()));
        let schedule = schedule(&graph).unwrap_or_else(|r| panic!("{}: {}", r[0], place()));
        assert_eq!(schedule.theta_names(), model.theta_names(), "{}", place());
        let theta: Vec<f64> = model.theta().iter().map(|v| v * (0.9 + 0.2 * random.f64())).collect();
        let expected = interpret::evaluate(&model, &theta).expect("its own theta");
        let actual = replay::evaluate(&schedule, &theta);
        assert_eq!(difference(&expected.values, &actual.values, 1e-10), None, "{}", place());
        let compiled = CompiledModel::new(&schedule).unwrap_or_else(|e| panic!("{e}: {}", place()));
        let mut frame = compiled.new_frame().expect("memory");
        let actual = compiled.evaluate(&theta, &mut frame).expect("its own theta");
        assert_eq!(difference(&expected.values, actual, 1e-10), None, "compiled, {}", place());
        let yaml = to_yaml::yaml(&model);
        let again = load::read([("again.yaml", yaml.as_str())]);
        let again = again.unwrap_or_else(|e| panic!("{}: {}{yaml}", e[0], place())).model;
        let graph_again = graph_of(&again).expect("a graph");
        assert_eq!(print::json(&graph_again), print::json(&graph), "{}{yaml}", place());
        evaluated += 1;
    }
    assert!(evaluated > MODELS / 2, "only {evaluated} models, {rejected} were rejected");
}
