//! What the two levels do differently, and choices between numbers.

use crate::strip::op::{BinaryOp, Comparison, Lane, Op, Term};
use crate::strip::x86::codes::{self, code};
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Address, Arg, Inst, Virtual, WriteMask};
use crate::strip::x86::lower::{Lower, Lowered, Source, Truths};
use crate::strip::x86::merge::{Choice, Merge};

impl Lower<'_> {
    /// A column of truths, which is read where the mask is wanted.
    pub fn byte_column(&mut self, copy: usize, number: u16) -> Lowered {
        let address = self.rows_of(copy, number, 1, 0);
        Lowered::Mask(Truths { source: Some(Source::Bytes(address)), ..Truths::default() })
    }

    /// A mask that a scalar decides for all rows.
    pub fn scalar_mask(&mut self, number: u16) -> Truths {
        match self.target.is_512 {
            true => self.scalar_mask_512(number),
            false => self.scalar_mask_lanes(number),
        }
    }

    /// A mask that is the same for all rows.
    pub fn literal_mask(&mut self, value: bool) -> Truths {
        match self.target.is_512 {
            true => self.literal_mask_512(value),
            false => self.literal_mask_lanes(value),
        }
    }

    /// What a term that is a comparison compares: its operands, or what [says the same](crate::strip::x86::merge::Merges::fits).
    pub fn compared(
        &mut self,
        copy: usize,
        term: Term,
        comparison: Comparison,
        [x, y]: [Term; 2],
    ) -> (Comparison, Lane, Parts, Parts) {
        let Some(integer) = self.merges.fits[term.index()] else {
            return (comparison, self.list.lane(x), self.number(copy, x), self.number(copy, y));
        };
        let lane = self.list.lane(integer);
        let least = self.constants.literal(lane, 1 << (8 * lane.bytes() - 1));
        (Comparison::NotEqual, lane, self.number(copy, integer), self.constant(least, lane))
    }

    /// A comparison of numbers.
    pub fn compare(&mut self, comparison: Comparison, lane: Lane, x: Parts, y: Parts) -> Truths {
        match self.target.is_512 {
            true => self.compare_512(comparison, lane, x.part(0), y.part(0), None),
            false => self.compare_lanes(comparison, lane, x, y),
        }
    }

    /// An operation on masks.
    pub fn mask_binary(&mut self, copy: usize, op: BinaryOp, x: Term, y: Term) -> Truths {
        match self.target.is_512 {
            true if self.is_deferred(y) => self.compare_under_512(copy, x, y),
            true if self.is_deferred(x) => self.compare_under_512(copy, y, x),
            true => {
                let (x, y) = (self.mask_register(copy, x), self.mask_register(copy, y));
                self.mask_binary_512(op, x, y)
            }
            false => self.mask_binary_lanes(copy, op, x, y),
        }
    }

    /// The mask `yes` where a mask is set, else the mask `no`.
    pub fn mask_select(&mut self, copy: usize, mask: Term, yes: Term, no: Term) -> Truths {
        match self.target.is_512 {
            true => {
                let mask = self.mask_register(copy, mask);
                let (yes, no) = (self.mask_register(copy, yes), self.mask_register(copy, no));
                let yes = self.mask_binary_512(BinaryOp::And, mask, yes);
                let no = self.mask_binary_512(BinaryOp::AndNot, no, mask);
                self.mask_binary_512(BinaryOp::Or, yes, no)
            }
            false => self.mask_select_lanes(copy, mask, yes, no),
        }
    }

    /// A choice between numbers.
    pub fn select(&mut self, choice: Choice, merge: Option<Merge>) -> Parts {
        let Choice { copy, lane, mask, yes, no } = choice;
        if let Some(Merge::Min(x, y) | Merge::Max(x, y)) = merge {
            let codes =
                if matches!(merge, Some(Merge::Min(..))) { &codes::MIN_FLOAT } else { &codes::MAX_FLOAT };
            let (x, y) = (self.number(copy, x), self.number(copy, y));
            return Parts::new(x.len(), |part| self.op2(codes, lane, x.part(part), y.part(part)));
        }
        let truths = match (self.target.is_512, lane.bytes()) {
            (true, _) => self.mask_register(copy, mask),
            (false, 8) => self.wide_mask(copy, mask),
            (false, _) => self.narrow_mask(copy, mask),
        };
        if let Some(Merge::Masked | Merge::Zeroed) = merge {
            match truths.register.filter(|_| !truths.is_inverted) {
                Some(mask) if merge == Some(Merge::Zeroed) => {
                    return self.masked(copy, lane, mask, yes, None);
                }
                Some(mask) => return self.masked(copy, lane, mask, yes, Some(no)),
                None => {
                    let lowered = self.term(copy, yes, self.list.op(yes), lane);
                    self.set(copy, yes, lowered);
                }
            }
        }
        let (yes, no) = if truths.is_inverted { (no, yes) } else { (yes, no) };
        let is_zero = |term| self.list.op(term) == Op::Literal(0);
        let (yes_is_zero, no_is_zero) = (is_zero(yes), is_zero(no));
        let (yes, no) = (self.number(copy, yes), self.number(copy, no));
        Parts::new(yes.len(), |part| {
            let (yes, no) = (yes.part(part), no.part(part));
            if let Some(mask) = truths.register {
                return match no_is_zero {
                    true => self.keep_512(lane, mask, yes),
                    false => self.blend_512(lane, mask, yes, no),
                };
            }
            let mask = match lane.bytes() {
                8 => truths.wide.expect("lanes of 64 bits").part(part),
                _ => truths.narrow.expect("lanes of 32 bits"),
            };
            match truths.is_full {
                true if no_is_zero => self.op2(&codes::AND, lane, mask, yes),
                true if yes_is_zero => self.op2(&codes::AND_NOT, lane, mask, no),
                _ => self.blend_lanes(lane, mask, yes, no),
            }
        })
    }

    /// The operation of an arm under a mask, over the other arm, or over zeros.
    pub fn masked(&mut self, copy: usize, lane: Lane, mask: Virtual, yes: Term, no: Option<Term>) -> Parts {
        let Op::Binary(op, x, y) = self.list.op(yes) else { unreachable!("merging takes such operations") };
        let codes = self.binary_codes(op, lane).expect("merging takes one instruction");
        let (x, y) = (self.number(copy, x).part(0), self.number(copy, y).part(0));
        let (x, y) = self.in_order(op, x, y);
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let result = self.body.fresh(view);
        let (written, mask) = match no {
            Some(no) => (Arg::Change(self.number(copy, no).part(0), result, view), WriteMask::Merge(mask)),
            None => (Arg::Def(result, view), WriteMask::Zero(mask)),
        };
        let args = [written, Arg::Use(x, view), Arg::UseOrMemory(y, view, self.target.broadcast(lane))];
        self.body.push(Inst::new(code(codes, form), args).masked(mask));
        Parts::new(1, |_| result)
    }

    /// Takes a mask in among those that fire.
    pub fn fire(&mut self, copy: usize, mask: Term) {
        match self.target.is_512 {
            true => {
                let mask = self.mask_register(copy, mask);
                self.fire_512(mask);
            }
            false => self.fire_lanes(copy, mask),
        }
    }

    /// What fires goes to the result of the call.
    pub fn fire_end(&mut self) {
        match self.target.is_512 {
            true => self.fire_end_512(),
            false => self.fire_end_lanes(),
        }
    }

    /// Bits of presence of a group.
    pub fn store_presence(&mut self, copy: usize, address: Address, mask: Term) {
        match self.target.is_512 {
            true => {
                let mask = self.mask_register(copy, mask);
                self.store_presence_512(address, mask);
            }
            false => self.store_presence_lanes(copy, address, mask),
        }
    }

    /// Truths of a group as bytes.
    pub fn store_bytes(&mut self, copy: usize, address: Address, mask: Term) {
        match self.target.is_512 {
            true => {
                let mask = self.mask_register(copy, mask);
                self.store_bytes_512(address, mask);
            }
            false => self.store_bytes_lanes(copy, address, mask),
        }
    }

    /// Lanes of the last rows.
    pub fn load_rest(&mut self, lane: Lane, address: Address, part: usize) -> Virtual {
        match self.target.is_512 {
            true => self.load_rest_512(lane, address),
            false => self.load_rest_lanes(lane, address, part),
        }
    }

    /// Lanes of the last rows to memory.
    pub fn store_rest(&mut self, lane: Lane, address: Address, part: usize, value: Virtual) {
        match self.target.is_512 {
            true => self.store_rest_512(lane, address, value),
            false => self.store_rest_lanes(lane, address, part, value),
        }
    }
}
