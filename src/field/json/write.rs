//! Writes programs in the JSON form, version 2, with the data if there is some.

use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::dimension::DimensionId;
use crate::field::element::{FieldLiteral, dtype_name};
use crate::field::expression::{
    BoundTerm, FieldBound, FieldNode, FieldNodeId, IndexComparison, IndexCondition, IndexTerm,
};
use crate::field::json::values::write_scalar;
use crate::field::program::{
    FieldDeclaration, FieldProgram, FieldRange, FieldRole, FieldScan, FieldStatement, FieldTarget,
    FieldValue, ScanDirection,
};
use crate::field::sharing::DeclaredNames;
use cembra_vm::value::ScalarType;
use hashbrown::HashMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json};

/// Writes a program that was checked. Data fills `data`, `init`, `origin` and `shape`; without it these stay as far as
/// the program declares them.
pub fn write_field_program(program: &FieldProgram, data: Option<&FieldData>) -> Json {
    let mut out = Map::new();
    out.insert("version".to_owned(), json!(2));
    let dims = program.dims.iter().map(|dim| (dim.name.to_string(), json!(dim.kind.name())));
    out.insert("dims".to_owned(), Json::Object(dims.collect()));
    if !program.tables.is_empty() {
        out.insert("tables".to_owned(), tables(program, data));
    }
    for (key, role) in [("inputs", FieldRole::Input), ("outputs", FieldRole::Output)] {
        let fields = program.fields.iter().filter(|field| field.role == role);
        let content = |field: &FieldDeclaration| data.and_then(|data| data.fields.get(&*field.name));
        let fields = fields.map(|f| (f.name.to_string(), field(program, f, content(f))));
        let fields = Json::Object(fields.collect());
        out.insert(key.to_owned(), fields);
        if role == FieldRole::Input {
            out.insert("scalars".to_owned(), scalars(program, data));
        }
    }
    let names = DeclaredNames::of(program);
    let statements = program.statements.iter().map(|s| Writing::new(&names, program, s).statement(s));
    out.insert("statements".to_owned(), statements.collect());
    Json::Object(out)
}

/// The values of a buffer as a list, the last axis fastest; no tree is made of them before they are written.
pub struct WrittenCells<'b>(pub &'b FieldBuffer);

impl Serialize for WrittenCells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.0.view();
        serializer.collect_seq(values.scalars().map(|value| write_scalar(&value, self.0.dtype())))
    }
}

fn tables(program: &FieldProgram, data: Option<&FieldData>) -> Json {
    let mut all = Map::new();
    for table in &program.tables {
        let name = |id: DimensionId| program.dim_name(id);
        let mut json = json!({
            "from": name(table.from), "to": name(table.to), "local": name(table.local),
            "max_neighbors": table.width,
        });
        if let Some(entries) = data.and_then(|data| data.tables.get(&*table.name)) {
            json["data"] = entries.entries().chunks(table.width).map(|row| json!(row)).collect();
        }
        if let Some(skip) = table.skip {
            json["skip"] = json!(skip);
        }
        if table.origin != 0 {
            json["origin"] = json!(table.origin);
        }
        all.insert(table.name.to_string(), json);
    }
    Json::Object(all)
}

fn field(program: &FieldProgram, field: &FieldDeclaration, content: Option<&FieldBuffer>) -> Json {
    let dims: Vec<&str> = field.dims.iter().map(|dim| program.dim_name(*dim)).collect();
    let mut json = json!({ "dims": dims });
    let origin = content.map(FieldBuffer::origin).or(field.origin.as_deref());
    if let Some(origin) = origin {
        json["origin"] = json!(origin);
    }
    if let Some(shape) = content.map(FieldBuffer::shape).or(field.shape.as_deref()) {
        json["shape"] = json!(shape);
    }
    if field.dtype != ScalarType::Float64 {
        json["dtype"] = json!(dtype_name(field.dtype));
    }
    match content {
        Some(buffer) => {
            let key = if field.role == FieldRole::Input { "data" } else { "init" };
            json[key] = json!(WrittenCells(buffer));
        }
        None => {
            if let Some(fill) = &field.fill {
                json["fill"] = write_scalar(fill, field.dtype);
            }
        }
    }
    json
}

fn scalars(program: &FieldProgram, data: Option<&FieldData>) -> Json {
    let mut all = Map::new();
    for scalar in &program.scalars {
        let value = data.and_then(|data| data.scalars.get(&*scalar.name)).or(scalar.value.as_ref());
        let plain = scalar.dtype == ScalarType::Float64 && !scalar.is_static;
        let json = match value {
            Some(value) if plain => write_scalar(value, scalar.dtype),
            value => {
                let mut json = json!({ "dtype": dtype_name(scalar.dtype) });
                if let Some(value) = value {
                    json["value"] = write_scalar(value, scalar.dtype);
                }
                if scalar.is_static {
                    json["static"] = json!(true);
                }
                json
            }
        };
        all.insert(scalar.name.to_string(), json);
    }
    Json::Object(all)
}

/// A statement while it is written.
struct Writing<'p> {
    program: &'p FieldProgram,
    definitions: Vec<(FieldNodeId, String)>,
    names: HashMap<FieldNodeId, String>,
    carries: Vec<String>,
}

impl<'p> Writing<'p> {
    fn new(names: &DeclaredNames<'_>, program: &'p FieldProgram, statement: &FieldStatement) -> Writing<'p> {
        let definitions = names.definitions(statement);
        let carries = match &statement.value {
            FieldValue::Scan(scan) => scan.carry.iter().map(|carry| carry.name.to_string()).collect(),
            FieldValue::Pointwise(_) => Vec::new(),
        };
        Writing { program, definitions, names: HashMap::new(), carries }
    }

    fn statement(mut self, statement: &FieldStatement) -> Json {
        let targets: Vec<&str> =
            statement.targets.iter().map(|t| &*self.program.fields[t.field.0].name).collect();
        let mut json = json!({ "targets": targets, "domain": self.domains(&statement.targets) });
        match &statement.value {
            FieldValue::Pointwise(roots) => json["expr"] = self.values(roots),
            FieldValue::Scan(scan) => json["scan"] = self.scan(statement, scan),
        }
        json
    }

    fn domains(&self, targets: &[FieldTarget]) -> Json {
        let mut domains = targets.iter().map(|target| self.domain(target));
        match targets.iter().all(|target| target.domain == targets[0].domain) {
            true => domains.next().unwrap_or(Json::Null),
            false => domains.collect(),
        }
    }

    fn domain(&self, target: &FieldTarget) -> Json {
        let Some(ranges) = &target.domain else { return Json::Null };
        let range = |range: &FieldRange| {
            let name = self.program.dim_name(range.dimension).to_owned();
            let bounds = [&range.first, &range.end].map(|bound| bound_json(self.program, bound));
            (name, json!(bounds))
        };
        Json::Object(ranges.iter().map(range).collect())
    }

    /// The values, below a `let` of what is used more than once.
    fn values(&mut self, roots: &[FieldNodeId]) -> Json {
        let mut bindings = Vec::new();
        for (id, name) in std::mem::take(&mut self.definitions) {
            bindings.push(json!([name, self.node(id)]));
            self.names.insert(id, name);
        }
        let mut values: Vec<Json> = roots.iter().map(|root| self.expression(*root)).collect();
        let body = match values.len() {
            1 => values.remove(0),
            _ => std::iter::once(json!("tuple")).chain(values).collect(),
        };
        if bindings.is_empty() { body } else { json!(["let", bindings, body]) }
    }

    fn scan(&mut self, statement: &FieldStatement, scan: &FieldScan) -> Json {
        let read = self.program.fields_read(statement);
        let inputs: Vec<&str> = read.iter().map(|id| &*self.program.fields[id.0].name).collect();
        let init = |init: &FieldLiteral| match init.dtype() {
            ScalarType::Float64 => write_scalar(init.value(), init.dtype()),
            _ => literal(init),
        };
        json!({
            "axis": self.program.dim_name(scan.axis),
            "forward": scan.direction == ScanDirection::Forward,
            "init": scan.carry.iter().map(|carry| init(&carry.init)).collect::<Vec<_>>(),
            "inputs": inputs,
            "carry": self.carries.clone(),
            "body": self.values(&scan.body),
        })
    }

    fn expression(&self, id: FieldNodeId) -> Json {
        match self.names.get(&id) {
            Some(name) => json!(["ref", name]),
            None => self.node(id),
        }
    }

    fn node(&self, id: FieldNodeId) -> Json {
        let program = self.program;
        let of = |id: &FieldNodeId| self.expression(*id);
        match program.nodes.get(id) {
            FieldNode::Literal(value) => literal(value),
            FieldNode::Field(id) => json!(["ref", &*program.fields[id.0].name]),
            FieldNode::Scalar(id) => json!(["ref", &*program.scalars[id.0].name]),
            FieldNode::Carry(number, _) => json!(["ref", self.carries[*number]]),
            FieldNode::Shift(a, offsets) => {
                let offsets = offsets.iter().map(|(dim, by)| (program.dim_name(*dim).to_owned(), json!(by)));
                json!(["shift", of(a), Json::Object(offsets.collect())])
            }
            FieldNode::Unary(op, a) => json!([op.name(), of(a)]),
            FieldNode::Binary(op, a, b) => json!([op.name(), of(a), of(b)]),
            FieldNode::Where(c, a, b) => json!(["where", of(c), of(a), of(b)]),
            FieldNode::Cast(a, dtype) => json!(["cast", of(a), dtype_name(*dtype)]),
            FieldNode::Broadcast(a, dims) => {
                let dims: Vec<&str> = dims.iter().map(|dim| program.dim_name(*dim)).collect();
                json!(["broadcast", of(a), dims])
            }
            FieldNode::Gather(a, table, column) => {
                json!(["gather", of(a), &*program.tables[table.0].name, column])
            }
            FieldNode::ShiftAll(a, table) => {
                json!(["shift_all", of(a), &*program.tables[table.0].name])
            }
            FieldNode::Column(a, local, column) => {
                json!(["column", of(a), program.dim_name(*local), column])
            }
            FieldNode::Reduce(op, a, local) => json!([op.name(), of(a), program.dim_name(*local)]),
            FieldNode::ConcatWhere(condition, a, b) => {
                json!(["concat_where", condition_json(program, condition), of(a), of(b)])
            }
        }
    }
}

fn literal(literal: &FieldLiteral) -> Json {
    match literal.dtype() {
        dtype @ ScalarType::Float64 => json!(["lit", write_scalar(literal.value(), dtype)]),
        dtype => json!(["lit", write_scalar(literal.value(), dtype), dtype_name(dtype)]),
    }
}

fn bound_json(program: &FieldProgram, bound: &FieldBound) -> Json {
    if let [BoundTerm::Literal(value)] = bound.0[..] {
        return json!(value);
    }
    let mut stack: Vec<Json> = Vec::new();
    for term in &bound.0 {
        let json = match term {
            BoundTerm::Literal(value) => json!(["lit", value, "int32"]),
            BoundTerm::Scalar(id) => json!(["ref", &*program.scalars[id.0].name]),
            BoundTerm::Add | BoundTerm::Sub | BoundTerm::Mul => {
                let (right, left) = (stack.pop(), stack.pop());
                let name = match term {
                    BoundTerm::Add => "add",
                    BoundTerm::Sub => "sub",
                    _ => "mul",
                };
                json!([name, left, right])
            }
        };
        stack.push(json);
    }
    stack.pop().unwrap_or(Json::Null)
}

fn condition_json(program: &FieldProgram, condition: &IndexCondition) -> Json {
    let dim = program.dim_name(condition.dimension);
    let mut stack: Vec<Json> = Vec::new();
    for term in &condition.terms {
        let json = match term {
            IndexTerm::Compare(comparison, bound) => {
                let name = match comparison {
                    IndexComparison::Lt => "lt",
                    IndexComparison::Le => "le",
                    IndexComparison::Gt => "gt",
                    IndexComparison::Ge => "ge",
                    IndexComparison::Eq => "eq",
                    IndexComparison::Ne => "ne",
                };
                let right = match bound.0[..] {
                    [BoundTerm::Literal(value)] => json!(["lit", value, "int32"]),
                    _ => bound_json(program, bound),
                };
                json!([name, ["dim", dim], right])
            }
            IndexTerm::And | IndexTerm::Or => {
                let (right, left) = (stack.pop(), stack.pop());
                json!([if *term == IndexTerm::And { "and" } else { "or" }, left, right])
            }
        };
        stack.push(json);
    }
    stack.pop().unwrap_or(Json::Null)
}
