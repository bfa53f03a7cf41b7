//! Needs: for which rows the value of a node is looked at.
//!
//! ```text
//! where(c, x // y, 0) + where(d, x // y, 1)        x // y is needed in the rows of c and in those of d
//! ```
//!
//! A choice between rows opens two *sides*. The operands of a node are needed where the node is; what a side
//! consists of is needed where the mask says so. A node with users of several needs is needed where one of
//! them is; a need that lies inside of another one adds nothing, and both sides of a choice are all of it.
//!
//! | a need | is |
//! | --- | --- |
//! | [`Need::Always`] | every row |
//! | [`Need::Side`] | rows of a need for which a choice takes one side |
//! | [`Need::AnyRow`] | everything, if there is a row of a need: an operand that is not looked at row by row |
//! | [`Need::OneOf`] | rows of several needs |
//!
//! A scalar `where` opens sides too. They jump ([`branches`](crate::prepare::branches)), so what is needed
//! nowhere else asks for nothing.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use cembra_vm::builtins::core;
use cembra_vm::builtins::nd::shape;
use cembra_vm::value::QType;
use cembra_vm::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Number of a need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeedId(u32);

impl NeedId {
    /// The need of every row.
    pub const ALWAYS: NeedId = NeedId(0);

    /// Position in a table of needs.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// For which rows a value is needed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// For every row.
    Always,
    /// For the rows of a need where a choice takes this side.
    Side {
        /// The choice.
        owner: NodeId,
        /// True for the side taken where the condition holds.
        taken: bool,
        /// Where the choice is needed.
        within: NeedId,
    },
    /// As a whole, if there is any row of a need.
    AnyRow(NeedId),
    /// For the rows of each of these.
    OneOf(Box<[NeedId]>),
}

/// How a choice chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One side for everything, by a jump.
    Jump,
    /// One side for everything; both are there.
    Whole,
    /// Row by row.
    Rows,
}

/// How a node chooses between its second and its third operand by the first; `None` if it does not.
pub fn choice(draft: &Draft, id: NodeId) -> Option<Choice> {
    let operator = draft.graph.name(draft.graph.operator(id)?);
    let [condition, yes, no] = *draft.graph.operands(id) else { return None };
    let is_whole = |side: NodeId| draft.type_id(side) == draft.type_id(id);
    let jumps = **operator == *core::WHERE && is_whole(yes) && is_whole(no);
    match (&**operator, draft.qtype_of(condition)) {
        (core::WHERE, &OPTIONAL_UNIT) if jumps => Some(Choice::Jump),
        (core::WHERE, &OPTIONAL_UNIT) | (shape::WHERE, &BOOLEAN) => Some(Choice::Whole),
        (core::WHERE | shape::WHERE, _) => Some(Choice::Rows),
        _ => None,
    }
}

/// True if an operator looks at the rows of an operand one by one.
fn takes_rows_of(draft: &Draft, id: NodeId, position: usize) -> bool {
    let overload = draft.signature(id).and_then(|s| s.overload.as_ref());
    overload.is_some_and(|overload| overload.takes_rows_of(position))
}

/// True if rows of one type are rows of the other, number by number.
fn has_rows_of(qtype: &QType, other: &QType) -> bool {
    match (qtype, other) {
        (QType::Array(_), QType::Array(_)) => true,
        (QType::NdArray(a), QType::NdArray(b)) => a.has_axes_of(*b),
        _ => false,
    }
}

#[derive(Clone, Debug)]
struct NeedRow {
    need: Need,
    /// True if one row may be needed and another one not.
    by_row: bool,
    /// True if jumps alone decide.
    jumps: bool,
}

/// The needs of the nodes of a draft.
#[derive(Debug)]
pub struct RowNeeds {
    rows: Vec<NeedRow>,
    known: HashMap<Need, NeedId>,
    /// By node.
    of_node: Vec<NeedId>,
}

/// Most steps to the needs around one, to see whether another node's need is among them.
const MOST_STEPS: usize = 256;

/// Most members that a need takes over from another one; of more it is the other one as a whole.
const MOST_MEMBERS: usize = 64;

impl RowNeeds {
    /// The needs of all nodes that the root reaches.
    pub fn new(draft: &Draft, reached: &[bool]) -> RowNeeds {
        let always = NeedRow { need: Need::Always, by_row: false, jumps: true };
        let mut needs = RowNeeds {
            rows: vec![always],
            known: HashMap::from_iter([(Need::Always, NeedId::ALWAYS)]),
            of_node: vec![NeedId::ALWAYS; reached.len()],
        };
        let mut users: Vec<Vec<NeedId>> = vec![Vec::new(); reached.len()];
        users[draft.root.index()].push(NeedId::ALWAYS);
        for index in (0..reached.len()).rev().filter(|i| reached[*i]) {
            let id = NodeId::at(index);
            let here = needs.join(draft, std::mem::take(&mut users[index]));
            needs.of_node[index] = here;
            for (position, operand) in draft.graph.operands(id).iter().enumerate() {
                let need = needs.of_operand(draft, id, here, position);
                let known = &mut users[operand.index()];
                if known.last() != Some(&need) {
                    known.push(need);
                }
            }
        }
        needs
    }

    /// Where a node is needed by any of its users.
    pub fn of(&self, id: NodeId) -> NeedId {
        self.of_node.get(id.index()).copied().unwrap_or(NeedId::ALWAYS)
    }

    /// What a need is.
    pub fn get(&self, need: NeedId) -> &Need {
        &self.rows[need.index()].need
    }

    /// Number of needs.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Every need.
    pub fn all(&self) -> impl Iterator<Item = NeedId> + use<> {
        (0..self.rows.len() as u32).map(NeedId)
    }

    /// True if one row may be needed and another one not.
    pub fn is_by_row(&self, need: NeedId) -> bool {
        self.rows[need.index()].by_row
    }

    /// Everything, if there is a row of a need.
    pub fn any_row(&mut self, draft: &Draft, need: NeedId) -> NeedId {
        match self.is_by_row(need) {
            true => self.intern(draft, Need::AnyRow(need)),
            false => need,
        }
    }

    /// True if jumps alone keep what is not needed from running.
    pub fn jumps(&self, need: NeedId) -> bool {
        self.rows[need.index()].jumps
    }

    /// Where a node that is needed here needs an operand.
    pub fn of_operand(&mut self, draft: &Draft, id: NodeId, here: NeedId, position: usize) -> NeedId {
        let operand = draft.graph.operands(id)[position];
        let choice = choice(draft, id).filter(|_| position > 0);
        let need = match choice {
            Some(_) => self.intern(draft, Need::Side { owner: id, taken: position == 1, within: here }),
            None => here,
        };
        let follows =
            takes_rows_of(draft, id, position) && has_rows_of(draft.qtype_of(operand), draft.qtype_of(id));
        if follows { need } else { self.any_row(draft, need) }
    }

    /// The need of a node's user, or one around it that the node has too.
    pub fn around(&self, node: NodeId, user: NeedId) -> NeedId {
        let members = self.members(self.of(node));
        let mut need = user;
        for _ in 0..MOST_STEPS {
            if members.contains(&need) {
                return need;
            }
            match *self.get(need) {
                Need::Side { within, .. } | Need::AnyRow(within) => need = within,
                _ => break,
            }
        }
        user
    }

    /// The needs that a need is made of.
    pub fn parts(&self, need: NeedId) -> Vec<NeedId> {
        match self.get(need) {
            Need::Always => Vec::new(),
            Need::Side { within, .. } | Need::AnyRow(within) => vec![*within],
            Need::OneOf(members) => members.to_vec(),
        }
    }

    /// The need of several users: one of them, or all that add to the others.
    fn join(&mut self, draft: &Draft, users: Vec<NeedId>) -> NeedId {
        let mut joined: BTreeSet<NeedId> = BTreeSet::new();
        for user in users {
            joined.extend(self.members(user).iter());
        }
        while !joined.contains(&NeedId::ALWAYS) {
            let Some((side, other, within)) = self.both_sides(&joined) else { break };
            joined.remove(&side);
            joined.remove(&other);
            joined.extend(self.members(within).iter());
        }
        if joined.contains(&NeedId::ALWAYS) {
            return NeedId::ALWAYS;
        }
        if let (1, Some(only)) = (joined.len(), joined.first()) {
            return *only;
        }
        let inner: Vec<NeedId> =
            joined.iter().copied().filter(|need| self.is_inside(*need, &joined)).collect();
        inner.iter().for_each(|need| _ = joined.remove(need));
        let joined: Box<[NeedId]> = joined.into_iter().collect();
        match *joined {
            [one] => one,
            _ => self.intern(draft, Need::OneOf(joined)),
        }
    }

    /// Two sides of one choice among these needs, and where it is needed.
    fn both_sides(&self, needs: &BTreeSet<NeedId>) -> Option<(NeedId, NeedId, NeedId)> {
        needs.iter().find_map(|side| {
            let Need::Side { owner, taken: true, within } = *self.get(*side) else { return None };
            let other = self.known.get(&Need::Side { owner, taken: false, within })?;
            needs.contains(other).then_some((*side, *other, within))
        })
    }

    /// True if a need lies inside of another one of these.
    fn is_inside(&self, need: NeedId, needs: &BTreeSet<NeedId>) -> bool {
        let mut inner = need;
        for _ in 0..MOST_STEPS {
            let around = match *self.get(inner) {
                Need::Side { within, .. } | Need::AnyRow(within) => within,
                _ => return false,
            };
            // Everything, if there is a row, is more than the rows.
            let whole = self.known.get(&Need::AnyRow(around)).filter(|whole| **whole != need);
            let has = |member: &NeedId| needs.contains(member);
            if self.members(around).iter().all(has) || whole.is_some_and(has) {
                return true;
            }
            inner = around;
        }
        false
    }

    fn intern(&mut self, draft: &Draft, need: Need) -> NeedId {
        if let Some(known) = self.known.get(&need) {
            return *known;
        }
        let row = |id: &NeedId| &self.rows[id.index()];
        let (by_row, jumps) = match &need {
            Need::Always => (false, true),
            Need::Side { owner, within, .. } => {
                let how = choice(draft, *owner);
                (
                    how == Some(Choice::Rows) || row(within).by_row,
                    how == Some(Choice::Jump) && row(within).jumps,
                )
            }
            Need::AnyRow(_) => (false, false),
            Need::OneOf(members) => {
                (members.iter().any(|m| row(m).by_row), members.iter().all(|m| row(m).jumps))
            }
        };
        let id = NeedId(u32::try_from(self.rows.len()).expect("needs are fewer than uses of nodes"));
        self.rows.push(NeedRow { need: need.clone(), by_row, jumps });
        self.known.insert(need, id);
        id
    }

    /// The needs of which each makes a need.
    fn members(&self, need: NeedId) -> Vec<NeedId> {
        match self.get(need) {
            Need::OneOf(members) if members.len() <= MOST_MEMBERS => members.to_vec(),
            _ => vec![need],
        }
    }
}
