//! Evaluating graphs: one semantics for all orders, errors that name places, user functions, traces.

use cembra::backend::{
    Arguments, EvalError, Flags, Function, State, Transcript, UserFunctionError, evaluate_dag, evaluate_nodes,
};
use cembra::dag::{Array, DType, Dag, Graph, Node, forest, ir, linearize, multi_clause_where};
use ndarray::{ArrayD, ArrayViewD};
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A quiet state.
fn state(graph: &Graph) -> State {
    State::new(graph).with_flags(Flags::default())
}

fn nodes(roots: &[Node]) -> Dag {
    ir::compile_nodes(&linearize::forest(roots, &[]).expect("no cycles"))
}

fn trees(roots: &[Node]) -> Dag {
    ir::compile_trees(forest::partition(roots).expect("no cycles"))
}

/// The error of evaluating one root with the given values.
fn error(root: &Node, values: &[(&Node, Array)]) -> String {
    let mut state = state(root.graph());
    for (node, value) in values {
        state.set_node_value(node, value.clone()).expect("a node of the graph");
    }
    evaluate_dag(&mut state, &nodes(from_ref(root))).expect_err("it fails").to_string()
}

#[test]
fn errors_name_the_node_and_the_numbers() {
    let graph = Graph::new();
    let (x, y) = (graph.placeholder("x"), graph.placeholder("y"));
    let vector = |n: i64| Array::vector((0..n).collect::<Vec<_>>());
    let matrix = |shape: &[usize]| Array::new(vec![1.5; shape.iter().product()], shape).expect("as many");
    let truth = Array::vector([true, false]);
    let texts = Array::texts(&["a", "b"]);
    let sum = (&x + &y).named("total");
    let cases = [
        (
            &sum,
            vector(3),
            vector(2),
            "node n3 'total': shapes (3,) and (2,) do not broadcast: axis -1 has sizes 3 and 2",
        ),
        (
            &sum,
            matrix(&[2, 3]),
            matrix(&[3, 1]),
            "node n3 'total': shapes (2, 3) and (3, 1) do not broadcast: axis -2 has sizes 2 and 3",
        ),
        (&sum, texts.clone(), vector(2), "node n3 'total': add is not defined for <U1 and int64"),
        (&(&x - &y), truth.clone(), truth.clone(), "node n4: subtract is not defined for bool and bool"),
        (&-&x, truth.clone(), truth.clone(), "node n5: negative is not defined for bool"),
        (
            &x.power(&y),
            vector(2),
            Array::vector([-1_i32, 1]),
            "node n6: integers to negative integer powers are not allowed",
        ),
        (&x.less(&y), texts.clone(), truth.clone(), "node n7: less is not defined for <U1 and bool"),
        (&x.exp(), texts.clone(), truth.clone(), "node n8: exp is not defined for <U1"),
        (&x.log(), texts.clone(), truth.clone(), "node n9: log is not defined for <U1"),
        (
            &multi_clause_where(&[(&x, &y)], &y),
            vector(2),
            vector(2),
            "node n10: condition 0 is int64, and must be bool",
        ),
        (
            &multi_clause_where(&[] as &[(&Node, &Node)], &y),
            vector(2),
            vector(2),
            "node n11: there are no clauses to choose from",
        ),
        (
            &x.project_using_sum(2),
            vector(2),
            vector(2),
            "node n12: axis 2 is out of bounds for an array of 1 axes",
        ),
        (&x.reduce_sum([0, -1]), vector(2), vector(2), "node n13: axis 0 is given twice"),
        (
            &x.squeeze(0),
            vector(2),
            vector(2),
            "node n14: axis 0 has size 2; only axes of size 1 can be squeezed",
        ),
        (&x.reduce_min(0), vector(0), vector(2), "node n15: min of no elements"),
        (&x.reduce_mean(0), texts.clone(), vector(2), "node n16: mean is not defined for <U1"),
        (
            &x.reduce_quantile(0, 1.5),
            vector(2),
            vector(2),
            "node n17: a quantile lies between 0 and 1, not at 1.5",
        ),
    ];
    for (root, left, right, expected) in cases {
        assert_eq!(error(root, &[(&x, left), (&y, right)]), expected);
    }
    let deep = (0..64).fold(x.clone(), |node, _| node.expand_dims(0));
    let last = format!(
        "node {}: limit array-axes: the result would have 65 axes, at most 64 are allowed",
        deep.id()
    );
    assert_eq!(error(&deep, &[(&x, vector(2))]), last);
    let huge = Array::vector(vec![0.0; 50_000]);
    let product = x.expand_dims(0) * y.expand_dims(1);
    let limit = "limit array-elements: shape (50000, 50000) has more than 2147483648 elements";
    assert_eq!(error(&product, &[(&x, huge.clone()), (&y, huge)]), format!("node {}: {limit}", product.id()));
    assert_eq!(
        error(&sum, &[(&x, vector(2))]),
        "no value is given for placeholder n2 'y', and it has no default"
    );
    let series = graph.timeseries_placeholder("demand");
    let missing =
        format!("no value is given for placeholder {} 'demand', and it has no default", series.id());
    assert_eq!(error(&series.exp(), &[]), missing);
}

/// A single value has no axes; numpy lets reductions that are one operation name the first or last of them.
#[test]
fn single_values_are_reduced_to_themselves() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let value = Array::new(vec![2.5], &[]).ok_or("one element")?;
    let reduced = |node: &Node| {
        let mut state = state(&graph);
        state.set_node_value(&x, value.clone())?;
        evaluate_dag(&mut state, &nodes(from_ref(node)))?;
        Ok::<_, Box<dyn std::error::Error>>(state.get_node_value(node)?.clone())
    };
    for node in [x.reduce_sum(0), x.reduce_max(-1), x.project_using_min(0), x.reduce_prod(-1)] {
        assert_eq!(reduced(&node)?, value);
    }
    assert_eq!(reduced(&x.reduce_count_nonzero(0))?, Array::new(vec![1_i64], &[]).ok_or("one")?);
    assert_eq!(reduced(&x.reduce_any(0))?, Array::new(vec![true], &[]).ok_or("one")?);
    for node in [x.reduce_sum(1), x.reduce_sum([0]), x.reduce_mean(0), x.reduce_quantile(0, 0.5)] {
        let error = reduced(&node).expect_err("no such axis").to_string();
        assert!(error.contains("out of bounds for an array of 0 axes"), "{error}");
    }
    Ok(())
}

/// Defaults count, a preset value makes what only it needs unnecessary, and values stay after an error, in
/// whatever order the graph is brought.
#[test]
fn one_semantics_for_all_orders() -> Outcome {
    let graph = Graph::new();
    let given = graph.placeholder_with_default("given", 2.5);
    let missing = graph.placeholder("missing");
    let inner = (&missing * 2).named("inner");
    let fails = &given + &inner;
    let fine = &given * 2;
    let roots = [fails.clone(), fine.clone()];
    for dag in [nodes(&roots), trees(&roots)] {
        let mut without = state(&graph);
        let error = evaluate_dag(&mut without, &dag).expect_err("a value is missing");
        assert!(matches!(error, EvalError::PlaceholderValueNotProvided { .. }), "{error}");
        // The missing value is given, and evaluation goes on.
        without.set_node_value(&missing, Array::from(3_i64))?;
        evaluate_dag(&mut without, &dag)?;
        assert_eq!(without.get_node_value(&fails)?, &Array::from(8.5));

        let mut preset = state(&graph);
        preset.set_node_value(&inner, Array::from(1.5))?;
        assert_eq!(evaluate_dag(&mut preset, &dag)?, Some(Array::from(5.0)));
        assert_eq!(preset.get_node_value(&fails)?, &Array::from(4.0));
        let error = preset.get_node_value(&missing).expect_err("nothing needs it");
        assert_eq!(error.to_string(), "node n2 'missing' has not been evaluated");

        let mut done = state(&graph);
        done.set_node_value(&fails, Array::from(1.0))?;
        done.set_node_value(&fine, Array::from(2.0))?;
        evaluate_dag(&mut done, &dag)?;
        assert_eq!(done.evaluated(), [fails.id(), fine.id()], "nothing is needed");
    }
    let plan = linearize::forest(from_ref(&given), &[])?;
    assert_eq!(evaluate_nodes(&mut state(&graph), &plan)?, Some(Array::from(2.5)), "a root may be a leaf");
    assert_eq!(evaluate_nodes(&mut state(&graph), &linearize::forest(&[], &[])?)?, None);
    let mut elsewhere = state(&Graph::new());
    let error = elsewhere.set_node_value(&given, Array::from(1.0)).expect_err("another graph");
    assert_eq!(error.to_string(), "node n1 belongs to another graph");
    assert_eq!(evaluate_nodes(&mut elsewhere, &plan).expect_err("another graph"), error);
    Ok(())
}

#[test]
fn functions_are_called_once_and_checked() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let y = graph.function_call("f", &[&x]).named("f");
    let (left, right) = (&y + 1, &y * 2);
    let roots = [left.clone(), right.clone()];
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut all = state(&graph);
    all.set_node_value(&x, Array::vector([1.0, 2.0]))?;
    let double = move |x: ArrayViewD<'_, f64>| -> ArrayD<f64> {
        counted.fetch_add(1, Ordering::Relaxed);
        x.mapv(|x| x * 2.0)
    };
    all.set_function("f", Function::of_one(double));
    // Both trees contain the call.
    evaluate_dag(&mut all, &trees(&roots))?;
    evaluate_dag(&mut all, &nodes(&roots))?;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(all.get_node_value(&right)?, &Array::vector([4.0, 8.0]));
    Ok(())
}

#[test]
fn failures_of_functions_name_the_call() {
    let graph = Graph::new();
    let (x, n) = (graph.placeholder("x"), graph.placeholder_with_default("n", 1));
    let call = graph.function_call_with("f", &[&x], &[("n", &n)]);
    let failure = |function: Function| {
        let mut state = state(&graph);
        state.set_node_value(&x, Array::vector([1.0, 2.0])).expect("a node of the graph");
        state.set_function("f", function);
        evaluate_dag(&mut state, &nodes(from_ref(&call))).expect_err("it fails").to_string()
    };
    fn first(arguments: &Arguments<'_>) -> Result<Array, UserFunctionError> {
        Ok(arguments.positional()[0].clone())
    }
    let cases = [
        (Function::new(first).with_dtype(DType::Int64), "the result is float64, int64 was declared"),
        (Function::new(first).with_shape(&[3]), "the result has shape (2,), (3,) was declared"),
        (
            Function::new(|a| Ok(a.get("n")?.clone())).with_shape_of_arguments(),
            "the result has shape (), (2,) was declared",
        ),
        (Function::of_one(|x: ArrayViewD<'_, f64>| x.to_owned()), "there is no keyword argument `n`"),
        (
            Function::new(|a| {
                a.first::<2>()?;
                first(a)
            }),
            "argument 2 is missing",
        ),
        (
            Function::new(|a| {
                a.first::<0>()?;
                first(a)
            }),
            "it takes 0 arguments, 1 are given",
        ),
        (Function::new(|a| Ok(a.get("m")?.clone())), "keyword argument `m` is missing"),
        (
            Function::new(|a| {
                a.view::<i64>(0)?;
                first(a)
            }),
            "argument 1 is float64, the function reads int64",
        ),
        (
            Function::new(|a| {
                a.keyword_view::<f64>("n")?;
                first(a)
            }),
            "argument `n` is int64, the function reads float64",
        ),
        (
            Function::new(|_| Err(UserFunctionError::Failed("no data for 2031".to_owned()))),
            "no data for 2031",
        ),
        (Function::new(|_| panic!("index {}", 7)), "it panicked: index 7"),
    ];
    for (function, expected) in cases {
        assert_eq!(failure(function), format!("function of node n3 'f': {expected}"));
    }
    assert_eq!(
        error(&call, &[(&x, Array::from(1.0))]),
        "node n3 'f' calls a function that the state does not have"
    );
}

#[test]
fn a_trace_is_runnable_and_summarised() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    let y = (&x * 2).named("twice").squeeze(0).breakpoint();
    let console = Transcript::default();
    let flags = Flags { trace: true, dump: true, ..Flags::default() };
    let mut traced = State::new(&graph).with_flags(flags).with_console(console.clone());
    let values = Array::new((0..1200).map(|v| v as f32).collect(), &[1, 1200]).expect("as many");
    traced.set_node_value(&x, values)?;
    evaluate_dag(&mut traced, &nodes(from_ref(&y)))?;
    let expected = "\
# n1 = graph.placeholder(name='x', default_value=None)
n1 = np.asarray([[0.0, 1.0, 2.0, ..., 1197.0, 1198.0, 1199.0]], dtype='float32')
# shape: (1, 1200)
# dtype: float32
# value:
# [[0.000e+00 1.000e+00 2.000e+00 ... 1.197e+03 1.198e+03 1.199e+03]]

# n2 = graph.constant(value=2, name='')
n2 = np.asarray(2)
# shape: ()
# dtype: int64
# value:
# 2

n3 = graph.multiply(left=n1, right=n2, name='twice')
n4 = graph.squeeze(node=n3, axis=0, name='')

# n3 = graph.multiply(left=n1, right=n2, name='twice')
n3 = np.multiply(n1, n2)
# shape: (1, 1200)
# dtype: float64
# value:
# [[0.000e+00 2.000e+00 4.000e+00 ... 2.394e+03 2.396e+03 2.398e+03]]

# n4 = graph.squeeze(node=n3, axis=0, name='')
n4 = np.squeeze(n3, axis=(0,))
# shape: (1200,)
# dtype: float64
# value:
# [0.000e+00 2.000e+00 4.000e+00 ... 2.394e+03 2.396e+03 2.398e+03]

# executor: press any key to continue...
";
    assert_eq!(console.text(), expected);
    // What was traced is not traced again.
    evaluate_dag(&mut traced, &trees(&[y]))?;
    assert_eq!(console.text().matches("np.asarray").count(), 2);

    let console = Transcript::default();
    let full = State::new(&graph).with_flags(Flags::parse(" TRACE=full, jit,unknown"));
    let mut full = full.with_console(console.clone());
    full.set_node_value(&x, Array::new(vec![1_i8; 1001], &[1, 1001]).expect("as many"))?;
    evaluate_dag(&mut full, &nodes(from_ref(&x)))?;
    assert_eq!(console.text().matches("1, ").count(), 1000 + 1);
    assert_eq!(
        Flags::parse("trace,Dump, break"),
        Flags { trace: true, dump: true, breakpoints: true, ..Flags::default() }
    );
    Ok(())
}

#[test]
fn a_profile_has_a_row_for_each_node_and_tree() -> Outcome {
    let graph = Graph::new();
    let x = graph.placeholder_with_default("x", 2.0);
    let (e, f) = (x.exp().named("e"), (&x + 1).named("f"));
    let mut measured = state(&graph).with_profile();
    evaluate_dag(&mut measured, &trees(&[e.clone(), f.clone()]))?;
    let profile = measured.profile().ok_or("the state measures")?;
    let rows: Vec<_> = profile.nodes.iter().map(|n| (n.node, n.tree, &*n.operation, n.bytes)).collect();
    let leaf = |node: u32, operation| (graph.node(node).map(|n| n.id()), None, operation, 8);
    let tree = |node: &Node, operation| (Some(node.id()), Some(node.id()), operation, 8);
    let rows: Vec<_> = rows.into_iter().map(|(id, tree, op, bytes)| (Some(id), tree, op, bytes)).collect();
    assert_eq!(rows, [leaf(1, "placeholder"), leaf(3, "constant"), tree(&e, "exp"), tree(&f, "add")]);
    let table = profile.to_string();
    let labels: Vec<&str> = table.lines().map(|line| line[..24].trim_end()).collect();
    assert_eq!(
        labels,
        ["node", "n1 placeholder 'x'", "n3 constant", "t2", "  n2 exp 'e'", "t4", "  n4 add 'f'", "total"]
    );
    assert!(table.lines().skip(1).all(|line| line.contains('%')), "{table}");
    Ok(())
}
