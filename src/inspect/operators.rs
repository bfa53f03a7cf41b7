//! The table of operators, from which `docs/operators.md` is generated.

use crate::registry::registry::is_public;
use crate::registry::{OperatorDef, Registry};
use std::fmt::Write;

/// `docs/operators.md`: every operator with its signature, meaning, effects, cost and overloads.
pub fn markdown(registry: &Registry) -> String {
    let defs: Vec<&OperatorDef> = registry.definitions().map(|d| &**d).collect();
    let public: Vec<&OperatorDef> = defs.iter().copied().filter(|d| is_public(&d.name)).collect();
    let internal: Vec<&OperatorDef> = defs.iter().copied().filter(|d| !is_public(&d.name)).collect();
    let mut out = String::from(
        "# Operators\n\n\
         Generated from the operator rows by `cembra ops --markdown`; a test keeps it fresh.\n\n\
         *Effects*: `total` always gives a value; `raises` may raise and runs only where its value is needed. \
         *Cost* is relative to an addition. *Lowered* operators are rewritten into others before they run. \
         Overloads on FLOAT64 also take WEAK_FLOAT; `?` marks types that may be optional throughout.\n",
    );
    let _ = write!(out, "\n{} operators for expressions:\n", public.len());
    let mut namespace = "";
    for def in public {
        let own = def.name.rsplit_once('.').map_or("", |(space, _)| space);
        if own != namespace {
            namespace = own;
            let _ = write!(
                out,
                "\n## {namespace}\n\n| operator | meaning | effects | cost | overloads |\n| --- | --- | --- | --: | --- |\n"
            );
        }
        out.push_str(&row(def));
    }
    let _ = write!(
        out,
        "\n## Of the machine only\n\n{} operators that preparation makes:\n\n\
         | operator | meaning | effects | cost | overloads |\n| --- | --- | --- | --: | --- |\n",
        internal.len()
    );
    internal.into_iter().for_each(|def| out.push_str(&row(def)));
    out
}

fn row(def: &OperatorDef) -> String {
    let (effects, cost, overloads) = facts(def);
    let escape = |text: &str| text.replace('|', "\\|");
    format!(
        "| `{}` | {} | {effects} | {cost} | {} |\n",
        escape(&def.signature()),
        escape(&def.meaning),
        escape(&overloads)
    )
}

/// Effects, cost and overloads in short.
fn facts(def: &OperatorDef) -> (&'static str, String, String) {
    let Some(family) =
        def.family.as_ref().filter(|_| def.lower.is_none() || !def.name.starts_with("core.to_"))
    else {
        return ("lowered", String::new(), String::new());
    };
    let overloads = match (family.overloads().is_empty(), family.is_generic()) {
        (true, _) => "any type that fits".to_owned(),
        _ => signatures(def).join(", "),
    };
    (family.effects().name(), family.cost().to_string(), overloads)
}

/// Overload signatures, an optional form folded into its scalar one.
fn signatures(def: &OperatorDef) -> Vec<String> {
    let Some(family) = &def.family else { return Vec::new() };
    let all: Vec<String> = family
        .overloads()
        .iter()
        .map(|o| {
            let args: Vec<String> = o.args.iter().map(ToString::to_string).collect();
            format!("{} → {}", args.join(" "), o.result)
        })
        .collect();
    let optional = |s: &str| {
        let mark = |word: &str| if word == "→" { word.to_owned() } else { format!("OPTIONAL_{word}") };
        s.split(' ').map(mark).collect::<Vec<_>>().join(" ")
    };
    let mut out = Vec::new();
    for signature in &all {
        let lifted = optional(signature);
        let is_lifted = all.iter().any(|s| optional(s) == *signature);
        if !is_lifted {
            let mark = if all.contains(&lifted) { "?" } else { "" };
            out.push(format!("`{signature}`{mark}"));
        }
    }
    out
}

/// Everything there is to know of one operator, as text.
pub fn describe(def: &OperatorDef) -> String {
    let mut out = format!("{}\n\n{}\n", def.signature(), def.meaning);
    let (effects, cost, _) = facts(def);
    let _ = write!(out, "\neffects: {effects}\n");
    if !cost.is_empty() {
        let _ = writeln!(out, "cost: {cost}");
    }
    if let Some(family) = &def.family {
        for (param, partial) in family.params().zip(family.partials()) {
            let _ = writeln!(out, "derivative by {param}: {partial}");
        }
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
