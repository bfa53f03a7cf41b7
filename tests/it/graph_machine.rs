//! The machine backend beside the step backend.

use cembra::backend::{Flags, Function, Plan, State, Transcript, evaluate_dag, evaluate_in_parallel};
use cembra::dag::{Array, Graph, Node, forest, ir, linearize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn dag(roots: &[Node]) -> cembra::dag::Dag {
    ir::compile_nodes(&linearize::forest(roots, &[]).expect("no cycles"))
}

#[test]
fn a_plan_is_used_again() {
    let graph = Graph::new();
    let (a, b) = (graph.placeholder("a"), graph.placeholder("b"));
    let c = a.exp() + 55 / &a;
    let d = &c * &b + 1024;
    let e = a.power(&c) * 144;
    let roots = [c, d, e];
    let dag = dag(&roots);
    let mut plan = Plan::new(&dag);
    let mut check = |a_value: Array, b_value: Array, compilations: usize| {
        let mut states = [0, 1].map(|_| State::new(&graph).with_flags(Flags::default()));
        for state in &mut states {
            state.set_node_value(&a, a_value.clone()).expect("a node of the graph");
            state.set_node_value(&b, b_value.clone()).expect("a node of the graph");
        }
        let [mut step, mut machine] = states;
        evaluate_dag(&mut step, &dag).expect("it evaluates");
        plan.evaluate(&mut machine).expect("it evaluates");
        for root in &roots {
            assert_eq!(machine.get_node_value(root), step.get_node_value(root));
        }
        assert_eq!(plan.compilations(), compilations);
        assert!(plan.stages().all(|stage| stage.apart.is_empty()));
    };
    let of = |values: &[f64], shape: &[usize]| Array::new(values.to_vec(), shape).expect("as many places");
    check(Array::from(4i64), Array::from(2i64), 1);
    check(Array::from(5i64), Array::from(3i64), 1);
    check(Array::from(4.5), Array::from(2i64), 2);
    check(of(&[0.5, 1.5], &[2]), of(&[3.0], &[1]), 3);
    check(of(&[0.5, 1.5, 2.5], &[3]), of(&[4.0], &[1]), 3);
    check(of(&[0.5, 1.5, 2.5], &[3]), of(&[4.0, 1.0, 2.0], &[3]), 4);
}

#[test]
fn programs_around_user_functions() {
    let graph = Graph::new();
    let (x, t) = (graph.placeholder("x"), graph.placeholder("t"));
    let half = graph.function_call("halve", &[&(&x + 1)]);
    let (y, z) = (&half * &x, graph.constant("a").equal(&t));
    let roots = [y.clone(), z];
    let dag = dag(&roots);
    let mut plan = Plan::new(&dag);
    for (values, calls) in [(vec![1.0, 2.0, 3.0], 1), (vec![5.0, 2.0], 2)] {
        let count = Arc::new(AtomicUsize::new(0));
        let mut state = State::new(&graph).with_flags(Flags::default());
        let counter = count.clone();
        state.set_function(
            "halve",
            Function::of_one(move |x: ndarray::ArrayViewD<'_, f64>| {
                counter.fetch_add(1, Ordering::Relaxed);
                x.mapv(|x| x / 2.0)
            }),
        );
        let expected: Vec<f64> = values.iter().map(|x| (x + 1.0) / 2.0 * x).collect();
        state.set_node_value(&x, Array::vector(values)).expect("a node of the graph");
        state.set_node_value(&t, Array::texts(&["b", "a"])).expect("of the graph");
        plan.evaluate(&mut state).expect("it evaluates");
        assert_eq!(state.get_node_value(&y), Ok(&Array::vector(expected)));
        assert_eq!(state.get_node_value(&roots[1]), Ok(&Array::vector([false, true])));
        assert!(state.get_node_value(&half).is_ok(), "it need not be called again");
        plan.evaluate(&mut state).expect("all roots have values");
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert_eq!((plan.stages().count(), plan.compilations()), (2, 2), "{calls}");
    }
}

#[test]
fn preset_nodes_hide_what_only_they_need() {
    let graph = Graph::new();
    let missing = graph.placeholder("missing");
    let inner = missing.exp();
    let y = &inner + 1.5;
    let dag = dag(std::slice::from_ref(&y));
    let mut plan = Plan::new(&dag);
    let mut state = State::new(&graph).with_flags(Flags::default());
    let error = plan.evaluate(&mut state).expect_err("a placeholder without a value");
    assert_eq!(error.to_string(), "no value is given for placeholder n1 'missing', and it has no default");
    state.set_node_value(&inner, Array::from(2.0)).expect("a node of the graph");
    assert_eq!(plan.evaluate(&mut state), Ok(Some(Array::from(3.5))));
    let mut state = State::new(&graph).with_flags(Flags::default());
    state.set_node_value(&missing, Array::from(0.0)).expect("a node of the graph");
    assert_eq!(plan.evaluate(&mut state), Ok(Some(Array::from(2.5))));
    assert!(plan.failure().is_none());
}

#[test]
fn errors_name_nodes_and_keep_values() {
    let graph = Graph::new();
    let (x, y) = (graph.placeholder("x"), graph.placeholder("y"));
    let good = &x * 2;
    let bad = (&good + &y).named("sum");
    let dag = dag(std::slice::from_ref(&bad));
    let mut plan = Plan::new(&dag);
    let mut state = State::new(&graph).with_flags(Flags::default());
    state.set_node_value(&x, Array::vector([1.0, 2.0, 3.0])).expect("a node of the graph");
    state.set_node_value(&y, Array::vector([1.0, 2.0])).expect("a node of the graph");
    let error = plan.evaluate(&mut state).expect_err("shapes that do not broadcast");
    assert_eq!(
        error.to_string(),
        "node n5 'sum': shapes (3,) and (2,) do not broadcast: axis -1 has sizes 3 and 2"
    );
    assert_eq!(state.get_node_value(&good), Ok(&Array::vector([2.0, 4.0, 6.0])));
    assert!(plan.failure().is_some());
}

/// With the flag `jit` everything is as without, traces included.
#[test]
fn the_flag_shows_the_same() {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let (y, z) = (x.exp().tracepoint(), (&x + 1).expand_dims(0));
    let roots = [&y * 3, z.project_using_sum(1), y];
    let shown = |flags: &str| {
        let console = Transcript::default();
        let state = State::new(&graph).with_flags(Flags::parse(flags)).with_console(console.clone());
        let mut state = state.with_profile();
        state.set_node_value(&x, Array::vector([0.5, 1.5])).expect("a node of the graph");
        let trees = forest::partition(&roots).expect("no cycles");
        evaluate_in_parallel(&mut state, &ir::compile_trees(trees), 2).expect("it evaluates");
        let profile = state.profile().expect("the state measures").to_string();
        assert_eq!(profile.contains("program of"), flags.contains("jit"), "{profile}");
        (console.text(), format!("{:?}", state.evaluated()))
    };
    for flags in ["", "trace", "dump,trace=full"] {
        assert_eq!(shown(flags), shown(&format!("{flags},jit")));
    }
    assert!(shown("trace").0.contains("np.exp"));
}

#[test]
fn calls_without_a_state() {
    let graph = Graph::new();
    let (a, b) = (graph.placeholder("a"), graph.placeholder("b"));
    let (sum, flag) = (&a + &b, a.less(&b));
    let dag = dag(&[sum.clone(), flag.clone()]);
    let mut plan = Plan::new(&dag);
    for n in [2.0, 3.0] {
        let (x, y) = (Array::vector([n, 5.0]), Array::from(2.5));
        let results = plan.call(&[(&a, &x), (&b, &y)]).expect("it evaluates");
        assert_eq!(results.value(&sum), Some(Array::vector([n + 2.5, 7.5])));
        assert_eq!(results.view::<f64>(&sum).map(|view| view.sum()), Some(n + 10.0));
        assert_eq!(results.value(&flag), Some(Array::vector([n < 2.5, false])));
    }
    assert_eq!(plan.compilations(), 1);
    // What nobody needs changes nothing, what would be computed is not, and other graphs have no say.
    let (x, y, unneeded) = (Array::vector([1.0, 5.0]), Array::from(2.5), graph.placeholder("unneeded"));
    let results = plan.call(&[(&unneeded, &x), (&a, &x), (&b, &y)]).expect("it evaluates");
    assert_eq!(results.value(&sum), Some(Array::vector([3.5, 7.5])));
    let results = plan.call(&[(&a, &x), (&b, &y), (&sum, &x)]).expect("it evaluates");
    assert_eq!(results.value(&sum), Some(x.clone()));
    let foreign = Graph::new().placeholder("a");
    let error = plan.call(&[(&a, &x), (&b, &y), (&foreign, &y)]).expect_err("a node of another graph");
    assert_eq!(error.to_string(), "node n1 belongs to another graph");
    let error = plan.call(&[(&a, &Array::from(1.0))]).expect_err("b has no value");
    assert!(error.to_string().contains("placeholder n2 'b'"), "{error}");
}

/// Long sums are added in pairs by the machine and in order of rows by numpy and the step backend: the last digits
/// differ, by less than the number of roundings.
#[test]
fn long_sums_agree_nearly() {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let roots = [x.reduce_sum(0), x.reduce_mean(0), x.reduce_std(0), x.reduce_sum(1)];
    let dag = dag(&roots);
    let values: Vec<f64> = (0..4000).map(|i| f64::from(i * 7919 % 1000) / 7.0 - 60.0).collect();
    let [mut step, mut machine] = [0, 1].map(|_| State::new(&graph).with_flags(Flags::default()));
    for state in [&mut step, &mut machine] {
        let array = Array::new(values.clone(), &[1000, 4]).expect("4000 elements");
        state.set_node_value(&x, array).expect("a node of the graph");
    }
    evaluate_dag(&mut step, &dag).expect("it evaluates");
    Plan::new(&dag).evaluate(&mut machine).expect("it evaluates");
    let sum = |state: &State, root: &Node| {
        state.get_node_value(root).ok().and_then(|array| array.elements::<f64>().cloned()).expect("floats")
    };
    for root in &roots[..3] {
        let both = sum(&step, root).into_iter().zip(sum(&machine, root));
        both.for_each(|(a, b)| assert!((a - b).abs() <= 1e-12 * 4e4, "{a} {b}"));
    }
    assert_eq!(sum(&step, &roots[3]), sum(&machine, &roots[3]));
}
