//! Graphs of array operations on the machine, each with a plan that is used again.
//!
//! The workloads are those of `workloads/graphs.rs`; `step` is the step backend on the same graph.
//! `benches/peers/graphs.py` has the published engine and numpy.
//!
//! The group `orders` sorts and cuts graphs; its times should grow as the numbers of nodes and roots do.
//!
//! | workload | what it is |
//! | --- | --- |
//! | `linearize N`, `partition N` | a graph of N nodes, each reading two of the sixteen before it, with one root |
//! | `wide N roots` | N roots `exp(x) * 2 + n`, three nodes each |
//! | `reversed N roots` | a chain whose nodes are all roots, the last one given first |

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

#[path = "workloads/graphs.rs"]
mod workloads;

use cembra::backend::{Plan, evaluate_dag};
use cembra::dag::{Graph, Node, forest, linearize};
use criterion::{Criterion, criterion_group, criterion_main};
use workloads::Workload;

fn graphs(c: &mut Criterion) {
    let mut group = c.benchmark_group("graphs");
    for workload in Workload::all() {
        workload.check();
        let values = workload.values();
        let mut plan = Plan::new(&workload.dag);
        group.bench_function(workload.name, |b| {
            b.iter(|| drop(plan.call(&values).expect("it evaluates")));
        });
        let mut plan = Plan::new(&workload.dag);
        group.bench_function(format!("{} state", workload.name), |b| {
            b.iter(|| plan.evaluate(&mut workload.state()).expect("it evaluates"));
        });
        group.bench_function(format!("{} step", workload.name), |b| {
            b.iter(|| evaluate_dag(&mut workload.state(), &workload.dag).expect("it evaluates"));
        });
        assert!(plan.compilations() <= 1, "a plan is used again");
    }
    group.finish();
}

/// The last of so many nodes, each of which reads two of the sixteen before it.
fn tangled(nodes: usize) -> Node {
    let graph = Graph::new();
    let mut all = vec![graph.placeholder("x")];
    for number in 0..nodes {
        let back = |steps: usize| &all[all.len().saturating_sub(1 + steps % 16)];
        all.push(back(0) + back(number * 7));
    }
    all.pop().expect("there is x")
}

fn wide(roots: usize) -> Vec<Node> {
    let graph = Graph::new();
    let x = graph.placeholder("x");
    (0..roots).map(|number| x.exp() * 2.0 + number as i64).collect()
}

fn reversed(roots: usize) -> Vec<Node> {
    let graph = Graph::new();
    let mut all = vec![-graph.placeholder("x")];
    for _ in 1..roots {
        all.push(-all.last().expect("it begins with a node"));
    }
    all.reverse();
    all
}

fn orders(c: &mut Criterion) {
    let mut group = c.benchmark_group("orders");
    group.sample_size(10);
    for nodes in [1_000, 10_000, 100_000, 1_000_000] {
        let root = [tangled(nodes)];
        let count = linearize::forest(&root, &[]).expect("no cycles").nodes.len();
        assert_eq!(count, nodes + 1);
        group.bench_function(format!("linearize {nodes}"), |b| b.iter(|| linearize::forest(&root, &[])));
        group.bench_function(format!("partition {nodes}"), |b| b.iter(|| forest::partition(&root)));
    }
    for roots in [100, 1_000, 10_000, 100_000] {
        for (name, nodes) in [("wide", wide(roots)), ("reversed", reversed(roots))] {
            assert_eq!(forest::partition(&nodes).expect("no cycles").len(), roots);
            group.bench_function(format!("{name} {roots} roots"), |b| b.iter(|| forest::partition(&nodes)));
        }
    }
    group.finish();
}

criterion_group!(benches, graphs, orders);
criterion_main!(benches);
