//! Workloads on graphs: arrays in, arrays out.
//!
//! | workload | what it is |
//! | --- | --- |
//! | `chain20`, `chain120` | so many nodes in a chain over arrays of 20 elements: the difference of their times over 100 is the cost of a node |
//! | `running` | the example a … e of the published engine, on single values |
//! | `overtourism` | four constraints over 101 tourists × 101 excursionists × 84 situations |
//! | `arith6` | `(a*b+2)/(a+1) - b*0.5` over 10⁶ elements |

use cembra::backend::{Flags, Plan, State, evaluate_dag};
use cembra::dag::{Array, Dag, Graph, Node, TextArray, ir, linearize, multi_clause_where};

/// A graph with values for its placeholders.
pub struct Workload {
    pub name: &'static str,
    pub graph: Graph,
    pub dag: Dag,
    pub inputs: Vec<(Node, Array)>,
}

impl Workload {
    /// All of them.
    pub fn all() -> [Workload; 5] {
        [chain("chain20", 20), chain("chain120", 120), running(), overtourism(), arith6()]
    }

    /// Its placeholders with their values.
    pub fn values(&self) -> Vec<(&Node, &Array)> {
        self.inputs.iter().map(|(node, value)| (node, value)).collect()
    }

    fn new(name: &'static str, graph: Graph, roots: &[Node], inputs: Vec<(Node, Array)>) -> Workload {
        let dag = ir::compile_nodes(&linearize::forest(roots, &[]).expect("no cycles"));
        Workload { name, graph, dag, inputs }
    }

    pub fn state(&self) -> State {
        let mut state = State::new(&self.graph).with_flags(Flags::default());
        for (node, value) in &self.inputs {
            state.set_node_value(node, value.clone()).expect("a node of the graph");
        }
        state
    }

    /// Both backends must agree before anything is timed.
    pub fn check(&self) {
        let (mut step, mut machine) = (self.state(), self.state());
        evaluate_dag(&mut step, &self.dag).expect("it evaluates");
        Plan::new(&self.dag).evaluate(&mut machine).expect("it evaluates");
        for root in &self.dag.roots {
            assert_eq!(step.get_node_value(root), machine.get_node_value(root), "{}", self.name);
        }
    }
}

fn array(count: usize, shape: &[usize], value: impl Fn(usize) -> f64) -> Array {
    Array::new((0..count).map(value).collect::<Vec<f64>>(), shape).expect("as many elements as places")
}

fn chain(name: &'static str, nodes: usize) -> Workload {
    let graph = Graph::new();
    let (x, y) = (graph.placeholder("x"), graph.placeholder("y"));
    let mut top = x.clone();
    for node in 0..nodes {
        top = if node % 2 == 0 { &top * &y } else { &top + &x };
    }
    let inputs = vec![(x, array(20, &[20], |i| i as f64)), (y, array(20, &[20], |i| 1.0 / (i + 2) as f64))];
    Workload::new(name, graph, &[top], inputs)
}

fn running() -> Workload {
    let graph = Graph::new();
    let (a, b) = (graph.placeholder("a"), graph.placeholder("b"));
    let c = a.exp() + 55 / &a;
    let d = &c * &b + 1024;
    let e = a.power(&c) * 144;
    let inputs = vec![(a, Array::from(4i64)), (b, Array::from(2i64))];
    Workload::new("running", graph, &[e, d, c], inputs)
}

fn arith6() -> Workload {
    let graph = Graph::new();
    let (a, b) = (graph.placeholder("a"), graph.placeholder("b"));
    let root = (&a * &b + 2.0) / (&a + 1.0) - &b * 0.5;
    const COUNT: usize = 1_000_000;
    let inputs = vec![
        (a, array(COUNT, &[COUNT], |i| i as f64 / 1e6)),
        (b, array(COUNT, &[COUNT], |i| 1.0 - i as f64 / 3e6)),
    ];
    Workload::new("arith6", graph, &[root], inputs)
}

/// As in the model of a mountain village: constraints of tourists and excursionists, whose shares of use depend on
/// weather and season.
fn overtourism() -> Workload {
    const T: usize = 101;
    const E: usize = 101;
    const S: usize = 84;
    let graph = Graph::new();
    let (tourists, excursionists) = (graph.placeholder("tourists"), graph.placeholder("excursionists"));
    let (weather, season) = (graph.placeholder("weather"), graph.placeholder("season"));
    let texts = |words: &[&str]| {
        let all: Vec<&str> = words.iter().copied().cycle().take(S).collect();
        Array::Text(TextArray::new(&all, &[1, 1, S], 0).expect("a text for each situation"))
    };
    let mut inputs = vec![
        (tourists.clone(), array(T, &[T, 1, 1], |i| 50.0 * i as f64)),
        (excursionists.clone(), array(E, &[1, E, 1], |i| 40.0 * i as f64)),
        (weather.clone(), texts(&["good", "unsettled", "bad"])),
        (season.clone(), texts(&["high", "low"])),
    ];
    let mut roots = Vec::new();
    for (number, (each, share)) in [(2.5, 0.9), (1.0, 0.6), (1.05, 0.3), (3.0, 0.8)].into_iter().enumerate() {
        let index = graph.placeholder(&format!("index {number}"));
        inputs.push((index.clone(), array(S, &[1, 1, S], |i| 0.5 + i as f64 / S as f64)));
        let (is_good, is_high) = (weather.equal("good"), season.equal("high"));
        let of_tourists =
            multi_clause_where(&[(&is_good, &graph.constant(share))], &graph.constant(share / 2.0));
        let of_others = multi_clause_where(&[(&is_high, &graph.constant(0.7))], &graph.constant(share));
        let usage = &tourists * of_tourists * &index + &excursionists * of_others * &index;
        roots.push(usage / each);
    }
    Workload::new("overtourism", graph, &roots, inputs)
}
