//! The machine backend beside the step backend.

use cembra::backend::{Flags, Plan, State, evaluate_dag};
use cembra::dag::{Array, Graph, Node, ir, linearize};

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
        assert_eq!(plan.computed_apart().count(), 0);
    };
    let of = |values: &[f64], shape: &[usize]| Array::new(values.to_vec(), shape).expect("as many places");
    check(Array::from(4i64), Array::from(2i64), 1);
    check(Array::from(5i64), Array::from(3i64), 1);
    check(Array::from(4.5), Array::from(2i64), 2);
    check(of(&[0.5, 1.5], &[2]), of(&[3.0], &[1]), 3);
    check(of(&[0.5, 1.5, 2.5], &[3]), of(&[4.0], &[1]), 3);
    check(of(&[0.5, 1.5, 2.5], &[3]), of(&[4.0, 1.0, 2.0], &[3]), 4);
}
