//! Members of a region that run as strips: compiled loops over registers.
//!
//! ```text
//! members    m0 less   m1 where   m2 exp   m3 add          m0, m1, m3 have recipes, m2 is a pass
//! groups     { m0, m1 }           exp      { m3 }          a strip runs as soon as what it reads is there
//! schedule   strip 0 │ pass m2 │ pass m3                   a group of one is a pass
//! ```
//!
//! A group is compiled when the region has gone over so many rows times members that it pays, for what is known of
//! the inputs then: which of them have missing rows, and which are one value for all rows. Each such *variant* is compiled
//! once; a run that has another one waits for its own, or runs as passes.
//!
//! 1. A member with a recipe cannot raise for its operands; passes that can keep their order.
//! 2. Columns that others than the group read are laid out as passes lay them out, presence included.

use crate::machine::tile::schedule::{Presence, Schedule};
use crate::operator::block::Column;
use crate::operator::cell::Strips;
use crate::operator::recipe::{Recipe, Recorded};
use crate::strip::{self, Lane, List, Refused, Strip};
use crate::vector::Level;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// What strips of a region compute, and their code as far as there is any.
#[derive(Debug)]
pub(super) struct StripPlan {
    /// Strips, and passes for other members.
    pub(super) schedule: Schedule,
    pub(super) groups: Box<[Group]>,
    /// By column: what a cell is; `None` if it has none.
    pub(super) lanes: Box<[Option<Lane>]>,
    /// By input: its bits, if it is a literal.
    pub(super) literals: Box<[Option<u64>]>,
    /// What [`Strips::Auto`] is in this process.
    pub(super) auto: Strips,
    /// Rows times members that the region has gone over.
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
}

/// A member of a group.
#[derive(Debug)]
pub(super) struct Recording {
    /// Its recipe.
    pub(super) recipe: Recipe,
    /// True if a row is present where it is in all operands.
    pub(super) is_lifted: bool,
    /// The columns that it reads.
    pub(super) args: Box<[u16]>,
    /// The column that it computes.
    pub(super) column: u16,
}

/// The strips of a region for one signature.
#[derive(Debug)]
pub(super) struct Variant {
    /// What is known of the inputs.
    pub(super) signature: u64,
    /// None if there is no code for one of them, or no memory for code.
    pub(super) strips: Option<Box<[LoadedStrip]>>,
    /// The one that was compiled next.
    pub(super) next: OnceLock<Box<Variant>>,
}

/// Columns, and constants, that a strip of a region may have; a region with more runs as passes.
const MOST_OPERANDS: usize = 64;

/// A strip, and what it wants to know.
#[derive(Debug)]
pub(super) struct LoadedStrip {
    strip: Strip,
    /// The columns whose cells or presence it reads and writes, by its own numbers.
    columns: Box<[(u16, Part)]>,
    /// The columns that are one value, and the bytes of that, by its own numbers.
    constants: Box<[(u16, u8)]>,
}

/// What of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Cells,
    Presence,
}

impl LoadedStrip {
    /// Computes some of the rows of the columns, the first one a multiple of 64 if there is presence.
    ///
    /// # Safety
    /// The columns have these rows and words of presence for them, as in the run that the strip was chosen for; results
    /// share no byte with others.
    pub(super) unsafe fn run(&self, columns: &[Column], rows: Range<usize>) {
        let mut places = [const { MaybeUninit::<*mut u8>::uninit() }; MOST_OPERANDS];
        let mut constants = [const { MaybeUninit::<u64>::uninit() }; MOST_OPERANDS];
        // SAFETY: the caller's promise; there are places for all, and the strip looks at those that are filled.
        unsafe {
            self.load(columns, places.as_mut_ptr().cast(), constants.as_mut_ptr().cast());
            self.strip.run(places.as_ptr().cast(), rows.start, rows.end, constants.as_ptr().cast());
        }
    }

    /// Fills in what the strip is called with.
    ///
    /// # Safety
    /// There are places for all columns and constants; each column of a constant has one value.
    #[inline]
    unsafe fn load(&self, columns: &[Column], places: *mut *mut u8, constants: *mut u64) {
        for (number, (column, part)) in self.columns.iter().enumerate() {
            let column = &columns[*column as usize];
            // Only what the strip writes is written.
            let place = match part {
                Part::Cells => column.data.cast_mut(),
                Part::Presence => column.presence.cast_mut().cast(),
            };
            // SAFETY: the caller's promise.
            unsafe { places.add(number).write(place) };
        }
        for (number, (column, size)) in self.constants.iter().enumerate() {
            let from = columns[*column as usize].data;
            // SAFETY: the caller's promise: one value of this size, which is what the strip reads of the place.
            unsafe {
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

impl StripPlan {
    /// The strips for a run over these columns; none if there is no code for one, or no memory for code.
    #[cold]
    pub(super) fn compile(&self, columns: &[Column], presence: &[Presence]) -> Option<Box<[LoadedStrip]>> {
        let lowered = self.groups.iter().map(|group| self.lower(group, columns, presence));
        let lowered: Vec<Lowered> = lowered.collect::<Option<_>>()?;
        let has_places =
            |lowered: &Lowered| lowered.columns.len().max(lowered.constants.len()) <= MOST_OPERANDS;
        if !lowered.iter().all(has_places) {
            return None;
        }
        let compiled = lowered.iter().map(|lowered| lowered.compile().ok());
        let codes: Vec<strip::Code> = compiled.collect::<Option<_>>()?;
        let loaded = strip::load(&codes).ok()?.into_iter().zip(lowered);
        Some(
            loaded
                .map(|(strip, lowered)| LoadedStrip {
                    strip,
                    columns: lowered.columns.into(),
                    constants: lowered.constants.into(),
                })
                .collect(),
        )
    }

    /// A group as a list of operations, for a run over these columns.
    pub(super) fn lower(&self, group: &Group, columns: &[Column], presence: &[Presence]) -> Option<Lowered> {
        let mut lowered = Lowered::default();
        let mut recorded: Vec<Option<Recorded>> = vec![None; columns.len()];
        for member in &group.members {
            for arg in member.args.iter().map(|arg| *arg as usize) {
                if recorded[arg].is_none() {
                    let is_input = arg < self.literals.len();
                    let has_presence = match is_input {
                        true => !columns[arg].presence.is_null(),
                        false => presence.get(arg).is_some_and(|presence| *presence != Presence::Alike),
                    };
                    let literal = self.literals.get(arg).copied().flatten();
                    let is_one = columns[arg].step == 0 && is_input;
                    recorded[arg] =
                        Some(lowered.read(arg as u16, self.lanes[arg], is_one, has_presence, literal));
                }
            }
            let operands: Vec<Recorded> =
                member.args.iter().filter_map(|arg| recorded[*arg as usize]).collect();
            recorded[member.column as usize] =
                Some(member.recipe.record(&mut lowered.list, &operands, member.is_lifted)?);
        }
        for result in &group.results {
            let Recorded { cells, present } = recorded[*result as usize]?;
            if let Some(cells) = cells {
                let number = lowered.number(*result, Part::Cells);
                lowered.list.store(number, cells);
            }
            if presence.get(*result as usize) == Some(&Presence::Own) {
                let present = present.unwrap_or_else(|| lowered.list.truth(true));
                let number = lowered.number(*result, Part::Presence);
                lowered.list.store_presence(number, present);
            }
        }
        Some(lowered)
    }
}

/// A group as a list of operations.
#[derive(Default)]
pub(super) struct Lowered {
    /// The operations.
    pub(super) list: List,
    columns: Vec<(u16, Part)>,
    constants: Vec<(u16, u8)>,
}

impl Lowered {
    /// Code for the best level of the machine.
    pub(super) fn compile(&self) -> Result<strip::Code, Refused> {
        strip::compile(&self.list, Level::best(), strip::Options::default())
    }

    /// The number of a part of a column.
    fn number(&mut self, column: u16, part: Part) -> u16 {
        self.columns.push((column, part));
        (self.columns.len() - 1) as u16
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
                self.constants.push((column, lane.bytes() as u8));
                self.list.scalar((self.constants.len() - 1) as u16, lane)
            }
            (false, _) => {
                let number = self.number(column, Part::Cells);
                self.list.column(number, lane)
            }
        });
        let present = has_presence.then(|| {
            let number = self.number(column, Part::Presence);
            self.list.presence(number)
        });
        Recorded { cells, present }
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
