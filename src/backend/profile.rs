//! Profile: time and bytes of each node, by tree.
//!
//! ```text
//! node                             time   share          bytes
//! n3 constant                  1.200 us    8.6%              8
//! t7                           4.200 us   30.0%             16
//!   n4 exp                     3.100 us   22.1%              8
//! ```

use crate::dag::NodeId;
use crate::dag::graph::NodeData;
use crate::dag::kind::Kind;
use std::fmt;
use std::time::Duration;

/// One evaluated node.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The node.
    pub node: NodeId,
    /// The root of the tree it was evaluated in; nothing outside trees.
    pub tree: Option<NodeId>,
    /// What it computes: `exp`, the name of a user function, or on the machine `program of 12 nodes`.
    pub operation: String,
    /// Its name.
    pub name: String,
    /// Time of the evaluation, without tracing.
    pub time: Duration,
    /// Bytes of its value; views count as their elements would.
    pub bytes: usize,
}

/// Time and bytes of the nodes evaluated so far, in order; prints as a table.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Evaluated nodes.
    pub nodes: Vec<Measured>,
}

impl Profile {
    pub(crate) fn record(&mut self, data: &NodeData, tree: Option<NodeId>, time: Duration, bytes: usize) {
        let name = data.name.to_string();
        self.nodes.push(Measured { node: data.id, tree, operation: operation(data), name, time, bytes });
    }

    /// A program of so many nodes, which are not measured one by one; `last` is one of its results.
    pub(crate) fn record_program(&mut self, last: NodeId, nodes: usize, time: Duration, bytes: usize) {
        let operation = format!("program of {nodes} nodes");
        self.nodes.push(Measured { node: last, tree: None, operation, name: String::new(), time, bytes });
    }

    /// Time of all nodes.
    pub fn total(&self) -> Duration {
        self.nodes.iter().map(|node| node.time).sum()
    }

    /// Roots of trees in the order of their evaluation, each with the time and bytes of its nodes.
    pub fn trees(&self) -> Vec<(NodeId, Duration, usize)> {
        let mut trees: Vec<(NodeId, Duration, usize)> = Vec::new();
        for node in &self.nodes {
            let Some(tree) = node.tree else { continue };
            match trees.iter_mut().rfind(|(root, ..)| *root == tree) {
                Some((_, time, bytes)) => {
                    *time += node.time;
                    *bytes += node.bytes;
                }
                None => trees.push((tree, node.time, node.bytes)),
            }
        }
        trees
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let width = rows.iter().map(|(label, ..)| label.chars().count()).max().unwrap_or(0).max(24);
        let total = self.total();
        let share = |time: Duration| match total.is_zero() {
            true => 0.0,
            false => 100.0 * time.as_secs_f64() / total.as_secs_f64(),
        };
        writeln!(f, "{:<width$} {:>12} {:>7} {:>14}", "node", "time", "share", "bytes")?;
        for (label, time, bytes) in rows {
            writeln!(f, "{label:<width$} {:>12} {:>6.1}% {bytes:>14}", duration(time), share(time))?;
        }
        Ok(())
    }
}

impl Profile {
    /// Nodes below their trees, and the sum.
    fn rows(&self) -> Vec<(String, Duration, usize)> {
        let trees = self.trees();
        let (mut rows, mut begun) = (Vec::new(), None);
        for node in &self.nodes {
            let tree = trees.iter().find(|(root, ..)| Some(*root) == node.tree && node.tree != begun);
            rows.extend(tree.map(|(root, time, bytes)| (format!("t{}", root.number()), *time, *bytes)));
            begun = node.tree;
            let indent = if begun.is_some() { "  " } else { "" };
            let name = match node.name.is_empty() || node.operation.ends_with("()") {
                true => String::new(),
                false => format!(" '{}'", node.name.escape_debug()),
            };
            rows.push((format!("{indent}{} {}{name}", node.node, node.operation), node.time, node.bytes));
        }
        rows.push(("total".to_owned(), self.total(), self.nodes.iter().map(|node| node.bytes).sum()));
        rows
    }
}

fn duration(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.3} us", s * 1e6),
    }
}

/// What a node computes, in a word.
fn operation(data: &NodeData) -> String {
    match data.kind {
        Kind::FunctionCall { .. } => format!("{}()", data.name.escape_debug()),
        _ => data.kind.name().to_owned(),
    }
}
