//! Findings about a function without types for its arguments: what is wrong whatever it is called with, and what is
//! probably not meant.
//!
//! | finding | severity |
//! | --- | --- |
//! | a variable that no path gives a value before it is read | error |
//! | a variable that some path does not give a value | warning |
//! | a variable or an argument that nobody reads | warning; not of names that begin with `_`, nor of targets of `for` |
//! | a statement that no path leads to | warning |
//! | an assignment that nobody reads, of a variable that is read elsewhere | note; the same names are exempt |
//!
//! With errors of other kinds, variables that nobody reads are not reported: what is refused reads nothing.
//! After a variable has been reported as perhaps without value, the same path does not report it again.

use crate::function::build::{BuiltFunction, build_alone};
use crate::function::error::FunctionError;
use crate::function::module::FunctionModule;
use crate::function::op::FunctionOp;
use crate::function::ssa::never_bound;
use crate::ssa::reaching::unbound_reads;
use crate::ssa::unread::unread_writes;
use crate::ssa::{InstId, SsaOp, VarId};
use cembra_vm::program::instruction::Span;
use hashbrown::HashSet;

/// What is probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionWarning {
    /// What it is.
    pub message: String,
    /// Where.
    pub span: Span,
}

/// Findings about a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionFindings {
    /// What is wrong.
    pub errors: Vec<FunctionError>,
    /// What is probably not meant.
    pub warnings: Vec<FunctionWarning>,
    /// What may well be meant: assignments that nobody reads.
    pub notes: Vec<FunctionWarning>,
}

/// Checks a function of a module.
pub fn check_function(module: &FunctionModule, name: &str) -> FunctionFindings {
    let mut findings = FunctionFindings::default();
    let id = match module.function(name) {
        Ok(id) => id,
        Err(error) => {
            findings.errors.push(error);
            return findings;
        }
    };
    let (function, errors) = build_alone(module, id);
    findings.errors = errors;
    // What is refused reads nothing.
    let is_whole = findings.errors.is_empty();
    boundness(&function, &mut findings);
    if is_whole {
        unused(&function, &mut findings);
        unused_results(&function, &mut findings);
    }
    for span in &function.unreachable {
        let message = "Unreachable code".to_owned();
        findings.warnings.push(FunctionWarning { message, span: *span });
    }
    findings
}

fn boundness(function: &BuiltFunction, findings: &mut FunctionFindings) {
    for read in unbound_reads(&function.flow) {
        let name = &function.variables[read.variable.index()];
        let span = function.flow.inst(read.inst).span;
        match read.always {
            true => findings.errors.push(never_bound(function, &read)),
            false => {
                let message = format!("local variable '{name}' might be referenced before assignment");
                findings.warnings.push(FunctionWarning { message, span });
            }
        }
    }
}

fn unused(function: &BuiltFunction, findings: &mut FunctionFindings) {
    let flow = &function.flow;
    let mut read: HashSet<VarId> = HashSet::new();
    let mut first_write: Vec<Option<(Span, InstId)>> = vec![None; flow.variables];
    for block in &flow.blocks {
        for inst in &block.insts {
            match flow.inst(*inst).op {
                SsaOp::Read(variable) => drop(read.insert(variable)),
                SsaOp::Write(variable) => {
                    let (span, value) = (flow.inst(*inst).span, flow.inst(*inst).args[0]);
                    first_write[variable.index()].get_or_insert((span, value));
                }
                _ => {}
            }
        }
    }
    for (variable, name) in (0..).map(VarId).zip(&function.variables) {
        let Some((span, value)) = first_write[variable.index()] else { continue };
        let is_exempt = name.is_empty() || name.starts_with('_') || read.contains(&variable);
        if is_exempt || function.loop_targets.contains(&variable) {
            continue;
        }
        let is_argument = matches!(flow.operation(value), Some(FunctionOp::Param(_)));
        let what = if is_argument { "argument" } else { "variable" };
        findings.warnings.push(FunctionWarning { message: format!("Unused {what} '{name}'"), span });
    }
}

/// Assignments that nobody reads. What is built in place several times is read if one of them is.
fn unused_results(function: &BuiltFunction, findings: &mut FunctionFindings) {
    let flow = &function.flow;
    let (mut is_read, mut read_at) = (vec![false; flow.variables], HashSet::new());
    let unread = unread_writes(flow);
    let unread: HashSet<InstId> = unread.into_iter().collect();
    for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
        match flow.inst(*inst).op {
            SsaOp::Read(variable) => is_read[variable.index()] = true,
            SsaOp::Write(_) if !unread.contains(inst) => drop(read_at.insert(flow.inst(*inst).span.start)),
            _ => {}
        }
    }
    let mut told = HashSet::new();
    for inst in flow.blocks.iter().flat_map(|block| &block.insts).filter(|inst| unread.contains(*inst)) {
        let row = flow.inst(*inst);
        let SsaOp::Write(variable) = row.op else { continue };
        let name = &function.variables[variable.index()];
        let is_exempt = name.is_empty() || name.starts_with('_') || function.loop_targets.contains(&variable);
        let is_value = !matches!(flow.inst(row.args[0]).op, SsaOp::Undef | SsaOp::Do(FunctionOp::Param(_)));
        let is_other = is_exempt || !is_value || row.span.is_unknown() || read_at.contains(&row.span.start);
        if is_read[variable.index()] && !is_other && told.insert((row.span.start, name.clone())) {
            let message = format!("Unused result in '{name}'");
            findings.notes.push(FunctionWarning { message, span: row.span });
        }
    }
}
