//! Kinds of nodes that recorded programs have few of: their values and their lines of numpy.

use cembra::backend::{Flags, Function, State, Transcript, evaluate_dag};
use cembra::dag::numpy_text::function_text;
use cembra::dag::printing::Spelling;
use cembra::dag::{
    Array, Condition, Graph, Node, exclusive_multi_clause_where, forest, ir, linearize, piecewise,
};
use std::process::Command;
use std::slice::from_ref;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A state in which `x` is 0, 1, 2, 3, and what it prints.
fn state(graph: &Graph, x: &Node) -> Result<(State, Transcript), Box<dyn std::error::Error>> {
    let console = Transcript::default();
    let mut state = State::new(graph).with_flags(Flags::default()).with_console(console.clone());
    state.set_node_value(x, Array::vector([0.0, 1.0, 2.0, 3.0]))?;
    Ok((state, console))
}

#[test]
fn pieces_are_tried_in_order() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let (low, square) = (x.less(1), x.power(2.0));
    let when = |condition: &Node| Condition::Node(condition.clone());
    let without_default = piecewise(&[(&square, when(&low)), (&x, Condition::Literal(false))])?;
    let with_default =
        piecewise(&[(&square, when(&x.greater(2))), (&x, Condition::Literal(true)), (&low, when(&low))])?;
    let only_default = piecewise(&[(&x, Condition::Literal(true))])?;
    assert_eq!(only_default.id(), x.id());
    let none = piecewise(&[] as &[(&Node, Condition)]).expect_err("no pieces");
    assert_eq!(none.to_string(), "piecewise: at least one clause is required");
    let (mut state, _) = state(&graph, &x)?;
    let plan = linearize::forest(&[without_default.clone(), with_default.clone()], &[])?;
    evaluate_dag(&mut state, &ir::compile_nodes(&plan))?;
    assert_eq!(state.get_node_value(&with_default)?, &Array::vector([0.0, 1.0, 2.0, 9.0]));
    let pieces = state.get_node_value(&without_default)?.elements::<f64>().ok_or("floats")?.clone();
    assert_eq!(pieces[[0]], 0.0);
    assert!(pieces.iter().skip(1).all(|value| value.is_nan()), "where no piece holds, there is no number");
    Ok(())
}

/// A companion and the nodes of variants are evaluated because something depends on them, not for their
/// values.
#[test]
fn variants_and_companions_are_dependencies() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let (low, high) = (x.less(2), x.greater_equal(2));
    let companion = (&low & &high).named("overlap").tracepoint();
    let (left, right) = ((&x + 1).named("left"), (&x * 10).named("right"));
    let chosen = exclusive_multi_clause_where(&[(&low, &left), (&high, &right)], &x, &companion);
    let branches: [(&str, &[Node]); 2] = [("left", from_ref(&left)), ("right", from_ref(&right))];
    let variants = graph.variant_selector(&low, &branches, from_ref(&chosen)).tracepoint();
    let (mut state, console) = state(&graph, &x)?;
    let trees = forest::partition(&[chosen.clone(), variants.clone()])?;
    evaluate_dag(&mut state, &ir::compile_trees(trees))?;
    assert_eq!(state.get_node_value(&chosen)?, &Array::vector([1.0, 2.0, 20.0, 30.0]));
    assert_eq!(state.get_node_value(&companion)?, &Array::vector([false; 4]));
    assert_eq!(state.get_node_value(&variants)?, &Array::vector::<f64>([]));
    let trace = console.text();
    assert!(trace.contains("n6 = np.logical_and(n3, n5)\n# shape: (4,)\n# dtype: bool\n# value:\n# [False False False False]\n"), "{trace}");
    assert!(trace.contains("= np.asarray([])\n# shape: (0,)\n# dtype: float64\n# value:\n# []\n"), "{trace}");
    Ok(())
}

#[test]
fn series_meet_values_and_functions() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let tariff = graph.timeseries_constant(Array::vector([1_i64, 2, 3, 4])).named("tariff");
    let demand = graph.timeseries_placeholder("demand").tracepoint();
    let cost = graph.function_call("total cost", &[&(&tariff * &demand), &x]);
    let (mut state, console) = state(&graph, &x)?;
    let sum = |arguments: &cembra::backend::Arguments<'_>| {
        let [cost, x] = arguments.exactly()?;
        let sum = cembra::dag::kind::BinaryOp::Add;
        Ok(cembra::backend::elementwise::binary(sum, cost, x)?)
    };
    state.set_function("total cost", Function::new(sum).with_shape_of_arguments());
    state.set_node_value(&demand, Array::vector([0.5_f32; 4]))?;
    let trees = forest::partition(from_ref(&cost))?;
    let function = trees.iter().map(|tree| function_text(tree, Spelling::Cembra)).collect::<Vec<_>>();
    let expected = "\
def t5(n1: np.ndarray, n2: np.ndarray, n3: np.ndarray) -> np.ndarray:
    n4 = np.multiply(n2, n3)
    n5 = functions['total cost'](n4, n1)
    return n5";
    assert_eq!(function, [expected]);
    evaluate_dag(&mut state, &ir::compile_trees(trees))?;
    assert_eq!(state.get_node_value(&cost)?, &Array::vector([0.5, 2.0, 3.5, 5.0]));
    let line = "n3 = np.asarray([0.5, 0.5, 0.5, 0.5], dtype='float32')\n";
    assert!(console.text().contains(line), "{}", console.text());
    Ok(())
}

/// The table of the command line: a row a node, a row a tree, and the sum.
#[test]
fn a_profile_is_printed() {
    let program = crate::support::test_file("cases/graph/running.json");
    let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["graph", "run", "--mode", "dag-trees", "--profile"])
        .arg(&program)
        .output()
        .expect("the command runs");
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    let table: Vec<&str> = text.lines().skip(4).collect();
    // Four leaves are evaluated, seven nodes in three trees.
    assert_eq!(table.len(), 4 + 7 + 3 + 1, "{text}");
    assert!(table[4].starts_with("t7 "), "{text}");
    assert!(table[5].starts_with("  n4 exp "), "{text}");
    assert!(
        table.last().is_some_and(|total| total.starts_with("total") && total.contains("100.0%")),
        "{text}"
    );
    let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["graph", "run", "--profile", "--json"])
        .arg(&program)
        .output()
        .expect("the command runs");
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let nodes = json["profile"].as_array().expect("a list of nodes");
    assert_eq!(nodes.len(), 11);
    assert!(nodes.iter().all(|node| node["bytes"] == 8 && node["seconds"].is_f64()), "{json}");
}

/// The environment sets the flags of every state that does not set its own.
#[test]
fn the_environment_sets_flags() {
    let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["graph", "run"])
        .arg(crate::support::test_file("cases/graph/running.json"))
        .env("CEMBRA_FLAGS", "Dump, break")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the command runs");
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    assert_eq!(text.matches("# executor: press any key to continue...\n").count(), 11, "{text}");
    assert_eq!(text.matches("n4 = graph.exp(node=n1, name='')\n").count(), 1, "{text}");
    assert!(text.ends_with("n7 'c': float64 () 68.34815003314424\n"), "{text}");
}

/// A node of each kind, evaluated and measured step by step; then on the machine, values of all nodes.
#[test]
fn every_kind_has_a_name_in_the_profile() -> Outcome {
    let graph = Graph::new();
    let (x, series) = (graph.placeholder("x"), graph.timeseries_placeholder("series"));
    let steps = graph.timeseries_constant(Array::vector([1.0, 2.0, 3.0, 4.0]));
    let (low, high) = (x.less(2), x.greater_equal(2));
    let companion = &low & &high;
    let branches: [(&str, &[Node]); 1] = [("all", from_ref(&x))];
    let roots = [
        cembra::dag::where_(&low, &x, &steps),
        cembra::dag::multi_clause_where(&[(&low, &x)], &series),
        exclusive_multi_clause_where(&[(&low, &x), (&high, &steps)], &x, &companion),
        graph.variant_selector(&low, &branches, from_ref(&x)),
        x.expand_dims(0).squeeze(0),
        x.reduce_quantile(0, 0.25),
        x.reduce_sum(0),
        graph.function_call("total", &[&x, &series]),
    ];
    let (mut state, _) = state(&graph, &x)?;
    state.set_node_value(&series, Array::vector([5.0; 4]))?;
    let total = Function::of_two(|x: ndarray::ArrayViewD<'_, f64>, y: ndarray::ArrayViewD<'_, f64>| &x + &y);
    assert!(format!("{total:?}").starts_with("Function {"), "{total:?}");
    state.set_function("total", total);
    let mut state = state.with_profile();
    let dag = ir::compile_nodes(&linearize::forest(&roots, &[])?);
    evaluate_dag(&mut state, &dag)?;
    let rows = state.profile().ok_or("a profile")?.nodes.clone();
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|node| &*node.operation).collect();
    let expected = [
        "constant",
        "exclusive_multi_clause_where",
        "expand_dims",
        "greater_equal",
        "less",
        "logical_and",
        "multi_clause_where",
        "quantile",
        "squeeze",
        "sum",
        "timeseries_constant",
        "total()",
        "variant_selector",
        "where",
    ];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(state.get_node_value(&roots[7])?, &Array::vector([5.0, 6.0, 7.0, 8.0]));
    assert_eq!(state.get_node_value(&roots[5])?, &Array::from(0.75));
    Ok(())
}
