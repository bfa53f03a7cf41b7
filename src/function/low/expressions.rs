//! Expressions of whole arrays: the operators of their elements, on the arrays.
//!
//! ```text
//! c = a * x + b      sizes of a and b equal? ──yes──> t = math.multiply(a, x);  c = math.add(t, b)
//!                              └──no──> a' = nd._stretch(a, …);  b' = nd._stretch(b, …);  the same of a' and b'
//! a[1:] += b         v = nd._part(a, …);  t = math.add(v, b);  nd._assign(a, t, …)
//! ```
//!
//! An operand is the number that its element is: operators and functions of numbers are lowered as everywhere else, but follow
//! IEEE 754 as numpy's do. Whole expressions stand in one block, so that [regions](cembra_vm::machine) compute them row by row.
//! Shapes are joined as numpy joins them: axes from the last one on, and one of a single element has it everywhere. Joining
//! goes before all operators of an expression, which gives the same elements.
//!
//! Afterwards operators on arrays have operands of one size along each axis that they share.

use super::views::{ArrayPart, Axis, Lowered};
use super::{Lower, Lowering, read_once};
use crate::function::op::FunctionOp;
use crate::function::types::FunctionType;
use crate::python::UnaryOp;
use crate::ssa::{InstId, SsaOp, Tail};
use cembra_vm::builtins::nd::part::{ASSIGN, PART, STRETCH, SUM_IN_ORDER};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{Axes, NdType, QType, ScalarType, Value};
use hashbrown::HashMap;

/// An operand of an expression, and the array that it is read as.
type Read = HashMap<InstId, InstId>;

impl Lowering<'_> {
    /// True of a value that is an array, and no list.
    pub(super) fn is_array(&self, value: InstId) -> bool {
        read_once::is_array(self.instance, value)
    }

    /// An array of what an operation gives for the elements of its operands.
    pub(super) fn array_expression(&mut self, inst: InstId) -> Lower<InstId> {
        let (nodes, operands) = self.expression(inst);
        let parts: Vec<ArrayPart> = operands.iter().map(|operand| self.operand(*operand)).collect();
        let rank = self.rank(inst);
        self.joined(rank, &parts, None, &mut |this, arrays| {
            let read = operands.iter().copied().zip(arrays).collect();
            this.compute(&nodes, &read)
        })
    }

    /// `x op= y` of an array: its elements are changed, and it is the result.
    pub(super) fn in_place(&mut self, inst: InstId, args: &[InstId]) -> Lower<Lowered> {
        let place = self.written_part(args[0])?;
        let (nodes, mut operands) = self.expression(inst);
        // What is changed has the shape.
        operands.retain(|operand| *operand != args[0]);
        operands.insert(0, args[0]);
        let parts: Vec<ArrayPart> = operands.iter().map(|operand| self.operand(*operand)).collect();
        let result = self.joined(place.open_axes().len(), &parts, Some(&place), &mut |this, arrays| {
            let read = operands.iter().copied().zip(arrays).collect();
            this.compute(&nodes, &read)
        })?;
        self.assign(&place, result);
        Ok(self.lowered[args[0].index()].clone().expect("definitions come before uses"))
    }

    /// An array that is read: the operand of an operation, or the expression that the operation alone reads.
    pub(super) fn array_read(&mut self, value: InstId) -> Lower<ArrayPart> {
        if !self.read_once[value.index()] {
            return Ok(self.operand(value));
        }
        let FunctionType::Array(array) = self.type_of(value) else {
            unreachable!("inference gives an array")
        };
        Ok(ArrayPart::whole(self.array_expression(value)?, *array))
    }

    fn operand(&self, value: InstId) -> ArrayPart {
        self.part(value).expect("definitions come before uses")
    }

    fn rank(&self, value: InstId) -> usize {
        match self.type_of(value) {
            FunctionType::Array(array) => array.rank,
            _ => 0,
        }
    }

    /// The operations of an expression, in their order, and the arrays that they read.
    fn expression(&self, root: InstId) -> (Vec<InstId>, Vec<InstId>) {
        let flow = &self.instance.function.flow;
        let (mut nodes, mut operands, mut work) = (Vec::new(), Vec::new(), vec![root]);
        while let Some(node) = work.pop() {
            nodes.push(node);
            for arg in flow.inst(node).args.iter().filter(|arg| self.is_array(**arg)) {
                match self.read_once[arg.index()] {
                    true => work.push(*arg),
                    false if !operands.contains(arg) => operands.push(*arg),
                    false => {}
                }
            }
        }
        // Operands come before what reads them.
        nodes.reverse();
        (nodes, operands)
    }

    /// The operators of operations on arrays of one size.
    fn compute(&mut self, nodes: &[InstId], read: &Read) -> Lower<InstId> {
        let (instance, span) = (self.instance, self.span);
        let mut computed = read.clone();
        let mut last = None;
        for node in nodes {
            let row = instance.function.flow.inst(*node);
            let SsaOp::Do(op) = &row.op else { unreachable!("expressions are operations") };
            self.span = row.span;
            let value = self.of_elements(*node, op, &row.args, &computed)?;
            computed.insert(*node, value);
            last = Some(value);
        }
        self.span = span;
        Ok(last.expect("an expression has an operation"))
    }

    /// What an operation gives for the elements of arrays.
    fn of_elements(
        &mut self,
        inst: InstId,
        op: &FunctionOp,
        args: &[InstId],
        computed: &Read,
    ) -> Lower<InstId> {
        let FunctionType::Array(array) = self.type_of(inst) else { unreachable!("inference gives an array") };
        let (mut before, mut of_shape) = (Vec::new(), Vec::new());
        for arg in args {
            // An array may be both operands.
            let Some(value) = computed.get(arg).filter(|_| before.iter().all(|(of, _)| of != arg)) else {
                continue;
            };
            let FunctionType::Array(of) = self.instance.type_of(*arg) else { unreachable!("it is an array") };
            before.push((*arg, self.lowered[arg.index()].replace(Lowered::Leaves(vec![*value]))));
            self.elements.push((*arg, number(&of.loaded())));
            of_shape.push((of.rank, *value));
        }
        self.elements.push((inst, number(&array.loaded())));
        // Of truths it is the opposite in arrays.
        let op = match (op, array.element) {
            (FunctionOp::Unary(UnaryOp::Invert), ScalarType::Boolean) => &FunctionOp::Unary(UnaryOp::Not),
            _ => op,
        };
        let is_numpy = std::mem::replace(&mut self.options.numpy_errors, true);
        self.lifts = true;
        let value = self.operation(inst, op, args);
        self.lifts = false;
        self.options.numpy_errors = is_numpy;
        self.elements.clear();
        for (arg, lowered) in before {
            self.lowered[arg.index()] = lowered;
        }
        let Some(Lowered::Leaves(leaves)) = value? else { unreachable!("an operation on numbers gives one") };
        let (_, of_shape) =
            of_shape.into_iter().find(|(rank, _)| *rank == array.rank).expect("it has all axes");
        match self.array_type(leaves[0]) {
            Some(_) => {
                self.shape_of.insert(leaves[0], self.shape(of_shape));
                Ok(leaves[0])
            }
            // Of values that are never equal it is known.
            None => {
                let sizes = self.sizes_of(&ArrayPart::whole(of_shape, *array));
                self.filled(*array, leaves[0], sizes)
            }
        }
    }

    /// Runs a body on the elements of parts with so many axes as numpy joins them; to the sizes of a place, if there is one.
    fn joined(
        &mut self,
        rank: usize,
        parts: &[ArrayPart],
        place: Option<&ArrayPart>,
        body: &mut dyn FnMut(&mut Self, Vec<InstId>) -> Lower<InstId>,
    ) -> Lower<InstId> {
        let Some(are_equal) = self.have_one_size(rank, parts) else {
            let arrays = parts.iter().map(|part| self.read_as_array(part)).collect();
            return body(self, arrays);
        };
        let (before, depth) = (self.block, self.flow.block(self.block).depth);
        let [usual, other, behind] = [0; 3].map(|_| self.flow.add_block(depth));
        self.close(Tail::Branch { condition: are_equal, then: usual, orelse: other });
        self.flow.blocks[usual.index()].predecessors = vec![before];
        self.flow.blocks[other.index()].predecessors = vec![before];
        self.block = usual;
        let arrays = parts.iter().map(|part| self.read_as_array(part)).collect();
        let first = body(self, arrays)?;
        self.close(Tail::Jump(behind));
        let end_of_usual = self.block;
        self.block = other;
        let sizes = match place {
            Some(place) => self.sizes_of(place),
            None => self.joined_sizes(rank, parts),
        };
        let arrays = parts.iter().map(|part| self.stretched(part, &sizes)).collect();
        let second = body(self, arrays)?;
        self.close(Tail::Jump(behind));
        self.flow.blocks[behind.index()].predecessors = vec![end_of_usual, self.block];
        self.block = behind;
        let qtype = self.types[first.index()].clone();
        let phi = self.flow.push(behind, SsaOp::Phi, vec![first, second], Span::default());
        self.types.push(qtype);
        Ok(phi)
    }

    /// Whether parts have one size along each axis that they share; nothing if it is known that they do.
    fn have_one_size(&mut self, rank: usize, parts: &[ArrayPart]) -> Option<InstId> {
        let shape_of = |this: &Self, part: &ArrayPart| {
            (part.is_whole() && part.axes.len() == rank).then(|| this.shape(part.root))
        };
        let mut are_equal = None;
        for axis in 1..=rank {
            // The same axis, from the last one, of each that has it.
            let mut axes = parts.iter().filter_map(|part| {
                let open = part.open_axes();
                Some((part, open[open.len().checked_sub(axis)?]))
            });
            let Some((first, of_first)) = axes.next() else { continue };
            let shape = shape_of(self, first);
            for (part, from) in axes {
                if shape.is_some() && shape_of(self, part) == shape {
                    continue;
                }
                let lengths = [(first, of_first), (part, from)].map(|(of, axis)| self.axis_length(of, axis));
                let is_equal = self.total("bool.equal", lengths.to_vec(), BOOLEAN);
                are_equal = Some(match are_equal {
                    None => is_equal,
                    Some(others) => self.and(others, is_equal),
                });
            }
        }
        are_equal
    }

    /// The array whose shape an array is known to have.
    fn shape(&self, array: InstId) -> InstId {
        self.shape_of.get(&array).copied().unwrap_or(array)
    }

    /// Says that an array has the shape of another one, which keeps it unless it is a list.
    pub(super) fn note_shape(&mut self, array: InstId, of: &ArrayPart) {
        if of.is_whole() && !of.array.is_list {
            self.shape_of.insert(array, self.shape(of.root));
        }
    }

    /// The sizes of the axes of a part.
    pub(super) fn sizes_of(&mut self, part: &ArrayPart) -> Vec<InstId> {
        part.open_axes().into_iter().map(|axis| self.axis_length(part, axis)).collect()
    }

    /// The sizes of the array that parts are joined to, of any that have one.
    fn joined_sizes(&mut self, rank: usize, parts: &[ArrayPart]) -> Vec<InstId> {
        let mut sizes: Vec<Option<InstId>> = vec![None; rank];
        for part in parts {
            let open = part.open_axes();
            for (to, from) in (rank - open.len()..rank).zip(open) {
                let length = self.axis_length(part, from);
                sizes[to] = Some(match sizes[to] {
                    None => length,
                    Some(known) => {
                        let one = self.int(1);
                        let is_one = self.total("bool.equal", vec![known, one], BOOLEAN);
                        self.select(is_one, length, known, INT64)
                    }
                });
            }
        }
        sizes.into_iter().map(|size| size.expect("an operand has all axes")).collect()
    }

    /// The elements of a part with these sizes: of an axis with one element it is repeated. Raises ValueError if others differ.
    fn stretched(&mut self, part: &ArrayPart, sizes: &[InstId]) -> InstId {
        let array = self.read_as_array(part);
        let rank = part.open_axes().len();
        let args = std::iter::once(array).chain(sizes[sizes.len() - rank..].iter().copied()).collect();
        let qtype = QType::NdArray(self.array_type(array).expect("it is an array"));
        self.operator(STRETCH, args, qtype)
    }

    /// The elements of a part as an array, which is the array itself where it can be.
    fn read_as_array(&mut self, part: &ArrayPart) -> InstId {
        match part.is_whole() {
            true => part.root,
            false => self.own_array(part),
        }
    }

    /// The elements of a part in an array of their own.
    pub(super) fn own_array(&mut self, part: &ArrayPart) -> InstId {
        let result = NdType::new(part.array.element, part.open_axes().len(), 0).expect("it is a part of one");
        let args = std::iter::once(part.root).chain(self.place_operands(part)).collect();
        self.operator(PART, args, QType::NdArray(result))
    }

    /// The sum of the elements of a part from the first one on; nothing if these are not FLOAT64.
    pub(super) fn sum_in_order(&mut self, part: &ArrayPart) -> Option<InstId> {
        (part.array.element == ScalarType::Float64).then(|| {
            let args = std::iter::once(part.root).chain(self.place_operands(part)).collect();
            self.operator(SUM_IN_ORDER, args, FLOAT64)
        })
    }

    /// Writes the elements of an array, or a number, to a place: as numpy stretches them. Raises ValueError if they do not fit.
    pub(super) fn assign(&mut self, place: &ArrayPart, value: InstId) {
        let args = [place.root, value].into_iter().chain(self.place_operands(place)).collect();
        self.update(ASSIGN, args);
    }

    /// Where a part is in its array, as [`PART`] takes it.
    fn place_operands(&mut self, part: &ArrayPart) -> Vec<InstId> {
        let kept = Axes::new(part.open_axes()).expect("axes of an array");
        let mut operands = vec![self.literal(Value::Axes(kept))];
        let one = self.int(1);
        for (axis, place) in part.axes.clone().into_iter().enumerate() {
            match place {
                Axis::Fixed(index) => operands.push(index),
                Axis::Whole => {
                    let (zero, length) = (self.int(0), self.axis_length(part, axis));
                    operands.extend([zero, length, one]);
                }
                Axis::Span { start, length, step } => operands.extend([start, length, step]),
            }
        }
        operands
    }

    /// The type of an array of this flow.
    fn array_type(&self, value: InstId) -> Option<NdType> {
        self.types[value.index()].as_ref().and_then(QType::nd)
    }

    /// The number that a value is, or that its elements are.
    pub(super) fn element_of(&self, value: InstId) -> Option<ScalarType> {
        self.types[value.index()].as_ref().and_then(QType::scalar_inside)
    }

    /// What an operator gives: while operators are those of whole arrays, an array of it where an operand is one.
    pub(super) fn lifted(&self, args: &[InstId], number: QType) -> QType {
        let ranks = args.iter().filter_map(|arg| Some(self.array_type(*arg)?.rank()));
        match (ranks.max().filter(|_| self.lifts), number.scalar_inside()) {
            (Some(rank), Some(element)) => {
                QType::NdArray(NdType::new(element, rank, 0).expect("an operand has these axes"))
            }
            _ => number,
        }
    }
}

/// What an element is as a number.
fn number(of: &FunctionType) -> &'static FunctionType {
    match of {
        FunctionType::Bool => &FunctionType::Bool,
        FunctionType::Int => &FunctionType::Int,
        _ => &FunctionType::Float,
    }
}
