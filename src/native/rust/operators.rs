//! Operators in Rust: by the function that C has of the same name, or by their recipe.

use crate::native::c::locals::{CType, leaves};
use crate::native::c::recipes;
use crate::native::c::rules::{Gives, optional_rule, rule};
use crate::native::c::special::special;
use crate::native::rust::routine::Routines;
use crate::native::rust::syntax::{RustSyntax, zero};
use cembra_vm::builtins::core::COPY;
use cembra_vm::operator::Overload;
use cembra_vm::operator::special::Refusals;
use cembra_vm::program::ValueId;

impl Routines<'_> {
    /// The statements of an operator; `None` if it has no form.
    pub(super) fn operator(
        &self,
        ip: usize,
        overload: &Overload,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<String> {
        let qtype = self.routine.slot(result).qtype();
        leaves(qtype)?;
        if overload.assembles() || &**overload.name() == COPY {
            return recipes::assembled(operands, result, qtype, &self.locals);
        }
        if let Some(function) = overload.special_function() {
            let special = special(overload).filter(|special| !special.has_rare())?;
            let none = |_: &str| String::new();
            let is_total = function.refusals == Refusals::Nothing;
            return is_total.then(|| special.statements(&RustSyntax, operands, result, &self.locals, none));
        }
        if let Some((function, gives)) = rule(overload).or_else(|| optional_rule(overload)) {
            return self.helper(ip, function, gives, operands, result);
        }
        if overload.primitive().is_some() && overload.reads_lent() {
            return None;
        }
        recipes::statements(&RustSyntax, overload, operands, result, &self.locals, |value| {
            self.literals.get(&value).cloned()
        })
    }

    /// A function of values that are all there; the result is missing where one is.
    fn helper(
        &self,
        ip: usize,
        function: &str,
        gives: Gives,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<String> {
        let from = operands.iter().filter_map(|value| self.locals.all(*value).pop());
        let from: Vec<(String, CType)> = from.collect();
        let args = from.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let present: Vec<String> = operands.iter().filter_map(|value| self.locals.presence(*value)).collect();
        let present = if present.is_empty() { "1u8".to_owned() } else { present.join(" & ") };
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
