//! Folds of rows: missing ones count as nothing, and how many are there is counted beside.
//!
//! ```text
//! math._sum(DENSE_ARRAY_FLOAT32)     doubles, 0 where a row is missing        the sum, rounded once
//! math._min(DENSE_ARRAY_INT64)       the rows, the greatest integer           missing without rows
//! array._count                       nothing                                  how many are there
//! ```

use crate::native::c::locals::CType;
use cembra_vm::builtins::aggregate::{
    ALL_ROWS, ANY_ROW, COUNT_ROWS, MAX_ROWS, MEAN_ROWS, MIN_ROWS, SUM_ROWS,
};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::value::{QType, ScalarType};

/// What a fold of rows gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    /// What its elements become.
    Value,
    /// The same, missing without rows.
    ValueIfAny,
    /// The sum over the number of rows, missing without any.
    Mean,
    /// The number of rows that are there.
    Count,
    /// A mask that is present if one is there.
    Any,
    /// A mask that is present if all are there.
    All,
}

/// A fold of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowFold {
    pub(super) gives: Gives,
    /// The kind and the element in `folds.c` of what is folded beside the number of rows.
    pub(super) of: Option<(&'static str, &'static str)>,
    /// Type of what is folded.
    pub(super) element: CType,
    /// What a missing row counts as.
    pub(super) missing: &'static str,
    /// Type of a number that it gives.
    result: CType,
}

impl RowFold {
    /// The fold that an operator is, if it has a form in C.
    pub(super) fn of(overload: &Overload) -> Option<RowFold> {
        let [QType::Array(rows)] = overload.args() else { return None };
        BoundaryArray::of(&overload.args()[0])?;
        let (name, is_float) =
            (&**overload.name(), matches!(rows.element, ScalarType::Float32 | ScalarType::Float64));
        let counting =
            |gives| Some(RowFold { gives, of: None, element: CType::U8, missing: "0", result: CType::I64 });
        let (code, element) = match rows.element {
            ScalarType::Int32 => ("i32", CType::I32),
            ScalarType::Int64 => ("i64", CType::I64),
            ScalarType::Float32 => ("f32", CType::F32),
            ScalarType::Float64 => ("f64", CType::F64),
            _ => ("", CType::U8),
        };
        let (gives, kind, missing) = match name {
            COUNT_ROWS => return counting(Gives::Count),
            ANY_ROW => return counting(Gives::Any),
            ALL_ROWS => return counting(Gives::All),
            _ if code.is_empty() => return None,
            SUM_ROWS => (Gives::Value, "sum", "0"),
            MEAN_ROWS if is_float => (Gives::Mean, "sum", "0"),
            MIN_ROWS => (Gives::ValueIfAny, "min", greatest(element)),
            MAX_ROWS => (Gives::ValueIfAny, "max", least(element)),
            _ => return None,
        };
        // Sums of floats are sums of doubles.
        let is_wide = is_float && kind == "sum";
        let (code, wide) = if is_wide { ("f64", CType::F64) } else { (code, element) };
        Some(RowFold { gives, of: Some((kind, code)), element: wide, missing, result: element })
    }

    /// True if the number of rows matters.
    pub(super) fn counts(&self) -> bool {
        self.gives != Gives::Value
    }

    /// The values of the locals of the result: `folded` is what elements became, `present` the number of rows that are there,
    /// `count` that of all.
    pub(super) fn results(&self, folded: &str, present: &str, count: &str) -> Vec<String> {
        let (ctype, is_any) = (self.result.name(), format!("{present} > 0"));
        match self.gives {
            Gives::Value => vec![format!("({ctype}){folded}")],
            Gives::ValueIfAny => vec![is_any, format!("({ctype}){folded}")],
            Gives::Mean => vec![is_any, format!("({ctype})({folded} / (double){present})")],
            Gives::Count => vec![present.to_owned()],
            Gives::Any => vec![is_any],
            Gives::All => vec![format!("{present} == {count}")],
        }
    }
}

fn greatest(element: CType) -> &'static str {
    match element {
        CType::I32 => "INT32_MAX",
        CType::I64 => "INT64_MAX",
        _ => "INFINITY",
    }
}

fn least(element: CType) -> &'static str {
    match element {
        CType::I32 => "INT32_MIN",
        CType::I64 => "INT64_MIN",
        _ => "-INFINITY",
    }
}
