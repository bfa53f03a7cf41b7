//! Expressions of whole arrays: a loop over the elements of the result.
//!
//! ```text
//! c = a * x + b     c1 = new array; for i: c1[i] = a[i] * x        c = new array; for i: c[i] = c1[i] + b[i]
//! a += b            for i: a[i] = a[i] + b[i]
//! ```
//!
//! In the loop an operand is the number that its element is: operators and functions of numbers are lowered as everywhere
//! else, but follow IEEE 754 as numpy's do. Shapes are joined as numpy joins them: axes from the last one on, and one of a single element
//! has it everywhere.

use super::views::{ArrayPart, Lowered};
use super::{Lower, Lowering};
use crate::function::op::FunctionOp;
use crate::function::types::FunctionType;
use crate::python::UnaryOp;
use crate::ssa::InstId;
use cembra_vm::value::ScalarType;
use cembra_vm::value::qtype::{BOOLEAN, INT64};

impl Lowering<'_> {
    /// True of a value that is an array, and no list.
    pub(super) fn is_array(&self, value: InstId) -> bool {
        matches!(self.type_of(value), FunctionType::Array(array) if !array.is_list)
    }

    /// An array of what an operation gives for the elements of its operands.
    pub(super) fn array_expression(
        &mut self,
        inst: InstId,
        op: &FunctionOp,
        args: &[InstId],
    ) -> Lower<InstId> {
        let FunctionType::Array(array) = self.type_of(inst) else { unreachable!("inference gives an array") };
        let mut operands: Vec<Option<ArrayPart>> = args.iter().map(|arg| self.part(*arg)).collect();
        let sizes = self.joined_sizes(array.rank, &operands);
        let whole = ArrayPart::whole(self.filled_with(*array, 0, sizes)?, *array);
        if operands.iter().flatten().count() > 1 {
            for operand in operands.iter_mut().flatten() {
                let open = operand.open_axes();
                for (to, from) in (array.rank - open.len()..array.rank).zip(open) {
                    operand.axes[from] = self.stretched(operand, from, &whole, to);
                }
            }
        }
        self.for_each_element(&whole, &mut |this, whole, indices| {
            let value = this.of_elements(inst, op, args, &operands, indices)?;
            this.store(whole, indices, value, &whole.array.loaded());
            Ok(())
        })?;
        Ok(whole.root)
    }

    /// `x op= y` of an array: its elements are changed, and it is the result.
    pub(super) fn in_place(&mut self, inst: InstId, op: &FunctionOp, args: &[InstId]) -> Lower<Lowered> {
        let place = self.written_part(args[0])?;
        let other = self.part(args[1]).map(|source| self.fitted(source, &place)).transpose()?;
        let operands = [Some(place.clone()), other];
        self.for_each_element(&place, &mut |this, place, indices| {
            let value = this.of_elements(inst, op, args, &operands, indices)?;
            this.store(place, indices, value, &place.array.loaded());
            Ok(())
        })?;
        Ok(self.lowered[args[0].index()].clone().expect("definitions come before uses"))
    }

    /// What an operation gives for the elements at some indices; an operand with fewer axes has the last of these.
    fn of_elements(
        &mut self,
        inst: InstId,
        op: &FunctionOp,
        args: &[InstId],
        operands: &[Option<ArrayPart>],
        indices: &[InstId],
    ) -> Lower<InstId> {
        let mut before = Vec::new();
        for (arg, operand) in args.iter().zip(operands) {
            // An array may be both operands, which are the same element then.
            let Some(part) = operand.as_ref().filter(|_| before.iter().all(|(of, _)| of != arg)) else {
                continue;
            };
            let element = self.load(part, &indices[indices.len() - part.open_axes().len()..]);
            let element = Lowered::Leaves(vec![element]);
            before.push((*arg, self.lowered[arg.index()].replace(element)));
            self.elements.push((*arg, number(&part.array.loaded())));
        }
        let FunctionType::Array(array) = self.type_of(inst) else { unreachable!("inference gives an array") };
        self.elements.push((inst, number(&array.loaded())));
        // Of truths it is the opposite in arrays.
        let op = match (op, array.element) {
            (FunctionOp::Unary(UnaryOp::Invert), ScalarType::Boolean) => &FunctionOp::Unary(UnaryOp::Not),
            _ => op,
        };
        let is_numpy = std::mem::replace(&mut self.options.numpy_errors, true);
        let value = self.operation(inst, op, args);
        self.options.numpy_errors = is_numpy;
        self.elements.clear();
        for (arg, lowered) in before {
            self.lowered[arg.index()] = lowered;
        }
        match value? {
            Some(Lowered::Leaves(leaves)) => Ok(leaves[0]),
            _ => unreachable!("an operation on numbers gives one"),
        }
    }

    /// The sizes of the array that operands are joined to.
    fn joined_sizes(&mut self, rank: usize, operands: &[Option<ArrayPart>]) -> Vec<InstId> {
        let mut sizes: Vec<Option<InstId>> = vec![None; rank];
        for part in operands.iter().flatten() {
            let open = part.open_axes();
            for (to, from) in (rank - open.len()..rank).zip(open) {
                let length = self.axis_length(part, from);
                sizes[to] = Some(match sizes[to] {
                    None => length,
                    Some(known) => self.joined_size(known, length),
                });
            }
        }
        sizes.into_iter().map(|size| size.expect("an operand has all axes")).collect()
    }

    fn joined_size(&mut self, x: InstId, y: InstId) -> InstId {
        let one = self.int(1);
        let [is_equal, x_is_one, y_is_one] =
            [(x, y), (x, one), (y, one)].map(|(x, y)| self.total("bool.equal", vec![x, y], BOOLEAN));
        let is_one = self.or(x_is_one, y_is_one);
        let fits = self.or(is_equal, is_one);
        let differs = self.not(fits);
        self.fail_if(differs, "operands could not be broadcast together".to_owned());
        self.select(x_is_one, y, x, INT64)
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
