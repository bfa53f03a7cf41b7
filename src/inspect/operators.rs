//! The table of operators, from which `docs/operators.md` is generated.

use crate::registry::registry::is_public;
use crate::registry::{OperatorDef, Registry};
use cembra_vm::operator::facts::Slope;
use cembra_vm::operator::{Family, Overload};
use cembra_vm::value::{QType, ScalarType};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// `docs/operators.md`: every operator with its overloads, meaning, effects, cost and derivative.
pub fn markdown(registry: &Registry) -> String {
    let defs: Vec<&OperatorDef> = registry.definitions().map(|d| &**d).collect();
    let (public, internal): (Vec<_>, Vec<_>) = defs.into_iter().partition(|d| is_public(&d.name));
    let mut namespaces: BTreeMap<&str, Vec<&OperatorDef>> = BTreeMap::new();
    for def in &public {
        namespaces.entry(def.name.rsplit_once('.').map_or("", |n| n.0)).or_default().push(def);
    }
    let mut out = HEAD.to_owned();
    let _ = write!(out, "\n{} operators for expressions:", public.len());
    for namespace in namespaces.keys() {
        let _ = write!(out, " [{namespace}](#{})", namespace.replace('.', ""));
    }
    out.push_str(".\n");
    for (namespace, defs) in &namespaces {
        let _ = write!(out, "\n## {namespace}\n");
        table(&mut out, defs);
    }
    let _ = write!(
        out,
        "\n## Of the machine only\n\n{} operators that preparation makes and dumps show; expressions need none of them.\n",
        internal.len()
    );
    table(&mut out, &internal);
    out
}

const HEAD: &str = "# Operators

Generated from the operator rows by `cembra ops --markdown`; a test keeps it fresh. `cembra ops NAME` shows one operator in full.

- **Overloads** are exact types; arguments are cast to the closest ones as the dialect allows. `(T, T) → T: INT32, FLOAT64`
  stands for one overload by type. Overloads followed by `?` also exist with all arguments optional; the result is then optional, and
  missing if an argument is, unless the meaning says otherwise. WEAK_FLOAT goes wherever FLOAT64 does. *Lowered* operators
  are rewritten into others before they run, or only show bytes of an operand (`core.get_nth`); they take what their type rule
  accepts. *Any* means that overloads are made for the types at hand.
- **Effects**: `total` always gives a value; `raises` may raise. In a branch of `core.where` it runs only if the branch is taken; operands of all other
  operators run. The optimizer takes away what no value needs, and errors of it too; it never adds one.
- **Cost** is relative to an addition.
- **Derivative** has one partial derivative for each parameter, in that order; or the slope of the result by the parameters, their slopes
  (`d_x` of `x`) and the `result`. An operator that is linear in parameters is its own slope, of their slopes.
";

fn table(out: &mut String, defs: &[&OperatorDef]) {
    out.push_str("\n| name | overloads | meaning | effects | cost | derivative |\n");
    out.push_str("| --- | --- | --- | --- | --: | --- |\n");
    defs.iter().for_each(|def| out.push_str(&row(def)));
}

fn row(def: &OperatorDef) -> String {
    let Facts { effects, cost, overloads } = facts(def);
    let cells = [
        format!("`{}`", def.signature()),
        overloads,
        def.meaning.to_string(),
        effects.to_owned(),
        cost,
        slope(def),
    ];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// The slope as its row says it, or the parameters that the operator is linear in.
fn slope(def: &OperatorDef) -> String {
    let code = |text: &&str| format!("`{}`", text.replace('\n', "; "));
    match def.facts().slope() {
        Slope::Partials(partials) => partials.iter().map(code).collect::<Vec<_>>().join(", "),
        Slope::Differential(text) => code(text),
        Slope::Unwritten => linear(def).map_or_else(String::new, |names| format!("linear in {names}")),
    }
}

/// The parameters that an operator is linear in, all together.
fn linear(def: &OperatorDef) -> Option<String> {
    let places = (0..def.params.len()).filter(|place| def.facts().linear().has(*place));
    let names: Vec<&str> = places.map(|place| &*def.params[place].name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What the table says about the machine's side of an operator.
struct Facts {
    effects: &'static str,
    cost: String,
    overloads: String,
}

/// The row that an operator runs as; `None` if it is lowered into others, or only shows bytes.
pub fn machine_row(def: &OperatorDef) -> Option<&Arc<Family>> {
    def.family.as_ref().filter(|_| !def.is_always_lowered)
}

fn facts(def: &OperatorDef) -> Facts {
    let Some(family) = machine_row(def) else {
        return Facts { effects: "–", cost: String::new(), overloads: "*lowered*".to_owned() };
    };
    let overloads = match family.overloads().is_empty() {
        true => "*any*".to_owned(),
        false => shapes(family).join("<br>"),
    };
    Facts { effects: family.effects().name(), cost: family.cost().to_string(), overloads }
}

/// An overload as written in the table, with `{T}` for the scalar type of its first argument.
#[derive(PartialEq)]
struct Shape {
    text: String,
    has_optional_form: bool,
}

/// The overloads of a family, those of one shape together, an optional form folded into its scalar one.
fn shapes(family: &Family) -> Vec<String> {
    let overloads = family.overloads();
    let forms: Vec<(Vec<QType>, QType)> = overloads.iter().filter_map(|o| optional_form(o)).collect();
    let is_form =
        |o: &&Arc<Overload>| forms.iter().any(|(args, result)| *o.args() == **args && *o.result() == *result);
    let (folded, listed): (Vec<_>, Vec<_>) = overloads.iter().partition(is_form);
    let has_optional_form = |o: &Overload| {
        optional_form(o)
            .is_some_and(|(args, result)| folded.iter().any(|f| *f.args() == *args && *f.result() == result))
    };
    let mut rows: Vec<(Shape, Vec<ScalarType>)> = Vec::new();
    for overload in &listed {
        let scalar = overload.args().first().and_then(QType::scalar);
        let is_fixed = listed.iter().filter(|o| o.result() == overload.result()).count() > 1;
        let text = match is_fixed {
            true => format!("{} → {}", pattern(overload, scalar), overload.result()),
            false => format!("{} → {}", pattern(overload, scalar), placeholder(overload.result(), scalar)),
        };
        let shape = Shape { text, has_optional_form: has_optional_form(overload) };
        match rows.iter_mut().find(|row| row.0 == shape) {
            Some(row) => row.1.extend(scalar),
            None => rows.push((shape, scalar.into_iter().collect())),
        }
    }
    rows.iter().map(|(shape, scalars)| written(shape, scalars)).collect()
}

fn written(shape: &Shape, scalars: &[ScalarType]) -> String {
    let mark = if shape.has_optional_form { "?" } else { "" };
    match scalars {
        [] => format!("`{}`{mark}", shape.text),
        [only] => format!("`{}`{mark}", shape.text.replace("{T}", only.name())),
        many => {
            let names: Vec<&str> = many.iter().map(|t| t.name()).collect();
            format!("`{}`{mark}: {}", shape.text.replace("{T}", "T"), names.join(", "))
        }
    }
}

/// `({T}, INT64)` for a scalar type.
fn pattern(overload: &Overload, scalar: Option<ScalarType>) -> String {
    let args: Vec<String> = overload.args().iter().map(|arg| placeholder(arg, scalar)).collect();
    format!("({})", args.join(", "))
}

/// The type, with `{T}` for a scalar type.
fn placeholder(qtype: &QType, scalar: Option<ScalarType>) -> String {
    match (qtype, scalar) {
        (QType::Scalar(t), Some(scalar)) if *t == scalar => "{T}".to_owned(),
        (QType::Optional(t), Some(scalar)) if *t == scalar => "OPTIONAL_{T}".to_owned(),
        _ => qtype.to_string(),
    }
}

/// Types of the overload of optional arguments that goes with one of scalars.
fn optional_form(overload: &Overload) -> Option<(Vec<QType>, QType)> {
    if overload.args().is_empty() || overload.args().iter().any(QType::is_optional) {
        return None;
    }
    let args = overload.args().iter().map(QType::to_optional).collect::<Option<Vec<_>>>()?;
    let result = match overload.result().is_optional() {
        true => overload.result().clone(),
        false => overload.result().to_optional()?,
    };
    Some((args, result))
}

/// Everything there is to know of one operator, as text.
pub fn describe(def: &OperatorDef) -> String {
    let mut out = format!("{}\n\n{}\n", def.signature(), def.meaning);
    let Facts { effects, cost, .. } = facts(def);
    let _ = write!(out, "\neffects: {}\n", if cost.is_empty() { "lowered" } else { effects });
    if !cost.is_empty() {
        let _ = writeln!(out, "cost: {cost}");
    }
    match def.facts().slope() {
        Slope::Partials(partials) => {
            for (param, partial) in def.params.iter().zip(partials) {
                let _ = writeln!(out, "derivative by {}: {partial}", param.name);
            }
        }
        Slope::Differential(text) => {
            let _ = writeln!(out, "derivative: {}", text.replace('\n', "; "));
        }
        Slope::Unwritten => {
            if let Some(names) = linear(def) {
                let _ = writeln!(out, "linear in: {names}");
            }
        }
    }
    if let Some(family) = &def.family {
        if !family.overloads().is_empty() {
            out.push_str("overloads:\n");
            family.overloads().iter().for_each(|o| {
                let _ = writeln!(out, "  {o}");
            });
        }
        if family.is_generic() {
            out.push_str("further overloads are made for the types at hand\n");
        }
    }
    out
}
