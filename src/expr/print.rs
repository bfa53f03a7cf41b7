//! Expressions as text that reads back to the same DAG.
//!
//! Operators with a symbol print infix with the fewest parentheses, all others as calls. A node used
//! more than once becomes a statement before the result, so the text is as long as the DAG, not as
//! the expression it describes:
//!
//! ```text
//! _1 = x + y
//! _1 * _1 - float64(1)
//! ```
//!
//! Literals name their type wherever bare digits would depend on the dialect.

use crate::expr::expr::Expr;
use crate::expr::graph::{Graph, Node, NodeId, Symbol};
use crate::expr::literal::Literal;
use cembra_vm::value::repr::{write_payload, write_text};
use cembra_vm::value::{ArrayClass, QType, ScalarType, ScalarValue, Value};
use std::collections::HashSet;
use std::fmt;

/// How tightly a piece of text binds, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// `a < b`; does not chain.
    Comparison,
    /// `a | b`.
    Or,
    /// `a & b`.
    And,
    /// `a + b`.
    Sum,
    /// `a * b`.
    Product,
    /// `-a`.
    Unary,
    /// `a ** b`; associates to the right.
    Power,
    /// Names, literals, calls.
    Atom,
}

/// Operators written between their operands: name, symbol, binding.
pub const INFIX: [(&str, &str, Binding); 15] = [
    ("core.equal", "==", Binding::Comparison),
    ("core.not_equal", "!=", Binding::Comparison),
    ("core.less", "<", Binding::Comparison),
    ("core.less_equal", "<=", Binding::Comparison),
    ("core.greater", ">", Binding::Comparison),
    ("core.greater_equal", ">=", Binding::Comparison),
    ("core.presence_or", "|", Binding::Or),
    ("core.presence_and", "&", Binding::And),
    ("math.add", "+", Binding::Sum),
    ("math.subtract", "-", Binding::Sum),
    ("math.multiply", "*", Binding::Product),
    ("math.divide", "/", Binding::Product),
    ("math.floordiv", "//", Binding::Product),
    ("math.mod", "%", Binding::Product),
    ("math.pow", "**", Binding::Power),
];

/// Operators written before their operand: name and symbol.
pub const PREFIX: [(&str, &str); 3] = [("math.neg", "-"), ("math.pos", "+"), ("core.presence_not", "~")];

/// Words that are not names of leaves.
pub const RESERVED: [&str; 14] = [
    "L",
    "M",
    "P",
    "NA",
    "True",
    "False",
    "None",
    "true",
    "false",
    "present",
    "missing",
    "unit",
    "arolla",
    "scalar_shape",
];

/// The expression as statements and a result.
pub fn print(expr: &Expr) -> String {
    print_graph(expr.graph(), expr.root())
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self})")
    }
}

/// A node of a graph, with all it reaches, as statements and a result.
pub fn print_graph(graph: &Graph, root: NodeId) -> String {
    Printer::new(graph, &[root]).print(root)
}

/// A literal as text that reads back to it in every dialect.
pub fn literal_text(literal: &Literal) -> String {
    let mut out = String::new();
    match literal {
        Literal::Value(value) => write_value(&mut out, value),
        Literal::Type(qtype) => write_qtype(&mut out, qtype),
        Literal::Operator(name) => out.push_str(name),
    }
    out
}

fn write_qtype(out: &mut String, qtype: &QType) {
    match qtype {
        QType::Tuple(_) | QType::Sequence(_) => {
            out.push_str("qtype(");
            write_text(out, &qtype.to_string());
            out.push(')');
        }
        named => out.push_str(&named.to_string()),
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Scalar(v) => write_scalar(out, v),
        Value::Present(ScalarValue::Unit) => out.push_str("present"),
        Value::Missing(ScalarType::Unit) => out.push_str("missing"),
        Value::Present(v) => write_call(out, "optional_", v.scalar_type(), |out| write_payload(out, v)),
        Value::Missing(t) => write_call(out, "optional_", *t, |out| out.push_str("NA")),
        Value::Edge(class, edge) => {
            let class = class.prefix().to_ascii_lowercase();
            out.push_str(&format!("{class}edge({}", edge.parent_size()));
            for row in edge.mapping().iter() {
                out.push_str(", ");
                match row {
                    Some(value) => write_payload(out, &value),
                    None => out.push_str("missing"),
                }
            }
            out.push(')');
        }
        Value::ArrayShape(class, size) => {
            out.push_str(match class {
                ArrayClass::Dense => "dense_array_shape(",
                ArrayClass::Array => "array_shape(",
            });
            out.push_str(&size.to_string());
            out.push(')');
        }
        Value::NdArray(rows) => {
            out.push_str(&format!("ndarray({}", rows.qtype()));
            rows.shape().iter().for_each(|size| out.push_str(&format!(", {size}")));
            for value in rows.view().scalars() {
                out.push_str(", ");
                match value.as_f64().is_none_or(f64::is_finite) {
                    true => write_payload(out, &value),
                    false => write_scalar(out, &value),
                }
            }
            out.push(')');
        }
        Value::Axes(axes) => out.push_str(&format!("axes({axes})")),
        Value::ScalarShape => out.push_str("scalar_shape"),
        Value::OptionalScalarShape => out.push_str("optional_scalar_shape"),
        Value::Tuple(t) => {
            let names = t.qtype().names();
            out.push_str(if names.is_some() { "namedtuple(" } else { "tuple(" });
            for (i, field) in t.fields().iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                if let Some(names) = names {
                    out.push_str(&names[i]);
                    out.push('=');
                }
                write_value(out, field);
            }
            out.push(')');
        }
        Value::Array(class, rows) => {
            out.push_str(match class {
                ArrayClass::Dense => "dense_array(",
                ArrayClass::Array => "array(",
            });
            out.push_str(rows.element().name());
            for row in rows.iter() {
                out.push_str(", ");
                match row {
                    Some(value) => write_payload(out, &value),
                    None => out.push_str("missing"),
                }
            }
            out.push(')');
        }
        Value::Sequence(s) => {
            out.push_str("sequence(");
            out.push_str(s.element().name());
            for element in s.iter() {
                out.push_str(", ");
                write_payload(out, &element);
            }
            out.push(')');
        }
    }
}

fn write_scalar(out: &mut String, value: &ScalarValue) {
    match value {
        ScalarValue::Unit
        | ScalarValue::Boolean(_)
        | ScalarValue::Int32(_)
        | ScalarValue::Text(_)
        | ScalarValue::Bytes(_) => write_payload(out, value),
        _ => write_call(out, "", value.scalar_type(), |out| write_payload(out, value)),
    }
}

fn write_call(out: &mut String, prefix: &str, scalar: ScalarType, payload: impl Fn(&mut String)) {
    out.push_str(prefix);
    out.push_str(&scalar.name().to_lowercase());
    out.push('(');
    payload(out);
    out.push(')');
}

/// A leaf as text: `name`, `L.name` or `L['any text']`.
pub fn leaf_text(name: &str) -> String {
    let mut text = String::new();
    write_name(&mut text, 'L', name);
    text
}

/// A leaf or placeholder as text: bare if it cannot be mistaken, `L.name` or `L['any text']` else.
fn write_name(out: &mut String, prefix: char, name: &str) {
    let mut chars = name.chars();
    let identifier = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_');
    let is_type = name.parse::<QType>().is_ok() || name == "tuple" || name == "namedtuple";
    if identifier && prefix == 'L' && !RESERVED.contains(&name) && !is_type {
        out.push_str(name);
    } else if identifier {
        out.push(prefix);
        out.push('.');
        out.push_str(name);
    } else {
        out.push(prefix);
        out.push('[');
        write_text(out, name);
        out.push(']');
    }
}

/// A piece of the text still to be written.
enum Piece {
    Text(&'static str),
    Owned(String),
    Node(NodeId, Binding),
}

struct Printer<'g> {
    graph: &'g Graph,
    out: String,
    /// Number of the statement that defines a node, by node.
    statement: Vec<Option<u32>>,
    /// Nodes that become statements, in order.
    shared: Vec<NodeId>,
    prefix: String,
}

impl<'g> Printer<'g> {
    fn new(graph: &'g Graph, roots: &[NodeId]) -> Printer<'g> {
        let order = graph.post_order(roots);
        let mut uses = vec![0u32; graph.len()];
        for id in &order {
            graph.operands(*id).iter().for_each(|o| uses[o.index()] = uses[o.index()].saturating_add(1));
        }
        let shared: Vec<NodeId> =
            order.into_iter().filter(|id| uses[id.index()] > 1 && graph.operator(*id).is_some()).collect();
        let mut statement = vec![None; graph.len()];
        shared.iter().enumerate().for_each(|(i, id)| statement[id.index()] = Some(i as u32 + 1));
        let prefix = fresh_prefix(graph);
        Printer { graph, out: String::new(), statement, shared, prefix }
    }

    fn print(mut self, root: NodeId) -> String {
        for id in std::mem::take(&mut self.shared) {
            let number = self.statement[id.index()].take();
            self.out.push_str(&format!("{}{} = ", self.prefix, number.unwrap_or_default()));
            self.write(id);
            self.out.push('\n');
            self.statement[id.index()] = number;
        }
        self.write(root);
        self.out
    }

    fn write(&mut self, root: NodeId) {
        let mut stack = vec![Piece::Node(root, Binding::Comparison)];
        let mut pieces = Vec::new();
        while let Some(piece) = stack.pop() {
            match piece {
                Piece::Text(text) => self.out.push_str(text),
                Piece::Owned(text) => self.out.push_str(&text),
                Piece::Node(id, least) => {
                    let binding = self.pieces(id, &mut pieces);
                    let wrap = binding < least;
                    if wrap {
                        self.out.push('(');
                        stack.push(Piece::Text(")"));
                    }
                    stack.extend(pieces.drain(..).rev());
                }
            }
        }
    }

    /// Splits a node into text and operands, each with the binding it needs.
    fn pieces(&self, id: NodeId, pieces: &mut Vec<Piece>) -> Binding {
        if let Some(number) = self.statement[id.index()] {
            pieces.push(Piece::Owned(format!("{}{number}", self.prefix)));
            return Binding::Atom;
        }
        match self.graph.node(id) {
            Node::Leaf(name) => self.name_piece('L', name, pieces),
            Node::Placeholder(name) => self.name_piece('P', name, pieces),
            Node::Literal(literal) => {
                let text = literal_text(literal);
                let binding = if text.starts_with('-') { Binding::Unary } else { Binding::Atom };
                pieces.push(Piece::Owned(text));
                binding
            }
            Node::Operator(operator, operands) => {
                let name = self.graph.name(operator);
                match operands {
                    [a, b] => self.infix(name, *a, *b, pieces),
                    [a] => self.prefix(name, *a, pieces),
                    _ => None,
                }
                .unwrap_or_else(|| self.call(name, operands, pieces))
            }
        }
    }

    fn name_piece(&self, prefix: char, name: Symbol, pieces: &mut Vec<Piece>) -> Binding {
        let mut text = String::new();
        write_name(&mut text, prefix, self.graph.name(name));
        pieces.push(Piece::Owned(text));
        Binding::Atom
    }

    fn infix(&self, name: &str, a: NodeId, b: NodeId, pieces: &mut Vec<Piece>) -> Option<Binding> {
        let (_, symbol, binding) = INFIX.into_iter().find(|row| row.0 == name)?;
        let (left, right) = match binding {
            Binding::Comparison => (Binding::Or, Binding::Or),
            Binding::Power => (Binding::Atom, Binding::Unary),
            _ => (binding, next_tighter(binding)),
        };
        pieces.push(Piece::Node(a, left));
        pieces.extend([Piece::Text(" "), Piece::Text(symbol), Piece::Text(" ")]);
        pieces.push(Piece::Node(b, right));
        Some(binding)
    }

    fn prefix(&self, name: &str, a: NodeId, pieces: &mut Vec<Piece>) -> Option<Binding> {
        let (_, symbol) = PREFIX.into_iter().find(|row| row.0 == name)?;
        // A sign before digits would read back as part of the literal.
        if self.graph.literal(a).is_some() {
            return None;
        }
        pieces.extend([Piece::Text(symbol), Piece::Node(a, Binding::Unary)]);
        Some(Binding::Unary)
    }

    fn call(&self, name: &str, operands: &[NodeId], pieces: &mut Vec<Piece>) -> Binding {
        pieces.push(Piece::Owned(format!("{name}(")));
        for (i, operand) in operands.iter().enumerate() {
            pieces.push(Piece::Text(if i > 0 { ", " } else { "" }));
            pieces.push(Piece::Node(*operand, Binding::Comparison));
        }
        pieces.push(Piece::Text(")"));
        Binding::Atom
    }
}

fn next_tighter(binding: Binding) -> Binding {
    match binding {
        Binding::Comparison => Binding::Or,
        Binding::Or => Binding::And,
        Binding::And => Binding::Sum,
        Binding::Sum => Binding::Product,
        Binding::Product => Binding::Unary,
        Binding::Unary => Binding::Power,
        Binding::Power | Binding::Atom => Binding::Atom,
    }
}

/// A prefix for statement names that no leaf begins with.
fn fresh_prefix(graph: &Graph) -> String {
    let leaves: HashSet<&str> = (0..graph.len())
        .filter_map(|i| match graph.node(NodeId::at(i)) {
            Node::Leaf(name) => Some(&**graph.name(name)),
            _ => None,
        })
        .filter(|name| name.starts_with('_'))
        .collect();
    let mut prefix = "_".to_owned();
    while leaves.iter().any(|name| {
        name.strip_prefix(&*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    }) {
        prefix.push('_');
    }
    prefix
}

#[cfg(test)]
mod tests {
    use crate::expr::builder::ExprBuilder;

    #[test]
    fn parentheses_are_as_few_as_possible() {
        let b = ExprBuilder::new();
        let (x, y, z) = (b.leaf("x"), b.leaf("y"), b.leaf("z"));
        let cases = [
            (x - (y - z), "x - (y - z)"),
            (x - y - z, "x - y - z"),
            ((x + y) * -z, "(x + y) * -z"),
            (x.pow(y.pow(z)), "x ** y ** z"),
            (x.pow(y).pow(z), "(x ** y) ** z"),
            ((-x).pow(y), "(-x) ** y"),
            (-x.pow(y), "-x ** y"),
            (x.pow(-y), "x ** -y"),
            ((x.less(y)) & (y.less(z)), "(x < y) & (y < z)"),
            (x.less(y).equal(z), "(x < y) == z"),
            (-b.literal(1) - b.literal(-1), "math.neg(1) - -1"),
            (b.literal(-1).pow(x), "(-1) ** x"),
            (b.leaf("true") + b.leaf("a b") + b.leaf("FLOAT32"), "L.true + L['a b'] + L.FLOAT32"),
            (b.placeholder("p") + 2i64, "P.p + int64(2)"),
            (b.call("math.exp", &[x | 0.5]), "math.exp(x | float64(0.5))"),
        ];
        for (expr, text) in cases {
            assert_eq!(expr.build().expect("room").to_string(), text);
        }
    }

    #[test]
    fn shared_nodes_become_statements() {
        let b = ExprBuilder::new();
        let (x, taken) = (b.leaf("x"), b.leaf("_1"));
        let s = x + taken;
        let text = (s * s).build().expect("room").to_string();
        assert_eq!(text, "__1 = x + _1\n__1 * __1");
    }
}
