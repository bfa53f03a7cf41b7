//! A model of tourism that uses up a place: four constraints over all pairs of tourists and excursionists.
//!
//! Axes: tourists (T, 1, 1), excursionists (1, E, 1), situations (1, 1, S). A situation has a weather, a
//! season and a day of the week, which are texts, and sampled shares of use, which are numbers. Each
//! constraint is a usage beside a capacity; the model asks in which share of situations the usage exceeds
//! the capacity.

use cembra::backend::{State, evaluate_dag};
use cembra::dag::{Array, Graph, Node, NodeType, forest, ir, multi_clause_where};

/// Nodes that count people.
struct People;
impl NodeType for People {}

/// Nodes that are shares, between 0 and 1.
struct Share;
impl NodeType for Share {}

const TOURISTS: usize = 21;
const EXCURSIONISTS: usize = 11;
const SITUATIONS: usize = 12;

/// The placeholders of the model and its results.
struct Model {
    graph: Graph,
    tourists: Node<People>,
    excursionists: Node<People>,
    weather: Node,
    season: Node,
    weekday: Node,
    capacities: Vec<(Node<People>, f64)>,
    exceeded: Vec<Node>,
}

/// The share of people who use something, by weather: the first clause that holds counts.
fn by_weather(weather: &Node, good: f64, unsettled: f64, bad: f64) -> Node<Share> {
    let graph = weather.graph();
    let (is_good, is_unsettled) = (weather.equal("good"), weather.equal("unsettled"));
    let (good, unsettled) = (graph.constant(good), graph.constant(unsettled));
    let clauses = [(&is_good, &good), (&is_unsettled, &unsettled)];
    multi_clause_where(&clauses, &graph.constant(bad)).named("share by weather").typed()
}

/// More people come on weekends, and more in the high season.
fn crowding(season: &Node, weekday: &Node) -> Node {
    let graph = season.graph();
    let is_weekend = weekday.equal("saturday") | weekday.equal("sunday");
    let is_high = season.equal("high");
    let both = &is_weekend & &is_high;
    let (twice, more) = (graph.constant(1.5), graph.constant(1.2));
    let clauses = [(&both, &twice), (&is_weekend, &more), (&is_high, &more)];
    multi_clause_where(&clauses, &graph.constant(1.0)).named("crowding")
}

fn model() -> Model {
    let graph = Graph::new();
    let tourists: Node<People> = graph.placeholder("tourists").typed();
    let excursionists: Node<People> = graph.placeholder("excursionists").typed();
    let weather = graph.placeholder("weather");
    let season = graph.placeholder("season");
    let weekday = graph.placeholder("weekday");
    let crowd = crowding(&season, &weekday);
    // `Share` and `People` are types of their own: adding one to the other would not compile.
    let usage = |name: &str, people: &Node<People>, share: &Node<Share>, each: f64| {
        (people * share.untyped() * &crowd / each).named(name)
    };
    let (outdoors, indoors) = (by_weather(&weather, 0.9, 0.6, 0.2), by_weather(&weather, 0.3, 0.6, 0.9));
    let everyone = (&tourists + &excursionists).named("everyone");
    let constraints = [
        ("parking", usage("cars", &excursionists, &outdoors, 2.5), 350.0),
        ("beach", usage("on the beach", &everyone, &outdoors, 1.0), 3_000.0),
        ("accommodation", usage("beds", &tourists, &indoors, 1.0), 1_800.0),
        ("food", usage("seats", &everyone, &indoors, 3.0), 900.0),
    ];
    let (mut capacities, mut exceeded) = (Vec::new(), Vec::new());
    for (name, usage, size) in constraints {
        let capacity: Node<People> = graph.placeholder(name).typed();
        exceeded.push(usage.greater(&capacity).project_using_mean(2).untyped().named(name));
        capacities.push((capacity, size));
    }
    Model { graph, tourists, excursionists, weather, season, weekday, capacities, exceeded }
}

/// `count` of these, again and again, along the axis of situations.
fn situations(texts: &[&str]) -> Array {
    let all: Vec<&str> = texts.iter().copied().cycle().take(SITUATIONS).collect();
    let made = cembra::dag::TextArray::new(&all, &[1, 1, SITUATIONS], 0);
    Array::Text(made.expect("there is a text for each situation"))
}

fn people(count: usize, shape: &[usize]) -> Array {
    let numbers = (0..count).map(|n| 250.0 * n as f64).collect();
    Array::new::<f64>(numbers, shape).expect("the shape has as many places")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = model();
    let dag = ir::compile_trees(forest::partition(&model.exceeded)?);
    println!("{dag}");

    let mut state = State::new(&model.graph).with_profile();
    state.set_node_value(&model.tourists, people(TOURISTS, &[TOURISTS, 1, 1]))?;
    state.set_node_value(&model.excursionists, people(EXCURSIONISTS, &[1, EXCURSIONISTS, 1]))?;
    state.set_node_value(&model.weather, situations(&["good", "unsettled", "bad"]))?;
    state.set_node_value(&model.season, situations(&["high", "low"]))?;
    state.set_node_value(&model.weekday, situations(&["monday", "saturday", "sunday", "tuesday"]))?;
    for (capacity, size) in &model.capacities {
        state.set_node_value(capacity, Array::from(*size))?;
    }
    evaluate_dag(&mut state, &dag)?;

    for constraint in &model.exceeded {
        let exceeded = state.get_node_value(constraint)?;
        let shares = exceeded.elements::<f64>().expect("a mean is float64");
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        // Nobody is there at first, and everybody is too many at last. A constraint that does not depend on
        // tourists, or on excursionists, has size 1 on that axis.
        let (first, last) = (shares.first(), shares.iter().last());
        assert_eq!(first, Some(&0.0));
        let worst = last.copied().ok_or("there are people")?;
        assert!(worst > 0.0);
        println!("{}: exceeded in {:.0}% of situations when all come", constraint.data().name, 100.0 * worst);
    }
    println!("{}", state.profile().expect("the state measures"));
    Ok(())
}
