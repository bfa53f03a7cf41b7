//! Folding of masks: what a literal mask decides becomes no operation.
//!
//! ```text
//! and x true = x      or x true = true      select true x y = x      not not x = x      xor x x = false
//! ```
//!
//! No value of a row changes: masks have no values but two.

use crate::strip::list::List;
use crate::strip::op::{BinaryOp, Lane, Op, Term, UnaryOp};

impl List {
    /// The truth that a mask has in every row, if it is a literal.
    fn literal_mask(&self, mask: Term) -> Option<bool> {
        match (self.op(mask), self.lane(mask)) {
            (Op::Literal(bits), Lane::Mask) => Some(bits != 0),
            _ => None,
        }
    }

    /// The opposite of a mask, if that is a term already.
    pub(super) fn folded_not(&mut self, x: Term) -> Option<Term> {
        if let Some(value) = self.literal_mask(x) {
            return Some(self.truth(!value));
        }
        match self.op(x) {
            Op::Unary(UnaryOp::Not, inner) => Some(inner),
            _ => None,
        }
    }

    /// An operation on masks, if it is less than that.
    pub(super) fn folded_binary(&mut self, op: BinaryOp, x: Term, y: Term) -> Option<Term> {
        match (op, self.literal_mask(x), self.literal_mask(y)) {
            (BinaryOp::And, Some(true), _) | (BinaryOp::Or | BinaryOp::Xor, Some(false), _) => Some(y),
            (BinaryOp::And, _, Some(true)) | (BinaryOp::Or | BinaryOp::Xor, _, Some(false)) => Some(x),
            (BinaryOp::AndNot, _, Some(false)) => Some(x),
            (BinaryOp::And | BinaryOp::AndNot, Some(false), _) | (BinaryOp::Or, Some(true), _) => Some(x),
            (BinaryOp::And, _, Some(false)) | (BinaryOp::Or, _, Some(true)) => Some(y),
            (BinaryOp::AndNot, _, Some(true)) => Some(self.truth(false)),
            (BinaryOp::AndNot | BinaryOp::Xor, Some(true), _) => Some(self.unary(UnaryOp::Not, y)),
            (BinaryOp::Xor, _, Some(true)) => Some(self.unary(UnaryOp::Not, x)),
            (BinaryOp::And | BinaryOp::Or, ..) if x == y => Some(x),
            (BinaryOp::Xor | BinaryOp::AndNot, ..) if x == y => Some(self.truth(false)),
            _ => None,
        }
    }

    /// A choice, if it is less than that.
    pub(super) fn folded_select(&mut self, mask: Term, yes: Term, no: Term) -> Option<Term> {
        match (self.literal_mask(mask), self.literal_mask(yes), self.literal_mask(no)) {
            (Some(value), ..) => Some(if value { yes } else { no }),
            _ if yes == no => Some(yes),
            (_, Some(true), _) => Some(self.binary(BinaryOp::Or, mask, no)),
            (_, _, Some(false)) => Some(self.binary(BinaryOp::And, mask, yes)),
            (_, Some(false), _) => Some(self.binary(BinaryOp::AndNot, no, mask)),
            (_, _, Some(true)) => {
                let not = self.unary(UnaryOp::Not, mask);
                Some(self.binary(BinaryOp::Or, not, yes))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(list: &List, term: Term, columns: [bool; 3]) -> bool {
        let of = |term| truth(list, term, columns);
        match list.op(term) {
            Op::Column(number) => columns[usize::from(number)],
            Op::Literal(bits) => bits != 0,
            Op::Unary(_, x) => !of(x),
            Op::Binary(BinaryOp::And, x, y) => of(x) & of(y),
            Op::Binary(BinaryOp::Or, x, y) => of(x) | of(y),
            Op::Binary(BinaryOp::Xor, x, y) => of(x) ^ of(y),
            Op::Binary(_, x, y) => of(x) & !of(y),
            Op::Select(mask, yes, no) => {
                if of(mask) {
                    of(yes)
                } else {
                    of(no)
                }
            }
            op => unreachable!("{op:?} of a mask"),
        }
    }

    #[test]
    fn folding_changes_no_truth() {
        let mut list = List::new();
        let mut operands = vec![list.truth(false), list.truth(true)];
        operands.extend((0..3).map(|number| list.column(number, Lane::Mask)));
        let rows = (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]);
        for x in operands.clone() {
            let not = list.unary(UnaryOp::Not, x);
            let again = list.unary(UnaryOp::Not, not);
            assert_eq!(again, x);
            for y in operands.clone() {
                use BinaryOp::{And, AndNot, Or, Xor};
                let terms = [And, Or, Xor, AndNot].map(|op| list.binary(op, x, y));
                for row in rows.clone() {
                    let (of_x, of_y) = (truth(&list, x, row), truth(&list, y, row));
                    let expected = [of_x & of_y, of_x | of_y, of_x ^ of_y, of_x & !of_y];
                    assert_eq!(terms.map(|term| truth(&list, term, row)), expected, "{x} {y}");
                }
                for z in operands.clone() {
                    let choice = list.select(x, y, z);
                    for row in rows.clone() {
                        let expected = truth(&list, if truth(&list, x, row) { y } else { z }, row);
                        assert_eq!(truth(&list, choice, row), expected, "{x} {y} {z}");
                    }
                }
            }
        }
        // What a literal decides is no operation any more.
        let is_known = |term: &Term| matches!(list.op(*term), Op::Literal(_) | Op::Column(_));
        assert!(operands.iter().all(is_known));
        assert!(list.terms().all(|(_, op, _)| !op.operands().any(|x| list.literal_mask(x).is_some())));
    }
}
