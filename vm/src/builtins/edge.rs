//! `edge.*`, and what else goes along an edge: expanding, collapsing, joining, quantiles.

use crate::builtins::aggregate::check_children;
use crate::operator::{Call, Family, Overload};
use crate::value::qtype::{FLOAT64, INT64, TEXT};
use crate::value::{ArrayClass, ArrayRows, ArrayType, Edge, Fault, QType, ScalarType, ScalarValue, Value};
use crate::vector::order;
use std::collections::HashMap;
use std::sync::Arc;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            "edge.from_sizes",
            &["sizes"],
            "The edge whose groups have these sizes, one after the other.",
        )
        .cost_of(10)
        .raises()
        .on_demand(from_sizes),
        Family::new(
            "edge.from_split_points",
            &["split_points"],
            "The edge whose groups begin at these rows.",
        )
        .cost_of(10)
        .raises()
        .on_demand(from_split_points),
        Family::new(
            "edge.from_mapping",
            &["mapping", "parent_size"],
            "The edge from each row to its parent.",
        )
        .cost_of(10)
        .raises()
        .on_demand(from_mapping),
        Family::new(
            "edge.group_by",
            &["x"],
            "The edge that groups equal rows, in order of first appearance. Raises for NaN.",
        )
        .cost_of(30)
        .raises()
        .on_demand(group_by),
        Family::new(
            "edge.to_scalar",
            &["x"],
            "The edge that takes all rows of an array or edge's parent for one group.",
        )
        .on_demand(to_scalar),
        Family::new("edge.mapping", &["edge"], "The parent of each row.").cost_of(10).on_demand(mapping),
        Family::new("edge.sizes", &["edge"], "The number of rows in each group.")
            .cost_of(10)
            .on_demand(sizes),
        Family::new("edge.child_size", &["edge"], "The number of rows that are grouped.")
            .on_demand(|family, args| size(family, args, Edge::child_size)),
        Family::new("edge.parent_size", &["edge"], "The number of groups.")
            .on_demand(|family, args| size(family, args, Edge::parent_size)),
        Family::new("array._expand", &["x", "over"], "The row of its parent for each child.")
            .cost_of(10)
            .raises()
            .on_demand(expand),
        Family::new(
            "array._collapse",
            &["x", "*grouping"],
            "The row that all present rows of a group are, else missing.",
        )
        .cost_of(20)
        .raises()
        .on_demand(collapse),
        Family::new(
            "strings._agg_join",
            &["x", "*grouping"],
            "The present texts of a group, with a separator between.",
        )
        .cost_of(30)
        .raises()
        .on_demand(agg_join),
        Family::new(
            "math._inverse_cdf",
            &["x", "*grouping"],
            "The least row of a group such that this share of the rows is not above it.",
        )
        .cost_of(50)
        .raises()
        .on_demand(inverse_cdf),
    ]
}

fn refuse(message: String) -> Fault {
    Fault::Range { message }
}

fn make_edge(
    family: &Family,
    args: &[QType],
    class: ArrayClass,
    make: impl Fn(&Call<'_>) -> Result<Edge, Fault> + Send + Sync + 'static,
) -> Overload {
    family.make_general(args, QType::Edge(class), move |call| {
        let edge = make(call)?;
        call.set_value(&Value::Edge(class, Arc::new(edge)));
        Ok(())
    })
}

fn int64_rows(args: &[QType]) -> Option<ArrayClass> {
    let QType::Array(t) = args.first()? else { return None };
    (t.element == ScalarType::Int64).then_some(t.class)
}

/// Integers that must all be there.
fn integers(rows: &ArrayRows, what: &str) -> Result<Vec<i64>, Fault> {
    let integers: Option<Vec<i64>> = rows.iter().map(|row| row?.as_i64()).collect();
    integers.ok_or_else(|| refuse(format!("{what} should be full")))
}

fn from_sizes(family: &Family, args: &[QType]) -> Option<Overload> {
    let [_] = args else { return None };
    let class = int64_rows(args)?;
    Some(make_edge(family, args, class, |call| {
        let mut points = vec![0i64];
        for size in integers(call.array(0), "operator edge.from_sizes: the array of sizes")? {
            let next = points[points.len() - 1].checked_add(size).filter(|_| size >= 0);
            points.push(next.ok_or_else(|| refuse(format!("a group cannot have {size} rows")))?);
        }
        Edge::from_split_points(&points).map_err(refuse)
    }))
}

fn from_split_points(family: &Family, args: &[QType]) -> Option<Overload> {
    let [_] = args else { return None };
    let class = int64_rows(args)?;
    Some(make_edge(family, args, class, |call| {
        let points = integers(call.array(0), "split points")?;
        Edge::from_split_points(&points).map_err(refuse)
    }))
}

fn from_mapping(family: &Family, args: &[QType]) -> Option<Overload> {
    let [_, parents] = args else { return None };
    let class = int64_rows(args).filter(|_| *parents == INT64)?;
    Some(make_edge(family, args, class, |call| {
        let size = call.plain::<i64>(1);
        let parents = usize::try_from(size).map_err(|_| refuse(format!("parent_size {size} is below 0")))?;
        Edge::from_mapping(call.array(0).clone(), parents).map_err(refuse)
    }))
}

fn group_by(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    Some(make_edge(family, args, t.class, |call| {
        let mut groups: HashMap<ScalarValue, i64> = HashMap::new();
        let mut mapping = ArrayRows::new(ScalarType::Int64);
        for row in call.array(0).iter() {
            if row.as_ref().and_then(ScalarValue::as_f64).is_some_and(f64::is_nan) {
                return Err(refuse("unable to group by NaN".to_owned()));
            }
            let next = groups.len() as i64;
            // 0 and -0 are equal, though their bits are not.
            let key = row.map(|row| match row {
                ScalarValue::Float64(0.0) => ScalarValue::Float64(0.0),
                ScalarValue::Float32(0.0) => ScalarValue::Float32(0.0),
                other => other,
            });
            mapping.push(key.map(|key| ScalarValue::Int64(*groups.entry(key).or_insert(next))).as_ref());
        }
        Edge::from_mapping(mapping, groups.len()).map_err(refuse)
    }))
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

fn class_of_edge(args: &[QType]) -> Option<ArrayClass> {
    match args {
        [QType::Edge(class)] | [QType::EdgeToScalar(class)] => Some(*class),
        _ => None,
    }
}

fn int64_array(class: ArrayClass) -> QType {
    QType::Array(ArrayType { class, element: ScalarType::Int64 })
}

fn mapping(family: &Family, args: &[QType]) -> Option<Overload> {
    let class = class_of_edge(args)?;
    Some(family.make_general(args, int64_array(class), |call| {
        let mapping = call.edge(0).mapping();
        call.array_out().copy_from(&mapping);
        Ok(())
    }))
}

fn sizes(family: &Family, args: &[QType]) -> Option<Overload> {
    let class = class_of_edge(args)?;
    Some(family.make_general(args, int64_array(class), |call| {
        let groups = call.edge(0).groups();
        let out = call.array_out();
        out.start(ScalarType::Int64);
        groups.iter().for_each(|group| out.push_value(&ScalarValue::Int64(group.len() as i64)));
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
        family.make_general(args, args[0].clone(), |call| {
            let (rows, edge) = (call.array(0), call.edge(1));
            if rows.len() != edge.parent_size() {
                return Err(Fault::Sizes { sizes: vec![rows.len() as u64, edge.parent_size() as u64] });
            }
            let out = call.array_out();
            out.start(rows.element());
            for parent in edge.mapping().iter() {
                match parent.and_then(|parent| parent.as_i64()) {
                    Some(parent) => out.push_row_of(rows, parent as usize),
                    None => out.push_missing(),
                }
            }
            Ok(())
        })
    })
}

/// One row for each group of rows; without an edge, of all rows.
fn each_group(
    family: &Family,
    args: &[QType],
    f: impl Fn(&Call<'_>, &ArrayRows, &[usize]) -> Option<ScalarValue> + Send + Sync + 'static,
) -> Option<Overload> {
    let QType::Array(t) = *args.first()? else { return None };
    let edge = match args.get(1) {
        Some(QType::Edge(class) | QType::EdgeToScalar(class)) if *class == t.class => true,
        Some(QType::Edge(_) | QType::EdgeToScalar(_)) => return None,
        _ => false,
    };
    let to_scalar = matches!(args.get(1), Some(QType::EdgeToScalar(_)));
    let result = if to_scalar { QType::Optional(t.element) } else { QType::Array(t) };
    Some(family.make_general(args, result, move |call| {
        let rows = call.array(0);
        if edge {
            check_children(rows, call.edge(1))?;
        }
        let all: Vec<usize> = (0..rows.len()).collect();
        if to_scalar {
            let value = f(call, rows, &all).map_or(Value::Missing(t.element), Value::Present);
            call.set_value(&value);
            return Ok(());
        }
        let values: Vec<Option<ScalarValue>> = match edge {
            true => call.edge(1).groups().iter().map(|group| f(call, rows, group)).collect(),
            false => vec![f(call, rows, &all)],
        };
        let out = call.array_out();
        out.start(t.element);
        values.iter().for_each(|value| out.push(value.as_ref()));
        Ok(())
    }))
}

fn collapse(family: &Family, args: &[QType]) -> Option<Overload> {
    (args.len() <= 2).then_some(())?;
    each_group(family, args, |_, rows, group| {
        let mut present = group.iter().filter_map(|row| rows.get(*row));
        let first = present.next()?;
        present.all(|other| other == first).then_some(first)
    })
}

fn agg_join(family: &Family, args: &[QType]) -> Option<Overload> {
    let QType::Array(t) = args.first()? else { return None };
    (t.element == ScalarType::Text && args.last() == Some(&TEXT)).then_some(())?;
    each_group(family, args, |call, rows, group| {
        let texts: Vec<ScalarValue> = group.iter().filter_map(|row| rows.get(*row)).collect();
        let texts: Vec<&str> = texts
            .iter()
            .filter_map(|text| match text {
                ScalarValue::Text(text) => Some(&**text),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| ScalarValue::Text(texts.join(call.text(call.len() - 1)).into()))
    })
}

fn inverse_cdf(family: &Family, args: &[QType]) -> Option<Overload> {
    let QType::Array(t) = args.first()? else { return None };
    let float = matches!(t.element, ScalarType::Float32 | ScalarType::Float64);
    (float && args.last() == Some(&FLOAT64)).then_some(())?;
    each_group(family, args, |call, rows, group| {
        let value = |row: &usize| rows.get(*row).and_then(|row| row.as_f64());
        let present: Vec<f64> = group.iter().filter_map(value).collect();
        let value = order::inverse_cdf(&present, call.plain::<f64>(call.len() - 1))?;
        Some(match rows.element() {
            ScalarType::Float32 => ScalarValue::Float32(value as f32),
            _ => ScalarValue::Float64(value),
        })
    })
}
