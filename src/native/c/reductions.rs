//! Reductions: what functions of `folds.c` and `reductions.c` make of the elements along some axes of an array that is there.

use crate::native::c::fold_kinds::{Fold, code};
use crate::native::operation::operators;
use cembra_vm::builtins::nd::reduce::{ARGMAX, ARGMIN, MEDIAN, QUANTILE, STD, VAR};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::Program;
use cembra_vm::value::{Axes, QType};

/// Moments and ranks, behind the text of folds.
pub(super) const SPREAD: &str = include_str!("spread.c");
/// The text that programs with reductions need that are no folds, behind the former.
pub(super) const REDUCTIONS: &str = include_str!("reductions.c");

/// A reduction.
pub(super) struct Reduction {
    pub(super) operand: BoundaryArray,
    pub(super) axes: Axes,
    /// The function of some elements.
    pub(super) function: String,
    /// True if there is no result without elements.
    pub(super) needs_elements: bool,
    /// True if the last operand is a share, from 0 to 1.
    pub(super) takes_share: bool,
    /// True if the function takes the last operand.
    pub(super) has_option: bool,
    /// True if it is no fold.
    is_of_spread: bool,
}

impl Reduction {
    /// That of an operator; `None` if it is another one.
    pub(super) fn of(overload: &Overload) -> Option<Reduction> {
        if let Some(fold) = Fold::of(overload) {
            return fold.rows.is_none().then(|| Reduction {
                operand: fold.operand,
                axes: fold.axes,
                function: fold.function("fold"),
                needs_elements: fold.needs_elements,
                takes_share: false,
                has_option: false,
                is_of_spread: false,
            });
        }
        let [QType::NdArray(operand), QType::Axes(axes), ..] = overload.args() else { return None };
        let name = overload.name().strip_suffix("_kept").unwrap_or(overload.name());
        let kind = match name {
            VAR => "var",
            STD => "std",
            MEDIAN => "median",
            QUANTILE => "quantile",
            ARGMIN => "argmin",
            ARGMAX => "argmax",
            _ => return None,
        };
        Some(Reduction {
            operand: BoundaryArray::Nd(*operand),
            axes: *axes,
            function: format!("whole_{kind}_{}", code(operand.element())?),
            needs_elements: [QUANTILE, ARGMIN, ARGMAX].contains(&name),
            takes_share: name == QUANTILE,
            has_option: true,
            is_of_spread: true,
        })
    }
}

/// True if a program has reductions that are no folds.
pub(super) fn needs_reductions(program: &Program) -> bool {
    operators(program).any(|overload| Reduction::of(overload).is_some_and(|reduction| reduction.is_of_spread))
}
