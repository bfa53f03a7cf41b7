//! Every operator on every pair of types: step by step, and on the machine.

use crate::support::bits_of;
use cembra::backend::{Flags, Plan, State, evaluate_dag};
use cembra::dag::{Array, Graph, Node, ir, linearize};
use half::f16;

/// Values of each type, as a line of three and as a column of two: zeros, negatives, the ends of the types.
fn samples() -> Vec<[Array; 2]> {
    fn pair<T: cembra::dag::Element>(values: [T; 5]) -> [Array; 2] {
        let [a, b, c, d, e] = values;
        let column = Array::new(vec![d, e], &[2, 1]).expect("two elements");
        [Array::vector([a, b, c]), column]
    }
    let text = |texts: &[&str]| Array::texts(texts);
    vec![
        pair([true, false, true, false, true]),
        pair([0i8, -3, 127, 2, -128]),
        pair([0i32, -3, i32::MAX, 2, i32::MIN]),
        pair([0i64, -3, i64::MAX, 2, i64::MIN]),
        pair([0.0, -1.5, 65504.0, 2.0, f32::NAN].map(f16::from_f32)),
        pair([0.0f32, -1.5, f32::MAX, 2.0, f32::NAN]),
        pair([-0.0f64, -1.5, f64::INFINITY, 2.0, f64::NAN]),
        [text(&["a", "", "b"]), text(&["b", "a", "ab"])],
    ]
}

/// The value of a root, or what is wrong with it.
type Outcome = Result<String, String>;

fn evaluate(graph: &Graph, inputs: &[(&Node, &Array)], root: &Node) -> [Outcome; 2] {
    let dag = ir::compile_nodes(&linearize::forest(std::slice::from_ref(root), &[]).expect("no cycles"));
    let state = || {
        let mut state = State::new(graph).with_flags(Flags::default());
        for (node, value) in inputs {
            state.set_node_value(node, (*value).clone()).expect("a node of the graph");
        }
        state
    };
    let (mut step, mut machine) = (state(), state());
    let found = [
        evaluate_dag(&mut step, &dag).map(|_| ()).map_err(|e| e.to_string()),
        Plan::new(&dag).evaluate(&mut machine).map(|_| ()).map_err(|e| e.to_string()),
    ];
    let [of_step, of_machine] = found;
    let value = |state: &State| bits_of(state.get_node_value(root).expect("it was evaluated"));
    [of_step.map(|()| value(&step)), of_machine.map(|()| value(&machine))]
}

#[test]
fn operators_of_two_operands() {
    let samples = samples();
    let (mut values, mut errors) = (0, 0);
    for (left, right) in samples.iter().flat_map(|l| samples.iter().map(move |r| (&l[0], &r[1]))) {
        let graph = Graph::new();
        let (x, y) = (graph.placeholder("x"), graph.placeholder("y"));
        let roots = [
            &x + &y,
            &x - &y,
            &x * &y,
            &x / &y,
            x.power(&y),
            x.maximum(&y),
            &x & &y,
            &x | &y,
            &x ^ &y,
            x.equal(&y),
            x.not_equal(&y),
            x.less(&y),
            x.less_equal(&y),
            x.greater(&y),
            x.greater_equal(&y),
            cembra::dag::where_(&x.equal(&x), &x, &y),
        ];
        for root in &roots {
            let [step, machine] = evaluate(&graph, &[(&x, left), (&y, right)], root);
            assert_eq!(step, machine, "{root} of {} and {}", left.dtype(), right.dtype());
            *(if step.is_ok() { &mut values } else { &mut errors }) += 1;
        }
    }
    assert_eq!(values + errors, 8 * 8 * 16);
    assert!(values > 600 && errors > 100, "{values} values, {errors} errors");
}

#[test]
fn operators_of_one_operand_and_reductions() {
    let (mut values, mut errors) = (0, 0);
    for [line, column] in samples() {
        for array in [&line, &column] {
            let graph = Graph::new();
            let x = graph.placeholder("x");
            let roots = [
                -&x,
                !&x,
                x.exp(),
                x.log(),
                x.expand_dims(0),
                x.squeeze(-1),
                x.reduce_sum(0),
                x.reduce_mean(0),
                x.reduce_min(0),
                x.reduce_max(-1),
                x.reduce_std(0),
                x.reduce_var(0),
                x.reduce_median(0),
                x.reduce_prod(0),
                x.reduce_any(0),
                x.reduce_all(0),
                x.reduce_count_nonzero(0),
                x.reduce_quantile(0, 0.3),
                x.project_using_sum(0),
            ];
            for root in &roots {
                let [step, machine] = evaluate(&graph, &[(&x, array)], root);
                assert_eq!(step, machine, "{root} of {}", array.dtype());
                *(if step.is_ok() { &mut values } else { &mut errors }) += 1;
            }
        }
    }
    assert_eq!(values + errors, 8 * 2 * 19);
    assert!(values > 200 && errors > 30, "{values} values, {errors} errors");
}
