//! Constants: what all rows of a call share, and where it stands in memory.
//!
//! ```text
//! literal   AVX-512   one lane before the code, broadcast by the instruction that reads it
//!           AVX2      a register full before the code
//! scalar    AVX-512   where the caller has it, broadcast
//!           AVX2      a register full in the stack frame, laid out when the strip is entered
//! rest      AVX2      lanes of ones for the rows of the last group, in the stack frame; AVX-512 has k7
//! ```

use crate::strip::op::Lane;
use crate::strip::x86::codes::{self, code};
use crate::strip::x86::group_shape::GroupShape;
use crate::strip::x86::inst::{Address, Home, View};
use hashbrown::HashMap;

/// What is laid out in the stack frame when the strip is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Laid {
    /// A scalar in all lanes, of 8 or 4 bytes.
    Scalar(u16, u8),
    /// Lanes of ones if the scalar is zero.
    IsZero(u16),
}

/// Stack frame of AVX2, below the slots: masks of the last group, in the order of their offsets.
pub const REST_WIDE: u32 = 0;
/// Lanes of 32 bits.
pub const REST_NARROW: u32 = 64;
/// Bits of the rows of the last group.
pub const REST_BITS: u32 = 96;
/// What follows.
const REST_END: u32 = 128;

/// Constants of a strip.
#[derive(Debug)]
pub struct Constants {
    target: GroupShape,
    /// Literals, before the code.
    pub pool: Vec<u8>,
    literals: HashMap<Vec<u8>, u32>,
    known: HashMap<(Lane, u64), Home>,
    /// What is laid out, and where.
    pub laid: Vec<(Laid, u32)>,
    /// Bytes of the stack frame that constants have.
    pub frame: u32,
}

impl Constants {
    /// None yet.
    pub fn new(target: GroupShape) -> Constants {
        let frame = if target.is_512 { 0 } else { REST_END };
        Constants {
            target,
            pool: Vec::new(),
            literals: HashMap::new(),
            known: HashMap::new(),
            laid: Vec::new(),
            frame,
        }
    }

    /// Bytes before the code, aligned to their number up to 64.
    pub fn bytes(&mut self, bytes: &[u8]) -> Address {
        let pool = &mut self.pool;
        let offset = self.literals.entry(bytes.to_vec()).or_insert_with(|| {
            let aligned = pool.len().next_multiple_of(bytes.len().next_power_of_two().min(64));
            pool.resize(aligned, 0);
            pool.extend_from_slice(bytes);
            aligned as u32
        });
        Address::Pool(*offset)
    }

    /// The bits in all lanes of a type.
    pub fn literal(&mut self, lane: Lane, bits: u64) -> Home {
        if let Some(home) = self.known.get(&(lane, bits)) {
            return *home;
        }
        let home = self.new_literal(lane, bits);
        self.known.insert((lane, bits), home);
        home
    }

    fn new_literal(&mut self, lane: Lane, bits: u64) -> Home {
        let lane_bytes = lane.bytes();
        let one = &bits.to_le_bytes()[..lane_bytes];
        let form = self.target.form(lane);
        let view = self.target.view(lane);
        match self.target.is_512 {
            true => {
                let address = self.bytes(one);
                Home { address, load: code(&codes::BROADCAST, form), view, broadcast: lane_bytes as u8 }
            }
            false => {
                let address = self.bytes(&one.repeat(view.bytes() / lane_bytes));
                Home { address, load: code(&codes::LOAD, form), view, broadcast: 0 }
            }
        }
    }

    /// A register full of bytes.
    pub fn vector(&mut self, lane: Lane, bytes: &[u8]) -> Home {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        Home { address: self.bytes(bytes), load: code(&codes::LOAD, form), view, broadcast: 0 }
    }

    /// A scalar in all lanes of a type.
    pub fn scalar(&mut self, lane: Lane, number: u16) -> Home {
        let form = self.target.form(lane);
        let view = self.target.view(lane);
        let bytes = lane.bytes() as u8;
        match self.target.is_512 {
            true => Home {
                address: Address::Scalar(number),
                load: code(&codes::BROADCAST, form),
                view,
                broadcast: bytes,
            },
            false => self.laid(Laid::Scalar(number, bytes)),
        }
    }

    /// What is laid out in the stack frame.
    pub fn laid(&mut self, laid: Laid) -> Home {
        let known = self.laid.iter().find(|(other, _)| *other == laid).map(|(_, offset)| *offset);
        let offset = known.unwrap_or_else(|| {
            let offset = self.frame;
            self.laid.push((laid, offset));
            self.frame += View::Ymm.bytes() as u32;
            offset
        });
        self.on_stack(offset)
    }

    /// Room in the stack frame, from a multiple of 64 on.
    pub fn reserve(&mut self, bytes: u32) -> u32 {
        let offset = self.frame.next_multiple_of(64);
        self.frame = offset + bytes;
        offset
    }

    /// A ymm of the stack frame.
    pub fn on_stack(&self, offset: u32) -> Home {
        let load = code(&codes::LOAD, codes::Form::Vex64);
        Home { address: Address::Stack(offset), load, view: View::Ymm, broadcast: 0 }
    }
}
