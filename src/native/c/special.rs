//! Special functions in C: recorded from their one source, `vector::math`, as the operations of a list.
//!
//! ```text
//! static double special_exp(double x) { double t5 = fma(x, …, …); …; return t60; }
//! static double special_exp_fast(double x) { …; return t40; }            unless special_exp_is_slow(x)
//!
//! static double special_sin(double x) { return special_sin_is_rare(x) ? cembra_rare_sin(x) : special_sin_of_usual(x); }
//! ```
//!
//! The value of rare operands comes from `angles.c` for sine, cosine and tangent, is recorded too for `lgamma`, and for the Faddeeva
//! function is recorded as a function of cosines and sines of two angles of any size.

use crate::native::c::locals::{CType, Locals};
use crate::native::c::recipes::Lowered;
use crate::native::c::syntax::CSyntax;
use crate::native::syntax::Syntax;
use cembra_vm::array::special::{FunctionKind, Refusals, SpecialFunction};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::ValueId;
use cembra_vm::strip::{
    Lane, List, RecordedFunction, Term, record_binary, record_domain, record_fast, record_rare_angles,
    record_rare_binary, record_rare_unary, record_unary,
};
use cembra_vm::value::{QType, ScalarType};
use cembra_vm::vector::math::domain::Domain;
use cembra_vm::vector::math::{BinaryKind, UnaryKind};

/// The text that sines, cosines and tangents of rare operands need.
pub(super) const ANGLES: &str = include_str!("angles.c");

/// The ends of the names of functions for usual operands, and of those that say whether operands are none.
const USUAL: &str = "_of_usual";
const RARE: &str = "_is_rare";
/// The end of the name of a function that loops call, if no operands are rare.
const IN_LOOP: &str = "_in_loop";
/// The end of the name of a function for rare operands.
const OF_RARE: &str = "_of_rare";
/// The ends of the names of what it is made of for the Faddeeva function: two angles, and the value by their cosines and sines.
const ANGLE: &str = "_angle";
const SECOND_ANGLE: &str = "_second_angle";
const BY_TURNS: &str = "_by_turns";
/// The ends of the names of a function's fast path, and of that which says whether an operand does not take it.
const FAST: &str = "_fast";
const SLOW: &str = "_is_slow";

/// What gives the value of rare operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rare {
    /// No operands are rare.
    Nothing,
    /// Text that is kept by hand.
    Angles,
    /// Operations, as of usual operands.
    Recorded,
    /// Operations on cosines and sines of two angles.
    ByTurns,
}

/// A function that was recorded: its name, the type that it gives, its parameters and the term that is its value.
pub(in crate::native) struct Part {
    pub(in crate::native) name: String,
    pub(in crate::native) gives: CType,
    /// The type of its parameters.
    pub(in crate::native) of: CType,
    pub(in crate::native) parameters: &'static [&'static str],
    pub(in crate::native) list: List,
    pub(in crate::native) value: Term,
}

/// A function for rare operands that calls others.
pub(in crate::native) struct ByTurns {
    /// Its name.
    pub(in crate::native) function: String,
    /// Calls that give the two angles.
    pub(in crate::native) angles: [String; 2],
    /// The call that gives the value, of locals `first` and `second` that have the angles.
    pub(in crate::native) value: String,
}

/// A special function of an operator, on plain values.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Special {
    function: SpecialFunction,
    lane: Lane,
    is_optional: bool,
}

/// The special function that an operator is.
pub(in crate::native) fn special(overload: &Overload) -> Option<Special> {
    let function = overload.special_function()?;
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
    is_plain.then_some(Special { function, lane, is_optional })
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

    fn rare(&self) -> Rare {
        match self.function.kind {
            FunctionKind::Unary(UnaryKind::Sin | UnaryKind::Cos | UnaryKind::Tan) => Rare::Angles,
            FunctionKind::Unary(UnaryKind::Lgamma) => Rare::Recorded,
            FunctionKind::Unary(_)
            | FunctionKind::Binary(BinaryKind::Pow | BinaryKind::Hypot | BinaryKind::Atan2) => Rare::Nothing,
            FunctionKind::Binary(
                BinaryKind::FaddeevaReal
                | BinaryKind::FaddeevaImag
                | BinaryKind::FaddeevaSlopeReal
                | BinaryKind::FaddeevaSlopeImag,
            ) => Rare::ByTurns,
        }
    }

    /// True if operands may be rare.
    pub(in crate::native) fn has_rare(&self) -> bool {
        self.rare() != Rare::Nothing
    }

    /// True if rare operands need the text of [`ANGLES`].
    pub(in crate::native) fn needs_angles(&self) -> bool {
        self.rare() == Rare::Angles
    }

    /// The special functions that it calls.
    pub(in crate::native) fn calls(&self) -> &'static [UnaryKind] {
        if self.rare() == Rare::ByTurns { &[UnaryKind::Cos, UnaryKind::Sin] } else { &[] }
    }

    /// The function that gives the value of rare operands; that of [`ANGLES`] is one of FLOAT64.
    pub(in crate::native) fn function_of_rare(&self) -> String {
        match (self.rare(), self.function.kind) {
            (Rare::Angles, FunctionKind::Unary(kind)) => format!("cembra_rare_{}", kind.name()),
            _ => format!("{}{OF_RARE}", self.name()),
        }
    }

    /// A call of the function for usual operands, which are its parameters, and of that which says whether they are rare.
    pub(in crate::native) fn calls_of_parameters(&self) -> [String; 2] {
        let (name, args) = (self.name(), self.parameters().join(", "));
        [format!("{name}{USUAL}({args})"), format!("{name}{RARE}({args})")]
    }

    /// The functions that are recorded: the function itself, or those for usual and rare operands.
    pub(in crate::native) fn parts(&self) -> Vec<Part> {
        let (list, recorded) = self.recorded();
        let value = |of: &str, list: List, value| self.part(of, self.ctype(), self.parameters(), list, value);
        let Some(rare) = recorded.rare else { return vec![value("", list, recorded.value)] };
        let mut parts = vec![
            self.part(RARE, CType::U8, self.parameters(), list.clone(), rare),
            value(USUAL, list, recorded.value),
        ];
        let mut list = List::new();
        let operands: Vec<Term> =
            (0..).zip(self.parameters()).map(|(number, _)| list.column(number, self.lane)).collect();
        match (self.rare(), self.function.kind, &operands[..]) {
            (Rare::Recorded, FunctionKind::Unary(kind), [x]) => {
                let found = record_rare_unary(kind, &mut list, *x).expect("the value has no branches");
                parts.push(value(OF_RARE, list, found));
            }
            (Rare::ByTurns, FunctionKind::Binary(kind), [x, y]) => {
                let found = record_rare_angles(kind, &mut list, *x, *y);
                let [first, second] = found.expect("the value is made of cosines and sines of angles");
                parts.push(value(ANGLE, list.clone(), first));
                parts.push(value(SECOND_ANGLE, list, second));
                let mut list = List::new();
                let [x, y, a, b, c, d] = [0, 1, 2, 3, 4, 5].map(|number| list.column(number, self.lane));
                let found = record_rare_binary(kind, &mut list, [x, y], [a, b, c, d]);
                const PARAMETERS: &[&str] = &["x", "y", "cos0", "sin0", "cos1", "sin1"];
                parts.push(self.part(BY_TURNS, self.ctype(), PARAMETERS, list, found));
            }
            _ => {}
        }
        parts
    }

    fn part(
        &self,
        of: &str,
        gives: CType,
        parameters: &'static [&'static str],
        list: List,
        value: Term,
    ) -> Part {
        Part { name: format!("{}{of}", self.name()), gives, of: self.ctype(), parameters, list, value }
    }

    /// How the value of rare operands is made of functions that are [recorded](Self::parts) for them; `None` if it is one of these, or
    /// kept by hand.
    pub(in crate::native) fn by_turns(&self) -> Option<ByTurns> {
        let (name, args) = (self.name(), self.parameters().join(", "));
        let turn = |angle: &str| format!("special_cos({angle}), special_sin({angle})");
        (self.rare() == Rare::ByTurns).then(|| ByTurns {
            function: format!("{name}{OF_RARE}"),
            angles: [ANGLE, SECOND_ANGLE].map(|of| format!("{name}{of}({args})")),
            value: format!("{name}{BY_TURNS}({args}, {}, {})", turn("first"), turn("second")),
        })
    }

    /// The text of the function, and of its fast path.
    pub(super) fn text(&self) -> String {
        let (ctype, name) = (self.ctype().name(), self.name());
        let in_loop = |part: Part| match part.name == name {
            true => Part { name: format!("{name}{IN_LOOP}"), ..part },
            false => part,
        };
        let fast_parts = self.fast_parts();
        let has_fast = !fast_parts.is_empty();
        // So loops with powers become vectors; `lgamma`, whose branches are longer, would take 1.5 times as long for one number.
        let computes_both = self.function.kind == FunctionKind::Binary(BinaryKind::Pow);
        let parts = self.parts().into_iter().chain(fast_parts);
        let parts = parts.map(|part| in_c(&in_loop(part), computes_both));
        let mut text: String = parts.collect();
        let (parameters, args) = (declared(self.ctype(), self.parameters()), self.parameters().join(", "));
        if has_fast {
            let call = format!("{name}{FAST}{IN_LOOP}({args})");
            text += &format!("static inline {ctype} {name}{FAST}({parameters}) {{ return {call}; }}\n");
        }
        if !self.has_rare() {
            let call = format!("{name}{IN_LOOP}({args})");
            return text + &format!("static inline {ctype} {name}({parameters}) {{ return {call}; }}\n");
        }
        if let Some(ByTurns { function, angles: [first, second], value }) = self.by_turns() {
            text += &format!(
                "static __attribute__((noinline, cold)) {ctype} {function}({parameters})\n{{\n    \
                 {ctype} first = {first}, second = {second};\n    return {value};\n}}\n"
            );
        }
        let [usual, is_rare] = self.calls_of_parameters();
        text + &format!(
            "static inline {ctype} {name}({parameters})\n{{\n    \
             return CEMBRA_RARE({is_rare}) ? ({ctype}){}({args}) : {usual};\n}}\n",
            self.function_of_rare()
        )
    }

    /// A call of the function that holds for usual operands, and of one that says whether an operand is not; `None` if all are
    /// usual, or may be refused.
    pub(super) fn usual_call(&self, args: &[String]) -> Option<(String, String)> {
        let (name, args) = (self.name(), args.join(", "));
        let is_rare = self.has_rare() && self.function.refusals == Refusals::Nothing;
        is_rare.then(|| (format!("{name}{USUAL}({args})"), format!("{name}{RARE}({args})")))
    }

    /// The operations of the function.
    fn recorded(&self) -> (List, RecordedFunction) {
        let mut list = List::new();
        let x = list.column(0, self.lane);
        let recorded = match self.function.kind {
            FunctionKind::Unary(kind) => record_unary(kind, &mut list, x),
            FunctionKind::Binary(kind) => {
                let y = list.column(1, self.lane);
                record_binary(kind, &mut list, x, y)
            }
        };
        (list, recorded)
    }

    /// The names of its parameters.
    pub(in crate::native) fn parameters(&self) -> &'static [&'static str] {
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

    /// The functions of its fast path, if it has one.
    fn fast_parts(&self) -> Vec<Part> {
        let Some((list, recorded)) = self.recorded_fast() else { return Vec::new() };
        let part = |of, gives, list, value| self.part(of, gives, self.parameters(), list, value);
        let is_slow = recorded.rare.map(|rare| part(SLOW, CType::U8, list.clone(), rare));
        let mut fast = part(FAST, self.ctype(), list, recorded.value);
        fast.name += IN_LOOP;
        is_slow.into_iter().chain([fast]).collect()
    }

    /// The type of its operands and of what it gives.
    pub(in crate::native) fn ctype(&self) -> CType {
        if self.lane == Lane::F32 { CType::F32 } else { CType::F64 }
    }

    /// A call of the function in a loop; `None` if operands may be refused.
    pub(super) fn total_call(&self, args: &[String]) -> Option<String> {
        let end = if self.has_rare() { "" } else { IN_LOOP };
        let is_total = self.function.refusals == Refusals::Nothing;
        is_total.then(|| format!("{}{end}({})", self.name(), args.join(", ")))
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

    /// True if a value may be missing.
    pub(super) fn is_optional(&self) -> bool {
        self.is_optional
    }

    /// True if it may refuse operands, or has a longer way for some.
    pub(super) fn may_be_rare(&self) -> bool {
        self.has_rare() || self.function.refusals != Refusals::Nothing
    }

    /// The statements of the operator where it is not known yet whether something raises: `rare` is set for operands that it refuses or
    /// has a longer way for, and the result is any number then. What may be missing has none.
    pub(super) fn speculated(&self, operands: &[ValueId], result: ValueId, locals: &Locals<'_>) -> String {
        let args: Vec<String> = locals.cells(operands).into_iter().map(|(local, _)| local).collect();
        let (name, list, to) = (self.name(), args.join(", "), locals.only(result));
        if self.recorded_fast().is_some() {
            return format!("rare |= {name}{SLOW}({list}); {to} = {name}{FAST}{IN_LOOP}({list});");
        }
        let call = format!("{name}{}({list})", if self.has_rare() { USUAL } else { IN_LOOP });
        let mut rare = Vec::new();
        if self.has_rare() {
            rare.push(format!("{name}{RARE}({list})"));
        }
        match self.function.refusals {
            Refusals::Nothing => {}
            Refusals::Outside(domain) => rare.push(format!("!{}", self.inside(domain, &args[0]))),
            Refusals::OutsideOrOverflow(domain) => {
                rare.push(format!("!{}", self.inside(domain, &args[0])));
                rare.push(format!("(!!isinf(z) & !isinf({}))", args[0]));
            }
            Refusals::Power => {
                rare.push(format!("(!isfinite(z) & !!isfinite({}) & !!isfinite({}))", args[0], args[1]));
            }
        }
        let rare: String = rare.iter().map(|rare| format!("rare |= {rare}; ")).collect();
        format!("{{ {} z = {call}; {rare}{to} = z; }}", self.ctype().name())
    }

    /// The condition that a number is in a domain.
    fn inside(&self, domain: Domain, x: &str) -> String {
        let (list, mask) = self.recorded_domain(domain);
        let lowered = Lowered::new(&CSyntax::Statement, &list, std::iter::once(mask), |_, _| x.to_owned());
        // A number that is used twice is an operand; what is computed twice is short.
        match lowered.temporaries.is_empty() {
            true => format!("({})", lowered.of(mask)),
            false => format!("({{ {} {}; }})", lowered.temporaries.trim_end(), lowered.of(mask)),
        }
    }

    /// The truth that its operand is in a domain.
    pub(in crate::native) fn recorded_domain(&self, domain: Domain) -> (List, Term) {
        let mut list = List::new();
        let column = list.column(0, self.lane);
        let mask = record_domain(domain, &mut list, column);
        (list, mask)
    }

    /// Which operands it refuses.
    pub(in crate::native) fn refusals(&self) -> Refusals {
        self.function.refusals
    }
}

/// Parameters of one type.
fn declared(ctype: CType, names: &[&str]) -> String {
    let parameters: Vec<String> = names.iter().map(|name| format!("{} {name}", ctype.name())).collect();
    parameters.join(", ")
}

/// A function that was recorded, in C.
fn in_c(part: &Part, computes_both: bool) -> String {
    let local = |number, _| part.parameters[usize::from(number)].to_owned();
    let results = std::iter::once(part.value);
    let lowered = Lowered::with(&CSyntax::Statement, &part.list, results, local, computes_both);
    // Loops become vectors with these, however long they are; all else calls the function around them.
    let inline = if [USUAL, RARE, SLOW, IN_LOOP].iter().any(|end| part.name.ends_with(end)) {
        "static inline __attribute__((always_inline))"
    } else {
        "static inline"
    };
    format!(
        "{inline} {} {}({})\n{{\n    {}\n    return {};\n}}\n",
        part.gives.name(),
        part.name,
        declared(part.of, part.parameters),
        lowered.temporaries.trim_end().replace("; ", ";\n    "),
        lowered.of(part.value)
    )
}
