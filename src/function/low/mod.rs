//! The stage `low`: typed operations become operators of the machine.
//!
//! ```text
//! s.2: f64 = add(s.1: f64, i.0: i64)        t = core.to_float64(i);  s2 = math.add(s1, t)
//! ```
//!
//! 1. Every value is of one type of the machine. A tuple is its fields, one value each; where a whole is needed (a
//!    result, an argument) it is assembled.
//! 2. No coercion is implicit: casts are operators, and stand at the end of the predecessor where a phi needs one.
//! 3. An array is a handle; a row or a slice of it is the handle with places, and needs no instruction.
//! 4. The function ends in one block, whose phi takes the results of all returns.
//!
//! Blocks follow those they come from; loops over whole arrays add some, which are guarded as the one that they belong to.

mod arithmetic;
mod arrays;
mod calls;
mod dictionaries;
mod expressions;
mod leaves;
mod list_calls;
mod loops;
mod low_op;
mod new_arrays;
mod none;
mod numpy_calls;
mod phis;
mod read_once;
mod texts;
mod verify;
mod views;

pub use low_op::{LowFunction, LowOp, LowWindow, Pieces};
pub use verify::low_errors;

use crate::function::build::RaisedFailure;
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::{Instance, InstanceId, constant_of};
use crate::function::library::LibraryKind;
use crate::function::op::{FunctionOp, IndexPart};
use crate::function::options::FunctionOptions;
use crate::function::types::{ArrayOf, FunctionType};
use crate::ssa::{
    BlockId, Flow, InstId, SsaOp, Tail, order_blocks, remove_dead_code, remove_trivial_phis, verify_flow,
};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::{FLOAT64, INT64};
use cembra_vm::value::{QType, ScalarValue, Value};
use hashbrown::HashMap;
use leaves::{has_array, leaf_types};
use views::{ArrayPart, Lowered};

/// Lowers an instance.
///
/// # Errors
/// Uses of arrays that the machine does not have.
pub fn lower(
    instances: &[Instance],
    at: InstanceId,
    options: &FunctionOptions,
) -> Result<LowFunction, FunctionError> {
    let mut lowering = Lowering::new(instances, &instances[at.0 as usize], options);
    lowering.blocks()?;
    lowering.join_phis()?;
    lowering.finish()
}

struct Lowering<'i> {
    instances: &'i [Instance],
    instance: &'i Instance,
    options: FunctionOptions,
    flow: Flow<LowOp>,
    types: Vec<Option<QType>>,
    /// By instruction of the typed flow.
    lowered: Vec<Option<Lowered>>,
    /// Arrays of an expression that are read as the numbers that their elements are: see [`expressions`].
    elements: Vec<(InstId, &'static FunctionType)>,
    /// True while operators are those of whole arrays.
    lifts: bool,
    /// By instruction of the typed flow: [what its reader computes](read_once).
    read_once: Vec<bool>,
    /// By array of this flow: another one that has as many elements along each axis.
    shape_of: HashMap<InstId, InstId>,
    /// By instruction of the typed flow: [rows whose index is checked later](arrays::rows_in_passing).
    in_passing: Vec<bool>,
    /// First and last block of each typed block.
    ends: Vec<(BlockId, BlockId)>,
    block: BlockId,
    span: Span,
    /// What tails raise.
    failures: Vec<RaisedFailure>,
    /// Guarded typed blocks, and the blocks that were added for what is in them.
    guarded: Vec<(BlockId, BlockId)>,
    /// Where all returns lead, with the values of each.
    returns: Vec<(BlockId, Vec<InstId>)>,
}

type Lower<T> = Result<T, FunctionError>;

impl<'i> Lowering<'i> {
    fn new(instances: &'i [Instance], instance: &'i Instance, options: &'i FunctionOptions) -> Lowering<'i> {
        let typed = &instance.function.flow;
        let mut flow = Flow::new();
        flow.blocks.clear();
        for block in &typed.blocks {
            flow.add_block(block.depth);
        }
        Lowering {
            instances,
            instance,
            options: options.clone(),
            types: Vec::new(),
            failures: instance.function.failures.clone(),
            lowered: vec![None; typed.insts.len()],
            elements: Vec::new(),
            lifts: false,
            read_once: read_once::read_once(instance),
            shape_of: HashMap::new(),
            in_passing: arrays::rows_in_passing(instance),
            ends: typed.block_ids().map(|block| (block, block)).collect(),
            flow,
            block: BlockId(0),
            span: Span::default(),
            guarded: Vec::new(),
            returns: Vec::new(),
        }
    }

    fn type_of(&self, value: InstId) -> &'i FunctionType {
        let element = self.elements.iter().find(|(of, _)| *of == value);
        element.map_or_else(|| self.instance.type_of(value), |(_, number)| number)
    }

    fn blocks(&mut self) -> Lower<()> {
        let function = self.instance.function.clone();
        for block in function.flow.reverse_postorder() {
            self.block = block;
            let rows = function.flow.block(block);
            let added = self.flow.blocks.len();
            for inst in &rows.insts {
                self.span = function.flow.inst(*inst).span;
                self.instruction(*inst)?;
            }
            self.span = rows.tail_span;
            let tail = match &rows.tail {
                Tail::Branch { condition, then, orelse } => {
                    let condition = self.leaf(*condition);
                    Tail::Branch { condition, then: *then, orelse: *orelse }
                }
                Tail::Return(value) => {
                    let value = *value;
                    self.check_result()?;
                    let result = self.instance.result.clone().unwrap_or(FunctionType::None);
                    let leaves = match self.part_for_host(value) {
                        Some(part) => {
                            let own = ArrayOf::array(part.array.element, part.open_axes().len());
                            vec![self.copied(&part, own)?]
                        }
                        None => self.leaves_as(value, &result)?,
                    };
                    self.returns.push((self.block, leaves));
                    Tail::Open
                }
                other => other.clone(),
            };
            self.flow.blocks[self.block.index()].tail = tail;
            self.flow.blocks[self.block.index()].tail_span = rows.tail_span;
            self.ends[block.index()].1 = self.block;
            if function.flow.guards(block).next().is_some() {
                let added = added..self.flow.blocks.len();
                self.guarded.extend(added.map(|new| (block, BlockId(new as u32))));
            }
        }
        Ok(())
    }

    fn instruction(&mut self, inst: InstId) -> Lower<()> {
        let function = self.instance.function.clone();
        let row = function.flow.inst(inst);
        let lowered = match &row.op {
            SsaOp::Undef => Some(Lowered::Leaves(Vec::new())),
            SsaOp::Phi => Some(Lowered::Leaves(self.phi(inst)?)),
            SsaOp::Do(_) if self.read_once[inst.index()] => None,
            SsaOp::Do(op) => self.operation(inst, op, &row.args)?,
            SsaOp::Read(_) | SsaOp::Write(_) => unreachable!("the flow is in SSA"),
        };
        if let (Some(Lowered::Leaves(leaves)), Some(_)) = (&lowered, row.name) {
            for leaf in leaves {
                self.flow.insts[leaf.index()].name = row.name;
            }
        }
        self.lowered[inst.index()] = lowered;
        Ok(())
    }

    fn operation(&mut self, inst: InstId, op: &FunctionOp, args: &[InstId]) -> Lower<Option<Lowered>> {
        let leaves = match op {
            FunctionOp::Param(position) => {
                let qtype = self.qtype(self.type_of(inst))?;
                let whole = self.push(LowOp::Input(*position), vec![], qtype);
                self.parts(whole, self.type_of(inst))?
            }
            FunctionOp::Constant(constant) => self.constant(constant).into_iter().collect(),
            _ if !self.lifts && read_once::is_in_place(self.instance, inst) => {
                return self.in_place(inst, args).map(Some);
            }
            _ if !self.lifts && read_once::is_expression(self.instance, inst) => {
                vec![self.array_expression(inst)?]
            }
            FunctionOp::Unary(op) => vec![self.unary(*op, args[0])?],
            FunctionOp::Binary(op) | FunctionOp::InPlace(op) => self.binary(*op, args[0], args[1], inst)?,
            FunctionOp::Compare(op) => vec![self.compare(*op, args[0], args[1])?],
            FunctionOp::Truth => vec![self.truth(args[0])],
            FunctionOp::LibraryFunction(builtin)
                if builtin.kind() == LibraryKind::Element && self.dict(args[0]).is_none() =>
            {
                return self.get_item(inst, &[IndexPart::At], args).map(Some);
            }
            FunctionOp::LibraryFunction(builtin) => self.builtin(*builtin, args, inst)?,
            FunctionOp::Call(_) => self.call(inst, args)?,
            FunctionOp::Tuple => {
                let parts: Vec<Vec<InstId>> =
                    args.iter().map(|arg| self.leaves_as(*arg, self.type_of(*arg))).collect::<Lower<_>>()?;
                parts.concat()
            }
            FunctionOp::Unpack(count) => match self.part(args[0]) {
                Some(part) => {
                    self.check_unpacked(&part, *count);
                    return Ok(self.lowered[args[0].index()].clone());
                }
                None => self.leaves(args[0]),
            },
            FunctionOp::GetItem(parts) => return self.get_item(inst, parts, args).map(Some),
            FunctionOp::SetItem(parts) => {
                self.set_item(parts, args)?;
                Vec::new()
            }
            FunctionOp::Attribute(name) => self.attribute(name, args[0])?,
            FunctionOp::RangeBound => vec![self.leaf_as(args[0], &FunctionType::Int)],
            FunctionOp::RangeCount => {
                let bounds = args.iter().map(|arg| self.leaf(*arg)).collect();
                vec![self.operator("python.range_count", bounds, INT64)]
            }
            FunctionOp::Step => {
                let (x, y) = (self.leaf(args[0]), self.leaf(args[1]));
                vec![self.total("math.add", vec![x, y], INT64)]
            }
            FunctionOp::Round => {
                let counter = self.leaf(args[0]);
                vec![self.push(LowOp::Round, vec![counter], INT64)]
            }
            FunctionOp::ModuleConstant => match self.part(args[0]) {
                Some(part) => return Ok(Some(Lowered::Part(ArrayPart { is_constant: true, ..part }))),
                None if matches!(self.type_of(args[0]), FunctionType::Dict(_)) => {
                    return Err(self.unsupported(
                        "dictionary",
                        "a dictionary or set of the module",
                        "make it in the function that uses it",
                    ));
                }
                None if has_array(self.type_of(args[0])) => {
                    return Err(self.unsupported(
                        "module-array",
                        "arrays in tuples of the module",
                        "give each array of the module a name",
                    ));
                }
                None => self.leaves(args[0]),
            },
            FunctionOp::Promote => vec![self.leaf_as(args[0], &FunctionType::Float)],
            FunctionOp::NotNone(message) => match self.type_of(args[0]) {
                FunctionType::Optional(_) => vec![self.not_none(args[0], message.as_deref())],
                _ => return Ok(self.lowered[args[0].index()].clone()),
            },
        };
        Ok(Some(Lowered::Leaves(leaves)))
    }

    /// The row or slice that a result is, if it goes to a host: in an array of its own, as nobody writes to the array that it is of.
    fn part_for_host(&self, result: InstId) -> Option<ArrayPart> {
        let Some(Lowered::Part(part)) = &self.lowered[result.index()] else { return None };
        let is_called = |instance: &Instance| instance.calls.values().any(|callee| *callee == InstanceId(0));
        let is_for_host = self.is_root() && !self.instances.iter().any(is_called);
        is_for_host.then(|| part.clone())
    }

    fn is_root(&self) -> bool {
        std::ptr::eq(self.instance, &raw const self.instances[0])
    }

    /// The result is a value of the machine, and no character where a host gets it: it would be a number there.
    fn check_result(&self) -> Lower<()> {
        match &self.instance.result {
            Some(result) if self.is_root() && result.has_char() => {
                Err(self.unsupported("value-type", "a text is no result", "return ord(c)"))
            }
            Some(result) => self.qtype(result).map(drop),
            None => Ok(()),
        }
    }

    /// Ends the function, and gives it.
    fn finish(mut self) -> Lower<LowFunction> {
        let function = self.instance.function.clone();
        let result = self.instance.result.clone().unwrap_or(FunctionType::None);
        self.span = Span::default();
        let returns = std::mem::take(&mut self.returns);
        if !returns.is_empty() {
            self.end(returns, &result)?;
        }
        let mut parameters = Vec::new();
        for ((name, _), arg) in function.parameters.iter().zip(&self.instance.args) {
            parameters.push((name.clone(), self.qtype(arg)?));
        }
        let result = self.qtype(&result)?;
        let mut flow = self.flow;
        for (guarded, added) in self.guarded {
            if flow.may_raise(added) {
                flow.guard_in_place(guarded, added);
            }
        }
        // Of an array that is changed in place on some ways only.
        remove_trivial_phis(&mut flow);
        remove_dead_code(&mut flow);
        order_blocks(&mut flow);
        let stage =
            |error| FunctionError::new(FunctionProblem::Stage { stage: "low", error }, Span::default());
        verify_flow(&flow).map_err(stage)?;
        Ok(LowFunction {
            name: function.name.clone(),
            flow,
            types: self.types,
            parameters,
            result,
            failures: self.failures,
            variables: function.variables.clone(),
        })
    }

    /// One block behind all returns, with the result.
    fn end(&mut self, returns: Vec<(BlockId, Vec<InstId>)>, result: &FunctionType) -> Lower<()> {
        let exit = self.flow.add_block(0);
        for (block, _) in &returns {
            self.flow.blocks[block.index()].tail = Tail::Jump(exit);
        }
        self.flow.blocks[exit.index()].predecessors = returns.iter().map(|(block, _)| *block).collect();
        self.block = exit;
        let mut types = Vec::new();
        leaf_types(result, &mut types);
        let mut leaves = returns[0].1.clone();
        if returns.len() > 1 {
            leaves.clear();
            for (position, leaf) in types.iter().enumerate() {
                let qtype = self.qtype(leaf)?;
                let args = returns.iter().map(|(_, leaves)| leaves[position]).collect();
                let phi = self.flow.push(exit, SsaOp::Phi, args, Span::default());
                self.types.push(Some(qtype));
                leaves.push(phi);
            }
        }
        let whole = self.assemble(leaves, result)?;
        self.flow.blocks[exit.index()].tail = Tail::Return(whole);
        Ok(())
    }

    fn push(&mut self, op: LowOp, args: Vec<InstId>, qtype: QType) -> InstId {
        let inst = self.flow.push(self.block, SsaOp::Do(op), args, self.span);
        self.types.push(Some(qtype));
        inst
    }

    /// An operator that may raise.
    fn operator(&mut self, name: &'static str, args: Vec<InstId>, qtype: QType) -> InstId {
        let qtype = self.lifted(&args, qtype);
        self.push(LowOp::Operator(name, true), args, qtype)
    }

    /// An operator that always gives a value.
    fn total(&mut self, name: &'static str, args: Vec<InstId>, qtype: QType) -> InstId {
        let qtype = self.lifted(&args, qtype);
        self.push(LowOp::Operator(name, false), args, qtype)
    }

    fn literal(&mut self, value: Value) -> InstId {
        let qtype = value.qtype();
        self.push(LowOp::Literal(value), vec![], qtype)
    }

    fn int(&mut self, value: i64) -> InstId {
        self.literal(Value::Scalar(ScalarValue::Int64(value)))
    }

    fn float(&mut self, value: f64) -> InstId {
        self.literal(Value::Scalar(ScalarValue::Float64(value)))
    }

    fn boolean(&mut self, value: bool) -> InstId {
        self.literal(Value::Scalar(ScalarValue::Boolean(value)))
    }

    fn constant(&mut self, constant: &Constant) -> Option<InstId> {
        match constant {
            Constant::Bool(value) => Some(self.boolean(*value)),
            Constant::Int(value) => Some(self.int(*value)),
            Constant::Float(value) => Some(self.float(*value)),
            Constant::Text(_) => {
                constant.character().map(|character| self.int(i64::from(u32::from(character))))
            }
            Constant::None => None,
        }
    }

    /// Leaves of a value; of a part of an array its handle.
    fn leaves(&self, value: InstId) -> Vec<InstId> {
        match &self.lowered[value.index()] {
            Some(Lowered::Leaves(leaves)) => leaves.clone(),
            Some(Lowered::Part(part)) => vec![part.root],
            None => unreachable!("definitions come before uses"),
        }
    }

    /// The only leaf of a number.
    fn leaf(&self, value: InstId) -> InstId {
        self.leaves(value)[0]
    }

    fn leaf_as(&mut self, value: InstId, wanted: &FunctionType) -> InstId {
        let leaf = self.leaf(value);
        self.cast(leaf, self.type_of(value), wanted)
    }

    /// Leaves of a value under a wider type.
    fn leaves_as(&mut self, value: InstId, wanted: &FunctionType) -> Lower<Vec<InstId>> {
        if let Some(Lowered::Part(_)) = &self.lowered[value.index()] {
            return Err(self.unsupported(
                "array-view",
                "a row or a slice of an array is read and written in place, not passed on",
                "pass the array and the index, or copy it: a[i].copy()",
            ));
        }
        let (mut leaves, mut wider) = (self.leaves(value).into_iter(), Vec::new());
        self.widen(&mut leaves, (self.type_of(value), wanted), &mut wider);
        Ok(wider)
    }

    /// A number as a wider one.
    fn cast(&mut self, leaf: InstId, from: &FunctionType, to: &FunctionType) -> InstId {
        use FunctionType::{Bool, Float, Int};
        if let Some(LowOp::Literal(Value::Scalar(value))) = self.flow.operation(leaf).cloned() {
            let number = match value {
                ScalarValue::Boolean(value) => i64::from(value),
                ScalarValue::Int64(value) => value,
                _ => 0,
            };
            match (from, to) {
                (Bool, Int) => return self.int(number),
                (Bool | Int, Float) => return self.float(number as f64),
                _ => {}
            }
        }
        match (from, to) {
            (Bool, Int) => self.total("core._to_int64", vec![leaf], INT64),
            (Bool | Int, Float) => self.total("core.to_float64", vec![leaf], FLOAT64),
            _ => leaf,
        }
    }

    /// The constant that a value of the typed flow is.
    fn constant_of(&self, value: InstId) -> Option<Constant> {
        constant_of(&self.instance.function, value)
    }

    fn qtype(&self, of: &FunctionType) -> Lower<QType> {
        of.qtype().ok_or_else(|| {
            let message = format!("the machine has no values of type {of}");
            self.unsupported("value-type", message, "use numbers, tuples and arrays")
        })
    }

    fn unsupported(
        &self,
        rule: &'static str,
        message: impl Into<String>,
        hint: &'static str,
    ) -> FunctionError {
        FunctionError::unsupported(rule, message, hint, self.span)
    }
}
