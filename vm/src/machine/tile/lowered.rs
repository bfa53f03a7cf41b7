//! A group of members as the list of a strip: what it reads, records and takes in.
//!
//! ```text
//! columns      x   y   m0   m1        numbers of a list: words of columns, to a strip pointers one after the other
//! recorded     t0  t1  t2   t3        terms of cells and of presence
//! folds        lanes: of sums of leaves, of folds in any order, spread over 32; of the rows that are present
//! ```

use crate::array::block::Column;
use crate::array::fold_kernel::TakeSpread;
use crate::array::recipe::{Recipe, Recorded};
use crate::array::scan::Running;
use crate::array::take_lanes::TakeLanes;
use crate::strip::{self, BinaryOp, Lane, LaneFold, List, Refused, RunningOp, Sink, Term};
use crate::vector::Level;
use crate::vector::first_stage::{FirstStage, OfPairs, SumOf};
use crate::vector::fold::SUMS;
use std::fmt;
use std::mem::offset_of;

/// What of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its cells, or the lanes of a fold.
    Cells,
    /// Its words of presence, the ends of the leaves of a sum, or the positions of cells that are taken.
    Presence,
}

/// Words of a column: to a strip, columns are pointers one after the other.
pub(super) const WORDS: usize = size_of::<Column>() / size_of::<usize>();

impl Part {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Part::Cells => "cells",
            Part::Presence => "presence",
        }
    }

    /// Its word of a column.
    pub(super) const fn word(self) -> usize {
        let offset = match self {
            Part::Cells => offset_of!(Column, data),
            Part::Presence => offset_of!(Column, presence),
        };
        offset / size_of::<usize>()
    }

    /// The number of this part of a column in the list of a strip.
    pub(super) const fn number(self, column: u16) -> u16 {
        column * WORDS as u16 + self.word() as u16
    }

    /// The part and column with a number in the list of a strip.
    pub(super) fn of_number(number: u16) -> Option<(Part, u16)> {
        let word = number as usize % WORDS;
        let part = [Part::Cells, Part::Presence].into_iter().find(|part| part.word() == word)?;
        Some((part, number / WORDS as u16))
    }
}

/// How a member is recorded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recorder {
    /// Row by row.
    Rows(Recipe),
    /// As a running result, of which a column points to what is carried.
    Running(Running, u16),
}

/// A fold that a group takes in.
#[derive(Clone, Copy)]
pub(super) struct FoldInStrip {
    /// The column that it reads.
    pub(super) arg: u16,
    /// The second one, of pairs.
    pub(super) other: Option<u16>,
    /// Its number among those of the region.
    pub(super) fold: u16,
    /// The column of its lanes.
    pub(super) column: u16,
    /// How its rows are taken in; `None` if it asks only for how many are present.
    pub(super) first: Option<FirstStage>,
    /// What comes of pairs before.
    pub(super) pairs: Option<OfPairs>,
    /// Takes in lanes of rows in any order, if they may be in any.
    pub(super) merge: Option<TakeLanes>,
    /// Takes in the 32 lanes of a spread sum.
    pub(super) spread: Option<TakeSpread>,
    /// The column for the lanes of present rows, if it asks for them.
    pub(super) counts: Option<u16>,
    /// True if elements become one side by side.
    pub(super) is_side_by_side: bool,
}

impl FoldInStrip {
    /// True if rows go to 32 lanes by their numbers.
    pub(super) fn is_spread(&self) -> bool {
        matches!(self.first, Some(FirstStage::Spread(_)))
    }
}

impl fmt::Debug for FoldInStrip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fold {} of columns {} {:?}: {:?}", self.fold, self.arg, self.other, self.first)
    }
}

/// A fold of a strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripFold {
    /// Its number among those of the region.
    pub(super) fold: u16,
    /// The column of its lanes and parts.
    pub(super) column: u16,
    pub(super) stage: Stage,
    pub(super) present: Present,
}

/// What a strip does with the rows of a fold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Nothing: how many are present is all that is asked for.
    Presence,
    /// Adds up leaves, as numbers of a type.
    Leaves(Lane),
    /// Takes them in in any order.
    Lanes {
        /// How.
        step: LaneFold,
        /// The type of lanes.
        lane: Lane,
        /// What becomes of these.
        merge: TakeLanes,
    },
    /// Adds them to 32 lanes by their numbers, of this type, and what becomes of these.
    Spread(Lane, TakeSpread),
    /// Takes each element into a cell of its own, which [what calls it](super::side_by_side) chooses.
    SideBySide {
        /// How.
        op: BinaryOp,
        /// The type of cells.
        lane: Lane,
        /// The word that cells begin with.
        start: u64,
    },
}

/// How many rows of a fold are present.
#[derive(Clone, Copy, Debug)]
pub(super) enum Present {
    /// Nobody asks.
    Unasked,
    /// All.
    All,
    /// As many as the sum of lanes of this column and type.
    Counted(u16, Lane),
}

/// A group as a list of operations.
#[derive(Default)]
pub(super) struct Lowered {
    /// The operations.
    pub(super) list: List,
    /// The columns that are one value, and the bytes of that, by the numbers of scalars.
    pub(super) constants: Vec<(u16, u8)>,
    /// What it takes in.
    pub(super) folds: Vec<StripFold>,
    /// True if all rows of elements that become one side by side are taken in at once.
    has_whole_runs: bool,
    /// What they take in of each fold, row after row.
    elements: Vec<Term>,
}

impl Lowered {
    /// Nothing yet of runs of so many rows, if elements become one side by side.
    pub(super) fn of_rows(rows: usize) -> Lowered {
        Lowered { has_whole_runs: rows > 1, ..Lowered::default() }
    }

    /// Begins a row.
    pub(super) fn begin_row(&mut self) {
        self.folds.clear();
    }

    /// Joins rows that are taken in at once: sums in the order of a leaf, extremes in that of rows, of which the first zero counts.
    pub(super) fn end_rows(&mut self) {
        if !self.has_whole_runs {
            return;
        }
        for number in 0..self.folds.len() {
            let StripFold { stage: Stage::SideBySide { op, .. }, column, .. } = self.folds[number] else {
                unreachable!("all of a strip becomes one side by side")
            };
            let rows = self.elements.iter().skip(number).step_by(self.folds.len());
            let rows: Vec<Term> = rows.copied().collect();
            let mut join = |x, y| self.list.binary(op, x, y);
            let (mut parts, rest): (Vec<Term>, &[Term]) = match op {
                BinaryOp::Add => {
                    let (in_turn, rest) = rows.split_at(rows.len() - rows.len() % SUMS);
                    let lane = |lane: usize| in_turn.iter().skip(lane).step_by(SUMS).copied();
                    ((0..SUMS).filter_map(|number| lane(number).reduce(&mut join)).collect(), rest)
                }
                _ => {
                    let stretches = rows.chunks(rows.len().div_ceil(SUMS).max(1));
                    (stretches.filter_map(|rows| rows.iter().copied().reduce(&mut join)).collect(), &[])
                }
            };
            while parts.len() > 1 {
                parts = parts.chunks(2).filter_map(|pair| pair.iter().copied().reduce(&mut join)).collect();
            }
            let joined = parts.into_iter().chain(rest.iter().copied()).reduce(&mut join);
            if let Some(joined) = joined {
                self.list.store(Part::Cells.number(column), joined);
            }
        }
    }

    /// Forgets all of it, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.constants.clear();
        self.folds.clear();
        self.elements.clear();
    }

    /// Code for the best level of the machine.
    pub(super) fn compile(&self) -> Result<strip::Code, Refused> {
        strip::compile(&self.list, Level::best(), strip::Options::default())
    }

    /// Adds the operations of a member; rare rows fire.
    pub(super) fn record(
        &mut self,
        recorder: Recorder,
        operands: &[Recorded],
        is_lifted: bool,
    ) -> Option<Recorded> {
        match recorder {
            Recorder::Running(running, carry) => self.running(running, carry, *operands.first()?),
            Recorder::Rows(recipe) => {
                let (recorded, rare) = recipe.record_with_rare(&mut self.list, operands, is_lifted)?;
                rare.into_iter().for_each(|rare| self.list.fire(rare));
                Some(recorded)
            }
        }
    }

    /// Adds a running result of rows.
    fn running(&mut self, running: Running, carry: u16, rows: Recorded) -> Option<Recorded> {
        let carry = Part::Cells.number(carry);
        let cells = match running {
            Running::Sum | Running::Greatest => {
                let op = if running == Running::Sum { RunningOp::Sum } else { RunningOp::Greatest };
                let cells = rows.cells?;
                let lane = self.list.lane(cells);
                let wide = if lane.is_float() { Lane::F64 } else { Lane::I64 };
                let wide_cells = self.list.cast(cells, wide);
                let taken = self.or(rows.present, wide_cells, op.start(wide));
                let result = self.list.running(op, carry, taken);
                self.list.cast(result, lane)
            }
            Running::Present => {
                let one = self.list.i64(1);
                let added = self.or(rows.present, one, 0);
                self.list.running(RunningOp::Sum, carry, added)
            }
            Running::Before => {
                let one = self.list.i64(1);
                let number = self.list.running(RunningOp::Sum, carry, one);
                self.list.binary(BinaryOp::Sub, number, one)
            }
        };
        Some(Recorded { cells: Some(cells), present: rows.present })
    }

    /// True if its strip may fire.
    pub(super) fn can_fire(&self) -> bool {
        self.list.sinks().iter().any(|sink| matches!(sink, Sink::Fire(_)))
    }

    /// The columns of its scalars.
    pub(super) fn scalars(&self) -> Vec<u16> {
        self.constants.iter().map(|(column, _)| *column).collect()
    }

    /// Takes rows into a fold; missing ones change nothing.
    pub(super) fn take_in(
        &mut self,
        fold: &FoldInStrip,
        rows: Recorded,
        others: Option<Recorded>,
    ) -> Option<()> {
        let stage = match fold.first {
            None => Stage::Presence,
            Some(first) if fold.is_side_by_side => {
                self.take_in_side_by_side(first, fold.column, rows.cells?)?
            }
            Some(FirstStage::Count) => {
                let truths = self.list.cast(rows.cells?, Lane::Mask);
                let counted = rows.present.map_or(truths, |present| self.list.and(present, truths));
                let lane = self.count(fold.column, counted);
                Stage::Lanes { step: LaneFold::Sum, lane, merge: fold.merge? }
            }
            Some(first @ (FirstStage::Sum(kind) | FirstStage::Spread(kind))) => {
                let lane = match (kind, fold.merge) {
                    (SumOf::Singles, _) => Lane::F32,
                    (SumOf::Doubles, _) => Lane::F64,
                    (SumOf::Halves, Some(_)) => Lane::I32,
                    (SumOf::Halves | SumOf::Integers, _) => Lane::I64,
                };
                let added = self.list.cast(rows.cells?, lane);
                let added = match fold.pairs {
                    None => self.or(rows.present, added, 0),
                    Some(pairs) => self.of_pairs(pairs, added, others?.cells?),
                };
                match fold.merge {
                    None if matches!(first, FirstStage::Spread(_)) => {
                        self.list.spread(Part::Cells.number(fold.column), added);
                        Stage::Spread(lane, fold.spread?)
                    }
                    None => {
                        self.list.leaves(Part::Presence.number(fold.column));
                        self.list.sum(Part::Cells.number(fold.column), added);
                        Stage::Leaves(lane)
                    }
                    Some(merge) => self.take_in_lanes(LaneFold::Sum, fold.column, added, merge),
                }
            }
            Some(best @ (FirstStage::Least | FirstStage::Greatest)) => {
                let step = if best == FirstStage::Least { LaneFold::Least } else { LaneFold::Greatest };
                let cells = rows.cells?;
                let lane = self.list.lane(cells);
                let cells = self.or(rows.present, cells, step.start(lane));
                self.take_in_lanes(step, fold.column, cells, fold.merge?)
            }
        };
        let present = match (fold.counts, rows.present) {
            (None, _) => Present::Unasked,
            (Some(_), None) => Present::All,
            (Some(column), Some(present)) => Present::Counted(column, self.count(column, present)),
        };
        self.folds.push(StripFold { fold: fold.fold, column: fold.column, stage, present });
        Some(())
    }

    /// Takes elements into the cells of a column.
    fn take_in_side_by_side(&mut self, first: FirstStage, column: u16, cells: Term) -> Option<Stage> {
        let lane = match first {
            FirstStage::Sum(SumOf::Singles) => Lane::F32,
            FirstStage::Sum(SumOf::Doubles) => Lane::F64,
            FirstStage::Sum(SumOf::Integers) | FirstStage::Count => Lane::I64,
            FirstStage::Least | FirstStage::Greatest => self.list.lane(cells),
            FirstStage::Sum(SumOf::Halves) | FirstStage::Spread(_) => return None,
        };
        let (op, start) = match first {
            FirstStage::Least => (BinaryOp::Min, LaneFold::Least.start(lane)),
            FirstStage::Greatest => (BinaryOp::Max, LaneFold::Greatest.start(lane)),
            _ => (BinaryOp::Add, 0),
        };
        let counted = if first == FirstStage::Count { self.list.cast(cells, Lane::Mask) } else { cells };
        let element = self.list.cast(counted, lane);
        if self.has_whole_runs {
            self.elements.push(element);
        } else {
            let number = Part::Cells.number(column);
            let before = self.list.column(number, lane);
            let after = self.list.binary(op, before, element);
            self.list.store(number, after);
        }
        Some(Stage::SideBySide { op, lane, start })
    }

    /// What comes of pairs of numbers, as numbers of the type of the first.
    fn of_pairs(&mut self, pairs: OfPairs, x: Term, y: Term) -> Term {
        let y = self.list.cast(y, self.list.lane(x));
        match pairs {
            OfPairs::Product => self.list.binary(BinaryOp::Mul, x, y),
            OfPairs::SquaredDifference => {
                let difference = self.list.binary(BinaryOp::Sub, x, y);
                self.list.binary(BinaryOp::Mul, difference, difference)
            }
        }
    }

    /// Rows where they are present, else the number with these bits.
    fn or(&mut self, present: Option<Term>, rows: Term, bits: u64) -> Term {
        let Some(present) = present else { return rows };
        let other = self.list.literal(self.list.lane(rows), bits);
        self.list.select(present, rows, other)
    }

    /// Takes rows to the lanes of a column in any order.
    fn take_in_lanes(&mut self, step: LaneFold, column: u16, rows: Term, merge: TakeLanes) -> Stage {
        self.list.fold(step, Part::Cells.number(column), rows);
        Stage::Lanes { step, lane: self.list.lane(rows), merge }
    }

    /// Counts true rows in the lanes of a column; gives the type of these, the narrow one if the list has nothing wide.
    fn count(&mut self, column: u16, mask: Term) -> Lane {
        let lane = if self.list.is_wide() { Lane::I64 } else { Lane::I32 };
        let ones = self.list.cast(mask, lane);
        self.list.fold(LaneFold::Sum, Part::Cells.number(column), ones);
        lane
    }

    /// A column of cells that positions choose.
    pub(super) fn take(&mut self, column: u16, lane: Option<Lane>) -> Recorded {
        let cells = lane.map(|lane| {
            let number = Part::Cells.number(column);
            self.list.take(number, Part::Presence.number(column));
            self.list.column(number, lane)
        });
        Recorded { cells, present: None }
    }

    /// A column that the group reads.
    pub(super) fn read(
        &mut self,
        column: u16,
        lane: Option<Lane>,
        is_one: bool,
        has_presence: bool,
        literal: Option<u64>,
    ) -> Recorded {
        let cells = lane.map(|lane| match (is_one, literal) {
            (true, Some(bits)) => self.list.literal(lane, bits),
            (true, None) => {
                let constant = (column, lane.bytes() as u8);
                let known = self.constants.iter().position(|known| *known == constant);
                let number = known.unwrap_or_else(|| {
                    self.constants.push(constant);
                    self.constants.len() - 1
                });
                self.list.scalar(number as u16, lane)
            }
            (false, _) => self.list.column(Part::Cells.number(column), lane),
        });
        let present = has_presence.then(|| self.list.presence(Part::Presence.number(column)));
        Recorded { cells, present }
    }
}
