//! Compilation: from a list to code, with constants in registers and unrolling by a rule.
//!
//! Constants that are read most come first, 6 of 16 registers or 14 of 32: a loop in the first-level cache loads two
//! operands a cycle, and constants in memory are among them. Four groups are taken at a time if that makes no spill, two
//! if it makes at most [`FEW_SPILLS`], else one: longer bodies hide latency, spills eat it up.

use crate::strip::list::List;
use crate::strip::op::{Op, Sink};
use crate::strip::options::{Code, CodeReport, Options, Refused};
use crate::strip::x86::allocate::{Allocation, RegisterBudget, allocate};
use crate::strip::x86::checker;
use crate::strip::x86::constants::Constants;
use crate::strip::x86::encode::Allocated;
use crate::strip::x86::folds::{self, FoldsPlan};
use crate::strip::x86::function::{Function, encode};
use crate::strip::x86::group_shape::GroupShape;
use crate::strip::x86::inst::{Address, Arg, Bank, Home, LoopBody, Virtual};
use crate::strip::x86::lower::{Lowering, RowCount, lower, reads};
use crate::strip::x86::merge::{Merges, merges};
use crate::vector::Level;

/// Spills of two groups that are fewer than what overlapping them gains.
const FEW_SPILLS: usize = 4;

/// Most instructions of a main loop that takes several groups: longer ones overlap by themselves.
const MOST_UNROLLED: usize = 1024;

/// Fewest vector registers: the operands of any instruction, and its result.
const FEWEST: u8 = 5;

/// Reads of a column that is taken, and of its positions, in each group.
const TAKEN: u32 = 8;

/// Most bytes of code, which bounds what a list can cost; loops of that length fit a second-level cache.
const MOST_BYTES: usize = 1 << 16;

struct Compiler<'l> {
    list: &'l List,
    reads: Vec<u32>,
    merges: Merges,
    target: GroupShape,
    registers: u8,
    constants: Constants,
    folds: Option<FoldsPlan>,
    pinned: Vec<Home>,
}

/// Compiles a list for AVX2 or AVX-512.
pub fn compile(list: &List, level: Level, options: Options) -> Result<Code, Refused> {
    if list.sinks().is_empty() {
        return Err(Refused::Empty);
    }
    let reads = reads(list);
    // Two operations take an instruction at least, which has four bytes or more.
    let least = 2 * operations(list, &reads);
    if least > MOST_BYTES {
        return Err(Refused::TooLong { bytes: least, limit: MOST_BYTES });
    }
    let target = GroupShape::new(list, level);
    let mut compiler = Compiler {
        list,
        merges: merges(list, &reads, target.is_512),
        reads,
        target,
        registers: options.registers.clamp(FEWEST, target.vectors()),
        constants: Constants::new(target),
        folds: None,
        pinned: Vec::new(),
    };
    let room = usize::from(compiler.registers - FEWEST);
    compiler.folds = folds::plan(list, target, room, &mut compiler.constants);
    let (body, _) = compiler.lowered(RowCount::Groups(1));
    compiler.pinned = compiler.most_read(&body);
    let single = compiler.allocated(RowCount::Groups(1));
    let rest = compiler.allocated(RowCount::Rest);
    let main = compiler.main(&single.1, options.unroll);
    let columns = columns(list, &compiler.reads);
    let has_presence = presence(list, &compiler.reads);
    let prefetched: Vec<_> = list.prefetched().filter(|(number, ..)| columns.contains(number)).collect();
    // The widest rows first: they are least between two lines.
    let mut streamed: Vec<_> = list.streamed().collect();
    streamed.sort_by_key(|(_, row_bytes)| std::cmp::Reverse(*row_bytes));
    let function = Function {
        target,
        main: main.as_ref().map(|(main, unroll)| (view(main), *unroll)),
        single: view(&single),
        rest: view(&rest),
        pinned: &compiler.pinned,
        columns: &columns,
        has_presence,
        folds: compiler.folds.as_ref(),
        prefetched: &prefetched,
        streamed: &streamed,
        at_lines: list.at_lines().filter(|_| !has_presence),
    };
    let encoded = encode(&function, &mut compiler.constants);
    let encoded = encoded.expect("lowering makes instructions that can be encoded");
    if encoded.bytes.len() > MOST_BYTES {
        return Err(Refused::TooLong { bytes: encoded.bytes.len(), limit: MOST_BYTES });
    }
    let (loop_body, unroll) = main.as_ref().map_or((&single, 1), |(main, unroll)| (main, *unroll));
    let report = CodeReport {
        level,
        group: target.group,
        unroll,
        operations: operations(list, &compiler.reads),
        instructions: encoded.instructions,
        registers: loop_body.1.used,
        constants: compiler.pinned.len(),
        spills: loop_body.1.spills,
        bytes: encoded.bytes.len(),
    };
    let presence_out = list.sinks().iter().filter_map(|sink| match sink {
        Sink::Presence(number, _) => Some(*number),
        _ => None,
    });
    Ok(Code { presence_out: presence_out.collect(), bytes: encoded.bytes, entry: encoded.entry, report })
}

fn view((body, allocation): &(LoopBody, Allocation)) -> Allocated<'_> {
    Allocated { body, allocation }
}

impl Compiler<'_> {
    /// Vector registers that hold lanes of folds.
    fn lanes_of_folds(&self) -> u8 {
        self.folds.as_ref().map_or(0, |plan| plan.registers)
    }

    fn lowered(&mut self, extent: RowCount) -> (LoopBody, Vec<Virtual>) {
        let lowering = Lowering {
            list: self.list,
            reads: &self.reads,
            merges: &self.merges,
            folds: self.folds.as_ref().map_or(&[], |plan| &plan.folds),
            target: self.target,
        };
        lower(lowering, extent, &mut self.constants, &self.pinned)
    }

    fn allocated(&mut self, extent: RowCount) -> (LoopBody, Allocation) {
        let (body, pinned) = self.lowered(extent);
        // In the last rows k7 is their mask.
        let masks = if extent == RowCount::Rest { 6 } else { 7 };
        let reserved = self.lanes_of_folds();
        let registers =
            RegisterBudget { vectors: self.registers, reserved, masks: masks.min(self.registers - 1) };
        let allocation = allocate(&body, registers, &pinned);
        if cfg!(debug_assertions) {
            let checked = checker::check(&body, &allocation, reserved, &pinned);
            checked.unwrap_or_else(|error| panic!("a wrong allocation: {error}\n{body:?}"));
        }
        (body, allocation)
    }

    /// The body of the main loop, if it takes more than one group.
    fn main(&mut self, single: &Allocation, unroll: Option<u8>) -> Option<((LoopBody, Allocation), usize)> {
        if let Some(unroll) = unroll {
            let unroll = usize::from(unroll).clamp(1, 8);
            return (unroll > 1).then(|| (self.allocated(RowCount::Groups(unroll)), unroll));
        }
        // What stands in registers all the time apart, copies need so many registers each.
        let standing = self.pinned.len() + usize::from(self.lanes_of_folds());
        let (needed, free) = (single.used - standing, usize::from(self.registers) - standing);
        let has_room =
            |unroll: usize| single.steps.len() * unroll <= MOST_UNROLLED && needed * unroll <= 2 * free;
        if single.spills > FEW_SPILLS || !has_room(2) {
            return None;
        }
        let four = (single.spills == 0 && has_room(4)).then(|| self.allocated(RowCount::Groups(4)));
        if let Some(four) = four.filter(|four| four.1.spills == 0) {
            return Some((four, 4));
        }
        let two = self.allocated(RowCount::Groups(2));
        (two.1.spills <= FEW_SPILLS).then_some((two, 2))
    }

    /// The constants that a body reads most.
    fn most_read(&self, body: &LoopBody) -> Vec<Home> {
        let mut counts = vec![0_u32; body.virtuals.len()];
        for arg in body.insts.iter().flat_map(|inst| inst.args()) {
            match arg {
                // In memory it would have to be loaded first.
                Arg::Use(v, _) | Arg::Change(v, ..) => counts[v.index()] += 2,
                Arg::UseOrMemory(v, ..) => counts[v.index()] += 1,
                _ => {}
            }
        }
        let constant = |(info, count): (&crate::strip::x86::inst::VirtualInfo, u32)| {
            let home = info.home.filter(|home| !matches!(home.address, Address::Column { .. }))?;
            (count > 0 && info.view.bank() == Bank::Vector).then_some((count, home))
        };
        let mut constants: Vec<(u32, Home)> = body.virtuals.iter().zip(counts).filter_map(constant).collect();
        constants.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let lanes = self.lanes_of_folds();
        let standing = if self.folds.is_some() { folds::STANDING } else { usize::MAX };
        let room = usize::from(self.registers - FEWEST).min(standing) - usize::from(lanes);
        let room = room.min(self.target.constants());
        constants.truncate(room);
        constants.into_iter().map(|(_, home)| home).collect()
    }
}

/// Columns that matter, the most wanted first.
fn columns(list: &List, reads: &[u32]) -> Vec<u16> {
    let mut wanted: Vec<(u16, u32)> = Vec::new();
    let mut want = |number: u16, count: u32| match wanted.iter_mut().find(|(other, _)| *other == number) {
        Some((_, all)) => *all += count,
        None => wanted.push((number, count)),
    };
    for (term, op, _) in list.terms().filter(|(term, ..)| reads[term.index()] > 0) {
        if let Op::Column(number) | Op::Presence(number) = op {
            want(number, reads[term.index()]);
            // Each row reads both.
            if let Some(positions) = list.positions(number) {
                want(number, TAKEN);
                want(positions, TAKEN);
            }
        }
    }
    for sink in list.sinks() {
        if let Sink::Rows(number, _) | Sink::Presence(number, _) = sink {
            want(*number, 1);
        }
    }
    wanted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    wanted.into_iter().map(|(number, _)| number).collect()
}

/// True if bits of presence are read or written.
fn presence(list: &List, reads: &[u32]) -> bool {
    let is_read = |(term, op, _): (crate::strip::op::Term, Op, _)| {
        matches!(op, Op::Presence(_)) && reads[term.index()] > 0
    };
    list.terms().any(is_read) || list.sinks().iter().any(|sink| matches!(sink, Sink::Presence(..)))
}

/// Operations that are computed.
fn operations(list: &List, reads: &[u32]) -> usize {
    let is_operation = |op: Op| op.operands().next().is_some() && !matches!(op, Op::Bits(_));
    list.terms().filter(|(term, op, _)| reads[term.index()] > 0 && is_operation(*op)).count()
}
