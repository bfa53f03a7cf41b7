//! Expressions, bounds and conditions in printed Rust.

use crate::field::dimension::DimensionId;
use crate::field::expression::{
    BoundTerm, FieldBinary, FieldBound, FieldNode, FieldNodeId, FieldUnary, IndexCondition, IndexTerm,
};
use crate::field::rust::words::{CALL, PRODUCT, Printer, SIGN, SUM, literal_text, within};
use cembra_vm::value::ScalarType;

impl Printer<'_> {
    /// A bound that binds at least as strongly as the level, or stands in brackets.
    pub fn bound(&self, bound: &FieldBound, at_least: u8) -> String {
        let mut stack: Vec<(String, u8)> = Vec::new();
        for term in &bound.0 {
            let value = match term {
                BoundTerm::Literal(value) => match i32::try_from(*value) {
                    Ok(value) => (format!("b.bound({value})"), CALL),
                    Err(_) => (format!("{}::literal({value})", self.import("FieldBound")), CALL),
                },
                BoundTerm::Scalar(id) => (format!("{}.bound()", self.scalar(*id)), CALL),
                BoundTerm::Add | BoundTerm::Sub | BoundTerm::Mul => {
                    let (right, left) = (stack.pop().unwrap_or_default(), stack.pop().unwrap_or_default());
                    let (symbol, level) = match term {
                        BoundTerm::Add => ("+", SUM),
                        BoundTerm::Sub => ("-", SUM),
                        _ => ("*", PRODUCT),
                    };
                    let right = plain(&right.0).unwrap_or_else(|| within(right, level + 1));
                    (format!("{} {symbol} {right}", within(left, level)), level)
                }
            };
            stack.push(value);
        }
        within(stack.pop().unwrap_or_default(), at_least)
    }

    /// A condition as data: its terms stand behind their operands.
    fn condition(&self, condition: &IndexCondition) -> String {
        let term = |term: &IndexTerm| {
            let word = self.import("IndexTerm");
            match term {
                IndexTerm::Compare(comparison, bound) => {
                    let comparison = format!("{}::{comparison:?}", self.import("IndexComparison"));
                    format!("{word}::Compare({comparison}, {})", self.bound(bound, 0))
                }
                IndexTerm::And => format!("{word}::And"),
                IndexTerm::Or => format!("{word}::Or"),
            }
        };
        let terms: Vec<String> = condition.terms.iter().map(term).collect();
        let (word, dim) = (self.import("IndexCondition"), self.dim(condition.dimension));
        format!("{word} {{ dimension: {dim}, terms: vec![{}] }}", terms.join(", "))
    }

    pub fn expression(&self, id: FieldNodeId, level: u8) -> String {
        match self.nodes.get(&id) {
            Some(variable) => variable.clone(),
            None => self.node(id, level),
        }
    }

    pub fn node(&self, id: FieldNodeId, level: u8) -> String {
        let operand = |id: &FieldNodeId| self.expression(*id, CALL);
        let call = |text: String| (text, CALL);
        within(
            match self.program.nodes.get(id) {
                FieldNode::Literal(value) => call(format!("b.literal({})", literal_text(value))),
                FieldNode::Field(id) => call(self.field(*id)),
                FieldNode::Scalar(id) => call(self.scalar(*id)),
                FieldNode::Carry(number, _) => call(format!("carry[{number}]")),
                FieldNode::Shift(a, offsets) => call(format!("{}.{}", operand(a), self.shift(offsets))),
                FieldNode::Unary(FieldUnary::Neg, a) => (format!("-{}", self.expression(*a, SIGN)), SIGN),
                FieldNode::Unary(op, a) => {
                    call(format!("{}.unary({}::{op:?})", operand(a), self.import("FieldUnary")))
                }
                FieldNode::Binary(op, a, b) => self.binary(*op, *a, *b),
                FieldNode::Where(c, x, y) => {
                    let [c, x, y] = [c, x, y].map(|id| self.expression(*id, 0));
                    call(format!("b.select({c}, {x}, {y})"))
                }
                FieldNode::Cast(a, dtype) => call(format!("{}.cast({})", operand(a), self.dtype(*dtype))),
                FieldNode::Broadcast(a, dims) => {
                    call(format!("{}.broadcast({})", operand(a), self.dims(dims)))
                }
                FieldNode::Gather(a, table, column) => {
                    call(format!("{}.gather({}, {column})", operand(a), self.table(*table)))
                }
                FieldNode::ShiftAll(a, table) => {
                    call(format!("{}.neighbors({})", operand(a), self.table(*table)))
                }
                FieldNode::Column(a, local, column) => {
                    call(format!("{}.column({}, {column})", operand(a), self.dim(*local)))
                }
                FieldNode::Reduce(op, a, local) => {
                    let word = self.import("FieldReduction");
                    call(format!("{}.reduce({word}::{op:?}, {})", operand(a), self.dim(*local)))
                }
                FieldNode::ConcatWhere(condition, x, y) => {
                    let [x, y] = [x, y].map(|id| self.expression(*id, 0));
                    call(format!("b.concat_where({}, {x}, {y})", self.condition(condition)))
                }
            },
            level,
        )
    }

    fn shift(&self, offsets: &[(DimensionId, i64)]) -> String {
        match offsets {
            [(dim, by)] if i32::try_from(*by).is_ok() => format!("shift({}, {by})", self.dim(*dim)),
            _ => {
                let offsets = offsets.iter().map(|(dim, by)| format!("({}, {by})", self.dim(*dim)));
                format!("shift_by(&[{}])", offsets.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn binary(&self, op: FieldBinary, a: FieldNodeId, b: FieldNodeId) -> (String, u8) {
        let (symbol, level) = match op {
            FieldBinary::Add => ("+", SUM),
            FieldBinary::Sub => ("-", SUM),
            FieldBinary::Mul => ("*", PRODUCT),
            FieldBinary::Div => ("/", PRODUCT),
            _ => {
                let (a, b) = (self.expression(a, CALL), self.expression(b, 0));
                return (format!("{a}.binary({}::{op:?}, {b})", self.import("FieldBinary")), CALL);
            }
        };
        // A number of float64 beside another value is written as it is.
        let plain = |id: FieldNodeId| match self.program.nodes.get(id) {
            FieldNode::Literal(value) if value.dtype() == ScalarType::Float64 => Some(literal_text(value)),
            _ => None,
        };
        let (of_a, of_b) = (plain(a), plain(b));
        let right = of_b.clone().unwrap_or_else(|| self.expression(b, level + 1));
        let left = of_a.filter(|_| of_b.is_none()).unwrap_or_else(|| self.expression(a, level));
        (format!("{left} {symbol} {right}"), level)
    }
}

/// An integer behind another bound is one.
pub(super) fn plain(bound: &str) -> Option<String> {
    let number = bound.strip_prefix("b.bound(")?.strip_suffix(')')?;
    number.parse::<i32>().is_ok().then(|| number.to_owned())
}
