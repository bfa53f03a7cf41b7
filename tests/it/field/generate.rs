//! Random field programs, as JSON of the recorded form.
//!
//! Programs are well typed. Domains are small parts of the middle of their fields, so that most programs have values and
//! some read outside.

use fastrand::Rng;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// A program while it is made.
pub struct Generator {
    rng: Rng,
    /// The element type of most values.
    dtype: &'static str,
    dims: Vec<(&'static str, &'static str)>,
    /// Names and dimensions of fields that may be read.
    readable: Vec<(String, Vec<&'static str>)>,
    sizes: Vec<(&'static str, i64)>,
    /// Names of `let` with their dimensions.
    bound: Vec<(String, BTreeSet<&'static str>)>,
    names: usize,
}

/// An expression and its dimensions.
type Made = (Json, BTreeSet<&'static str>);

/// What a program has besides the basics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// Shifts, domains, several statements, scans.
    Grid,
    /// Neighbour tables.
    Mesh,
    /// The same with integers that are narrow or have no sign, and int64.
    NarrowGrid,
    NarrowMesh,
}

const NARROW: [&str; 7] = ["int8", "int16", "uint8", "uint16", "uint32", "uint64", "int64"];

impl Generator {
    pub fn new(seed: u64, flavor: Flavor) -> Generator {
        let mut rng = Rng::with_seed(seed);
        let dtype = match flavor {
            Flavor::Grid | Flavor::Mesh => {
                *rng.choice(&["float64", "float64", "float64", "float32", "int32"]).expect("a list")
            }
            Flavor::NarrowGrid | Flavor::NarrowMesh => *rng.choice(&NARROW).expect("a list"),
        };
        let (dims, sizes) = match flavor {
            Flavor::Grid | Flavor::NarrowGrid => {
                let dims = vec![("I", "horizontal"), ("J", "horizontal"), ("K", "vertical")];
                (dims, vec![("I", 9), ("J", 8), ("K", 7)])
            }
            Flavor::Mesh | Flavor::NarrowMesh => {
                let dims = vec![
                    ("Cell", "horizontal"),
                    ("Edge", "horizontal"),
                    ("K", "vertical"),
                    ("C2E", "local"),
                    ("E2C", "local"),
                    ("C2C", "local"),
                ];
                (dims, vec![("Cell", 6), ("Edge", 8), ("K", 5)])
            }
        };
        Generator { rng, dtype, dims, readable: Vec::new(), sizes, bound: Vec::new(), names: 0 }
    }

    fn size(&self, dim: &str) -> i64 {
        self.sizes.iter().find(|(name, _)| *name == dim).map_or(0, |(_, size)| *size)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    fn number(&mut self) -> Json {
        match self.dtype {
            "int32" => json!(self.rng.i32(-9..10)),
            "int8" => json!(self.rng.i8(..)),
            "int16" => json!(self.rng.i16(..)),
            "int64" => json!(self.rng.i64(..)),
            "uint8" => json!(self.rng.u8(..)),
            "uint16" => json!(self.rng.u16(..)),
            "uint32" => json!(self.rng.u32(..)),
            "uint64" => json!(self.rng.u64(..)),
            _ => json!(f64::from(self.rng.i32(-4000..4000)) / 1000.0),
        }
    }

    fn literal(&mut self) -> Json {
        let number = self.number();
        match self.dtype {
            "float64" => json!(["lit", number]),
            dtype => json!(["lit", number, dtype]),
        }
    }

    fn field(&mut self, dims: &[&'static str], origin: Vec<i64>, shape: Vec<i64>, key: &str) -> Json {
        let count = shape.iter().product::<i64>();
        let cells: Vec<Json> = (0..count).map(|_| self.number()).collect();
        json!({ "dims": dims, "origin": origin, "shape": shape, "dtype": self.dtype, key: cells })
    }

    /// A field that is large enough for most reads; a local dimension has all columns of its table.
    fn any_field(&mut self, dims: &[&'static str], key: &str) -> Json {
        let (mut origin, mut shape) = (Vec::new(), Vec::new());
        for dim in dims {
            let size = self.size(dim);
            match *dim {
                "C2E" | "C2C" => (origin.push(0), shape.push(4)),
                "E2C" => (origin.push(0), shape.push(2)),
                "Cell" | "Edge" => (origin.push(0), shape.push(size)),
                _ => {
                    let less = self.rng.i64(0..2);
                    (origin.push(-3 + less), shape.push(size - less))
                }
            };
        }
        self.field(dims, origin, shape, key)
    }

    /// The whole case.
    pub fn case(mut self, flavor: Flavor) -> Json {
        let dims: Map<String, Json> =
            self.dims.iter().map(|(name, kind)| ((*name).to_owned(), json!(kind))).collect();
        let mut case = json!({ "version": 2, "name": "random", "dims": dims });
        let (tables, spaces): (Json, Vec<Vec<&'static str>>) = match flavor {
            Flavor::Grid | Flavor::NarrowGrid => (
                Json::Null,
                vec![vec!["I", "J", "K"], vec!["I", "K"], vec!["I", "J"], vec!["J"], vec!["K"], vec!["I"]],
            ),
            Flavor::Mesh | Flavor::NarrowMesh => {
                let spaces = vec![vec!["Cell", "K"], vec!["Edge", "K"], vec!["Cell"], vec!["Edge"]];
                (self.tables(), spaces)
            }
        };
        if !tables.is_null() {
            case["tables"] = tables;
        }
        let mut inputs = Map::new();
        for (number, dims) in spaces.iter().enumerate() {
            let name = format!("x{number}");
            inputs.insert(name.clone(), self.any_field(dims, "data"));
            self.readable.push((name, dims.clone()));
        }
        if matches!(flavor, Flavor::Mesh | Flavor::NarrowMesh) {
            inputs.insert("w".to_owned(), self.any_field(&["Cell", "C2E"], "data"));
        }
        case["inputs"] = Json::Object(inputs);
        let value = self.number();
        case["scalars"] = json!({
            "a": { "dtype": self.dtype, "value": value, "static": self.rng.bool() },
            "n": { "dtype": "int32", "value": self.rng.i32(0..3) },
        });
        let outputs: Vec<(String, Vec<&'static str>)> =
            (0..3).map(|n| (format!("y{n}"), spaces[self.rng.usize(0..spaces.len())].clone())).collect();
        let mut declared = Map::new();
        for (name, dims) in &outputs {
            let mut field = self.any_field(dims, "init");
            if self.chance(20) {
                // Without values, until a statement writes some.
                field.as_object_mut().expect("a field").remove("init");
            }
            declared.insert(name.clone(), field);
        }
        case["outputs"] = Json::Object(declared);
        self.readable.extend(outputs.iter().cloned());
        let count = self.rng.usize(1..4);
        let statements: Vec<Json> = (0..count).map(|_| self.statement(&outputs)).collect();
        case["statements"] = json!(statements);
        case
    }

    fn tables(&mut self) -> Json {
        let (cells, edges) = (self.size("Cell"), self.size("Edge"));
        let mut table = |from: &str, to: &str, rows: i64, points: i64, width: usize, skips: bool| {
            let data: Vec<Vec<i64>> = (0..rows)
                .map(|_| {
                    let entry = |column: usize, rng: &mut Rng| match column > 0 && skips && rng.u32(0..3) == 0
                    {
                        true => -1,
                        false => rng.i64(0..points),
                    };
                    (0..width).map(|column| entry(column, &mut self.rng)).collect()
                })
                .collect();
            let mut json = json!({ "from": from, "to": to, "max_neighbors": width, "data": data });
            if skips {
                json["skip"] = json!(-1);
            }
            json
        };
        let mut tables = json!({
            "C2E": table("Cell", "Edge", cells, edges, 4, true),
            "E2C": table("Edge", "Cell", edges, cells, 2, false),
            "C2C": table("Cell", "Cell", cells, cells, 4, true),
        });
        for name in ["C2E", "E2C", "C2C"] {
            tables[name]["local"] = json!(name);
        }
        if self.chance(5) {
            tables["E2C"]["data"][3][1] = json!(cells + 2);
        }
        tables
    }

    fn domain(&mut self, dims: &[&'static str]) -> Json {
        let mut domain = Map::new();
        for dim in dims {
            let (first, size) = match *dim {
                "Cell" | "Edge" => (self.rng.i64(0..2), self.rng.i64(2..5)),
                _ => (self.rng.i64(-1..1), self.rng.i64(1..4)),
            };
            let mut bounds = [json!(first), json!(first + size)];
            if self.chance(10) {
                bounds = [json!(first), json!(["add", ["ref", "n"], ["lit", first, "int32"]])];
            }
            domain.insert((*dim).to_owned(), json!(bounds));
        }
        Json::Object(domain)
    }

    fn statement(&mut self, outputs: &[(String, Vec<&'static str>)]) -> Json {
        self.bound.clear();
        let first = self.rng.usize(0..outputs.len());
        let (name, dims) = outputs[first].clone();
        if self.chance(20) {
            let other = outputs.iter().find(|(other, of)| *other != name && *of == dims);
            let more = other.filter(|_| self.chance(60)).map(|(other, _)| &**other);
            let targets: Vec<&str> = [&*name].into_iter().chain(more).collect();
            return self.scan(&targets, &dims);
        }
        let mut targets = vec![(name, dims.clone())];
        if self.chance(30) {
            let (name, dims) = outputs[(first + 1) % outputs.len()].clone();
            targets.push((name, dims));
        }
        let mut bindings = Vec::new();
        for _ in 0..self.rng.usize(0..3) {
            let (value, of) = self.value(2, &dims);
            let name = format!("t{}", self.names);
            self.names += 1;
            bindings.push(json!([name, value]));
            self.bound.push((name, of));
        }
        let values: Vec<Json> = targets.iter().map(|(_, dims)| self.exactly(dims)).collect();
        let domains: Vec<Json> = targets.iter().map(|(_, dims)| self.domain(dims)).collect();
        let mut value = match values.len() {
            1 => values[0].clone(),
            _ => json!(["tuple", values[0], values[1]]),
        };
        if !bindings.is_empty() {
            value = json!(["let", bindings, value]);
        }
        let names: Vec<&String> = targets.iter().map(|(name, _)| name).collect();
        json!({ "targets": names, "domain": domains, "expr": value })
    }

    fn scan(&mut self, targets: &[&str], dims: &[&'static str]) -> Json {
        let carries = &["c", "d"][..targets.len()];
        let mut inputs = BTreeSet::new();
        let mut body: Vec<Json> = carries.iter().map(|carry| json!(["ref", carry])).collect();
        for _ in 0..self.rng.usize(1..4) {
            let depth = if self.chance(40) { 2 } else { 0 };
            let operand = self.value(depth, dims).0;
            names_in(&operand, &mut inputs);
            let op = *self.rng.choice(&["add", "sub", "max", "min"]).expect("a list");
            let (at, other) = (self.rng.usize(0..carries.len()), self.rng.usize(0..carries.len()));
            let (before, carry) = (body[at].clone(), json!(["ref", carries[other]]));
            body[at] = match self.chance(30) {
                true => json!(["where", ["lt", before, operand], [op, before, operand], carry]),
                false => json!([op, before, operand]),
            };
        }
        let init: Vec<Json> = carries.iter().map(|_| self.literal()).collect();
        let body = if let [body] = &body[..] { body.clone() } else { json!(["tuple", body[0], body[1]]) };
        let axis = dims[self.rng.usize(0..dims.len())];
        let domain = match targets.len() > 1 && self.chance(50) {
            true => targets.iter().map(|_| self.domain(dims)).collect(),
            false => self.domain(dims),
        };
        json!({
            "targets": targets, "domain": domain,
            "scan": {
                "axis": axis, "forward": self.rng.bool(), "init": init, "inputs": inputs, "carry": carries,
                "body": body,
            },
        })
    }

    /// An expression with exactly these dimensions.
    fn exactly(&mut self, dims: &[&'static str]) -> Json {
        let (value, of) = self.value(4, dims);
        match of.len() == dims.len() && self.chance(80) {
            true => value,
            false => json!(["broadcast", value, dims]),
        }
    }

    /// An expression whose dimensions are among these.
    fn value(&mut self, depth: u32, dims: &[&'static str]) -> Made {
        if depth == 0 || self.chance(15) {
            return self.leaf(dims);
        }
        match self.rng.u32(0..100) {
            0..30 => {
                let op = *self.rng.choice(&["add", "sub", "mul", "min", "max"]).expect("a list");
                let ((a, mut of), (b, other)) = (self.value(depth - 1, dims), self.value(depth - 1, dims));
                of.extend(other);
                (json!([op, a, b]), of)
            }
            30..35 => self.division(depth, dims),
            35..42 => {
                let (a, of) = self.value(depth - 1, dims);
                let op = match self.dtype.starts_with("float") && self.chance(30) {
                    true => *self.rng.choice(&["floor", "ceil", "trunc"]).expect("a list"),
                    false => "abs",
                };
                let op = if self.chance(40) { "neg" } else { op };
                (json!([op, a]), of)
            }
            42..62 => self.shifted(depth, dims),
            62..70 => {
                let (condition, mut of) = self.condition(depth - 1, dims);
                let ((a, x), (b, y)) = (self.value(depth - 1, dims), self.value(depth - 1, dims));
                of.extend(x);
                of.extend(y);
                (json!(["where", condition, a, b]), of)
            }
            70..78 => self.parts(depth, dims),
            _ if dims.contains(&"Cell") || dims.contains(&"Edge") => self.neighbors(depth, dims),
            _ => self.shifted(depth, dims),
        }
    }

    fn leaf(&mut self, dims: &[&'static str]) -> Made {
        let fits = |of: &[&'static str]| of.iter().all(|dim| dims.contains(dim));
        let fields: Vec<(String, Vec<&'static str>)> =
            self.readable.iter().filter(|(_, of)| fits(of)).cloned().collect();
        let bound: Vec<(String, BTreeSet<&'static str>)> =
            self.bound.iter().filter(|(_, of)| of.iter().all(|dim| dims.contains(dim))).cloned().collect();
        match self.rng.u32(0..10) {
            0 => (self.literal(), BTreeSet::new()),
            1 => (json!(["ref", "a"]), BTreeSet::new()),
            2..5 if !bound.is_empty() => {
                let (name, of) = bound[self.rng.usize(0..bound.len())].clone();
                (json!(["ref", name]), of)
            }
            _ if fields.is_empty() => (self.literal(), BTreeSet::new()),
            _ => {
                let (name, of) = fields[self.rng.usize(0..fields.len())].clone();
                (json!(["ref", name]), of.into_iter().collect())
            }
        }
    }

    fn division(&mut self, depth: u32, dims: &[&'static str]) -> Made {
        let (a, of) = self.value(depth - 1, dims);
        match self.dtype {
            dtype if !dtype.starts_with("float") => {
                if self.chance(25) {
                    return (json!(["pow", a, ["lit", self.rng.u32(0..6), dtype]]), of);
                }
                let op = *self.rng.choice(&["floordiv", "mod", "fmod"]).expect("a list");
                let divisors = if dtype.starts_with('u') { [7, 1, 2, 5] } else { [-3, -2, 2, 5] };
                let divisor = *self.rng.choice(&divisors).expect("a list");
                (json!([op, a, ["lit", divisor, dtype]]), of)
            }
            _ => {
                let (b, other) = self.value(depth - 1, dims);
                (json!(["div", a, b]), of.union(&other).copied().collect())
            }
        }
    }

    fn condition(&mut self, depth: u32, dims: &[&'static str]) -> Made {
        let op = *self.rng.choice(&["lt", "le", "gt", "ge", "eq", "ne"]).expect("a list");
        let ((a, mut of), (b, other)) = (self.value(depth, dims), self.value(depth, dims));
        of.extend(other);
        let mut condition = json!([op, a, b]);
        if self.dtype.starts_with("float") && self.chance(10) {
            let op = *self.rng.choice(&["isnan", "isinf", "isfinite"]).expect("a list");
            condition = json!(["and", condition, [op, a]]);
        }
        if self.chance(30) {
            condition = json!(["not", condition]);
        }
        (condition, of)
    }

    fn shifted(&mut self, depth: u32, dims: &[&'static str]) -> Made {
        let (value, of) = self.value(depth - 1, dims);
        let along: Vec<&str> = of.iter().copied().filter(|dim| ["I", "J", "K"].contains(dim)).collect();
        if along.is_empty() {
            return (value, of);
        }
        let mut offsets = Map::new();
        for _ in 0..self.rng.usize(1..3) {
            let by = if self.chance(4) { 4 } else { self.rng.i64(-1..2) };
            offsets.insert(along[self.rng.usize(0..along.len())].to_owned(), json!(by));
        }
        (json!(["shift", value, offsets]), of)
    }

    fn parts(&mut self, depth: u32, dims: &[&'static str]) -> Made {
        let dim = dims[self.rng.usize(0..dims.len())];
        let ((a, mut of), (b, other)) = (self.value(depth - 1, dims), self.value(depth - 1, dims));
        of.extend(other);
        of.insert(dim);
        let op = *self.rng.choice(&["lt", "le", "gt", "ge", "eq", "ne"]).expect("a list");
        let bound = self.rng.i64(-1..4);
        let mut condition = json!([op, ["dim", dim], ["lit", bound, "int32"]]);
        if self.chance(30) {
            let word = if self.rng.bool() { "and" } else { "or" };
            condition = json!([word, condition, ["le", ["dim", dim], ["ref", "n"]]]);
        }
        (json!(["concat_where", condition, a, b]), of)
    }

    fn neighbors(&mut self, depth: u32, dims: &[&'static str]) -> Made {
        let is_cell = dims.contains(&"Cell");
        if is_cell && self.chance(10) {
            let (mut value, mut of) = self.value(depth - 1, dims);
            of.insert("Cell");
            value = json!(["add", value, ["ref", "w"]]);
            return (json!(["column", value, "C2E", self.rng.usize(0..4)]), of);
        }
        let (table, to, width) = match (is_cell, self.rng.bool()) {
            (true, true) => ("C2E", "Edge", 4),
            (true, false) => ("C2C", "Cell", 4),
            (false, _) => ("E2C", "Cell", 2),
        };
        let there: Vec<&'static str> = dims.iter().map(|dim| if *dim == "K" { "K" } else { to }).collect();
        let field = if to == "Cell" { "x2" } else { "x3" };
        // What is bound has the dimensions of this place, not of that one.
        let bound = std::mem::take(&mut self.bound);
        let (value, mut of) = self.value(depth - 1, &there);
        self.bound = bound;
        of.insert(to);
        let value = json!(["add", value, ["ref", field]]);
        let mut here = of;
        here.remove(to);
        here.insert(if is_cell { "Cell" } else { "Edge" });
        if self.chance(30) {
            return (json!(["gather", value, table, self.rng.usize(0..width)]), here);
        }
        let mut all = json!(["shift_all", value, table]);
        if table == "C2E" && self.rng.bool() {
            all = json!(["mul", ["ref", "w"], all]);
        }
        if self.chance(30) {
            let centre = if is_cell { "x2" } else { "x3" };
            all = json!(["sub", all, ["ref", centre]]);
        }
        let reduction = *self.rng.choice(&["neighbor_sum", "max_over", "min_over"]).expect("a list");
        (json!([reduction, all, table]), here)
    }
}

/// The names that an expression reads.
fn names_in(json: &Json, names: &mut BTreeSet<String>) {
    match json.as_array().map(Vec::as_slice) {
        Some([head, name]) if head == "ref" => {
            names.insert(name.as_str().expect("a name").to_owned());
        }
        Some(list) => list.iter().for_each(|json| names_in(json, names)),
        None => {}
    }
}
