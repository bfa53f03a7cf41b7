//! Masks of AVX2: lanes of vector registers.
//!
//! ```text
//! wide      two ymm, lanes of 64 bits    | r0 r1 r2 r3 | r4 r5 r6 r7 |
//! narrow    one ymm, lanes of 32 bits    | r0 r1 r2 r3 r4 r5 r6 r7 |
//! ```
//!
//! A mask is made as wide as what is compared, and moved to the other width where it is wanted there. The sign of a lane
//! is the truth; a *full* mask has lanes of ones. The opposite of a mask is a mark on it.

use crate::strip::op::{BinaryOp, Comparison, Lane, Term};
use crate::strip::x86::avx512::float_predicate;
use crate::strip::x86::codes::{self, Codes, code};
use crate::strip::x86::constants::{Laid, REST_BITS, REST_NARROW, REST_WIDE};
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Address, Arg, Home, Inst, Kind, View, Virtual};
use crate::strip::x86::lower::{Lower, RowCount, Source, Truths};
use iced_x86::{Code, Register};

/// The lanes of a mask that an operation is done on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Wide,
    Narrow,
}

const YMM: View = View::Ymm;
const XMM: View = View::Xmm;

impl Lower<'_> {
    /// The lanes of 64 bits of a mask.
    pub fn wide_mask(&mut self, copy: usize, term: Term) -> Truths {
        let known = self.mask(copy, term);
        if known.wide.is_some() {
            return known;
        }
        let wide = match (known.narrow, known.source) {
            (Some(narrow), _) => self.widened(narrow),
            (None, Some(source)) => match self.load_wide(source) {
                Some(wide) => wide,
                None => {
                    let narrow = self.narrow_mask(copy, term).narrow.expect("lanes were made");
                    self.widened(narrow)
                }
            },
            (None, None) => unreachable!("a mask of AVX2 has lanes"),
        };
        let known = Truths { wide: Some(wide), ..self.mask(copy, term) };
        self.remember(copy, term, known);
        known
    }

    /// The lanes of 32 bits of a mask.
    pub fn narrow_mask(&mut self, copy: usize, term: Term) -> Truths {
        let known = self.mask(copy, term);
        if known.narrow.is_some() {
            return known;
        }
        let narrow = match (known.wide, known.source) {
            (Some(wide), _) => self.narrowed(wide, 0xDD),
            (None, Some(source)) => self.load_narrow(source),
            (None, None) => unreachable!("a mask of AVX2 has lanes"),
        };
        let known = Truths { narrow: Some(narrow), ..known };
        self.remember(copy, term, known);
        known
    }

    /// Lanes of 32 bits, sign extended.
    pub fn widened(&mut self, narrow: Virtual) -> Parts {
        let low = self.def(Code::VEX_Vpmovsxdq_ymm_xmmm128, YMM, [Arg::UseOrMemory(narrow, XMM, 0)]);
        let high = self.upper_half(narrow);
        let high = self.def(Code::VEX_Vpmovsxdq_ymm_xmmm128, YMM, [Arg::Use(high, XMM)]);
        Parts::new(2, |part| [low, high][part])
    }

    /// The upper 128 bits.
    pub fn upper_half(&mut self, x: Virtual) -> Virtual {
        self.def(Code::VEX_Vextracti128_xmmm128_ymm_imm8, XMM, [Arg::Use(x, YMM), Arg::Immediate(1)])
    }

    /// Halves of lanes of 64 bits: the upper ones for 0xDD, the lower ones for 0x88.
    pub fn narrowed(&mut self, wide: Parts, which: u8) -> Virtual {
        let operands =
            [Arg::Use(wide.part(0), YMM), Arg::UseOrMemory(wide.part(1), YMM, 0), Arg::Immediate(which)];
        let mixed = self.def(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, YMM, operands);
        let operands = [Arg::Use(mixed, YMM), Arg::Immediate(0xD8)];
        self.def(Code::VEX_Vpermq_ymm_ymmm256_imm8, YMM, operands)
    }

    /// Lanes of 64 bits from a column; none of the bytes of the last rows.
    fn load_wide(&mut self, source: Source) -> Option<Parts> {
        match source {
            Source::Presence(address) => {
                let byte = self.def(Code::VEX_Vpbroadcastb_ymm_xmmm8, YMM, [Arg::Memory(address)]);
                Some(Parts::new(2, |part| {
                    let counts: Vec<u8> =
                        (0..4).flat_map(|lane| (63 - 4 * part as u64 - lane).to_le_bytes()).collect();
                    self.shifted_by(Code::VEX_Vpsllvq_ymm_ymm_ymmm256, byte, &counts)
                }))
            }
            Source::Bytes(_) if self.extent == RowCount::Rest => None,
            Source::Bytes(address) => Some(Parts::new(2, |part| {
                let operand = [Arg::Memory(further(address, 4 * part as i32))];
                let lanes = self.def(Code::VEX_Vpmovzxbq_ymm_xmmm32, YMM, operand);
                self.shifted(&codes::SHIFT_LEFT, Lane::I64, lanes, 63)
            })),
        }
    }

    /// Lanes of 32 bits from a column.
    fn load_narrow(&mut self, source: Source) -> Virtual {
        match source {
            Source::Presence(address) => {
                let byte = self.def(Code::VEX_Vpbroadcastb_ymm_xmmm8, YMM, [Arg::Memory(address)]);
                let counts: Vec<u8> = (0..8).flat_map(|lane| (31 - lane as u32).to_le_bytes()).collect();
                self.shifted_by(Code::VEX_Vpsllvd_ymm_ymm_ymmm256, byte, &counts)
            }
            Source::Bytes(address) => {
                let bytes = match self.extent {
                    RowCount::Rest => {
                        let bytes = self.body.fresh(XMM);
                        let args = [Arg::Def(bytes, XMM), Arg::Memory(address)];
                        self.body.push(Inst::of_kind(Kind::LoadRestBytes, args));
                        Arg::Use(bytes, XMM)
                    }
                    RowCount::Groups(_) => Arg::Memory(address),
                };
                let lanes = self.def(Code::VEX_Vpmovzxbd_ymm_xmmm64, YMM, [bytes]);
                self.shifted(&codes::SHIFT_LEFT, Lane::I32, lanes, 31)
            }
        }
    }

    /// Lanes shifted to the left, each by a number of its own.
    fn shifted_by(&mut self, code: Code, x: Virtual, counts: &[u8]) -> Virtual {
        let home = self.constants.vector(Lane::I32, counts);
        let counts = self.at_home(home);
        self.def(code, YMM, [Arg::Use(x, YMM), Arg::UseOrMemory(counts, YMM, 0)])
    }

    /// A mask of a scalar that is not zero.
    pub fn scalar_mask_lanes(&mut self, number: u16) -> Truths {
        let home = self.constants.laid(Laid::IsZero(number));
        Truths { is_inverted: true, ..self.whole_lanes(home) }
    }

    /// A mask that is the same for all rows.
    pub fn literal_mask_lanes(&mut self, value: bool) -> Truths {
        let home = self.constants.literal(Lane::I32, u64::MAX);
        Truths { is_inverted: !value, ..self.whole_lanes(home) }
    }

    fn whole_lanes(&mut self, home: Home) -> Truths {
        let lanes = self.at_home(home);
        let wide = Some(Parts::new(2, |_| lanes));
        Truths { wide, narrow: Some(lanes), is_full: true, ..Truths::default() }
    }

    /// A comparison.
    pub fn compare_lanes(&mut self, comparison: Comparison, lane: Lane, x: Parts, y: Parts) -> Truths {
        let mut is_inverted = false;
        let lanes = Parts::new(x.len(), |part| {
            let (x, y) = (x.part(part), y.part(part));
            if lane.is_float() {
                return self.compare_floats(comparison, lane, x, y);
            }
            match comparison {
                Comparison::Equal => self.op2_swapped(&codes::EQUAL_INT, lane, x, y),
                Comparison::NotEqual => {
                    is_inverted = true;
                    self.op2_swapped(&codes::EQUAL_INT, lane, x, y)
                }
                Comparison::Greater => self.op2(&codes::GREATER_INT, lane, x, y),
                Comparison::Less => self.op2(&codes::GREATER_INT, lane, y, x),
                Comparison::LessEqual => {
                    is_inverted = true;
                    self.op2(&codes::GREATER_INT, lane, x, y)
                }
                Comparison::GreaterEqual => {
                    is_inverted = true;
                    self.op2(&codes::GREATER_INT, lane, y, x)
                }
                Comparison::Unordered => unreachable!("integers have an order"),
            }
        });
        Truths { is_full: true, is_inverted, ..of_width(lanes) }
    }

    fn compare_floats(&mut self, comparison: Comparison, lane: Lane, x: Virtual, y: Virtual) -> Virtual {
        let has_home = |v: Virtual| self.body.virtuals[v.index()].home.is_some();
        let (comparison, x, y) = match has_home(x) && !has_home(y) {
            true => (crate::strip::x86::avx512::swapped(comparison), y, x),
            false => (comparison, x, y),
        };
        let predicate = Arg::Immediate(float_predicate(comparison));
        let operands = [Arg::Use(x, YMM), Arg::UseOrMemory(y, YMM, 0), predicate];
        self.def(code(&codes::COMPARE_FLOAT, self.target.form(lane)), YMM, operands)
    }

    /// Lanes of `yes` where the sign of the mask is set, else of `no`.
    pub fn blend_lanes(&mut self, lane: Lane, mask: Virtual, yes: Virtual, no: Virtual) -> Virtual {
        let operands = [Arg::Use(no, YMM), Arg::UseOrMemory(yes, YMM, 0), Arg::Use(mask, YMM)];
        self.def(code(&codes::BLEND_LANES, self.target.form(lane)), YMM, operands)
    }

    /// An operation on masks, by the width that takes fewer instructions.
    pub fn mask_binary_lanes(&mut self, copy: usize, op: BinaryOp, x: Term, y: Term) -> Truths {
        let width = self.width_of_both(copy, x, y);
        let (x, y) = (self.of(width, copy, x), self.of(width, copy, y));
        self.combined(op, width, x, y)
    }

    /// The mask `yes` where a mask is set, else the mask `no`.
    pub fn mask_select_lanes(&mut self, copy: usize, mask: Term, yes: Term, no: Term) -> Truths {
        let width = self.width_of_both(copy, mask, yes);
        let (mask, yes) = (self.of(width, copy, mask), self.of(width, copy, yes));
        let no = self.of(width, copy, no);
        let yes = self.combined(BinaryOp::And, width, mask, yes);
        let no = self.combined(BinaryOp::AndNot, width, no, mask);
        self.combined(BinaryOp::Or, width, yes, no)
    }

    fn width_of_both(&self, copy: usize, x: Term, y: Term) -> Width {
        let (x, y) = (self.mask(copy, x), self.mask(copy, y));
        let can_be_wide = |mask: &Truths| mask.wide.is_some() || mask.narrow.is_none();
        let is_wide = |mask: &Truths| mask.wide.is_some() && mask.narrow.is_none();
        let undecided = x.narrow.is_none() && y.narrow.is_none() && self.target.is_wide;
        match can_be_wide(&x) && can_be_wide(&y) && (is_wide(&x) || is_wide(&y) || undecided) {
            true => Width::Wide,
            false => Width::Narrow,
        }
    }

    fn of(&mut self, width: Width, copy: usize, term: Term) -> Truths {
        match width {
            Width::Wide => self.wide_mask(copy, term),
            Width::Narrow => self.narrow_mask(copy, term),
        }
    }

    fn combined(&mut self, op: BinaryOp, width: Width, x: Truths, y: Truths) -> Truths {
        let y = match op {
            BinaryOp::AndNot => Truths { is_inverted: !y.is_inverted, ..y },
            _ => y,
        };
        let (codes, is_swapped, is_inverted): (&Codes, bool, bool) = match (op, x.is_inverted, y.is_inverted)
        {
            (BinaryOp::Xor, p, q) => (&codes::XOR, false, p != q),
            (BinaryOp::Or, false, false) => (&codes::OR, false, false),
            // What is not in one and not in the other is in neither.
            (BinaryOp::Or, true, true) => (&codes::AND, false, true),
            (BinaryOp::Or, true, false) => (&codes::AND_NOT, true, true),
            (BinaryOp::Or, false, true) => (&codes::AND_NOT, false, true),
            (_, false, false) => (&codes::AND, false, false),
            (_, true, true) => (&codes::OR, false, true),
            (_, true, false) => (&codes::AND_NOT, false, false),
            (_, false, true) => (&codes::AND_NOT, true, false),
        };
        let lanes = |mask: Truths| match width {
            Width::Wide => mask.wide.expect("lanes of 64 bits"),
            Width::Narrow => {
                let narrow = mask.narrow.expect("lanes of 32 bits");
                Parts::new(1, |_| narrow)
            }
        };
        let (a, b) = if is_swapped { (lanes(y), lanes(x)) } else { (lanes(x), lanes(y)) };
        let lane = if width == Width::Wide { Lane::I64 } else { Lane::I32 };
        let lanes = Parts::new(a.len(), |part| self.op2(codes, lane, a.part(part), b.part(part)));
        Truths { is_full: x.is_full && y.is_full, is_inverted, ..of_width(lanes) }
    }

    /// Takes a mask in among those that fire.
    pub fn fire_lanes(&mut self, copy: usize, term: Term) {
        let known = self.mask(copy, term);
        let width = match known.narrow.is_none() && known.wide.is_some() {
            true => Width::Wide,
            false => Width::Narrow,
        };
        let mask = self.of(width, copy, term);
        let (lane, lanes) = match width {
            Width::Wide => (Lane::I64, mask.wide.expect("lanes of 64 bits")),
            Width::Narrow => {
                let narrow = mask.narrow.expect("lanes of 32 bits");
                (Lane::I32, Parts::new(1, |_| narrow))
            }
        };
        for part in 0..lanes.len() {
            let mut fires = lanes.part(part);
            if self.extent == RowCount::Rest {
                let offset = match width {
                    Width::Wide => REST_WIDE + 32 * part as u32,
                    Width::Narrow => REST_NARROW,
                };
                let rest = self.on_stack(offset);
                let codes = if mask.is_inverted { &codes::AND_NOT } else { &codes::AND };
                fires = self.op2(codes, lane, fires, rest);
            } else if mask.is_inverted {
                let ones = self.splat(lane, u64::MAX);
                fires = self.op2(&codes::XOR, lane, fires, ones);
            }
            let all = if width == Width::Wide { self.fires.wide } else { self.fires.narrow };
            if let Some(all) = all {
                fires = self.op2(&codes::OR, lane, all, fires);
            }
            *(if width == Width::Wide { &mut self.fires.wide } else { &mut self.fires.narrow }) = Some(fires);
        }
    }

    /// What fires goes to the result of the call.
    pub fn fire_end_lanes(&mut self) {
        let wide = self.fires.wide.map(|fires| (Code::VEX_Vmovmskpd_r32_ymm, fires));
        let narrow = self.fires.narrow.map(|fires| (Code::VEX_Vmovmskps_r32_ymm, fires));
        let scratch = Arg::General(Register::R14D);
        for (code, fires) in wide.into_iter().chain(narrow) {
            self.body.push(Inst::new(code, [scratch, Arg::Use(fires, YMM)]));
            self.body.push(Inst::new(Code::Or_r32_rm32, [Arg::General(Register::EAX), scratch]));
        }
    }

    /// Bits of presence of the rows of a group; zeros behind the last row.
    pub fn store_presence_lanes(&mut self, copy: usize, address: Address, term: Term) {
        let mask = self.narrow_mask(copy, term);
        let lanes = mask.narrow.expect("lanes of 32 bits");
        let scratch = Arg::General(Register::R14D);
        self.body.push(Inst::new(Code::VEX_Vmovmskps_r32_ymm, [scratch, Arg::Use(lanes, YMM)]));
        if mask.is_inverted {
            self.body.push(Inst::new(Code::Not_rm32, [scratch]));
        }
        if self.extent == RowCount::Rest {
            let bits = Arg::Memory(Address::Stack(REST_BITS));
            self.body.push(Inst::new(Code::And_r32_rm32, [scratch, bits]));
        }
        self.body.push(Inst::new(Code::Mov_rm8_r8, [Arg::Memory(address), Arg::General(Register::R14L)]));
    }

    /// Truths of the rows of a group as bytes.
    pub fn store_bytes_lanes(&mut self, copy: usize, address: Address, term: Term) {
        let mask = self.narrow_mask(copy, term);
        let lanes = mask.narrow.expect("lanes of 32 bits");
        // Signs survive saturation.
        let upper = self.upper_half(lanes);
        let words = [Arg::Use(lanes, XMM), Arg::Use(upper, XMM)];
        let words = self.def(Code::VEX_Vpackssdw_xmm_xmm_xmmm128, XMM, words);
        let bytes = [Arg::Use(words, XMM), Arg::Use(words, XMM)];
        let bytes = self.def(Code::VEX_Vpacksswb_xmm_xmm_xmmm128, XMM, bytes);
        let signs = [Arg::Use(bytes, XMM), Arg::Immediate(7)];
        let signs = self.def(Code::VEX_Vpsrlw_xmm_xmm_imm8, XMM, signs);
        let ones = self.splat(Lane::I32, 0x0101_0101);
        let code = match mask.is_inverted {
            true => Code::VEX_Vpandn_xmm_xmm_xmmm128,
            false => Code::VEX_Vpand_xmm_xmm_xmmm128,
        };
        let truths = self.def(code, XMM, [Arg::Use(signs, XMM), Arg::UseOrMemory(ones, XMM, 0)]);
        let args = [Arg::Memory(address), Arg::Use(truths, XMM)];
        self.body.push(match self.extent {
            RowCount::Rest => Inst::of_kind(Kind::StoreRestBytes, args),
            RowCount::Groups(_) => Inst::new(Code::VEX_Vmovq_xmmm64_xmm, args),
        });
    }

    fn on_stack(&mut self, offset: u32) -> Virtual {
        let home = self.constants.on_stack(offset);
        self.at_home(home)
    }

    /// The lanes of the last rows.
    pub fn rest_lanes(&mut self, lane: Lane, part: usize) -> Virtual {
        self.on_stack(if lane.bytes() == 8 { REST_WIDE + 32 * part as u32 } else { REST_NARROW })
    }

    /// Lanes of the last rows; zero in others.
    pub fn load_rest_lanes(&mut self, lane: Lane, address: Address, part: usize) -> Virtual {
        let rest = self.rest_lanes(lane, part);
        let code = match lane.bytes() {
            8 => Code::VEX_Vmaskmovpd_ymm_ymm_m256,
            _ => Code::VEX_Vmaskmovps_ymm_ymm_m256,
        };
        self.def(code, YMM, [Arg::Use(rest, YMM), Arg::Memory(address)])
    }

    /// Lanes of the last rows to memory.
    pub fn store_rest_lanes(&mut self, lane: Lane, address: Address, part: usize, value: Virtual) {
        let rest = self.rest_lanes(lane, part);
        let code = match lane.bytes() {
            8 => Code::VEX_Vmaskmovpd_m256_ymm_ymm,
            _ => Code::VEX_Vmaskmovps_m256_ymm_ymm,
        };
        self.body.push(Inst::new(code, [Arg::Memory(address), Arg::Use(rest, YMM), Arg::Use(value, YMM)]));
    }
}

/// A mask of these lanes.
fn of_width(lanes: Parts) -> Truths {
    match lanes.len() {
        2 => Truths { wide: Some(lanes), ..Truths::default() },
        _ => Truths { narrow: Some(lanes.part(0)), ..Truths::default() },
    }
}

/// A place so many bytes behind another one in a column.
fn further(address: Address, bytes: i32) -> Address {
    match address {
        Address::Column { number, row_bytes, offset } => {
            Address::Column { number, row_bytes, offset: offset + bytes }
        }
        other => unreachable!("{other:?} is no column of rows"),
    }
}
