//! Every program of up to four binary operators over two inputs and two kinds of operators: 235,160.
//!
//! One kind reads its operands before it writes and may take the bytes of one that dies; the other is a
//! host's function, whose result must stay clear of its operands. What no operator reads is a side
//! output, so that every operator of every program runs.

use cembra::compile::{Options, compile};
use cembra::expr::{Expr, Graph, NodeId};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Registry;
use cembra::vm::operator::family::Family;
use cembra::vm::value::Value;
use cembra::vm::value::qtype::INT64;

const INPUTS: [i64; 2] = [0x0123_4567_89ab_cdef, -0x0f1e_2d3c_4b5a_6978];
const KINDS: [&str; 2] = ["math.subtract", "test.mix"];

/// One operator: kind and operands, which are inputs or earlier results.
type Row = (usize, usize, usize);

#[test]
fn all_small_programs() {
    let mix = Family::new("test.mix", &["x", "y"], "x * 31 + y").function2::<i64, i64, i64, _>(mix);
    let mut registry = Registry::standard();
    registry.register(mix).expect("a new name");
    let counts = std::thread::scope(|scope| {
        let registry = &registry;
        // The first operator's kind divides the work.
        let halves = [0, 1].map(|kind| {
            scope.spawn(move || {
                let mut all = All { registry, rows: Vec::new(), count: 0, first_kind: kind };
                all.extend();
                all.count
            })
        });
        halves.map(|half| half.join().expect("all programs agree"))
    });
    assert_eq!(counts.iter().sum::<u64>(), 8 + 144 + 4_608 + 230_400);
}

fn mix(x: i64, y: i64) -> i64 {
    x.wrapping_mul(31).wrapping_add(y)
}

struct All<'r> {
    registry: &'r Registry,
    rows: Vec<Row>,
    count: u64,
    first_kind: usize,
}

impl All<'_> {
    /// Checks every program that begins with the present rows.
    fn extend(&mut self) {
        if self.rows.len() == 4 {
            return;
        }
        let values = INPUTS.len() + self.rows.len();
        let kinds = if self.rows.is_empty() { self.first_kind..self.first_kind + 1 } else { 0..KINDS.len() };
        for kind in kinds {
            for operands in 0..values * values {
                self.rows.push((kind, operands / values, operands % values));
                self.count += 1;
                self.check();
                self.extend();
                self.rows.pop();
            }
        }
    }

    fn check(&self) {
        let (graph, nodes) = graph(&self.rows);
        let outputs = outputs(&graph, &nodes);
        let expr = |node: NodeId| Expr::new(&graph, node).expect("a valid node");
        let mut source = Source::new(expr(outputs[0]), [("a", INT64), ("b", INT64)]);
        for (index, node) in outputs.iter().enumerate().skip(1) {
            source = source.side_output(&format!("s{index}"), expr(*node));
        }
        let prepared = Prepare::standard().without_optimizer();
        let prepared = prepared.run(source.registry(self.registry.clone())).expect("valid");
        for overriding in [false, true] {
            let options =
                Options { allow_overriding_input_slots: overriding, check_slots: true, ..Options::default() };
            let bound = compile(&prepared, &options).unwrap_or_else(|e| panic!("{:?}: {e}", self.rows));
            let mut frame = bound.new_frame().expect("memory");
            for run in 0..2 {
                for (name, value) in ["a", "b"].into_iter().zip(INPUTS) {
                    let slot = bound.input_slot(name).expect("an input");
                    frame.write(slot, &Value::from(value ^ run)).expect("an INT64");
                }
                bound.execute(&mut frame).unwrap_or_else(|e| panic!("{:?}: {e}", self.rows));
                let expected = evaluate(&graph, &nodes, INPUTS.map(|v| v ^ run));
                for (index, node) in outputs.iter().enumerate() {
                    let name = format!("s{index}");
                    let slot = match index {
                        0 => bound.output_slot(),
                        _ => bound.side_output_slot(&name).expect("a side output"),
                    };
                    let found = frame.read(slot).expect("written");
                    let place = nodes.iter().position(|n| n == node).expect("a node");
                    assert_eq!(found, Value::from(expected[place]), "{:?}, output {index}", self.rows);
                }
            }
        }
    }
}

/// The values of a program as nodes; equal ones are one node.
fn graph(rows: &[Row]) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::new();
    let mut nodes = vec![graph.leaf("a").expect("room"), graph.leaf("b").expect("room")];
    let kinds = KINDS.map(|name| graph.symbol(name));
    for (kind, x, y) in rows {
        nodes.push(graph.apply(kinds[*kind], &[nodes[*x], nodes[*y]]).expect("room"));
    }
    (graph, nodes)
}

/// The last result, then all others that no operator reads.
fn outputs(graph: &Graph, nodes: &[NodeId]) -> Vec<NodeId> {
    let last = *nodes.last().expect("an operator");
    let mut outputs = vec![last];
    for node in &nodes[INPUTS.len()..] {
        let read = nodes.iter().any(|user| graph.operands(*user).contains(node));
        if !read && !outputs.contains(node) {
            outputs.push(*node);
        }
    }
    outputs
}

fn evaluate(graph: &Graph, nodes: &[NodeId], inputs: [i64; 2]) -> Vec<i64> {
    let mut values = inputs.to_vec();
    for node in &nodes[inputs.len()..] {
        let value = |operand: NodeId| values[nodes.iter().position(|n| *n == operand).expect("earlier")];
        let operands = graph.operands(*node);
        let (x, y) = (value(operands[0]), value(operands[1]));
        let name = graph.name(graph.operator(*node).expect("an operator"));
        values.push(if **name == *KINDS[0] { x.wrapping_sub(y) } else { mix(x, y) });
    }
    values
}
