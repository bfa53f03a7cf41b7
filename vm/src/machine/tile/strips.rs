//! Members of a region that run as strips: compiled loops over registers.
//!
//! ```text
//! members    m0 less   m1 where   m2 exp   m3 add          m0, m1, m3 have recipes, m2 is a pass
//! groups     { m0, m1 }           exp      { m3 }          a strip runs as soon as what it reads is there
//! schedule   strip 0 │ pass m2 │ pass m3                   a group of one is a pass
//! ```
//!
//! Groups are compiled when that pays: when the rows that the region has seen, times the passes that strips save, reach a
//! limit. The code is for what is known of the inputs at that time: which of them have missing rows, and which are one
//! value for all rows. Each such *variant* is compiled once. A run of another variant waits for its own, or runs as passes.
//!
//! Strips find the places of rows in the columns themselves: the numbers of their list are those of words.
//!
//! 1. A strip fires where a row is rare, which all rows are that raise; the block of that row is then [run again](super::rare) by passes.
//!    Strips and passes that can raise keep the order of members.
//! 2. Columns that others than the group read are laid out as passes lay them out, presence included.
//! 3. A fold with a [first stage](crate::vector::first_stage::FirstStage) is taken in by the strip that computes its operand, or reads it.

use crate::array::block::Column;
use crate::array::recipe::Recorded;
use crate::machine::tile::access::Access;
use crate::machine::tile::lowered::{FoldInStrip, Lowered, Part, Recorder, StripFold, WORDS};
use crate::machine::tile::rare::{Again, Frequency};
use crate::machine::tile::schedule::{Presence, Schedule};
use crate::operator::cell::Strips;
use crate::strip::{self, Lane, Strip};
use bumpalo::Bump;
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// What strips of a region compute, and their code as far as there is any.
#[derive(Debug)]
pub(super) struct StripPlan {
    /// Strips, and passes for other members.
    pub(super) schedule: Schedule,
    pub(super) groups: Box<[Group]>,
    /// The inputs that passes among the strips read, if strips can take several runs of elements a call: they take in no fold and
    /// cannot fire, and no running sum is carried.
    pub(super) by_passes: Option<Box<[u16]>>,
    /// True if groups take in folds that want calls to end behind multiples of eight rows.
    pub(super) has_eights: bool,
    /// True if groups take in folds.
    pub(super) has_folds: bool,
    /// True if the only group takes in elements that become one side by side.
    pub(super) is_side_by_side: bool,
    /// How often lanes did not tell the result of a fold.
    pub(super) open: Frequency,
    /// True if groups can fire.
    pub(super) can_fire: bool,
    /// By column: what a cell is; `None` if it has none.
    pub(super) lanes: Box<[Option<Lane>]>,
    /// By input: its bits, if it is a literal.
    pub(super) literals: Box<[Option<u64>]>,
    /// By input: true if it is one value by its type.
    pub(super) values: Box<[bool]>,
    /// What [`Strips::Auto`] is in this process.
    pub(super) auto: Strips,
    /// Passes over rows that strips save.
    pub(super) saved: u64,
    /// Operations of special functions.
    pub(super) of_functions: u64,
    /// Rows that ran as passes, times `saved`.
    pub(super) seen: AtomicU64,
    /// What has been compiled.
    pub(super) variants: OnceLock<Box<Variant>>,
}

/// Members that run as one strip.
#[derive(Debug)]
pub(super) struct Group {
    /// In order.
    pub(super) members: Box<[Recording]>,
    /// The columns of results that others read.
    pub(super) results: Box<[u16]>,
    pub(super) folds: Box<[FoldInStrip]>,
    /// What runs where the strip fires, if it can; then there are no folds.
    pub(super) again: Option<Arc<Again>>,
}

/// A member of a group.
#[derive(Debug)]
pub(super) struct Recording {
    /// Its operations.
    pub(super) recorder: Recorder,
    /// True if a row is present where it is in all operands.
    pub(super) is_lifted: bool,
    /// The columns that it reads.
    pub(super) args: Box<[u16]>,
    /// The column that it computes.
    pub(super) column: u16,
}

/// What strips of a region are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// What is known of the inputs.
    pub(super) signature: u64,
    /// How memory is reached.
    pub(super) access: Access,
    /// Rows of elements that become one side by side [at once](super::whole_runs); 1 otherwise.
    pub(super) rows: usize,
}

impl Case {
    /// That of rows or elements that are taken as they come.
    #[inline(always)]
    pub(super) fn new(signature: u64, access: Access) -> Case {
        Case { signature, access, rows: 1 }
    }
}

/// The strips of a region for one case.
#[derive(Debug)]
pub(super) struct Variant {
    /// The case.
    pub(super) case: Case,
    /// None if there is no code for one of them, or no memory for code.
    pub(super) strips: Option<Box<[LoadedStrip]>>,
    /// Where the presence of columns stands; nothing if all rows are there.
    pub(super) presence: Box<[Presence]>,
    /// The one that was compiled next.
    pub(super) next: OnceLock<Box<Variant>>,
}

/// Constants that a strip of a region may have; a region with more runs as passes.
const MOST_CONSTANTS: usize = 64;

/// Places for the constants of all runs of a call.
const CONSTANTS_OF_RUNS: usize = MOST_CONSTANTS * 4;

/// A strip, and what it wants to know.
#[derive(Clone, Debug)]
pub(super) struct LoadedStrip {
    strip: Strip,
    /// The columns that are one value, and the bytes of that, by its own numbers.
    constants: Box<[(u16, u8)]>,
    /// What it takes in.
    pub(super) folds: Box<[StripFold]>,
    /// Rows of elements that become one side by side at once: the columns of each stand behind those of the one before.
    pub(super) rows: usize,
    /// What runs where it fires, if it can.
    pub(super) again: Option<Arc<Again>>,
}

impl LoadedStrip {
    /// Computes some of the rows of the columns, the first one a multiple of 64 if there is presence; true if it has fired.
    ///
    /// # Safety
    /// There are all columns that the strip reads and writes; they have these rows and words of presence for them, as in the run that
    /// the strip was chosen for; results share no byte with others. Columns of folds have lanes, those of sums of leaves room for
    /// parts, and the ends of leaves are there.
    #[inline(always)]
    pub(super) unsafe fn run(&self, columns: *const Column, rows: Range<usize>) -> bool {
        let mut constants = [const { MaybeUninit::<u64>::uninit() }; MOST_CONSTANTS];
        // SAFETY: the caller's promise; there are places for all, and the strip looks at those that are filled.
        unsafe {
            self.load(columns, constants.as_mut_ptr().cast(), |_| 0);
            self.strip.run(columns.cast(), rows.start, rows.end, constants.as_ptr().cast()) != 0
        }
    }

    /// Computes all of so many rows, and counts whether it has fired; false if it has.
    ///
    /// # Safety
    /// As [`run`](LoadedStrip::run).
    #[inline(always)]
    pub(super) unsafe fn run_once(&self, columns: *const Column, rows: usize) -> bool {
        // SAFETY: the caller's promise.
        let has_fired = unsafe { self.run(columns, 0..rows) };
        if let Some(again) = &self.again {
            again.fired.count(has_fired);
        }
        !has_fired
    }

    /// Computes so many runs of as many rows; between two, cells and positions of columns move by the bytes that `steps` has for
    /// them. With steps that [take turns](ColumnSteps::in_turn) those behind the first run are of the turn with a number, which is 0
    /// with others. Leaves any pointers in columns.
    ///
    /// # Panics
    /// If there are more runs than are possible [at once](ColumnSteps::runs_at_once), or no such turn.
    ///
    /// # Safety
    /// For each run as [`run`](LoadedStrip::run) from row 0 on; the strip has no folds, and no column has presence. The steps are
    /// those of these columns.
    #[inline(always)]
    pub(super) unsafe fn run_often<W: Deref<Target = [isize]>>(
        &self,
        columns: &mut [Column],
        rows: usize,
        runs: usize,
        (steps, turn): (&ColumnSteps<W>, usize),
    ) {
        let mut constants = [const { MaybeUninit::<u64>::uninit() }; CONSTANTS_OF_RUNS];
        let words = ColumnSteps::words_of(columns);
        let first = &steps.words[turn * words..][..words];
        let (lists, count) = (if steps.has_new_values() { runs } else { 1 }, self.constants.len());
        assert!(lists * count <= CONSTANTS_OF_RUNS, "constants of {lists} runs");
        // SAFETY: the caller's promise; there are places for all constants, and the strip looks at those that are filled.
        unsafe {
            for run in 0..lists {
                let list = constants.as_mut_ptr().add(run * count).cast();
                self.load(columns.as_ptr(), list, |column| steps.of_cells(column).wrapping_mul(run as isize));
            }
            let columns = columns.as_mut_ptr().cast();
            self.strip.run_often(columns, rows, constants.as_ptr().cast(), runs, first.as_ptr());
        }
    }

    /// Fills in constants, of cells so many bytes behind where their columns stand.
    ///
    /// # Safety
    /// There are places for all; each column of a constant is there, and has one value there.
    #[inline(always)]
    unsafe fn load(&self, columns: *const Column, constants: *mut u64, behind: impl Fn(u16) -> isize) {
        for (number, (column, size)) in self.constants.iter().enumerate() {
            // SAFETY: the caller's promise: one value of this size, which is what the strip reads of the place.
            unsafe {
                let from = (*columns.add(*column as usize)).data.wrapping_offset(behind(*column));
                let value = match size {
                    1 => u64::from(from.read()),
                    4 => u64::from(from.cast::<u32>().read_unaligned()),
                    _ => from.cast::<u64>().read_unaligned(),
                };
                constants.add(number).write(value);
            }
        }
    }
}

/// By how many bytes the cells of each column move from one run to the next: the words may be in an arena.
#[derive(Debug)]
pub(super) struct ColumnSteps<W = Box<[isize]>> {
    /// In each turn: that of lists of constants, which is 0 if no column moves that is one value for a run; that to the words of
    /// the next turn; then by word of each column.
    words: W,
}

/// Words before those of columns.
const BEFORE_COLUMNS: usize = 2;

impl ColumnSteps {
    /// Those of columns of a strip that move; all others stay.
    pub(super) fn new(
        strip: &LoadedStrip,
        columns: &[Column],
        moving: impl Iterator<Item = (u16, isize)>,
    ) -> ColumnSteps {
        let mut words: Box<[isize]> = vec![0; ColumnSteps::words_of(columns)].into();
        ColumnSteps::fill(&mut words, strip, columns, moving);
        ColumnSteps { words }
    }

    fn words_of(columns: &[Column]) -> usize {
        BEFORE_COLUMNS + columns.len() * WORDS
    }

    fn fill(
        words: &mut [isize],
        strip: &LoadedStrip,
        columns: &[Column],
        moving: impl Iterator<Item = (u16, isize)>,
    ) {
        for (column, by) in moving {
            words[BEFORE_COLUMNS + usize::from(Part::Cells.number(column))] = by;
            let of = &columns[column as usize];
            if by != 0 && of.step == 0 && !of.is_taken() {
                words[0] = (strip.constants.len() * size_of::<u64>()) as isize;
            }
        }
    }
}

impl<'a> ColumnSteps<&'a [isize]> {
    /// Those of columns of a strip that move, in an arena.
    pub(super) fn in_arena(
        strip: &LoadedStrip,
        columns: &[Column],
        moving: impl Iterator<Item = (u16, isize)>,
        arena: &'a Bump,
    ) -> ColumnSteps<&'a [isize]> {
        let words = arena.alloc_slice_fill_copy(ColumnSteps::words_of(columns), 0);
        ColumnSteps::fill(words, strip, columns, moving);
        ColumnSteps { words }
    }

    /// Those that take so many turns: some columns go back behind the last one to where they were before the first.
    pub(super) fn in_turn(
        strip: &LoadedStrip,
        columns: &[Column],
        moving: impl Iterator<Item = (u16, isize)>,
        (turns, in_turn): (usize, impl Iterator<Item = (u16, isize)> + Clone),
        arena: &'a Bump,
    ) -> ColumnSteps<&'a [isize]> {
        let list = ColumnSteps::words_of(columns);
        let words = arena.alloc_slice_fill_copy(list * turns, 0);
        ColumnSteps::fill(&mut words[..list], strip, columns, moving);
        let bytes = (list * size_of::<isize>()) as isize;
        for turn in (0..turns).rev() {
            words.copy_within(..list, turn * list);
            let (list, is_last) = (&mut words[turn * list..], turn + 1 == turns);
            let times = if is_last { 1 - turns as isize } else { 1 };
            list[1] = times * bytes;
            ColumnSteps::fill(list, strip, columns, in_turn.clone().map(|(column, by)| (column, times * by)));
        }
        ColumnSteps { words }
    }
}

impl<W: Deref<Target = [isize]>> ColumnSteps<W> {
    /// By how many bytes the cells of a column move.
    #[inline(always)]
    fn of_cells(&self, column: u16) -> isize {
        self.words[BEFORE_COLUMNS + usize::from(Part::Cells.number(column))]
    }

    /// True if there are other constants in each run.
    fn has_new_values(&self) -> bool {
        self.words[0] != 0
    }

    /// Runs of so many elements that a call may have, to go over no more than some elements.
    pub(super) fn runs_at_once(&self, run: usize, most: usize) -> usize {
        let lists = CONSTANTS_OF_RUNS * size_of::<u64>();
        (most / run).clamp(1, lists.checked_div(self.words[0] as usize).unwrap_or(usize::MAX))
    }

    /// Moves columns by so many runs.
    pub(super) fn move_by(&self, runs: usize, columns: &mut [Column]) {
        for (column, words) in columns.iter_mut().zip(self.words[BEFORE_COLUMNS..].chunks_exact(WORDS)) {
            let by = words[Part::Cells.word()].wrapping_mul(runs as isize);
            column.data = column.data.wrapping_offset(by);
        }
    }
}

impl StripPlan {
    /// What a mode means for the plan.
    pub(super) fn mode(&self, strips: Strips) -> Strips {
        if strips == Strips::Auto { self.auto } else { strips }
    }

    /// The strips for a run over these columns, of which some move along memory; none if there is no code for one, or no memory
    /// for code.
    #[cold]
    pub(super) fn compile(
        &self,
        columns: &[Column],
        presence: &[Presence],
        Case { access, rows, .. }: Case,
        moving: &[u16],
    ) -> Option<Box<[LoadedStrip]>> {
        let lowered = self.groups.iter().map(|group| self.lower(group, columns, presence, rows));
        let mut lowered: Vec<Lowered> = lowered.collect::<Option<_>>()?;
        for lowered in &mut lowered {
            for number in moving.iter().map(|column| Part::Cells.number(*column)) {
                if access.prefetches() {
                    lowered.list.prefetch(number);
                }
                if access.streams() {
                    lowered.list.stream(number);
                }
            }
            if matches!(access, Access::AtLines | Access::Prefetched) {
                lowered.list.begin_at_lines();
            }
        }
        if lowered.iter().any(|lowered| lowered.constants.len() > MOST_CONSTANTS) {
            return None;
        }
        let compiled = lowered.iter().map(|lowered| lowered.compile().ok());
        let codes: Vec<strip::Code> = compiled.collect::<Option<_>>()?;
        let loaded = strip::load(&codes).ok()?.into_iter().zip(lowered).zip(&self.groups);
        let loaded = loaded.map(|((strip, lowered), group)| LoadedStrip {
            strip,
            again: group.again.clone().filter(|_| lowered.can_fire()),
            constants: lowered.constants.into(),
            folds: lowered.folds.into(),
            rows,
        });
        Some(loaded.collect())
    }

    /// True if passes have had to do most of the work again: most blocks of a group have rare rows, or lanes mostly do not tell
    /// the result of a fold.
    #[inline(always)]
    pub(super) fn is_often_vain(&self) -> bool {
        self.can_fire && self.has_usual_rare_rows() || self.has_folds && self.open.is_usual()
    }

    /// True if most blocks of a group have rare rows.
    #[inline(never)]
    fn has_usual_rare_rows(&self) -> bool {
        self.groups.iter().filter_map(|group| group.again.as_ref()).any(|again| again.fired.is_usual())
    }

    /// A group as a list of operations, for a run over these columns; of so many rows of elements that become one side by side.
    pub(super) fn lower(
        &self,
        group: &Group,
        columns: &[Column],
        presence: &[Presence],
        rows: usize,
    ) -> Option<Lowered> {
        let mut lowered = Lowered::of_rows(rows);
        for row in 0..rows {
            lowered.begin_row();
            self.lower_row(group, columns, presence, (row * columns.len()) as u16, &mut lowered)?;
        }
        lowered.end_rows();
        Some(lowered)
    }

    /// What a row adds to a list, whose columns stand from a number on.
    fn lower_row(
        &self,
        group: &Group,
        columns: &[Column],
        presence: &[Presence],
        first: u16,
        lowered: &mut Lowered,
    ) -> Option<()> {
        let mut recorded: Vec<Option<Recorded>> = vec![None; columns.len()];
        let read = |lowered: &mut Lowered, column: u16| {
            let arg = column as usize;
            let is_input = arg < self.literals.len();
            if is_input && columns[arg].is_taken() {
                return lowered.take(column, self.lanes[arg]);
            }
            let has_presence = match is_input {
                true => !columns[arg].presence.is_null(),
                false => presence.get(arg).is_some_and(|presence| *presence != Presence::Alike),
            };
            let literal = self.literals.get(arg).copied().flatten();
            let is_one = columns[arg].step == 0 && is_input;
            let number = if self.values.get(arg) == Some(&true) { column } else { first + column };
            lowered.read(number, self.lanes[arg], is_one, has_presence, literal)
        };
        for member in &group.members {
            for arg in &*member.args {
                recorded[*arg as usize].get_or_insert_with(|| read(lowered, *arg));
            }
            let operands: Vec<Recorded> =
                member.args.iter().filter_map(|arg| recorded[*arg as usize]).collect();
            recorded[member.column as usize] =
                Some(lowered.record(member.recorder, &operands, member.is_lifted)?);
        }
        for result in &group.results {
            let Recorded { cells, present } = recorded[*result as usize]?;
            if let Some(cells) = cells {
                lowered.list.store(Part::Cells.number(first + *result), cells);
            }
            if presence.get(*result as usize) == Some(&Presence::Own) {
                let present = present.unwrap_or_else(|| lowered.list.truth(true));
                lowered.list.store_presence(Part::Presence.number(*result), present);
            }
        }
        for fold in &group.folds {
            let mut operand = |arg: u16| *recorded[arg as usize].get_or_insert_with(|| read(lowered, arg));
            let (rows, others) = (operand(fold.arg), fold.other.map(operand));
            lowered.take_in(fold, rows, others)?;
        }
        Some(())
    }
}

impl Strips {
    /// What it means in this process: the environment variable `CEMBRA_STRIPS` (`always`, `never`) says what
    /// [`Strips::Auto`] is, for tests and comparisons.
    pub(super) fn of_process(self) -> Strips {
        static AUTO: OnceLock<Strips> = OnceLock::new();
        match self {
            Strips::Auto => *AUTO.get_or_init(|| match std::env::var("CEMBRA_STRIPS").as_deref() {
                Ok("always") => Strips::Always,
                Ok("never") => Strips::Never,
                _ => Strips::Auto,
            }),
            other => other,
        }
    }
}
