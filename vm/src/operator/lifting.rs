//! Operators on arrays, made of those on single values: an overload of plain or optional types, applied to each row or
//! element.
//!
//! ```text
//! math.add(DENSE_ARRAY_FLOAT64, FLOAT64)               is math.add(OPTIONAL_FLOAT64, OPTIONAL_FLOAT64) over rows
//! math.add(NDARRAY_FLOAT64_NN, NDARRAY_FLOAT64_1N)     is math.add(FLOAT64, FLOAT64) over elements
//! ```

use crate::array::block::MAX_OPERANDS;
use crate::array::block::RowFault;
use crate::operator::call::KernelCall;
use crate::operator::pointwise::{Pointwise, common_size, elements};
use crate::operator::row_by_row::RowByRow;
use crate::operator::signature::{Kernel, Overload};
use crate::value::array::{ArrayClass, ArrayType};
use crate::value::broadcast::broadcast_type;
use crate::value::nd_type::ND_ELEMENTS;
use crate::value::scalar::ScalarType;
use crate::value::{Fault, NdView, QType};

/// What an operator of single values is applied to, one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// The rows of arrays of a family, present or missing.
    Row(ArrayClass),
    /// The elements of n-dimensional arrays, which are always there.
    Element,
}

impl Each {
    /// What arguments have, and the types of the overload that is applied: rows become optionals, elements plain. `None`
    /// unless there is an array, all rows are of one family, and elements stand beside scalars only.
    pub fn of(args: &[QType]) -> Option<(Each, Vec<QType>)> {
        let mut classes = args.iter().filter_map(QType::array).map(|t| t.class);
        let each = match classes.next() {
            Some(class) if classes.all(|other| other == class) => Each::Row(class),
            None if args.iter().any(|t| t.nd().is_some()) => Each::Element,
            _ => return None,
        };
        let single = |qtype: &QType| match (each, qtype) {
            (Each::Row(_), QType::Array(t)) => Some(QType::Optional(t.element)),
            (Each::Element, QType::NdArray(t)) => Some(QType::Scalar(t.element())),
            (Each::Row(_), other) | (Each::Element, other @ QType::Scalar(_)) => Some(other.clone()),
            (Each::Element, _) => None,
        };
        Some((each, args.iter().map(single).collect::<Option<_>>()?))
    }

    /// The type of the array of results; `None` if there are no arrays of them.
    pub fn array_of(self, result: ScalarType, args: &[QType]) -> Option<QType> {
        match self {
            Each::Row(class) => Some(QType::Array(ArrayType { class, element: result })),
            Each::Element => broadcast_type(args, result).map(QType::NdArray),
        }
    }

    /// The overload on arrays, made of that on single values; `None` if an array has no such elements.
    pub(super) fn over_arrays(self, args: &[QType], single: &Overload) -> Option<Overload> {
        let is_element = |qtype: &QType| matches!(qtype, QType::Scalar(t) if ND_ELEMENTS.contains(t));
        let has_elements = || single.args().iter().chain([single.result()]).all(is_element);
        if self == Each::Element && (args.len() > MAX_OPERANDS || !has_elements()) {
            return None;
        }
        let result = self.array_of(single.result().scalar()?, args)?;
        let kernel = match single.kernel() {
            Kernel::Scalar(kernel) => Kernel::Map(Pointwise { kernel: kernel.block }),
            _ => match single.rows().filter(|_| self != Each::Element) {
                Some(rows) => Kernel::General(rows.clone()),
                None => {
                    let kernel = RowByRow::new(single)?;
                    Kernel::general(move |call| run_one_by_one(&kernel, call))
                }
            },
        };
        Some(single.over_arrays(args, result, kernel))
    }
}

/// Applies a kernel that needs slots to all rows or elements.
///
/// # Errors
/// Arrays of different sizes, the first row that raises, or no memory.
fn run_one_by_one(kernel: &RowByRow, call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let QType::NdArray(result) = *call.result_type() else { return kernel.run(call, common_size(call)?) };
    let (views, shape) = elements(call, result)?;
    let shape = &shape[..result.rank()];
    let repeated = views.iter().flatten().map(|view| view.broadcast_to(shape));
    let views: Option<Vec<NdView<'_>>> = repeated.collect();
    let views = views.expect("the shape is that of all arguments");
    let (arena, meter) = (call.arena(), call.meter());
    let outcome = kernel.run_elements(arena, meter, &views, call.nd_out(result, shape)?);
    outcome.map_err(|RowFault { row, fault }| fault.in_element(row, shape))
}
