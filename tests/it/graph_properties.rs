//! Random graphs: every order gives the same values, and every node is evaluated once; deep graphs.

use crate::support::bits_of;
use cembra::backend::{Flags, Plan, State, evaluate_dag, evaluate_nodes};
use cembra::dag::printing::{Spelling, node_text};
use cembra::dag::{Array, Dag, Graph, Node, forest, ir, linearize, multi_clause_where, where_};
use proptest::prelude::*;
use std::slice::from_ref;

/// How a node is made of nodes before it: a choice of operation and of operands.
type Step = (u8, usize, usize, usize);

/// Builds a graph over three placeholders; every node is numeric, and shapes broadcast.
fn build(graph: &Graph, steps: &[Step]) -> Vec<Node> {
    let mut nodes =
        vec![graph.placeholder("a"), graph.placeholder("b"), graph.placeholder_with_default("c", 0.75)];
    for (op, i, j, k) in steps {
        let pick = |index: &usize| nodes[index % nodes.len()].clone();
        let (x, y, z) = (pick(i), pick(j), pick(k));
        nodes.push(match op % 16 {
            0 => x + y,
            1 => x - &y * 1,
            2 => x * y,
            3 => x / y,
            4 => x.maximum(&y),
            5 => -(x * 1),
            6 => (x * 0.125).exp(),
            7 => x.log(),
            8 => where_(&x.less(&y), &z, &x),
            9 => multi_clause_where(&[(&x.less(&y), &z), (&y.equal(&z), &x)], &y),
            10 => x.expand_dims(0).squeeze(0),
            11 => x.expand_dims(0).project_using_sum(0).squeeze(0),
            12 => graph.function_call("halve", &[&x]),
            13 => (x.greater(&y) ^ z.less_equal(1)) * 2,
            14 => x.power(2.0),
            _ => x + 3,
        });
    }
    nodes
}

fn state(graph: &Graph, nodes: &[Node]) -> State {
    let mut state = State::new(graph).with_flags(Flags::default()).with_profile();
    let halve = |x: &cembra::backend::Arguments<'_>| {
        let half = Array::from(0.5);
        let [x] = x.exactly()?;
        Ok(cembra::backend::elementwise::binary(cembra::dag::kind::BinaryOp::Multiply, x, &half)?)
    };
    state.set_function("halve", cembra::backend::Function::new(halve));
    let column = Array::new(vec![1_i64, -2, 3], &[3, 1]).expect("three elements");
    state.set_node_value(&nodes[0], column).expect("a node of the graph");
    state.set_node_value(&nodes[1], Array::vector([0.5, 0.0])).expect("a node of the graph");
    state
}

/// The bits of the values of all nodes that the roots need.
fn values(dag: &Dag, nodes: &[Node], graph: &Graph) -> Vec<String> {
    let mut state = state(graph, nodes);
    evaluate_dag(&mut state, dag).unwrap_or_else(|e| panic!("{e}\n{dag}"));
    let profile = state.profile().expect("the state measures");
    let mut evaluated: Vec<_> = profile.nodes.iter().map(|node| node.node).collect();
    let count = evaluated.len();
    evaluated.sort_unstable();
    evaluated.dedup();
    assert_eq!(evaluated.len(), count, "a node was evaluated twice");
    let value = |node: &Node| bits_of(state.get_node_value(node).expect("needed nodes have values"));
    dag.body_nodes().map(|node| format!("{} {}", node.id(), value(node))).collect()
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort_unstable();
    values.dedup();
    values
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn orders_agree_and_texts_read_back(
        steps in prop::collection::vec(any::<Step>(), 1..40),
        chosen in prop::collection::vec(any::<usize>(), 1..6),
    ) {
        let graph = Graph::new();
        let nodes = build(&graph, &steps);
        let mut roots: Vec<Node> = chosen.iter().map(|i| nodes[3 + i % steps.len()].clone()).collect();
        roots.sort_by_key(|root| (root.id().number() * 7919) % 31);
        let mut seen = std::collections::HashSet::new();
        roots.retain(|root| seen.insert(root.id()));
        let plan = linearize::forest(&roots, &[]).expect("no cycles");
        let as_nodes = ir::compile_nodes(&plan);
        let as_trees = ir::compile_trees(forest::partition(&roots).expect("no cycles"));
        let expected = sorted(values(&as_nodes, &nodes, &graph));
        prop_assert_eq!(&expected, &sorted(values(&as_trees, &nodes, &graph)));
        let mut state = state(&graph, &nodes);
        let last = evaluate_nodes(&mut state, &plan).expect("it evaluates").expect("there is a root");
        prop_assert!(state.get_node_value(plan.nodes.last().expect("a root")).is_ok_and(|v| bits_of(v) == bits_of(&last)));

        // The text of the graph is a graph with the same values.
        let again = Graph::parse(&as_trees.to_string()).expect("a dump reads back");
        let same = |node: &Node| again.node(node.id().number());
        let texts = |node: &Node| same(node).map(|n| node_text(&n.data(), Spelling::Cembra));
        for node in &plan.nodes {
            prop_assert_eq!(texts(node), Some(node_text(&node.data(), Spelling::Cembra)));
        }
    }
}

#[test]
fn a_million_nodes_in_a_chain() {
    let work = || {
        let graph = Graph::new();
        let x = graph.placeholder("x");
        let mut nodes = vec![x.clone()];
        for _ in 0..1_000_000 {
            nodes.push(-nodes.last().expect("it begins with x"));
        }
        let top = nodes.last().expect("it begins with x").clone();
        let plan = linearize::forest(from_ref(&top), &[]).expect("no cycles");
        assert_eq!(plan.nodes.len(), 1_000_001);
        let dag = ir::compile_trees(forest::partition(from_ref(&top)).expect("no cycles"));
        let text = dag.to_string();
        assert_eq!(text.lines().count(), 1_000_007);
        let mut state = State::new(&graph).with_flags(Flags::default());
        state.set_node_value(&x, Array::from(2.5)).expect("a node of the graph");
        assert_eq!(evaluate_dag(&mut state, &dag).expect("it evaluates"), Some(Array::from(2.5)));
        assert_eq!(Graph::parse(&text).expect("it reads back").largest_id(), 1_000_001);
        graph.set_operand(nodes[1].id(), "node", top.id()).expect("both exist");
        let error = linearize::forest(&[top], &[]).expect_err("a cycle");
        assert_eq!(error.to_string(), "the graph has a cycle through node n1000001");
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work).expect("a thread");
    thread.join().expect("no stack overflows");
}

/// Nodes of a chain in the usual run; `CEMBRA_CHAIN=1000000` tries a million, which takes minutes unoptimised.
const CHAIN: usize = 100_000;

/// The machine sorts, compiles and runs chains without recursion too.
#[test]
fn a_long_chain_on_the_machine() {
    let asked = std::env::var("CEMBRA_CHAIN").ok().and_then(|count| count.parse().ok());
    let work = move || {
        let graph = Graph::new();
        let x = graph.placeholder("x");
        let mut top = x.clone();
        for _ in 0..asked.unwrap_or(CHAIN) / 2 {
            top = &top * &x + 1;
        }
        let dag = ir::compile_nodes(&linearize::forest(from_ref(&top), &[]).expect("no cycles"));
        let mut plan = Plan::new(&dag);
        for value in [0.5, -0.5] {
            let mut states = [0, 1].map(|_| State::new(&graph).with_flags(Flags::default()));
            for state in &mut states {
                state.set_node_value(&x, Array::from(value)).expect("a node of the graph");
            }
            let [mut step, mut machine] = states;
            assert_eq!(plan.evaluate(&mut machine), evaluate_dag(&mut step, &dag));
        }
        assert_eq!(plan.compilations(), 1);
        assert!(plan.failure().is_none(), "{:?}", plan.failure());
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work).expect("a thread");
    thread.join().expect("no stack overflows");
}

/// Each root of a chain waits for the one behind it in the order given.
#[test]
fn many_roots_in_reverse() {
    let graph = Graph::new();
    let mut nodes = vec![graph.placeholder("x").exp()];
    for _ in 0..100_000 {
        nodes.push(-nodes.last().expect("it begins with a node"));
    }
    nodes.reverse();
    let trees = forest::partition(&nodes).expect("no cycles");
    let roots: Vec<u32> = trees.iter().map(|tree| tree.root().id().number()).collect();
    assert_eq!(roots, (2..=100_002).collect::<Vec<_>>());
    assert!(trees.iter().all(|tree| tree.body().len() == 1 && tree.inputs().len() == 1));
}
