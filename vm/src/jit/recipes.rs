//! Rules by recipe: what an operator computes of a row, for one row.
//!
//! The [recipe](crate::array::recipe) of an operator is recorded on terms for its operands, and the operations of the
//! list become instructions. A truth is a byte of 0 or 1.

use crate::array::recipe::Recorded;
use crate::jit::emitter::{Emitter, Instructed};
use crate::operator::{Kernel, Overload};
use crate::program::{Instruction, ValueId};
use crate::strip::{BinaryOp, Comparison, Lane, List, Op, ShiftOp, Term, UnaryOp};
use crate::value::{QType, ScalarType, ScalarValue};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};

/// What an operator computes of its operands, by its recipe.
pub(super) struct Recording {
    list: List,
    recorded: Recorded,
    is_optional: bool,
    /// Where it does not hold, of an operator that is not for all operands or has another way for some.
    rare: Option<Term>,
}

/// Operations of a recipe that has rare operands, at most: what is longer stays a call.
const LONGEST: usize = 120;

impl Recording {
    /// Number of operations.
    pub(super) fn len(&self) -> usize {
        self.list.terms().len()
    }

    /// Cycles until the result is there, about.
    pub(super) fn latency(&self) -> u64 {
        self.list.terms().map(|(_, op, lane)| latency(op, lane)).sum()
    }

    /// True if it computes with integers and truths only.
    pub(super) fn has_no_floats(&self) -> bool {
        self.list.terms().all(|(_, _, lane)| !lane.is_float())
    }
}

/// The recipe of the operator of an instruction, which refuses no operands; none of other instructions.
pub(super) fn of_instruction(e: &Emitter<'_, '_>, ip: usize) -> Option<Recording> {
    let body = &e.routine.body;
    let Instruction::Operator { operator, operands, .. } = body.instructions()[ip] else { return None };
    let overload = &body.operators()[operator as usize];
    let has_recipe = matches!(overload.kernel(), Kernel::Scalar(_)) && overload.primitive().is_none();
    has_recipe.then(|| record(e, overload, body.list(operands))).flatten()
}

/// The recipe of an operator on operands; none if it has none, or the processor lacks an instruction.
pub(super) fn record(e: &Emitter<'_, '_>, overload: &Overload, operands: &[ValueId]) -> Option<Recording> {
    let (mut list, operands) = recorded_operands(e, overload, operands)?;
    let recorded = overload.record(&mut list, &operands)?;
    recording(e, overload, list, recorded, None)
}

/// The same of a recipe that does not hold for rare operands, which the cell takes.
pub(super) fn record_usual(
    e: &Emitter<'_, '_>,
    overload: &Overload,
    operands: &[ValueId],
) -> Option<Recording> {
    let (mut list, operands) = recorded_operands(e, overload, operands)?;
    let usual = overload.record_fast(&mut list, &operands);
    let (recorded, rare) = match usual.or_else(|| overload.record_usual(&mut list, &operands)) {
        Some((recorded, rare)) => (recorded, Some(rare)),
        None => overload.record_function(&mut list, &operands)?,
    };
    let is_plain = recorded.cells.is_some() && !is_optional(overload.result())?;
    let fits = is_plain && list.terms().len() <= LONGEST;
    fits.then(|| recording(e, overload, list, recorded, rare)).flatten()
}

fn recorded_operands(
    e: &Emitter<'_, '_>,
    overload: &Overload,
    operands: &[ValueId],
) -> Option<(List, Vec<Recorded>)> {
    let mut list = List::new();
    let operands = operands.iter().zip(overload.args());
    let operands: Option<Vec<Recorded>> = operands
        .zip(0..)
        .map(|((value, qtype), number)| operand(e, &mut list, *value, qtype, number))
        .collect();
    Some((list, operands?))
}

fn recording(
    e: &Emitter<'_, '_>,
    overload: &Overload,
    list: List,
    recorded: Recorded,
    rare: Option<Term>,
) -> Option<Recording> {
    let (result, is_optional) = (scalar(overload.result())?, is_optional(overload.result())?);
    let has_cells = recorded.cells.map(|cells| list.lane(cells)) == lane(result);
    let is_known = list.terms().all(|(_, op, _)| can(e, op));
    let fits = has_cells && is_known && (recorded.present.is_none() || is_optional);
    fits.then_some(Recording { list, recorded, is_optional, rare })
}

/// Computes what has been recorded of usual operands, and has the cell do it for rare ones.
pub(super) fn emit_usual(e: &mut Emitter<'_, '_>, recording: &Recording, instructed: Instructed<'_>) {
    let mut lowered = Lowered { e, list: &recording.list, values: Vec::new() };
    lowered.all(instructed.operands);
    let values = lowered.values;
    let of = |term: Term| values[term.index()];
    let cells = of(recording.recorded.cells.expect("a usual value has cells"));
    match recording.rare {
        Some(rare) => e.unless(&[of(rare)], instructed, |_| Some(cells)),
        None => {
            let leaf = e.leaves(instructed.results[0])[0];
            e.define(instructed.results[0], leaf, cells);
        }
    }
}

/// Computes what has been recorded.
pub(super) fn emit(e: &mut Emitter<'_, '_>, recording: &Recording, operands: &[ValueId], result: ValueId) {
    let Recording { list, recorded, is_optional, .. } = recording;
    let mut lowered = Lowered { e, list, values: Vec::new() };
    lowered.all(operands);
    let values = lowered.values;
    let present = match recorded.present {
        Some(present) => values[present.index()],
        None => e.b.ins().iconst(types::I8, 1),
    };
    let leaves = e.leaves(result);
    let cells = recorded.cells.map(|cells| values[cells.index()]);
    let unit = e.b.ins().iconst(types::I8, 0);
    let parts: &[Value] = match (is_optional, cells) {
        (true, Some(cells)) => &[present, cells],
        (true, None) => &[present],
        (false, Some(cells)) => &[cells],
        (false, None) => &[unit],
    };
    leaves.into_iter().zip(parts).for_each(|(leaf, part)| e.define(result, leaf, *part));
}

/// Cycles that an operation takes, about.
fn latency(op: Op, lane: Lane) -> u64 {
    match op {
        Op::Column(_) | Op::Presence(_) | Op::Scalar(_) | Op::Literal(_) | Op::Bits(_) => 0,
        Op::Binary(BinaryOp::Div, ..) => 13,
        Op::Unary(UnaryOp::Sqrt, _) => 20,
        Op::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not, _) => 1,
        Op::Binary(BinaryOp::Min | BinaryOp::Max, ..) if lane.is_float() => 8,
        Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::AndNot, ..) => 1,
        _ if lane.is_float() => 4,
        Op::Cast(_) => 4,
        _ => 2,
    }
}

fn scalar(qtype: &QType) -> Option<ScalarType> {
    qtype.scalar().filter(|scalar| scalar.is_plain())
}

fn is_optional(qtype: &QType) -> Option<bool> {
    match qtype {
        QType::Scalar(_) => Some(false),
        QType::Optional(_) => Some(true),
        _ => None,
    }
}

/// The lane of the cells of a scalar; `None` of UNIT, which has none.
fn lane(scalar: ScalarType) -> Option<Lane> {
    match scalar {
        ScalarType::Boolean => Some(Lane::Mask),
        ScalarType::Int32 => Some(Lane::I32),
        ScalarType::Int64 => Some(Lane::I64),
        ScalarType::Float32 => Some(Lane::F32),
        ScalarType::Float64 | ScalarType::WeakFloat => Some(Lane::F64),
        _ => None,
    }
}

fn variable(lane: Lane) -> Type {
    match lane {
        Lane::F64 => types::F64,
        Lane::F32 => types::F32,
        Lane::I64 => types::I64,
        Lane::I32 => types::I32,
        Lane::Mask => types::I8,
    }
}

/// An operand as terms: columns with its number, or a literal.
fn operand(
    e: &Emitter<'_, '_>,
    list: &mut List,
    value: ValueId,
    qtype: &QType,
    number: u16,
) -> Option<Recorded> {
    let lane = lane(scalar(qtype)?);
    let literal = match e.literal(value) {
        Some(ScalarValue::Int32(x)) => Some(list.i32(*x)),
        Some(ScalarValue::Int64(x)) => Some(list.i64(*x)),
        _ => None,
    };
    let cells = literal.or_else(|| lane.map(|lane| list.column(number, lane)));
    let present = is_optional(qtype)?.then(|| list.presence(number));
    Some(Recorded { cells, present })
}

/// True if the processor has an instruction for an operation.
fn can(e: &Emitter<'_, '_>, op: Op) -> bool {
    match op {
        Op::Scalar(_) => false,
        Op::Unary(UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Nearest, _) => {
            e.abilities.rounds
        }
        Op::Fma(..) => e.abilities.fuses,
        _ => true,
    }
}

/// The values of the terms of a list.
struct Lowered<'l, 'e, 'r, 'f> {
    e: &'e mut Emitter<'r, 'f>,
    list: &'l List,
    values: Vec<Value>,
}

impl Lowered<'_, '_, '_, '_> {
    fn all(&mut self, operands: &[ValueId]) {
        for (_, op, lane) in self.list.terms() {
            let value = self.term(op, lane, operands);
            self.values.push(value);
        }
    }

    fn of(&self, term: Term) -> Value {
        self.values[term.index()]
    }

    fn term(&mut self, op: Op, lane: Lane, operands: &[ValueId]) -> Value {
        match op {
            Op::Column(number) => {
                let value = operands[usize::from(number)];
                let leaf = *self.e.leaves(value).last().expect("a plain value has leaves");
                self.e.leaf(value, leaf)
            }
            Op::Presence(number) => {
                let value = operands[usize::from(number)];
                let leaf = self.e.leaves(value)[0];
                self.e.leaf(value, leaf)
            }
            Op::Scalar(_) => unreachable!("recipes have no constants of calls"),
            Op::Literal(bits) => self.literal(bits, lane),
            Op::Unary(op, x) => self.unary(op, self.of(x), lane),
            Op::Binary(BinaryOp::Mul, x, y) if !lane.is_float() => self.product(x, y),
            Op::Binary(op, x, y) => self.binary(op, self.of(x), self.of(y), lane),
            Op::Compare(comparison, x, y) => {
                self.compare(comparison, self.of(x), self.of(y), self.list.lane(x))
            }
            Op::Select(mask, yes, no) => {
                let [mask, yes, no] = [mask, yes, no].map(|term| self.of(term));
                self.e.b.ins().select(mask, yes, no)
            }
            Op::Shift(op, x, bits) => {
                let (x, bits) = (self.of(x), i64::from(bits));
                match op {
                    ShiftOp::Left => self.e.b.ins().ishl_imm_u(x, bits),
                    ShiftOp::Right => self.e.b.ins().ushr_imm_u(x, bits),
                    ShiftOp::RightSigned => self.e.b.ins().sshr_imm_u(x, bits),
                }
            }
            Op::Fma(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|term| self.of(term));
                self.e.b.ins().fma(a, b, c)
            }
            Op::Cast(x) => self.cast(self.of(x), self.list.lane(x), lane),
            Op::Bits(x) => {
                let x = self.of(x);
                self.e.b.ins().bitcast(variable(lane), MemFlagsData::new(), x)
            }
            Op::Running(..) => unreachable!("a single value comes of no rows"),
        }
    }

    fn literal(&mut self, bits: u64, lane: Lane) -> Value {
        match lane {
            Lane::F64 => self.e.b.ins().f64const(f64::from_bits(bits)),
            Lane::F32 => self.e.b.ins().f32const(f32::from_bits(bits as u32)),
            Lane::I64 | Lane::I32 => self.e.b.ins().iconst(variable(lane), bits as i64),
            Lane::Mask => self.e.b.ins().iconst(types::I8, (bits & 1) as i64),
        }
    }

    fn unary(&mut self, op: UnaryOp, x: Value, lane: Lane) -> Value {
        let ins = self.e.b.ins();
        match op {
            UnaryOp::Neg if lane.is_float() => ins.fneg(x),
            UnaryOp::Neg => ins.ineg(x),
            UnaryOp::Abs if lane.is_float() => ins.fabs(x),
            UnaryOp::Abs => ins.iabs(x),
            UnaryOp::Sqrt => ins.sqrt(x),
            UnaryOp::Floor => ins.floor(x),
            UnaryOp::Ceil => ins.ceil(x),
            UnaryOp::Trunc => ins.trunc(x),
            UnaryOp::Nearest => ins.nearest(x),
            UnaryOp::Not if lane == Lane::Mask => ins.bxor_imm_u(x, 1),
            UnaryOp::Not => ins.bnot(x),
        }
    }

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value, lane: Lane) -> Value {
        let ins = self.e.b.ins();
        match op {
            BinaryOp::Add if lane.is_float() => ins.fadd(x, y),
            BinaryOp::Add => ins.iadd(x, y),
            BinaryOp::Sub if lane.is_float() => ins.fsub(x, y),
            BinaryOp::Sub => ins.isub(x, y),
            BinaryOp::Mul => ins.fmul(x, y),
            BinaryOp::MulLow => {
                let low = i64::from(u32::MAX);
                let [x, y] = [x, y].map(|x| self.e.b.ins().band_imm_u(x, low));
                self.e.b.ins().imul(x, y)
            }
            BinaryOp::Div => ins.fdiv(x, y),
            BinaryOp::Min if lane.is_float() => self.second_if(x, y, [y, x]),
            BinaryOp::Max if lane.is_float() => self.second_if(x, y, [x, y]),
            BinaryOp::Min => ins.smin(x, y),
            BinaryOp::Max => ins.smax(x, y),
            BinaryOp::And => ins.band(x, y),
            BinaryOp::Or => ins.bor(x, y),
            BinaryOp::Xor => ins.bxor(x, y),
            BinaryOp::AndNot => ins.band_not(x, y),
        }
    }

    /// A product of integers. By 3, 5 and 9 it is a sum as the processor makes one for addresses, in a third of the time.
    fn product(&mut self, x: Term, y: Term) -> Value {
        let shift = |term: Term| match self.list.op(term) {
            Op::Literal(3) => Some(1),
            Op::Literal(5) => Some(2),
            Op::Literal(9) => Some(3),
            _ => None,
        };
        let by = shift(y).map(|shift| (x, shift)).or_else(|| shift(x).map(|shift| (y, shift)));
        match by {
            Some((factor, shift)) => {
                let factor = self.of(factor);
                let shifted = self.e.b.ins().ishl_imm_u(factor, shift);
                self.e.b.ins().iadd(factor, shifted)
            }
            None => {
                let (x, y) = (self.of(x), self.of(y));
                self.e.b.ins().imul(x, y)
            }
        }
    }

    /// The second float if it is NaN or `low` is less than `high`, which are both of them; else the first. A choice between
    /// what `less` compares is one instruction of x86-64.
    fn second_if(&mut self, x: Value, y: Value, [low, high]: [Value; 2]) -> Value {
        let is_less = self.e.b.ins().fcmp(FloatCC::LessThan, low, high);
        let chosen = self.e.b.ins().select(is_less, y, x);
        if !self.e.abilities.masks {
            let is_nan = self.e.b.ins().fcmp(FloatCC::Unordered, y, y);
            return self.e.b.ins().select(is_nan, y, chosen);
        }
        // All bits are set where it is NaN: no jump, as a choice of floats is one.
        let of = if self.e.b.func.dfg.value_type(y) == types::F64 { types::F64X2 } else { types::F32X4 };
        let y = self.e.b.ins().splat(of, y);
        let mask = self.e.b.ins().fcmp(FloatCC::Unordered, y, y);
        let little = MemFlagsData::new().with_endianness(Endianness::Little);
        let mask = self.e.b.ins().bitcast(of, little, mask);
        let mask = self.e.b.ins().extractlane(mask, 0);
        self.e.b.ins().bor(chosen, mask)
    }

    fn compare(&mut self, comparison: Comparison, x: Value, y: Value, lane: Lane) -> Value {
        if lane.is_float() {
            let comparison = match comparison {
                Comparison::Equal => FloatCC::Equal,
                Comparison::NotEqual => FloatCC::NotEqual,
                Comparison::Less => FloatCC::LessThan,
                Comparison::LessEqual => FloatCC::LessThanOrEqual,
                Comparison::Greater => FloatCC::GreaterThan,
                Comparison::GreaterEqual => FloatCC::GreaterThanOrEqual,
                Comparison::Unordered => FloatCC::Unordered,
            };
            return self.e.b.ins().fcmp(comparison, x, y);
        }
        let comparison = match comparison {
            Comparison::Equal => IntCC::Equal,
            Comparison::NotEqual => IntCC::NotEqual,
            Comparison::Less => IntCC::SignedLessThan,
            Comparison::LessEqual => IntCC::SignedLessThanOrEqual,
            Comparison::Greater => IntCC::SignedGreaterThan,
            Comparison::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
            Comparison::Unordered => unreachable!("integers are ordered"),
        };
        self.e.b.ins().icmp(comparison, x, y)
    }

    fn cast(&mut self, x: Value, from: Lane, to: Lane) -> Value {
        let ins = self.e.b.ins();
        match (from, to) {
            (Lane::F64, Lane::F32) => ins.fdemote(types::F32, x),
            (Lane::F32, Lane::F64) => ins.fpromote(types::F64, x),
            (Lane::I32, Lane::I64) => ins.sextend(types::I64, x),
            (Lane::I64, Lane::I32) => ins.ireduce(types::I32, x),
            (_, Lane::F64 | Lane::F32) => ins.fcvt_from_sint(variable(to), x),
            _ => ins.fcvt_to_sint_sat(variable(to), x),
        }
    }
}
