//! Shape of groups: how rows of each type lie in the registers of a level.

use crate::strip::list::List;
use crate::strip::op::Lane;
use crate::strip::x86::codes::Form;
use crate::strip::x86::inst::{View, Virtual};
use crate::vector::Level;

/// A level, and the rows of a group on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupShape {
    /// True for AVX-512, false for AVX2.
    pub is_512: bool,
    /// Rows of a group, 8 or 16.
    pub group: usize,
    /// True if something has 64 bits.
    pub is_wide: bool,
}

impl GroupShape {
    /// That of a list: 16 rows where registers have 512 bits and nothing is wider than 32.
    pub fn new(list: &List, level: Level) -> GroupShape {
        let is_512 = level == Level::Avx512;
        let is_wide = list.is_wide();
        let is_long = is_512 && !is_wide && !list.has_eights();
        GroupShape { is_512, group: if is_long { 16 } else { 8 }, is_wide }
    }

    /// The form of lanes.
    pub fn form(self, lane: Lane) -> Form {
        match (self.is_512, lane.bytes(), self.group) {
            (false, 8, _) => Form::Vex64,
            (false, ..) => Form::Vex32,
            (true, 8, _) => Form::Zmm64,
            (true, _, 8) => Form::Ymm32,
            (true, ..) => Form::Zmm32,
        }
    }

    /// The registers of lanes.
    pub fn view(self, lane: Lane) -> View {
        match self.form(lane) {
            Form::Zmm64 | Form::Zmm32 => View::Zmm,
            Form::Vex64 | Form::Vex32 | Form::Ymm32 => View::Ymm,
        }
    }

    /// How many registers the rows of a group take.
    pub fn parts(self, lane: Lane) -> usize {
        if self.form(lane) == Form::Vex64 { 2 } else { 1 }
    }

    /// Bytes of a lane that an instruction can broadcast from memory; 0 if it cannot.
    pub fn broadcast(self, lane: Lane) -> u8 {
        if self.is_512 { lane.bytes() as u8 } else { 0 }
    }

    /// Vector registers of the level.
    pub fn vectors(self) -> u8 {
        if self.is_512 { 32 } else { 16 }
    }

    /// Constants that may stay in registers; with more of them there is too little room for values.
    pub fn constants(self) -> usize {
        if self.is_512 { 14 } else { 6 }
    }

    /// Bytes of a slot of the stack.
    pub fn slot_bytes(self) -> u32 {
        if self.is_512 { 64 } else { 32 }
    }
}

/// The registers of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    registers: [Virtual; 2],
    len: u8,
}

impl Parts {
    /// One or two, by what a function gives for each.
    pub fn new(len: usize, mut part: impl FnMut(usize) -> Virtual) -> Parts {
        let first = part(0);
        let second = if len == 2 { part(1) } else { first };
        Parts { registers: [first, second], len: len as u8 }
    }

    /// How many.
    pub fn len(self) -> usize {
        self.len.into()
    }

    /// One of them.
    pub fn part(self, number: usize) -> Virtual {
        self.registers[number]
    }
}
