//! Columns that are taken: a register full of cells at positions.
//!
//! ```text
//! positions   p0 p1 p2 p3 p4 p5 p6 p7            r14d = p0,  vmovsd xmm [base + r14*8]     lower half
//! cells       c[p0] c[p1] | c[p2] c[p3] | …      r14d = p1,  vmovhpd … [base + r14*8]      upper half of 128 bits
//!             one xmm       one xmm              vinsertf…: two xmm to a ymm, two ymm to a zmm
//! ```
//!
//! The instructions that gather take longer where they are a sequence of microcode. In the rest of rows, lanes behind the last row have the cell of the first row: no byte is read
//! that is none of the positions' or of the cells'.

use crate::strip::op::Lane;
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Address, Arg, View, Virtual};
use crate::strip::x86::lower::{Lower, RowCount};
use iced_x86::Code;

const XMM: View = View::Xmm;

/// Lanes of 32 bits in an xmm.
const NARROW: usize = 4;

/// Lanes of 64 bits in an xmm.
const WIDE: usize = 2;

/// A column that is taken, for the rows of a group.
#[derive(Clone, Copy)]
struct TakenRows {
    number: u16,
    positions: u16,
    lane: Lane,
    /// The first row of the group.
    first: usize,
}

impl Lower<'_> {
    /// The cells that the positions of the rows of a group choose.
    pub fn taken(&mut self, copy: usize, number: u16, positions: u16, lane: Lane) -> Parts {
        let rows = TakenRows { number, positions, lane, first: copy * self.target.group };
        let view = self.target.view(lane);
        let lanes = view.bytes() / lane.bytes();
        Parts::new(self.target.parts(lane), |part| self.taken_lanes(rows, view, part * lanes))
    }

    /// A register of cells, of the rows from a number on.
    fn taken_lanes(&mut self, rows: TakenRows, view: View, row: usize) -> Virtual {
        let is_512 = self.target.is_512;
        let (half, code) = match view {
            View::Zmm => (View::Ymm, Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8),
            View::Ymm if is_512 => (View::Xmm, Code::EVEX_Vinsertf32x4_ymm_k1z_ymm_xmmm128_imm8),
            View::Ymm => (View::Xmm, Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8),
            View::Xmm | View::Mask => return self.taken_xmm(rows, row),
        };
        let lower = self.taken_lanes(rows, half, row);
        let upper = self.taken_lanes(rows, half, row + half.bytes() / rows.lane.bytes());
        self.def(code, view, [Arg::Use(lower, view), Arg::UseOrMemory(upper, half, 0), Arg::Immediate(1)])
    }

    /// An xmm of cells.
    fn taken_xmm(&mut self, rows: TakenRows, row: usize) -> Virtual {
        let is_rest = self.extent == RowCount::Rest;
        let TakenRows { number, positions, lane, first } = rows;
        let cell = |lane_of_xmm: usize| {
            let (cell_bytes, row) = (lane.bytes() as u8, (first + row + lane_of_xmm) as u16);
            Arg::Memory(Address::Taken { number, positions, cell_bytes, row, is_rest })
        };
        let is_512 = self.target.is_512;
        if lane.bytes() == 8 {
            let (load, add) = match is_512 {
                true => (Code::EVEX_Vmovsd_xmm_k1z_m64, Code::EVEX_Vmovhpd_xmm_xmm_m64),
                false => (Code::VEX_Vmovsd_xmm_m64, Code::VEX_Vmovhpd_xmm_xmm_m64),
            };
            let one = self.def(load, XMM, [cell(0)]);
            return (1..WIDE).fold(one, |lanes, lane| self.def(add, XMM, [Arg::Use(lanes, XMM), cell(lane)]));
        }
        let (load, add) = match is_512 {
            true => (Code::EVEX_Vmovss_xmm_k1z_m32, Code::EVEX_Vinsertps_xmm_xmm_xmmm32_imm8),
            false => (Code::VEX_Vmovss_xmm_m32, Code::VEX_Vinsertps_xmm_xmm_xmmm32_imm8),
        };
        let one = self.def(load, XMM, [cell(0)]);
        (1..NARROW).fold(one, |lanes, lane| {
            let place = Arg::Immediate((lane as u8) << 4);
            self.def(add, XMM, [Arg::Use(lanes, XMM), cell(lane), place])
        })
    }
}
