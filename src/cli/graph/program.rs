//! Programs: graphs with values for them, as JSON.
//!
//! ```json
//! {"nodes": [{"id": 1, "op": "placeholder", "name": "a"},
//!            {"id": 2, "op": "constant", "value": {"t": "float", "v": 0.5}},
//!            {"id": 3, "op": "multiply", "left": 1, "right": 2, "name": "half"}],
//!  "roots": [3],
//!  "state": [{"node": 1, "dtype": "int64", "shape": [2], "data": [3, 5]}],
//!  "functions": {}}
//! ```
//!
//! Optional: `boundary` (ids), `mutations` (`{node, attr, to}`), `flags` (`trace`, `dump`, `break`),
//! `node_flags` (ids to `tracepoint` or `breakpoint`), `modes`, `no_eval`, `skip_partition`. Keys that are
//! not known are ignored. A file may also hold a recorded case, `{"engine", "program"}`: its engine says how
//! nodes are written and what reductions do with axes.

use crate::backend::{EvalError, Flags, State};
use crate::cli::graph::functions;
use crate::dag::kind::Dims;
use crate::dag::printing::Spelling;
use crate::dag::record::{Literal, Record, add_all, array};
use crate::dag::{Array, DType, Graph, Node, NodeId, Scalar};
use serde_json::Value as Json;
use std::collections::HashSet;

/// A graph with values for it.
pub struct Program {
    /// The graph.
    pub graph: Graph,
    /// Wanted nodes.
    pub roots: Vec<Node>,
    /// Nodes whose operands linear sorting does not look at.
    pub boundary: Vec<Node>,
    /// Values of nodes, in the order given.
    pub state: Vec<(Node, Array)>,
    /// Names the graph calls, each with the [name of the function](functions) it means.
    pub functions: Vec<(String, String)>,
    /// What an evaluation shows.
    pub flags: Flags,
    /// Ways of evaluating, if not all.
    pub modes: Option<Vec<String>>,
    /// False for programs that are only printed.
    pub evaluates: bool,
    /// False for programs that are not cut into trees.
    pub partitions: bool,
    /// The engine that was recorded.
    pub engine: Engine,
}

/// Engines that programs were recorded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// None: a program of ours.
    Cembra,
    /// Commit 2caeb35, which the design document describes.
    Document,
    /// Commit e09c0a6, with a compiler for trees.
    Compiler,
    /// Release 0.8.1, without trees and intermediate forms.
    Release,
}

impl Engine {
    fn from_name(name: Option<&str>) -> Result<Engine, String> {
        match name {
            None => Ok(Engine::Cembra),
            Some("2caeb35") => Ok(Engine::Document),
            Some("e09c0a6") => Ok(Engine::Compiler),
            Some("0.8.1") => Ok(Engine::Release),
            Some(other) => Err(format!("there is no engine {other}")),
        }
    }

    /// How it writes.
    pub fn spelling(self) -> Spelling {
        match self {
            Engine::Cembra => Spelling::Cembra,
            Engine::Document => Spelling::Document,
            Engine::Compiler | Engine::Release => Spelling::Release,
        }
    }

    /// What `project_using_…` does with the axes it reduces.
    fn projection(self) -> Dims {
        match self {
            Engine::Cembra | Engine::Compiler | Engine::Release => Dims::Keep,
            Engine::Document => Dims::Drop,
        }
    }
}

impl Program {
    /// A state with the values, functions and flags of the program.
    ///
    /// # Errors
    /// A value is for a node of another graph.
    pub fn new_state(&self) -> Result<State, EvalError> {
        let mut state = State::new(&self.graph).with_flags(self.flags);
        for (name, function) in &self.functions {
            if let Some(function) = functions::named(function) {
                state.set_function(name, function);
            }
        }
        for (node, value) in &self.state {
            state.set_node_value(node, value.clone())?;
        }
        Ok(state)
    }
}

/// Reads a program, or a recorded case with its program.
///
/// # Errors
/// What is wrong with it.
pub fn read(json: &Json) -> Result<Program, String> {
    let engine = Engine::from_name(json.get("engine").and_then(Json::as_str))?;
    let json = json.get("program").unwrap_or(json);
    if json.get("nodes").is_none() {
        return Err("it has no list `nodes`".to_owned());
    }
    let graph = Graph::new();
    let records = list(json, "nodes")?.iter().map(record).collect::<Result<Vec<_>, _>>()?;
    add_all(&graph, &records, engine.projection())
        .map_err(|(index, what)| format!("node {}: {what}", records[index].id))?;
    mutate(&graph, json)?;
    set_node_flags(&graph, json)?;
    let program = Program {
        roots: nodes(&graph, json, "roots")?,
        boundary: nodes(&graph, json, "boundary")?,
        state: state(&graph, json)?,
        functions: read_functions(json)?,
        flags: Flags::parse(&texts(json, "flags")?.join(",")),
        modes: json.get("modes").map(|_| texts(json, "modes")).transpose()?,
        evaluates: json.get("no_eval") != Some(&Json::Bool(true)),
        partitions: json.get("skip_partition") != Some(&Json::Bool(true)),
        engine,
        graph,
    };
    Ok(program)
}

/// Values of nodes, one a node.
fn state(graph: &Graph, json: &Json) -> Result<Vec<(Node, Array)>, String> {
    let values = list(json, "state")?.iter().map(|value| node_value(graph, value));
    let values = values.collect::<Result<Vec<_>, String>>()?;
    let mut met = HashSet::new();
    match values.iter().find(|(node, _)| !met.insert(node.id())) {
        Some((node, _)) => Err(format!("`state` has two values of node {}", node.id().number())),
        None => Ok(values),
    }
}

/// A list; an empty one if the key is missing.
fn list<'j>(json: &'j Json, key: &str) -> Result<&'j [Json], String> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(&[]),
        Some(Json::Array(items)) => Ok(items),
        Some(other) => Err(format!("`{key}` is a list, not {other}")),
    }
}

fn texts(json: &Json, key: &str) -> Result<Vec<String>, String> {
    let text =
        |item: &Json| item.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` is a list of texts"));
    list(json, key)?.iter().map(text).collect()
}

fn nodes(graph: &Graph, json: &Json, key: &str) -> Result<Vec<Node>, String> {
    list(json, key)?.iter().map(|id| node(graph, id)).collect()
}

fn node(graph: &Graph, id: &Json) -> Result<Node, String> {
    let number = id.as_u64().and_then(|id| u32::try_from(id).ok());
    number.and_then(|id| graph.node(id)).ok_or_else(|| format!("there is no node {id}"))
}

/// A node as a record: fields that name operands hold nodes.
fn record(json: &Json) -> Result<Record, String> {
    let object = json.as_object().ok_or_else(|| format!("a node is an object, not {json}"))?;
    let id = object.get("id").and_then(Json::as_u64).and_then(|id| u32::try_from(id).ok());
    let id = id.ok_or_else(|| format!("a node needs an `id`, a number: {json}"))?;
    let op = object.get("op").and_then(Json::as_str).ok_or_else(|| format!("node {id} needs an `op`"))?;
    let in_node = |what: String| format!("node {id}: {what}");
    if op == "function_call" {
        let name = object.get("name").ok_or_else(|| in_node("a call needs a `name`".to_owned()))?;
        let mut args = vec![scalar(name).map_err(in_node)?];
        args.extend(list(json, "args")?.iter().map(operand).collect::<Result<Vec<_>, _>>().map_err(in_node)?);
        let kwargs = object.get("kwargs").and_then(Json::as_object).into_iter().flatten();
        let fields = kwargs.map(|(key, node)| Ok((key.clone(), operand(node)?))).collect::<Result<_, _>>();
        return Ok(Record { id, op: op.to_owned(), args, fields: fields.map_err(in_node)? });
    }
    let fields = object.iter().filter(|(key, _)| !["id", "op"].contains(&key.as_str()));
    let fields = fields.map(|(key, value)| field(key, value)).collect::<Result<_, _>>().map_err(in_node)?;
    Ok(Record { id, op: op.to_owned(), args: Vec::new(), fields })
}

fn field(key: &str, value: &Json) -> Result<(String, Literal), String> {
    const OPERANDS: [&str; 11] = [
        "left",
        "right",
        "node",
        "condition",
        "then",
        "otherwise",
        "clauses",
        "default_value",
        "companion",
        "selector_node",
        "merge_nodes",
    ];
    match key {
        "default" => Ok(("default_value".to_owned(), scalar(value)?)),
        "branch_map" => {
            let branches = value.as_object().ok_or("`branch_map` is an object")?;
            let branch = |(key, nodes): (&String, &Json)| Ok((key.clone(), operand(nodes)?));
            Ok((key.to_owned(), Literal::Map(branches.iter().map(branch).collect::<Result<_, String>>()?)))
        }
        _ if OPERANDS.contains(&key) => Ok((key.to_owned(), operand(value)?)),
        _ => Ok((key.to_owned(), literal(value)?)),
    }
}

/// Ids as nodes, also in lists.
fn operand(json: &Json) -> Result<Literal, String> {
    match json {
        Json::Array(items) => Ok(Literal::List(items.iter().map(operand).collect::<Result<_, _>>()?)),
        _ => {
            let id = json.as_u64().and_then(|id| u32::try_from(id).ok()).filter(|id| *id > 0);
            id.map(|id| Literal::Node(NodeId(id))).ok_or_else(|| format!("{json} is no id of a node"))
        }
    }
}

fn literal(json: &Json) -> Result<Literal, String> {
    match json {
        Json::Null => Ok(Literal::None),
        Json::Array(items) => Ok(Literal::List(items.iter().map(literal).collect::<Result<_, _>>()?)),
        _ => scalar(json),
    }
}

/// A scalar, plain or as `{"t": type, "v": value}`.
fn scalar(json: &Json) -> Result<Literal, String> {
    let wrong = || format!("{json} is no scalar");
    let (kind, value) = match json {
        Json::Object(_) => (json.get("t").and_then(Json::as_str), json.get("v").ok_or_else(wrong)?),
        _ => (None, json),
    };
    let float = || number(value).map(Scalar::Float);
    let scalar = match (kind, value) {
        (_, Json::Null) => return Ok(Literal::None),
        (Some("float"), _) => float(),
        (Some("bool") | None, Json::Bool(value)) => Some(Scalar::Bool(*value)),
        (Some("str") | None, Json::String(text)) => Some(text.as_str().into()),
        (Some("int"), _) => value.as_i64().map(Scalar::Int),
        (None, Json::Number(_)) => value.as_i64().map(Scalar::Int).or_else(float),
        _ => None,
    };
    scalar.map(Literal::Scalar).ok_or_else(wrong)
}

/// A float: a number, or one of the texts for those that JSON has no numbers for.
fn number(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

/// `{node, dtype, shape, data}`.
fn node_value(graph: &Graph, json: &Json) -> Result<(Node, Array), String> {
    let node = node(graph, json.get("node").unwrap_or(&Json::Null))?;
    let in_node = |what: String| format!("value of node {}: {what}", node.id().number());
    let dtype = json.get("dtype").and_then(Json::as_str).and_then(DType::from_name);
    let dtype = dtype.ok_or_else(|| in_node("it needs a `dtype`".to_owned()))?;
    let size = |size: &Json| size.as_u64().and_then(|size| usize::try_from(size).ok());
    let shape: Option<Vec<usize>> = list(json, "shape")?.iter().map(size).collect();
    let shape = shape.ok_or_else(|| in_node("`shape` is a list of sizes".to_owned()))?;
    let element = |json: &Json| match (dtype.is_float(), json) {
        (true, _) => number(json).map(Scalar::Float),
        (_, Json::Bool(value)) => Some(Scalar::Bool(*value)),
        (_, Json::String(text)) => Some(text.as_str().into()),
        _ => json.as_i64().map(Scalar::Int),
    };
    let data: Option<Vec<Scalar>> = list(json, "data")?.iter().map(element).collect();
    let data = data.ok_or_else(|| in_node(format!("`data` is a list of elements of {dtype}")))?;
    let value = array(dtype, &shape, &data).map_err(in_node)?;
    Ok((node, value))
}

fn read_functions(json: &Json) -> Result<Vec<(String, String)>, String> {
    let named = json.get("functions").and_then(Json::as_object).into_iter().flatten();
    let function = |(name, function): (&String, &Json)| {
        let known = function.as_str().filter(|function| functions::named(function).is_some());
        let known = known.ok_or_else(|| format!("there is no function {function}"))?;
        Ok((name.clone(), known.to_owned()))
    };
    named.map(function).collect()
}

/// Makes fields of nodes read other nodes.
fn mutate(graph: &Graph, json: &Json) -> Result<(), String> {
    for mutation in list(json, "mutations")? {
        let id = |key: &str| node(graph, mutation.get(key).unwrap_or(&Json::Null)).map(|node| node.id());
        let field = mutation.get("attr").and_then(Json::as_str).ok_or("a mutation needs an `attr`")?;
        graph.set_operand(id("node")?, field, id("to")?).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn set_node_flags(graph: &Graph, json: &Json) -> Result<(), String> {
    let Some(flags) = json.get("node_flags").and_then(Json::as_object) else { return Ok(()) };
    for (id, names) in flags {
        let node = id.parse().ok().and_then(|id| graph.node(id));
        let mut node = node.ok_or_else(|| format!("`node_flags`: there is no node {id}"))?;
        for name in names.as_array().into_iter().flatten() {
            node = match name.as_str() {
                Some("tracepoint") => node.tracepoint(),
                Some("breakpoint") => node.breakpoint(),
                _ => return Err(format!("there is no flag {name} of nodes")),
            };
        }
    }
    Ok(())
}
