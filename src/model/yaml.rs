//! YAML text to a tree in which every node knows its line and column.
//!
//! Model files repeat keys on purpose (two `GLP` components are two peaks) and their order counts, so a
//! map is a list of entries here. Plain scalars follow the core schema of YAML 1.2: `yes` is a text,
//! `4E-1` and `.inf` are floats. What aliases expand to is counted: a file has at most
//! [`NODE_LIMIT`] nodes and [`DEPTH_LIMIT`] levels, however it is written.

use crate::model::error::{ModelError, ModelErrorKind};
use crate::model::place::Place;
use cembra_vm::value::number::is_in_range;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use std::collections::HashMap;
use std::sync::Arc;

/// Nodes a file may have after aliases are expanded.
pub const NODE_LIMIT: usize = 100_000;

/// Levels of lists and maps a file may have.
pub const DEPTH_LIMIT: usize = 32;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// What it is.
    pub value: NodeValue,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without point and exponent.
    Integer(f64),
    /// Any other number.
    Float(f64),
    /// A text, quoted or plain.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Entries in the order of the file; keys may repeat.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// What messages call it: `20`, `abc`, `a list`.
    pub fn describe(&self) -> String {
        match &self.value {
            NodeValue::Null => "nothing".to_owned(),
            NodeValue::Bool(value) => format!("{value} (a boolean)"),
            NodeValue::Integer(value) | NodeValue::Float(value) => format!("{value}"),
            NodeValue::Text(text) => format!("the text '{text}'"),
            NodeValue::List(items) => format!("a list of {}", items.len()),
            NodeValue::Map(_) => "a map".to_owned(),
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            NodeValue::Integer(value) | NodeValue::Float(value) => Some(value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn list(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if it is a map.
    pub fn map(&self) -> Option<&[(Node, Node)]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }
}

/// Reads a file of one document; nothing for an empty one.
///
/// # Errors
/// Text that is not YAML, more than one document, an alias without an anchor, or a file beyond the limits.
pub fn read(file: &Arc<str>, text: &str) -> Result<Option<Node>, ModelError> {
    let mut reader = Reader { file, open: Vec::new(), root: None, anchors: HashMap::new(), nodes: 0 };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let problem = error.info().to_owned();
            ModelErrorKind::Yaml { problem }.at(reader.place(*error.marker()))
        })?;
        reader.event(event, span.start)?;
    }
    Ok(reader.root)
}

/// A list or map whose end has not come yet.
struct Open {
    node: Node,
    /// Number of the anchor; 0 if it has none.
    anchor: usize,
    /// A key that waits for its value.
    key: Option<Node>,
}

struct Reader<'a> {
    file: &'a Arc<str>,
    open: Vec<Open>,
    root: Option<Node>,
    /// Nodes by the number of their anchor, with how many nodes they are.
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
}

impl Reader<'_> {
    fn place(&self, mark: Marker) -> Place {
        Place { file: self.file.clone(), line: mark.line(), column: mark.col() + 1 }
    }

    fn event(&mut self, event: Event<'_>, mark: Marker) -> Result<(), ModelError> {
        let place = self.place(mark);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => Err(ModelErrorKind::Documents.at(place)),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                if plain && is_out_of_range(&text) {
                    let number = text.chars().take(40).collect();
                    return Err(ModelErrorKind::NumberRange { number }.at(place));
                }
                let value = if plain { plain_value(&text) } else { NodeValue::Text(text.into_owned()) };
                self.count(1, &place)?;
                self.close(Node { place, value }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(place, NodeValue::List(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.begin(place, NodeValue::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser ends only what it has begun");
                self.close(open.node, open.anchor)
            }
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(ModelErrorKind::AliasInsideItself.at(place));
                };
                self.count(size, &place)?;
                self.close(node, 0)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, nodes: usize, place: &Place) -> Result<(), ModelError> {
        self.nodes += nodes;
        match self.nodes > NODE_LIMIT {
            true => Err(ModelErrorKind::YamlNodes { limit: NODE_LIMIT }.at(place.clone())),
            false => Ok(()),
        }
    }

    fn begin(&mut self, place: Place, value: NodeValue, anchor: usize) -> Result<(), ModelError> {
        self.count(1, &place)?;
        if self.open.len() == DEPTH_LIMIT {
            return Err(ModelErrorKind::YamlDepth { limit: DEPTH_LIMIT }.at(place));
        }
        self.open.push(Open { node: Node { place, value }, anchor, key: None });
        Ok(())
    }

    /// Hands a complete node to what it stands in.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), ModelError> {
        if self.open.len() + depth(&node) > DEPTH_LIMIT {
            return Err(ModelErrorKind::YamlDepth { limit: DEPTH_LIMIT }.at(node.place));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size(&node)));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            NodeValue::List(items) => items.push(node),
            NodeValue::Map(entries) => match open.key.take() {
                Some(key) => entries.push((key, node)),
                None => open.key = Some(node),
            },
            _ => unreachable!("only lists and maps are open"),
        }
        Ok(())
    }
}

/// Levels of a node; its depth is limited, so this may call itself.
fn depth(node: &Node) -> usize {
    match &node.value {
        NodeValue::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        NodeValue::Map(entries) => 1 + entries.iter().map(|(k, v)| depth(k).max(depth(v))).max().unwrap_or(0),
        _ => 0,
    }
}

/// Nodes of a node, itself included.
fn size(node: &Node) -> usize {
    match &node.value {
        NodeValue::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        NodeValue::Map(entries) => 1 + entries.iter().map(|(k, v)| size(k) + size(v)).sum::<usize>(),
        _ => 1,
    }
}

/// What a plain scalar means in the core schema of YAML 1.2.
fn plain_value(text: &str) -> NodeValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "true" | "True" | "TRUE" => NodeValue::Bool(true),
        "false" | "False" | "FALSE" => NodeValue::Bool(false),
        ".nan" | ".NaN" | ".NAN" => NodeValue::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => NodeValue::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => NodeValue::Float(f64::NEG_INFINITY),
        _ => number(text).unwrap_or_else(|| NodeValue::Text(text.to_owned())),
    }
}

/// True for digits that no binary64 number is near.
fn is_out_of_range(text: &str) -> bool {
    let begins = |c: char| c.is_ascii_digit() || c == '.';
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(begins) && digits.parse().is_ok_and(|value| !is_in_range(digits, value))
}

fn number(text: &str) -> Option<NodeValue> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // Rust also reads `inf`, `nan` and `infinity`, which are texts in YAML.
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return u64::from_str_radix(octal, 8).ok().map(|v| NodeValue::Integer(v as f64));
    }
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).ok().map(|v| NodeValue::Integer(v as f64));
    }
    let value: f64 = text.parse().ok()?;
    match digits.bytes().all(|b| b.is_ascii_digit()) {
        true => Some(NodeValue::Integer(value)),
        false => Some(NodeValue::Float(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Node>, ModelError> {
        read(&"m.yaml".into(), text)
    }

    #[test]
    fn scalars_follow_yaml_1_2() {
        let value = |text: &str| parse(text).expect("YAML").expect("a document").value;
        assert_eq!(value("yes"), NodeValue::Text("yes".to_owned()));
        assert_eq!(value("4E-1"), NodeValue::Float(0.4));
        assert_eq!(value("-.inf"), NodeValue::Float(f64::NEG_INFINITY));
        assert_eq!(value("12"), NodeValue::Integer(12.0));
        assert_eq!(value("'12'"), NodeValue::Text("12".to_owned()));
        assert_eq!(value("inf"), NodeValue::Text("inf".to_owned()));
        assert_eq!(value("True"), NodeValue::Bool(true));
        assert_eq!(value("1e400x"), NodeValue::Text("1e400x".to_owned()));
        for text in ["1e400", "[1, -1e400]", "{a: 1e-400}"] {
            let kind = parse(text).expect_err("no number").kind;
            assert!(matches!(*kind, ModelErrorKind::NumberRange { .. }), "{text}");
        }
    }

    #[test]
    fn keys_repeat_and_places_count_from_one() {
        let node = parse("m:\n  GLP: 1\n  GLP: 2\n").expect("YAML").expect("a document");
        let model = &node.map().expect("a map")[0].1;
        let entries = model.map().expect("a map");
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[1].0.place.line, entries[1].0.place.column), (3, 3));
    }

    #[test]
    fn aliases_expand_up_to_the_limit() {
        let shared = parse("a: &x [1, 2]\nb: *x\n").expect("YAML").expect("a document");
        assert_eq!(shared.map().expect("a map")[1].1.list().map(<[Node]>::len), Some(2));
        let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
        for level in 1..9 {
            let before = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", "));
        }
        let error = parse(&bomb).expect_err("too many nodes");
        assert!(matches!(*error.kind, ModelErrorKind::YamlNodes { .. }), "{error}");
        let nested = parse(&"[".repeat(100)).expect_err("too deep");
        assert!(matches!(*nested.kind, ModelErrorKind::YamlDepth { .. }), "{nested}");
    }
}
