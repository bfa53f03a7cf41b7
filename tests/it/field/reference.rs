//! An evaluator index by index: it reads the JSON of a case, and computes each cell by itself.
//!
//! Types are those of the values; nothing is checked beforehand. An error is that of a cell. It shares no code with the
//! lowering, and works on plain maps from dimension to index.

use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A value of one of the element types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Bool(bool),
    Int32(i32),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    Int8(i8),
    Int16(i16),
    Uint8(u8),
    Uint16(u16),
    Uint32(u32),
    Uint64(u64),
}

/// Where a value is computed: an index for each dimension, and whether a table gave it.
type Point = BTreeMap<String, (i64, bool)>;

/// Names of `let` and of scans: values, or expressions with the names around them.
#[derive(Clone, Default)]
struct Names(Option<Rc<Name>>);

struct Name {
    name: String,
    meaning: Meaning,
    outer: Names,
}

enum Meaning {
    Value(Cell),
    Expression(Json, Names),
}

impl Names {
    fn with(&self, name: &str, meaning: Meaning) -> Names {
        Names(Some(Rc::new(Name { name: name.to_owned(), meaning, outer: self.clone() })))
    }

    fn find(&self, name: &str) -> Option<&Meaning> {
        let mut names = self;
        while let Some(found) = &names.0 {
            if found.name == name {
                return Some(&found.meaning);
            }
            names = &found.outer;
        }
        None
    }
}

struct Field {
    dims: Vec<String>,
    origin: Vec<i64>,
    shape: Vec<i64>,
    cells: Vec<Cell>,
    /// False for the cells of an output without data that no statement has written.
    has_value: Vec<bool>,
}

pub struct Reference<'j> {
    case: &'j Json,
    fields: BTreeMap<String, Field>,
}

type Evaluated = Result<Cell, String>;

fn texts(json: &Json) -> Vec<String> {
    json.as_array().expect("a list").iter().map(|t| t.as_str().expect("a name").to_owned()).collect()
}

fn integers(json: &Json) -> Vec<i64> {
    json.as_array().expect("a list").iter().map(|n| n.as_i64().expect("an integer")).collect()
}

fn cell(json: &Json, dtype: &str) -> Cell {
    let float = || match json.as_str() {
        Some("nan") => f64::NAN,
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => json.as_f64().expect("a number"),
    };
    match dtype {
        "bool" => Cell::Bool(json.as_bool().expect("a truth value")),
        "int32" => Cell::Int32(float() as i32),
        "int64" => Cell::Int64(json.as_i64().expect("an integer")),
        "uint64" => Cell::Uint64(json.as_u64().expect("an integer")),
        "int8" | "int16" | "uint8" | "uint16" | "uint32" => cast(Cell::Float64(float()), dtype),
        "float32" => Cell::Float32(float() as f32),
        _ => Cell::Float64(float()),
    }
}

impl<'j> Reference<'j> {
    pub fn new(case: &'j Json) -> Reference<'j> {
        let mut fields = BTreeMap::new();
        for (key, role) in [("inputs", "data"), ("outputs", "init")] {
            for (name, field) in case[key].as_object().into_iter().flatten() {
                let dtype = field["dtype"].as_str().unwrap_or("float64");
                let shape = integers(&field["shape"]);
                let count = shape.iter().product::<i64>() as usize;
                let cells = match &field[role] {
                    Json::Array(cells) => cells.iter().map(|json| cell(json, dtype)).collect(),
                    _ if field["fill"].is_null() => vec![cast(Cell::Int32(0), dtype); count],
                    _ => vec![cell(&field["fill"], dtype); count],
                };
                let has_value = vec![field[role].is_array() || !field["fill"].is_null(); count];
                let (dims, origin) = (texts(&field["dims"]), integers(&field["origin"]));
                fields.insert(name.clone(), Field { dims, origin, shape, cells, has_value });
            }
        }
        Reference { case, fields }
    }

    /// The outputs, or the classes of all errors that cells of the first statement with errors have.
    pub fn run(mut self) -> Result<Json, BTreeSet<String>> {
        for statement in self.case["statements"].as_array().expect("a list of statements") {
            self.statement(statement)?;
        }
        let mut outputs = Map::new();
        for name in self.case["outputs"].as_object().expect("outputs").keys() {
            let cells: Vec<Json> = self.fields[name].cells.iter().map(written).collect();
            outputs.insert(name.clone(), json!({ "data": cells }));
        }
        Ok(Json::Object(outputs))
    }

    fn statement(&mut self, statement: &Json) -> Result<(), BTreeSet<String>> {
        let mut errors = BTreeSet::new();
        let mut stores: Vec<(String, Point, Cell)> = Vec::new();
        for (number, target) in texts(&statement["targets"]).into_iter().enumerate() {
            let Some(points) = self.domain(statement, number, &target, &mut errors) else { continue };
            for point in points {
                let value = match statement["scan"].is_null() {
                    true => self.tuple(&statement["expr"], number, &point, &Names::default()),
                    false => self.scan(statement, number, &target, &point),
                };
                match value {
                    Ok(value) => stores.push((target.clone(), point, value)),
                    Err(classes) => errors.extend(classes.split(' ').map(str::to_owned)),
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        for (target, point, value) in stores {
            let field = self.fields.get_mut(&target).expect("an output");
            let at = place(field, &point).expect("the domain lies inside");
            (field.cells[at], field.has_value[at]) = (value, true);
        }
        Ok(())
    }

    /// All points of a target's domain; none if it is empty.
    fn domain(
        &self,
        statement: &Json,
        number: usize,
        target: &str,
        errors: &mut BTreeSet<String>,
    ) -> Option<Vec<Point>> {
        let field = &self.fields[target];
        let ranges = self.ranges(statement, number, target);
        if ranges.iter().any(|(first, end)| end <= first) {
            return None;
        }
        let mut points = vec![Point::new()];
        for (axis, (first, end)) in ranges.iter().enumerate() {
            if *first < field.origin[axis] || *end > field.origin[axis] + field.shape[axis] {
                errors.insert("out_of_domain".to_owned());
                return None;
            }
            let extend = |point: &Point| {
                (*first..*end)
                    .map(|index| {
                        let mut point = point.clone();
                        point.insert(field.dims[axis].clone(), (index, false));
                        point
                    })
                    .collect::<Vec<_>>()
            };
            points = points.iter().flat_map(extend).collect();
        }
        Some(points)
    }

    fn ranges(&self, statement: &Json, number: usize, target: &str) -> Vec<(i64, i64)> {
        let field = &self.fields[target];
        let domain = match &statement["domain"] {
            Json::Array(domains) => &domains[number],
            domain => domain,
        };
        let range = |(axis, dim): (usize, &String)| match domain {
            Json::Null => (field.origin[axis], field.origin[axis] + field.shape[axis]),
            domain => (self.bound(&domain[dim][0]), self.bound(&domain[dim][1])),
        };
        field.dims.iter().enumerate().map(range).collect()
    }

    fn bound(&self, json: &Json) -> i64 {
        if let Some(value) = json.as_i64() {
            return value;
        }
        match json[0].as_str().expect("an operation") {
            "lit" => json[1].as_i64().expect("an integer"),
            "ref" => match self.scalar(json[1].as_str().expect("a name")) {
                Some(Cell::Int32(value)) => i64::from(value),
                other => panic!("{other:?} is no bound"),
            },
            "add" => self.bound(&json[1]) + self.bound(&json[2]),
            "sub" => self.bound(&json[1]) - self.bound(&json[2]),
            _ => self.bound(&json[1]) * self.bound(&json[2]),
        }
    }

    fn scalar(&self, name: &str) -> Option<Cell> {
        match &self.case["scalars"][name] {
            Json::Null => None,
            Json::Object(map) => Some(cell(&map["value"], map["dtype"].as_str().unwrap_or("float64"))),
            value => Some(cell(value, "float64")),
        }
    }

    /// Computes a column from its first level up to the point.
    fn scan(&self, statement: &Json, number: usize, target: &str, point: &Point) -> Evaluated {
        let scan = &statement["scan"];
        let axis = scan["axis"].as_str().expect("an axis");
        let place = self.fields[target].dims.iter().position(|dim| dim == axis).expect("an axis");
        let (first, end) = self.ranges(statement, number, target)[place];
        let level = point[axis].0;
        let levels: Vec<i64> = match scan["forward"].as_bool().expect("a direction") {
            true => (first..=level).collect(),
            false => (level..end).rev().collect(),
        };
        let names = texts(&scan["carry"]);
        let init = |json: &Json| match json {
            Json::Array(literal) => cell(&literal[1], literal.get(2).and_then(Json::as_str).unwrap_or("")),
            value => cell(value, "float64"),
        };
        let mut carry: Vec<Cell> = scan["init"].as_array().expect("a list").iter().map(init).collect();
        // Of the errors of all levels any may be named.
        let mut errors: Vec<String> = Vec::new();
        for level in levels {
            let mut at = point.clone();
            at.insert(axis.to_owned(), (level, false));
            let values = names.iter().zip(&carry);
            let scope = values
                .fold(Names::default(), |scope, (name, value)| scope.with(name, Meaning::Value(*value)));
            let next = (0..names.len()).map(|number| self.tuple(&scan["body"], number, &at, &scope));
            match next.collect::<Result<_, _>>() {
                Ok(next) => carry = next,
                Err(class) => errors.push(class),
            }
        }
        if errors.is_empty() { Ok(carry[number]) } else { Err(errors.join(" ")) }
    }

    /// The value for one target, below any `let`.
    fn tuple(&self, json: &Json, number: usize, point: &Point, names: &Names) -> Evaluated {
        match json[0].as_str() {
            Some("let") => self.tuple(&json[2], number, point, &bound(&json[1], names)),
            Some("tuple") => self.value(&json[1 + number], point, names),
            _ => self.value(json, point, names),
        }
    }

    fn value(&self, json: &Json, point: &Point, names: &Names) -> Evaluated {
        let head = json[0].as_str().expect("an operation");
        let operand = |number: usize| self.value(&json[number], point, names);
        let text = |number: usize| json[number].as_str().expect("a name");
        match head {
            "lit" => Ok(cell(&json[1], json[2].as_str().unwrap_or("float64"))),
            "ref" => self.reference(text(1), point, names),
            "let" => self.value(&json[2], point, &bound(&json[1], names)),
            "shift" => {
                let mut at = point.clone();
                for (dim, by) in json[2].as_object().expect("offsets") {
                    at.get_mut(dim).expect("a dimension of the point").0 += by.as_i64().expect("an offset");
                }
                self.value(&json[1], &at, names)
            }
            "broadcast" => operand(1),
            "where" => match operand(1)? {
                Cell::Bool(holds) => {
                    let (a, b) = (operand(2)?, operand(3)?);
                    Ok(if holds { a } else { b })
                }
                other => panic!("{other:?} is no condition"),
            },
            "cast" => Ok(cast(operand(1)?, text(2))),
            "concat_where" => {
                let number = if self.condition(&json[1], point) { 2 } else { 3 };
                operand(number)
            }
            "gather" => {
                let column = json[3].as_u64().expect("a column") as usize;
                self.value(&json[1], &self.neighbor(text(2), column, point)?, names)
            }
            "column" => {
                let mut at = point.clone();
                at.insert(text(2).to_owned(), (json[3].as_i64().expect("a column"), false));
                self.value(&json[1], &at, names)
            }
            "shift_all" => {
                let local = self.table(text(2))["local"].as_str().expect("a dimension");
                let column = point[local].0 as usize;
                let mut at = self.neighbor(text(2), column, point)?;
                at.remove(local);
                self.value(&json[1], &at, names)
            }
            "neighbor_sum" | "max_over" | "min_over" => self.reduce(head, &json[1], text(2), point, names),
            _ if json.as_array().map(Vec::len) == Some(2) => Ok(unary(head, operand(1)?)),
            _ => Ok(binary(head, operand(1)?, operand(2)?)),
        }
    }

    fn reference(&self, name: &str, point: &Point, names: &Names) -> Evaluated {
        match names.find(name) {
            Some(Meaning::Value(value)) => return Ok(*value),
            Some(Meaning::Expression(json, outer)) => return self.value(json, point, outer),
            None => {}
        }
        let Some(field) = self.fields.get(name) else {
            return Ok(self.scalar(name).expect("a scalar"));
        };
        match place(field, point) {
            Some(at) if !field.has_value[at] => Err("data".to_owned()),
            Some(at) => Ok(field.cells[at]),
            None => {
                let is_outside = |(axis, dim): &(usize, &String)| {
                    let index = point[*dim].0 - field.origin[*axis];
                    index < 0 || index >= field.shape[*axis]
                };
                // Of several indices outside any may be named.
                let outside = field.dims.iter().enumerate().filter(is_outside);
                let classes =
                    outside.map(|(_, dim)| if point[dim].1 { "table_index" } else { "out_of_domain" });
                Err(classes.collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn table(&self, name: &str) -> &Json {
        &self.case["tables"][name]
    }

    /// The row of a table at a point; nothing for a missing neighbour.
    fn entry(&self, table: &str, column: usize, point: &Point) -> Result<Option<i64>, String> {
        let table = self.table(table);
        let from = table["from"].as_str().expect("a dimension");
        let row = point[from].0 - table["origin"].as_i64().unwrap_or(0);
        let rows = table["data"].as_array().expect("rows");
        let row = usize::try_from(row).ok().and_then(|row| rows.get(row)).ok_or("out_of_domain")?;
        let entry = row[column].as_i64().expect("an entry");
        Ok((table["skip"].as_i64() != Some(entry)).then_some(entry))
    }

    fn neighbor(&self, table: &str, column: usize, point: &Point) -> Result<Point, String> {
        let entry = self.entry(table, column, point)?.ok_or("table_index")?;
        let table = self.table(table);
        let name = |key: &str| table[key].as_str().expect("a dimension").to_owned();
        let mut at = point.clone();
        at.remove(&name("from"));
        at.insert(name("to"), (entry, true));
        Ok(at)
    }

    fn reduce(&self, head: &str, json: &Json, local: &str, point: &Point, names: &Names) -> Evaluated {
        let tables = self.case["tables"].as_object().expect("tables");
        let (table, declared) = tables.iter().find(|(_, table)| table["local"] == local).expect("a table");
        let mut result: Option<Cell> = None;
        for column in 0..declared["max_neighbors"].as_u64().expect("a width") as usize {
            if self.entry(table, column, point)?.is_none() {
                continue;
            }
            let mut at = point.clone();
            at.insert(local.to_owned(), (column as i64, false));
            let value = self.value(json, &at, names)?;
            let zero = cast(Cell::Int32(0), dtype(value));
            result = Some(match (head, result) {
                ("neighbor_sum", before) => binary("add", before.unwrap_or(zero), value),
                (_, None) => value,
                ("max_over", Some(before)) => binary("max", before, value),
                (_, Some(before)) => binary("min", before, value),
            });
        }
        match (head, result) {
            (_, Some(result)) => Ok(result),
            // The sum of nothing has the type of what is not there; the cases here have float64.
            ("neighbor_sum", None) => Ok(Cell::Float64(0.0)),
            (_, None) => Err("table_index".to_owned()),
        }
    }

    fn condition(&self, json: &Json, point: &Point) -> bool {
        let head = json[0].as_str().expect("a comparison");
        if head == "and" || head == "or" {
            let (a, b) = (self.condition(&json[1], point), self.condition(&json[2], point));
            return if head == "and" { a && b } else { a || b };
        }
        let index = point[json[1][1].as_str().expect("a dimension")].0;
        let bound = self.bound(&json[2]);
        match head {
            "lt" => index < bound,
            "le" => index <= bound,
            "gt" => index > bound,
            "ge" => index >= bound,
            "ne" => index != bound,
            _ => index == bound,
        }
    }
}

fn bound(bindings: &Json, names: &Names) -> Names {
    bindings.as_array().expect("bindings").iter().fold(names.clone(), |names, binding| {
        let meaning = Meaning::Expression(binding[1].clone(), names.clone());
        names.with(binding[0].as_str().expect("a name"), meaning)
    })
}

fn place(field: &Field, point: &Point) -> Option<usize> {
    let mut at = 0;
    for (axis, dim) in field.dims.iter().enumerate() {
        let index = point[dim].0 - field.origin[axis];
        if index < 0 || index >= field.shape[axis] {
            return None;
        }
        at = at * field.shape[axis] + index;
    }
    Some(at as usize)
}

fn written(cell: &Cell) -> Json {
    let float = |value: f64| match value {
        _ if value.is_nan() => json!("nan"),
        _ if value.is_infinite() => json!(if value > 0.0 { "inf" } else { "-inf" }),
        _ => json!(value),
    };
    match *cell {
        Cell::Bool(value) => json!(value),
        Cell::Int32(value) => json!(value),
        Cell::Int64(value) => json!(value),
        Cell::Int8(value) => json!(value),
        Cell::Int16(value) => json!(value),
        Cell::Uint8(value) => json!(value),
        Cell::Uint16(value) => json!(value),
        Cell::Uint32(value) => json!(value),
        Cell::Uint64(value) => json!(value),
        Cell::Float32(value) if value.is_finite() => {
            json!(value.to_string().parse::<f64>().expect("a number"))
        }
        Cell::Float32(value) => float(f64::from(value)),
        Cell::Float64(value) => float(value),
    }
}

fn dtype(cell: Cell) -> &'static str {
    match cell {
        Cell::Bool(_) => "bool",
        Cell::Int32(_) => "int32",
        Cell::Int64(_) => "int64",
        Cell::Int8(_) => "int8",
        Cell::Int16(_) => "int16",
        Cell::Uint8(_) => "uint8",
        Cell::Uint16(_) => "uint16",
        Cell::Uint32(_) => "uint32",
        Cell::Uint64(_) => "uint64",
        Cell::Float32(_) => "float32",
        Cell::Float64(_) => "float64",
    }
}

fn cast(value: Cell, to: &str) -> Cell {
    macro_rules! all {
        ($value:expr) => {
            match to {
                "bool" => Cell::Bool($value as f64 != 0.0),
                "int32" => Cell::Int32($value as i32),
                "int64" => Cell::Int64($value as i64),
                "int8" => Cell::Int8($value as i8),
                "int16" => Cell::Int16($value as i16),
                "uint8" => Cell::Uint8($value as u8),
                "uint16" => Cell::Uint16($value as u16),
                "uint32" => Cell::Uint32($value as u32),
                "uint64" => Cell::Uint64($value as u64),
                "float32" => Cell::Float32($value as f32),
                _ => Cell::Float64($value as f64),
            }
        };
    }
    match value {
        Cell::Bool(value) => cast(Cell::Int32(i32::from(value)), to),
        Cell::Int32(value) => all!(value),
        Cell::Int64(value) => all!(value),
        Cell::Int8(value) => all!(value),
        Cell::Int16(value) => all!(value),
        Cell::Uint8(value) => all!(value),
        Cell::Uint16(value) => all!(value),
        Cell::Uint32(value) => all!(value),
        Cell::Uint64(value) => all!(value),
        Cell::Float32(value) => all!(value),
        Cell::Float64(value) => all!(value),
    }
}

/// What is asked of a float.
fn predicate(op: &str, value: f64) -> Cell {
    Cell::Bool(match op {
        "isnan" => value.is_nan(),
        "isinf" => value.is_infinite(),
        _ => value.is_finite(),
    })
}

fn unary(op: &str, value: Cell) -> Cell {
    macro_rules! float {
        ($value:expr) => {
            match op {
                "neg" => -$value,
                "abs" => $value.abs(),
                "sqrt" => $value.sqrt(),
                "exp" => $value.exp(),
                "log" => $value.ln(),
                "tanh" => $value.tanh(),
                "sin" => $value.sin(),
                "cos" => $value.cos(),
                "tan" => $value.tan(),
                "arcsin" => $value.asin(),
                "arccos" => $value.acos(),
                "arctan" => $value.atan(),
                "sinh" => $value.sinh(),
                "cosh" => $value.cosh(),
                "arcsinh" => $value.asinh(),
                "arccosh" => $value.acosh(),
                "arctanh" => $value.atanh(),
                "cbrt" => $value.cbrt(),
                "floor" => $value.floor(),
                "ceil" => $value.ceil(),
                "trunc" => $value.trunc(),
                other => panic!("{other}"),
            }
        };
    }
    macro_rules! signed {
        ($variant:ident, $value:expr) => {
            Cell::$variant(if op == "neg" { $value.wrapping_neg() } else { $value.wrapping_abs() })
        };
    }
    macro_rules! unsigned {
        ($variant:ident, $value:expr) => {
            Cell::$variant(if op == "neg" { $value.wrapping_neg() } else { $value })
        };
    }
    match value {
        Cell::Bool(value) => Cell::Bool(!value),
        Cell::Int8(value) => signed!(Int8, value),
        Cell::Int16(value) => signed!(Int16, value),
        Cell::Int32(value) => signed!(Int32, value),
        Cell::Int64(value) => signed!(Int64, value),
        Cell::Uint8(value) => unsigned!(Uint8, value),
        Cell::Uint16(value) => unsigned!(Uint16, value),
        Cell::Uint32(value) => unsigned!(Uint32, value),
        Cell::Uint64(value) => unsigned!(Uint64, value),
        Cell::Float32(value) if op.starts_with("is") => predicate(op, value.into()),
        Cell::Float64(value) if op.starts_with("is") => predicate(op, value),
        Cell::Float32(value) => Cell::Float32(float!(value)),
        Cell::Float64(value) => Cell::Float64(float!(value)),
    }
}

/// Quotient rounded down, and what is left, which has the sign of the divisor.
fn floor_div(dividend: i128, divisor: i128) -> (i128, i128) {
    let (quotient, rest) = (dividend.div_euclid(divisor), dividend.rem_euclid(divisor));
    if divisor < 0 && rest != 0 { (quotient - 1, rest + divisor) } else { (quotient, rest) }
}

fn binary(op: &str, left: Cell, right: Cell) -> Cell {
    macro_rules! compare {
        ($l:expr, $r:expr) => {
            match op {
                "lt" => Some($l < $r),
                "le" => Some($l <= $r),
                "gt" => Some($l > $r),
                "ge" => Some($l >= $r),
                "eq" => Some($l == $r),
                "ne" => Some($l != $r),
                _ => None,
            }
        };
    }
    macro_rules! integers {
        ($variant:ident, $l:expr, $r:expr) => {{
            if let Some(truth) = compare!($l, $r) {
                return Cell::Bool(truth);
            }
            Cell::$variant(match op {
                "add" => $l.wrapping_add($r),
                "sub" => $l.wrapping_sub($r),
                "mul" => $l.wrapping_mul($r),
                "min" => {
                    if $r < $l {
                        $r
                    } else {
                        $l
                    }
                }
                "max" => {
                    if $r > $l {
                        $r
                    } else {
                        $l
                    }
                }
                "floordiv" => floor_div($l.into(), $r.into()).0 as _,
                "mod" => floor_div($l.into(), $r.into()).1 as _,
                "fmod" => $l.wrapping_rem($r),
                "pow" => $l.wrapping_pow($r as u32),
                other => panic!("{other}"),
            })
        }};
    }
    macro_rules! floats {
        ($variant:ident, $l:expr, $r:expr) => {{
            if let Some(truth) = compare!($l, $r) {
                return Cell::Bool(truth);
            }
            Cell::$variant(match op {
                "add" => $l + $r,
                "sub" => $l - $r,
                "mul" => $l * $r,
                "div" => $l / $r,
                "pow" => $l.powf($r),
                "fmod" => $l % $r,
                "min" => {
                    if $l.is_nan() || $l <= $r {
                        $l
                    } else {
                        $r
                    }
                }
                "max" => {
                    if $l.is_nan() || $l >= $r {
                        $l
                    } else {
                        $r
                    }
                }
                other => panic!("{other}"),
            })
        }};
    }
    match (left, right) {
        (Cell::Bool(l), Cell::Bool(r)) => Cell::Bool(match op {
            "and" => l && r,
            "or" => l || r,
            "eq" => l == r,
            _ => l != r,
        }),
        (Cell::Int32(l), Cell::Int32(r)) => integers!(Int32, l, r),
        (Cell::Int64(l), Cell::Int64(r)) => integers!(Int64, l, r),
        (Cell::Int8(l), Cell::Int8(r)) => integers!(Int8, l, r),
        (Cell::Int16(l), Cell::Int16(r)) => integers!(Int16, l, r),
        (Cell::Uint8(l), Cell::Uint8(r)) => integers!(Uint8, l, r),
        (Cell::Uint16(l), Cell::Uint16(r)) => integers!(Uint16, l, r),
        (Cell::Uint32(l), Cell::Uint32(r)) => integers!(Uint32, l, r),
        (Cell::Uint64(l), Cell::Uint64(r)) => integers!(Uint64, l, r),
        (Cell::Float32(l), Cell::Float32(r)) => floats!(Float32, l, r),
        (Cell::Float64(l), Cell::Float64(r)) => floats!(Float64, l, r),
        (l, r) => panic!("{op} of {l:?} and {r:?}"),
    }
}
