//! Regions: operators on elements of arrays of one shape that become one loop.
//!
//! ```text
//! v5 = multiply(v0, v4)   v6 = exp(v1)   v3 = add(v5, v6)        one component: v5, v6 and v3 have one shape, or add raises
//! v7 = nd._sum(v3, …)                                            its folds are made on the way
//! ```
//!
//! A region is a stretch of instructions without a jump, a guard or an error but that of shapes and memory; its last one may
//! refuse elements. Scalars of it are
//! computed first, then all shapes are compared in the order of the instructions, then each component is computed: arrays that
//! nobody reads outside have no memory.
//!
//! 1. Nothing is written in a region that was read or written in it before.
//! 2. No member reads the result of a fold of the region, or a member of another component.

use crate::native::c::cells::{CellValue, Presence, cell};
use crate::native::c::fold_kinds::Fold;
use crate::native::c::locals::{CType, Locals};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::{Instruction, Routine, ValueId};
use cembra_vm::value::{QType, ScalarValue};
use hashbrown::{HashMap, HashSet};

/// Instructions of a region at most: a compiler takes long for a loop with very many statements.
const LONGEST: usize = 300;
/// Folds of a region at most: each has a leaf on the stack.
const MOST_FOLDS: usize = 32;

/// A stretch of instructions that are computed together.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) first: usize,
    /// The instruction behind the last one.
    pub(super) end: usize,
    /// Instructions on scalars.
    pub(super) scalars: Vec<usize>,
    pub(super) components: Vec<Vec<Member>>,
}

/// An instruction of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) ip: usize,
    /// The array of its result, or of the operand of a fold.
    pub(super) array: BoundaryArray,
    pub(super) fold: Option<Fold>,
    /// True if its result has memory, of an array.
    pub(super) is_stored: bool,
    /// True if it may refuse elements.
    pub(super) refuses: bool,
    /// True if its rows are all there where all of the operands of its component are; of a fold, those of its operand.
    pub(super) is_certain: bool,
}

/// What an instruction is in a region.
enum Kind {
    Scalar,
    Elements(BoundaryArray),
    /// The same, but some may be refused.
    Refusing(BoundaryArray),
    Fold(Fold),
}

/// The regions of a routine, by their first instructions.
pub(super) fn regions(
    routine: &Routine,
    locals: &Locals<'_>,
    literals: &HashMap<ValueId, ScalarValue>,
) -> HashMap<usize, Region> {
    let count = routine.body.instructions().len();
    let targets: HashSet<usize> = (0..count).filter_map(|ip| routine.body.target(ip)).collect();
    let reads = Reads::new(routine, locals);
    let (mut found, mut first) = (HashMap::new(), 0);
    while first < count {
        let mut window = Window::default();
        let mut end = first;
        while end < count && end - first < LONGEST && !(end > first && targets.contains(&end)) {
            let Some(kind) = kind(routine, literals, end) else { break };
            if !window.take(routine, locals, end, kind) {
                break;
            }
            end += 1;
        }
        if let Some(region) = window.region(first, end, routine, locals, &reads) {
            end = region.end;
            found.insert(first, region);
        }
        first = end.max(first + 1);
    }
    found
}

/// The overload, operands and result of an instruction.
pub(super) fn operator(routine: &Routine, ip: usize) -> Option<(&Overload, &[ValueId], ValueId)> {
    let Instruction::Operator { operator, operands, result } = routine.body.instructions()[ip] else {
        return None;
    };
    Some((&routine.body.operators()[operator as usize], routine.body.list(operands), result))
}

fn kind(routine: &Routine, literals: &HashMap<ValueId, ScalarValue>, ip: usize) -> Option<Kind> {
    let (overload, operands, _) = operator(routine, ip)?;
    if routine.body.guards(ip).next().is_some() {
        return None;
    }
    let is_plain = |qtype: &QType| matches!(qtype, QType::Scalar(_) | QType::Optional(_));
    if let Some(fold) = Fold::of(overload) {
        return fold.is_whole(overload).then_some(Kind::Fold(fold));
    }
    if let Some(result) = BoundaryArray::of(overload.result()) {
        let literal = |number: usize| literals.get(&operands[number]).cloned();
        return Some(match cell(overload, literal, |_, _| String::new())?.value {
            CellValue::Refusing(_) => Kind::Refusing(result),
            _ => Kind::Elements(result),
        });
    }
    let is_total =
        overload.effects().is_total() && overload.args().iter().chain([overload.result()]).all(is_plain);
    is_total.then_some(Kind::Scalar)
}

/// Who reads values of a routine.
struct Reads {
    /// By owner.
    by: HashMap<ValueId, Vec<usize>>,
    results: HashSet<ValueId>,
    writes: HashMap<ValueId, usize>,
}

impl Reads {
    fn new(routine: &Routine, locals: &Locals<'_>) -> Reads {
        let (mut by, mut writes) = (HashMap::<ValueId, Vec<usize>>::new(), HashMap::new());
        for (ip, instruction) in routine.body.instructions().iter().enumerate() {
            for value in routine.body.reads(instruction) {
                by.entry(locals.owner(*value)).or_default().push(ip);
            }
            for value in routine.body.writes(instruction) {
                *writes.entry(locals.owner(*value)).or_default() += 1;
            }
        }
        Reads { by, results: routine.results().map(|value| locals.owner(value)).collect(), writes }
    }

    /// True if a value is read by these instructions only.
    fn are_inside(&self, value: ValueId, members: &[Member]) -> bool {
        let readers = self.by.get(&value).map_or(&[][..], |readers| readers);
        !self.results.contains(&value)
            && self.writes.get(&value) == Some(&1)
            && readers.iter().all(|reader| members.iter().any(|member| member.ip == *reader))
    }
}

/// Instructions on their way to a region.
#[derive(Default)]
struct Window {
    scalars: Vec<usize>,
    members: Vec<(usize, Kind)>,
    /// Members by the owners of their results.
    by_result: HashMap<ValueId, usize>,
    of_folds: HashSet<ValueId>,
    seen: HashSet<ValueId>,
    /// True if no further instruction belongs to it.
    is_closed: bool,
}

impl Window {
    /// Takes one more instruction; false if the region ends before it.
    fn take(&mut self, routine: &Routine, locals: &Locals<'_>, ip: usize, kind: Kind) -> bool {
        let Some((_, operands, result)) = operator(routine, ip) else { return false };
        let (result, operands) =
            (locals.owner(result), operands.iter().map(|value| locals.owner(*value)).collect::<Vec<_>>());
        let is_of_member = |value: &ValueId| self.by_result.contains_key(value);
        let is_new = !self.seen.contains(&result) && !operands.contains(&result);
        let fits = match kind {
            // A fold of elements that are there needs no loop of its own; one of rows has its presence from this one.
            Kind::Fold(fold) => {
                (is_of_member(&operands[0]) || fold.operand.has_rows()) && self.of_folds.len() < MOST_FOLDS
            }
            // Folds are computed leaf by leaf: an element that is refused would be found behind others.
            Kind::Refusing(_) => self.of_folds.is_empty(),
            _ => true,
        };
        if self.is_closed || !is_new || !fits || operands.iter().any(|value| self.of_folds.contains(value)) {
            return false;
        }
        self.seen.insert(result);
        self.seen.extend(operands);
        match kind {
            Kind::Scalar => self.scalars.push(ip),
            Kind::Fold(_) => {
                self.of_folds.insert(result);
                self.members.push((ip, kind));
            }
            Kind::Elements(_) | Kind::Refusing(_) => {
                // Shapes are compared before elements are computed: those behind an element that is refused come later.
                self.is_closed = matches!(kind, Kind::Refusing(_));
                self.by_result.insert(result, self.members.len());
                self.members.push((ip, kind));
            }
        }
        true
    }

    /// The region of these instructions; of the first one alone if their components read each other.
    fn region(
        self,
        first: usize,
        end: usize,
        routine: &Routine,
        locals: &Locals<'_>,
        reads: &Reads,
    ) -> Option<Region> {
        let Window { scalars, members, by_result, .. } = self;
        let operands = |ip: usize| operator(routine, ip).map_or(&[][..], |(_, operands, _)| operands);
        let array = |kind: &Kind| match kind {
            Kind::Elements(array) | Kind::Refusing(array) => Some(*array),
            Kind::Fold(fold) => Some(fold.operand),
            Kind::Scalar => None,
        };
        let mut groups: Vec<usize> = (0..members.len()).collect();
        // Members that share an array of all axes have one shape.
        let mut by_array: HashMap<ValueId, usize> = HashMap::new();
        for (number, (ip, kind)) in members.iter().enumerate() {
            for value in operands(*ip) {
                let owner = locals.owner(*value);
                let is_whole = locals.array(*value).zip(array(kind)).is_some_and(|(x, y)| x.has_axes_of(y));
                if is_whole {
                    let other = by_result.get(&owner).copied();
                    let other = other.unwrap_or_else(|| *by_array.entry(owner).or_insert(number));
                    let (from, to) = (groups[number].max(groups[other]), groups[number].min(groups[other]));
                    groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
                }
            }
        }
        let reads_others = members.iter().enumerate().any(|(number, (ip, _))| {
            let read = operands(*ip).iter().filter_map(|value| by_result.get(&locals.owner(*value)));
            read.into_iter().any(|other| {
                // A member that another one of its component repeats has to be there as a whole, too.
                let is_whole = array(&members[*other].1).zip(array(&members[number].1));
                groups[*other] != groups[number] || is_whole.is_none_or(|(x, y)| !x.has_axes_of(y))
            })
        });
        if reads_others {
            let (ip, kind) = members.into_iter().next()?;
            let scalars: Vec<usize> = scalars.into_iter().filter(|scalar| *scalar < ip).collect();
            let mut window = Window { scalars, ..Window::default() };
            window.take(routine, locals, ip, kind);
            return window.region(first, ip + 1, routine, locals, reads);
        }
        let mut components: Vec<(usize, Vec<Member>)> = Vec::new();
        for ((ip, kind), group) in members.into_iter().zip(groups) {
            let fold = if let Kind::Fold(fold) = kind { Some(fold) } else { None };
            let refuses = matches!(kind, Kind::Refusing(_));
            let member =
                Member { ip, array: array(&kind)?, fold, is_stored: false, refuses, is_certain: false };
            match components.iter_mut().find(|(of, _)| *of == group) {
                Some((_, component)) => component.push(member),
                None => components.push((group, vec![member])),
            }
        }
        let mut components: Vec<Vec<Member>> = components.into_iter().map(|(_, members)| members).collect();
        for component in &mut components {
            let is_stored = |member: &Member| {
                let result = operator(routine, member.ip).map(|(.., result)| locals.owner(result));
                member.fold.is_none() && !result.is_some_and(|result| reads.are_inside(result, component))
            };
            let stored: Vec<bool> = component.iter().map(is_stored).collect();
            component.iter_mut().zip(stored).for_each(|(member, is)| member.is_stored = is);
        }
        (!components.is_empty()).then_some(Region { first, end, scalars, components })
    }
}

impl Member {
    /// True if rows of what it gives may be missing, as far as a function knows.
    pub(super) fn may_miss(&self, how: Presence) -> bool {
        self.array.has_rows() && !(self.is_certain && how == Presence::All)
    }

    /// What follows an output in a list if rows may be missing.
    pub(super) fn with_bits(&self, text: String, bits: &str, how: Presence) -> String {
        if self.may_miss(how) { format!("{text}, {bits}") } else { text }
    }

    /// Where the function of a row puts elements of a fold, and presence, as far as the fold needs them.
    pub(super) fn buffers(&self, elements: &str, presence: &str, how: Presence) -> String {
        let Some(fold) = self.fold else { return String::new() };
        let elements = fold.has_value().then_some(elements);
        let presence = (fold.counts() && self.may_miss(how)).then_some(presence);
        elements.into_iter().chain(presence).collect::<Vec<_>>().join(", ")
    }

    /// The type of C of its value: of an element, or of what a fold gives.
    pub(super) fn ctype(&self) -> CType {
        self.fold.map_or(CType::of(self.array.element()).unwrap_or(CType::F64), |fold| fold.part)
    }
}
