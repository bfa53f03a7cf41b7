//! Texts of graphs read back, and say what is wrong when they do not.

use cembra::dag::printing::{Spelling, node_text};
use cembra::dag::{
    Array, Condition, DagError, Graph, Node, NodeType, exclusive_multi_clause_where, forest, ir, linearize,
    multi_clause_where, piecewise, where_,
};
use std::slice::from_ref;

/// A graph with a node of every kind, named and given values that need quotes.
fn all_kinds() -> Graph {
    let graph = Graph::new();
    let a = graph.placeholder("it's").named("it's \"a\"\n\u{202e}\\");
    let b = graph.placeholder_with_default("b", -0.0);
    let c = graph.placeholder_with_default("c", f64::NEG_INFINITY);
    let weather = graph.placeholder_with_default("weather", "un'settled\"").named("wörld");
    let bad = weather.equal("bad") | weather.not_equal("good");
    let sum = &a + 1 - &b * 2.5 / &c;
    let power = (-sum.power(2)).maximum(&c).exp().log();
    let series = graph.timeseries_constant(Array::vector([1.5f64, f64::NAN, f64::INFINITY]));
    graph.timeseries_constant(Array::new(vec![1i32, 2, 3, 4], &[2, 2]).expect("four elements")).named("t");
    graph.timeseries_constant(Array::new(Vec::<f32>::new(), &[0, 3]).expect("no elements"));
    graph.timeseries_constant(Array::new(vec![0.1f32], &[1]).expect("one element"));
    graph.timeseries_constant(Array::texts(&["a", "b'c"]));
    let demand = graph.timeseries_placeholder("de'mand");
    let chosen = where_(&!&bad, &power, 1_000_000_000_000_000_i64);
    let clauses = [(&bad, &power), (&chosen, &sum)];
    let many = multi_clause_where(&clauses, &a).named("many");
    let exclusive = exclusive_multi_clause_where(&clauses, &a, &bad);
    multi_clause_where(&[] as &[(&Node, &Node)], &a);
    let pieces = [(&sum, Condition::Node(bad.clone())), (&power, Condition::Literal(true))];
    let piece = piecewise(&pieces).expect("there are pieces");
    graph.variant_selector(&bad, &[("left", &[many, exclusive]), ("it's", &[])], &[piece]);
    let wide = series.expand_dims([0, 1]).squeeze(-2);
    let _ =
        wide.project_using_sum(0).reduce_mean([0, 1]).project_using_quantile(0, 0.95).reduce_quantile(0, 0.5);
    graph.function_call("it's", &[&wide, &demand]);
    graph.function_call_with("f", &[&a], &[("key", &b), ("two words", &c)]);
    graph.function_call_with("g", &[] as &[&Node], &[] as &[(&str, &Node)]);
    (a ^ bad).less(2).less_equal(3).greater(true).greater_equal(1e-5);
    graph
}

fn text(graph: &Graph) -> String {
    let nodes = graph.ids().into_iter().filter_map(|id| graph.data(id));
    nodes.map(|data| node_text(&data, Spelling::Cembra) + "\n").collect()
}

#[test]
fn every_kind_reads_back() -> Result<(), DagError> {
    let printed = text(&all_kinds());
    assert_eq!(text(&Graph::parse(&printed)?), printed);
    // Nothing in a name or a value ends a line or hides what follows.
    assert!(printed.lines().all(|line| line.starts_with('n') && line.ends_with(')')), "{printed}");
    assert!(!printed.contains('\u{202e}'));
    Ok(())
}

#[test]
fn trees_and_intermediate_forms_read_back() -> Result<(), DagError> {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let shared = x.exp().named("shared");
    let (left, right) = (&shared + 1, &shared * 2);
    let roots = [left.clone(), right.clone()];
    let trees = ir::compile_trees(forest::partition(&roots)?).to_string();
    assert_eq!(trees.matches("graph.exp").count(), 2, "both trees need the shared node");
    let again = Graph::parse(&trees)?;
    let roots = [left.id(), right.id()].map(|id| again.node(id.number()).expect("a node of the dump"));
    assert_eq!(ir::compile_trees(forest::partition(&roots)?).to_string(), trees);
    let nodes = ir::compile_nodes(&linearize::forest(&roots, &[])?).to_string();
    assert_eq!(text(&Graph::parse(&nodes)?).lines().count(), 6);
    Ok(())
}

#[test]
fn what_is_no_node_is_named_with_its_line() {
    let cases = [
        ("n1 = graph.placeholder(name='x)", "line 1: a text does not end"),
        ("\nn1 = graph.constant(value=)", "line 2:  is neither a value nor a node"),
        ("n1 = graph.constant(value=1e999)", "line 1: 1e999 is neither a value nor a node"),
        ("n1 = graph.constant(value=None, name='')", "line 1: the value is None"),
        ("n1 = graph.exp(node=n7, name='')", "line 1: there is no node n7"),
        ("n1 = graph.exp(name='')", "line 1: exp needs a field `node`"),
        ("n1 = graph.exp(n2)", "line 1: exp takes no arguments by position"),
        ("n1 = graph.frobnicate(node=n1)", "line 1: unknown operation frobnicate"),
        ("n1 = graph.project_using_mode(node=n1)", "line 1: unknown operation project_using_mode"),
        ("n0 = graph.constant(value=1)", "line 1: limit graph-nodes: id 0 is not between 1 and 4000000"),
        (
            "n4000001 = graph.constant(value=1)",
            "line 1: limit graph-nodes: id 4000001 is not between 1 and 4000000",
        ),
        ("n1 = graph.constant(value=1) 2", "line 1: a node ends here: 2"),
        ("n1 = graph.constant(value=1 2)", "line 1: expected `,` or `)`, found `2`"),
        ("n1 = graph.constant(value='\\q')", "line 1: an escape that is not known"),
        (
            "n1 = graph.timeseries_constant(values=[[1], [2, 3]])",
            "line 1: lists of one axis differ in length",
        ),
        (
            "n1 = graph.timeseries_constant(values=[1], shape=(2,))",
            "line 1: 1 elements do not fill shape (2,)",
        ),
        (
            "n1 = graph.constant(value=1)\nn1 = graph.constant(value=2)",
            "line 2: node n1 is another one above",
        ),
        ("x = 1", "line 1: expected `n`, found `x`"),
    ];
    for (text, expected) in cases {
        assert_eq!(Graph::parse(text).expect_err(text).to_string(), expected, "{text}");
    }
    let deep = format!("n1 = graph.timeseries_constant(values={})", "[".repeat(100_000));
    let error = Graph::parse(&deep).expect_err("too deep").to_string();
    assert_eq!(error, "line 1: limit graph-nesting: more than 70 lists within each other");
}

#[test]
fn roots_that_cannot_be_trees_are_named() {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let two = graph.constant(2);
    let sum = (&x + &two).named("sum");
    let refused = |roots: &[Node]| forest::partition(roots).expect_err("not a forest").to_string();
    assert_eq!(refused(&[sum.clone(), sum.clone()]), "node n3 'sum' is given as a root twice");
    assert_eq!(refused(&[x]), "node n1 'x' is a placeholder, which cannot be the root of a tree");
    assert_eq!(refused(&[two]), "node n2 is a constant, which cannot be the root of a tree");
    let elsewhere = Graph::new().placeholder("y");
    assert_eq!(refused(&[sum, elsewhere]), "node n1 belongs to another graph");
}

#[test]
fn cycles_are_found_across_roots() -> Result<(), DagError> {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let first = (&x + 1).named("first");
    let second = first.exp();
    let third = second.exp();
    graph.set_operand(first.id(), "left", third.id())?;
    for roots in [[&second, &first], [&first, &third]] {
        let roots = roots.map(Node::untyped);
        let error = forest::partition(&roots).expect_err("a cycle");
        assert_eq!(linearize::forest(&roots, &[]).expect_err("a cycle"), error);
        assert!(error.to_string().starts_with("the graph has a cycle through node n"), "{error}");
    }
    // A boundary cuts it.
    let cut = linearize::forest(from_ref(&third), from_ref(&first))?;
    assert_eq!(cut.nodes.iter().map(|n| n.id().number()).collect::<Vec<_>>(), [3, 4, 5]);
    let error = graph.set_operand(x.id(), "left", third.id()).expect_err("placeholders have no operands");
    assert_eq!(error.to_string(), "node n1 has no operand `left`");
    Ok(())
}

#[test]
fn scalars_become_constants_before_the_operation() {
    let graph = Graph::new();
    let a = graph.placeholder("a");
    let quotient = 55 / &a;
    assert_eq!(quotient.id().number(), 3);
    assert_eq!(quotient.to_string(), "n3 = graph.divide(left=n2, right=n1, name='')");
    let flipped = a.greater(5);
    assert_eq!(flipped.to_string(), "n5 = graph.greater(left=n1, right=n4, name='')");
    assert_eq!(flipped.named_if_unnamed("f").named_if_unnamed("g").data().name.as_ref(), "f");
}

#[test]
fn types_exist_at_compile_time_only() {
    struct Time;
    impl NodeType for Time {}
    let graph = Graph::new();
    let hours: Node<Time> = graph.placeholder("hours").typed();
    let later: Node<Time> = 1.5 + graph.placeholder("delay") + &hours;
    let plain: Node = where_(&hours.less(&later), &hours, &later).untyped();
    assert_eq!(size_of::<Node<Time>>(), size_of::<Node>());
    assert_eq!(plain.to_string(), "n7 = graph.where(condition=n6, then=n1, otherwise=n5, name='')");
}
