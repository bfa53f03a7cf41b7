//! Which operands regions see through: results that lie in another array, and that only regions read.
//!
//! ```text
//! ip 3  v5 = array.slice(x, 1, -1)       nothing runs here
//! ip 4  v6 = array.slice(x, 0, n)        nor here
//! ip 5  v7 = math.subtract(v5, v6)       reads rows of x, from row 1 and from row 0 on
//! ```
//!
//! 1. What a view is of, and the scalars that say which rows, stand as they did from the view on to whoever reads it: within
//!    one basic block, and nothing between writes a byte of them. The planner sees to it up to where the region runs.
//! 2. A view that anybody else reads is an array of its own, which all read.
//! 3. Where rows are chosen, each reader chooses them again: what several instructions read, or another view, is an array of its
//!    own.

use crate::layout::TypedSlot;
use crate::operator::operand_view::OperandView;
use crate::program::{Instruction, Routine, ValueId};
use hashbrown::HashMap;

/// Most views that are followed at the same time, and most of them one of the other, so that finding them takes linear time.
const MOST_LIVE: usize = 64;
const MOST_IN_A_CHAIN: usize = 8;

/// The views of a routine.
#[derive(Debug, Default)]
pub(in crate::machine) struct Views {
    /// By reader and number of its operand: the views from what stands in the frame on, by instruction.
    of_operand: HashMap<(u32, u32), Box<[u32]>>,
    /// By instruction: true if nobody needs the result as an array of its own.
    is_seen_through: Vec<bool>,
}

/// A view, while what it is of stands as it did.
struct Live {
    value: ValueId,
    /// The views from what stands in the frame on, this one the last.
    chain: Vec<u32>,
    /// What must not be written.
    bytes: Vec<TypedSlot>,
    /// True if rows are chosen.
    chooses: bool,
    /// The instruction that has read it.
    reader: Option<usize>,
}

impl Live {
    /// True if an instruction may see through it, which goes over its rows, or is a view of it.
    fn is_seen_by(&self, ip: usize, goes_over_rows: bool, is_view_of: bool) -> bool {
        match self.chooses {
            true => goes_over_rows && self.reader.is_none_or(|reader| reader == ip),
            false => goes_over_rows || is_view_of && self.can_be_followed(),
        }
    }

    /// True if a view of it has no longer chain than views may have.
    fn can_be_followed(&self) -> bool {
        !self.chooses && self.chain.len() < MOST_IN_A_CHAIN
    }
}

impl Views {
    /// Finds the views among reachable instructions.
    pub(super) fn new(routine: &Routine, is_target: &[bool], is_reachable: &[bool]) -> Views {
        let body = &routine.body;
        if !body.operators().iter().any(|operator| operator.is_view()) {
            return Views::default();
        }
        let len = body.instructions().len();
        let owners = routine.owners();
        // By value: reads that need an array of its own, as far as is known.
        let mut needs = vec![0u32; routine.values.len()];
        routine.results().for_each(|value| needs[owners.same_bytes(value).index()] += 1);
        for (value, info) in (0..).map(ValueId).zip(&routine.values) {
            // Of a tuple, or read under another type.
            let whole = info.view_of.map(|_| [owners.owner(value), owners.same_bytes(value)]);
            whole.into_iter().flatten().for_each(|value| needs[value.index()] += 1);
        }
        let mut is_read = vec![false; routine.values.len()];
        let (mut of_operand, mut view_of) = (HashMap::new(), HashMap::new());
        let mut live: Vec<Live> = Vec::new();
        for (ip, instruction) in body.instructions().iter().enumerate().filter(|(ip, _)| is_reachable[*ip]) {
            if is_target[ip] {
                live.clear();
            }
            for written in body.writes(instruction) {
                let slot = routine.slot(*written);
                live.retain(|view| !view.bytes.iter().any(|bytes| bytes.overlaps(slot)));
            }
            let operator = match instruction {
                Instruction::Operator { operator, .. } => Some(&body.operators()[*operator as usize]),
                _ => None,
            };
            let reads_rows = operator.is_some_and(|operator| operator.kernel().goes_over_rows());
            let is_view = operator.is_some_and(|operator| operator.is_view());
            for (number, value) in body.reads(instruction).iter().enumerate() {
                let seen = live.iter_mut().find(|view| view.value == *value);
                match seen.filter(|view| view.is_seen_by(ip, reads_rows, is_view && number == 0)) {
                    Some(view) => {
                        view.reader = Some(ip);
                        is_read[value.index()] = true;
                        of_operand.insert((ip as u32, number as u32), view.chain.clone());
                    }
                    None => needs[owners.same_bytes(*value).index()] += 1,
                }
            }
            match operator {
                None => live.clear(),
                Some(operator) if is_view => {
                    let result = body.writes(instruction)[0];
                    let reads = body.reads(instruction);
                    let before = live.iter().find(|view| view.value == reads[0]);
                    let before = before.filter(|view| view.can_be_followed());
                    let mut chain = before.map_or(Vec::new(), |view| view.chain.clone());
                    let mut bytes = before.map_or(Vec::new(), |view| view.bytes.clone());
                    chain.push(ip as u32);
                    bytes.extend(reads.iter().chain([&result]).map(|value| routine.slot(*value).clone()));
                    view_of.insert(ip, owners.same_bytes(result));
                    if live.len() == MOST_LIVE {
                        live.remove(0);
                    }
                    let chooses = operator.view().is_some_and(OperandView::chooses);
                    live.push(Live { value: result, chain, bytes, chooses, reader: None });
                }
                Some(_) => {}
            }
        }
        Views::following(of_operand, &view_of, needs, &is_read, len)
    }

    /// The same of what has been found: by reader and operand the views from the frame on, by instruction the value of a view,
    /// and by value how often an array of its own is needed, and whether a view is read.
    fn following(
        mut of_operand: HashMap<(u32, u32), Vec<u32>>,
        view_of: &HashMap<usize, ValueId>,
        mut needs: Vec<u32>,
        is_read: &[bool],
        len: usize,
    ) -> Views {
        let mut is_seen_through = vec![false; len];
        for ip in (0..len).rev() {
            let Some(value) = view_of.get(&ip) else { continue };
            is_seen_through[ip] = needs[value.index()] == 0 && is_read[value.index()];
            if !is_seen_through[ip] {
                // It reads its own operand as an array.
                if let Some(chain) = of_operand.remove(&(ip as u32, 0)) {
                    needs[view_of[&(chain[chain.len() - 1] as usize)].index()] += 1;
                }
            }
        }
        // Views of arrays of their own begin there.
        let from_array = |chain: Vec<u32>| -> Box<[u32]> {
            let own = chain.iter().rposition(|ip| !is_seen_through[*ip as usize]);
            chain[own.map_or(0, |own| own + 1)..].into()
        };
        let of_operand = of_operand.into_iter().map(|(at, chain)| (at, from_array(chain))).collect();
        Views { of_operand, is_seen_through }
    }

    /// The views between an operand and what stands in the frame, from there on; none if that is the operand itself.
    pub(in crate::machine) fn of(&self, ip: u32, operand: usize) -> &[u32] {
        self.of_operand.get(&(ip, operand as u32)).map_or(&[], |chain| chain)
    }

    /// True if no array is made of the result of an instruction.
    pub(in crate::machine) fn are_through(&self, ip: usize) -> bool {
        self.is_seen_through.get(ip).copied().unwrap_or_default()
    }
}
