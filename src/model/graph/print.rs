//! Graphs as text, as JSON and for Graphviz.
//!
//! ```text
//! graph m: ENERGY_1D, semantics current, 40 energies
//!   0 OPT_PARAM      Offset_y0  = 2 in [0, 10]
//!   5 COMPONENT_EVAL Offset     energy.Offset(Offset_y0)
//!   6 SUM            total      peak_sum + Offset
//! ```

use crate::model::graph::ir::{EdgeKind, GraphEdge, GraphIR, GraphNode, NodeId, NodeKind};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// One line a node: what it is and what it reads.
pub fn text(graph: &GraphIR) -> String {
    let mut out =
        format!("graph {}: {}, semantics {}", graph.name, graph.domain.name(), graph.semantics.name());
    for (axis, name) in [(&graph.energy, "energies"), (&graph.time, "times")] {
        if !axis.is_empty() {
            out += &format!(", {} {name}", axis.len());
        }
    }
    out.push('\n');
    let wide = |length: fn(&GraphNode) -> usize| graph.nodes.iter().map(length).max().unwrap_or(0);
    let (kinds, names) = (wide(|n| n.kind.name().len()), wide(|n| n.name.chars().count()));
    let ids = graph.nodes.len().to_string().len();
    for node in &graph.nodes {
        let line = format!(
            "{:>ids$} {:kinds$} {:names$}  {}",
            node.id,
            node.kind.name(),
            node.name,
            describe(graph, node)
        );
        out += &format!("  {}\n", line.trim_end());
    }
    out
}

fn names(graph: &GraphIR, ids: &[NodeId], separator: &str) -> String {
    ids.iter().map(|id| graph.nodes[*id].name.as_str()).collect::<Vec<_>>().join(separator)
}

fn describe(graph: &GraphIR, node: &GraphNode) -> String {
    let inputs = |kind| names(graph, &graph.inputs(node.id, kind), ", ");
    let sum = |kind| names(graph, &graph.inputs(node.id, kind), " + ");
    let value = node.value.unwrap_or(f64::NAN);
    let call = || {
        let function = node.function_name.as_deref().unwrap_or_default();
        let package = node.package.as_deref().unwrap_or_default();
        format!("{package}.{function}({})", inputs(EdgeKind::ParamInput))
    };
    match node.kind {
        NodeKind::StaticParam => format!("= {value}"),
        NodeKind::OptParam => match node.bounds {
            Some((min, max)) if (min, max) != (f64::NEG_INFINITY, f64::INFINITY) => {
                format!("= {value} in [{min}, {max}]")
            }
            _ => format!("= {value}, free"),
        },
        NodeKind::Expression => {
            let sources = inputs(EdgeKind::ExprRef);
            format!("= {} of {sources}, at first {value}", node.expr_string.as_deref().unwrap_or_default())
        }
        NodeKind::DynamicsTrace => match graph.inputs(node.id, EdgeKind::TraceInput).is_empty() {
            true => call(),
            false => format!("{} at {}", call(), inputs(EdgeKind::TraceInput)),
        },
        NodeKind::ComponentEval => call(),
        NodeKind::ParamPlusTrace => {
            let traces = sum(EdgeKind::TraceInput);
            let separator = if traces.is_empty() { "" } else { " + " };
            format!("{}{separator}{traces}", inputs(EdgeKind::BaseInput))
        }
        NodeKind::Convolution => format!("{} of {}", call(), inputs(EdgeKind::TraceInput)),
        NodeKind::SpectrumFedOp => format!("{} of {}", call(), sum(EdgeKind::SpectrumInput)),
        NodeKind::Sum => sum(EdgeKind::Addend),
        NodeKind::ProfileAverage => format!("mean of {}", inputs(EdgeKind::Addend)),
        NodeKind::ProfileSample => format!("profile of {}", inputs(EdgeKind::ParamInput)),
        NodeKind::SubcycleMask => format!("mask of {}", inputs(EdgeKind::TraceInput)),
        NodeKind::SubcycleRemap => "time since the subcycle began".to_owned(),
    }
}

/// The recorded JSON form: domain, nodes with all fields, edges. Numbers that JSON has not are texts.
pub fn json(graph: &GraphIR) -> String {
    let nodes: Vec<String> = graph.nodes.iter().map(|node| format!("    {}", node_json(node))).collect();
    let edge = |e: &GraphEdge| {
        let position = e.position.map_or("null".to_owned(), |p| p.to_string());
        format!(
            "    {{\"source\": {}, \"target\": {}, \"kind\": \"{}\", \"position\": {position}}}",
            e.source,
            e.target,
            e.kind.name()
        )
    };
    let edges: Vec<String> = graph.edges.iter().map(edge).collect();
    format!(
        "{{\n  \"name\": {}, \"semantics\": \"{}\", \"domain\": \"{}\",\n  \"nodes\": [\n{}\n  ],\n  \"edges\": [\n{}\n  ]\n}}\n",
        quote(&graph.name),
        graph.semantics.name(),
        graph.domain.name(),
        nodes.join(",\n"),
        edges.join(",\n")
    )
}

fn node_json(node: &GraphNode) -> String {
    let text = |t: &Option<String>| t.as_deref().map_or("null".to_owned(), quote);
    let bounds = node.bounds.map_or("null".to_owned(), |(min, max)| list(&[min, max]));
    let arrays: Vec<String> =
        node.arrays.iter().map(|(name, values)| format!("{}: {}", quote(name), list(values))).collect();
    format!(
        "{{\"id\": {}, \"kind\": \"{}\", \"name\": {}, \"source_order\": {}, \"value\": {}, \
         \"function_name\": {}, \"package\": {}, \"expr_string\": {}, \"vary\": {}, \"bounds\": {bounds}, \
         \"arrays\": {{{}}}}}",
        node.id,
        node.kind.name(),
        quote(&node.name),
        node.source_order,
        node.value.map_or("null".to_owned(), number),
        text(&node.function_name),
        text(&node.package),
        text(&node.expr_string),
        node.vary,
        arrays.join(", ")
    )
}

/// A number as JSON; `"nan"`, `"inf"` and `"-inf"` are texts.
pub fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "\"nan\"".to_owned(),
        f64::INFINITY => "\"inf\"".to_owned(),
        f64::NEG_INFINITY => "\"-inf\"".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// A list of numbers as JSON.
pub fn list(values: &[f64]) -> String {
    format!("[{}]", values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", "))
}

/// A text as JSON.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => write!(out, "\\u{:04x}", c as u32).expect("text takes any text"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// For Graphviz. Samples of one component or parameter are drawn as one node with their number.
pub fn dot(graph: &GraphIR) -> String {
    let names: Vec<String> = graph.nodes.iter().map(drawn_name).collect();
    let mut drawn: BTreeMap<&str, (NodeId, usize)> = BTreeMap::new();
    for (node, name) in graph.nodes.iter().zip(&names) {
        drawn.entry(name).or_insert((node.id, 0)).1 += 1;
    }
    let mut nodes: Vec<(&str, (NodeId, usize))> = drawn.into_iter().collect();
    nodes.sort_by_key(|(_, (first, _))| *first);
    let mut out = format!("digraph {} {{\n  rankdir=LR\n  node [fontname=monospace]\n", quote(&graph.name));
    for (name, (first, count)) in nodes {
        let label = if count > 1 { format!("{name} x{count}") } else { name.to_owned() };
        let shape = shape(graph.nodes[first].kind);
        out += &format!("  {} [label={} shape={shape}]\n", quote(name), quote(&label));
    }
    let arrow = |e: &GraphEdge| {
        let position = e.position.map_or(String::new(), |p| format!(" {p}"));
        let label = quote(&format!("{}{position}", e.kind.name()));
        format!("  {} -> {} [label={label}]\n", quote(&names[e.source]), quote(&names[e.target]))
    };
    let arrows: Vec<String> = graph.edges.iter().map(arrow).collect();
    let mut seen = HashSet::new();
    arrows.iter().filter(|arrow| seen.insert(arrow.as_str())).for_each(|arrow| out += arrow);
    out + "}\n"
}

/// The name, without the number of a sample.
fn drawn_name(node: &GraphNode) -> String {
    let unnumbered = node.name.rsplit_once('_').filter(|(name, number)| {
        let is_sample = ["_sample", "_profile_expr"].iter().any(|suffix| name.ends_with(suffix));
        is_sample && number.bytes().all(|b| b.is_ascii_digit())
    });
    unnumbered.map_or(node.name.clone(), |(name, _)| format!("{name}s"))
}

fn shape(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::StaticParam | NodeKind::OptParam | NodeKind::Expression => "ellipse",
        NodeKind::Sum | NodeKind::ProfileAverage => "circle",
        _ => "box",
    }
}
