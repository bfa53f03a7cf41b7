//! Operators on arrays, made of those on rows: an overload of plain or optional types, applied row by row.
//!
//! ```text
//! math.add(DENSE_ARRAY_FLOAT64, FLOAT64)    is  math.add(OPTIONAL_FLOAT64, OPTIONAL_FLOAT64)  over rows
//! ```

use crate::operator::pointwise::{Pointwise, common_size};
use crate::operator::row_by_row::RowByRow;
use crate::operator::signature::{Kernel, Overload};
use crate::value::QType;
use crate::value::array::{ArrayClass, ArrayType};

/// Argument types of the overload that is applied to the rows: arrays become optionals. `None` unless
/// there is an array, and all are of one family.
pub fn row_types(args: &[QType]) -> Option<(ArrayClass, Vec<QType>)> {
    let mut classes = args.iter().filter_map(QType::array).map(|t| t.class);
    let class = classes.next().filter(|class| classes.all(|other| other == *class))?;
    let row = |qtype: &QType| match qtype.array() {
        Some(array) => QType::Optional(array.element),
        None => qtype.clone(),
    };
    Some((class, args.iter().map(row).collect()))
}

/// The overload on arrays, made of that on rows; `None` if its result is no scalar or optional.
pub fn over_rows(class: ArrayClass, args: &[QType], rows: &Overload) -> Option<Overload> {
    let result = QType::Array(ArrayType { class, element: rows.result().scalar()? });
    let kernel = match rows.kernel() {
        Kernel::Scalar(kernel) => Kernel::Pointwise(Pointwise { kernel: kernel.block }),
        _ => {
            let kernel = RowByRow::new(rows)?;
            Kernel::general(move |call| kernel.run(call, common_size(call)?))
        }
    };
    Some(rows.over_arrays(args, result, kernel))
}
