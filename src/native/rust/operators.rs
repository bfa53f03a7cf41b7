//! Operators in Rust: by the function that C has of the same name, or by their recipe.

use crate::native::c::locals::leaves;
use crate::native::c::recipes;
use crate::native::c::rules::{Gives, optional_rule, rule};
use crate::native::c::special::special;
use crate::native::operation::Operation;
use crate::native::rust::routine::Routines;
use crate::native::rust::syntax::{RustSyntax, zero};
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
        if let Some(function) = overload.special_function() {
            let special = special(overload).filter(|special| !special.has_rare())?;
            let none = |_: &str| String::new();
            let is_total = function.refusals == Refusals::Nothing;
            return is_total.then(|| special.statements(&RustSyntax, operands, result, &self.locals, none));
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
