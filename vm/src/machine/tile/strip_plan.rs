//! Plans strips: which members of a region run together in registers, and in which order with the passes of others.

use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::region::Input;
use crate::machine::tile::schedule::{Code, Step};
use crate::machine::tile::scratch::Scratch;
use crate::machine::tile::strips::{Group, Lowered, Recording, StripPlan};
use crate::operator::block::MAX_STEP_OPERANDS;
use crate::operator::cell::Strips;
use crate::operator::recipe::{Recipe, Recorded};
use crate::strip::Lane;
use crate::value::ScalarType;
use crate::vector::Level;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// Inputs of a region that runs as strips: two bits of a signature each.
const MAX_INPUTS: usize = 32;

/// The plan of a region; none if no two members would run in one strip. `is_read_outside` says what is laid out,
/// `own_step` gives the pass of a member.
pub(super) fn plan(
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
        literals: columns.inputs.iter().map(Input::literal).collect(),
        auto: Strips::Auto.of_process(),
        seen: AtomicU64::new(0),
        variants: OnceLock::new(),
    })
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
