//! Recipes of the members of a region, for the operands that they have there.

use crate::array::block::MAX_OPERANDS;
use crate::array::recipe::{Recipe, Recorded};
use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::lowered::{Lowered, Recorder};
use crate::machine::tile::region::Input;
use crate::operator::Kernel;
use crate::strip::{BinaryOp, Lane, List, Op, UnaryOp};
use crate::value::ScalarType;

/// Additions that a division takes as long as.
const LONG: u32 = 8;

/// Most operations of a special function in a strip: longer ones gain nothing in registers, and stay passes.
const LONGEST_FUNCTION: usize = 80;

/// Most operations of special functions in the strips of a region, four exponentials or two sines: with 16 registers, a loop
/// with more is slower than passes.
const MOST_OF_FUNCTIONS: usize = 128;

/// By column: the type of its cells, the inner `None` that of masks.
pub(super) type Lanes = [Option<Option<Lane>>];

/// The types of the cells of all columns.
pub(super) fn lanes(columns: &Columns<'_>) -> Vec<Option<Option<Lane>>> {
    let inputs = (0..columns.inputs.len()).map(|number| columns.input_element(number));
    let results = columns.members().map(|number| columns.element(number));
    inputs.chain(results).map(|element| element.and_then(lane)).collect()
}

/// A recipe that is for the operands of a member.
#[derive(Clone, Copy)]
pub(super) struct MemberRecipe {
    pub(super) recorder: Recorder,
    /// In additions.
    pub(super) cost: u32,
    /// How many operations a special function takes.
    pub(super) of_function: usize,
    /// Rows can be rare.
    pub(super) can_fire: bool,
    /// Rows can raise.
    pub(super) can_raise: bool,
}

/// By member: its recipe, if it has one that is for its operands, and stands in a strip.
pub(super) fn recipes(columns: &Columns<'_>, lanes: &Lanes) -> Vec<Option<MemberRecipe>> {
    let mut trial = Lowered::default();
    let mut recipes: Vec<Option<MemberRecipe>> =
        columns.members().map(|member| recipe(columns, lanes, member, &mut trial)).collect();
    keep_few_functions(&mut recipes);
    // What a strip has added up cannot be taken back if it fires.
    if recipes.iter().flatten().any(|recipe| recipe.can_fire) {
        let is_running = |recipe: &MemberRecipe| matches!(recipe.recorder, Recorder::Running(..));
        recipes
            .iter_mut()
            .filter(|recipe| recipe.as_ref().is_some_and(is_running))
            .for_each(|recipe| *recipe = None);
    }
    recipes
}

/// How a member is recorded, if strips can compute it.
fn recorder(columns: &Columns<'_>, member: usize) -> Option<Recorder> {
    match columns.kernels[member] {
        Kernel::Scan { scan, .. } => Some(Recorder::Running(scan.running?, columns.carry_of(member) as u16)),
        _ => columns.block_kernel(member)?.recipe_or_function().map(Recorder::Rows),
    }
}

/// The recipe of a member, if it has one that is for its operands.
fn recipe(columns: &Columns<'_>, lanes: &Lanes, member: usize, trial: &mut Lowered) -> Option<MemberRecipe> {
    let recorder = recorder(columns, member)?;
    let result = lanes[columns.of_member(member)]?;
    let recorded = record(columns, lanes, member, trial, |_| true)?;
    let of_function = match recorder {
        Recorder::Rows(Recipe::Function(_)) => {
            trial.list.terms().filter(|(_, op, _)| op.operands().next().is_some()).count()
        }
        _ => 0,
    };
    let is_of_type = recorded.cells.map(|cells| trial.list.lane(cells)) == result;
    let can_fire = trial.can_fire();
    let can_raise = can_fire && columns.block_kernel(member).is_some_and(|kernel| kernel.is_fallible);
    is_of_type.then(|| MemberRecipe { recorder, cost: cost(&trial.list), of_function, can_fire, can_raise })
}

/// Leaves out functions that are too long, or would make too many operations.
fn keep_few_functions(recipes: &mut [Option<MemberRecipe>]) {
    let mut operations = 0;
    for place in recipes {
        let Some(MemberRecipe { of_function, .. }) = *place else { continue };
        if of_function > LONGEST_FUNCTION || operations + of_function > MOST_OF_FUNCTIONS {
            *place = None;
        } else {
            operations += of_function;
        }
    }
}

/// For a member that says itself which rows are present: by which of its operands miss no row, a bit each, a bit that is
/// set if its result misses none then.
pub(super) fn complete_if(columns: &Columns<'_>, lanes: &Lanes, member: usize) -> u16 {
    let patterns = 0..1u16 << columns.operands[member].len().min(4);
    let mut trial = Lowered::default();
    let is_complete = |pattern: &u16| {
        let recorded = record(columns, lanes, member, &mut trial, |operand| pattern >> operand & 1 == 0);
        recorded.is_some_and(|recorded| recorded.cells.is_some() && recorded.present.is_none())
    };
    patterns.filter(is_complete).fold(0, |bits, pattern| bits | 1 << pattern)
}

/// What a member computes, recorded alone in `trial`, by which of its operands may miss rows.
fn record(
    columns: &Columns<'_>,
    lanes: &Lanes,
    member: usize,
    trial: &mut Lowered,
    may_miss: impl Fn(usize) -> bool,
) -> Option<Recorded> {
    let recorder = recorder(columns, member)?;
    trial.clear();
    let mut operands = [Recorded::default(); MAX_OPERANDS];
    let sources = &columns.operands[member];
    for (operand, (source, recorded)) in sources.iter().zip(operands.get_mut(..sources.len())?).enumerate() {
        let column = columns.index(*source);
        let input = match *source {
            Source::Input(number) => Some(&columns.inputs[number]),
            Source::Member(_) => None,
        };
        let is_one = input.is_some_and(|input| !input.is_array());
        let literal = input.and_then(Input::literal);
        *recorded = trial.read(column as u16, lanes[column]?, is_one, may_miss(operand), literal);
    }
    trial.record(recorder, &operands[..sources.len()], columns.is_lifted(member))
}

/// The cost of a list, in additions: of presence it has what would be there if each operand missed rows.
fn cost(list: &List) -> u32 {
    let cost = |op: Op| match op {
        Op::Column(_) | Op::Presence(_) | Op::Scalar(_) | Op::Literal(_) => 0,
        Op::Binary(BinaryOp::Div, ..) | Op::Unary(UnaryOp::Sqrt, _) | Op::Running(..) => LONG,
        Op::Binary(BinaryOp::And, x, _) if list.lane(x) == Lane::Mask => 0,
        _ => 1,
    };
    list.terms().map(|(_, op, _)| cost(op)).sum()
}

/// The type of cells; the inner `None` is that of masks, which have none.
#[expect(clippy::option_option, reason = "no type, or a type without cells")]
fn lane(element: ScalarType) -> Option<Option<Lane>> {
    match element {
        ScalarType::Unit => Some(None),
        element => Lane::of(element).map(Some),
    }
}
