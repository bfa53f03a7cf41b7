//! Every slope that a row of scalars says against central differences.

use crate::support::{bind, parse};
use cembra::autodiff::jacobian;
use cembra::compile::Options;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::builtins;
use cembra::vm::machine::BoundExpr;
use cembra::vm::operator::Facts;
use cembra::vm::program::dump::dump;
use cembra::vm::value::QType;
use cembra::vm::value::qtype::FLOAT64;

/// Distinct values, none at an integer or half of one, where steps and kinks are.
const POINTS: [f64; 8] = [0.37, 0.81, 1.62, 2.27, -0.43, -1.71, 3.19, 0.09];
const STEP: f64 = 1e-5;

/// A function of FLOAT64 leaves.
struct Function {
    bound: BoundExpr,
    params: Vec<String>,
}

impl Function {
    fn new(text: &str, params: &[String]) -> Function {
        Function::of(&format!("core.to_float64({text})"), params)
    }

    fn of(text: &str, params: &[String]) -> Function {
        let inputs: Vec<(&str, QType)> = params.iter().map(|p| (p.as_str(), FLOAT64)).collect();
        let expr = parse(text, Dialect::Cembra);
        let bound = bind(Source::new(expr, inputs), &Prepare::standard(), Options::default());
        Function { bound, params: params.to_vec() }
    }

    fn at(&self, point: &[f64]) -> f64 {
        let mut frame = self.bound.new_frame().expect("memory");
        for (name, value) in self.params.iter().zip(point) {
            frame.set(self.bound.input::<f64>(name).expect("a FLOAT64"), *value);
        }
        self.bound.execute(&mut frame).expect("no error");
        frame.get(self.bound.output::<f64>().expect("FLOAT64"))
    }
}

#[test]
fn slopes_of_rows_are_right() {
    let (table, mut checked) = (builtins::table(), 0);
    for family in table.families().filter(|f| *f.facts() != Facts::pointwise() && !f.name().contains("._")) {
        let params: Vec<String> = family.params().map(str::to_owned).collect();
        let types = vec![FLOAT64; params.len()];
        if family.overload(&types).is_none_or(|o| *o.result() != FLOAT64) {
            continue;
        }
        let partials = family.partials().len();
        assert!(partials == 0 || partials == params.len(), "{}: {partials} partials", family.name());
        let text = format!("{}({})", family.name(), params.join(", "));
        let value = Function::new(&text, &params);
        let leaves: Vec<(&str, QType)> = params.iter().map(|name| (&**name, FLOAT64)).collect();
        let slopes = jacobian(&parse(&text, Dialect::Cembra), &leaves);
        for (index, slope) in slopes.unwrap_or_else(|e| panic!("{text}: {e}")).iter().enumerate() {
            let slope = slope.as_ref().map_or_else(|| "0.0".to_owned(), ToString::to_string);
            let (definitions, last) = slope.rsplit_once('\n').unwrap_or(("", &slope));
            let slope = Function::of(&format!("{definitions}\ncore.to_float64({last})"), &params);
            let compared = (0..POINTS.len()).filter(|n| compare(&value, &slope, index, *n)).count();
            assert!(compared >= 3, "{}: defined at {compared} points only", family.name());
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} slopes");
}

/// False where the function has no finite value.
fn compare(value: &Function, slope: &Function, index: usize, number: usize) -> bool {
    let point: Vec<f64> = (0..value.params.len()).map(|i| POINTS[(number + 3 * i) % POINTS.len()]).collect();
    let moved = |by: f64| {
        let mut point = point.clone();
        point[index] += by;
        value.at(&point)
    };
    let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
    let derivative = slope.at(&point);
    if !difference.is_finite() || !value.at(&point).is_finite() {
        return false;
    }
    let close = (difference - derivative).abs() <= 1e-6 * (1.0 + difference.abs());
    let program = dump(value.bound.program());
    assert!(close, "{program}by operand {index} at {point:?}: {derivative}, differences say {difference}");
    true
}
