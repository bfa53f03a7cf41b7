//! Edges made of keys, of sizes and of other edges, and their shapes.
//!
//! ```text
//! sizes 3, 1       pair_left   0 0 0 1 1 1 2 2 2 | 3       the first child of each pair of children of one parent
//!                  pair_right  0 1 2 0 1 2 0 1 2 | 3       the second one
//! groups of 1 and 3 rows, resized to 2 rows each           0 - | 1 2    which row stands there, the fourth one nowhere
//! ```

use crate::array::meter::Meter;
use crate::array::rows_out::RowsOut;
use crate::builtins::distinct::Distinct;
use crate::builtins::edge::{class_of_edge, edge_of_points, fill_rows, int64_array, make_edge, mapped};
use crate::builtins::present::GroupsOf;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::broadcast::check_count;
use crate::value::budget::Account;
use crate::value::qtype::INT64;
use crate::value::repr::write_repr;
use crate::value::{ArrayClass, ArrayRows, Edge, Fault, QType, ScalarType, Value};
use std::sync::Arc;

/// Name of `edge._from_keys`.
pub const FROM_KEYS: &str = "edge._from_keys";
/// Name of `edge._resize_children`.
pub const RESIZE_CHILDREN: &str = "edge._resize_children";
/// Name of `edge._resize_parents`.
pub const RESIZE_PARENTS: &str = "edge._resize_parents";
/// Name of `edge._pair_left`.
pub const PAIR_LEFT: &str = "edge._pair_left";
/// Name of `edge._pair_right`.
pub const PAIR_RIGHT: &str = "edge._pair_right";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new("edge.child_shape", &["edge"], "The shape of the rows that are grouped.").on_demand(
            |family, args| {
                let class = class_of_edge(args)?;
                Some(shape(family, args, class, Edge::child_size))
            },
        ),
        Family::new("edge.parent_shape", &["edge"], "The shape of the groups; of an edge to a scalar that of an optional.")
            .on_demand(parent_shape),
        Family::new("edge.to_single", &["array"], "The edge that takes all rows of an array for the group of one row.")
            .cost_of(5)
            .on_demand(to_single),
        Family::new("edge.from_shape", &["child_side_shape"], "The edge that takes all rows of a shape for one group.")
            .on_demand(from_shape),
        Family::new(
            "edge.as_dense_array_edge",
            &["edge"],
            "The same edge, of dense arrays.",
        )
        .cost_of(10)
        .on_demand(as_dense_array_edge),
        Family::new(
            FROM_KEYS,
            &["child_keys", "parent_keys"],
            "The edge from each key to the row of the parent with the same key, if there is one. Raises if two parents have one key.",
        )
        .cost_of(30)
        .raises()
        .on_demand(from_keys),
        Family::new(
            RESIZE_CHILDREN,
            &["edge", "size", "*offsets"],
            "The edge from the rows of groups of other sizes to the rows that stand there.",
        )
        .cost_of(20)
        .raises()
        .on_demand(resize_children),
        Family::new(RESIZE_PARENTS, &["edge", "size"], "The edge whose groups have other sizes.")
            .cost_of(10)
            .raises()
            .on_demand(resize_parents),
        Family::new(PAIR_LEFT, &["sizes"], "The edge from pairs of rows of groups of these sizes to the first row of each.")
            .cost_of(20)
            .raises()
            .on_demand(pair_left),
        Family::new(PAIR_RIGHT, &["sizes"], "The edge from pairs of rows of groups of these sizes to the second row of each.")
            .cost_of(20)
            .raises()
            .on_demand(pair_right),
    ]
}

fn refuse(message: String) -> Fault {
    Fault::Range { message }
}

fn shape(family: &Family, args: &[QType], class: ArrayClass, size: fn(&Edge) -> usize) -> Overload {
    family.make_general(args, QType::ArrayShape(class), move |call| {
        let rows = size(call.edge(0)) as u64;
        call.set_value(&Value::ArrayShape(class, rows));
        Ok(())
    })
}

fn parent_shape(family: &Family, args: &[QType]) -> Option<Overload> {
    match args {
        [QType::Edge(class)] => Some(shape(family, args, *class, Edge::parent_size)),
        [QType::EdgeToScalar(_)] => Some(family.make_general(args, QType::OptionalScalarShape, |call| {
            call.set_value(&Value::OptionalScalarShape);
            Ok(())
        })),
        _ => None,
    }
}

fn to_single(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    Some(make_edge(family, args, t.class, |call| {
        let (rows, meter) = (call.array(0).len(), call.meter());
        let mut points = meter.vec::<usize>(2)?;
        points.extend_from_slice(&[0, rows]);
        edge_of_points(points.into_alive(), meter)
    }))
}

fn from_shape(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::ArrayShape(class)] = args else { return None };
    let class = *class;
    Some(family.make_general(args, QType::EdgeToScalar(class), move |call| {
        let Value::ArrayShape(_, rows) = call.value(0)? else { unreachable!("the row says so") };
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        call.meter().check_array(rows)?;
        call.set_value(&Value::Edge(class, Arc::new(Edge::to_scalar(rows))));
        Ok(())
    }))
}

fn as_dense_array_edge(family: &Family, args: &[QType]) -> Option<Overload> {
    class_of_edge(args)?;
    if let [QType::EdgeToScalar(_)] = args {
        let result = QType::EdgeToScalar(ArrayClass::Dense);
        return Some(family.make_general(args, result, |call| {
            let edge = Edge::to_scalar(call.edge(0).child_size());
            call.set_value(&Value::Edge(ArrayClass::Dense, Arc::new(edge)));
            Ok(())
        }));
    }
    Some(make_edge(family, args, ArrayClass::Dense, |call| {
        let (edge, meter) = (call.edge(0), call.meter());
        let Some(points) = edge.split_points() else {
            // Held twice, a mapping counts twice.
            meter.charge(edge.heap_bytes())?;
            return Ok(edge.clone());
        };
        let mut copied = meter.vec(points.len())?;
        for stride in meter.strides(points.len()) {
            copied.extend_from_slice(&points[stride?]);
        }
        edge_of_points(copied.into_alive(), meter)
    }))
}

fn from_keys(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(children), QType::Array(parents)] = args else { return None };
    (children == parents).then(|| make_edge(family, args, children.class, edge_of_keys))
}

fn edge_of_keys(call: &mut KernelCall<'_>) -> Result<Edge, Fault> {
    let (children, parents, meter) = (call.array(0), call.array(1), call.meter());
    let (rows, first_child) = (parents.len() + children.len(), parents.len());
    call.charge_rows(rows)?;
    check_count(&[rows])?;
    let mut keys = ArrayRows::new(parents.element());
    let joined =
        RowsOut::new(&mut keys, meter).join(&[(parents, 0..first_child), (children, 0..children.len())]);
    let mapping = joined.and_then(|()| mapping_of_keys(&keys, first_child, meter));
    meter.give_back(keys.heap_bytes());
    mapped(meter, Arc::new(mapping?), first_child)
}

/// The parent of each child, by the keys of all parents and then of all children.
fn mapping_of_keys(keys: &ArrayRows, first_child: usize, meter: &Meter<'_>) -> Result<ArrayRows, Fault> {
    let mut values = Distinct::new(keys, meter)?;
    let mut numbers = meter.zeros::<i64>(keys.len())?;
    values.number(&mut numbers)?;
    let first_with = |key: usize| values.firsts()[numbers[key] as usize] as usize;
    for stride in meter.strides(first_child) {
        if let Some(key) = stride?.find(|key| keys.is_present(*key) && first_with(*key) != *key) {
            let mut text = String::new();
            keys.get(key).into_iter().for_each(|key| write_repr(&mut text, &Value::Scalar(key)));
            return Err(refuse(format!("duplicated key {text} in the dict")));
        }
    }
    fill_rows(meter, |mapping| {
        let parent = |row: usize| {
            let key = first_child + row;
            let first = keys.is_present(key).then(|| first_with(key)).filter(|first| *first < first_child);
            Ok(first.map(|first| first as i64))
        };
        RowsOut::new(mapping, meter).fill_plain(keys.len() - first_child, parent)
    })
}

/// The size of each group: of an argument that is one number for all, or a row for each.
fn sizes_of<'m>(
    call: &KernelCall<'_>,
    meter: &'m Meter<'m>,
    groups: usize,
    operator: &str,
) -> Result<crate::array::meter::Scratch<'m, usize>, Fault> {
    let size = |size: i64| {
        usize::try_from(size).map_err(|_| refuse(format!("got a negative size value in operator {operator}")))
    };
    let mut sizes = meter.vec(groups)?;
    let QType::Array(_) = call.qtype(1) else {
        let one = size(call.plain::<i64>(1))?;
        for stride in meter.strides(groups) {
            stride?.for_each(|_| sizes.push(one));
        }
        return Ok(sizes);
    };
    let rows = call.array(1);
    if rows.len() != groups {
        return Err(refuse(format!(
            "number of new sizes should match number of edge parent-side groups in operator {operator}"
        )));
    }
    for stride in meter.strides(groups) {
        for row in stride? {
            let given = rows.get(row).and_then(|size| size.as_i64());
            let missing = || refuse(format!("the sizes of groups should be full in operator {operator}"));
            sizes.push(size(given.ok_or_else(missing)?)?);
        }
    }
    Ok(sizes)
}

fn is_size(size: &QType, edge: &QType) -> bool {
    match (size, edge) {
        (size, _) if *size == INT64 => true,
        (QType::Array(t), QType::Edge(class)) => t.element == ScalarType::Int64 && t.class == *class,
        _ => false,
    }
}

fn resize_parents(family: &Family, args: &[QType]) -> Option<Overload> {
    const NAME: &str = "edge.resize_groups_parent_side";
    let [edge, size] = args else { return None };
    let class = class_of_edge(&args[..1]).filter(|_| is_size(size, edge))?;
    if let QType::EdgeToScalar(_) = edge {
        return Some(family.make_general(args, edge.clone(), move |call| {
            let sizes = sizes_of(call, call.meter(), 1, NAME)?;
            check_count(&sizes)?;
            call.meter().check_array(sizes[0])?;
            let edge = Edge::to_scalar(sizes[0]);
            call.set_value(&Value::Edge(class, Arc::new(edge)));
            Ok(())
        }));
    }
    Some(make_edge(family, args, class, |call| {
        let meter = call.meter();
        let sizes = sizes_of(call, meter, call.edge(0).parent_size(), NAME)?;
        let points = points_of(&sizes, meter)?;
        edge_of_points(points, meter)
    }))
}

/// Where groups of these sizes begin, and the end, in memory that is counted.
fn points_of(sizes: &[usize], meter: &Meter<'_>) -> Result<Vec<usize>, Fault> {
    let mut points = meter.vec::<usize>(sizes.len() + 1)?;
    points.push(0);
    let mut end = 0usize;
    for stride in meter.strides(sizes.len()) {
        for size in &sizes[stride?] {
            end = end.saturating_add(*size);
            points.push(end);
        }
    }
    check_count(&[end])?;
    Ok(points.into_alive())
}

fn resize_children(family: &Family, args: &[QType]) -> Option<Overload> {
    let (edge, size, offsets) = match args {
        [edge, size] => (edge, size, None),
        [edge, size, offsets] => (edge, size, Some(offsets)),
        _ => return None,
    };
    let class = class_of_edge(&args[..1]).filter(|_| is_size(size, edge))?;
    if offsets.is_some_and(|offsets| *offsets != int64_array(class)) {
        return None;
    }
    Some(make_edge(family, args, class, resized_children))
}

fn resized_children(call: &mut KernelCall<'_>) -> Result<Edge, Fault> {
    const NAME: &str = "edge.resize_groups_child_side";
    let (edge, meter) = (call.edge(0), call.meter());
    let offsets = (call.len() > 2).then(|| call.array(2));
    if offsets.is_some_and(|offsets| offsets.len() != edge.child_size()) {
        return Err(refuse(format!(
            "`new_offsets` argument should be the same size as the child side of the edge in {NAME}"
        )));
    }
    let sizes = sizes_of(call, meter, edge.parent_size(), NAME)?;
    let rows = sizes.iter().fold(0usize, |rows, size| rows.saturating_add(*size));
    check_count(&[rows])?;
    call.charge_rows(rows)?;
    let groups = GroupsOf::new(edge, meter)?;
    let mapping = fill_rows(meter, |mapping| {
        let mut out = RowsOut::new(mapping, meter);
        out.resize(ScalarType::Int64, rows)?;
        let (cells, presence) = out.parts()?;
        let cells: &mut [i64] = bytemuck::cast_slice_mut(cells);
        presence.fill(0);
        let (mut start, mut pace) = (0, meter.pace());
        for (members, size) in groups.iter().zip(sizes.iter()) {
            pace.over(1)?;
            for place in 0..members.count() {
                pace.over(1)?;
                let row = members.row(place);
                let offset = match offsets {
                    None => Some(place as i64),
                    Some(offsets) => offsets.get(row).and_then(|offset| offset.as_i64()),
                };
                let Some(offset) = offset else { continue };
                let offset = usize::try_from(offset)
                    .map_err(|_| refuse(format!("got a negative offset in operator {NAME}")))?;
                if offset >= *size {
                    continue;
                }
                let (word, bit) =
                    ((start + offset) / ROWS_OF_A_WORD, 1 << ((start + offset) % ROWS_OF_A_WORD));
                if presence[word] & bit != 0 {
                    return Err(refuse(format!("duplicate offsets in the same group in operator {NAME}")));
                }
                presence[word] |= bit;
                cells[start + offset] = row as i64;
            }
            start += size;
        }
        out.normalize();
        Ok(())
    })?;
    mapped(meter, Arc::new(mapping), edge.child_size())
}

/// The sizes of groups, with how many rows and how many pairs of rows of one group there are.
fn sizes_of_pairs<'c>(call: &KernelCall<'c>, operator: &str) -> Result<(&'c [i64], usize, usize), Fault> {
    let rows = call.array(0);
    let sizes: &[i64] = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
    let (mut children, mut pairs) = (0usize, 0usize);
    for stride in call.meter().strides(rows.len()) {
        for row in stride? {
            if !rows.is_present(row) {
                return Err(refuse(format!("operator {operator} expects no missing size values")));
            }
            let size = usize::try_from(sizes[row])
                .map_err(|_| refuse(format!("a group cannot have {} rows", sizes[row])))?;
            children = children.saturating_add(size);
            pairs = pairs.saturating_add(size.saturating_mul(size));
        }
    }
    check_count(&[children])?;
    check_count(&[pairs])?;
    Ok((sizes, children, pairs))
}

fn of_sizes(args: &[QType]) -> Option<ArrayClass> {
    let [QType::Array(t)] = args else { return None };
    (t.element == ScalarType::Int64).then_some(t.class)
}

fn pair_left(family: &Family, args: &[QType]) -> Option<Overload> {
    Some(make_edge(family, args, of_sizes(args)?, |call| {
        let (sizes, children, _) = sizes_of_pairs(call, "edge.pair_left")?;
        call.charge_rows(children)?;
        let meter = call.meter();
        let mut points = meter.vec::<usize>(children + 1)?;
        points.push(0);
        let (mut end, mut pace) = (0, meter.pace());
        for size in sizes {
            pace.over(*size as usize + 1)?;
            for _ in 0..*size {
                end += *size as usize;
                points.push(end);
            }
        }
        edge_of_points(points.into_alive(), meter)
    }))
}

fn pair_right(family: &Family, args: &[QType]) -> Option<Overload> {
    Some(make_edge(family, args, of_sizes(args)?, |call| {
        let (sizes, children, pairs) = sizes_of_pairs(call, "edge.pair_right")?;
        call.charge_rows(pairs)?;
        let meter = call.meter();
        let mapping = fill_rows(meter, |mapping| {
            let mut out = RowsOut::new(mapping, meter);
            out.resize(ScalarType::Int64, pairs)?;
            let mut cells = bytemuck::cast_slice_mut::<_, i64>(out.bytes_mut()).iter_mut();
            let (mut start, mut pace) = (0, meter.pace());
            for size in sizes {
                pace.over(1)?;
                for _ in 0..*size {
                    pace.over(*size as usize)?;
                    (start..start + size).zip(&mut cells).for_each(|(row, cell)| *cell = row);
                }
                start += size;
            }
            Ok(())
        })?;
        mapped(meter, Arc::new(mapping), children)
    }))
}
