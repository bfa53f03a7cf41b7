//! `edge.*`, and expanding along an edge.

use crate::array::meter::Meter;
use crate::array::row_moves::are_all_rows;
use crate::array::rows_out::RowsOut;
use crate::builtins::array::choosing;
use crate::builtins::distinct::Distinct;
use crate::builtins::present::GroupsOf;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::broadcast::check_count;
use crate::value::budget::Account;
use crate::value::edge::{NOT_FROM_0, UNSORTED};
use crate::value::qtype::INT64;
use crate::value::{ArrayClass, ArrayRows, ArrayType, Edge, Exhausted, Fault, QType, ScalarType, Value};
use bytemuck::Pod;
use std::sync::Arc;

/// Name of `edge._compose`.
pub const COMPOSE: &str = "edge._compose";
/// Name of `edge.from_sizes`.
pub const FROM_SIZES: &str = "edge.from_sizes";
/// Name of `edge.from_split_points`.
pub const FROM_SPLIT_POINTS: &str = "edge.from_split_points";
/// Name of `edge.from_mapping`.
pub const FROM_MAPPING: &str = "edge.from_mapping";
/// Name of `edge.group_by`.
pub const GROUP_BY: &str = "edge.group_by";
/// Name of `edge.to_scalar`.
pub const TO_SCALAR: &str = "edge.to_scalar";
/// Name of `edge.mapping`.
pub const MAPPING: &str = "edge.mapping";
/// Name of `edge.sizes`.
pub const SIZES: &str = "edge.sizes";
/// Name of `edge.child_size`.
pub const CHILD_SIZE: &str = "edge.child_size";
/// Name of `edge.parent_size`.
pub const PARENT_SIZE: &str = "edge.parent_size";
/// Name of `array._expand`.
pub const EXPAND: &str = "array._expand";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(FROM_SIZES, &["sizes"], "The edge whose groups have these sizes, one after the other.")
            .cost_of(10)
            .raises()
            .on_demand(from_sizes),
        Family::new(FROM_SPLIT_POINTS, &["split_points"], "The edge whose groups begin at these rows.")
            .cost_of(10)
            .raises()
            .on_demand(from_split_points),
        Family::new(FROM_MAPPING, &["mapping", "parent_size"], "The edge from each row to its parent.")
            .cost_of(10)
            .raises()
            .on_demand(from_mapping),
        Family::new(
            GROUP_BY,
            &["x"],
            "The edge that groups equal rows, in order of first appearance. Raises for NaN.",
        )
        .cost_of(30)
        .raises()
        .on_demand(group_by),
        Family::new(
            TO_SCALAR,
            &["x"],
            "The edge that takes all rows of an array or edge's parent for one group.",
        )
        .on_demand(to_scalar),
        Family::new(
            COMPOSE,
            &["outer", "inner"],
            "The edge from the rows of the inner one to the parents of the outer one.",
        )
        .cost_of(10)
        .raises()
        .on_demand(compose),
        Family::new(MAPPING, &["edge"], "The parent of each row.").cost_of(10).on_demand(mapping),
        Family::new(SIZES, &["edge"], "The number of rows in each group.").cost_of(10).on_demand(sizes),
        Family::new(CHILD_SIZE, &["edge"], "The number of rows that are grouped.")
            .on_demand(|family, args| size(family, args, Edge::child_size)),
        Family::new(PARENT_SIZE, &["edge"], "The number of groups.")
            .on_demand(|family, args| size(family, args, Edge::parent_size)),
        Family::new(EXPAND, &["x", "over"], "The row of its parent for each child.")
            .cost_of(10)
            .raises()
            .on_demand(expand),
    ]
}

fn refuse(message: String) -> Fault {
    Fault::Range { message }
}

/// An overload that makes an edge.
pub(super) fn make_edge(
    family: &Family,
    args: &[QType],
    class: ArrayClass,
    make: impl Fn(&mut KernelCall<'_>) -> Result<Edge, Fault> + Send + Sync + 'static,
) -> Overload {
    family.make_general(args, QType::Edge(class), move |call| {
        let edge = make(call)?;
        call.set_edge(edge);
        Ok(())
    })
}

fn int64_rows(args: &[QType]) -> Option<ArrayClass> {
    let QType::Array(t) = args.first()? else { return None };
    (t.element == ScalarType::Int64).then_some(t.class)
}

/// Makes split points, one more than there are rows, of integers that must all be there.
fn split_points(
    call: &KernelCall<'_>,
    what: &str,
    first: &[usize],
    mut next: impl FnMut(Option<usize>, i64) -> Result<usize, Fault>,
) -> Result<Edge, Fault> {
    let rows = call.array(0);
    let mut points = call.meter().vec::<usize>(rows.len() + first.len())?;
    first.iter().for_each(|point| points.push(*point));
    let numbers: &[i64] = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
    for stride in call.meter().strides(rows.len()) {
        for row in stride? {
            if !rows.is_present(row) {
                return Err(refuse(format!("{what} should be full")));
            }
            let point = next(points.last().copied(), numbers[row])?;
            points.push(point);
        }
    }
    check_count(&[points.last().copied().unwrap_or(0)])?;
    edge_of_points(points.into_alive(), call.meter())
}

fn from_sizes(family: &Family, args: &[QType]) -> Option<Overload> {
    let [_] = args else { return None };
    let class = int64_rows(args)?;
    Some(make_edge(family, args, class, |call| {
        split_points(call, "operator edge.from_sizes: the array of sizes", &[0], |last, size| {
            let size =
                usize::try_from(size).map_err(|_| refuse(format!("a group cannot have {size} rows")))?;
            // Far beyond what an edge may have, it is refused at the end.
            Ok(last.unwrap_or(0).saturating_add(size))
        })
    }))
}

fn from_split_points(family: &Family, args: &[QType]) -> Option<Overload> {
    let [_] = args else { return None };
    let class = int64_rows(args)?;
    Some(make_edge(family, args, class, |call| {
        split_points(call, "split points", &[], |last, point| match (last, usize::try_from(point)) {
            (_, Ok(point)) => Ok(point),
            (None, Err(_)) => Err(refuse(NOT_FROM_0.to_owned())),
            (Some(_), Err(_)) => Err(refuse(UNSORTED.to_owned())),
        })
    }))
}

/// Fills rows of INT64 whose memory stays alive if all goes well.
pub(super) fn fill_rows(
    meter: &Meter<'_>,
    fill: impl FnOnce(&mut ArrayRows) -> Result<(), Fault>,
) -> Result<ArrayRows, Fault> {
    let mut rows = ArrayRows::new(ScalarType::Int64);
    match fill(&mut rows) {
        Ok(()) => Ok(rows),
        Err(fault) => {
            meter.give_back(rows.heap_bytes());
            Err(fault)
        }
    }
}

/// An edge of a mapping whose memory is counted.
pub(super) fn mapped(meter: &Meter<'_>, mapping: Arc<ArrayRows>, parents: usize) -> Result<Edge, Fault> {
    let bytes = mapping.heap_bytes();
    counted(meter, bytes, Edge::from_mapping_by(mapping, parents, meter, are_all_rows))
}

/// An edge whose memory is counted, or why there is none, and no memory.
fn counted(
    meter: &Meter<'_>,
    bytes: u64,
    edge: Result<Result<Edge, String>, Exhausted>,
) -> Result<Edge, Fault> {
    let edge = edge.map_err(Fault::from).and_then(|edge| edge.map_err(refuse));
    if edge.is_err() {
        meter.give_back(bytes);
    }
    edge
}

fn from_mapping(family: &Family, args: &[QType]) -> Option<Overload> {
    let [_, parents] = args else { return None };
    let class = int64_rows(args).filter(|_| *parents == INT64)?;
    Some(make_edge(family, args, class, |call| {
        let size = call.plain::<i64>(1);
        let parents = usize::try_from(size).map_err(|_| refuse(format!("parent_size {size} is below 0")))?;
        check_count(&[parents])?;
        let (rows, meter) = (call.array(0), call.meter());
        let mapping = match call.shared_array(0) {
            Some(shared) => {
                // Held twice, it counts twice.
                meter.charge(shared.heap_bytes())?;
                shared
            }
            None => Arc::new(fill_rows(meter, |mapping| Ok(mapping.copy_within(rows, meter)?))?),
        };
        mapped(meter, mapping, parents)
    }))
}

fn group_by(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    Some(make_edge(family, args, t.class, move |call| {
        let (rows, meter) = (call.array(0), call.meter());
        let has_nan = match rows.element() {
            ScalarType::Float32 => has_nan::<f32>(rows, meter, |x| x.is_nan())?,
            ScalarType::Float64 | ScalarType::WeakFloat => has_nan::<f64>(rows, meter, |x| x.is_nan())?,
            _ => false,
        };
        if has_nan {
            return Err(refuse("unable to group by NaN".to_owned()));
        }
        let mut groups = Distinct::new(rows, meter)?;
        let mapping = fill_rows(meter, |mapping| {
            let mut out = RowsOut::new(mapping, meter);
            out.resize(ScalarType::Int64, rows.len())?;
            groups.number(bytemuck::cast_slice_mut(out.bytes_mut()))?;
            if let Some(presence) = rows.presence() {
                out.presence_mut()?.copy_from_slice(presence);
            }
            Ok(())
        })?;
        mapped(meter, Arc::new(mapping), groups.len())
    }))
}

/// True if a row that is present is not a number.
fn has_nan<T: Pod>(rows: &ArrayRows, meter: &Meter<'_>, is_nan: fn(&T) -> bool) -> Result<bool, Fault> {
    let cells: &[T] = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
    for stride in meter.strides(rows.len()) {
        if stride?.any(|row| is_nan(&cells[row]) && rows.is_present(row)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn to_scalar(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    let class = t.class;
    Some(family.make_general(args, QType::EdgeToScalar(class), move |call| {
        let edge = Edge::to_scalar(call.array(0).len());
        call.set_value(&Value::Edge(class, Arc::new(edge)));
        Ok(())
    }))
}

fn compose(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Edge(outer), QType::Edge(inner)] = args else { return None };
    (outer == inner).then(|| {
        make_edge(family, args, *outer, |call| {
            let (outer, inner) = (call.edge(0), call.edge(1));
            let (rows, parents) = (outer.child_size(), inner.parent_size());
            if rows != parents {
                return Err(refuse(format!(
                    "incompatible edges: the rows of one are {rows}, the parents of the next {parents}"
                )));
            }
            call.charge_rows(inner.child_size())?;
            compose_edges(outer, inner, call.meter())
        })
    })
}

/// The edge of two, one behind the other; of two with split points it has split points.
fn compose_edges(outer: &Edge, inner: &Edge, meter: &Meter<'_>) -> Result<Edge, Fault> {
    if let (Some(outer), Some(inner)) = (outer.split_points(), inner.split_points()) {
        let mut points = meter.vec::<usize>(outer.len())?;
        for stride in meter.strides(outer.len()) {
            outer[stride?].iter().for_each(|point| points.push(inner[*point]));
        }
        return edge_of_points(points.into_alive(), meter);
    }
    let parents = fill_rows(meter, |rows| Ok(outer.write_mapping(rows, meter)?))?;
    let mapping = fill_rows(meter, |rows| {
        let numbers = fill_rows(meter, |numbers| Ok(inner.write_mapping(numbers, meter)?))?;
        let outcome = RowsOut::new(rows, meter).take(&parents, &numbers);
        meter.give_back(numbers.heap_bytes());
        outcome
    });
    meter.give_back(parents.heap_bytes());
    mapped(meter, Arc::new(mapping?), outer.parent_size())
}

/// An edge of split points whose memory is counted.
pub(super) fn edge_of_points(points: Vec<usize>, meter: &Meter<'_>) -> Result<Edge, Fault> {
    let bytes = (points.capacity() * size_of::<usize>()) as u64;
    counted(meter, bytes, Edge::from_points_within(points, meter))
}

pub(super) fn class_of_edge(args: &[QType]) -> Option<ArrayClass> {
    match args {
        [QType::Edge(class)] | [QType::EdgeToScalar(class)] => Some(*class),
        _ => None,
    }
}

pub(super) fn int64_array(class: ArrayClass) -> QType {
    QType::Array(ArrayType { class, element: ScalarType::Int64 })
}

fn mapping(family: &Family, args: &[QType]) -> Option<Overload> {
    let class = class_of_edge(args)?;
    Some(family.make_general(args, int64_array(class), |call| {
        let (edge, meter) = (call.edge(0), call.meter());
        call.charge_rows(edge.child_size())?;
        meter.check_array(edge.child_size())?;
        Ok(edge.write_mapping(call.array_rows_out(), meter)?)
    }))
}

fn sizes(family: &Family, args: &[QType]) -> Option<Overload> {
    let class = class_of_edge(args)?;
    Some(family.make_general(args, int64_array(class), |call| {
        let meter = call.meter();
        let groups = GroupsOf::new(call.edge(0), meter)?;
        let mut out = call.rows_out(ScalarType::Int64, groups.len())?;
        let sizes: &mut [i64] = bytemuck::cast_slice_mut(out.bytes_mut());
        for stride in meter.strides(groups.len()) {
            for group in stride? {
                sizes[group] = groups.of(group).count() as i64;
            }
        }
        Ok(())
    }))
}

fn size(family: &Family, args: &[QType], size: fn(&Edge) -> usize) -> Option<Overload> {
    class_of_edge(args)?;
    Some(family.make_general(args, INT64, move |call| {
        let size = size(call.edge(0)) as i64;
        call.set_plain(size);
        Ok(())
    }))
}

fn expand(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), QType::Edge(class)] = args else { return None };
    (t.class == *class).then(|| {
        let overload = family.make_general(args, args[0].clone(), |call| {
            let (rows, edge) = (call.array(0), call.edge(1));
            if rows.len() != edge.parent_size() {
                return Err(Fault::Sizes { sizes: vec![rows.len() as u64, edge.parent_size() as u64] });
            }
            let meter = call.meter();
            call.charge_rows(edge.child_size())?;
            if let Some(mapping) = edge.stored_mapping() {
                return call.array_out().take(rows, mapping);
            }
            let mapping = fill_rows(meter, |mapping| Ok(edge.write_mapping(mapping, meter)?))?;
            let outcome = call.array_out().take(rows, &mapping);
            meter.give_back(mapping.heap_bytes());
            outcome
        });
        choosing(overload, t.element)
    })
}
