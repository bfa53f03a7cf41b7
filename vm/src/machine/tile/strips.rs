//! Members of a region that run as strips: compiled loops over registers.
//!
//! ```text
//! members    m0 less   m1 where   m2 exp   m3 add          m0, m1, m3 have recipes, m2 is a pass
//! groups     { m0, m1 }           exp      { m3 }          level by level: strips, then the passes that read them
//! schedule   strip 0 │ pass m2 │ pass m3                   a group of one is a pass
//! ```
//!
//! A group is compiled when the region has gone over [`WORTHWHILE`] rows times members, for what is known of the
//! inputs then: which of them have missing rows, and which are one value for all rows. Each such *variant* is compiled
//! once; a run that has another one waits for its own, or runs as passes.
//!
//! 1. A member with a recipe cannot raise for its operands; passes that can keep their order.
//! 2. Columns that others than the group read are laid out as passes lay them out, presence included.

use crate::machine::tile::build::Scratch;
use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::region::{Code, Input, Presence, Region, Schedule, Step};
use crate::machine::tile::report::StripReport;
use crate::operator::block::{Column, MAX_STEP_OPERANDS};
use crate::operator::cell::Strips;
use crate::operator::recipe::{Recipe, Recorded};
use crate::strip::{self, Lane, List, Refused, Strip};
use crate::value::ScalarType;
use crate::vector::Level;
use bumpalo::Bump;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows times members from which on compiling pays: code takes some 50 µs, and a pass over a row 0.1 ns more than an
/// operation in a strip.
const WORTHWHILE: u64 = 1 << 18;

/// Variants of a region that are compiled.
const MAX_VARIANTS: usize = 8;

/// Inputs of a region that runs as strips: two bits of a signature each.
const MAX_INPUTS: usize = 32;

/// What strips of a region compute, and their code as far as there is any.
#[derive(Debug)]
pub(super) struct StripPlan {
    /// Strips, and passes for other members.
    pub(super) schedule: Schedule,
    groups: Box<[Group]>,
    /// By column: what a cell is; `None` if it has none.
    lanes: Box<[Option<Lane>]>,
    /// Rows times members that the region has gone over.
    seen: AtomicU64,
    variants: OnceLock<Box<Variant>>,
}

/// Members that run as one strip.
#[derive(Debug)]
struct Group {
    /// In order.
    members: Box<[Recording]>,
    /// The columns of results that others read.
    results: Box<[u16]>,
}

/// A member of a group.
#[derive(Debug)]
struct Recording {
    recipe: Recipe,
    /// True if a row is present where it is in all operands.
    is_lifted: bool,
    /// The columns that it reads.
    args: Box<[u16]>,
    /// The column that it computes.
    column: u16,
}

/// The strips of a region for one signature.
#[derive(Debug)]
struct Variant {
    signature: u64,
    /// None if the machine refused them.
    strips: Option<Box<[LoadedStrip]>>,
    next: OnceLock<Box<Variant>>,
}

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

/// Places for what a strip is called with.
pub(super) struct StripOperands<'w> {
    columns: &'w mut [*mut u8],
    constants: &'w mut [u64],
}

impl<'w> StripOperands<'w> {
    /// Places for each of the strips.
    pub(super) fn new(strips: &[LoadedStrip], arena: &'w Bump) -> StripOperands<'w> {
        let most = |count: fn(&LoadedStrip) -> usize| strips.iter().map(count).max().unwrap_or(0);
        match strips {
            [] => StripOperands { columns: &mut [], constants: &mut [] },
            _ => StripOperands {
                columns: arena.alloc_slice_fill_copy(most(|s| s.columns.len()), std::ptr::null_mut()),
                constants: arena.alloc_slice_fill_copy(most(|s| s.constants.len()), 0),
            },
        }
    }
}

impl LoadedStrip {
    /// Computes rows, from the first one of the columns on.
    ///
    /// # Safety
    /// The columns have these rows and words of presence for them, as in the run that the strip was chosen for; results
    /// share no byte with others.
    pub(super) unsafe fn run(&self, columns: &[Column], operands: &mut StripOperands<'_>, count: usize) {
        for (place, (column, part)) in operands.columns.iter_mut().zip(&self.columns) {
            let column = &columns[*column as usize];
            // Only what the strip writes is written.
            *place = match part {
                Part::Cells => column.data.cast_mut(),
                Part::Presence => column.presence.cast_mut().cast(),
            };
        }
        for (place, (column, size)) in operands.constants.iter_mut().zip(&self.constants) {
            let from = columns[*column as usize].data;
            // SAFETY: the column has one value of this size, which is what the strip reads of the place.
            *place = unsafe {
                match size {
                    1 => u64::from(from.read()),
                    4 => u64::from(from.cast::<u32>().read_unaligned()),
                    _ => from.cast::<u64>().read_unaligned(),
                }
            };
        }
        // SAFETY: the caller's promise; the strip was compiled for the best level of the machine.
        unsafe { self.strip.run(operands.columns.as_ptr(), 0, count, operands.constants.as_ptr()) };
    }
}

impl Region {
    /// What runs for each block of a run over these columns: strips where they are compiled, else passes.
    pub(super) fn choose(
        &self,
        columns: &[Column],
        presence: &[Presence],
        rows: usize,
        strips: Strips,
    ) -> (&Schedule, &[LoadedStrip]) {
        let passes = (&self.passes, &[][..]);
        let Some(plan) = self.strips.as_ref().filter(|_| strips.of_process() != Strips::Never && rows > 0)
        else {
            return passes;
        };
        let Some(signature) = self.signature(columns) else { return passes };
        let mut place = &plan.variants;
        let mut count = 0;
        while let Some(variant) = place.get() {
            if variant.signature == signature {
                return match &variant.strips {
                    Some(strips) => (&plan.schedule, strips),
                    None => passes,
                };
            }
            place = &variant.next;
            count += 1;
        }
        if strips.of_process() == Strips::Auto {
            let more = (rows as u64).saturating_mul(self.members.len() as u64);
            // Others may count at the same time: it need not be exact, but must not begin again.
            let seen = plan.seen.load(Ordering::Relaxed).saturating_add(more);
            plan.seen.store(seen, Ordering::Relaxed);
            if seen < WORTHWHILE {
                return passes;
            }
        }
        if count >= MAX_VARIANTS {
            return passes;
        }
        let made = || {
            let strips = plan.compile(self, columns, presence);
            Box::new(Variant { signature, strips, next: OnceLock::new() })
        };
        match place.get_or_init(made) {
            variant if variant.signature == signature => match &variant.strips {
                Some(strips) => (&plan.schedule, strips),
                None => passes,
            },
            // Another thread was faster, with another signature.
            _ => passes,
        }
    }

    /// What runs as strips when no input misses a row.
    pub(super) fn strip_reports(&self) -> Vec<StripReport> {
        let Some(plan) = &self.strips else { return Vec::new() };
        let mut columns = self.columns.clone();
        for (column, input) in columns.iter_mut().zip(&self.inputs) {
            column.all = u64::MAX;
            column.step = usize::from(input.is_array());
        }
        let arena = Bump::new();
        let presence = self.plan_presence(&mut columns, &arena);
        let report = |group: &Group| {
            let ip =
                |member: &Recording| self.members[member.column as usize - self.inputs.len()].ip as usize;
            let lowered = plan.lower(group, self, &columns, presence);
            let code = lowered.map_or(Err(Refused::Empty), |lowered| lowered.compile());
            StripReport {
                members: group.members.iter().map(ip).collect(),
                code: code.map(|code| *code.report()),
            }
        };
        plan.groups.iter().map(report).collect()
    }

    /// What a variant is for: two bits an input. None for what no variant is: a value for all rows that is missing.
    fn signature(&self, columns: &[Column]) -> Option<u64> {
        let inputs = &columns[..self.inputs.len()];
        inputs.iter().enumerate().try_fold(0, |signature, (number, column)| {
            let has_presence = !column.presence.is_null();
            let bits = u64::from(has_presence) | u64::from(column.step == 0) << 1;
            (has_presence || column.all != 0).then_some(signature | bits << (2 * number))
        })
    }
}

impl StripPlan {
    /// The plan of a region; none if no two members would run in one strip. `is_read_outside` says what is laid out,
    /// `own_step` gives the pass of a member.
    pub(super) fn new(
        columns: &Columns<'_>,
        is_read_outside: impl Fn(usize) -> bool,
        own_step: impl Fn(usize) -> Step,
        block: usize,
    ) -> Option<StripPlan> {
        if Level::best() == Level::Baseline || columns.inputs.len() > MAX_INPUTS {
            return None;
        }
        let inputs = (0..columns.inputs.len()).map(|number| columns.input_element(number));
        let results = columns.members().map(|number| columns.element(number));
        let lanes: Vec<Option<Option<Lane>>> =
            inputs.chain(results).map(|element| element.and_then(lane)).collect();
        let recipes: Vec<Option<Recipe>> =
            columns.members().map(|member| recipe(columns, &lanes, member)).collect();
        let items = order(columns, &recipes);
        if !items.iter().any(|item| matches!(item, Item::Group(members) if members.len() > 1)) {
            return None;
        }
        // By column: the last item that reads it from outside of its own.
        let mut item_of = vec![0; columns.members().len()];
        for (number, item) in items.iter().enumerate() {
            item.members().iter().for_each(|member| item_of[*member] = number);
        }
        let mut last = vec![None; columns.members().len()];
        for member in columns.members() {
            for source in &columns.operands[member] {
                if let Source::Member(read) = source
                    && item_of[*read] != item_of[member]
                {
                    last[*read] = last[*read].max(Some(item_of[member]));
                }
            }
        }
        let is_array = |member: usize| columns.element(member).is_some();
        let computed: Vec<Vec<usize>> = items.iter().map(|item| item.members().to_vec()).collect();
        let scratch = Scratch::assign(&computed, |member| {
            let is_scratch = is_array(member) && !is_read_outside(member);
            let is_in_group = matches!(items[item_of[member]], Item::Group(_));
            let is_register = is_in_group && last[member].is_none();
            (is_scratch && !is_register).then(|| last[member].unwrap_or(0))
        });
        let mut groups = Vec::new();
        let steps = items.iter().map(|item| match item {
            Item::Pass(member) => own_step(*member),
            Item::Group(members) => {
                let recording = |member: &usize| Recording {
                    recipe: recipes[*member].expect("a member of a group has a recipe"),
                    is_lifted: columns.block_kernel(*member).is_some_and(|kernel| kernel.is_lifted),
                    args: columns.operands[*member].iter().map(|arg| columns.index(*arg) as u16).collect(),
                    column: columns.of_member(*member) as u16,
                };
                let is_result = |member: &&usize| last[**member].is_some() || is_read_outside(**member);
                groups.push(Group {
                    members: members.iter().map(recording).collect(),
                    results: members
                        .iter()
                        .filter(is_result)
                        .map(|member| columns.of_member(*member) as u16)
                        .collect(),
                });
                let code = Code::Strip((groups.len() - 1) as u16);
                Step { args: [0; MAX_STEP_OPERANDS], arity: 0, member: members[0] as u16, code }
            }
        });
        let schedule = scratch.schedule(steps.collect(), columns, block);
        Some(StripPlan {
            schedule,
            groups: groups.into(),
            lanes: lanes.into_iter().map(Option::flatten).collect(),
            seen: AtomicU64::new(0),
            variants: OnceLock::new(),
        })
    }

    /// The strips for a run over these columns; none if there is no code for one, or no memory for code.
    #[cold]
    fn compile(
        &self,
        region: &Region,
        columns: &[Column],
        presence: &[Presence],
    ) -> Option<Box<[LoadedStrip]>> {
        let lowered = self.groups.iter().map(|group| self.lower(group, region, columns, presence));
        let lowered: Vec<Lowered> = lowered.collect::<Option<_>>()?;
        let compiled = lowered
            .iter()
            .map(|lowered| strip::compile(&lowered.list, Level::best(), strip::Options::default()).ok());
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

    fn lower(
        &self,
        group: &Group,
        region: &Region,
        columns: &[Column],
        presence: &[Presence],
    ) -> Option<Lowered> {
        let mut lowered = Lowered::default();
        let mut recorded: Vec<Option<Recorded>> = vec![None; columns.len()];
        for member in &group.members {
            for arg in member.args.iter().map(|arg| *arg as usize) {
                if recorded[arg].is_none() {
                    let has_presence = match arg < region.inputs.len() {
                        true => !columns[arg].presence.is_null(),
                        false => presence.get(arg).is_some_and(|presence| *presence != Presence::Alike),
                    };
                    let literal = region.inputs.get(arg).and_then(Input::literal);
                    let is_one = columns[arg].step == 0 && arg < region.inputs.len();
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

/// What runs for a block.
enum Item {
    Group(Vec<usize>),
    Pass(usize),
}

impl Item {
    fn members(&self) -> &[usize] {
        match self {
            Item::Group(members) => members,
            Item::Pass(member) => std::slice::from_ref(member),
        }
    }
}

/// The recipe of a member, if it has one that is for its operands.
fn recipe(columns: &Columns<'_>, lanes: &[Option<Option<Lane>>], member: usize) -> Option<Recipe> {
    let kernel = columns.block_kernel(member)?;
    let recipe = kernel.recipe?;
    let result = lanes[columns.of_member(member)]?;
    let mut trial = Lowered::default();
    let operands = columns.operands[member].iter().map(|source| {
        let column = columns.index(*source);
        let input = match *source {
            Source::Input(number) => Some(&columns.inputs[number]),
            Source::Member(_) => None,
        };
        let is_one = input.is_some_and(|input| !input.is_array());
        Some(trial.read(column as u16, lanes[column]?, is_one, true, input.and_then(Input::literal)))
    });
    let operands: Vec<Recorded> = operands.collect::<Option<_>>()?;
    let recorded = recipe.record(&mut trial.list, &operands, kernel.is_lifted)?;
    (recorded.cells.map(|cells| trial.list.lane(cells)) == result).then_some(recipe)
}

/// Members in the order in which they run. A strip has the level of what it reads from other strips, and the next one
/// of passes; a pass that of what it reads. Passes that can raise never overtake each other.
fn order(columns: &Columns<'_>, recipes: &[Option<Recipe>]) -> Vec<Item> {
    let mut levels: Vec<usize> = Vec::with_capacity(recipes.len());
    let mut of_fallible = 0;
    for member in columns.members() {
        let is_pass = recipes[member].is_none();
        let level = columns.operands[member].iter().map(|source| match source {
            Source::Input(_) => 0,
            Source::Member(read) => levels[*read] + usize::from(!is_pass && recipes[*read].is_none()),
        });
        let mut level = level.max().unwrap_or(0);
        if is_pass && columns.block_kernel(member).is_none_or(|kernel| kernel.is_fallible) {
            level = level.max(of_fallible);
            of_fallible = level;
        }
        levels.push(level);
    }
    let mut by_level: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for member in columns.members() {
        by_level.resize_with(by_level.len().max(levels[member] + 1), Default::default);
        let (group, passes) = &mut by_level[levels[member]];
        if recipes[member].is_some() { group } else { passes }.push(member);
    }
    let items = by_level.into_iter().flat_map(|(group, passes)| {
        let group = match &*group {
            [] => None,
            [one] => Some(Item::Pass(*one)),
            _ => Some(Item::Group(group)),
        };
        group.into_iter().chain(passes.into_iter().map(Item::Pass))
    });
    items.collect()
}

/// A group as a list of operations.
#[derive(Default)]
struct Lowered {
    list: List,
    columns: Vec<(u16, Part)>,
    constants: Vec<(u16, u8)>,
}

impl Lowered {
    fn compile(&self) -> Result<strip::Code, Refused> {
        strip::compile(&self.list, Level::best(), strip::Options::default())
    }

    /// The number of a part of a column.
    fn number(&mut self, column: u16, part: Part) -> u16 {
        self.columns.push((column, part));
        (self.columns.len() - 1) as u16
    }

    /// A column that the group reads.
    fn read(
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

/// The type of cells; the inner `None` is that of masks, which have none.
#[expect(clippy::option_option, reason = "no type, or a type without cells")]
fn lane(element: ScalarType) -> Option<Option<Lane>> {
    match element {
        ScalarType::Unit => Some(None),
        ScalarType::Boolean => Some(Some(Lane::Mask)),
        ScalarType::Int32 => Some(Some(Lane::I32)),
        ScalarType::Int64 => Some(Some(Lane::I64)),
        ScalarType::Float32 => Some(Some(Lane::F32)),
        ScalarType::Float64 | ScalarType::WeakFloat => Some(Some(Lane::F64)),
        ScalarType::Text | ScalarType::Bytes => None,
    }
}
