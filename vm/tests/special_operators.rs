//! Operators that are special functions: they give what they say of themselves, or refuse what they say they refuse.

#[path = "support/draft.rs"]
mod draft;

use cembra_vm::array::special::{FunctionKind, Refusals, SpecialFunction};
use cembra_vm::builtins;
use cembra_vm::machine::BoundExpr;
use cembra_vm::operator::Overload;
use cembra_vm::program::Program;
use cembra_vm::strip::{Lane, List, Op, record_domain};
use cembra_vm::value::array::{ArrayClass, ArrayType};
use cembra_vm::value::qtype::{FLOAT32, FLOAT64};
use cembra_vm::value::{Category, QType, ScalarType};
use cembra_vm::vector::math::dispatch::Unary;
use cembra_vm::vector::math::domain::{Domain, overflows};
use cembra_vm::vector::math::functions::UnaryVisitor;
use cembra_vm::vector::math::real::{Binary64, Software};
use cembra_vm::vector::math::{double, single};
use draft::Draft;
use std::sync::Arc;

const NUMBERS: [f64; 21] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    -1.5,
    2.0,
    -2.0,
    -3.0,
    40.0,
    710.0,
    -710.0,
    1e20,
    -1e20,
    f64::MAX,
    1e-320,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Operators of FLOAT64 and FLOAT32 that are special functions.
fn special_overloads() -> Vec<(Arc<Overload>, SpecialFunction)> {
    let table = builtins::table();
    let overloads = table.families().flat_map(|family| family.overloads().iter().cloned());
    let special = overloads.filter_map(|overload| overload.special_function().map(|of| (overload, of)));
    special.filter(|(overload, _)| !overload.result().is_optional()).collect()
}

fn number(x: f64) -> Binary64<Software> {
    Binary64::from(x)
}

/// What a function says it gives: bits, or the category of a fault.
fn expected(of: SpecialFunction, x: &[f64], value: f64) -> Result<u64, Category> {
    let all_finite = x.iter().all(|x| x.is_finite());
    let is_outside = |domain: Domain| !domain.contains(number(x[0]));
    let fault = match of.refusals {
        Refusals::Nothing => None,
        Refusals::Outside(domain) | Refusals::OutsideOrOverflow(domain) if is_outside(domain) => {
            Some(Category::Domain)
        }
        Refusals::Outside(_) => None,
        Refusals::OutsideOrOverflow(_) => {
            overflows(number(x[0]), number(value)).then_some(Category::Overflow)
        }
        Refusals::Power if value.is_finite() || !all_finite => None,
        Refusals::Power if x[0] == 0.0 => Some(Category::DivisionByZero),
        Refusals::Power if value.is_nan() => Some(Category::Domain),
        Refusals::Power => Some(Category::Overflow),
    };
    fault.map_or(Ok(bits(value)), Err)
}

/// NaN is one value.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

/// The value of a function by name, of FLOAT32 if the operands are that.
fn value(kind: FunctionKind, is_single: bool, x: &[f64]) -> f64 {
    match (kind, is_single) {
        (FunctionKind::Unary(kind), false) => {
            let functions = double::unary_functions();
            (functions.iter().find(|f| f.kind == kind).expect("listed").one)(x[0])
        }
        (FunctionKind::Unary(kind), true) => {
            let functions = single::unary_functions();
            (functions.iter().find(|f| f.kind == kind).expect("listed").one)(x[0] as f32).into()
        }
        (FunctionKind::Binary(kind), false) => {
            let functions = [double::binary_functions(), double::plane_functions()].concat();
            (functions.iter().find(|f| f.kind == kind).expect("listed").one)(x[0], x[1])
        }
        (FunctionKind::Binary(kind), true) => {
            let functions = single::binary_functions();
            (functions.iter().find(|f| f.kind == kind).expect("listed").one)(x[0] as f32, x[1] as f32).into()
        }
    }
}

#[test]
fn operators_are_the_functions_that_they_say() {
    let mut raised = 0;
    let overloads = special_overloads();
    for (overload, of) in &overloads {
        let is_single = *overload.result() == FLOAT32;
        assert!(is_single || *overload.result() == FLOAT64, "{overload}");
        let count = overload.args().len();
        assert_eq!(count, if matches!(of.kind, FunctionKind::Unary(_)) { 1 } else { 2 }, "{overload}");
        let mut draft = Draft::new();
        let inputs: Vec<_> = overload.args().iter().map(|qtype| draft.next_input(qtype.clone())).collect();
        let out = draft.next_output(overload.result().clone());
        draft.run(overload.name(), &inputs, out);
        let names = ["x", "y"];
        let named: Vec<_> = names.into_iter().zip(inputs).collect();
        let program = Program::new(vec![draft.finish(&named, out)]);
        let bound = BoundExpr::new(Arc::new(program)).expect("a program of one operator");
        let mut frame = bound.new_frame().expect("memory");
        let pairs = NUMBERS.iter().flat_map(|x| NUMBERS.iter().map(move |y| [*x, *y]));
        let operands: Vec<Vec<f64>> = match count {
            1 => NUMBERS.iter().map(|x| vec![*x]).collect(),
            _ => pairs.map(Vec::from).collect(),
        };
        for x in operands {
            for (name, x) in names.iter().zip(&x) {
                match is_single {
                    true => frame.set(bound.input::<f32>(name).expect("an input"), *x as f32),
                    false => frame.set(bound.input::<f64>(name).expect("an input"), *x),
                }
            }
            let found = bound.execute(&mut frame).map_err(|error| error.category()).map(|()| {
                bits(match is_single {
                    true => frame.get(bound.output::<f32>().expect("the output")).into(),
                    false => frame.get(bound.output::<f64>().expect("the output")),
                })
            });
            raised += usize::from(found.is_err());
            assert_eq!(found, expected(*of, &x, value(of.kind, is_single, &x)), "{overload} of {x:?}");
        }
    }
    assert!(overloads.len() > 60 && raised > 100, "{} operators, {raised} faults", overloads.len());
}

/// The operator over arrays is the same function.
/// The value of a function by its fast path, if a number takes it.
struct ByFastPath(f64);

impl UnaryVisitor for ByFastPath {
    type Output = Option<f64>;

    fn visit<F: Unary>(self) -> Option<f64> {
        F::is_fast(number(self.0)).then(|| F::fast(number(self.0)).get())
    }
}

/// Code that takes a fast path looks for neither domains nor overflows.
#[test]
fn what_takes_a_fast_path_is_not_refused() {
    let borders = [700.0, -700.0, f64::MIN_POSITIVE, -f64::MIN_POSITIVE].into_iter();
    let borders = borders.flat_map(|x: f64| [x.next_down(), x, x.next_up()]);
    let numbers: Vec<f64> = NUMBERS.into_iter().chain(borders).collect();
    let mut taken = 0;
    for (overload, of) in special_overloads() {
        let FunctionKind::Unary(kind) = of.kind else { continue };
        for x in &numbers {
            let Some(by_path) = kind.visit(ByFastPath(*x)) else { continue };
            let value = value(of.kind, false, &[*x]);
            assert_eq!(expected(of, &[*x], value), Ok(bits(by_path)), "{overload} of {x}");
            taken += 1;
        }
    }
    assert!(taken > 60, "{taken}");
}

#[test]
fn arrays_keep_the_function() {
    let table = builtins::table();
    let exp = table.families().find(|family| &**family.name() == "math.exp").expect("a row");
    let rows = ArrayType { class: ArrayClass::Dense, element: ScalarType::Float64 };
    let of_array = exp.overload(&[QType::Array(rows)]);
    let of_number = exp.overload(&[FLOAT64]).expect("an overload");
    assert_eq!(of_array.expect("an overload").special_function(), of_number.special_function());
}

#[test]
fn domains_are_recorded() {
    let mut list = List::new();
    let x = list.column(0, Lane::F64);
    let everywhere = record_domain(Domain::Everywhere, &mut list, x);
    assert_eq!(list.op(everywhere), Op::Literal(1));
    let finite = record_domain(Domain::Finite, &mut list, x);
    assert_eq!(list.lane(finite), Lane::Mask);
}
