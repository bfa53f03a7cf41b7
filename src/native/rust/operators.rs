//! Operators in Rust: by the function that C has of the same name, or by their recipe.

use crate::native::c::locals::leaves;
use crate::native::c::recipes;
use crate::native::c::rules::{Gives, optional_rule, rule};
use crate::native::c::special::{Special, special};
use crate::native::operation::Operation;
use crate::native::rust::routine::Routines;
use crate::native::rust::syntax::{RustSyntax, inside, zero};
use cembra_vm::array::special::Refusals;
use cembra_vm::builtins::core::COPY;

impl Routines<'_> {
    /// The statements of an operator; `None` if it has no form.
    pub(super) fn operator(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { overload, operands, result, .. } = operation;
        let qtype = self.routine.slot(result).qtype();
        leaves(qtype)?;
        if overload.assembles() || operation.name() == COPY {
            return recipes::assembled(operands, result, qtype, &self.locals);
        }
        if overload.special_function().is_some() {
            let special = special(overload)?;
            if special.refusals() != Refusals::Nothing {
                return self.refusing(&special, operation);
            }
            let none = |_: &str| String::new();
            return Some(special.statements(&RustSyntax, operands, result, &self.locals, none));
        }
        if let Some(rule) = rule(overload).or_else(|| optional_rule(overload)) {
            return self.helper(rule, operation);
        }
        if overload.primitive().is_some() && overload.reads_lent() {
            return None;
        }
        recipes::statements(&RustSyntax, overload, operands, result, &self.locals, |value| {
            self.literals.get(&value).cloned()
        })
    }

    /// A special function that refuses some of its operands.
    fn refusing(&self, special: &Special, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, operands, result, .. } = operation;
        let from = self.locals.cells(operands);
        let args = from.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        let raise =
            |category: &str| format!("let mut k = CEMBRA_{category}; {}", self.raise(ip, None, &from));
        let x = args.first()?;
        let domain = |domain| format!("if {} == 0 {{ {} }} ", inside(domain, special, x), raise("DOMAIN"));
        let (before, after) = match special.refusals() {
            Refusals::Nothing => (String::new(), String::new()),
            Refusals::Outside(place) => (domain(place), String::new()),
            Refusals::OutsideOrOverflow(place) => {
                let overflows = format!("z.is_infinite() && !{x}.is_infinite()");
                (domain(place), format!("if {overflows} {{ {} }} ", raise("OVERFLOW")))
            }
            Refusals::Power => {
                let y = args.get(1)?;
                let kinds = [
                    (format!("{x} == 0.0"), "DIVISION_BY_ZERO"),
                    ("z.is_nan()".to_owned(), "DOMAIN"),
                    ("true".to_owned(), "OVERFLOW"),
                ];
                let kinds = kinds.map(|(when, category)| format!("if {when} {{ {} }} ", raise(category)));
                let refused = format!("!z.is_finite() && {x}.is_finite() && {y}.is_finite()");
                (String::new(), format!("if {refused} {{ {}}} ", kinds.concat()))
            }
        };
        let (call, to) = (format!("{}({})", special.name(), args.join(", ")), self.locals.only(result));
        Some(format!("{{ {before}let z = {call}; {after}{to} = z; }}"))
    }

    /// A function of values that are all there; the result is missing where one is.
    fn helper(&self, (function, gives): (&str, Gives), operation: Operation<'_>) -> Option<String> {
        let Operation { ip, operands, result, .. } = operation;
        let from = self.locals.cells(operands);
        let args = from.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let present = self.locals.all_there(operands).unwrap_or_else(|| "1u8".to_owned());
        let to = self.locals.all(result);
        let (cells, ctype) = to.last()?;
        let moved = match &to[..] {
            [_] => format!("{cells} = z;"),
            [(presence, _), _] => format!("{cells} = z; {presence} = p;"),
            _ => return None,
        };
        let call = match gives {
            Gives::Value => format!("if p != 0 {{ z = {function}({args}); }}"),
            Gives::ValueOrCategory => {
                let raise = self.raise(ip, None, &from);
                format!(
                    "let mut k = if p != 0 {{ {function}({args}, &mut z) }} else {{ 0 }}; if k != 0 {{ {raise} }}"
                )
            }
        };
        Some(format!("{{ let p: u8 = {present}; let mut z = {}; {call} {moved} }}", zero(*ctype)))
    }
}
