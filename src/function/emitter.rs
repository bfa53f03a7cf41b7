//! Instructions of a function out of SSA: operators, copies, masks and jumps.

use crate::compile::emission::{Emission, Role};
use crate::function::draft::{Draft, is_pinned};
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::InstanceId;
use crate::function::low::LowOp;
use crate::ssa::destruct::EdgeCopy;
use crate::ssa::{BlockId, InstId, SsaOp, SsaOperation, Tail};
use cembra_vm::program::instruction::{Span, Trap};
use cembra_vm::program::{Instruction, ValueId};
use cembra_vm::value::qtype::OPTIONAL_UNIT;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};
use hashbrown::HashMap;

/// Emits the instructions of a function out of SSA.
///
/// # Errors
/// The machine lacks an operator: a bug of ours.
pub(super) fn emit(draft: &Draft, emission: Emission) -> Result<Emission, FunctionError> {
    let mut emitter = Emitter {
        draft,
        emission,
        values: HashMap::new(),
        starts: HashMap::new(),
        jumps: Vec::new(),
        output: None,
        spare: HashMap::new(),
    };
    emitter.emission.redefines = true;
    emitter.emit()?;
    Ok(emitter.emission)
}

struct Emitter<'d> {
    draft: &'d Draft,
    emission: Emission,
    /// Value of the program, by register, literal or part.
    values: HashMap<InstId, ValueId>,
    /// First instruction of each block.
    starts: HashMap<BlockId, usize>,
    /// Jumps that wait for their target.
    jumps: Vec<(usize, BlockId)>,
    /// The register that is the output.
    output: Option<InstId>,
    /// Spare values, by type.
    spare: HashMap<InstId, ValueId>,
}

impl Emitter<'_> {
    fn emit(&mut self) -> Result<(), FunctionError> {
        let draft = self.draft;
        let flow = draft.flow();
        let reads = draft.reads();
        for block in &draft.order {
            if let Tail::Return(value) = flow.block(*block).tail
                && !is_pinned(flow, value)
            {
                self.output = Some(draft.register(value));
            }
        }
        for (position, block) in draft.order.iter().enumerate() {
            self.starts.insert(*block, self.emission.body.instructions().len());
            let rows = flow.block(*block);
            let condition = match rows.tail {
                Tail::Branch { condition, .. } => self.fusible(*block, condition, &reads),
                _ => None,
            };
            let guards: Vec<BlockId> = flow.guards(*block).collect();
            for inst in rows.insts.iter().filter(|inst| Some(**inst) != condition) {
                if flow.operation(*inst).is_some_and(LowOp::has_effects) {
                    self.guards(&guards, flow.inst(*inst).span);
                }
                self.instruction(*inst)?;
            }
            for copy in &draft.out.copies[block.index()] {
                self.copy(*copy, rows.tail_span)?;
            }
            let next = draft.order.get(position + 1).copied();
            if matches!(rows.tail, Tail::Fail(_) | Tail::Again(_)) {
                self.guards(&guards, rows.tail_span);
            }
            self.tail(*block, condition, next)?;
        }
        self.end_of_handlers();
        self.starts.insert(END, self.emission.body.instructions().len());
        for (jump, block) in std::mem::take(&mut self.jumps) {
            self.emission.body.set_target(jump, self.starts[&block]);
        }
        Ok(())
    }

    /// The guards of the next instruction, of which the last one is asked first.
    fn guards(&mut self, guards: &[BlockId], span: Span) {
        for guard in guards.iter().rev() {
            let Tail::Guard { catch, orelse, .. } = &self.draft.flow().block(*guard).tail else { continue };
            let catch = self.emission.body.add_catch((**catch).clone());
            let guard = self.emission.body.push(Instruction::Guard { catch, offset: 0 }, span);
            self.jumps.push((guard, self.draft.arrives(*orelse)));
        }
    }

    /// A handler that only ends the function, without an instruction, gets one: guards lead to instructions.
    fn end_of_handlers(&mut self) {
        let body = &mut self.emission.body;
        let len = body.instructions().len();
        let is_guard = |at: usize| matches!(body.instructions()[at], Instruction::Guard { .. });
        if self.jumps.iter().any(|(jump, to)| self.starts.get(to) == Some(&len) && is_guard(*jump)) {
            body.push(Instruction::Jump { offset: 0 }, Span::default());
        }
    }

    /// The condition, if it is a comparison that stands last in the block and nobody else reads.
    fn fusible(&self, block: BlockId, condition: InstId, reads: &[u32]) -> Option<InstId> {
        let flow = self.draft.flow();
        let is_comparison = mask_of(flow.operation(condition)?).is_some();
        let has_code = |inst: &&InstId| !is_pinned(flow, **inst) && !flow.is_phi(**inst);
        let last = flow.block(block).insts.iter().rev().find(has_code);
        let is_free = self.draft.out.copies[block.index()].is_empty();
        (is_comparison && is_free && last == Some(&condition) && reads[condition.index()] == 1)
            .then_some(condition)
    }

    /// The program's value of a value of the stage.
    fn value(&mut self, value: InstId) -> ValueId {
        let flow = self.draft.flow();
        let key = self.draft.register(value);
        if let Some(known) = self.values.get(&key) {
            return *known;
        }
        let qtype = self.draft.function.types[key.index()].clone().expect("what is read has a type");
        let new = match flow.operation(key) {
            Some(LowOp::Input(position)) => self.emission.inputs[*position as usize],
            Some(LowOp::Literal(literal)) => self.emission.literal_value(literal),
            Some(LowOp::Part(offset)) => {
                let whole = self.value(flow.inst(key).args[0]);
                self.emission.value(qtype, Role::View(whole, *offset))
            }
            _ if self.output == Some(key) => self.emission.output,
            _ => self.emission.value(qtype, Role::Temporary),
        };
        self.values.insert(key, new);
        new
    }

    fn instruction(&mut self, inst: InstId) -> Result<(), FunctionError> {
        let flow = self.draft.flow();
        let row = flow.inst(inst);
        let SsaOp::Do(op) = &row.op else { return Ok(()) };
        let operands: Vec<ValueId> = match op {
            LowOp::Input(_) | LowOp::Literal(_) | LowOp::Part(_) => return Ok(()),
            _ => row.args.iter().map(|arg| self.value(*arg)).collect(),
        };
        match op {
            LowOp::Operator(name, _) => {
                let result = self.value(inst);
                self.push(name, &operands, result, row.span)
            }
            LowOp::Update(name) => self.push(name, &operands, operands[0], row.span),
            LowOp::Call(callee) => {
                let result = self.value(inst);
                self.call(*callee, operands, result, row.span);
                Ok(())
            }
            LowOp::Pieces(pieces) => {
                let result = self.value(inst);
                self.call(pieces.callee, operands, result, row.span);
                Ok(())
            }
            LowOp::Round => {
                let result = self.value(inst);
                self.push("core._copy", &operands, result, row.span)
            }
            LowOp::Input(_) | LowOp::Literal(_) | LowOp::Part(_) => Ok(()),
        }
    }

    fn call(&mut self, callee: InstanceId, operands: Vec<ValueId>, result: ValueId, span: Span) {
        let body = &mut self.emission.body;
        let (operands, results) = (body.add_list(operands), body.add_list([result]));
        body.push(Instruction::Call { routine: callee.0, operands, results }, span);
    }

    fn push(
        &mut self,
        name: &str,
        operands: &[ValueId],
        result: ValueId,
        span: Span,
    ) -> Result<(), FunctionError> {
        let types: Vec<String> =
            operands.iter().map(|v| self.emission.values[v.index()].qtype.to_string()).collect();
        self.emission.push_named(name, operands, result, span).map_err(|_| {
            FunctionError::new(FunctionProblem::NoOperator { name: name.to_owned(), types }, span)
        })
    }

    fn copy(&mut self, copy: EdgeCopy, span: Span) -> Result<(), FunctionError> {
        match copy {
            EdgeCopy::Copy { to, from } => {
                let target = self.value(to);
                if let SsaOp::Undef = self.draft.flow().inst(from).op {
                    return self.clear(to, target, span);
                }
                let source = self.value(from);
                self.push("core._copy", &[source], target, span)
            }
            EdgeCopy::Save { from } => {
                let source = self.value(from);
                let spare = self.spare(from);
                self.push("core._copy", &[source], spare, span)
            }
            EdgeCopy::Restore { to, saved } => {
                let (target, spare) = (self.value(to), self.spare(saved));
                self.push("core._copy", &[spare], target, span)
            }
        }
    }

    fn spare(&mut self, of: InstId) -> ValueId {
        if let Some(known) = self.spare.get(&of) {
            return *known;
        }
        let qtype = self.draft.function.types[of.index()].clone().expect("a register has a type");
        let new = self.emission.value(qtype, Role::Temporary);
        self.spare.insert(of, new);
        new
    }

    /// Gives a register a value that nobody reads: every path writes what a later one might read.
    fn clear(&mut self, register: InstId, target: ValueId, span: Span) -> Result<(), FunctionError> {
        match self.draft.function.types[register.index()].clone() {
            Some(QType::NdArray(array)) => {
                let element = self.emission.literal_value(&zero(array.element().of_value()));
                let none = self.emission.literal_value(&zero(ScalarType::Int64));
                let operands: Vec<ValueId> =
                    std::iter::once(element).chain(std::iter::repeat_n(none, array.rank())).collect();
                let narrow = array.element().name().to_ascii_lowercase();
                let name =
                    if array.element().is_narrow() { format!("nd.full_{narrow}") } else { "nd.full".into() };
                self.push(&name, &operands, target, span)
            }
            Some(QType::Scalar(scalar)) => {
                let source = self.emission.literal_value(&zero(scalar));
                self.push("core._copy", &[source], target, span)
            }
            _ => Ok(()),
        }
    }

    fn tail(
        &mut self,
        block: BlockId,
        condition: Option<InstId>,
        next: Option<BlockId>,
    ) -> Result<(), FunctionError> {
        let rows = self.draft.flow().block(block);
        let span = rows.tail_span;
        match &rows.tail {
            Tail::Jump(to) => {
                self.jump_unless_next(self.draft.arrives(*to), next, span);
                Ok(())
            }
            Tail::Branch { condition: value, then, orelse } => {
                let (then, orelse) = (self.draft.arrives(*then), self.draft.arrives(*orelse));
                self.branch(*value, condition.is_some(), (then, orelse), next, span)
            }
            Tail::Return(value) => {
                if self.output != Some(self.draft.register(*value)) {
                    let (source, output) = (self.value(*value), self.emission.output);
                    self.push("core._copy", &[source], output, span)?;
                }
                // The end of the body is the end of the function: the block with the return comes last, or jumps there.
                if next.is_some() {
                    let jump = self.emission.body.push(Instruction::Jump { offset: 0 }, span);
                    self.jumps.push((jump, END));
                }
                Ok(())
            }
            Tail::Fail(number) => {
                let failure = &self.draft.function.failures[*number as usize];
                let trap = Trap { category: failure.category, message: failure.message.as_str().into() };
                let trap = self.emission.body.add_trap(trap);
                self.emission.body.push(Instruction::Trap { trap }, span);
                Ok(())
            }
            Tail::Guard { then, .. } => {
                self.jump_unless_next(self.draft.arrives(*then), next, span);
                Ok(())
            }
            Tail::Again(number) => {
                self.emission.body.push(Instruction::Again { number: *number }, span);
                Ok(())
            }
            Tail::Open => Ok(()),
        }
    }

    fn jump_unless_next(&mut self, to: BlockId, next: Option<BlockId>, span: Span) {
        if next != Some(to) {
            let jump = self.emission.body.push(Instruction::Jump { offset: 0 }, span);
            self.jumps.push((jump, to));
        }
    }

    /// Goes on in one of two blocks: a mask, and one or two jumps.
    fn branch(
        &mut self,
        condition: InstId,
        is_fused: bool,
        (then, orelse): (BlockId, BlockId),
        next: Option<BlockId>,
        span: Span,
    ) -> Result<(), FunctionError> {
        // The jump goes where control does not fall.
        let jumps_if = next == Some(orelse);
        let mask = match is_fused {
            true => self.comparison(condition, jumps_if)?,
            false => {
                let truth = self.emission.literal_value(&Value::Scalar(ScalarValue::Boolean(!jumps_if)));
                let value = self.value(condition);
                let mask = self.emission.value(OPTIONAL_UNIT, Role::Temporary);
                self.push("core.equal", &[value, truth], mask, span)?;
                Mask { value: mask, is_inverted: jumps_if }
            }
        };
        let target = if jumps_if { then } else { orelse };
        // A mask of the opposite is missing where the condition holds.
        let jump = match jumps_if != mask.is_inverted {
            true => Instruction::JumpIf { condition: mask.value, offset: 0 },
            false => Instruction::JumpIfNot { condition: mask.value, offset: 0 },
        };
        let jump = self.emission.body.push(jump, span);
        self.jumps.push((jump, target));
        if !jumps_if {
            self.jump_unless_next(then, next, span);
        }
        Ok(())
    }

    /// The comparison as a mask; its opposite where a jump on a present mask is wanted and the opposite is exact.
    fn comparison(&mut self, condition: InstId, jumps_if: bool) -> Result<Mask, FunctionError> {
        let flow = self.draft.flow();
        let row = flow.inst(condition);
        let name = flow.operation(condition).and_then(mask_of).expect("it is a comparison");
        let args: Vec<ValueId> = row.args.iter().map(|arg| self.value(*arg)).collect();
        let is_float =
            matches!(self.draft.function.types[row.args[0].index()], Some(QType::Scalar(t)) if t.is_float());
        let opposite = match name {
            "core.equal" => Some(("core.not_equal", false)),
            "core.not_equal" => Some(("core.equal", false)),
            "core.less" if !is_float => Some(("core.less_equal", true)),
            "core.less_equal" if !is_float => Some(("core.less", true)),
            _ => None,
        };
        let mask = self.emission.value(OPTIONAL_UNIT, Role::Temporary);
        match opposite.filter(|_| jumps_if) {
            Some((name, is_swapped)) => {
                let args = if is_swapped { [args[1], args[0]] } else { [args[0], args[1]] };
                self.push(name, &args, mask, row.span)?;
                Ok(Mask { value: mask, is_inverted: true })
            }
            None => {
                self.push(name, &args, mask, row.span)?;
                Ok(Mask { value: mask, is_inverted: false })
            }
        }
    }
}

/// A condition as a mask.
struct Mask {
    value: ValueId,
    /// True if it is present where the condition does not hold.
    is_inverted: bool,
}

/// Stands for the end of the body.
const END: BlockId = BlockId(u32::MAX);

/// The comparison that gives a mask instead of a truth value.
fn mask_of(op: &LowOp) -> Option<&'static str> {
    match op {
        LowOp::Operator("bool.less", _) => Some("core.less"),
        LowOp::Operator("bool.less_equal", _) => Some("core.less_equal"),
        LowOp::Operator("bool.equal", _) => Some("core.equal"),
        LowOp::Operator("bool.not_equal", _) => Some("core.not_equal"),
        _ => None,
    }
}

fn zero(scalar: ScalarType) -> Value {
    Value::Scalar(match scalar {
        ScalarType::Boolean => ScalarValue::Boolean(false),
        ScalarType::Int32 => ScalarValue::Int32(0),
        ScalarType::Int64 => ScalarValue::Int64(0),
        ScalarType::Float32 => ScalarValue::Float32(0.0),
        ScalarType::Unit => ScalarValue::Unit,
        _ => ScalarValue::Float64(0.0),
    })
}
