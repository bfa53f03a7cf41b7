//! Which operators are folds, and their functions in `folds.c`.

use crate::native::c::locals::{CType, element_name};
use crate::native::c::row_folds::RowFold;
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::Program;
use cembra_vm::value::{Axes, QType, ScalarType};

/// The text that programs with folds need.
pub(super) const FOLDS: &str = include_str!("folds.c");

/// How elements become one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// Its name in `folds.c`, without the element.
    kind: &'static str,
    /// The name of the element there.
    element: &'static str,
    /// What is known of some elements.
    pub(super) part: CType,
    /// True if there is no result without elements.
    pub(super) needs_elements: bool,
    pub(super) axes: Axes,
    pub(super) operand: BoundaryArray,
    /// What else there is to one of rows.
    pub(super) rows: Option<RowFold>,
}

impl Fold {
    /// The fold that an operator is, if it has a form in C.
    pub(super) fn of(overload: &Overload) -> Option<Fold> {
        if let Some(rows) = RowFold::of(overload) {
            let (operand, axes) = (BoundaryArray::of(&overload.args()[0])?, Axes::new([0])?);
            let (kind, element) = rows.of.unwrap_or(("count", "u8"));
            // Integers are added as INT64.
            let part = if kind == "sum" && element != "f64" { CType::I64 } else { rows.element };
            return Some(Fold {
                kind,
                element,
                part,
                needs_elements: false,
                axes,
                operand,
                rows: Some(rows),
            });
        }
        let [QType::NdArray(operand), QType::Axes(axes)] = overload.args() else { return None };
        let name = overload.name().strip_prefix("nd._")?;
        let (name, element) = (name.strip_suffix("_kept").unwrap_or(name), operand.element());
        let is_truth = element == ScalarType::Boolean;
        let kind = match name {
            // Of truths the least one says whether all of them hold.
            "min" if is_truth => "all",
            "max" if is_truth => "any",
            "sum" => "sum",
            "mean" => "mean",
            "min" => "min",
            "max" => "max",
            "prod" => "prod",
            "any" => "any",
            "all" => "all",
            "count" => "count",
            _ => return None,
        };
        let part = match (kind, element) {
            ("any" | "all", _) => CType::U8,
            ("count", _) => CType::I64,
            ("min" | "max", _) | (_, ScalarType::Float32 | ScalarType::Float64) => CType::of(element)?,
            ("mean", _) => CType::F64,
            _ => CType::I64,
        };
        let needs_elements = ["min", "max"].contains(&name);
        let element = code(element)?;
        let (axes, operand) = (*axes, BoundaryArray::Nd(*operand));
        Some(Fold { kind, element, part, needs_elements, axes, operand, rows: None })
    }

    /// True if all elements become one scalar.
    pub(super) fn is_whole(&self, overload: &Overload) -> bool {
        self.axes.len() == self.operand.rank() && BoundaryArray::of(overload.result()).is_none()
    }

    /// The type of what is folded, in C.
    pub(super) fn element_type(&self) -> &'static str {
        self.rows.map_or(element_name(self.operand.element()), |rows| rows.element.name())
    }

    /// True unless only the number of rows matters.
    pub(super) fn has_value(&self) -> bool {
        self.rows.is_none_or(|rows| rows.of.is_some())
    }

    /// True if the number of rows that are there matters.
    pub(super) fn counts(&self) -> bool {
        self.rows.is_some_and(|rows| rows.counts())
    }

    /// A call of the function of this beginning: `leaf`, `join`, `finish` or `fold`.
    pub(super) fn call(&self, what: &str, args: &str) -> String {
        format!("{}({args})", self.function(what))
    }

    /// The name of that function.
    pub(super) fn function(&self, what: &str) -> String {
        format!("{what}_{}_{}", self.kind, self.element)
    }
}

/// The name of an element in `folds.c`.
pub(super) fn code(element: ScalarType) -> Option<&'static str> {
    Some(match element {
        ScalarType::Boolean => "u8",
        ScalarType::Int32 => "i32",
        ScalarType::Int64 => "i64",
        ScalarType::Float32 => "f32",
        ScalarType::Float64 => "f64",
        _ => return None,
    })
}

/// The functions of folds that a program needs.
pub(super) fn fold_functions(program: &Program) -> &'static str {
    let mut overloads = program.routines().iter().flat_map(|routine| routine.body.operators());
    if overloads.any(|overload| Fold::of(overload).is_some()) { FOLDS } else { "" }
}
