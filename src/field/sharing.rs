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
    "floor",
    "float64",
    "float32",
    "int32",
    "int64",
    "bool",
    "width",
    "skip",
    "origin",
    "along",
];

/// Definitions of a statement in order, each after those that it uses.
pub(crate) fn definitions(program: &FieldProgram, statement: &FieldStatement) -> Vec<(FieldNodeId, String)> {
    let roots = statement.value.roots();
    let needed = program.nodes.needed(roots);
    let mut uses: HashMap<FieldNodeId, usize> = HashMap::new();
    let operands = needed.iter().flat_map(|id| program.nodes.get(*id).operands());
    for id in operands.chain(roots.iter().copied()) {
        *uses.entry(id).or_default() += 1;
    }
    let mut taken: HashSet<String> = taken_names(program, statement);
    let mut depths: HashMap<FieldNodeId, usize> = HashMap::new();
    let mut definitions = Vec::new();
    for id in needed {
        let node = program.nodes.get(id);
        let depth = 1 + node.operands().map(|operand| depths[&operand]).max().unwrap_or(0);
        let hint = program.nodes.name(id);
        if node.is_leaf() || (uses[&id] < 2 && hint.is_none() && depth < DEEPEST) {
            depths.insert(id, if node.is_leaf() { 0 } else { depth });
            continue;
        }
        let hint = hint.map_or_else(|| "t".to_owned(), |name| name.to_string());
        definitions.push((id, unique(&hint, &mut taken)));
        depths.insert(id, 0);
    }
    definitions
}

/// A name that nobody has, like the one wanted; taken from then on.
fn unique(wanted: &str, taken: &mut HashSet<String>) -> String {
    let mut names = std::iter::once(wanted.to_owned()).chain((2..).map(|n| format!("{wanted}_{n}")));
    let name = names.find(|name| !taken.contains(name)).expect("numbers do not end");
    taken.insert(name.clone());
    name
}

fn taken_names(program: &FieldProgram, statement: &FieldStatement) -> HashSet<String> {
    let carries = match &statement.value {
        FieldValue::Scan(scan) => &scan.carry[..],
        FieldValue::Pointwise(_) => &[],
    };
    let names = RESERVED.iter().copied();
    let names = names.chain(program.dims.iter().map(|dim| &*dim.name));
    let names = names.chain(program.tables.iter().map(|table| &*table.name));
    let names = names.chain(program.fields.iter().map(|field| &*field.name));
    let names = names.chain(program.scalars.iter().map(|scalar| &*scalar.name));
    names.chain(carries.iter().map(|carry| &*carry.name)).map(str::to_owned).collect()
}
