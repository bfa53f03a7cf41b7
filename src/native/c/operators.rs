//! Operators in C: by a rule of their own, in place on elements, or by their recipe.

use crate::native::c::constants::{integer, quoted};
use crate::native::c::locals::{CType, leaves};
use crate::native::c::recipes;
use crate::native::c::rules::{Gives, optional_rule, rule};
use crate::native::c::special::special;
use crate::native::c::syntax::CSyntax;
use crate::native::c::writer::Writer;
use crate::native::operation::Operation;
use cembra_vm::builtins::aggregate::SIZE;
use cembra_vm::builtins::bools::LOGICAL_IF;
use cembra_vm::builtins::core::{COPY, GET_OPTIONAL_VALUE};
use cembra_vm::operator::primitive::Primitive;
use cembra_vm::program::ValueId;
use cembra_vm::program::affine::IntegerOperation;
use cembra_vm::value::ScalarValue;

impl Writer<'_> {
    /// The statements of an operator; `None` if it has no form in C.
    pub(super) fn operator(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        // A copy of a plain value is a tuple of one field: its scalars go to other locals.
        let is_plain = leaves(self.routine.slot(result).qtype()).is_some();
        if overload.assembles() || (is_plain && operation.name() == COPY) {
            let qtype = self.routine.slot(result).qtype();
            return recipes::assembled(operands, result, qtype, &self.locals);
        }
        if let Some(grouped) = self.groups(operation) {
            return Some(grouped);
        }
        let whole = self
            .reduced(operation)
            .or_else(|| self.list(operation))
            .or_else(|| self.table(operation))
            .or_else(|| self.chosen(operation))
            .or_else(|| self.moved(operation))
            .or_else(|| self.part(operation))
            .or_else(|| self.summed_pairs(operation))
            .or_else(|| self.squeezed(operation));
        if whole.is_some() {
            return whole;
        }
        if self.locals.array(result).is_some() && !matches!(overload.primitive(), Some(Primitive::Set(..))) {
            return self.array_operator(operation);
        }
        if let Some(special) = special(overload) {
            if self.speculates {
                return Some(special.speculated(operands, result, &self.locals));
            }
            let locals: Vec<(String, CType)> =
                operands.iter().flat_map(|value| self.locals.all(*value)).collect();
            let raise =
                |category: &str| format!("int32_t k = {category}; {}", self.raise(ip, "NULL", &locals));
            return Some(special.statements(&CSyntax::Statement, operands, result, &self.locals, raise));
        }
        if let Some(exact) = self.exact(operation) {
            return Some(exact);
        }
        if let Some(shifted) = self.by_power_of_two(operation) {
            return Some(shifted);
        }
        if let Some(chosen) = self.choice(operation) {
            return Some(chosen);
        }
        if let Some(rule) = rule(overload).or_else(|| optional_rule(overload)) {
            return self.helper(rule, operation);
        }
        if &**overload.name() == SIZE {
            let array = operands.first().filter(|array| self.locals.array(**array).is_some())?;
            return Some(format!("{} = {}_n0;", self.locals.only(result), self.locals.owner(*array)));
        }
        match overload.primitive() {
            Some(Primitive::Get(element, _)) => return Some(self.get(ip, element, operands, result)),
            Some(Primitive::Set(element, _)) => return Some(self.set(ip, element, operands)),
            Some(Primitive::Length) => return self.length(ip, operands, result),
            _ => {}
        }
        recipes::statements(&CSyntax::Statement, overload, operands, result, &self.locals, |value| {
            self.literals.get(&value).cloned()
        })
    }

    /// One of three plain values by a truth that may be missing, or a value that has to be there.
    fn choice(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        let is_plain = |value: &ValueId| leaves(self.routine.slot(*value).qtype()).is_some();
        if !operands.iter().all(is_plain) || !is_plain(&result) {
            return None;
        }
        let condition = self.locals.all(operands[0]);
        match (&**overload.name(), &condition[..]) {
            (LOGICAL_IF, [.., (truth, _)]) => {
                let [yes, no, missing] = [1, 2, 3].map(|position| self.locals.all(operands[position]));
                let mut text = String::from("{ ");
                let to = self.locals.all(result);
                for (number, (_, ctype)) in to.iter().enumerate() {
                    let of = |all: &[(String, CType)]| all.get(number).map(|(local, _)| local.clone());
                    let one = format!("{truth} ? {} : {}", of(&yes)?, of(&no)?);
                    let one = match self.locals.presence(operands[0]) {
                        Some(present) => format!("{present} ? ({one}) : {}", of(&missing)?),
                        None => one,
                    };
                    text += &format!("{} c{number} = {one}; ", ctype.name());
                }
                // All are computed before one is changed: a result may be an operand.
                to.iter()
                    .enumerate()
                    .for_each(|(number, (local, _))| text += &format!("{local} = c{number}; "));
                Some(text + "}")
            }
            (GET_OPTIONAL_VALUE, [(present, _), ..]) => {
                let raise = self.raise(ip, &quoted("the value is missing"), &[]);
                let value = condition.get(1).map_or("0", |(local, _)| local);
                Some(format!(
                    "{{ if (CEMBRA_RARE(!{present})) {{ int32_t k = CEMBRA_MISSING_VALUE; {raise} }} {} = {value}; }}",
                    self.locals.only(result)
                ))
            }
            _ => None,
        }
    }

    /// A sum or product that cannot overflow in the loop that is being written.
    fn exact(&self, operation: Operation<'_>) -> Option<String> {
        let sign = match self.without_checks.as_ref()?.exact.get(&operation.ip)? {
            IntegerOperation::Plus => "+",
            IntegerOperation::Minus => "-",
            IntegerOperation::Times => "*",
        };
        let [x, y] = [0, 1].map(|number| self.locals.only(operation.operands[number]));
        Some(format!("{} = {x} {sign} {y};", self.locals.only(operation.result)))
    }

    /// A quotient or remainder of integers by a literal that is a power of two: bits.
    fn by_power_of_two(&self, operation: Operation<'_>) -> Option<String> {
        let [x, y] = operation.operands else { return None };
        let Some(ScalarValue::Int64(y)) = self.literals.get(y) else { return None };
        let power = u64::try_from(*y).ok().filter(|y| y.is_power_of_two())?;
        let (x, result) = (self.locals.only(*x), self.locals.only(operation.result));
        match operation.name() {
            "python.mod" => Some(format!("{result} = {x} & {};", integer(y - 1))),
            "python.floordiv" => Some(format!("{result} = {x} >> {};", power.trailing_zeros())),
            _ => None,
        }
    }

    /// A function of values that are all there; the result is missing where one is.
    fn helper(&self, (function, gives): (&str, Gives), operation: Operation<'_>) -> Option<String> {
        let Operation { ip, operands, result, .. } = operation;
        let from = self.locals.cells(operands);
        let args = from.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let to = self.locals.all(result);
        let (cells, ctype) = to.last().map(|(cells, ctype)| (cells, ctype.name()))?;
        if self.speculates && gives == Gives::ValueOrCategory {
            return Some(format!("{{ {ctype} z; rare |= {function}({args}, &z) != 0; {cells} = z; }}"));
        }
        let raise = || self.raise(ip, "NULL", &from);
        Some(match (gives, self.locals.presence(result)) {
            (Gives::Value, None) => format!("{cells} = {function}({args});"),
            (Gives::ValueOrCategory, None) => format!(
                "{{ {ctype} z; int32_t k = {function}({args}, &z); if (CEMBRA_RARE(k)) {{ {} }} {cells} = z; }}",
                raise()
            ),
            (gives, Some(presence)) => {
                let present = self.locals.all_there(operands).unwrap_or_else(|| "1".to_owned());
                let call = match gives {
                    Gives::Value => format!("if (p) z = {function}({args}); "),
                    Gives::ValueOrCategory => format!(
                        "int32_t k = p ? {function}({args}, &z) : 0; if (CEMBRA_RARE(k)) {{ {} }} ",
                        raise()
                    ),
                };
                format!("{{ uint8_t p = {present}; {ctype} z = 0; {call}{cells} = z; {presence} = p; }}")
            }
        })
    }
}
