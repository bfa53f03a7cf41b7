//! Expressions and programs as Graphviz graphs.

use crate::expr::print::literal_text;
use crate::expr::{Graph, Node, NodeId};
use cembra_vm::program::cfg::Cfg;
use cembra_vm::program::{Program, dump};
use petgraph::dot::{Config, Dot};
use petgraph::graph::DiGraph;
use std::collections::HashMap;

/// The nodes an expression reaches, an arrow from each node to its operands.
pub fn expression_dot(graph: &Graph, root: NodeId) -> String {
    let mut drawing: DiGraph<String, usize> = DiGraph::new();
    let mut drawn = HashMap::new();
    for id in graph.post_order(&[root]) {
        let label = match graph.node(id) {
            Node::Leaf(name) => format!("L.{}", graph.name(name)),
            Node::Placeholder(name) => format!("P.{}", graph.name(name)),
            Node::Literal(literal) => literal_text(literal),
            Node::Operator(operator, _) => graph.name(operator).to_string(),
        };
        let index = drawing.add_node(label);
        for (position, operand) in graph.operands(id).iter().enumerate() {
            drawing.add_edge(index, drawn[operand], position);
        }
        drawn.insert(id, index);
    }
    render(&drawing)
}

/// The basic blocks of the main routine with their instructions, an arrow to each block that can
/// follow.
pub fn program_dot(program: &Program) -> String {
    let routine = program.main();
    let cfg = Cfg::new(&routine.body);
    let drawing = cfg.graph().map(
        |_, block| {
            let lines = block.clone().map(|ip| format!("{ip}: {}\\l", dump::instruction(routine, ip)));
            lines.collect::<String>()
        },
        |_, ()| 0usize,
    );
    render(&drawing)
}

fn render(drawing: &DiGraph<String, usize>) -> String {
    let label = |_: &DiGraph<String, usize>, (_, text): (_, &String)| {
        format!("label=\"{}\" shape=box fontname=monospace", text.replace('"', "\\\""))
    };
    let config = [Config::EdgeNoLabel, Config::NodeNoLabel];
    format!("{:?}", Dot::with_attr_getters(drawing, &config, &|_, _| String::new(), &label))
}
