//! The rules of the stage `tssa`: every type is the one that its operation gives.
//!
//! 10. An operation has the operands it takes; parameters and functions exist.
//! 11. Operands have types, and the type of a value is what its operation gives for theirs. A call passes the types that
//!     the instance is for.
//! 12. Each operand of a phi is of the phi's type, or a number that promotes to it, or None where it may be missing.
//! 13. A promotion makes a wider number, and is an operand of phis only.
//! 14. What is returned has the type of the result, or promotes to it.
//! 15. Conditions are truth values.
//! 16. Indices, bounds and counters are integers.

use super::library::type_of_library;
use super::{Instance, arrays, constant_of, expressions};
use crate::function::library::LibraryKind;
use crate::function::op::FunctionOp;
use crate::function::types::FunctionType;
use crate::ssa::{BlockId, InstId, SsaError, SsaOp, Tail};

/// Offences of an instance against the rules of types; its flow follows the rules of SSA.
pub fn type_errors(instances: &[Instance], at: usize) -> Vec<SsaError> {
    let flow = &instances[at].function.flow;
    let mut is_read = vec![false; flow.insts.len()];
    for block in &flow.blocks {
        let others = block.insts.iter().filter(|inst| !flow.is_phi(**inst));
        others.flat_map(|inst| &flow.inst(*inst).args).for_each(|arg| is_read[arg.index()] = true);
        block.tail.operand().into_iter().for_each(|value| is_read[value.index()] = true);
    }
    let mut verifier = TypeVerifier { instances, instance: &instances[at], is_read, errors: Vec::new() };
    for block in flow.block_ids() {
        for inst in &flow.block(block).insts {
            verifier.value(block, *inst);
        }
        verifier.tail(block);
    }
    verifier.result();
    verifier.errors
}

struct TypeVerifier<'i> {
    instances: &'i [Instance],
    instance: &'i Instance,
    /// By value, whether others than phis read it.
    is_read: Vec<bool>,
    errors: Vec<SsaError>,
}

impl<'i> TypeVerifier<'i> {
    fn refuse(&mut self, block: BlockId, inst: Option<InstId>, rule: u8, what: impl Into<String>) {
        self.errors.push(SsaError { block, inst, rule, what: what.into() });
    }

    fn type_of(&self, value: InstId) -> Option<&'i FunctionType> {
        self.instance.types[value.index()].as_ref()
    }

    fn value(&mut self, block: BlockId, inst: InstId) {
        let row = self.instance.function.flow.inst(inst);
        match &row.op {
            SsaOp::Phi => self.phi(block, inst),
            SsaOp::Do(op) => {
                let args: Option<Vec<FunctionType>> =
                    row.args.iter().map(|arg| self.type_of(*arg).cloned()).collect();
                match args {
                    Some(args) => self.operation(block, inst, op, &args),
                    // What stands behind a call that never returns has no type, and never runs.
                    None if self.type_of(inst).is_none() => {}
                    None => self.refuse(block, Some(inst), 11, format!("an operand of {inst} has no type")),
                }
            }
            SsaOp::Undef | SsaOp::Read(_) | SsaOp::Write(_) => {}
        }
    }

    fn phi(&mut self, block: BlockId, phi: InstId) {
        let flow = &self.instance.function.flow;
        let Some(of) = self.type_of(phi) else { return };
        for arg in &flow.inst(phi).args {
            let Some(given) = self.type_of(*arg) else { continue };
            let is_array = matches!(given, FunctionType::Array(_));
            if given.join(of).as_ref() != Some(of) || is_array && given != of {
                self.refuse(block, Some(phi), 12, format!("a phi of {of} reads {arg}, which is {given}"));
            }
        }
    }

    fn operation(&mut self, block: BlockId, inst: InstId, op: &FunctionOp, args: &[FunctionType]) {
        if let Err(what) = self.check_shape(inst, op, args) {
            return self.refuse(block, Some(inst), 10, what);
        }
        if self.wants_integers(op) && args.iter().any(|of| *of != FunctionType::Int) {
            return self.refuse(block, Some(inst), 16, format!("{op} counts with integers"));
        }
        if *op == FunctionOp::Promote {
            self.promotion(block, inst, &args[0]);
        }
        match self.expected(inst, op, args) {
            Err(what) => self.refuse(block, Some(inst), 11, what),
            Ok(expected) if expected.as_ref() == self.type_of(inst) => {}
            Ok(None) => self.refuse(block, Some(inst), 11, format!("{inst} gives no value")),
            Ok(Some(expected)) => {
                let given = self.type_of(inst).map_or("no type".to_owned(), FunctionType::to_string);
                self.refuse(
                    block,
                    Some(inst),
                    11,
                    format!("{op} gives {expected} here, and {inst} has {given}"),
                );
            }
        }
    }

    /// What a call calls.
    fn callee(&self, inst: InstId) -> Option<&'i Instance> {
        self.instances.get(self.instance.calls.get(&inst)?.0 as usize)
    }

    fn check_shape(&self, inst: InstId, op: &FunctionOp, args: &[FunctionType]) -> Result<(), String> {
        match op {
            FunctionOp::Param(position) if self.instance.args.get(*position as usize).is_none() => {
                Err(format!("the function has no parameter {position}"))
            }
            FunctionOp::Call(id) => match self.callee(inst) {
                None => Err(format!("there is no function {}", id.0)),
                Some(callee) if callee.args.len() != args.len() => {
                    Err(format!("{} takes {} arguments", callee.function.name, callee.args.len()))
                }
                Some(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn wants_integers(&self, op: &FunctionOp) -> bool {
        match op {
            FunctionOp::RangeCount | FunctionOp::Step | FunctionOp::Round => true,
            FunctionOp::LibraryFunction(function) => function.kind() == LibraryKind::CounterProduct,
            _ => false,
        }
    }

    fn promotion(&mut self, block: BlockId, inst: InstId, of: &FunctionType) {
        if !of.is_integer() {
            self.refuse(block, Some(inst), 13, format!("{of} does not promote"));
        }
        if self.is_read[inst.index()] {
            self.refuse(block, Some(inst), 13, format!("{inst} is a promotion that others than phis read"));
        }
    }

    /// The type that an operation gives.
    fn expected(
        &self,
        inst: InstId,
        op: &FunctionOp,
        args: &[FunctionType],
    ) -> Result<Option<FunctionType>, String> {
        let function = &self.instance.function;
        let row = function.flow.inst(inst);
        let constant = |index: usize| constant_of(function, row.args[index]);
        let result = match op {
            FunctionOp::Param(position) => return Ok(self.instance.args.get(*position as usize).cloned()),
            FunctionOp::Call(_) => {
                let callee = self.callee(inst).ok_or("there is no such function")?;
                return match callee.args == args {
                    true => Ok(callee.result.clone()),
                    false => Err(format!(
                        "the arguments are not of the types that {} is for",
                        callee.function.name
                    )),
                };
            }
            FunctionOp::LibraryFunction(function) => {
                let expected = type_of_library(self.instance, inst, *function, args);
                let expected = expected.map_err(|problem| problem.to_string())?;
                return Ok(expected.or(self.any_collection(inst, function.kind())));
            }
            FunctionOp::GetItem(parts) => arrays::type_of_item(parts, args, constant),
            FunctionOp::SetItem(parts) => arrays::type_of_store(parts, args),
            FunctionOp::Attribute(name) => arrays::type_of_attribute(name, &args[0]),
            _ => expressions::type_of(
                op,
                args,
                row.args.last().and_then(|_| constant(row.args.len() - 1)).as_ref(),
            ),
        };
        result.map(Some).map_err(|problem| problem.to_string())
    }

    /// What is put into a list or a dictionary is part of its type; one that nothing is put into may be of any.
    fn any_collection(&self, inst: InstId, kind: LibraryKind) -> Option<FunctionType> {
        let fits = |of: &&FunctionType| match (kind, of) {
            (LibraryKind::NewList | LibraryKind::Repeat, FunctionType::Array(array)) => array.is_list,
            (LibraryKind::NewDict, FunctionType::Dict(dict)) => dict.value.is_some(),
            (LibraryKind::NewSet, FunctionType::Dict(dict)) => dict.value.is_none(),
            _ => false,
        };
        self.type_of(inst).filter(fits).cloned()
    }

    fn tail(&mut self, block: BlockId) {
        let function = &self.instance.function;
        match &function.flow.block(block).tail {
            Tail::Branch { condition, .. } => {
                let of = self.type_of(*condition);
                if of != Some(&FunctionType::Bool) {
                    let of = of.map_or("no type".to_owned(), FunctionType::to_string);
                    self.refuse(block, None, 15, format!("the condition has {of}"));
                }
            }
            Tail::Return(value) => {
                let (of, result) = (self.type_of(*value), self.instance.result.as_ref());
                let fits = match (of, result) {
                    (Some(of), Some(result)) => of.join(result).as_ref() == Some(result),
                    (None, _) => true,
                    (Some(_), None) => false,
                };
                if !fits {
                    let of = of.map_or("no type".to_owned(), FunctionType::to_string);
                    self.refuse(block, None, 14, format!("{of} is returned, which the result does not hold"));
                }
            }
            Tail::Fail(number) if function.failures.get(*number as usize).is_none() => {
                self.refuse(block, None, 10, format!("there is no failure {number}"));
            }
            _ => {}
        }
    }

    /// The result is no wider than what is returned.
    fn result(&mut self) {
        let flow = &self.instance.function.flow;
        let mut joined: Option<FunctionType> = None;
        for block in &flow.blocks {
            if let Tail::Return(value) = block.tail
                && let Some(of) = self.type_of(value)
            {
                joined = match joined {
                    None => Some(of.clone()),
                    Some(joined) => joined.join(of),
                };
            }
        }
        if joined != self.instance.result {
            self.refuse(BlockId(0), None, 14, "the result is not what the returns give together");
        }
    }
}
