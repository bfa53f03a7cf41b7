//! Instructions of x86-64 on virtual registers: what lowering makes and allocation reads.
//!
//! ```text
//! v7 = vmulpd v5, v2         v5 in a register, v2 in one or in memory
//! v8 = vfmadd213pd v7, ...   v7 and v8 are one register
//! ```
//!
//! 1. A virtual register is defined once, before it is used: by an instruction, or by its *home*, a place in memory that
//!    has had its value since the body began. What has a home is loaded when it is wanted, and never saved.
//! 2. Operands are in the order of the encoding.

use iced_x86::{Code, Register};

/// Number of a virtual register in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Virtual(pub u32);

impl Virtual {
    /// Its position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The registers that a virtual one can stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bank {
    /// xmm, ymm, zmm.
    Vector,
    /// k1 to k7.
    Mask,
}

/// How much of a register an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// 128 bits.
    Xmm,
    /// 256 bits.
    Ymm,
    /// 512 bits.
    Zmm,
    /// A mask register.
    Mask,
}

impl View {
    /// The register with this number.
    pub fn register(self, number: u8) -> Register {
        let base = match self {
            View::Xmm => Register::XMM0,
            View::Ymm => Register::YMM0,
            View::Zmm => Register::ZMM0,
            View::Mask => Register::K0,
        };
        base + u32::from(number)
    }

    /// Where such registers are.
    pub fn bank(self) -> Bank {
        if self == View::Mask { Bank::Mask } else { Bank::Vector }
    }

    /// Bytes.
    pub fn bytes(self) -> usize {
        match self {
            View::Xmm => 16,
            View::Ymm => 32,
            View::Zmm => 64,
            View::Mask => 8,
        }
    }
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// Of a column: row `index + row`, where rows have so many bytes, and bytes beyond that.
    Column {
        /// The column.
        number: u16,
        /// Bytes of a row.
        row_bytes: u8,
        /// Bytes from the first row of the iteration.
        offset: i32,
    },
    /// Of a column that is taken: the cell at the position that a row of another column has. Nobody but the instruction that
    /// has such an operand needs the position.
    Taken {
        /// The column.
        number: u16,
        /// The column of positions.
        positions: u16,
        /// Bytes of a cell.
        cell_bytes: u8,
        /// The row, counted from the first one of the iteration.
        row: u16,
        /// True in the rest of rows: then a row behind the last one has the position of the first one.
        is_rest: bool,
    },
    /// Of a column of presence: a byte, counted from that of the first row of the iteration.
    Presence {
        /// The column.
        number: u16,
        /// Bytes from that byte.
        offset: i32,
    },
    /// The constant of the call with this number.
    Scalar(u16),
    /// Bytes of the literals before the code.
    Pool(u32),
    /// Bytes of the stack frame.
    Stack(u32),
}

/// Where a virtual register can be loaded from at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    /// The place.
    pub address: Address,
    /// The instruction that loads it to a register.
    pub load: Code,
    /// The part of a register that it loads.
    pub view: View,
    /// Bytes of the one lane that memory holds and that all lanes get; 0 if memory holds all lanes.
    pub broadcast: u8,
}

/// What is known of a virtual register.
#[derive(Clone, Copy, Debug)]
pub struct VirtualInfo {
    /// How much of a register it is.
    pub view: View,
    /// Where it can be loaded from.
    pub home: Option<Home>,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A register that is written.
    Def(Virtual, View),
    /// A register that holds the first and then the second.
    Change(Virtual, Virtual, View),
    /// A register that is read.
    Use(Virtual, View),
    /// A register that is read, or its home; the number is that of bytes that the instruction can broadcast.
    UseOrMemory(Virtual, View, u8),
    /// Memory.
    Memory(Address),
    /// A general register.
    General(Register),
    /// A number.
    Immediate(u8),
}

/// Most operands of an instruction.
pub const MAX_ARGS: usize = 4;

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// What it does.
    pub kind: Kind,
    /// Its operands; all behind the first `None` are `None`.
    pub args: [Option<Arg>; MAX_ARGS],
    /// The lanes that it writes; others keep what they have, or become zero.
    pub mask: Option<WriteMask>,
}

/// The lanes that an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMask {
    /// Those of a virtual mask; others keep what they have.
    Merge(Virtual),
    /// Those of a virtual mask; others become zero.
    Zero(Virtual),
    /// Those of the rest of rows, in k7; others keep what they have.
    Rest,
    /// Those of the rest of rows, in k7; others become zero.
    RestZero,
}

impl WriteMask {
    /// The virtual mask.
    pub fn mask(self) -> Option<Virtual> {
        match self {
            WriteMask::Merge(mask) | WriteMask::Zero(mask) => Some(mask),
            WriteMask::Rest | WriteMask::RestZero => None,
        }
    }

    /// True if other lanes become zero.
    pub fn is_zeroing(self) -> bool {
        matches!(self, WriteMask::Zero(_) | WriteMask::RestZero)
    }
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One instruction of the machine.
    Code(Code),
    /// Bytes of the rest of rows, fewer than 8, from memory to the low half of a vector register: `Def`, `Memory`.
    LoadRestBytes,
    /// The low bytes of a vector register to the rest of rows, fewer than 8: `Memory`, `Use`.
    StoreRestBytes,
}

impl Inst {
    /// One of the machine.
    pub fn new<const N: usize>(code: Code, args: [Arg; N]) -> Inst {
        Inst::of_kind(Kind::Code(code), args)
    }

    /// One of a kind.
    pub fn of_kind<const N: usize>(kind: Kind, args: [Arg; N]) -> Inst {
        let mut all = [None; MAX_ARGS];
        all.iter_mut().zip(args).for_each(|(place, arg)| *place = Some(arg));
        Inst { kind, args: all, mask: None }
    }

    /// The same under a mask.
    pub fn masked(self, mask: WriteMask) -> Inst {
        Inst { mask: Some(mask), ..self }
    }

    /// Its operands.
    pub fn args(&self) -> impl Iterator<Item = Arg> {
        self.args.into_iter().flatten()
    }

    /// The virtual registers that it reads.
    pub fn uses(&self) -> impl Iterator<Item = Virtual> {
        let read = |arg| match arg {
            Arg::Use(v, _) | Arg::UseOrMemory(v, ..) | Arg::Change(v, ..) => Some(v),
            _ => None,
        };
        self.args().filter_map(read).chain(self.mask.and_then(WriteMask::mask))
    }

    /// The virtual register that it defines.
    pub fn def(&self) -> Option<Virtual> {
        self.args().find_map(|arg| match arg {
            Arg::Def(v, _) | Arg::Change(_, v, _) => Some(v),
            _ => None,
        })
    }
}

/// Instructions of one iteration, in order.
#[derive(Clone, Debug, Default)]
pub struct LoopBody {
    /// The instructions.
    pub insts: Vec<Inst>,
    /// The virtual registers.
    pub virtuals: Vec<VirtualInfo>,
}

impl LoopBody {
    /// A virtual register that an instruction is going to define.
    pub fn fresh(&mut self, view: View) -> Virtual {
        self.virtuals.push(VirtualInfo { view, home: None });
        Virtual(self.virtuals.len() as u32 - 1)
    }

    /// A virtual register with a home.
    pub fn at_home(&mut self, home: Home) -> Virtual {
        self.virtuals.push(VirtualInfo { view: home.view, home: Some(home) });
        Virtual(self.virtuals.len() as u32 - 1)
    }

    /// Adds an instruction.
    pub fn push(&mut self, inst: Inst) {
        self.insts.push(inst);
    }
}
