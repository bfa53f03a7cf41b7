//! Texts of stages.
//!
//! ```text
//! tssa 1
//! fn f(n.0: i64) -> f64 {
//! bb0:
//!   s.0: i64 = const 0
//! ```

use crate::function::infer::Instance;
use crate::function::low::LowFunction;
use crate::function::stage::names::value_names;
use crate::function::types::FunctionType;
use crate::ssa::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail};
use std::fmt::{Display, Write};

/// The stage `ussa` of an instance's function.
pub fn ussa_text(instance: &Instance) -> String {
    let function = &instance.untyped;
    let parameters: Vec<&str> = function.parameters.iter().map(|p| &*p.0).collect();
    let head = format!("ussa 1\nfn {}({})", function.name, parameters.join(", "));
    Writer::new(&function.flow, &function.variables, |_| None).text(&head)
}

/// The stage `tssa` of an instance.
pub fn tssa_text(instance: &Instance) -> String {
    let parameters: Vec<String> = instance
        .function
        .parameters
        .iter()
        .zip(&instance.args)
        .map(|((name, _), of)| format!("{name}: {of}"))
        .collect();
    let result = instance.result.as_ref().unwrap_or(&FunctionType::None);
    let head = format!("tssa 1\nfn {}({}) -> {result}", instance.function.name, parameters.join(", "));
    let of = |value: InstId| instance.types[value.index()].as_ref().map(FunctionType::to_string);
    Writer::new(&instance.function.flow, &instance.function.variables, of).text(&head)
}

/// The stage `low` of a function.
pub fn low_text(function: &LowFunction) -> String {
    let parameters: Vec<String> =
        function.parameters.iter().map(|(name, of)| format!("{name}: {of}")).collect();
    let head = format!("low 1\nfn {}({}) -> {}", function.name, parameters.join(", "), function.result);
    let of = |value: InstId| function.types[value.index()].as_ref().map(|of| of.to_string());
    Writer::new(&function.flow, &function.variables, of).text(&head)
}

struct Writer<'f, O, T> {
    flow: &'f Flow<O>,
    names: Vec<String>,
    type_of: T,
}

impl<'f, O: SsaOperation + Display, T: Fn(InstId) -> Option<String>> Writer<'f, O, T> {
    fn new(flow: &'f Flow<O>, variables: &[String], type_of: T) -> Writer<'f, O, T> {
        let names = value_names(flow, variables);
        Writer { flow, names, type_of }
    }

    fn text(&self, head: &str) -> String {
        let mut out = format!("{head} {{\n");
        for block in self.flow.block_ids() {
            let rows = self.flow.block(block);
            let from: Vec<String> = rows.predecessors.iter().map(BlockId::to_string).collect();
            let from = if from.is_empty() { String::new() } else { format!(" ; preds {}", from.join(" ")) };
            let _ = writeln!(out, "{block}:{from}");
            rows.insts.iter().for_each(|inst| self.instruction(&mut out, block, *inst));
            let _ = writeln!(out, "  {}", self.tail(&rows.tail));
        }
        out.push_str("}\n");
        out
    }

    fn instruction(&self, out: &mut String, block: BlockId, inst: InstId) {
        let row = self.flow.inst(inst);
        let names: Vec<&str> = row.args.iter().map(|arg| self.name(*arg)).collect();
        let of = (self.type_of)(inst).map_or(String::new(), |of| format!(": {of}"));
        let name = self.name(inst);
        let _ = match &row.op {
            SsaOp::Phi => {
                let from = &self.flow.block(block).predecessors;
                let parts: Vec<String> =
                    from.iter().zip(&names).map(|(from, name)| format!("{from}: {name}")).collect();
                writeln!(out, "  {name}{of} = phi [{}]", parts.join(", "))
            }
            SsaOp::Undef => writeln!(out, "  {name}{of} = undef"),
            SsaOp::Read(variable) => writeln!(out, "  {name} = read {variable}"),
            SsaOp::Write(variable) => writeln!(out, "  write {variable}, {}", names.join(", ")),
            SsaOp::Do(op) if names.is_empty() => writeln!(out, "  {name}{of} = {op}"),
            SsaOp::Do(op) => writeln!(out, "  {name}{of} = {op}({})", names.join(", ")),
        };
    }

    fn tail(&self, tail: &Tail) -> String {
        match tail {
            Tail::Open => "open".to_owned(),
            Tail::Jump(to) => format!("jump {to}"),
            Tail::Branch { condition, then, orelse } => {
                format!("branch {} ? {then} : {orelse}", self.name(*condition))
            }
            Tail::Return(value) => format!("return {}", self.name(*value)),
            Tail::Fail(number) => format!("fail {number}"),
            Tail::Guard { catch, then, orelse } => format!("guard {catch} ? {orelse} : {then}"),
            Tail::Again(number) => format!("again {number}"),
        }
    }

    fn name(&self, value: InstId) -> &str {
        &self.names[value.index()]
    }
}
