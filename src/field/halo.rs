//! Halos: how far beyond its domain a statement reads each field, by name, before any size is known.
//!
//! ```text
//! out[I=1:n-1] = u[I-1] + u[I+1]      u: I from 1 - 1 to n - 1 + 1, halo 1 below and 1 above
//! ```
//!
//! Parts of a `concat_where` count with their whole domain. What is read by a table has no halo along the dimension of its
//! entries.

use crate::field::dimension::DimensionId;
use crate::field::expression::{FieldId, FieldNode, FieldNodeId, TableId};
use crate::field::program::{FieldProgram, FieldStatement};
use hashbrown::HashMap;

/// How a statement reads a field along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldReach {
    /// From the least to the greatest offset.
    Offsets(i64, i64),
    /// At the entries of a table.
    Table(TableId),
}

/// How a statement reads a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldAccess {
    /// The field.
    pub field: FieldId,
    /// For each of its dimensions, in their order, all ways.
    pub reach: Vec<(DimensionId, Vec<FieldReach>)>,
}

/// The least and greatest offset of an operation along each dimension, and tables it is read by.
type Reaches = Vec<Vec<FieldReach>>;

/// How the statement reads each field, in the order of first use.
pub fn field_accesses(program: &FieldProgram, statement: &FieldStatement) -> Vec<FieldAccess> {
    let roots = statement.value.roots();
    let needed = program.nodes.needed(roots);
    let here: Reaches = vec![vec![FieldReach::Offsets(0, 0)]; program.dims.len()];
    let mut reaches: HashMap<FieldNodeId, Reaches> = HashMap::new();
    roots.iter().for_each(|root| merge(reaches.entry(*root).or_default(), &here));
    let mut accesses: Vec<FieldAccess> = Vec::new();
    for id in needed.iter().rev() {
        let Some(of) = reaches.remove(id) else { continue };
        let node = program.nodes.get(*id);
        if let FieldNode::Field(field) = node {
            merge_access(program, &mut accesses, *field, &of);
        }
        let of = through(program, node, of);
        for operand in node.operands() {
            merge(reaches.entry(operand).or_default(), &of);
        }
    }
    accesses.reverse();
    accesses
}

/// What an operand is read at, if the operation is read so.
fn through(program: &FieldProgram, node: &FieldNode, mut of: Reaches) -> Reaches {
    match node {
        FieldNode::Shift(_, offsets) => {
            for (dim, by) in offsets {
                for reach in &mut of[dim.0] {
                    if let FieldReach::Offsets(low, high) = reach {
                        (*low, *high) = (low.saturating_add(*by), high.saturating_add(*by));
                    }
                }
            }
        }
        FieldNode::Gather(_, table, _) | FieldNode::ShiftAll(_, table) => {
            of[program.tables[table.0].to.0] = vec![FieldReach::Table(*table)];
        }
        _ => {}
    }
    of
}

fn merge(into: &mut Reaches, other: &Reaches) {
    into.resize(other.len(), Vec::new());
    for (into, other) in into.iter_mut().zip(other) {
        other.iter().for_each(|reach| merge_reach(into, *reach));
    }
}

fn merge_reach(into: &mut Vec<FieldReach>, reach: FieldReach) {
    if let FieldReach::Offsets(low, high) = reach {
        for known in into.iter_mut() {
            if let FieldReach::Offsets(first, last) = known {
                (*first, *last) = (low.min(*first), high.max(*last));
                return;
            }
        }
    }
    if !into.contains(&reach) {
        into.push(reach);
    }
}

fn merge_access(program: &FieldProgram, accesses: &mut Vec<FieldAccess>, field: FieldId, of: &Reaches) {
    let dims = &program.fields[field.0].dims;
    let place = accesses.iter().position(|access| access.field == field).unwrap_or_else(|| {
        let reach = dims.iter().map(|dim| (*dim, Vec::new())).collect();
        accesses.push(FieldAccess { field, reach });
        accesses.len() - 1
    });
    for (dim, into) in &mut accesses[place].reach {
        of[dim.0].iter().for_each(|reach| merge_reach(into, *reach));
    }
}
