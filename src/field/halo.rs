//! Halos: how far beyond its domain a statement reads each field and needs each definition, by name, before any size is known.
//!
//! ```text
//! out[I=1:n-1] = u[I-1] + u[I+1]      u: I from 1 - 1 to n - 1 + 1, halo 1 below and 1 above
//! ```
//!
//! A part of a `concat_where` is read on its part, if that is a range. What is read by a table has no halo along the dimension of
//! its entries.

use crate::field::dimension::DimensionId;
use crate::field::expression::{FieldBound, FieldId, FieldNode, FieldNodeId, TableId};
use crate::field::program::{FieldProgram, FieldStatement, FieldTarget};
use crate::field::span::{ConditionPart, FieldSpan};
use crate::field::types::FieldTypes;
use hashbrown::HashMap;

/// Spans along a dimension that are told apart; more of them become larger ones.
const MOST_SPANS: usize = 4;

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
    /// For each of its dimensions the points that are read in order.
    pub spans: Vec<Vec<FieldSpan>>,
}

/// How a statement needs a definition beyond its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionAccess {
    /// The operation with the name.
    pub node: FieldNodeId,
    /// For each of its dimensions, in the order of axes, all ways.
    pub reach: Vec<(DimensionId, Vec<FieldReach>)>,
    /// For each of its dimensions the points that are needed in order.
    pub spans: Vec<Vec<FieldSpan>>,
}

/// How an operation is read along a dimension.
#[derive(Clone, Debug, Default)]
struct Reaches {
    ways: Vec<FieldReach>,
    spans: Vec<DomainPart>,
}

/// Points that are read, and the domain that they are part of, moved as they are.
#[derive(Clone, Debug)]
struct DomainPart {
    domain: FieldSpan,
    span: FieldSpan,
}

/// By dimension.
type AllReaches = Vec<Reaches>;

/// How the statement reads each field, in the order of first use.
pub fn field_accesses(program: &FieldProgram, statement: &FieldStatement) -> Vec<FieldAccess> {
    let mut accesses: Vec<FieldAccess> = Vec::new();
    each_reach(program, statement, |id, of| {
        if let FieldNode::Field(field) = program.nodes.get(id) {
            merge_access(program, &mut accesses, *field, of);
        }
    });
    accesses.reverse();
    accesses
}

/// How the statement needs each definition that is shifted or read at neighbours, in the order of definitions.
pub fn definition_accesses(
    program: &FieldProgram,
    types: &FieldTypes,
    statement: &FieldStatement,
) -> Vec<DefinitionAccess> {
    let mut accesses = Vec::new();
    each_reach(program, statement, |id, of| {
        let is_leaf = program.nodes.get(id).is_leaf();
        let (Some(_), Some(kind), false) = (program.nodes.name(id), types.get(id), is_leaf) else { return };
        let dims = program.in_order(kind.dims);
        let is_here = |dim: &DimensionId| matches!(of[dim.0].ways[..], [] | [FieldReach::Offsets(0, 0)]);
        if !dims.iter().all(is_here) {
            let reach = dims.iter().map(|dim| (*dim, of[dim.0].ways.clone())).collect();
            let spans = |dim: &DimensionId| of[dim.0].spans.iter().map(|part| part.span.clone()).collect();
            accesses.push(DefinitionAccess { node: id, reach, spans: dims.iter().map(spans).collect() });
        }
    });
    accesses.reverse();
    accesses
}

/// Calls a function for each operation, users first, with how the statement reads it.
fn each_reach(
    program: &FieldProgram,
    statement: &FieldStatement,
    mut each: impl FnMut(FieldNodeId, &AllReaches),
) {
    let roots = statement.value.roots();
    let needed = program.nodes.needed(roots);
    let mut reaches: HashMap<FieldNodeId, AllReaches> = HashMap::new();
    for (root, target) in roots.iter().zip(&statement.targets) {
        merge(reaches.entry(*root).or_default(), &here(program, target));
    }
    for id in needed.iter().rev() {
        let Some(of) = reaches.remove(id) else { continue };
        let node = program.nodes.get(*id);
        each(*id, &of);
        if let FieldNode::ConcatWhere(condition, a, b) = node {
            let [holds, fails] = ConditionPart::of(condition);
            for (operand, part) in [(*a, holds), (*b, fails)] {
                if let Some(of) = within(&of, condition.dimension, &part) {
                    merge(reaches.entry(operand).or_default(), &of);
                }
            }
            continue;
        }
        let of = through(program, node, of);
        for operand in node.operands() {
            merge(reaches.entry(operand).or_default(), &of);
        }
    }
}

/// A value where it is stored.
fn here(program: &FieldProgram, target: &FieldTarget) -> AllReaches {
    let of_dim = |dim: usize| {
        let range = target.domain.iter().flatten().find(|range| range.dimension.0 == dim);
        let (first, end) = match range {
            Some(range) => (vec![range.first.clone()], vec![range.end.clone()]),
            None => (Vec::new(), Vec::new()),
        };
        let span = FieldSpan { of_all: range.is_none(), first, end };
        Reaches {
            ways: vec![FieldReach::Offsets(0, 0)],
            spans: vec![DomainPart { domain: span.clone(), span }],
        }
    };
    (0..program.dims.len()).map(of_dim).collect()
}

/// What is read in a part of a dimension; nothing if that has no points.
fn within(of: &AllReaches, dim: DimensionId, part: &ConditionPart) -> Option<AllReaches> {
    let mut of = of.clone();
    let Reaches { ways, spans } = &mut of[dim.0];
    let inside =
        |of: &DomainPart| Some(DomainPart { domain: of.domain.clone(), span: of.span.within(part)? });
    *spans = spans.iter().filter_map(inside).collect();
    if spans.is_empty() {
        ways.retain(|way| matches!(way, FieldReach::Table(_)));
    }
    (!ways.is_empty()).then_some(of)
}

/// What an operand is read at, if the operation is read so.
fn through(program: &FieldProgram, node: &FieldNode, mut of: AllReaches) -> AllReaches {
    match node {
        FieldNode::Shift(_, offsets) => {
            for (dim, by) in offsets {
                let Reaches { ways, spans } = &mut of[dim.0];
                for way in ways {
                    if let FieldReach::Offsets(low, high) = way {
                        (*low, *high) = (low.saturating_add(*by), high.saturating_add(*by));
                    }
                }
                for DomainPart { domain, span } in spans {
                    (*domain, *span) = (domain.moved(*by), span.moved(*by));
                }
            }
        }
        FieldNode::Gather(_, table, _) | FieldNode::ShiftAll(_, table) => {
            let ways = vec![FieldReach::Table(*table)];
            of[program.tables[table.0].to.0] = Reaches { ways, spans: Vec::new() };
        }
        FieldNode::Column(_, local, column) => {
            let column = i64::try_from(*column).unwrap_or(i64::MAX - 1);
            let (first, end) = (FieldBound::literal(column), FieldBound::literal(column + 1));
            let span = FieldSpan { of_all: false, first: vec![first], end: vec![end] };
            let spans = vec![DomainPart { domain: span.clone(), span }];
            of[local.0] = Reaches { ways: vec![FieldReach::Offsets(0, 0)], spans };
        }
        _ => {}
    }
    of
}

fn merge(into: &mut AllReaches, other: &AllReaches) {
    into.resize(other.len(), Reaches::default());
    for (into, other) in into.iter_mut().zip(other) {
        other.ways.iter().for_each(|way| merge_way(&mut into.ways, *way));
        other.spans.iter().for_each(|span| merge_span(&mut into.spans, span));
    }
}

fn merge_way(into: &mut Vec<FieldReach>, way: FieldReach) {
    if let FieldReach::Offsets(low, high) = way {
        for known in into.iter_mut() {
            if let FieldReach::Offsets(first, last) = known {
                (*first, *last) = (low.min(*first), high.max(*last));
                return;
            }
        }
    }
    if !into.contains(&way) {
        into.push(way);
    }
}

fn merge_span(into: &mut Vec<DomainPart>, new: &DomainPart) {
    let both = |known: &DomainPart| {
        Some(DomainPart { domain: known.domain.joined(&new.domain)?, span: known.span.joined(&new.span)? })
    };
    match into.iter_mut().find_map(|known| Some((both(known)?, known))) {
        Some((both, known)) => *known = both,
        None => into.push(new.clone()),
    }
    if into.len() <= MOST_SPANS {
        return;
    }
    // Too many: whole domains are told instead of their parts, or nothing if these are too many as well.
    let mut wholes: Vec<FieldSpan> = Vec::new();
    for DomainPart { domain, .. } in into.drain(..) {
        match wholes.iter_mut().find_map(|whole| Some((whole.joined(&domain)?, whole))) {
            Some((both, whole)) => *whole = both,
            None => wholes.push(domain),
        }
    }
    if wholes.len() > MOST_SPANS {
        wholes = vec![FieldSpan { of_all: true, first: Vec::new(), end: Vec::new() }];
    }
    into.extend(wholes.into_iter().map(|whole| DomainPart { domain: whole.clone(), span: whole }));
}

fn merge_access(program: &FieldProgram, accesses: &mut Vec<FieldAccess>, field: FieldId, of: &AllReaches) {
    let dims = &program.fields[field.0].dims;
    let place = accesses.iter().position(|access| access.field == field).unwrap_or_else(|| {
        let reach = dims.iter().map(|dim| (*dim, Vec::new())).collect();
        accesses.push(FieldAccess { field, reach, spans: vec![Vec::new(); dims.len()] });
        accesses.len() - 1
    });
    let FieldAccess { reach, spans, .. } = &mut accesses[place];
    for ((dim, into), spans) in reach.iter_mut().zip(spans) {
        of[dim.0].ways.iter().for_each(|way| merge_way(into, *way));
        for DomainPart { span, .. } in &of[dim.0].spans {
            match spans.iter_mut().find_map(|known| Some((known.joined(span)?, known))) {
                Some((both, known)) => *known = both,
                None => spans.push(span.clone()),
            }
        }
    }
}
