//! What only AVX-512 has: mask registers, lanes under a mask, conversions of 64-bit integers.
//!
//! A mask is one bit a row in k1 to k7. The last rows of a call, fewer than a group, are those of k7.

use crate::strip::op::{BinaryOp, Comparison, Lane, Op, Term};
use crate::strip::x86::codes::{self, code};
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Address, Arg, Inst, View, Virtual, WriteMask};
use crate::strip::x86::lower::{Lower, RowCount, Source, Truths};
use iced_x86::{Code, Register};

/// Instructions on mask registers of 8 and of 16 bits.
struct MaskCodes {
    and: Code,
    and_not: Code,
    or: Code,
    xor: Code,
    not: Code,
    load: Code,
    store: Code,
    to_general: Code,
}

const MASKS_8: MaskCodes = MaskCodes {
    and: Code::VEX_Kandb_kr_kr_kr,
    and_not: Code::VEX_Kandnb_kr_kr_kr,
    or: Code::VEX_Korb_kr_kr_kr,
    xor: Code::VEX_Kxorb_kr_kr_kr,
    not: Code::VEX_Knotb_kr_kr,
    load: Code::VEX_Kmovb_kr_km8,
    store: Code::VEX_Kmovb_m8_kr,
    to_general: Code::VEX_Kmovb_r32_kr,
};

const MASKS_16: MaskCodes = MaskCodes {
    and: Code::VEX_Kandw_kr_kr_kr,
    and_not: Code::VEX_Kandnw_kr_kr_kr,
    or: Code::VEX_Korw_kr_kr_kr,
    xor: Code::VEX_Kxorw_kr_kr_kr,
    not: Code::VEX_Knotw_kr_kr,
    load: Code::VEX_Kmovw_kr_km16,
    store: Code::VEX_Kmovw_m16_kr,
    to_general: Code::VEX_Kmovw_r32_kr,
};

/// The mask register of the last rows.
const REST: Arg = Arg::General(Register::K7);

impl Lower<'_> {
    fn masks(&self) -> &'static MaskCodes {
        if self.target.group == 16 { &MASKS_16 } else { &MASKS_8 }
    }

    /// A mask in a register, which may stand for the opposite.
    pub fn mask_register(&mut self, copy: usize, term: Term) -> Truths {
        let known = self.mask(copy, term);
        let Some(source) = known.source.filter(|_| known.register.is_none()) else { return known };
        let register = match source {
            Source::Presence(address) => self.def(self.masks().load, View::Mask, [Arg::Memory(address)]),
            Source::Bytes(address) => self.load_bytes_512(address),
        };
        let known = Truths { register: Some(register), ..known };
        self.remember(copy, term, known);
        known
    }

    fn load_bytes_512(&mut self, address: Address) -> Virtual {
        let whole = Code::EVEX_Vmovdqu8_xmm_k1z_xmmm128;
        let bytes = match (self.extent, self.target.group) {
            (RowCount::Rest, _) => {
                let bytes = self.body.fresh(View::Xmm);
                let args = [Arg::Def(bytes, View::Xmm), Arg::Memory(address)];
                self.body.push(Inst::new(whole, args).masked(WriteMask::RestZero));
                bytes
            }
            (_, 16) => self.def(whole, View::Xmm, [Arg::Memory(address)]),
            _ => self.def(Code::EVEX_Vmovq_xmm_xmmm64, View::Xmm, [Arg::Memory(address)]),
        };
        let operands = [Arg::Use(bytes, View::Xmm), Arg::Use(bytes, View::Xmm)];
        self.def(Code::EVEX_Vptestmb_kr_k1_xmm_xmmm128, View::Mask, operands)
    }

    /// The mask itself, not its opposite.
    fn upright(&mut self, mask: Truths) -> Virtual {
        let register = mask.register.expect("a mask of AVX-512 is in a register");
        match mask.is_inverted {
            true => self.def(self.masks().not, View::Mask, [Arg::Use(register, View::Mask)]),
            false => register,
        }
    }

    fn of_masks(&mut self, code: Code, a: Virtual, b: Virtual) -> Virtual {
        self.def(code, View::Mask, [Arg::Use(a, View::Mask), Arg::Use(b, View::Mask)])
    }

    /// A mask of a scalar that is not zero.
    pub fn scalar_mask_512(&mut self, number: u16) -> Truths {
        let home = self.constants.scalar(Lane::I32, number);
        let scalar = self.at_home(home);
        self.test_512(scalar)
    }

    /// A mask that is the same for all rows.
    pub fn literal_mask_512(&mut self, value: bool) -> Truths {
        let ones = self.splat(Lane::I32, u64::MAX);
        Truths { is_inverted: !value, ..self.test_512(ones) }
    }

    fn test_512(&mut self, x: Virtual) -> Truths {
        let (form, view) = (self.target.form(Lane::I32), self.target.view(Lane::I32));
        let operands = [Arg::Use(x, view), Arg::Use(x, view)];
        let register = self.def(code(&codes::TEST, form), View::Mask, operands);
        Truths { register: Some(register), ..Truths::default() }
    }

    /// A mask and a comparison that is read only here: false where the mask is, without an instruction that joins the two.
    pub fn compare_under_512(&mut self, copy: usize, mask: Term, comparison: Term) -> Truths {
        let Op::Compare(relation, x, y) = self.list.op(comparison) else {
            unreachable!("merging takes comparisons")
        };
        let (relation, lane, x, y) = self.compared(copy, comparison, relation, [x, y]);
        let (x, y) = (x.part(0), y.part(0));
        let known = self.mask_register(copy, mask);
        match known.register.filter(|_| !known.is_inverted) {
            Some(under) => self.compare_512(relation, lane, x, y, Some(under)),
            None => {
                let truths = self.compare_512(relation, lane, x, y, None);
                self.mask_binary_512(BinaryOp::And, known, truths)
            }
        }
    }

    /// A comparison, false where a mask is, if there is one.
    pub fn compare_512(
        &mut self,
        comparison: Comparison,
        lane: Lane,
        x: Virtual,
        y: Virtual,
        under: Option<Virtual>,
    ) -> Truths {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let has_home = |v: Virtual| self.body.virtuals[v.index()].home.is_some();
        let (comparison, x, y) = match has_home(x) && !has_home(y) {
            true => (swapped(comparison), y, x),
            false => (comparison, x, y),
        };
        let (codes, predicate) = match lane.is_float() {
            true => (&codes::COMPARE_FLOAT, float_predicate(comparison)),
            false => (&codes::COMPARE_INT, int_predicate(comparison)),
        };
        let register = self.body.fresh(View::Mask);
        let args = [
            Arg::Def(register, View::Mask),
            Arg::Use(x, view),
            Arg::UseOrMemory(y, view, self.target.broadcast(lane)),
            Arg::Immediate(predicate),
        ];
        let mask = under.map(WriteMask::Merge);
        self.body.push(Inst { mask, ..Inst::new(code(codes, form), args) });
        Truths { register: Some(register), ..Truths::default() }
    }

    /// Lanes of `yes` where the mask is set, else of `no`.
    pub fn blend_512(&mut self, lane: Lane, mask: Virtual, yes: Virtual, no: Virtual) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let result = self.body.fresh(view);
        let args = [
            Arg::Def(result, view),
            Arg::Use(no, view),
            Arg::UseOrMemory(yes, view, self.target.broadcast(lane)),
        ];
        self.body.push(Inst::new(code(&codes::BLEND, form), args).masked(WriteMask::Merge(mask)));
        result
    }

    /// Lanes of a value where the mask is set, else zero.
    pub fn keep_512(&mut self, lane: Lane, mask: Virtual, yes: Virtual) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let result = self.body.fresh(view);
        let args = [Arg::Def(result, view), Arg::UseOrMemory(yes, view, 0)];
        self.body.push(Inst::new(code(&codes::LOAD, form), args).masked(WriteMask::Zero(mask)));
        result
    }

    /// An operation on masks.
    pub fn mask_binary_512(&mut self, op: BinaryOp, x: Truths, y: Truths) -> Truths {
        let masks = self.masks();
        let y = match op {
            BinaryOp::AndNot => Truths { is_inverted: !y.is_inverted, ..y },
            _ => y,
        };
        let (a, b) = (x.register.expect("a register"), y.register.expect("a register"));
        let (code, a, b, is_inverted) = match (op, x.is_inverted, y.is_inverted) {
            (BinaryOp::Xor, p, q) => (masks.xor, a, b, p != q),
            (BinaryOp::Or, false, false) => (masks.or, a, b, false),
            // What is not in one and not in the other is in neither.
            (BinaryOp::Or, true, true) => (masks.and, a, b, true),
            (BinaryOp::Or, true, false) => (masks.and_not, b, a, true),
            (BinaryOp::Or, false, true) => (masks.and_not, a, b, true),
            (_, false, false) => (masks.and, a, b, false),
            (_, true, true) => (masks.or, a, b, true),
            (_, true, false) => (masks.and_not, a, b, false),
            (_, false, true) => (masks.and_not, b, a, false),
        };
        Truths { register: Some(self.of_masks(code, a, b)), is_inverted, ..Truths::default() }
    }

    /// Takes a mask in among those that fire.
    pub fn fire_512(&mut self, mask: Truths) {
        let all = self.fires.register;
        self.fires.register = Some(match all {
            Some(all) => self.mask_binary_512(BinaryOp::Or, all, mask),
            None => mask,
        });
    }

    /// Fires if an integer of any group is the least one.
    pub fn fire_by_integer(&mut self, integer: Term) {
        let lane = self.list.lane(integer);
        let integers: Vec<Virtual> =
            (0..self.extent.copies()).map(|copy| self.number(copy, integer).part(0)).collect();
        let of_all = integers.into_iter().reduce(|x, y| self.op2(&codes::MIN_INT, lane, x, y));
        let least = self.splat(lane, 1 << (8 * lane.bytes() - 1));
        let of_all = of_all.expect("a body has groups");
        let fits = self.compare_512(Comparison::NotEqual, lane, of_all, least, None);
        self.fire_512(Truths { is_inverted: true, ..fits });
    }

    /// What fires goes to the result of the call.
    pub fn fire_end_512(&mut self) {
        let Some(fires) = self.fires.register else { return };
        let fires = self.bits_of_rows(fires);
        let scratch = Arg::General(Register::R14D);
        self.body.push(Inst::new(self.masks().to_general, [scratch, Arg::Use(fires, View::Mask)]));
        self.body.push(Inst::new(Code::Or_r32_rm32, [Arg::General(Register::EAX), scratch]));
    }

    /// Bits of a mask; zeros behind the last row.
    fn bits_of_rows(&mut self, mask: Truths) -> Virtual {
        let masks = self.masks();
        let operand = Arg::Use(mask.register.expect("a register"), View::Mask);
        match (self.extent, mask.is_inverted) {
            (RowCount::Rest, true) => self.def(masks.and_not, View::Mask, [operand, REST]),
            (RowCount::Rest, false) => self.def(masks.and, View::Mask, [operand, REST]),
            _ => self.upright(mask),
        }
    }

    /// Bits of presence of the rows of a group; zeros behind the last row.
    pub fn store_presence_512(&mut self, address: Address, mask: Truths) {
        let bits = self.bits_of_rows(mask);
        let store = self.masks().store;
        self.body.push(Inst::new(store, [Arg::Memory(address), Arg::Use(bits, View::Mask)]));
    }

    /// Truths of the rows of a group as bytes.
    pub fn store_bytes_512(&mut self, address: Address, mask: Truths) {
        let mask = self.upright(mask);
        let ones = self.splat(Lane::I32, 0x0101_0101);
        let bytes = self.body.fresh(View::Xmm);
        let args = [Arg::Def(bytes, View::Xmm), Arg::Use(ones, View::Xmm)];
        let load = Inst::new(Code::EVEX_Vmovdqu8_xmm_k1z_xmmm128, args);
        self.body.push(load.masked(WriteMask::Zero(mask)));
        let args = [Arg::Memory(address), Arg::Use(bytes, View::Xmm)];
        let whole = Inst::new(Code::EVEX_Vmovdqu8_xmmm128_k1z_xmm, args);
        self.body.push(match (self.extent, self.target.group) {
            (RowCount::Rest, _) => whole.masked(WriteMask::Rest),
            (_, 16) => whole,
            _ => Inst::new(Code::EVEX_Vmovq_xmmm64_xmm, args),
        });
    }

    /// Lanes of the last rows; zero in others.
    pub fn load_rest_512(&mut self, lane: Lane, address: Address) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let result = self.body.fresh(view);
        let args = [Arg::Def(result, view), Arg::Memory(address)];
        self.body.push(Inst::new(code(&codes::LOAD, form), args).masked(WriteMask::RestZero));
        result
    }

    /// Lanes of the last rows to memory.
    pub fn store_rest_512(&mut self, lane: Lane, address: Address, value: Virtual) {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let args = [Arg::Memory(address), Arg::Use(value, view)];
        self.body.push(Inst::new(code(&codes::STORE, form), args).masked(WriteMask::Rest));
    }

    /// Numbers in another type.
    pub fn cast_512(&mut self, from: Lane, to: Lane, x: Parts) -> Parts {
        let (code, broadcast) = match (from, to, self.target.group) {
            (Lane::F64, Lane::F32, _) => (Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, 8),
            (Lane::F64, Lane::I64, _) => (Code::EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae, 8),
            (Lane::F64, Lane::I32, _) => (Code::EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae, 8),
            (Lane::F32, Lane::F64, _) => (Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, 4),
            (Lane::F32, Lane::I64, _) => (Code::EVEX_Vcvttps2qq_zmm_k1z_ymmm256b32_sae, 4),
            (Lane::F32, Lane::I32, 8) => (Code::EVEX_Vcvttps2dq_ymm_k1z_ymmm256b32, 4),
            (Lane::F32, Lane::I32, _) => (Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, 4),
            (Lane::I64, Lane::F64, _) => (Code::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er, 8),
            (Lane::I64, Lane::F32, _) => (Code::EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er, 8),
            (Lane::I32, Lane::F64, _) => (Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er, 4),
            (Lane::I32, Lane::F32, 8) => (Code::EVEX_Vcvtdq2ps_ymm_k1z_ymmm256b32, 4),
            (Lane::I32, Lane::F32, _) => (Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, 4),
            (Lane::I32, Lane::I64, _) => (Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256, 0),
            // The operand in memory is the result.
            (Lane::I64, Lane::I32, _) => {
                let v =
                    self.def(Code::EVEX_Vpmovqd_ymmm256_k1z_zmm, View::Ymm, [Arg::Use(x.part(0), View::Zmm)]);
                return Parts::new(1, |_| v);
            }
            (from, to, _) => unreachable!("a cast from {from:?} to {to:?}"),
        };
        let (before, after) = (self.target.view(from), self.target.view(to));
        let v = self.def(code, after, [Arg::UseOrMemory(x.part(0), before, broadcast)]);
        Parts::new(1, |_| v)
    }
}

/// The comparison that says the same of swapped operands.
pub fn swapped(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        other => other,
    }
}

/// Quiet predicates: all but the last two are false if an operand is NaN.
pub fn float_predicate(comparison: Comparison) -> u8 {
    match comparison {
        Comparison::Equal => 0x00,
        Comparison::Less => 0x11,
        Comparison::LessEqual => 0x12,
        Comparison::GreaterEqual => 0x1D,
        Comparison::Greater => 0x1E,
        Comparison::NotEqual => 0x04,
        Comparison::Unordered => 0x03,
    }
}

fn int_predicate(comparison: Comparison) -> u8 {
    match comparison {
        Comparison::Equal => 0,
        Comparison::Less => 1,
        Comparison::LessEqual => 2,
        Comparison::NotEqual => 4,
        Comparison::GreaterEqual => 5,
        Comparison::Greater => 6,
        Comparison::Unordered => unreachable!("integers have an order"),
    }
}
