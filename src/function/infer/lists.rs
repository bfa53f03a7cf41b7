//! Types of lists: the element is the common type of everything that is put into the list.

use super::instance::Instance;
use crate::function::library::LibraryKind;
use crate::function::op::FunctionOp;
use crate::function::types::{ArrayOf, FunctionType};
use crate::ssa::InstId;
use hashbrown::HashSet;

/// The type of a list: its first elements, what is appended to it or to what it may be, and what is assigned there.
pub(super) fn type_of_list(
    instance: &Instance,
    list: InstId,
    own: Option<FunctionType>,
) -> Option<FunctionType> {
    let flow = &instance.function.flow;
    let mut same: HashSet<InstId> = HashSet::from([list]);
    loop {
        let before = same.len();
        for block in flow.block_ids() {
            for phi in flow.phis(block) {
                if flow.inst(phi).args.iter().any(|arg| same.contains(arg)) {
                    same.insert(phi);
                }
            }
        }
        if same.len() == before {
            break;
        }
    }
    let mut of = own;
    for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
        let puts = match flow.operation(*inst) {
            Some(FunctionOp::LibraryFunction(builtin)) => builtin.kind() == LibraryKind::Append,
            Some(FunctionOp::SetItem(_)) => true,
            _ => false,
        };
        // The list comes first, the number second.
        let args = &flow.inst(*inst).args;
        if !puts || args.len() < 2 || !same.contains(&args[0]) {
            continue;
        }
        let item = instance.types[args[1].index()].as_ref().and_then(FunctionType::element);
        let item = item.map(|element| FunctionType::Array(ArrayOf::list(element)));
        of = match (of, item) {
            (Some(a), Some(b)) => a.join(&b).or(Some(a)),
            (a, b) => a.or(b),
        };
    }
    of
}
