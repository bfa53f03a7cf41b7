//! Reads expressions of the JSON form: prefix lists.

use crate::field::error::FieldProblem;
use crate::field::expression::{
    BoundTerm, FieldBinary, FieldBound, FieldNode, FieldNodeId, FieldReduction, FieldUnary, IndexComparison,
    IndexCondition, IndexTerm, TableId,
};
use crate::field::json::values::{dimension, dtype, integer, list, literal_value, short, syntax};
use crate::field::program::FieldProgram;
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;
use serde_json::Value as Json;
use std::ops::Range;

/// Levels of lists that an expression may have.
const DEEPEST: usize = 250;

/// An expression while it is read.
pub(super) struct Reading<'p> {
    program: &'p mut FieldProgram,
    /// Names of `let` and of carries; of several meanings the innermost stands last.
    scope: HashMap<String, Vec<FieldNodeId>>,
    /// Names in the order in which they were bound.
    order: Vec<String>,
    /// In a scan the fields that its body may read.
    inputs: Option<&'p [&'p str]>,
    depth: usize,
}

/// Reads a bound: an integer, or an expression of int32 scalars.
pub(super) fn bound(program: &FieldProgram, json: &Json) -> Result<FieldBound, FieldProblem> {
    let mut terms = Vec::new();
    bound_terms(program, json, 0, &mut terms)?;
    Ok(FieldBound(terms))
}

fn bound_terms(
    program: &FieldProgram,
    json: &Json,
    depth: usize,
    terms: &mut Vec<BoundTerm>,
) -> Result<(), FieldProblem> {
    let wrong = || syntax(format!("{} is no bound", short(json)));
    if let Some(value) = integer(json) {
        terms.push(BoundTerm::Literal(value));
        return Ok(());
    }
    let list = json.as_array().filter(|_| depth < DEEPEST).ok_or_else(wrong)?;
    let head = list.first().and_then(Json::as_str).ok_or_else(wrong)?;
    match (head, &list[1..]) {
        ("lit", [value, ..]) => terms.push(BoundTerm::Literal(integer(value).ok_or_else(wrong)?)),
        ("ref", [name]) => {
            let name = name.as_str().ok_or_else(wrong)?;
            let unknown = || FieldProblem::UnknownName { role: "scalar", name: name.to_owned() };
            terms.push(BoundTerm::Scalar(program.scalar(name).ok_or_else(unknown)?));
        }
        ("add" | "sub" | "mul", [left, right]) => {
            bound_terms(program, left, depth + 1, terms)?;
            bound_terms(program, right, depth + 1, terms)?;
            terms.push(match head {
                "add" => BoundTerm::Add,
                "sub" => BoundTerm::Sub,
                _ => BoundTerm::Mul,
            });
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

impl<'p> Reading<'p> {
    pub fn new(
        program: &'p mut FieldProgram,
        scope: &[(String, FieldNodeId)],
        inputs: Option<&'p [&'p str]>,
    ) -> Reading<'p> {
        let mut reading = Reading { program, scope: HashMap::new(), order: Vec::new(), inputs, depth: 0 };
        scope.iter().for_each(|(name, value)| reading.bind(name, *value));
        reading
    }

    fn bind(&mut self, name: &str, value: FieldNodeId) {
        self.scope.entry(name.to_owned()).or_default().push(value);
        self.order.push(name.to_owned());
    }

    /// Forgets the names that were bound since.
    fn unbind(&mut self, since: usize) {
        for name in self.order.drain(since..) {
            if let Some(values) = self.scope.get_mut(&name) {
                values.pop();
            }
        }
    }

    /// Reads one value, or the values of a `tuple`, below any `let`; those of a tuple inside stand in its place.
    pub fn tuple(&mut self, json: &Json) -> Result<Vec<FieldNodeId>, FieldProblem> {
        let parts = json.as_array().map(Vec::as_slice).unwrap_or_default();
        match parts {
            [Json::String(head), bindings, body] if head == "let" => {
                let outer = self.order.len();
                self.enter()?;
                self.bindings(bindings)?;
                let values = self.tuple(body)?;
                self.depth -= 1;
                self.unbind(outer);
                Ok(values)
            }
            [Json::String(head), values @ ..] if head == "tuple" => {
                self.enter()?;
                let mut all = Vec::new();
                for value in values {
                    all.extend(self.tuple(value)?);
                }
                self.depth -= 1;
                Ok(all)
            }
            _ => Ok(vec![self.expression(json)?]),
        }
    }

    fn enter(&mut self) -> Result<(), FieldProblem> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => {
                let what = format!("the expression has more than {DEEPEST} levels");
                Err(FieldProblem::Limit { limit: "field-nesting", what })
            }
            false => Ok(()),
        }
    }

    fn bindings(&mut self, json: &Json) -> Result<(), FieldProblem> {
        for binding in list(json, "what `let` binds")? {
            let [Json::String(name), value] = list(binding, "a binding")? else {
                return Err(syntax(format!("{} is no binding [name, expression]", short(binding))));
            };
            let value = self.expression(value)?;
            if !self.program.nodes.get(value).is_leaf() {
                self.program.nodes.set_name(value, name);
            }
            self.bind(name, value);
        }
        Ok(())
    }

    fn expression(&mut self, json: &Json) -> Result<FieldNodeId, FieldProblem> {
        self.enter()?;
        let parts = list(json, "an expression")?;
        let head = parts.first().and_then(Json::as_str).unwrap_or_default();
        let node = match (head, &parts[1.min(parts.len())..]) {
            ("let", [bindings, body]) => {
                let outer = self.order.len();
                self.bindings(bindings)?;
                let value = self.expression(body)?;
                self.unbind(outer);
                self.depth -= 1;
                return Ok(value);
            }
            ("ref", [Json::String(name)]) => {
                if let Some(value) = self.scope.get(name).and_then(|values| values.last()).copied() {
                    self.depth -= 1;
                    return Ok(value);
                }
                self.reference(name)?
            }
            (_, rest) => {
                let mut values = [FieldNodeId(0); 3];
                let places = places_of_values(head, rest.len());
                for (value, part) in values.iter_mut().zip(&rest[places]) {
                    *value = self.expression(part)?;
                }
                self.node(head, values, parts, json)?
            }
        };
        self.depth -= 1;
        self.program.nodes.add(node, Span::default())
    }

    fn reference(&self, name: &str) -> Result<FieldNode, FieldProblem> {
        let may_read = self.inputs.is_none_or(|inputs| inputs.contains(&name));
        match (self.program.field(name).filter(|_| may_read), self.program.scalar(name)) {
            (Some(id), _) => Ok(FieldNode::Field(id)),
            (None, Some(id)) => Ok(FieldNode::Scalar(id)),
            (None, None) => {
                let role = if self.inputs.is_some() { "input of the scan" } else { "value" };
                Err(FieldProblem::UnknownName { role, name: name.to_owned() })
            }
        }
    }

    /// A node of values that have been read: what this needs on the stack is not needed on every level of an expression.
    fn node(
        &mut self,
        head: &str,
        [first, second, third]: [FieldNodeId; 3],
        parts: &[Json],
        json: &Json,
    ) -> Result<FieldNode, FieldProblem> {
        let rest = &parts[1.min(parts.len())..];
        match (head, rest, places_of_values(head, rest.len()).len()) {
            ("lit", ..) => Ok(FieldNode::Literal(literal_value(parts)?)),
            ("where", _, 3) => Ok(FieldNode::Where(first, second, third)),
            ("concat_where", [condition, ..], 2) => {
                Ok(FieldNode::ConcatWhere(self.condition(condition)?, first, second))
            }
            (_, _, 2) if let Some(op) = FieldBinary::from_name(head) => {
                Ok(FieldNode::Binary(op, first, second))
            }
            (_, [_, others @ ..], 1) => self.of_value(head, first, others, json),
            ("", ..) => Err(syntax(format!("{} is no expression", short(json)))),
            ("tuple", ..) => {
                let what = "a tuple stands where one value does: only a statement and a scan have several";
                Err(syntax(format!("{what}: {}", short(json))))
            }
            _ if (0..=3).all(|parts| places_of_values(head, parts).is_empty()) => {
                Err(FieldProblem::UnknownName { role: "operation", name: head.to_owned() })
            }
            _ => {
                let what = format!("`{head}` does not take {} parts: {}", rest.len(), short(json));
                Err(syntax(what))
            }
        }
    }

    /// A node of one value and what is no value.
    fn of_value(
        &self,
        head: &str,
        value: FieldNodeId,
        rest: &[Json],
        json: &Json,
    ) -> Result<FieldNode, FieldProblem> {
        let wrong = || syntax(format!("{} is no expression", short(json)));
        let text = |json: &Json| json.as_str().map(str::to_owned).ok_or_else(wrong);
        Ok(match (head, rest) {
            ("shift", [offsets]) => {
                let mut shifts = Vec::new();
                for (dim, by) in offsets.as_object().ok_or_else(wrong)? {
                    let by = integer(by).ok_or_else(wrong)?;
                    shifts.push((dimension(self.program, dim)?, by));
                }
                FieldNode::Shift(value, shifts)
            }
            ("cast", [of]) => FieldNode::Cast(value, dtype(of)?),
            ("broadcast", [dims]) => {
                let mut all = Vec::new();
                for dim in list(dims, "the dimensions of broadcast")? {
                    all.push(dimension(self.program, &text(dim)?)?);
                }
                FieldNode::Broadcast(value, all)
            }
            ("gather", [table, column]) => {
                let column = column.as_u64().and_then(|column| usize::try_from(column).ok());
                FieldNode::Gather(value, self.table(&text(table)?)?, column.ok_or_else(wrong)?)
            }
            ("column", [local, column]) => {
                let column = column.as_u64().and_then(|column| usize::try_from(column).ok());
                let local = dimension(self.program, &text(local)?)?;
                FieldNode::Column(value, local, column.ok_or_else(wrong)?)
            }
            ("shift_all", [table]) => FieldNode::ShiftAll(value, self.table(&text(table)?)?),
            (_, [local]) => {
                let reduction = FieldReduction::from_name(head).ok_or_else(wrong)?;
                FieldNode::Reduce(reduction, value, dimension(self.program, &text(local)?)?)
            }
            _ => FieldNode::Unary(FieldUnary::from_name(head).ok_or_else(wrong)?, value),
        })
    }

    fn table(&self, name: &str) -> Result<TableId, FieldProblem> {
        let unknown = || FieldProblem::UnknownName { role: "table", name: name.to_owned() };
        self.program.table(name).ok_or_else(unknown)
    }

    fn condition(&mut self, json: &Json) -> Result<IndexCondition, FieldProblem> {
        let (mut terms, mut dimension) = (Vec::new(), None);
        self.condition_terms(json, &mut terms, &mut dimension)?;
        let dimension = dimension.ok_or_else(|| syntax(format!("{} is no condition", short(json))))?;
        let dimension = self::dimension(self.program, &dimension)?;
        Ok(IndexCondition { dimension, terms })
    }

    fn condition_terms(
        &mut self,
        json: &Json,
        terms: &mut Vec<IndexTerm>,
        dimension: &mut Option<String>,
    ) -> Result<(), FieldProblem> {
        self.enter()?;
        let wrong = || syntax(format!("{} is no condition: an index compared with an integer", short(json)));
        let parts = json.as_array().map(Vec::as_slice).unwrap_or_default();
        let [Json::String(head), left, right] = parts else { return Err(wrong()) };
        let comparison = match &**head {
            "and" | "or" => {
                self.condition_terms(left, terms, dimension)?;
                self.condition_terms(right, terms, dimension)?;
                terms.push(if head == "and" { IndexTerm::And } else { IndexTerm::Or });
                self.depth -= 1;
                return Ok(());
            }
            "lt" => IndexComparison::Lt,
            "le" => IndexComparison::Le,
            "gt" => IndexComparison::Gt,
            "ge" => IndexComparison::Ge,
            "eq" => IndexComparison::Eq,
            "ne" => IndexComparison::Ne,
            other => {
                let what = format!(
                    "`{other}` in a condition of concat_where, which has lt, le, gt, ge, eq, ne, and, or"
                );
                return Err(syntax(what));
            }
        };
        let [Json::String(word), Json::String(dim)] = left.as_array().map(Vec::as_slice).unwrap_or_default()
        else {
            return Err(wrong());
        };
        if word != "dim" {
            return Err(wrong());
        }
        if dimension.get_or_insert_with(|| dim.clone()) != dim {
            return Err(syntax("a condition of concat_where is about one dimension; nest two instead"));
        }
        terms.push(IndexTerm::Compare(comparison, bound(self.program, right)?));
        self.depth -= 1;
        Ok(())
    }
}

/// Which parts behind the head of an expression are values; none of what is no expression.
fn places_of_values(head: &str, parts: usize) -> Range<usize> {
    match (head, parts) {
        ("where", 3) => 0..3,
        ("concat_where", 3) => 1..3,
        ("shift" | "cast" | "broadcast" | "shift_all", 2) | ("gather" | "column", 3) => 0..1,
        (_, 2) if FieldBinary::from_name(head).is_some() => 0..2,
        (_, 2) if FieldReduction::from_name(head).is_some() => 0..1,
        (_, 1) if FieldUnary::from_name(head).is_some() => 0..1,
        _ => 0..0,
    }
}
