//! Edges made of keys, sizes and other edges, arrays made of values, and rows taken by groups.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::derived::aggregate::no_edge;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::builtins::edge_groups::{FROM_KEYS, PAIR_LEFT, PAIR_RIGHT, RESIZE_CHILDREN, RESIZE_PARENTS};
use cembra_vm::builtins::{arrays_made, edge};
use cembra_vm::value::qtype::UNIT;
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        group_by(),
        group_by2(),
        from_keys(),
        indices(),
        pairs("edge.pair_left", PAIR_LEFT, "first"),
        pairs("edge.pair_right", PAIR_RIGHT, "second"),
        resize_children(),
        resize_parents(),
        from_sizes_or_shape(),
        take(),
    ]
}

/// The family of an edge, and whether its groups are rows.
fn edge_class(qtype: &QType) -> Option<(ArrayClass, bool)> {
    match qtype {
        QType::Edge(class) => Some((*class, true)),
        QType::EdgeToScalar(class) => Some((*class, false)),
        _ => None,
    }
}

fn int64_rows(class: ArrayClass) -> QType {
    QType::Array(ArrayType { class, element: ScalarType::Int64 })
}

/// Arrays of one family: one, or the fields of a tuple.
fn columns(cx: &InferContext<'_>, index: usize) -> Result<Vec<ArrayType>, TypeError> {
    let expected = || cx.expected("an array, or a tuple of arrays of one family", index);
    let arrays: Option<Vec<ArrayType>> = match &cx.types[index] {
        QType::Tuple(tuple) => tuple.fields().iter().map(QType::array).collect(),
        other => other.array().map(|array| vec![array]),
    };
    let arrays = arrays.filter(|arrays| !arrays.is_empty()).ok_or_else(expected)?;
    match arrays.iter().all(|array| array.class == arrays[0].class) {
        true => Ok(arrays),
        false => Err(expected()),
    }
}

/// The nodes of [`columns`].
fn column_nodes(cx: &mut dyn LowerContext, node: NodeId) -> Result<Vec<NodeId>, LowerError> {
    let QType::Tuple(tuple) = cx.qtype(node) else { return Ok(vec![node]) };
    let fields = 0..tuple.fields().len() as i64;
    fields
        .map(|index| {
            let index = cx.make_literal(Literal::from(index))?;
            cx.make("core.get_nth", &[node, index])
        })
        .collect()
}

fn group_by() -> OperatorDef {
    OperatorDef::new(
        edge::GROUP_BY,
        &["x", "over?"],
        "The edge that groups equal rows, or rows with equal values in all arrays of a tuple, within groups of `over`; in order of first appearance. Raises for NaN.",
        |cx| {
            let class = columns(cx, 0)?[0].class;
            match cx.types.get(1) {
                None | Some(&UNIT) => {}
                Some(over) if edge_class(over).is_some_and(|(of, _)| of == class) => {}
                Some(_) => return Err(cx.expected("an edge", 1)),
            }
            cx.unchanged(QType::Edge(class))
        },
    )
    .lowered(|cx, args| {
        let columns = column_nodes(cx, args[0])?;
        let over = args.get(1).copied().filter(|over| cx.qtype(*over) != UNIT);
        match (&columns[..], over) {
            ([column], None) if args.len() == 1 && *column == args[0] => Ok(Lowered::Keep),
            ([column], None) => Ok(Lowered::To(cx.make(edge::GROUP_BY, &[*column])?)),
            ([first, rest @ ..], None) => {
                let edge = cx.make(edge::GROUP_BY, &[*first])?;
                within(cx, edge, rest)
            }
            (columns, Some(over)) => within(cx, over, columns),
            ([], None) => Ok(Lowered::Keep),
        }
    })
}

/// Groups rows within groups: by the number of a pair for each, which is below the square of their count.
fn within(cx: &mut dyn LowerContext, over: NodeId, columns: &[NodeId]) -> Result<Lowered, LowerError> {
    let mut edge = over;
    for column in columns {
        let groups = cx.make(edge::MAPPING, &[edge])?;
        let of_column = cx.make(edge::GROUP_BY, &[*column])?;
        let (numbers, count) =
            (cx.make(edge::MAPPING, &[of_column])?, cx.make(edge::PARENT_SIZE, &[of_column])?);
        let pairs = cx.make("math.multiply", &[groups, count])?;
        let pairs = cx.make("math.add", &[pairs, numbers])?;
        edge = cx.make(edge::GROUP_BY, &[pairs])?;
    }
    Ok(Lowered::To(edge))
}

fn group_by2() -> OperatorDef {
    OperatorDef::new(
        "edge.group_by2",
        &["x", "over"],
        "Two edges: one that groups equal rows within groups of `over`, as edge.group_by does, and one from these groups to those of `over`.",
        |cx| {
            let class = columns(cx, 0)?[0].class;
            match &cx.types[1] {
                &UNIT => {}
                QType::Edge(of) if *of == class => {}
                _ => return Err(cx.expected("an edge to an array", 1)),
            }
            let edge = QType::Edge(class);
            cx.unchanged(QType::Tuple(TupleType::new(vec![edge.clone(), edge])?))
        },
    )
    .default("over", no_edge())
    .lowered(|cx, args| {
        let over = match cx.qtype(args[1]) {
            UNIT => {
                let columns = column_nodes(cx, args[0])?;
                cx.make("edge.to_single", &columns[..1])?
            }
            _ => args[1],
        };
        let groups = cx.make(edge::GROUP_BY, &[args[0], over])?;
        let parents = cx.make(edge::MAPPING, &[over])?;
        let parents = cx.make("array.collapse", &[parents, groups])?;
        let size = cx.make(edge::PARENT_SIZE, &[over])?;
        let parents = cx.make(edge::FROM_MAPPING, &[parents, size])?;
        Ok(Lowered::To(cx.make("core.make_tuple", &[groups, parents])?))
    })
}

/// The element that keys of two arrays are compared as.
fn key(cx: &InferContext<'_>, child: ArrayType, parent: ArrayType) -> Result<ScalarType, TypeError> {
    let is_key = |t: ScalarType| {
        t.is_integer() || matches!(t, ScalarType::Boolean | ScalarType::Text | ScalarType::Bytes)
    };
    for (index, array) in [child, parent].iter().enumerate() {
        if !is_key(array.element) {
            return Err(cx.expected("arrays of integers, booleans, texts or bytes", index));
        }
    }
    let common = match child.element == parent.element {
        true => Some(child.element),
        // Keys of the child become what those of the parent are.
        false => cx.dialect.common_scalar(child.element, parent.element).filter(|t| *t == parent.element),
    };
    common
        .filter(|_| child.class == parent.class)
        .ok_or_else(|| TypeError::NoCommonType { types: cx.types.to_vec() })
}

fn from_keys() -> OperatorDef {
    OperatorDef::new(
        "edge.from_keys",
        &["child_keys", "parent_keys"],
        "The edge from each row to the row of the parent with the same key, or the same keys if they are tuples of arrays; missing without one. Raises if two parents have one key.",
        |cx| {
            let (children, parents) = (columns(cx, 0)?, columns(cx, 1)?);
            let are_tuples = [0, 1].map(|index| cx.types[index].tuple().is_some());
            if children.len() != parents.len() || are_tuples[0] != are_tuples[1] {
                return Err(TypeError::NoCommonType { types: cx.types.to_vec() });
            }
            for (child, parent) in children.iter().zip(&parents) {
                key(cx, *child, *parent)?;
            }
            cx.unchanged(QType::Edge(children[0].class))
        },
    )
    .lowered(|cx, args| {
        let (mut children, mut parents) = (column_nodes(cx, args[0])?, column_nodes(cx, args[1])?);
        for (child, parent) in children.iter_mut().zip(&mut parents) {
            let elements = [&child, &parent].map(|node| cx.qtype(**node).element());
            let dialect = cx.dialect();
            let common = elements[0].zip(elements[1]).and_then(|(x, y)| match x == y {
                true => Some(x),
                false => dialect.common_scalar(x, y),
            });
            for node in [child, parent] {
                let given = cx.qtype(*node);
                let keys = common.and_then(|common| given.with_scalar(common)).unwrap_or(given);
                *node = cx.cast(*node, &keys)?;
            }
        }
        let ([first_child, ..], [first_parent, ..]) = (&children[..], &parents[..]) else {
            return Ok(Lowered::Keep);
        };
        if children.len() == 1 {
            return Ok(Lowered::To(cx.make(FROM_KEYS, &[*first_child, *first_parent])?));
        }
        // Equal keys get one number.
        let shape = cx.make("core.shape_of", &[*first_parent])?;
        let mut columns = Vec::new();
        for (child, parent) in children.iter().zip(&parents) {
            let parent = cx.make("core.broadcast_like", &[shape, *parent])?;
            columns.push(cx.make("array.concat", &[parent, *child])?);
        }
        let columns = cx.make("core.make_tuple", &columns)?;
        let groups = cx.make(edge::GROUP_BY, &[columns])?;
        let numbers = cx.make(edge::MAPPING, &[groups])?;
        let size = cx.make("array.size", &[*first_parent])?;
        let (start, end) = (cx.make_literal(Literal::from(0i64))?, cx.make_literal(Literal::from(-1i64))?);
        let parents = cx.make("array.slice", &[numbers, start, size])?;
        let children = cx.make("array.slice", &[numbers, size, end])?;
        Ok(Lowered::To(cx.make(FROM_KEYS, &[children, parents])?))
    })
}

fn indices() -> OperatorDef {
    OperatorDef::new(
        "edge.indices",
        &["edge"],
        "The number of each row in its group; missing of a row without a group.",
        |cx| match edge_class(&cx.types[0]) {
            Some((class, _)) => cx.unchanged(int64_rows(class)),
            None => Err(cx.expected("an edge", 0)),
        },
    )
    .lowered(|cx, args| {
        let mapping = cx.make(edge::MAPPING, args)?;
        Ok(Lowered::To(cx.make("array.agg_index", &[mapping, args[0]])?))
    })
}

/// Integers cast to INT64 for an operator of the machine.
fn wide(cx: &mut dyn LowerContext, node: NodeId) -> Result<NodeId, LowerError> {
    let given = cx.qtype(node);
    let wide = given.with_scalar(ScalarType::Int64).unwrap_or(given);
    cx.cast(node, &wide)
}

fn pairs(name: &str, machine: &'static str, which: &str) -> OperatorDef {
    let meaning = format!(
        "Of all pairs of rows of one group, where groups have these sizes: the edge from each pair to its {which} row. Raises for missing sizes, and sizes below 0."
    );
    OperatorDef::new(name, &["sizes"], &meaning, |cx| match cx.types[0].array() {
        Some(array) if array.element.is_integer() => cx.unchanged(QType::Edge(array.class)),
        _ => Err(cx.expected("an array of integers", 0)),
    })
    .lowered(move |cx, args| {
        let sizes = wide(cx, args[0])?;
        Ok(Lowered::To(cx.make(machine, &[sizes])?))
    })
}

/// The edge of the first argument, whose groups get sizes: one for all, or those of an array.
fn resized(cx: &InferContext<'_>) -> Result<(ArrayClass, bool), TypeError> {
    let (class, has_rows) = edge_class(&cx.types[0]).ok_or_else(|| cx.expected("an edge", 0))?;
    let is_size = match &cx.types[1] {
        QType::Scalar(t) => t.is_integer(),
        QType::Array(t) => t.element.is_integer() && t.class == class && has_rows,
        _ => false,
    };
    match is_size {
        true => Ok((class, has_rows)),
        false => Err(cx.expected("a present integer, or an array of integers with a row for each group", 1)),
    }
}

fn resize_children() -> OperatorDef {
    OperatorDef::new(
        "edge.resize_groups_child_side",
        &["edge", "size", "offsets"],
        "The edge from the rows of groups of other sizes to the rows that stand there: each at its place in its group, or at its offset; rows beyond the end of a group go. Raises for sizes or offsets below 0, and two rows at one place.",
        |cx| {
            let (class, _) = resized(cx)?;
            match &cx.types[2] {
                &UNIT => {}
                QType::Array(t) if t.element.is_integer() && t.class == class => {}
                _ => return Err(cx.expected("an array of integers with a row for each child", 2)),
            }
            cx.unchanged(QType::Edge(class))
        },
    )
    .default("offsets", no_edge())
    .lowered(|cx, args| {
        let mut given = vec![args[0], wide(cx, args[1])?];
        if cx.qtype(args[2]) != UNIT {
            given.push(wide(cx, args[2])?);
        }
        Ok(Lowered::To(cx.make(RESIZE_CHILDREN, &given)?))
    })
}

fn resize_parents() -> OperatorDef {
    OperatorDef::new(
        "edge.resize_groups_parent_side",
        &["edge", "size"],
        "The edge from the rows of groups of other sizes to the same groups. Raises for sizes below 0.",
        |cx| {
            resized(cx)?;
            cx.unchanged(cx.types[0].clone())
        },
    )
    .lowered(|cx, args| {
        let size = wide(cx, args[1])?;
        Ok(Lowered::To(cx.make(RESIZE_PARENTS, &[args[0], size])?))
    })
}

fn from_sizes_or_shape() -> OperatorDef {
    OperatorDef::new(
        "edge.from_sizes_or_shape",
        &["x"],
        "The edge whose groups have these sizes, or that takes all rows of a shape for one group.",
        |cx| match &cx.types[0] {
            QType::ArrayShape(class) => cx.unchanged(QType::EdgeToScalar(*class)),
            QType::Array(t) if t.element.is_integer() => cx.unchanged(QType::Edge(t.class)),
            _ => Err(cx.expected("an array of integers, or the shape of an array", 0)),
        },
    )
    .lowered(|cx, args| match cx.qtype(args[0]) {
        QType::ArrayShape(_) => Ok(Lowered::To(cx.make("edge.from_shape", args)?)),
        _ => {
            let sizes = wide(cx, args[0])?;
            Ok(Lowered::To(cx.make(edge::FROM_SIZES, &[sizes])?))
        }
    })
}

fn take() -> OperatorDef {
    OperatorDef::new(
        "array.take",
        &["x", "ids", "over?", "ids_over?"],
        "The rows of these numbers; with `over`, of these numbers in their groups, where `ids_over` has the group of each number, or `over` if it is not given. Raises if there is no such row.",
        |cx| {
            let rows = cx.types[0].array().ok_or_else(|| cx.expected("an array type", 0))?;
            let ids = cx.types[1].array().filter(|ids| ids.element.is_integer());
            let ids = ids.ok_or_else(|| cx.expected("an array of integers", 1))?;
            let mut args = cx.types.to_vec();
            args[1] = int64_rows(ids.class);
            let given = |index: usize| cx.types.get(index).filter(|t| **t != UNIT);
            let Some(over) = given(2) else {
                return match given(3) {
                    Some(_) => Err(cx.expected("an edge, as ids_over is one,", 2)),
                    None => Ok(Resolution { args, result: QType::Array(ids.of(rows.element)) }),
                };
            };
            let classes = [rows.class, ids.class];
            if edge_class(over).is_none_or(|(class, _)| classes != [class; 2]) {
                return Err(cx.expected("an edge of the family of the arrays", 2));
            }
            if given(3).is_some_and(|ids_over| ids_over != over) {
                return Err(cx.expected("an edge of the type of `over`", 3));
            }
            Ok(Resolution { args, result: cx.types[0].clone() })
        },
    )
    .lowered(|cx, args| {
        let given = |cx: &dyn LowerContext, index: usize| {
            args.get(index).copied().filter(|arg| cx.qtype(*arg) != UNIT)
        };
        match (given(cx, 2), given(cx, 3)) {
            (None, _) if args.len() == 2 => Ok(Lowered::Keep),
            (None, _) => Ok(Lowered::To(cx.make("array.take", &args[..2])?)),
            (Some(over), ids_over) => {
                let ids = wide(cx, args[1])?;
                let given = [args[0], ids, over, ids_over.unwrap_or(over)];
                Ok(Lowered::To(cx.make(arrays_made::TAKE_OVER, &given)?))
            }
        }
    })
}
