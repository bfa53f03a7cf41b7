//! Prints programs as text.
//!
//! What a statement uses more than once, or had a name for, becomes a line of its own before it; see
//! [`definitions`](crate::field::sharing). The text reads back as the same program.

use crate::field::dimension::{DimensionId, DimensionKind};
use crate::field::element::{FieldLiteral, dtype_name};
use crate::field::error::FieldProblem;
use crate::field::expression::{
    BoundTerm, FieldBinary, FieldBound, FieldNode, FieldNodeId, FieldUnary, IndexComparison, IndexCondition,
    IndexTerm,
};
use crate::field::program::{
    FieldDeclaration, FieldProgram, FieldRole, FieldScan, FieldStatement, FieldTarget, FieldValue,
    ScanDirection,
};
use crate::field::sharing::{DeclaredNames, RESERVED};
use crate::field::types::{FieldTypes, binary_symbol};
use cembra_vm::value::{ScalarType, ScalarValue};
use hashbrown::HashMap;
use std::fmt::Write;

/// Prints a program that was checked; data does not stand in a text.
///
/// # Errors
/// A name has a backquote or a line end in it.
pub fn print_field_program(program: &FieldProgram) -> Result<String, FieldProblem> {
    let names = program.dims.iter().map(|dim| &dim.name);
    let names = names.chain(program.fields.iter().map(|field| &field.name));
    let names = names.chain(program.scalars.iter().map(|scalar| &scalar.name));
    let mut names = names.chain(program.tables.iter().map(|table| &table.name));
    if let Some(name) = names.find(|name| name.is_empty() || name.contains(['`', '\n'])) {
        let what = format!("the name {name:?} cannot stand in a text");
        return Err(FieldProblem::Syntax { what });
    }
    let mut types = FieldTypes::default();
    let _ = types.extend(program);
    let mut printer =
        Printer { program, types, names: HashMap::new(), carries: Vec::new(), out: String::new() };
    printer.declarations();
    printer.statements();
    Ok(printer.out)
}

/// A name as it stands in a text: between backquotes if it would be a word or is no name otherwise.
pub(crate) fn quoted(name: &str) -> String {
    let mut chars = name.chars();
    let is_plain = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_');
    match is_plain && !RESERVED.contains(&name) {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}

/// A bound as it stands in a text.
pub(crate) fn bound_text(program: &FieldProgram, bound: &FieldBound) -> String {
    // Each value with its level: 1 a sum, 2 a product, 3 neither.
    let mut stack: Vec<(String, u8)> = Vec::new();
    for term in &bound.0 {
        let value = match term {
            BoundTerm::Literal(value) => (value.to_string(), 3),
            BoundTerm::Scalar(id) => (quoted(&program.scalars[id.0].name), 3),
            BoundTerm::Add | BoundTerm::Sub | BoundTerm::Mul => {
                let (right, left) = (stack.pop().unwrap_or_default(), stack.pop().unwrap_or_default());
                let (symbol, level) = match term {
                    BoundTerm::Add => (" + ", 1),
                    BoundTerm::Sub => (" - ", 1),
                    _ => ("*", 2),
                };
                (format!("{}{symbol}{}", within(left, level), within(right, level + 1)), level)
            }
        };
        stack.push(value);
    }
    stack.pop().unwrap_or_default().0
}

/// A part in brackets if it binds weaker than the level.
fn within((text, level): (String, u8), at_least: u8) -> String {
    if level < at_least { format!("({text})") } else { text }
}

/// For each operation that a statement needs how many statements there are up to the last one that writes a field which it reads.
fn last_written(
    program: &FieldProgram,
    roots: &[FieldNodeId],
    written: &[usize],
) -> HashMap<FieldNodeId, usize> {
    let mut last: HashMap<FieldNodeId, usize> = HashMap::new();
    for id in program.nodes.needed(roots) {
        let number = match program.nodes.get(id) {
            FieldNode::Field(field) => written[field.0],
            node => node.operands().map(|operand| last[&operand]).max().unwrap_or(0),
        };
        last.insert(id, number);
    }
    last
}

struct Printer<'p> {
    program: &'p FieldProgram,
    types: FieldTypes,
    names: HashMap<FieldNodeId, String>,
    carries: Vec<String>,
    out: String,
}

impl Printer<'_> {
    fn declarations(&mut self) {
        let program = self.program;
        for kind in [DimensionKind::Horizontal, DimensionKind::Vertical, DimensionKind::Local] {
            let is_of_table = |name: &str| program.tables.iter().any(|table| &*table.name == name);
            let dims = program.dims.iter().filter(|dim| dim.kind == kind);
            let dims = dims.filter(|dim| kind != DimensionKind::Local || !is_of_table(&dim.name));
            let names: Vec<String> = dims.map(|dim| quoted(&dim.name)).collect();
            if !names.is_empty() {
                self.line(&format!("{} {}", kind.name(), names.join(", ")));
            }
        }
        for table in &program.tables {
            let dim = |id| quoted(program.dim_name(id));
            let mut line = format!("table {}: {} -> {}", quoted(&table.name), dim(table.from), dim(table.to));
            if program.dim_name(table.local) != &*table.name {
                line += &format!(" along {}", dim(table.local));
            }
            line += &format!(" width {}", table.width);
            if let Some(skip) = table.skip {
                line += &format!(" skip {skip}");
            }
            if table.origin != 0 {
                line += &format!(" origin {}", table.origin);
            }
            self.line(&line);
        }
        for field in &program.fields {
            let line = field_line(program, field);
            self.line(&line);
        }
        for scalar in &program.scalars {
            let word = if scalar.is_static { "static" } else { "scalar" };
            let mut line = format!("{word} {}", quoted(&scalar.name));
            if scalar.dtype != ScalarType::Float64 {
                line += &format!(": {}", dtype_name(scalar.dtype));
            }
            if let Some(value) = &scalar.value {
                line += &format!(" = {}", plain(value, scalar.dtype));
            }
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn statements(&mut self) {
        let program = self.program;
        // Definitions that are written: of these names, with the number of the statement that they stand before.
        let mut live: HashMap<String, (FieldNodeId, usize)> = HashMap::new();
        // How many statements there are up to the last one that writes a field.
        let mut written = vec![0; program.fields.len()];
        let names = DeclaredNames::of(program);
        for (number, statement) in program.statements.iter().enumerate() {
            self.names.clear();
            let definitions = names.definitions(statement);
            let value = match &statement.value {
                FieldValue::Pointwise(roots) => {
                    let last = last_written(program, roots, &written);
                    for (id, name) in definitions {
                        let holds =
                            |(known, before): &(FieldNodeId, usize)| *known == id && last[&id] <= *before;
                        if !live.get(&name).is_some_and(holds) {
                            let line = format!("{} = {}", quoted(&name), self.node(id, 0, None));
                            self.line(&line);
                            live.insert(name.clone(), (id, number));
                        }
                        self.names.insert(id, name);
                    }
                    self.values(statement, roots)
                }
                FieldValue::Scan(scan) => self.scan(statement, scan, definitions),
            };
            let targets: Vec<String> = statement.targets.iter().map(|t| target_text(program, t)).collect();
            self.line(&format!("{} = {value}", targets.join(", ")));
            statement.targets.iter().for_each(|target| written[target.field.0] = number + 1);
        }
    }

    fn values(&self, statement: &FieldStatement, roots: &[FieldNodeId]) -> String {
        let dtype = |place: usize| Some(self.program.fields[statement.targets[place].field.0].dtype);
        let values = roots.iter().enumerate().map(|(place, root)| self.expression(*root, 0, dtype(place)));
        values.collect::<Vec<_>>().join(", ")
    }

    fn scan(
        &mut self,
        statement: &FieldStatement,
        scan: &FieldScan,
        definitions: Vec<(FieldNodeId, String)>,
    ) -> String {
        self.carries = scan.carry.iter().map(|carry| quoted(&carry.name)).collect();
        let direction = match scan.direction {
            ScanDirection::Forward => "forward",
            ScanDirection::Backward => "backward",
        };
        let init = |(carry, name): (&crate::field::program::ScanCarry, &String)| {
            format!("{name} = {}", strict(&carry.init))
        };
        let carries: Vec<String> = scan.carry.iter().zip(&self.carries).map(init).collect();
        let mut out = format!(
            "scan({} {direction}; {}; ",
            quoted(self.program.dim_name(scan.axis)),
            carries.join(", ")
        );
        let mut lines = Vec::new();
        for (id, name) in definitions {
            lines.push(format!("{} = {}", quoted(&name), self.node(id, 0, None)));
            self.names.insert(id, name);
        }
        if !lines.is_empty() {
            let _ = write!(out, "{}; ", lines.join(", "));
        }
        out + &self.values(statement, &scan.body) + ")"
    }

    /// An operation that binds at least as strongly as the level, or stands in brackets. A literal of the element
    /// type that is expected beside it needs no type of its own.
    fn expression(&self, id: FieldNodeId, level: u8, expected: Option<ScalarType>) -> String {
        match self.names.get(&id) {
            Some(name) => quoted(name),
            None => self.node(id, level, expected),
        }
    }

    fn node(&self, id: FieldNodeId, level: u8, expected: Option<ScalarType>) -> String {
        let program = self.program;
        let (text, own) = match program.nodes.get(id) {
            FieldNode::Literal(value) => {
                let text = match expected == Some(value.dtype()) {
                    true => plain(value.value(), value.dtype()),
                    false => strict(value),
                };
                let own = if text.starts_with('-') { 7 } else { 9 };
                (text, own)
            }
            FieldNode::Field(id) => (quoted(&program.fields[id.0].name), 9),
            FieldNode::Scalar(id) => (quoted(&program.scalars[id.0].name), 9),
            FieldNode::Carry(number, _) => (self.carries.get(*number).cloned().unwrap_or_default(), 9),
            FieldNode::Shift(a, offsets) => {
                let offset =
                    |(dim, by): &(DimensionId, i64)| format!("{}{by:+}", quoted(program.dim_name(*dim)));
                let offsets: Vec<String> = offsets.iter().map(offset).collect();
                (format!("{}[{}]", self.expression(*a, 9, None), offsets.join(", ")), 9)
            }
            FieldNode::Unary(FieldUnary::Not, a) => (format!("not {}", self.expression(*a, 3, None)), 3),
            FieldNode::Unary(FieldUnary::Neg, a) => {
                // A minus before a number would be that of the number.
                let is_literal = matches!(program.nodes.get(*a), FieldNode::Literal(_));
                (format!("-{}", self.expression(*a, if is_literal { 10 } else { 7 }, None)), 7)
            }
            FieldNode::Unary(op, a) => (format!("{}({})", op.name(), self.expression(*a, 0, None)), 9),
            FieldNode::Binary(op, a, b) => self.binary(*op, *a, *b),
            FieldNode::Where(c, a, b) => {
                let c = self.expression(*c, 0, None);
                let (a, b) = self.pair(*a, *b, 0, 0);
                (format!("where({c}, {a}, {b})"), 9)
            }
            FieldNode::Cast(a, dtype) => (format!("{}({})", dtype_name(*dtype), self.cast_operand(*a)), 9),
            FieldNode::Broadcast(a, dims) => {
                let dims: Vec<String> = dims.iter().map(|dim| quoted(program.dim_name(*dim))).collect();
                let dims: String = dims.iter().map(|dim| format!(", {dim}")).collect();
                (format!("broadcast({}{dims})", self.expression(*a, 0, None)), 9)
            }
            FieldNode::Gather(a, table, column) => {
                let table = quoted(&program.tables[table.0].name);
                (format!("{}[{table}[{column}]]", self.expression(*a, 9, None)), 9)
            }
            FieldNode::ShiftAll(a, table) => {
                let table = quoted(&program.tables[table.0].name);
                (format!("{}[{table}]", self.expression(*a, 9, None)), 9)
            }
            FieldNode::Column(a, local, column) => {
                let local = quoted(program.dim_name(*local));
                (format!("{}[{local}={column}]", self.expression(*a, 9, None)), 9)
            }
            FieldNode::Reduce(op, a, local) => {
                let local = quoted(program.dim_name(*local));
                (format!("{}({}, {local})", op.name(), self.expression(*a, 0, None)), 9)
            }
            FieldNode::ConcatWhere(condition, a, b) => {
                let condition = condition_text(program, condition);
                let (a, b) = self.pair(*a, *b, 0, 0);
                (format!("concat_where({condition}, {a}, {b})"), 9)
            }
        };
        within((text, own), level)
    }

    /// A number would become one of the type instead of being cast.
    fn cast_operand(&self, id: FieldNodeId) -> String {
        match self.program.nodes.get(id) {
            FieldNode::Literal(value) if value.dtype() == ScalarType::Float64 => {
                format!("float64({})", plain(value.value(), value.dtype()))
            }
            _ => self.expression(id, 0, None),
        }
    }

    fn binary(&self, op: FieldBinary, a: FieldNodeId, b: FieldNodeId) -> (String, u8) {
        let (level, left, right) = match op {
            FieldBinary::Or => (1, 1, 2),
            FieldBinary::And => (2, 2, 3),
            FieldBinary::Lt
            | FieldBinary::Le
            | FieldBinary::Gt
            | FieldBinary::Ge
            | FieldBinary::Eq
            | FieldBinary::Ne => (4, 5, 5),
            FieldBinary::Add | FieldBinary::Sub => (5, 5, 6),
            FieldBinary::Mul | FieldBinary::Div | FieldBinary::FloorDiv | FieldBinary::Mod => (6, 6, 7),
            FieldBinary::Pow => (8, 9, 7),
            FieldBinary::Min | FieldBinary::Max | FieldBinary::Fmod | FieldBinary::Xor => {
                let (a, b) = self.pair(a, b, 0, 0);
                return (format!("{}({a}, {b})", op.name()), 9);
            }
        };
        let (a, b) = self.pair(a, b, left, right);
        let symbol = binary_symbol(op);
        let is_tight = matches!(op, FieldBinary::Mul | FieldBinary::Pow);
        (if is_tight { format!("{a}{symbol}{b}") } else { format!("{a} {symbol} {b}") }, level)
    }

    /// Two operands of one element type: a number beside another value takes its type from there.
    fn pair(&self, a: FieldNodeId, b: FieldNodeId, left: u8, right: u8) -> (String, String) {
        let is_number = |id: FieldNodeId| matches!(self.program.nodes.get(id), FieldNode::Literal(_));
        let dtype = |id: FieldNodeId| self.types.get(id).map(|of| of.dtype).filter(|_| !is_number(id));
        (self.expression(a, left, dtype(b)), self.expression(b, right, dtype(a)))
    }
}

fn field_line(program: &FieldProgram, field: &FieldDeclaration) -> String {
    let word = if field.role == FieldRole::Input { "input" } else { "output" };
    let axis = |(place, dim): (usize, &DimensionId)| {
        let mut text = quoted(program.dim_name(*dim));
        let origin = field.origin.as_ref().map(|origin| origin[place]);
        let size = field.shape.as_ref().map(|shape| shape[place] as i64);
        if let Some(first) = origin.or(size.map(|_| 0)) {
            text += &format!("={first}:");
            text += &size.map_or(String::new(), |size| (first + size).to_string());
        }
        text
    };
    let axes: Vec<String> = field.dims.iter().enumerate().map(axis).collect();
    let mut line = format!("{word} {}[{}]", quoted(&field.name), axes.join(", "));
    if field.dtype != ScalarType::Float64 {
        line += &format!(": {}", dtype_name(field.dtype));
    }
    if let (Some(fill), FieldRole::Output) = (&field.fill, field.role) {
        line += &format!(" fill {}", plain(fill, field.dtype));
    }
    line
}

fn target_text(program: &FieldProgram, target: &FieldTarget) -> String {
    let name = quoted(&program.fields[target.field.0].name);
    let Some(domain) = &target.domain else { return name };
    let ranges: Vec<String> = domain
        .iter()
        .map(|range| {
            let (first, end) = (bound_text(program, &range.first), bound_text(program, &range.end));
            format!("{}={first}:{end}", quoted(program.dim_name(range.dimension)))
        })
        .collect();
    format!("{name}[{}]", ranges.join(", "))
}

fn condition_text(program: &FieldProgram, condition: &IndexCondition) -> String {
    let dim = quoted(program.dim_name(condition.dimension));
    let mut stack: Vec<(String, u8)> = Vec::new();
    for term in &condition.terms {
        let value = match term {
            IndexTerm::Compare(comparison, bound) => {
                let symbol = match comparison {
                    IndexComparison::Lt => "<",
                    IndexComparison::Le => "<=",
                    IndexComparison::Gt => ">",
                    IndexComparison::Ge => ">=",
                    IndexComparison::Eq => "==",
                    IndexComparison::Ne => "!=",
                };
                (format!("{dim} {symbol} {}", bound_text(program, bound)), 3)
            }
            IndexTerm::And | IndexTerm::Or => {
                let (right, left) = (stack.pop().unwrap_or_default(), stack.pop().unwrap_or_default());
                let (word, level) = if *term == IndexTerm::And { ("and", 2) } else { ("or", 1) };
                (format!("{} {word} {}", within(left, level), within(right, level + 1)), level)
            }
        };
        stack.push(value);
    }
    stack.pop().unwrap_or_default().0
}

/// A number without its type.
fn plain(value: &ScalarValue, dtype: ScalarType) -> String {
    match value {
        ScalarValue::Int64(value) if dtype == ScalarType::Uint64 => value.cast_unsigned().to_string(),
        ScalarValue::Boolean(value) => value.to_string(),
        ScalarValue::Int32(value) => value.to_string(),
        ScalarValue::Int64(value) => value.to_string(),
        ScalarValue::Float32(value) => float(f64::from(*value), format!("{value:?}")),
        ScalarValue::Float64(value) => float(*value, format!("{value:?}")),
        other => format!("{other:?}"),
    }
}

fn float(value: f64, finite: String) -> String {
    match value {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ => finite,
    }
}

/// A number with its type, unless it is the one that numbers have by themselves.
fn strict(literal: &FieldLiteral) -> String {
    match literal.dtype() {
        dtype @ (ScalarType::Float64 | ScalarType::Boolean) => plain(literal.value(), dtype),
        dtype => format!("{}({})", dtype_name(dtype), plain(literal.value(), dtype)),
    }
}
