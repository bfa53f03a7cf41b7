//! The rules of the stage `low`: every operator has an overload for its operands.
//!
//! 10. Parameters, parts, functions and failures exist; an operator that updates is written as one.
//! 11. The machine has the operator for exactly the types of its operands, and the value has the type of its result. Of
//!     arithmetic and comparisons it has those for operands of one type only, which is rule 18; indices are INT64 for
//!     the same reason, rule 16.
//! 12. Operands of a phi have the type of the phi.
//! 14. What is returned has the type of the result.
//! 15. Conditions are BOOLEAN.
//! 17. Values have types of the machine: nothing else can be written in a [`LowFunction`].
//!
//! Rule 19, no phis out of SSA, holds by the type of programs, which have none.

use super::low_op::{LowFunction, LowOp, LowWindow, Pieces};
use crate::function::infer::InstanceId;
use crate::ssa::{BlockId, InstId, SsaError, SsaOp, Tail};
use cembra_vm::operator::OperatorTable;
use cembra_vm::value::QType;
use cembra_vm::value::qtype::{BOOLEAN, INT64, OPTIONAL_UNIT};

/// Offences of a function against the rules of the machine's operators; its flow follows the rules of SSA.
pub fn low_errors(functions: &[LowFunction], at: usize, table: &OperatorTable) -> Vec<SsaError> {
    let function = &functions[at];
    let mut verifier = LowVerifier { functions, function, table, errors: Vec::new() };
    for block in function.flow.block_ids() {
        for inst in &function.flow.block(block).insts {
            if let Err((rule, what)) = verifier.value(*inst) {
                verifier.errors.push(SsaError { block, inst: Some(*inst), rule, what });
            }
        }
        if let Err((rule, what)) = verifier.tail(block) {
            verifier.errors.push(SsaError { block, inst: None, rule, what });
        }
    }
    verifier.errors
}

struct LowVerifier<'f> {
    functions: &'f [LowFunction],
    function: &'f LowFunction,
    table: &'f OperatorTable,
    errors: Vec<SsaError>,
}

/// Nothing, or the rule that is broken and how.
type Checked = Result<(), (u8, String)>;

impl<'f> LowVerifier<'f> {
    fn type_of(&self, value: InstId) -> Result<&'f QType, (u8, String)> {
        let of = self.function.types[value.index()].as_ref();
        of.ok_or_else(|| (11, format!("{value} is read and has no value")))
    }

    fn value(&self, inst: InstId) -> Checked {
        let row = self.function.flow.inst(inst);
        let args: Vec<&QType> = row.args.iter().map(|arg| self.type_of(*arg)).collect::<Result<_, _>>()?;
        match &row.op {
            SsaOp::Phi => {
                let of = self.type_of(inst)?;
                match args.iter().find(|given| **given != of) {
                    Some(given) => Err((12, format!("a phi of {of} reads a value of {given}"))),
                    None => Ok(()),
                }
            }
            SsaOp::Do(op) => self.operation(inst, op, &args),
            SsaOp::Undef | SsaOp::Read(_) | SsaOp::Write(_) => Ok(()),
        }
    }

    fn operation(&self, inst: InstId, op: &LowOp, args: &[&QType]) -> Checked {
        match op {
            LowOp::Input(position) => match self.function.parameters.get(*position as usize) {
                Some((_, of)) => self.gives(inst, of),
                None => Err((10, format!("the function has no parameter {position}"))),
            },
            LowOp::Literal(value) => self.gives(inst, &value.qtype()),
            LowOp::Part(offset) => self.part(inst, *offset, args[0]),
            LowOp::Operator(name, _) => {
                let (updates, result) = self.overload(name, args)?;
                match updates {
                    true => Err((10, format!("{name} changes its operand: it is an update"))),
                    false => self.gives(inst, &result),
                }
            }
            LowOp::Update(name) => {
                let (updates, _) = self.overload(name, args)?;
                match (updates, &self.function.types[inst.index()]) {
                    (true, None) => Ok(()),
                    (true, Some(_)) => Err((11, format!("{name} changes its operand, and gives no value"))),
                    (false, _) => Err((10, format!("{name} changes nothing"))),
                }
            }
            LowOp::Round => match args[0] == &INT64 {
                true => self.gives(inst, &INT64),
                false => Err((11, "the number of a round is INT64".to_owned())),
            },
            LowOp::Pieces(pieces) => {
                self.pieces(pieces)?;
                self.call(inst, pieces.callee, args)
            }
            LowOp::Call(callee) => self.call(inst, *callee, args),
        }
    }

    fn instance(&self, instance: InstanceId) -> Result<&'f LowFunction, (u8, String)> {
        let function = self.functions.get(instance.0 as usize);
        function.ok_or_else(|| (10, format!("there is no function {}", instance.0)))
    }

    fn call(&self, inst: InstId, callee: InstanceId, args: &[&QType]) -> Checked {
        let callee = self.instance(callee)?;
        if !callee.parameters.iter().map(|(_, of)| of).eq(args.iter().copied()) {
            return Err((11, format!("{} takes other arguments", callee.name)));
        }
        self.gives(inst, &callee.result)
    }

    /// The windows are of parameters, and two results are combined.
    fn pieces(&self, pieces: &Pieces) -> Checked {
        let callee = self.instance(pieces.callee)?;
        let combine = self.instance(pieces.combine)?;
        let of = &callee.result;
        if combine.result != *of || !combine.parameters.iter().map(|(_, of)| of).eq([of, of]) {
            return Err((11, format!("{} does not combine two results of {}", combine.name, callee.name)));
        }
        let count = callee.parameters.len() as u32;
        let is_there = |window: &LowWindow| {
            [window.array, window.first, window.step].into_iter().all(|number| number < count)
        };
        match pieces.windows.iter().all(is_there) {
            true => Ok(()),
            false => Err((10, format!("{} lacks a parameter of a window", callee.name))),
        }
    }

    /// The overload for operands: whether it updates the first, and its result.
    fn overload(&self, name: &str, args: &[&QType]) -> Result<(bool, QType), (u8, String)> {
        let types: Vec<QType> = args.iter().map(|of| (*of).clone()).collect();
        let family = self.table.family(name);
        match family.and_then(|family| Some((family.updates(), family.overload(&types)?))) {
            Some((updates, overload)) => Ok((updates, overload.result().clone())),
            None => {
                let types: Vec<String> = types.iter().map(QType::to_string).collect();
                Err((11, format!("there is no {name}({})", types.join(", "))))
            }
        }
    }

    /// Checks that a value has the type of what gives it, up to storage.
    fn gives(&self, inst: InstId, result: &QType) -> Checked {
        let of = self.type_of(inst)?;
        match of.storage() == result.storage() {
            true => Ok(()),
            false => Err((11, format!("{result} is given, and {inst} has {of}"))),
        }
    }

    /// A part of a tuple: a field at the offset, of the type.
    fn part(&self, inst: InstId, offset: u32, whole: &QType) -> Checked {
        let (of, mut at) = (self.type_of(inst)?, whole.clone());
        let mut rest = offset;
        while let Some(tuple) = at.tuple().cloned() {
            if rest == 0 && at == *of {
                return Ok(());
            }
            let field = (0..tuple.fields().len()).rev().find(|index| tuple.offset(*index) <= rest);
            let Some(field) = field else { break };
            rest -= tuple.offset(field);
            at = tuple.fields()[field].clone();
        }
        let is_source = |value: InstId| {
            matches!(
                self.function.flow.operation(value),
                Some(LowOp::Input(_) | LowOp::Call(_) | LowOp::Pieces(_))
            )
        };
        // The mask of an optional value is a part of it.
        let is_mask = at.is_optional() && *of == OPTIONAL_UNIT;
        match (
            rest == 0 && (is_mask || at == *of && whole.tuple().is_some()),
            is_source(self.function.flow.inst(inst).args[0]),
        ) {
            (true, true) => Ok(()),
            (true, false) => Err((10, "parts are of parameters and of results of calls".to_owned())),
            (false, _) => Err((10, format!("{whole} has no {of} at {offset}"))),
        }
    }

    fn tail(&self, block: BlockId) -> Checked {
        match self.function.flow.block(block).tail {
            Tail::Branch { condition, .. } => match self.type_of(condition)? {
                of if *of == BOOLEAN => Ok(()),
                of => Err((15, format!("the condition is of {of}"))),
            },
            Tail::Return(value) => match self.type_of(value)? {
                of if *of == self.function.result => Ok(()),
                of => Err((14, format!("{of} is returned, not {}", self.function.result))),
            },
            Tail::Fail(number) if self.function.failures.get(number as usize).is_none() => {
                Err((10, format!("there is no failure {number}")))
            }
            _ => Ok(()),
        }
    }
}
