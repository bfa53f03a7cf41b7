//! Texts of nodes, trees and intermediate forms.
//!
//! ```text
//! n7 = graph.add(left=n4, right=n6, name='c')          a node
//!
//! def t7(n1: graph.placeholder) -> graph.Node:         a tree
//!     n4 = graph.exp(node=n1, name='')
//!     return n4
//! ```
//!
//! [`Spelling::Cembra`] quotes names and texts, so that a text says one thing only and reads back
//! ([`crate::dag::reading`]). The spellings of the published engine do not; they are there to compare.

use crate::dag::array::Array;
use crate::dag::array_text::{list_text, repr_text, tuple_text};
use crate::dag::forest::Tree;
use crate::dag::graph::NodeData;
use crate::dag::ir::{Body, Dag};
use crate::dag::kind::{Axis, AxisOp, Branch, Clause, Dims, Kind, NodeId};
use crate::dag::node::Node;
use crate::dag::number_text::{python_float, python_string};
use crate::dag::scalar::Scalar;
use std::fmt;
use std::sync::Arc;

/// Whose texts these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Ours: reads back.
    Cembra,
    /// The published engine as its design document describes it, commit 2caeb35.
    Document,
    /// The published engine as released, version 0.8.1.
    Release,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::One(axis) => write!(f, "{axis}"),
            Axis::Many(axes) => f.write_str(&tuple_text(axes)),
        }
    }
}

impl<T> fmt::Display for Node<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&node_text(&self.data(), Spelling::Cembra))
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&tree_text(self, Spelling::Cembra))
    }
}

impl fmt::Display for Dag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&dag_text(self, Spelling::Cembra))
    }
}

/// A node on one line.
pub fn node_text(node: &NodeData, spelling: Spelling) -> String {
    format!("{} = {}", node.id, Text { node, spelling }.call())
}

/// A tree as a function of its inputs.
pub fn tree_text(tree: &Tree, spelling: Spelling) -> String {
    let parameter = |node: &Node| {
        let kind = &node.data().kind;
        format!("graph.{}", if kind.is_leaf() { kind.name() } else { "Node" })
    };
    let line = |node: &Node| Some(node_text(&node.data(), spelling));
    definition(tree, "graph.Node", parameter, line) + "\n"
}

/// The definition of a function: types of parameters, and lines of nodes.
pub(crate) fn definition(
    tree: &Tree,
    result: &str,
    parameter: impl Fn(&Node) -> String,
    line: impl Fn(&Node) -> Option<String>,
) -> String {
    let parameters = tree.inputs().iter().map(|node| format!("{}: {}", node.id(), parameter(node)));
    let (root, parameters) = (tree.root().id().number(), parameters.collect::<Vec<_>>().join(", "));
    let lines: String = tree.body().iter().filter_map(line).map(|line| format!("    {line}\n")).collect();
    format!("def t{root}({parameters}) -> {result}:\n{lines}    return n{root}")
}

/// An intermediate form: sections of placeholders, constants, and trees or nodes.
pub fn dag_text(dag: &Dag, spelling: Spelling) -> String {
    let nodes =
        |nodes: &[Node]| nodes.iter().map(|node| node_text(&node.data(), spelling)).collect::<Vec<_>>();
    let (title, body) = match &dag.body {
        Body::Nodes(body) => ("nodes", nodes(body)),
        Body::Trees(trees) => ("trees", trees.iter().map(|tree| tree_text(tree, spelling)).collect()),
    };
    let sections =
        [("placeholders", nodes(&dag.placeholders)), ("constants", nodes(&dag.constants)), (title, body)];
    let section = |(title, items): &(&str, Vec<String>)| {
        let items = items.iter().map(|item| format!("{item}\n"));
        format!("# === {title} ===\n{}", items.collect::<String>())
    };
    let texts: Vec<String> = sections.iter().filter(|(_, items)| !items.is_empty()).map(section).collect();
    texts.join("\n")
}

/// A node being written.
struct Text<'n> {
    node: &'n NodeData,
    spelling: Spelling,
}

impl Text<'_> {
    /// `graph.add(left=n4, right=n6, name='c')`.
    fn call(&self) -> String {
        let (kind, name) = (&self.node.kind, self.name());
        let fields = match kind {
            Kind::Constant(value) => format!("value={}", self.scalar(value)),
            Kind::Placeholder { default } => {
                let default = default.as_ref().map_or("None".to_owned(), |value| self.scalar(value));
                return format!("graph.placeholder({name}, default_value={default})");
            }
            Kind::TimeseriesConstant(values) => format!(
                "values={}",
                if self.spelling == Spelling::Cembra { typed_list(values) } else { repr_text(values) }
            ),
            Kind::TimeseriesPlaceholder => return format!("graph.timeseries_placeholder({name})"),
            Kind::Unary(_, node) => format!("node={node}"),
            Kind::Binary(_, left, right) => format!("left={left}, right={right}"),
            Kind::Where { condition, then, otherwise } => {
                format!("condition={condition}, then={then}, otherwise={otherwise}")
            }
            Kind::MultiClauseWhere { clauses, default } => {
                format!("clauses={}, default_value={default}", clause_list(clauses))
            }
            Kind::ExclusiveMultiClauseWhere { clauses, default, companion } => {
                format!("clauses={}, default_value={default}, companion={companion}", clause_list(clauses))
            }
            Kind::VariantSelector { selector, branches, merge_nodes } => format!(
                "selector_node={selector}, branch_map={{{}}}, merge_nodes={}",
                self.branches(branches),
                list(merge_nodes)
            ),
            Kind::Axis { op: AxisOp::Quantile { q, .. }, node, axis } => {
                format!("node={node}, q={}, axis={axis}", python_float(*q))
            }
            Kind::Axis { node, axis, .. } => format!("node={node}, axis={axis}"),
            Kind::FunctionCall { args, kwargs } => return self.function_call(args, kwargs),
        };
        format!("graph.{}{}({fields}, {name})", self.prefix(), kind.name())
    }

    /// `name='c'`.
    fn name(&self) -> String {
        let timeseries = matches!(self.node.kind, Kind::TimeseriesConstant(_) | Kind::TimeseriesPlaceholder);
        match self.spelling {
            // The published engine escapes nothing here.
            Spelling::Document | Spelling::Release if !timeseries => format!("name='{}'", self.node.name),
            _ => format!("name={}", python_string(&self.node.name)),
        }
    }

    fn scalar(&self, value: &Scalar) -> String {
        match (value, self.spelling) {
            (Scalar::Text(text), Spelling::Cembra) => python_string(text),
            // The published engine prints texts without quotes.
            (Scalar::Text(text), _) => text.to_string(),
            (Scalar::Bool(true), _) => "True".to_owned(),
            (Scalar::Bool(false), _) => "False".to_owned(),
            (Scalar::Int(value), _) => value.to_string(),
            (Scalar::Float(value), _) => python_float(*value),
        }
    }

    fn branches(&self, branches: &[Branch]) -> String {
        let branch = |(key, nodes): &Branch| match self.spelling {
            Spelling::Cembra => format!("{}: {}", python_string(key), list(nodes)),
            _ => format!("\"{key}\": {}", list(nodes)),
        };
        branches.iter().map(branch).collect::<Vec<_>>().join(", ")
    }

    /// What a reduction does with its axes; the published engine has one word for both.
    fn prefix(&self) -> &'static str {
        match self.node.kind {
            Kind::Axis { op: AxisOp::Reduce(_, dims) | AxisOp::Quantile { dims, .. }, .. } => {
                if (self.spelling, dims) == (Spelling::Cembra, Dims::Drop) {
                    "reduce_"
                } else {
                    "project_using_"
                }
            }
            _ => "",
        }
    }

    fn function_call(&self, args: &[NodeId], kwargs: &[(Arc<str>, NodeId)]) -> String {
        let name = python_string(&self.node.name);
        let arguments = arguments_text(args, kwargs);
        let comma = if arguments.is_empty() { "" } else { ", " };
        match self.spelling {
            Spelling::Cembra => format!("graph.function_call({name}{comma}{arguments})"),
            Spelling::Document => format!("graph.function(name={name}{comma}{arguments})"),
            Spelling::Release => format!("graph.function_call(name={name}{comma}{arguments})"),
        }
    }
}

/// `[1, 2, 3]`, with the type where a list has another, and with the shape where a list does not say it.
fn typed_list(values: &Array) -> String {
    let mut text = list_text(values);
    let dtype = values.dtype();
    if !dtype.is_literal() || values.is_empty() {
        text.push_str(&format!(", dtype='{dtype}'"));
    }
    if values.is_empty() {
        text.push_str(&format!(", shape={}", tuple_text(values.shape())));
    }
    text
}

/// `n1, n2, k2=n3`.
pub(crate) fn arguments_text(args: &[NodeId], kwargs: &[(Arc<str>, NodeId)]) -> String {
    let args = args.iter().map(NodeId::to_string);
    let kwargs = kwargs.iter().map(|(key, node)| match is_identifier(key) {
        true => format!("{key}={node}"),
        false => format!("**{{{}: {node}}}", python_string(key)),
    });
    args.chain(kwargs).collect::<Vec<_>>().join(", ")
}

/// True for names that Python can write.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// `[n1, n2]`.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", texts.join(", "))
}

/// `[(n4, n2), (n5, n3)]`.
fn clause_list(clauses: &[Clause]) -> String {
    list(clauses.iter().map(|(condition, value)| format!("({condition}, {value})")))
}
