//! Functions of rules that call special functions, whose texts stand in front of them.
//!
//! ```text
//! static inline double symlog1p_f64(double x) { return copysign(special_log1p(fabs(x)), x); }
//! ```

use crate::native::c::locals::CType;
use crate::native::c::special::{Special, special};
use crate::native::operation::operators;
use cembra_vm::array::special::FunctionKind;
use cembra_vm::builtins::math::{LOG_SIGMOID, LOGIT, SIGMOID, SYMLOG1P};
use cembra_vm::builtins::python::GAMMA;
use cembra_vm::operator::Overload;
use cembra_vm::program::Program;
use cembra_vm::value::ScalarType;
use cembra_vm::vector::math::{BinaryKind, UnaryKind};
use std::collections::BTreeMap;

/// The gamma function of Python, kept by hand in both languages.
const GAMMA_IN_C: &str = include_str!("gamma.c");
const GAMMA_IN_RUST: &str = include_str!("../rust/gamma.txt");

/// A function that is made of special functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::native) enum Composed {
    Sigmoid,
    LogSigmoid,
    Logit,
    Symlog1p,
    Gamma,
}

impl Composed {
    /// That of an operator, and whether it is one of FLOAT32.
    fn of(overload: &Overload) -> Option<(Composed, bool)> {
        let composed = match &**overload.name() {
            SIGMOID => Composed::Sigmoid,
            LOG_SIGMOID => Composed::LogSigmoid,
            LOGIT => Composed::Logit,
            SYMLOG1P => Composed::Symlog1p,
            GAMMA => Composed::Gamma,
            _ => return None,
        };
        Some((composed, overload.result().scalar_inside() == Some(ScalarType::Float32)))
    }

    /// What it calls.
    fn calls(self) -> &'static [FunctionKind] {
        use FunctionKind::{Binary, Unary};
        match self {
            Composed::Sigmoid => &[Unary(UnaryKind::Sigmoid)],
            Composed::LogSigmoid => &[Unary(UnaryKind::Exp), Unary(UnaryKind::Log1p)],
            Composed::Logit => &[Unary(UnaryKind::Ln), Unary(UnaryKind::Atanh)],
            Composed::Symlog1p => &[Unary(UnaryKind::Log1p)],
            Composed::Gamma => &[
                Unary(UnaryKind::Exp),
                Unary(UnaryKind::Sin),
                Unary(UnaryKind::Cos),
                Binary(BinaryKind::Pow),
            ],
        }
    }
}

/// The special functions of a program by their names: those that are operators, that [composed] functions call, and that other special
/// functions call.
pub(in crate::native) fn special_functions(program: &Program) -> BTreeMap<String, Special> {
    let called = operators(program).flat_map(|overload| {
        let composed = Composed::of(overload).into_iter();
        let parts = composed
            .flat_map(|(composed, is_single)| composed.calls().iter().map(move |kind| (*kind, is_single)));
        let parts = parts.map(|(kind, is_single)| match is_single {
            true => Special::total(kind, CType::F32),
            false => Special::total(kind, CType::F64),
        });
        special(overload).into_iter().chain(parts).collect::<Vec<_>>()
    });
    let all = called.flat_map(|special| {
        let calls = special.calls().iter();
        let called = calls.map(|kind| Special::total(FunctionKind::Unary(*kind), CType::F64));
        called.chain([special]).collect::<Vec<_>>()
    });
    all.map(|special| (special.name(), special)).collect()
}

/// The texts of the composed functions that a program calls; a language gives that of one, of FLOAT32 or not.
pub(in crate::native) fn composed(program: &Program, text: impl Fn(Composed, bool) -> String) -> String {
    let mut found: Vec<(Composed, bool)> = operators(program).filter_map(Composed::of).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(composed, is_single)| text(composed, is_single)).collect()
}

/// True for the name of a composed function.
pub(in crate::native) fn is_composed(name: &str) -> bool {
    if name == "python_gamma" {
        return true;
    }
    let stem = name.strip_suffix("_f64").or_else(|| name.strip_suffix("_f32"));
    stem.is_some_and(|stem| ["sigmoid", "log_sigmoid", "logit", "symlog1p"].contains(&stem))
}

/// The names of the parameters of a composed function.
fn parameters(composed: Composed) -> &'static [&'static str] {
    match composed {
        Composed::Sigmoid => &["x", "half", "slope"],
        _ => &["x"],
    }
}

/// A composed function in C.
pub(super) fn in_c(composed: Composed, is_single: bool) -> String {
    let (real, code, end, f) =
        if is_single { ("float", "f32", "_f32", "f") } else { ("double", "f64", "", "") };
    let (name, value) = match composed {
        Composed::Gamma => return GAMMA_IN_C.to_owned(),
        Composed::Sigmoid => ("sigmoid", format!("special_sigmoid{end}(-(slope * (half - x)))")),
        Composed::LogSigmoid => {
            let (above, below) = softplus(end);
            ("log_sigmoid", format!("x >= 0 ? {above} : {below}"))
        }
        Composed::Logit => {
            let (near, far) = logit(end, "");
            ("logit", format!("fabs{f}(4 * x - 2) < 1 ? {near} : {far}"))
        }
        Composed::Symlog1p => ("symlog1p", format!("copysign{f}(special_log1p{end}(fabs{f}(x)), x)")),
    };
    let parameters: Vec<String> = parameters(composed).iter().map(|name| format!("{real} {name}")).collect();
    format!("\nstatic inline {real} {name}_{code}({}) {{ return {value}; }}\n", parameters.join(", "))
}

/// The same in Rust.
pub(in crate::native) fn in_rust(composed: Composed, is_single: bool) -> String {
    let (real, end) = if is_single { ("f32", "_f32") } else { ("f64", "") };
    let (name, value) = match composed {
        Composed::Gamma => return GAMMA_IN_RUST.to_owned(),
        Composed::Sigmoid => ("sigmoid", format!("special_sigmoid{end}(-(slope * (half - x)))")),
        Composed::LogSigmoid => {
            let (above, below) = softplus(end);
            ("log_sigmoid", format!("if x >= 0.0 {{ {above} }} else {{ {below} }}"))
        }
        Composed::Logit => {
            let (near, far) = logit(end, ".0");
            ("logit", format!("if (4.0 * x - 2.0).abs() < 1.0 {{ {near} }} else {{ {far} }}"))
        }
        Composed::Symlog1p => ("symlog1p", format!("special_log1p{end}(x.abs()).copysign(x)")),
    };
    let parameters: Vec<String> = parameters(composed).iter().map(|name| format!("{name}: {real}")).collect();
    format!("\n#[inline]\nfn {name}_{real}({}) -> {real} {{ {value} }}\n", parameters.join(", "))
}

/// The logarithm of the logistic curve from 0 on, and below.
fn softplus(end: &str) -> (String, String) {
    (
        format!("-special_log1p{end}(special_exp{end}(-x))"),
        format!("x - special_log1p{end}(special_exp{end}(x))"),
    )
}

/// The inverse of the logistic curve between 1/4 and 3/4, and elsewhere; `point` ends whole numbers.
fn logit(end: &str, point: &str) -> (String, String) {
    (
        format!("2{point} * special_atanh{end}(x + x - 1{point})"),
        format!("special_ln{end}(x / (1{point} - x))"),
    )
}
