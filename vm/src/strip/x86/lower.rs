//! Lowering: the terms of a list as instructions for one iteration.
//!
//! ```text
//! t3 = mul t0 t1      group 0:  v7 = vmulpd v1, v2      group 1:  v8 = vmulpd v5, v2
//! t4 = add t3 t2      group 0:  v9 = vaddpd v7, v3      group 1:  v10 = vaddpd v8, v3
//! ```
//!
//! An iteration takes one group of rows or several. Several are interleaved operation by operation, so that their
//! chains of dependent operations overlap. Columns and constants are operands with a home and become no instruction.
//! Results are stored last, after every row of the iteration has been read: a column may be read and written.
//!
//! The last rows, fewer than a group, have a body of their own. It reads and writes memory under a mask of its rows, and
//! computes on whatever stands in the other lanes.

use crate::strip::list::List;
use crate::strip::op::{BinaryOp, Lane, Op, Sink, Term};
use crate::strip::x86::codes::{self, Codes, code};
use crate::strip::x86::constants::Constants;
use crate::strip::x86::folds::FoldPlan;
use crate::strip::x86::group_shape::{GroupShape, Parts};
use crate::strip::x86::inst::{Address, Arg, Home, Inst, LoopBody, MAX_ARGS, View, Virtual};
use crate::strip::x86::merge::{Choice, Merges, operands, signed};
use hashbrown::HashMap;

/// The rows that a body computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCount {
    /// So many whole groups.
    Groups(usize),
    /// Fewer rows than a group.
    Rest,
}

impl RowCount {
    /// Groups of which there are copies.
    pub fn copies(self) -> usize {
        match self {
            RowCount::Groups(count) => count,
            RowCount::Rest => 1,
        }
    }
}

/// Where a mask is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truths {
    /// A mask register.
    pub register: Option<Virtual>,
    /// Lanes of 64 bits; the sign of a lane counts.
    pub wide: Option<Parts>,
    /// Lanes of 32 bits.
    pub narrow: Option<Virtual>,
    /// A column that lanes can be read from, not read yet.
    pub source: Option<Source>,
    /// True if the lanes of the mask are ones or zeros, not only their signs.
    pub is_full: bool,
    /// True if it stands for the opposite.
    pub is_inverted: bool,
}

/// A column of truths.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Bytes that are 0 or 1.
    Bytes(Address),
    /// A byte of presence.
    Presence(Address),
}

/// A term in registers.
#[derive(Clone, Copy, Debug)]
pub enum Lowered {
    /// Numbers.
    Number(Parts),
    /// A mask.
    Mask(Truths),
}

/// A list on the way to a body.
pub struct Lower<'l> {
    pub list: &'l List,
    pub target: GroupShape,
    pub extent: RowCount,
    pub constants: &'l mut Constants,
    pub body: LoopBody,
    /// Reads of each term by terms and sinks that matter.
    reads: &'l [u32],
    pub merges: &'l Merges,
    pub folds: &'l [FoldPlan],
    homes: HashMap<Home, Virtual>,
    /// By copy, then by term.
    values: Vec<Vec<Option<Lowered>>>,
    /// What fires in any group so far.
    pub fires: Fires,
    /// By rows of floats: where they are NaN, as far as folds have asked.
    pub unordered: HashMap<Virtual, Virtual>,
    /// By column: the running result of the groups so far.
    pub running: HashMap<u16, Virtual>,
    /// By column: the sums of one integer in the rows of a register.
    pub multiples: HashMap<u16, Virtual>,
}

/// Masks of which one fires.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fires {
    /// In a mask register.
    pub register: Option<Truths>,
    /// In lanes of 64 bits.
    pub wide: Option<Virtual>,
    /// In lanes of 32 bits.
    pub narrow: Option<Virtual>,
}

/// How often each term is read by what matters to a sink; 0 if it does not.
pub fn reads(list: &List) -> Vec<u32> {
    let mut reads = vec![0; list.terms().len()];
    for sink in list.sinks() {
        reads[sink.term().index()] += 1;
    }
    for (term, op, _) in list.terms().rev() {
        if reads[term.index()] > 0 {
            operands(list, op).for_each(|operand| reads[operand.index()] += 1);
        }
    }
    reads
}

/// What is lowered.
#[derive(Clone, Copy)]
pub struct Lowering<'l> {
    pub list: &'l List,
    pub reads: &'l [u32],
    pub merges: &'l Merges,
    pub folds: &'l [FoldPlan],
    pub target: GroupShape,
}

/// The body of an iteration, and the virtual register of each constant of `pinned` in it.
pub fn lower(
    lowering: Lowering<'_>,
    extent: RowCount,
    constants: &mut Constants,
    pinned: &[Home],
) -> (LoopBody, Vec<Virtual>) {
    let Lowering { list, reads, merges, folds, target } = lowering;
    let mut lower = Lower {
        list,
        target,
        extent,
        constants,
        body: LoopBody::default(),
        reads,
        merges,
        folds,
        homes: HashMap::new(),
        values: vec![vec![None; list.terms().len()]; extent.copies()],
        fires: Fires::default(),
        unordered: HashMap::new(),
        running: HashMap::new(),
        multiples: HashMap::new(),
    };
    let pinned = pinned.iter().map(|home| lower.at_home(*home)).collect();
    lower.terms();
    lower.sinks();
    (lower.body, pinned)
}

impl Lower<'_> {
    fn terms(&mut self) {
        for (term, op, lane) in self.list.terms() {
            if self.reads[term.index()] == 0 || self.is_deferred(term) {
                continue;
            }
            for copy in 0..self.extent.copies() {
                let lowered = self.term(copy, term, op, lane);
                self.values[copy][term.index()] = Some(lowered);
            }
        }
    }

    /// As [`Merges::fires_by_integer`], on AVX-512.
    fn fires_by_integer(&self, sink: Sink) -> Option<(Term, Term)> {
        self.merges.fires_by_integer(self.list, self.reads, sink).filter(|_| self.target.is_512)
    }

    /// True if the term is computed by the one that reads it.
    pub fn is_deferred(&self, term: Term) -> bool {
        self.merges.is_deferred[term.index()]
    }

    /// The registers of a term in a group.
    pub fn term(&mut self, copy: usize, term: Term, op: Op, lane: Lane) -> Lowered {
        match op {
            Op::Column(number) if lane == Lane::Mask => self.byte_column(copy, number),
            Op::Column(number) => Lowered::Number(match self.list.positions(number) {
                Some(positions) => self.taken(copy, number, positions, lane),
                None => self.column(copy, number, lane),
            }),
            Op::Presence(number) => {
                let offset = (copy * self.target.group / 8) as i32;
                let address = Address::Presence { number, offset };
                Lowered::Mask(Truths { source: Some(Source::Presence(address)), ..Truths::default() })
            }
            Op::Scalar(number) if lane == Lane::Mask => Lowered::Mask(self.scalar_mask(number)),
            Op::Scalar(number) => {
                let home = self.constants.scalar(lane, number);
                Lowered::Number(self.constant(home, lane))
            }
            Op::Literal(bits) if lane == Lane::Mask => Lowered::Mask(self.literal_mask(bits != 0)),
            Op::Literal(bits) => {
                let home = self.constants.literal(lane, bits);
                Lowered::Number(self.constant(home, lane))
            }
            Op::Bits(x) => Lowered::Number(self.number(copy, x)),
            Op::Running(op, column, x) => Lowered::Number(self.running(op, copy, column, x)),
            // The only one of a mask is its opposite.
            Op::Unary(_, x) if lane == Lane::Mask => {
                let x = self.mask(copy, x);
                Lowered::Mask(Truths { is_inverted: !x.is_inverted, ..x })
            }
            Op::Binary(op, x, y) if lane == Lane::Mask => Lowered::Mask(self.mask_binary(copy, op, x, y)),
            Op::Select(mask, yes, no) if lane == Lane::Mask => {
                Lowered::Mask(self.mask_select(copy, mask, yes, no))
            }
            Op::Compare(comparison, x, y) => {
                let (comparison, of, x, y) = self.compared(copy, term, comparison, [x, y]);
                Lowered::Mask(self.compare(comparison, of, x, y))
            }
            Op::Select(mask, yes, no) => {
                let choice = Choice { copy, lane, mask, yes, no };
                Lowered::Number(self.select(choice, self.merges.choices[term.index()]))
            }
            Op::Unary(op, x) => {
                let x = self.number(copy, x);
                Lowered::Number(self.unary(op, lane, x))
            }
            Op::Binary(op, x, y) => {
                let literal = |term| match self.list.op(term) {
                    Op::Literal(bits) => Some(bits),
                    _ => None,
                };
                let literals = [literal(x), literal(y)];
                let (x, y) = (self.number(copy, x), self.number(copy, y));
                Lowered::Number(self.binary(op, lane, x, y, literals))
            }
            Op::Shift(op, x, bits) => {
                let x = self.number(copy, x);
                Lowered::Number(self.shift(op, lane, x, bits))
            }
            Op::Fma(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|term| {
                    let (term, is_opposite) = signed(self.list, term);
                    (self.number(copy, term), is_opposite)
                });
                Lowered::Number(self.fma(lane, a, b, c))
            }
            Op::Cast(x) => {
                let from = self.list.lane(x);
                let x = self.number(copy, x);
                Lowered::Number(match self.target.is_512 {
                    true => self.cast_512(from, lane, x),
                    false => self.cast_lanes(from, lane, x),
                })
            }
        }
    }

    fn sinks(&mut self) {
        for sink in self.list.sinks() {
            if let Some((_, integer)) = self.fires_by_integer(*sink) {
                self.fire_by_integer(integer);
            } else if let Sink::Fire(mask) = sink {
                for copy in 0..self.extent.copies() {
                    self.fire(copy, *mask);
                }
            }
        }
        self.fire_end();
        self.folds();
        self.read_all();
        for sink in self.list.sinks() {
            for copy in 0..self.extent.copies() {
                match *sink {
                    Sink::Rows(number, term) if self.list.lane(term) == Lane::Mask => {
                        let address = self.rows_of(copy, number, 1, 0);
                        self.store_bytes(copy, address, term);
                    }
                    Sink::Rows(number, term) => self.store(copy, number, term),
                    Sink::Presence(number, term) => {
                        let offset = (copy * self.target.group / 8) as i32;
                        self.store_presence(copy, Address::Presence { number, offset }, term);
                    }
                    Sink::Fire(_) | Sink::Sum(..) | Sink::Lanes(..) | Sink::Spread(..) => {}
                }
            }
        }
    }

    fn folds(&mut self) {
        let terms = self.list.sinks().iter().filter(|sink| sink.is_fold()).map(Sink::term);
        for (fold, term) in self.folds.iter().zip(terms) {
            let values: Vec<Parts> = (0..self.extent.copies()).map(|copy| self.number(copy, term)).collect();
            let values = if fold.is_slow() { vec![self.best_of(fold, values)] } else { values };
            for (copy, value) in values.into_iter().enumerate() {
                self.take_in(fold, copy, value);
            }
            self.move_on(fold);
        }
    }

    /// Reads what is only stored, before anything is: a column may be written by a sink before another sink reads it.
    fn read_all(&mut self) {
        let is_stored = |sink: &&Sink| matches!(sink, Sink::Rows(..) | Sink::Presence(..));
        for sink in self.list.sinks().iter().filter(is_stored) {
            let term = sink.term();
            for copy in 0..self.extent.copies() {
                match (self.list.lane(term), self.target.is_512) {
                    (Lane::Mask, true) => {
                        self.mask_register(copy, term);
                    }
                    (Lane::Mask, false) => {
                        self.narrow_mask(copy, term);
                    }
                    (lane, _) => self.read_column(copy, term, lane),
                }
            }
        }
    }

    /// Moves a number that stands in a column to a register that is saved if it has to leave.
    fn read_column(&mut self, copy: usize, term: Term, lane: Lane) {
        let parts = self.number(copy, term);
        let home = self.body.virtuals[parts.part(0).index()].home;
        if home.is_some_and(|home| matches!(home.address, Address::Column { .. })) {
            let read = Parts::new(parts.len(), |part| self.op1(&codes::LOAD, lane, parts.part(part)));
            self.values[copy][term.index()] = Some(Lowered::Number(read));
        }
    }

    /// The registers of a number.
    pub fn number(&self, copy: usize, term: Term) -> Parts {
        match self.values[copy][term.index()] {
            Some(Lowered::Number(parts)) => parts,
            other => unreachable!("{term} is {other:?}, not a number"),
        }
    }

    /// Where a mask is.
    pub fn mask(&self, copy: usize, term: Term) -> Truths {
        match self.values[copy][term.index()] {
            Some(Lowered::Mask(truths)) => truths,
            other => unreachable!("{term} is {other:?}, not a mask"),
        }
    }

    /// Sets the registers of a term.
    pub fn set(&mut self, copy: usize, term: Term, lowered: Lowered) {
        self.values[copy][term.index()] = Some(lowered);
    }

    /// Keeps what has been found out about a mask: lanes of another width, or those of a column.
    pub fn remember(&mut self, copy: usize, term: Term, truths: Truths) {
        self.values[copy][term.index()] = Some(Lowered::Mask(truths));
    }

    /// A place in a column, counted from the first row of the iteration.
    pub fn rows_of(&self, copy: usize, number: u16, row_bytes: usize, offset: usize) -> Address {
        let offset = (copy * self.target.group * row_bytes + offset) as i32;
        Address::Column { number, row_bytes: row_bytes as u8, offset }
    }

    fn column(&mut self, copy: usize, number: u16, lane: Lane) -> Parts {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let parts = self.target.parts(lane);
        Parts::new(parts, |part| {
            let address = self.rows_of(copy, number, lane.bytes(), part * view.bytes());
            match self.extent {
                RowCount::Groups(_) => {
                    self.at_home(Home { address, load: code(&codes::LOAD, form), view, broadcast: 0 })
                }
                RowCount::Rest => self.load_rest(lane, address, part),
            }
        })
    }

    fn store(&mut self, copy: usize, number: u16, term: Term) {
        let lane = self.list.lane(term);
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let value = self.number(copy, term);
        for part in 0..value.len() {
            let address = self.rows_of(copy, number, lane.bytes(), part * view.bytes());
            match self.extent {
                RowCount::Groups(_) => {
                    let args = [Arg::Memory(address), Arg::Use(value.part(part), view)];
                    self.body.push(Inst::new(code(&codes::STORE, form), args));
                }
                RowCount::Rest => self.store_rest(lane, address, part, value.part(part)),
            }
        }
    }

    /// The virtual register of a home; there is one for each.
    pub fn at_home(&mut self, home: Home) -> Virtual {
        *self.homes.entry(home).or_insert_with(|| self.body.at_home(home))
    }

    /// A constant in all lanes of a type.
    pub fn constant(&mut self, home: Home, lane: Lane) -> Parts {
        let v = self.at_home(home);
        Parts::new(self.target.parts(lane), |_| v)
    }

    /// The bits in all lanes of a type, in one register.
    pub fn splat(&mut self, lane: Lane, bits: u64) -> Virtual {
        let home = self.constants.literal(lane, bits);
        self.at_home(home)
    }

    /// An instruction with a result.
    pub fn def<const N: usize>(&mut self, code: iced_x86::Code, view: View, operands: [Arg; N]) -> Virtual {
        let v = self.body.fresh(view);
        let mut args = [None; MAX_ARGS];
        args[0] = Some(Arg::Def(v, view));
        args[1..].iter_mut().zip(operands).for_each(|(place, arg)| *place = Some(arg));
        self.body.push(Inst { args, ..Inst::new(code, []) });
        v
    }

    /// An instruction of two operands on lanes of a type.
    pub fn op2(&mut self, codes: &Codes, lane: Lane, a: Virtual, b: Virtual) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let operands = [Arg::Use(a, view), Arg::UseOrMemory(b, view, self.target.broadcast(lane))];
        self.def(code(codes, form), view, operands)
    }

    /// The same of two operands that can be swapped.
    pub fn op2_swapped(&mut self, codes: &Codes, lane: Lane, a: Virtual, b: Virtual) -> Virtual {
        let (a, b) = self.memory_last(a, b);
        self.op2(codes, lane, a, b)
    }

    /// Two operands, the one that is likelier to be in memory last.
    fn memory_last(&self, a: Virtual, b: Virtual) -> (Virtual, Virtual) {
        let rank = |v: Virtual| match self.body.virtuals[v.index()].home.map(|home| home.address) {
            Some(Address::Column { .. }) => 2,
            Some(_) => 1,
            None => 0,
        };
        if rank(a) > rank(b) { (b, a) } else { (a, b) }
    }

    /// The operands of an operation in the order in which its instruction wants them.
    pub fn in_order(&self, op: BinaryOp, x: Virtual, y: Virtual) -> (Virtual, Virtual) {
        match op {
            BinaryOp::Sub | BinaryOp::Div => (x, y),
            // The instruction negates its first operand.
            BinaryOp::AndNot => (y, x),
            _ => self.memory_last(x, y),
        }
    }

    /// An instruction of one operand on lanes of a type.
    pub fn op1(&mut self, codes: &Codes, lane: Lane, x: Virtual) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        self.def(code(codes, form), view, [Arg::UseOrMemory(x, view, self.target.broadcast(lane))])
    }
}
