//! Reads the texts that graphs print.
//!
//! ```
//! use cembra::dag::{Graph, linearize, ir};
//! # fn main() -> Result<(), cembra::dag::DagError> {
//! let graph = Graph::new();
//! let weather = graph.placeholder_with_default("the \"weather\"", "it's bad");
//! let bad = weather.equal("it's bad");
//! let text = ir::compile_nodes(&linearize::forest(&[bad], &[])?).to_string();
//! assert!(text.contains(r#"n1 = graph.placeholder(name='the "weather"', default_value="it's bad")"#));
//!
//! let again = Graph::parse(&text)?;
//! let root = again.node(3).expect("nodes keep their ids");
//! assert_eq!(ir::compile_nodes(&linearize::forest(&[root], &[])?).to_string(), text);
//! # Ok(())
//! # }
//! ```
//!
//! Nodes stand on lines of their own, in any order. Comments, heads of trees and `return` are passed over,
//! so that linear orders, intermediate forms and trees all read; a node that several trees contain may stand
//! there several times. Calls are read as Python reads them, as far as node texts use that.

use crate::dag::error::DagError;
use crate::dag::graph::Graph;
use crate::dag::kind::{Dims, NodeId};
use crate::dag::record::{Literal, Record, add_all};
use crate::dag::scalar::Scalar;
use hashbrown::HashMap;

/// Lists within lists; an array has at most 64 axes.
const NESTING_LIMIT: usize = 70;

impl Graph {
    /// Reads nodes from the text of nodes, a linear order, trees or an intermediate form.
    ///
    /// # Errors
    /// A line is no node, a node has an operand that is not there, or one id stands for two nodes.
    pub fn parse(text: &str) -> Result<Graph, DagError> {
        let mut lines: HashMap<u32, &str> = HashMap::new();
        let (mut records, mut numbers) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
            if line.is_empty() || ["#", "def ", "return "].iter().any(|head| line.starts_with(head)) {
                continue;
            }
            let in_line = |what: String| DagError::Text { line: number, what };
            let record = Cursor { rest: line }.node().map_err(in_line)?;
            match lines.insert(record.id, line) {
                Some(before) if before != line => {
                    return Err(in_line(format!("node n{} is another one above", record.id)));
                }
                Some(_) => {}
                None => {
                    records.push(record);
                    numbers.push(number);
                }
            }
        }
        let graph = Graph::new();
        let added = add_all(&graph, &records, Dims::Keep);
        added.map_err(|(index, what)| DagError::Text { line: numbers[index], what })?;
        Ok(graph)
    }
}

/// What is left of a line.
struct Cursor<'t> {
    rest: &'t str,
}

type Read<T> = Result<T, String>;

impl<'t> Cursor<'t> {
    /// `n3 = graph.constant(value=1024, name='')`.
    fn node(&mut self) -> Read<Record> {
        self.expect("n")?;
        let id = self.word().parse().map_err(|_| "expected the number of a node".to_owned())?;
        self.expect("=")?;
        self.expect("graph.")?;
        let op = self.word().to_owned();
        self.expect("(")?;
        let mut record = Record { id, op, args: Vec::new(), fields: Vec::new() };
        self.items(")", |cursor| cursor.argument(&mut record))?;
        match self.rest.trim() {
            "" => Ok(record),
            rest => Err(format!("a node ends here: {rest}")),
        }
    }

    /// `n1`, `left=n1` or `**{'left side': n1}`.
    fn argument(&mut self, record: &mut Record) -> Read<()> {
        if self.takes("**") {
            let Literal::Map(fields) = self.literal(0)? else { return Err("`**` needs a map".to_owned()) };
            record.fields.extend(fields);
            return Ok(());
        }
        let start = self.rest;
        let name = self.word();
        if !name.is_empty() && self.takes("=") {
            let value = self.literal(0)?;
            record.fields.push((name.to_owned(), value));
        } else {
            self.rest = start;
            let value = self.literal(0)?;
            record.args.push(value);
        }
        Ok(())
    }

    fn literal(&mut self, depth: usize) -> Read<Literal> {
        if depth > NESTING_LIMIT {
            return Err(format!("limit graph-nesting: more than {NESTING_LIMIT} lists within each other"));
        }
        let text = |text: String| Literal::Scalar(Scalar::Text(text.into()));
        match self.rest.chars().next() {
            Some('[') => self.list("[", "]", depth),
            Some('(') => self.list("(", ")", depth),
            Some('{') => self.map(depth),
            Some('\'' | '"') => self.string().map(text),
            _ => self.plain(),
        }
    }

    /// Items with commas between them, up to what closes them.
    fn items(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        while !self.takes(close) {
            item(self)?;
            if !self.takes(",") && !self.rest.starts_with(close) {
                return Err(format!("expected `,` or `{close}`, found {}", self.found()));
            }
        }
        Ok(())
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Read<Literal> {
        self.expect(open)?;
        let mut items = Vec::new();
        self.items(close, |cursor| cursor.literal(depth + 1).map(|item| items.push(item)))?;
        Ok(Literal::List(items))
    }

    fn map(&mut self, depth: usize) -> Read<Literal> {
        self.expect("{")?;
        let mut items = Vec::new();
        self.items("}", |cursor| {
            let key = cursor.string()?;
            cursor.expect(":")?;
            cursor.literal(depth + 1).map(|value| items.push((key, value)))
        })?;
        Ok(Literal::Map(items))
    }

    /// A number, a word of Python, or a node.
    fn plain(&mut self) -> Read<Literal> {
        let word = self.up_to(|c| matches!(c, ',' | ')' | ']' | '}' | ' '));
        let node = || word.strip_prefix('n').and_then(|id| id.parse().ok()).filter(|id| *id > 0);
        Ok(match word {
            "None" => Literal::None,
            "True" => Literal::Scalar(true.into()),
            "False" => Literal::Scalar(false.into()),
            _ => match (word.parse::<i64>(), word.parse::<f64>(), node()) {
                (Ok(value), ..) => Literal::Scalar(value.into()),
                // Rust reads more words as infinite than Python prints.
                (_, Ok(value), _) if value.is_finite() || ["inf", "-inf", "nan"].contains(&word) => {
                    Literal::Scalar(value.into())
                }
                (.., Some(id)) => Literal::Node(NodeId(id)),
                _ => return Err(format!("{word} is neither a value nor a node")),
            },
        })
    }

    /// A text in quotes.
    fn string(&mut self) -> Read<String> {
        let mut chars = self.rest.char_indices();
        let quote = chars.next().map(|(_, c)| c).filter(|c| matches!(c, '\'' | '"'));
        let quote = quote.ok_or_else(|| format!("expected a text in quotes, found {}", self.found()))?;
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.rest = self.rest[at + 1..].trim_start();
                    return Ok(text);
                }
                '\\' => text.push(escaped(&mut chars)?),
                c => text.push(c),
            }
        }
        Err("a text does not end".to_owned())
    }

    /// Letters, digits and underscores.
    fn word(&mut self) -> &'t str {
        self.up_to(|c| !(c.is_alphanumeric() || c == '_'))
    }

    fn up_to(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        word
    }

    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Read<()> {
        if self.takes(token) { Ok(()) } else { Err(format!("expected `{token}`, found {}", self.found())) }
    }

    fn found(&self) -> String {
        self.rest.chars().next().map_or("the end".to_owned(), |c| format!("`{}`", c.escape_debug()))
    }
}

/// The character of an escape, behind its backslash.
fn escaped(chars: &mut std::str::CharIndices<'_>) -> Read<char> {
    let unknown = || "an escape that is not known".to_owned();
    let digits = match chars.next().map(|(_, c)| c) {
        Some('n') => return Ok('\n'),
        Some('r') => return Ok('\r'),
        Some('t') => return Ok('\t'),
        Some(c @ ('\\' | '\'' | '"')) => return Ok(c),
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        _ => return Err(unknown()),
    };
    let code: String = chars.take(digits).map(|(_, c)| c).collect();
    let number = u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits);
    number.and_then(char::from_u32).ok_or_else(unknown)
}
