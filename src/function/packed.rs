//! The compile half of a function in an expression: on single values, on optional ones, and over rows.
//!
//! ```text
//! one        result = f(x, y)
//! optional   result = missing;  each mask, or jump to the end;  result = present f(x, y)
//! lifted     every operator of the function on rows, in a region
//! rows       n rows of zeros;  for each row where all are present: row i = f(x[i], y[i]);  the mask of all
//! ```
//!
//! Only a function of one block whose operators all take rows, and miss those that an operand misses, is lifted: rows that are
//! missing then raise nothing, as in the loop.

use crate::function::low::{LowFunction, LowOp};
use crate::prepare::PrepareError;
use crate::prepare::emitter::{CompileOperator, Emitter, RowErrors};
use crate::ssa::{InstId, SsaOp, Tail};
use cembra_vm::builtins;
use cembra_vm::operator::Effects;
use cembra_vm::operator::lifting::Each;
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::array::ArrayType;
use cembra_vm::value::qtype::{INT64, OPTIONAL_UNIT};
use cembra_vm::value::{NdType, QType, ScalarType, Value};
use hashbrown::HashMap;
use std::sync::Arc;

/// What arguments are: single values, optional ones, or rows beside single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    One,
    Optional,
    Rows(ArrayType),
}

impl Kind {
    /// The kind of arguments of these types.
    ///
    /// # Errors
    /// They do not go together.
    pub(super) fn of(types: &[QType]) -> Result<Kind, &'static str> {
        let rows = types.iter().find_map(QType::array);
        match (rows, types.iter().any(QType::is_optional)) {
            (Some(_), true) => Err("it takes rows or optional values, not both"),
            (Some(rows), false) => match Each::of(types) {
                Some(_) => Ok(Kind::Rows(rows)),
                None => Err("its arguments have rows of different kinds"),
            },
            (None, true) => Ok(Kind::Optional),
            (None, false) => Ok(Kind::One),
        }
    }

    /// Types of the single values that the function gets.
    pub(super) fn single(self, types: &[QType]) -> Vec<QType> {
        let single = |qtype: &QType| match (self, qtype) {
            (Kind::Optional, QType::Optional(scalar)) => QType::Scalar(*scalar),
            (Kind::Rows(_), QType::Array(array)) => QType::Scalar(array.element),
            _ => qtype.clone(),
        };
        types.iter().map(single).collect()
    }

    /// The type of the result, where the function gives one of this type.
    pub(super) fn result(self, single: &QType) -> Option<QType> {
        match (self, single) {
            (Kind::One, _) => Some(single.clone()),
            (Kind::Optional, QType::Scalar(scalar)) => Some(QType::Optional(*scalar)),
            (Kind::Rows(rows), QType::Scalar(scalar)) if *scalar != ScalarType::Unit => {
                Some(QType::Array(rows.of(*scalar)))
            }
            _ => None,
        }
    }
}

/// How a function is computed.
#[derive(Clone, Debug)]
pub(super) enum FunctionBody {
    /// The operators of its only block.
    Block(Arc<LowFunction>),
    /// A call.
    Call(Arc<Program>),
}

/// A function for types of its arguments.
#[derive(Debug)]
pub(super) struct PackedFunction {
    pub(super) body: FunctionBody,
    pub(super) kind: Kind,
    /// Type of one result.
    pub(super) result: QType,
}

type Emitted = Result<(), PrepareError>;

impl CompileOperator for PackedFunction {
    fn emit(&self, emitter: &mut dyn Emitter, operands: &[ValueId], result: ValueId) -> Emitted {
        match self.kind {
            Kind::One => self.apply(emitter, operands, result),
            Kind::Optional => self.where_present(emitter, operands, result),
            Kind::Rows(rows) => match &self.body {
                FunctionBody::Block(function) if takes_rows(function, rows, &types(emitter, operands)) => {
                    block(function, emitter, operands, result)
                }
                _ => self.row_by_row(emitter, operands, result),
            },
        }
    }

    /// Operators on rows name the row they raise for; a loop over rows does not.
    fn row_errors(&self, operands: &[QType]) -> Option<RowErrors> {
        let Kind::Rows(rows) = self.kind else { return None };
        Some(match &self.body {
            FunctionBody::Block(function) if takes_rows(function, rows, operands) => RowErrors::Named,
            _ => RowErrors::Unnamed,
        })
    }

    fn effects(&self) -> Effects {
        let raises = |function: &LowFunction| {
            let flow = &function.flow;
            let raises = |inst: &InstId| matches!(flow.operation(*inst), Some(LowOp::Operator(_, true)));
            flow.blocks[0].insts.iter().any(raises)
        };
        match &self.body {
            FunctionBody::Block(function) if self.kind == Kind::One && !raises(function) => Effects::Total,
            _ => Effects::Raises,
        }
    }
}

impl PackedFunction {
    /// Computes one value.
    fn apply(&self, emitter: &mut dyn Emitter, operands: &[ValueId], result: ValueId) -> Emitted {
        match &self.body {
            FunctionBody::Block(function) => block(function, emitter, operands, result),
            FunctionBody::Call(program) => {
                emitter.call(program, operands, result);
                Ok(())
            }
        }
    }

    fn where_present(&self, emitter: &mut dyn Emitter, operands: &[ValueId], result: ValueId) -> Emitted {
        let missing = Value::zero(&emitter.qtype(result));
        let missing = emitter.literal(missing);
        emitter.operator("core._copy", &[missing], result)?;
        let mut jumps = Vec::new();
        let mut values = Vec::new();
        for operand in operands {
            if emitter.qtype(*operand).is_optional() {
                let mask = emitter.presence(*operand);
                jumps.push(emitter.jump_if_not(mask));
            }
        }
        for operand in operands {
            values.push(number(emitter, *operand)?);
        }
        let one = emitter.temporary(self.result.clone());
        self.apply(emitter, &values, one)?;
        emitter.operator("core.to_optional._scalar", &[one], result)?;
        jumps.into_iter().for_each(|jump| emitter.land(jump));
        Ok(())
    }

    fn row_by_row(&self, emitter: &mut dyn Emitter, operands: &[ValueId], result: ValueId) -> Emitted {
        let mask = common_mask(emitter, operands)?;
        let (zero, one) = (emitter.literal(Value::from(0i64)), emitter.literal(Value::from(1i64)));
        let nothing = emitter.literal(Value::zero(&self.result));
        let element = self.result.scalar().expect("the type rule has seen to a number");
        let rows = QType::NdArray(NdType::new(element, 1, 0).expect("one axis of numbers"));
        let (size, i) = (emitter.temporary(INT64), emitter.temporary(INT64));
        let (more, there) = (emitter.temporary(OPTIONAL_UNIT), emitter.temporary(OPTIONAL_UNIT));
        let (out, single) = (emitter.temporary(rows), emitter.temporary(self.result.clone()));
        emitter.operator("array.size", &[mask], size)?;
        emitter.operator("nd.full", &[nothing, size], out)?;
        emitter.operator("core._copy", &[zero], i)?;
        let again = emitter.here();
        emitter.operator("core.less", &[i, size], more)?;
        let done = emitter.jump_if_not(more);
        emitter.operator("array.at", &[mask, i], there)?;
        let skip = emitter.jump_if_not(there);
        let mut values = Vec::new();
        for operand in operands {
            let value = match emitter.qtype(*operand).array() {
                None => *operand,
                Some(array) => {
                    let row = emitter.temporary(QType::Optional(array.element));
                    emitter.operator("array.at", &[*operand, i], row)?;
                    number(emitter, row)?
                }
            };
            values.push(value);
        }
        self.apply(emitter, &values, single)?;
        emitter.operator("nd.set", &[out, single, i], out)?;
        emitter.land(skip);
        emitter.operator("math.add", &[i, one], i)?;
        emitter.jump_back(again);
        emitter.land(done);
        let all = emitter.temporary(emitter.qtype(result));
        emitter.operator("nd.to_dense_array", &[out], all)?;
        emitter.operator("core.presence_and", &[all, mask], result)
    }
}

/// A value that is known to be present, without its mask.
fn number(emitter: &mut dyn Emitter, value: ValueId) -> Result<ValueId, PrepareError> {
    let QType::Optional(scalar) = emitter.qtype(value) else { return Ok(value) };
    let number = emitter.temporary(QType::Scalar(scalar));
    emitter.operator("core.get_optional_value", &[value], number)?;
    Ok(number)
}

/// Where the rows of all arguments are present. They have to be of one number.
fn common_mask(emitter: &mut dyn Emitter, operands: &[ValueId]) -> Result<ValueId, PrepareError> {
    let mut common = None;
    for operand in operands {
        let Some(array) = emitter.qtype(*operand).array() else { continue };
        let of_units = QType::Array(array.of(ScalarType::Unit));
        let mask = emitter.temporary(of_units.clone());
        emitter.operator("core.has._array", &[*operand], mask)?;
        common = Some(match common {
            None => mask,
            Some(before) => {
                let both = emitter.temporary(of_units);
                emitter.operator("core.presence_and", &[before, mask], both)?;
                both
            }
        });
    }
    Ok(common.expect("an argument has rows"))
}

/// Emits the operators of a block, on rows where an operand has rows.
fn block(
    function: &LowFunction,
    emitter: &mut dyn Emitter,
    operands: &[ValueId],
    result: ValueId,
) -> Emitted {
    let flow = &function.flow;
    let Tail::Return(last) = flow.blocks[0].tail else { return Ok(()) };
    let mut values: HashMap<InstId, ValueId> = HashMap::new();
    for inst in &flow.blocks[0].insts {
        let row = flow.inst(*inst);
        let SsaOp::Do(op) = &row.op else { continue };
        let value = match op {
            LowOp::Input(position) => operands[*position as usize],
            LowOp::Literal(literal) => emitter.literal(literal.clone()),
            LowOp::Operator(name, _) => {
                let args: Vec<ValueId> = row.args.iter().map(|arg| values[arg]).collect();
                let value = match *inst == last {
                    true => result,
                    false => {
                        let rows = args.iter().find_map(|arg| emitter.qtype(*arg).array());
                        emitter.temporary(type_on_rows(function, *inst, rows))
                    }
                };
                emitter.operator(name, &args, value)?;
                value
            }
            LowOp::Part(_) | LowOp::Update(_) | LowOp::Call(_) | LowOp::Round | LowOp::Pieces(_) => continue,
        };
        values.insert(*inst, value);
    }
    match values[&last] {
        value if value == result => Ok(()),
        value => emitter.operator("core._copy", &[value], result),
    }
}

/// The type of a value of the block, on rows where its operands have them.
fn type_on_rows(function: &LowFunction, inst: InstId, rows: Option<ArrayType>) -> QType {
    let qtype = function.types[inst.index()].clone().expect("a number has a type");
    match (rows, &qtype) {
        (Some(rows), QType::Scalar(element)) => QType::Array(rows.of(*element)),
        _ => qtype,
    }
}

fn types(emitter: &dyn Emitter, operands: &[ValueId]) -> Vec<QType> {
    operands.iter().map(|operand| emitter.qtype(*operand)).collect()
}

/// True if all operators of a block take rows, those that are missing are missing in what they give, and the result is made of
/// the rows of all arguments.
fn takes_rows(function: &LowFunction, rows: ArrayType, operands: &[QType]) -> bool {
    let (flow, table) = (&function.flow, builtins::table());
    let Tail::Return(last) = flow.blocks[0].tail else { return false };
    let instructions = || flow.blocks[0].insts.iter();
    let is_read = |inst: InstId| inst == last || instructions().any(|by| flow.inst(*by).args.contains(&inst));
    let reads = |position: usize| {
        let is_input = |inst: &&InstId| matches!(flow.operation(**inst), Some(LowOp::Input(of)) if *of as usize == position);
        instructions().find(is_input).is_some_and(|inst| is_read(*inst))
    };
    if !(0..operands.len()).all(|position| operands[position].array().is_none() || reads(position)) {
        return false;
    }
    let mut types: HashMap<InstId, QType> = HashMap::new();
    for inst in &flow.blocks[0].insts {
        let args: Vec<QType> = flow.inst(*inst).args.iter().map(|arg| types[arg].clone()).collect();
        let qtype = match flow.operation(*inst) {
            Some(LowOp::Input(position)) => operands[*position as usize].clone(),
            Some(LowOp::Operator(name, _)) => {
                let has_rows = args.iter().any(|of| of.array().is_some());
                let qtype = type_on_rows(function, *inst, has_rows.then_some(rows));
                match table.overload(name, &args) {
                    Some(overload)
                        if *overload.result() == qtype && (!has_rows || overload.misses_rows()) =>
                    {
                        qtype
                    }
                    _ => return false,
                }
            }
            _ => type_on_rows(function, *inst, None),
        };
        types.insert(*inst, qtype);
    }
    types[&last].array().is_some()
}
