//! Definitions: which operations of a statement are written by themselves, under a name, in texts and JSON.
//!
//! ```text
//! d = u[I+1] - u          d is used twice
//! g = d[I+1] - d
//! ```
//!
//! An operation gets a definition if it is used more than once, if it had a name where it came from, or if the expression
//! would nest too deeply. So what is written is as long as the program, and reads back without deep recursion.

use crate::field::expression::FieldNodeId;
use crate::field::program::{FieldProgram, FieldStatement, FieldValue};
use hashbrown::{HashMap, HashSet};

/// Levels of an expression that are written without a definition.
const DEEPEST: usize = 40;

/// Words of the text that name no value.
pub(crate) const RESERVED: &[&str] = &[
    "horizontal",
    "vertical",
    "local",
    "table",
    "input",
    "output",
    "scalar",
    "static",
    "fill",
    "scan",
    "forward",
    "backward",
    "and",
    "or",
    "not",
    "xor",
    "true",
    "false",
    "nan",
    "inf",
    "where",
    "concat_where",
    "broadcast",
    "neighbor_sum",
    "max_over",
    "min_over",
    "min",
    "max",
    "pow",
    "fmod",
    "abs",
    "sqrt",
    "exp",
    "log",
    "tanh",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
    "gamma",
    "floor",
    "ceil",
    "trunc",
    "isnan",
    "isinf",
    "isfinite",
    "float64",
    "float32",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "width",
    "skip",
    "origin",
    "along",
];

/// Names in a program that definitions do not take.
pub(crate) struct DeclaredNames<'p> {
    program: &'p FieldProgram,
    names: HashSet<&'p str>,
}

impl<'p> DeclaredNames<'p> {
    /// Those of a program.
    pub fn of(program: &'p FieldProgram) -> DeclaredNames<'p> {
        let names = RESERVED.iter().copied();
        let names = names.chain(program.dims.iter().map(|dim| &*dim.name));
        let names = names.chain(program.tables.iter().map(|table| &*table.name));
        let names = names.chain(program.fields.iter().map(|field| &*field.name));
        let names = names.chain(program.scalars.iter().map(|scalar| &*scalar.name));
        DeclaredNames { program, names: names.collect() }
    }

    /// Definitions of a statement in order, each after those that it uses.
    pub fn definitions(&self, statement: &FieldStatement) -> Vec<(FieldNodeId, String)> {
        let nodes = &self.program.nodes;
        let roots = statement.value.roots();
        let needed = nodes.needed(roots);
        let mut uses: HashMap<FieldNodeId, usize> = HashMap::new();
        let operands = needed.iter().flat_map(|id| nodes.get(*id).operands());
        for id in operands.chain(roots.iter().copied()) {
            *uses.entry(id).or_default() += 1;
        }
        let mut names = UniqueNames::default();
        if let FieldValue::Scan(scan) = &statement.value {
            names.taken.extend(scan.carry.iter().map(|carry| carry.name.to_string()));
        }
        let mut depths: HashMap<FieldNodeId, usize> = HashMap::new();
        let mut definitions = Vec::new();
        for id in needed {
            let node = nodes.get(id);
            let depth = 1 + node.operands().map(|operand| depths[&operand]).max().unwrap_or(0);
            let hint = nodes.name(id);
            if node.is_leaf() || (uses[&id] < 2 && hint.is_none() && depth < DEEPEST) {
                depths.insert(id, if node.is_leaf() { 0 } else { depth });
                continue;
            }
            let hint = hint.map_or("t", |name| &**name);
            definitions.push((id, names.unique(hint, |name| self.names.contains(name))));
            depths.insert(id, 0);
        }
        definitions
    }
}

/// Names that differ.
#[derive(Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// The number that is tried next behind a name.
    next: HashMap<String, usize>,
}

impl UniqueNames {
    /// A name that was not given before and is not taken otherwise, like the one wanted.
    pub fn unique(&mut self, wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let next = self.next.entry_ref(wanted).or_insert(1);
        loop {
            let name = if *next == 1 { wanted.to_owned() } else { format!("{wanted}_{next}") };
            *next += 1;
            if !is_taken(&name) && self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
