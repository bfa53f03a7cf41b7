//! Functions of a stage as a document of its schema.
//!
//! ```text
//! Block(1, [0, 4], 1, [
//!   Def("s.1", Float, Phi([From(0, "s.0"), From(4, "s.2")])),
//! ```

use crate::function::stage::form::{FunctionOf, StageForm};
use crate::function::stage::names::value_names;
use crate::function::stage::term_writer::TermWriter;
use crate::python::SourceLines;
use crate::schema::{Document, TermValue};
use crate::ssa::{BlockId, InstId, SsaOp, Tail};

/// The document of functions.
pub(super) fn to_document<S: StageForm>(
    functions: &[FunctionOf<S>],
    lines: Option<&SourceLines>,
) -> Document {
    let mut terms = TermWriter::new(S::STAGE, lines);
    let functions: Vec<TermValue> = functions.iter().map(|f| function::<S>(&mut terms, f)).collect();
    let functions = terms.list(&functions);
    let root = terms.term("Module", &[functions]);
    terms.document.set_root(root);
    terms.document
}

fn function<S: StageForm>(terms: &mut TermWriter<'_>, function: &FunctionOf<S>) -> TermValue {
    let name = terms.text(&function.name);
    let mut parameters = Vec::new();
    for parameter in &function.parameters {
        let mut values = vec![terms.text(&parameter.name)];
        if S::HAS_TYPES {
            values.push(type_of::<S>(terms, parameter.of.as_ref()));
        }
        if S::HAS_DEFAULTS {
            values.push(parameter.default.as_ref().map_or(TermValue::Absent, |value| terms.constant(value)));
        }
        parameters.push(terms.term("Parameter", &values));
    }
    let mut failures = Vec::new();
    for failure in &function.failures {
        let values = [terms.text(failure.category.name()), terms.text(&failure.message)];
        failures.push(terms.term("Failure", &values));
    }
    let mut values = vec![name, terms.list(&parameters)];
    if S::HAS_TYPES {
        values.push(type_of::<S>(terms, function.result.as_ref()));
    }
    values.push(terms.list(&failures));
    let blocks = blocks::<S>(terms, function);
    values.push(terms.list(&blocks));
    terms.term("Function", &values)
}

fn blocks<S: StageForm>(terms: &mut TermWriter<'_>, function: &FunctionOf<S>) -> Vec<TermValue> {
    let names: Vec<TermValue> =
        value_names(&function.flow, &function.variables).iter().map(|n| terms.text(n)).collect();
    let mut blocks = Vec::new();
    for block in function.flow.block_ids() {
        let rows = function.flow.block(block);
        let mut definitions = Vec::new();
        for inst in &rows.insts {
            let mut values = vec![names[inst.index()]];
            if S::HAS_TYPES {
                values.push(type_of::<S>(terms, function.types[inst.index()].as_ref()));
            }
            values.push(operation::<S>(terms, function, block, *inst, &names));
            definitions.push(terms.placed("Def", &values, function.flow.inst(*inst).span));
        }
        let from: Vec<TermValue> = rows.predecessors.iter().map(|from| terms.int(from.0)).collect();
        let tail = match &rows.tail {
            Tail::Open => TermValue::Missing,
            Tail::Jump(to) => {
                let to = terms.int(to.0);
                terms.placed("Jump", &[to], rows.tail_span)
            }
            Tail::Branch { condition, then, orelse } => {
                let values = [names[condition.index()], terms.int(then.0), terms.int(orelse.0)];
                terms.placed("Branch", &values, rows.tail_span)
            }
            Tail::Return(value) => terms.placed("Return", &[names[value.index()]], rows.tail_span),
            Tail::Fail(number) => {
                let number = terms.int(*number);
                terms.placed("Fail", &[number], rows.tail_span)
            }
            Tail::Guard { catch, then, orelse } => {
                let names = catch.categories.iter().map(|category| terms.text(category.name()));
                let categories: Vec<TermValue> = names.collect();
                let classes: Vec<TermValue> = catch.classes.iter().map(|class| terms.text(class)).collect();
                let lists = [terms.list(&categories), terms.list(&classes)];
                let keep = catch.keep.map_or(TermValue::Absent, |number| terms.int(number));
                let values = [lists[0], lists[1], keep, terms.int(then.0), terms.int(orelse.0)];
                terms.placed("Guard", &values, rows.tail_span)
            }
            Tail::Again(number) => {
                let number = terms.int(*number);
                terms.placed("Again", &[number], rows.tail_span)
            }
        };
        let values =
            [terms.int(block.0), terms.list(&from), terms.int(rows.depth), terms.list(&definitions), tail];
        blocks.push(terms.term("Block", &values));
    }
    blocks
}

fn operation<S: StageForm>(
    terms: &mut TermWriter<'_>,
    function: &FunctionOf<S>,
    block: BlockId,
    inst: InstId,
    names: &[TermValue],
) -> TermValue {
    let row = function.flow.inst(inst);
    let args: Vec<TermValue> = row.args.iter().map(|arg| names[arg.index()]).collect();
    match &row.op {
        SsaOp::Phi => {
            let from = &function.flow.block(block).predecessors;
            let mut incoming = Vec::new();
            for (from, value) in from.iter().zip(args) {
                let from = terms.int(from.0);
                incoming.push(terms.term("From", &[from, value]));
            }
            let incoming = terms.list(&incoming);
            terms.term("Phi", &[incoming])
        }
        SsaOp::Undef => terms.term("Undef", &[]),
        SsaOp::Read(_) | SsaOp::Write(_) => TermValue::Missing,
        SsaOp::Do(op) => S::op_term(terms, op, &args),
    }
}

fn type_of<S: StageForm>(terms: &mut TermWriter<'_>, of: Option<&S::Type>) -> TermValue {
    of.map_or(TermValue::Absent, |of| S::type_term(terms, of))
}
