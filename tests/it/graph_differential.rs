//! Random graphs: the step backend, trees in parallel and the machine give the same values and errors, and nodes have
//! the values and errors of a reference.
//!
//! Values are compared bit by bit. Reductions are over fewer than eight elements, which all add in one order; longer
//! sums are another test's. `CEMBRA_RANDOM_GRAPHS` asks for more graphs than the usual 5,000.

use crate::reference::numpy;
use cembra::backend::{Arguments, Flags, Function, Plan, State, elementwise};
use cembra::backend::{evaluate_dag, evaluate_in_parallel};
use cembra::dag::kind::BinaryOp;
use cembra::dag::{Array, Graph, Node, NodeId, forest, ir, linearize, multi_clause_where, where_};
use fastrand::Rng;
use half::f16;

/// Graphs in the usual run.
const GRAPHS: usize = 5000;

/// The text of an array: equal texts for equal values, where all NaN are one.
fn text(array: &Array) -> String {
    let bits = |v: f64| if v.is_nan() { "nan".to_owned() } else { v.to_bits().to_string() };
    let elements: Vec<String> = match array {
        Array::Float64(e) => e.iter().map(|v| bits(*v)).collect(),
        Array::Float32(e) => e.iter().map(|v| bits((*v).into())).collect(),
        Array::Float16(e) => e.iter().map(|v| bits(v.to_f64())).collect(),
        Array::Bool(e) => e.iter().map(ToString::to_string).collect(),
        Array::Int8(e) => e.iter().map(ToString::to_string).collect(),
        Array::Int32(e) => e.iter().map(ToString::to_string).collect(),
        Array::Int64(e) => e.iter().map(ToString::to_string).collect(),
        Array::Text(e) => e.texts().map(|text| format!("{text:?}")).collect(),
    };
    format!("{} {:?} {}", array.dtype(), array.shape(), elements.join(" "))
}

/// What an evaluation gives: the values of these nodes, or its error.
fn outcome(
    state: &State,
    nodes: &[Node],
    result: Result<Option<Array>, cembra::backend::EvalError>,
) -> Result<Vec<String>, String> {
    result.map_err(|error| error.to_string())?;
    Ok(nodes.iter().map(|node| text(state.get_node_value(node).expect("a value"))).collect())
}

/// An array of some dtype; shapes broadcast to (2, 3, 2), mostly.
fn array(rng: &mut Rng) -> Array {
    const SHAPES: [&[usize]; 9] = [&[], &[], &[2], &[1], &[3, 2], &[3, 1], &[1, 2], &[2, 1, 1], &[2, 3, 2]];
    let shape = if rng.u8(..40) == 0 { &[0, 2][..] } else { rng.choice(SHAPES).expect("not empty") };
    let count = shape.iter().product();
    let mut of =
        |choices: &[f64]| -> Vec<f64> { (0..count).map(|_| *rng.choice(choices).expect("some")).collect() };
    const FLOATS: &[f64] = &[0.0, -0.0, 1.0, -1.5, 2.0, 0.1, 700.0, 1e300, f64::NAN, f64::INFINITY, -3.0];
    const INTEGERS: &[f64] = &[0.0, 1.0, 2.0, -3.0, 7.0, 1e9, 2147483647.0];
    let (floats, integers) = (of(FLOATS), of(INTEGERS));
    let made = match rng.u8(..10) {
        0 | 1 => Array::new(integers.iter().map(|v| *v > 0.0).collect::<Vec<bool>>(), shape),
        2 => Array::new(integers.iter().map(|v| *v as i32).collect::<Vec<i32>>(), shape),
        3 | 4 => Array::new(integers.iter().map(|v| *v as i64).collect::<Vec<i64>>(), shape),
        5 => Array::new(floats.iter().map(|v| *v as f32).collect::<Vec<f32>>(), shape),
        6 => Array::new(floats.iter().map(|v| f16::from_f64(*v)).collect::<Vec<f16>>(), shape),
        7 => {
            let texts: Vec<String> = integers.iter().map(|v| "ab".repeat(*v as usize % 3)).collect();
            cembra::dag::TextArray::new(&texts, shape, 0).map(Array::Text)
        }
        _ => Array::new(floats, shape),
    };
    made.expect("as many elements as places")
}

/// A node over nodes that are there.
fn node(rng: &mut Rng, graph: &Graph, nodes: &[Node]) -> Node {
    let mut pick =
        || nodes[nodes.len() - 1 - (rng.usize(..nodes.len()).min(rng.usize(..nodes.len())))].clone();
    let (x, y, z) = (pick(), pick(), pick());
    let axis = rng.i8(-3..3) as isize;
    match rng.u8(..40) {
        0 => x + y,
        1 => x - y,
        2 => x * y,
        3 => x / y,
        4 => x.power(&y),
        5 => x.maximum(&y),
        6 => -x,
        7 => x.exp(),
        8 => x.log(),
        9 => x.equal(&y),
        10 => x.not_equal(&y),
        11 => x.less(&y),
        12 => x.less_equal(&y),
        13 => x.greater(&y),
        14 => x.greater_equal(&y),
        15 => x & y,
        16 => x | y,
        17 => x ^ y,
        18 => !x,
        19 => where_(&x, y, z),
        20 => multi_clause_where(&[(&x.less(&y), &z), (&y.equal(&z), &x)], &y),
        21 => x.expand_dims(axis),
        22 => x.squeeze(axis),
        23 => x.project_using_sum(axis),
        24 => x.reduce_mean(axis),
        25 => x.project_using_min(axis),
        26 => x.reduce_max(axis),
        27 => x.reduce_prod(axis),
        28 => x.project_using_any(axis),
        29 => x.reduce_all(axis),
        30 => x.project_using_count_nonzero(axis),
        31 => x.reduce_std(axis),
        32 => x.project_using_var(axis),
        33 => x.reduce_median(axis),
        34 => x.project_using_quantile(axis, 0.3),
        35 => graph.function_call("halve", &[&x]),
        36 => x * 2 + 1,
        37 => x.power(2),
        38 => x.equal("ab"),
        _ => x * 0.25,
    }
}

fn halve(arguments: &Arguments<'_>) -> Result<Array, cembra::backend::UserFunctionError> {
    let [x] = arguments.exactly()?;
    Ok(elementwise::binary(BinaryOp::Multiply, x, &Array::from(0.5))?)
}

fn new_state(graph: &Graph, inputs: &[(Node, Array)]) -> State {
    let mut state = State::new(graph).with_flags(Flags::default());
    state.set_function("halve", Function::new(halve));
    for (node, value) in inputs {
        state.set_node_value(node, value.clone()).expect("a node of the graph");
    }
    state
}

/// A graph whose nodes nearly all have values, and some roots.
fn random_graph(rng: &mut Rng) -> (Graph, Vec<(Node, Array)>, Vec<Node>) {
    let graph = Graph::new();
    let mut inputs: Vec<(Node, Array)> = Vec::new();
    for number in 0..rng.usize(1..5) {
        inputs.push((graph.placeholder(&format!("x{number}")), array(rng)));
    }
    let mut nodes: Vec<Node> = inputs.iter().map(|(node, _)| node.clone()).collect();
    nodes.push(graph.placeholder_with_default("c", 0.75));
    let leaves = nodes.len();
    // What cannot be evaluated is rarely read by others.
    let mut scratch = new_state(&graph, &inputs);
    for _ in 0..rng.usize(1..16) {
        let new = node(rng, &graph, &nodes);
        let dag = ir::compile_nodes(&linearize::forest(std::slice::from_ref(&new), &[]).expect("no cycles"));
        if evaluate_dag(&mut scratch, &dag).is_ok() || rng.u8(..30) == 0 {
            nodes.push(new);
        }
    }
    let mut roots: Vec<Node> = (0..rng.usize(1..5))
        .filter_map(|_| nodes.get(leaves + rng.usize(..nodes.len())).cloned())
        .chain(nodes.get(leaves..).and_then(<[Node]>::last).cloned())
        .collect();
    let mut seen = std::collections::HashSet::new();
    roots.retain(|root| seen.insert(root.id()));
    (graph, inputs, roots)
}

/// Compares the nodes that have values, and the one that failed, with the [reference](numpy).
fn check_with_reference(state: &State, nodes: &[Node], outcome: &Result<Vec<String>, String>) {
    let value = |id: NodeId| state.get_node_value(&state.graph().node(id.number())?).ok().cloned();
    for node in nodes {
        let data = node.data();
        if !data.kind.operands().iter().all(|id| value(*id).is_some()) {
            continue;
        }
        let operand = |id| value(id).expect("all operands have values");
        let reference = numpy::value(&data.kind, &operand);
        match (reference, value(node.id())) {
            (Some(reference), Some(value)) => assert_eq!(reference.as_ref().map(text), Ok(text(&value))),
            (None, Some(_)) => {}
            // The first node without a value is the one that failed.
            (reference, None) => {
                let error = outcome.as_ref().expect_err("all nodes have values");
                let problem = reference.map(|reference| reference.expect_err("it fails").to_string());
                assert!(
                    problem.is_none_or(|what| *error == format!("node {}: {what}", node.id())),
                    "{error}"
                );
                return;
            }
        }
    }
}

#[test]
fn step_machine_and_parallel_agree() {
    let asked = std::env::var("CEMBRA_RANDOM_GRAPHS").ok().and_then(|count| count.parse().ok());
    let seed = 20_261_121;
    let (mut failures, mut programs) = (0, 0);
    for number in 0..asked.unwrap_or(GRAPHS) {
        let (graph, inputs, roots) = random_graph(&mut Rng::with_seed(seed + number as u64));
        if roots.is_empty() {
            continue;
        }
        let trees = ir::compile_trees(forest::partition(&roots).expect("no cycles"));
        let dag = ir::compile_nodes(&linearize::forest(&roots, &[]).expect("no cycles"));
        let nodes: Vec<Node> = dag.body_nodes().cloned().collect();
        let mut step = new_state(&graph, &inputs);
        let result = evaluate_dag(&mut step, &dag);
        let expected = outcome(&step, &nodes, result);
        let mut parallel = new_state(&graph, &inputs);
        let result = evaluate_in_parallel(&mut parallel, &trees, 3);
        let by_trees = outcome(&parallel, &nodes, result);
        check_with_reference(&step, &nodes, &expected);
        // Another order may meet another error first.
        assert_eq!(by_trees.is_err(), expected.is_err(), "graph {number}:\n{trees}");
        if expected.is_ok() {
            assert_eq!(by_trees, expected, "graph {number} in parallel:\n{trees}");
        }
        let mut plan = Plan::new(&dag).with_all_values();
        for run in 0..2 {
            let mut machine = new_state(&graph, &inputs);
            let result = plan.evaluate(&mut machine);
            assert_eq!(outcome(&machine, &nodes, result), expected, "graph {number}, run {run}:\n{dag}");
        }
        let mut machine = new_state(&graph, &inputs);
        let mut plan_of_roots = Plan::new(&dag);
        let result = plan_of_roots.evaluate(&mut machine);
        let of_roots = outcome(&machine, &roots, result);
        assert_eq!(
            of_roots,
            expected.as_ref().map_or_else(|e| Err(e.clone()), |_| outcome(&step, &roots, Ok(None)))
        );
        if expected.is_ok() {
            let failure = plan.failure().or(plan_of_roots.failure());
            assert!(failure.is_none(), "graph {number}: {failure:?}\n{dag}");
        }
        failures += usize::from(expected.is_err());
        programs += plan.compilations();
    }
    assert!(
        programs > 0 && failures < asked.unwrap_or(GRAPHS) / 2,
        "{programs} programs, {failures} failures"
    );
}
