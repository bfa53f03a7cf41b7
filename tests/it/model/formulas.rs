//! Formulas: rows of components against formulas written by hand, and expressions of parameters.

use super::recorded::{close, difference};
use crate::reference::shape;
use cembra::backend::model::EvaluatorKind;
use cembra::model::component::{Function, Package, Role, Semantics};
use cembra::model::formula::{Formula, LENGTH_LIMIT};
use cembra::model::{Model, load, to_yaml};
use fastrand::Rng;

/// The formula of a function, written by hand, at some points.
fn by_hand(function: Function, semantics: Semantics, points: &[f64], p: &[f64]) -> Vec<f64> {
    let each =
        |value: fn(Function, f64, &[f64]) -> f64| points.iter().map(|x| value(function, *x, p)).collect();
    match (function.package(), function.role()) {
        (_, Role::SpectrumFed) => shape::shirley(p[0], points),
        (_, Role::Kernel) => each(shape::kernel),
        (Package::Energy, _) => shape::on_axis(function, semantics, points, p),
        (Package::Time, _) => each(shape::time),
        (Package::Profile, _) => each(shape::profile),
    }
}

#[test]
fn rows_are_the_formulas_written_by_hand() {
    let mut random = Rng::with_seed(7);
    let points: Vec<f64> = (0..61).map(|i| f64::from(i) * 0.25 - 7.5).collect();
    let mut compared = 0;
    for function in Function::ALL.iter().copied().filter(|f| f.role() != Role::Placeholder) {
        for semantics in [Semantics::Current, Semantics::V0_9] {
            if !function.exists_in(semantics) {
                continue;
            }
            let names = function.parameters(semantics);
            for round in 0..40 {
                let value = |random: &mut Rng, name: &str| match name {
                    "x0" | "t0" | "xStart" => f64::from(random.i32(-12..12)) * 0.25,
                    "xStop" => 3.5,
                    // Widths and factors of zero, and of either sign.
                    _ if round < 4 => [0.0, -0.5, 1.0, 2.0][round],
                    _ => 4.0 * random.f64() - 1.0,
                };
                let p: Vec<f64> = names.iter().map(|name| value(&mut random, name)).collect();
                let expected = by_hand(function, semantics, &points, &p);
                let actual = function.formula(semantics).evaluate_along(&points, &p).expect("memory");
                assert_eq!(difference(&expected, &actual, 1e-12), None, "{function:?} {semantics:?} {p:?}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 40 * 51);
}

fn value(text: &str) -> f64 {
    Formula::read(text).unwrap_or_else(|e| panic!("{text}: {e}")).evaluate(|name| 10.0 + name as f64)
}

#[test]
fn arithmetic_is_that_of_python() {
    for (text, expected) in [
        ("3/4*a", 7.5),
        ("-2**2", -4.0),
        ("2**-1", 0.5),
        ("2**3**2", 512.0),
        ("-(-a)**1", 10.0),
        ("+a - -2", 12.0),
        ("a // 3 + b % 4", 6.0),
        ("7//2", 3.0),
        ("-7 % 3", 2.0),
        ("sqrt(4)*2 + max(a, b)", 15.0),
        ("1e1 + .5 + 2.", 12.5),
        ("a/pi", 10.0 / std::f64::consts::PI),
        ("log(e)", 1.0),
        ("arctan2(0, 1) + fabs(-3) + pow(2, 3)", 11.0),
        ("a\n + b", 21.0),
        ("True + False", 1.0),
        ("sign(-a) + abs(-b) + min(a, b)", 20.0),
        ("where(a < b, 1, 2) + where(a >= b, 10, 20) + where((a == 10) & ~(b != 11), 100, 200)", 121.0),
    ] {
        assert!(close(expected, value(text), 1e-15), "{text}: {}", value(text));
    }
    for text in ["(0-1)**0.5", "a // 0", "a % (b - b)", "log(-a)", "0/0"] {
        assert!(value(text).is_nan(), "{text}: {}", value(text));
    }
    assert_eq!(value("a/0"), f64::INFINITY);
}

#[test]
fn wrong_texts_say_where_and_what() {
    for (text, at, problem) in [
        ("a * * 2", 5, "expected an operand, found `*`"),
        ("1 +", 4, "expected an operand, found the end of the text"),
        ("a + f(1)", 5, "there is no function `f`"),
        ("math.sqrt(a)", 1, "expected numbers, names of parameters, signs and functions, found `math.sqrt`"),
        ("b = a; b", 3, "expected numbers, names of parameters, signs and functions, found `=`"),
        ("a; b", 2, "expected numbers, names of parameters, signs and functions, found the end of the line"),
        ("a # b", 3, "unexpected character `#`"),
        ("a > 2", 1, "expected a number, found a condition; write where(condition, x, y)"),
        ("(a > 2) * 3", 1, "expected numbers, found a condition, which only `where` takes"),
        ("where(a, 1, 2)", 1, "expected a condition, such as `a < b`, found a number"),
        ("a & b", 1, "expected a condition, such as `a < b`, found a number"),
        ("sum_to_end(a)", 1, "expected a function of numbers, found `sum_to_end`"),
        ("INT32", 1, "expected a number, found INT32"),
        ("'a'", 1, "expected numbers, names of parameters, signs and functions, found a text"),
        ("ä + (a", 5, "unclosed `(`"),
    ] {
        let error = Formula::read(text).expect_err(text);
        assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
    }
    let deep = Formula::read(&"(".repeat(1000)).expect_err("too deep");
    assert!(deep.problem.starts_with("limit expression-nesting"), "{deep}");
    let long = Formula::read(&"a+".repeat(LENGTH_LIMIT)).expect_err("too long");
    assert!(long.problem.starts_with("limit expression-text"), "{long}");
}

#[test]
fn names_are_replaced_in_the_text() {
    let formula = Formula::read("4*tau + sqrt(tau) + max(max, e)").expect("a formula");
    let renamed = formula.renamed(|name| Some(format!("P_{name}")));
    assert_eq!(renamed.text(), "4*P_tau + sqrt(P_tau) + max(P_max, e)");
    assert_eq!(renamed.names(), ["P_tau", "P_max"]);
    assert_eq!(renamed.evaluate(|_| 4.0), 22.0);
}

const CHOICES: &str = "
cembra: {model: m, energy: {from: 80, to: 90, points: 21}, time: {from: -1, to: 5, points: 13},
  dynamics: [{target: GLP_01_A, models: [d]}]}
m:
  Offset: {y0: [2.0, True, 0.0, 50.0]}
  GLP:
    A: [20.0, True]
    x0: [84.0, True]
    F: ['max(abs(GLP_02_F), 0.3) + sqrt(Offset_y0)']
    m: ['where(GLP_01_A > 21, exp(-Offset_y0), 0.5/(1 + Offset_y0**2))']
  GLP:
    A: ['where((GLP_01_A <= 21) | (Offset_y0 > 40), 3/4*GLP_01_A, -sign(Offset_y0)*GLP_01_x0/10)']
    x0: ['GLP_01_x0 + 3']
    F: [1.5, True]
    m: [0.3, False]
d:
  expFun: {A: [5.0, True], tau: [2.0, True], t0: [0.1, False]}
";

fn choices() -> Model {
    load::read([("choices.yaml", CHOICES)]).unwrap_or_else(|errors| panic!("{}", errors[0])).model
}

/// Central differences of order four of the interpreter's spectrum.
fn differences(model: &Model, theta: &[f64], place: usize) -> Vec<f64> {
    let step = 1e-3;
    let mut interpreter = EvaluatorKind::Interpreter.open(model);
    let mut at = |by: f64| {
        let mut moved = theta.to_vec();
        moved[place] += by * step;
        interpreter.evaluate(&moved).expect("a spectrum").to_vec()
    };
    let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(&mut at);
    (0..a.len()).map(|i| (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * step)).collect()
}

/// Comparison, choice and functions of parameters that depend on time: every evaluator agrees, and derivatives go through.
#[test]
fn choices_have_derivatives() {
    let model = choices();
    let mut theta = model.theta();
    let all: Vec<usize> = (0..theta.len()).collect();
    for y0 in [2.0, 45.0] {
        theta[0] = y0;
        let mut compare = EvaluatorKind::Compare.open(&model);
        assert_eq!(compare.fallback_reasons(), [""; 0]);
        let linearized = compare.linearize(&theta, &all).expect("it is compiled").expect("evaluators agree");
        let mut column = vec![0.0; linearized.spectrum().len()];
        for place in &all {
            linearized.derivative(*place).copy_to(&mut column);
            let expected = differences(&model, &theta, *place);
            let size = expected.iter().fold(1.0, |most: f64, value| most.max(value.abs()));
            let wrong = expected.iter().zip(&column).find(|(e, a)| (*e - *a).abs() > 1e-7 * size);
            assert_eq!(wrong, None, "{}", model.theta_names()[*place]);
        }
    }
}

#[test]
fn files_say_what_they_said() {
    let yaml = to_yaml::yaml(&choices());
    for text in [
        "max(abs(GLP_02_F), 0.3) + sqrt(Offset_y0)",
        "where(GLP_01_A > 21, exp(-Offset_y0), 0.5/(1 + Offset_y0**2))",
    ] {
        assert!(CHOICES.contains(text) && yaml.contains(&format!("[\"{text}\"]")), "{yaml}");
    }
}

/// `(x, y, Re w(x + iy))`, computed with 60 digits.
const RECORDED: &[(f64, f64, f64)] = &[
    (0.0, 0.0, 1.0),
    (0.5, 0.5, 0.533156707912175),
    (1.0, 0.0, 0.36787944117144233),
    (3.0, 0.001, 0.0002019724245573203),
    (0.0, 2.0, 0.25539567631050575),
    (2.5, 0.1, 0.014698406828789557),
    (0.001, 5.0, 0.11070463369237986),
    (10.0, 1e-06, 5.728717562239248e-09),
    (7.0, 3.0, 0.029795821949883398),
    (50.0, 20.0, 0.0038926059685400576),
    (100000.0, 1.0, 5.6418958357596574e-11),
    (30000.0, 10000.0, 5.641895842812028e-06),
    (0.2559, 1e-08, 0.9366132639383863),
    (5.0, 0.9, 0.020879555262648425),
    (5.2, 5.2, 0.054736050812018155),
    (300000000.0, 100000000.0, 5.641895835477563e-10),
    (1.5, -0.5, -0.17748955379745404),
    (0.0, 0.001, 0.9988726200811514),
    (6.1, 0.0, 6.916753975541478e-17),
];

#[test]
fn faddeeva_agrees_with_recorded_values() {
    let formula = Formula::read("faddeeva_real(x, y)").expect("a formula");
    for (x, y, expected) in RECORDED {
        let actual = formula.evaluate(|name| [*x, *y][name]);
        let error = (actual - expected).abs() / expected.abs().max(1e-16);
        assert!(error < 1e-13, "w({x} + {y}i) = {actual}, not {expected}: {error}");
    }
}
