//! Trace: what an evaluation prints, as runnable Python with comments.
//!
//! ```text
//! # n4 = graph.exp(node=n1, name='')      the node
//! n4 = np.exp(n1)                         the same in numpy
//! # shape: ()
//! # dtype: float64
//! # value:
//! # 54.598150033144236
//!
//! ```
//!
//! A value from outside has `n1 = np.asarray(4)` instead. What is evaluated prints its first two lines
//! before, so that they are there if it fails.

use crate::backend::state::State;
use crate::dag::array_text::{Detail, shape_text, value_text};
use crate::dag::graph::NodeData;
use crate::dag::kind::Kind;
use crate::dag::numpy_text::{input_line, numpy_line};
use crate::dag::printing::{Spelling, node_text, tree_text};
use crate::dag::{Array, Node, Tree};

/// What stands on the console while an evaluation waits.
const PROMPT: &str = "# executor: press any key to continue...";

/// Traces the values that were set since the last evaluation, by id.
pub(crate) fn announce(state: &mut State) {
    let mut new = state.evaluated()[state.announced..].to_vec();
    state.announced = state.evaluated().len();
    new.sort_unstable();
    for id in new {
        let (Some(data), Some(value)) = (state.graph().data(id), state.value(id).cloned()) else { continue };
        if state.flags.trace || data.flags.trace {
            before(state, &data);
            print_value(state, &data, &value, Source::Outside);
        }
    }
}

/// Prints the nodes that are going to be evaluated, if asked to.
pub(crate) fn dump_nodes(state: &mut State, nodes: &[Node]) {
    let line = |node: &Node, spelling| node_text(&node.data(), spelling) + "\n";
    dump(state, |spelling| nodes.iter().map(|node| line(node, spelling)).collect());
}

/// Prints the tree that is going to be evaluated, if asked to.
pub(crate) fn dump_tree(state: &mut State, tree: &Tree) {
    dump(state, |spelling| tree_text(tree, spelling) + "\n");
}

fn dump(state: &mut State, text: impl FnOnce(Spelling) -> String) {
    if state.flags.dump {
        let text = text(state.spelling) + "\n";
        state.console.print(&text);
    }
}

/// Prints what is about to be computed.
pub(crate) fn before(state: &mut State, data: &NodeData) {
    if state.flags.trace || data.flags.trace {
        let is_set = state.spelling == Spelling::Cembra && state.value(data.id).is_some();
        let line = numpy_line(data, state.spelling).filter(|_| !is_set);
        let line = line.map_or_else(String::new, |line| line + "\n");
        let text = format!("# {}\n{line}", node_text(data, state.spelling));
        state.console.print(&text);
    }
}

/// Prints what was computed, and waits if asked to.
pub(crate) fn after(state: &mut State, data: &NodeData, value: &Array) {
    if state.flags.trace || data.flags.trace {
        print_value(state, data, value, Source::Evaluation);
    }
    if state.flags.breakpoints || data.flags.breakpoint {
        state.console.print(PROMPT);
        state.console.wait();
        state.console.print("\n");
    }
    // Its turn in the order comes right after.
    state.announced += 1;
}

/// Where a value comes from.
#[derive(PartialEq)]
enum Source {
    Outside,
    Evaluation,
}

fn print_value(state: &mut State, data: &NodeData, value: &Array, source: Source) {
    let compatible = state.spelling != Spelling::Cembra;
    let detail = if state.flags.full || compatible { Detail::Full } else { Detail::Summary };
    let is_input = match (&data.kind, compatible) {
        // The published engine has no line for these.
        (Kind::TimeseriesConstant(_) | Kind::TimeseriesPlaceholder, compatible) => !compatible,
        (Kind::Constant(_) | Kind::Placeholder { .. }, _) => true,
        (_, compatible) => source == Source::Outside && !compatible,
    };
    let mut text = String::new();
    if is_input {
        text.push_str(&input_line(data.id, value, detail, state.spelling));
        text.push('\n');
    }
    text.push_str(&format!("# shape: {}\n# dtype: {}\n# value:\n", shape_text(value.shape()), value.dtype()));
    let shown = if compatible { Detail::Summary } else { detail };
    match value_text(value, shown) {
        // An empty text has no lines in Python.
        empty if empty.is_empty() && compatible => text.push('\n'),
        lines => lines.split('\n').for_each(|line| text.push_str(&format!("# {line}\n"))),
    }
    text.push('\n');
    state.console.print(&text);
}
