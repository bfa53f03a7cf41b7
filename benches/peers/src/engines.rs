//! The other engines, each from text to a closure that stores inputs, evaluates and gives the result.

use crate::Workload;
use evalexpr::ContextWithMutableVariables;
use exmex::Express;
use fasteval::{Compiler, Evaler};
use std::cell::Cell;

/// Evaluates at an input point.
pub type Evaluate = Box<dyn FnMut(&[f64]) -> f64>;

/// An engine to compare with.
pub struct Engine {
    pub name: &'static str,
    pub licence: &'static str,
    /// `None` if the engine has no form of the workload.
    pub compile: fn(&Workload) -> Option<Evaluate>,
}

/// All of them, permissive licences only.
pub const ENGINES: &[Engine] = &[
    Engine { name: "fasteval 0.2.4, unsafe vars", licence: "MIT", compile: fasteval_engine },
    Engine { name: "meval 0.2.0", licence: "Unlicense/MIT", compile: meval_engine },
    Engine { name: "exmex 0.21.0", licence: "MIT OR Apache-2.0", compile: exmex_engine },
    Engine { name: "rhai 1.27.0", licence: "MIT OR Apache-2.0", compile: rhai_engine },
    Engine { name: "evalexpr 11.3.1", licence: "MIT", compile: evalexpr_engine },
];

fn fasteval_engine(workload: &Workload) -> Option<Evaluate> {
    let text = workload.text_for("fasteval")?;
    let parser = fasteval::Parser { expr_len_limit: 1 << 20, expr_depth_limit: 10_000 };
    let mut slab = fasteval::Slab::with_capacity(4096);
    let cells: Box<[Cell<f64>]> = workload.inputs.iter().map(|_| Cell::new(0.0)).collect();
    for (name, cell) in workload.inputs.iter().zip(&cells) {
        // SAFETY: the closure below owns the boxed cells, and fasteval reads them during `eval` only.
        unsafe { slab.ps.add_unsafe_var(name.clone(), &*cell.as_ptr()) };
    }
    let compiled = parser.parse(text, &mut slab.ps).ok()?.from(&slab.ps).compile(&slab.ps, &mut slab.cs);
    Some(Box::new(move |point| {
        cells.iter().zip(point).for_each(|(cell, value)| cell.set(*value));
        compiled.eval(&slab, &mut fasteval::EmptyNamespace).expect("a number")
    }))
}

fn meval_engine(workload: &Workload) -> Option<Evaluate> {
    let expr: meval::Expr = workload.text_for("meval")?.parse().ok()?;
    match workload.inputs.len() {
        1 => {
            let f = expr.bind("x").ok()?;
            Some(Box::new(move |p| f(p[0])))
        }
        _ => {
            let f = expr.bind3("x", "y", "z").ok()?;
            Some(Box::new(move |p| f(p[0], p[1], p[2])))
        }
    }
}

fn exmex_engine(workload: &Workload) -> Option<Evaluate> {
    let expr = exmex::parse::<f64>(workload.text_for("exmex")?).ok()?;
    // Its variables are in alphabetical order, as the inputs are.
    Some(Box::new(move |point| expr.eval(point).expect("a number")))
}

fn rhai_engine(workload: &Workload) -> Option<Evaluate> {
    let engine = rhai::Engine::new();
    let ast = engine.compile(workload.text_for("rhai")?).ok()?;
    let mut scope = rhai::Scope::new();
    workload.inputs.iter().for_each(|name| {
        scope.push(name.clone(), 0.0);
    });
    let (names, inputs) = (workload.inputs.clone(), workload.inputs.len());
    Some(Box::new(move |point| {
        names.iter().zip(point).for_each(|(name, value)| {
            scope.set_value(name.as_str(), *value);
        });
        let value = engine.eval_ast_with_scope::<f64>(&mut scope, &ast).expect("a number");
        scope.rewind(inputs);
        value
    }))
}

fn evalexpr_engine(workload: &Workload) -> Option<Evaluate> {
    let tree = evalexpr::build_operator_tree(workload.text_for("evalexpr")?).ok()?;
    let mut context = evalexpr::HashMapContext::new();
    let names = workload.inputs.clone();
    Some(Box::new(move |point| {
        for (name, value) in names.iter().zip(point) {
            context.set_value(name.clone(), evalexpr::Value::Float(*value)).expect("a variable");
        }
        tree.eval_float_with_context(&context).expect("a number")
    }))
}
