//! Special functions in C: recorded from their one source, `vector::math`, as the operations of a list.
//!
//! ```text
//! static double special_exp(double x) { double t5 = fma(x, …, …); …; return t60; }
//! static double special_exp_fast(double x) { …; return t40; }            unless special_exp_is_slow(x)
//! static double special_sin(double x) { return special_sin_is_rare(x) ? rare_sin(x) : special_sin_of_usual(x); }      angles.c
//! ```

use crate::native::c::locals::{CType, Locals};
use crate::native::c::recipes::Lowered;
use crate::native::c::syntax::CSyntax;
use crate::native::syntax::Syntax;
use cembra_vm::array::special::{FunctionKind, Refusals, SpecialFunction};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::ValueId;
use cembra_vm::strip::{
    Lane, List, RecordedFunction, Term, record_binary, record_domain, record_fast, record_unary,
};
use cembra_vm::value::{QType, ScalarType};
use cembra_vm::vector::math::{BinaryKind, UnaryKind};

/// The text that rare arguments need.
pub(super) const ANGLES: &str = include_str!("angles.c");

/// The ends of the names of functions for usual operands, and of those that say whether operands are none.
const USUAL: &str = "_of_usual";
const RARE: &str = "_is_rare";
/// The ends of the names of a function's fast path, and of that which says whether an operand does not take it.
const FAST: &str = "_fast";
const SLOW: &str = "_is_slow";

/// A special function of an operator, on plain values.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Special {
    function: SpecialFunction,
    lane: Lane,
    is_optional: bool,
}

/// The special function that an operator is, if it has a form in C.
pub(in crate::native) fn special(overload: &Overload) -> Option<Special> {
    let function = overload.special_function()?;
    let has_form = match function.kind {
        FunctionKind::Unary(kind) => kind != UnaryKind::Lgamma,
        FunctionKind::Binary(kind) => [BinaryKind::Pow, BinaryKind::Hypot, BinaryKind::Atan2].contains(&kind),
    };
    let (scalar, is_optional) = match overload.result() {
        QType::Scalar(scalar) => (*scalar, false),
        QType::Optional(scalar) => (*scalar, true),
        other => (BoundaryArray::of(other)?.element(), false),
    };
    let lane = match scalar {
        ScalarType::Float64 => Lane::F64,
        ScalarType::Float32 => Lane::F32,
        _ => return None,
    };
    // Operands that may be missing could be refused only where they are there.
    let is_plain = !is_optional || function.refusals == Refusals::Nothing;
    (has_form && is_plain).then_some(Special { function, lane, is_optional })
}

impl Special {
    /// A function of floats that refuses nothing.
    pub(super) fn total(kind: FunctionKind, of: CType) -> Special {
        let function = SpecialFunction { kind, refusals: Refusals::Nothing };
        let lane = if of == CType::F32 { Lane::F32 } else { Lane::F64 };
        Special { function, lane, is_optional: false }
    }

    /// The name of the function in C.
    pub(in crate::native) fn name(&self) -> String {
        let ending = if self.lane == Lane::F32 { "_f32" } else { "" };
        match self.function.kind {
            FunctionKind::Unary(kind) => format!("special_{}{ending}", kind.name()),
            FunctionKind::Binary(kind) => format!("special_{}{ending}", kind.name()),
        }
    }

    /// True if rare arguments are left to [`ANGLES`].
    pub(in crate::native) fn has_rare(&self) -> bool {
        let angles = [UnaryKind::Sin, UnaryKind::Cos, UnaryKind::Tan];
        matches!(self.function.kind, FunctionKind::Unary(kind) if angles.contains(&kind))
    }

    /// The text of the function, and of its fast path.
    pub(super) fn text(&self) -> String {
        let (list, recorded, _) = self.recorded();
        let ctype = self.ctype().name();
        let fast = self.recorded_fast().map_or(String::new(), |(list, recorded)| {
            let is_slow =
                recorded.rare.map_or(String::new(), |rare| self.text_of(SLOW, "uint8_t", &list, rare));
            is_slow + &self.text_of(FAST, ctype, &list, recorded.value)
        });
        let (FunctionKind::Unary(kind), Some(rare), true) =
            (self.function.kind, recorded.rare, self.has_rare())
        else {
            return self.text_of("", ctype, &list, recorded.value) + &fast;
        };
        let usual = self.text_of(USUAL, ctype, &list, recorded.value);
        let is_rare = self.text_of(RARE, "uint8_t", &list, rare);
        format!(
            "{usual}{is_rare}static inline {ctype} {0}({ctype} x)\n{{\n    \
             return CEMBRA_RARE({0}{RARE}(x)) ? ({ctype})rare_{1}(x) : {0}{USUAL}(x);\n}}\n{fast}",
            self.name(),
            kind.name()
        )
    }

    /// A function of the same operands that gives a term of a list; `of` ends its name.
    fn text_of(&self, of: &str, gives: &str, list: &List, term: Term) -> String {
        let (ctype, names) = (self.ctype().name(), self.parameters());
        let parameters: Vec<String> = names.iter().map(|name| format!("{ctype} {name}")).collect();
        let lowered = Lowered::new(&CSyntax::Statement, list, std::iter::once(term), |number, _| {
            names[usize::from(number)].to_owned()
        });
        format!(
            "static inline {gives} {}{of}({})\n{{\n    {}\n    return {};\n}}\n",
            self.name(),
            parameters.join(", "),
            lowered.temporaries.trim_end().replace("; ", ";\n    "),
            lowered.of(term)
        )
    }

    /// A call of the function that holds for usual operands, and of one that says whether an operand is not; `None` if all are
    /// usual, or may be refused.
    pub(super) fn usual_call(&self, args: &[String]) -> Option<(String, String)> {
        let (name, args) = (self.name(), args.join(", "));
        let is_rare = self.has_rare() && self.function.refusals == Refusals::Nothing;
        is_rare.then(|| (format!("{name}{USUAL}({args})"), format!("{name}{RARE}({args})")))
    }

    /// The operations of the function, and the names of its parameters.
    pub(in crate::native) fn recorded(&self) -> (List, RecordedFunction, &'static [&'static str]) {
        let mut list = List::new();
        let x = list.column(0, self.lane);
        let recorded = match self.function.kind {
            FunctionKind::Unary(kind) => record_unary(kind, &mut list, x),
            FunctionKind::Binary(kind) => {
                let y = list.column(1, self.lane);
                record_binary(kind, &mut list, x, y)
            }
        };
        (list, recorded, self.parameters())
    }

    fn parameters(&self) -> &'static [&'static str] {
        match self.function.kind {
            FunctionKind::Unary(_) => &["x"],
            FunctionKind::Binary(_) => &["x", "y"],
        }
    }

    /// The operations of its fast path, if it has one.
    fn recorded_fast(&self) -> Option<(List, RecordedFunction)> {
        let FunctionKind::Unary(kind) = self.function.kind else { return None };
        let mut list = List::new();
        let x = list.column(0, self.lane);
        let recorded = if self.lane == Lane::F64 { record_fast(kind, &mut list, x)? } else { return None };
        Some((list, recorded))
    }

    /// The type of its operands and of what it gives.
    pub(in crate::native) fn ctype(&self) -> CType {
        if self.lane == Lane::F32 { CType::F32 } else { CType::F64 }
    }

    /// A call of the function; `None` if operands may be refused.
    pub(in crate::native) fn total_call(&self, args: &[String]) -> Option<String> {
        let is_total = self.function.refusals == Refusals::Nothing;
        is_total.then(|| format!("{}({})", self.name(), args.join(", ")))
    }

    /// The statements of the operator; the functions raise what it refuses.
    pub(in crate::native) fn statements(
        &self,
        syntax: &dyn Syntax,
        operands: &[ValueId],
        result: ValueId,
        locals: &Locals<'_>,
        raise: impl Fn(&str) -> String,
    ) -> String {
        let args: Vec<String> = locals.cells(operands).into_iter().map(|(local, _)| local).collect();
        let (call, to) = (format!("{}({})", self.name(), args.join(", ")), locals.all(result));
        if self.is_optional {
            let present = locals.all_there(operands).unwrap_or_else(|| "1".to_owned());
            return match &to[..] {
                [(presence, _), (cells, _)] => {
                    let declared = syntax.declared("p", CType::U8, &present);
                    format!("{{ {declared}{cells} = {call}; {presence} = p; }}")
                }
                _ => String::new(),
            };
        }
        let to = to.first().map(|(local, _)| local.clone()).unwrap_or_default();
        let domain = |domain| {
            format!("if (CEMBRA_RARE(!{})) {{ {} }} ", self.inside(domain, &args[0]), raise("CEMBRA_DOMAIN"))
        };
        let (before, after) = match self.function.refusals {
            Refusals::Nothing => return format!("{to} = {call};"),
            Refusals::Outside(place) => (domain(place), String::new()),
            Refusals::OutsideOrOverflow(place) => {
                let overflows = format!("isinf(z) && !isinf({})", args[0]);
                (domain(place), format!("if (CEMBRA_RARE({overflows})) {{ {} }} ", raise("CEMBRA_OVERFLOW")))
            }
            Refusals::Power => {
                let refused = format!("!isfinite(z) && isfinite({}) && isfinite({})", args[0], args[1]);
                let category = format!(
                    "({} == 0.0 ? CEMBRA_DIVISION_BY_ZERO : z != z ? CEMBRA_DOMAIN : CEMBRA_OVERFLOW)",
                    args[0]
                );
                (String::new(), format!("if (CEMBRA_RARE({refused})) {{ {} }} ", raise(&category)))
            }
        };
        let all = format!("{{ {before}{} z = {call}; {after}{to} = z; }}", self.ctype().name());
        // What is refused has a way out already. A loop over what is not may become vectors, which have no branches.
        match self.recorded_fast() {
            None => all,
            Some(_) => {
                let (name, x) = (self.name(), &args[0]);
                format!("if (!CEMBRA_RARE({name}{SLOW}({x}))) {to} = {name}{FAST}({x}); else {all}")
            }
        }
    }

    /// The condition that a number is in a domain.
    fn inside(&self, domain: cembra_vm::vector::math::domain::Domain, x: &str) -> String {
        let mut list = List::new();
        let column = list.column(0, self.lane);
        let mask: Term = record_domain(domain, &mut list, column);
        let lowered = Lowered::new(&CSyntax::Statement, &list, std::iter::once(mask), |_, _| x.to_owned());
        // A number that is used twice is an operand; what is computed twice is short.
        match lowered.temporaries.is_empty() {
            true => format!("({})", lowered.of(mask)),
            false => format!("({{ {} {}; }})", lowered.temporaries.trim_end(), lowered.of(mask)),
        }
    }
}
