//! Folds in C: which operators they are, and statements of those that stand by themselves.
//!
//! ```text
//! nd._sum(v3, AXES_1)    the axes that stay first, those that go last; each run of elements one after the other
//!                        is folded by fold_sum_f64 of `folds.c`
//! ```

use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::writer::Writer;
use cembra_vm::operator::Overload;
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::{Axes, NdType, QType, ScalarType};
use std::fmt::Write;

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
    axes: Axes,
    pub(super) operand: NdType,
}

impl Fold {
    /// The fold that an operator is, if it has a form in C.
    pub(super) fn of(overload: &Overload) -> Option<Fold> {
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
        Some(Fold { kind, element, part, needs_elements, axes: *axes, operand: *operand })
    }

    /// True if all elements become one scalar.
    pub(super) fn is_whole(&self, overload: &Overload) -> bool {
        self.axes.len() == self.operand.rank() && overload.result().nd().is_none()
    }

    /// A call of the function of this beginning: `leaf`, `join`, `finish` or `fold`.
    pub(super) fn call(&self, what: &str, args: &str) -> String {
        format!("{what}_{}_{}({args})", self.kind, self.element)
    }
}

/// The name of an element in `folds.c`.
fn code(element: ScalarType) -> Option<&'static str> {
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

impl Writer<'_> {
    /// Statements of a fold of an array that is there; `None` if the operator is none.
    pub(super) fn fold(
        &self,
        ip: usize,
        overload: &Overload,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<String> {
        let fold = Fold::of(overload)?;
        let (array, rank) = (self.locals.owner(operands[0]), fold.operand.rank());
        let size = element_size(fold.operand.element());
        let kept: Vec<usize> = (0..rank).filter(|axis| !fold.axes.contains(*axis)).collect();
        let order: Vec<usize> =
            kept.iter().copied().chain((0..rank).filter(|axis| fold.axes.contains(*axis))).collect();
        let list = |what: &str, axes: &[usize]| {
            axes.iter().map(|axis| format!("{array}_{what}{axis}")).collect::<Vec<_>>()
        };
        let product = |sizes: Vec<String>| if sizes.is_empty() { "1".to_owned() } else { sizes.join(" * ") };
        let (count, run) = (product(list("n", &kept)), product(list("n", &order[kept.len()..])));
        let mut text = format!(
            "{{ int64_t length = {run}, count = {count}; cembra_array f = {{ {array}, {{ {} }}, {{ {} }} }}, g = {{ 0 }}; ",
            list("n", &order).join(", "),
            list("s", &order).join(", ")
        );
        if fold.needs_elements {
            let message = quoted("there is no least or greatest one of no elements");
            let raise = self.raise(ip, &message, &[]);
            let _ = write!(
                text,
                "if (CEMBRA_RARE(length == 0 && count > 0)) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} "
            );
        }
        let too_large = self.raise(ip, &quoted("the array is too large"), &[]);
        let _ = write!(
            text,
            "if (!is_in_order(&f, {rank}, {size})) {{ int32_t k = copied_array(&f, {rank}, {size}, &g); \
             if (CEMBRA_RARE(k)) {{ {too_large} }} f.data = g.data; }} const char *x = f.data; "
        );
        match self.locals.array(result) {
            None => {
                let _ = write!(
                    text,
                    "{} = {}; free(g.data); }}",
                    self.locals.only(result),
                    fold.call("fold", "x, length")
                );
            }
            Some(of_result) => {
                let name = element_name(of_result.element());
                let sizes = (0..rank).filter_map(|axis| match fold.axes.contains(axis) {
                    true => (of_result.rank() == rank).then(|| "1".to_owned()),
                    false => Some(format!("{array}_n{axis}")),
                });
                let _ = write!(
                    text,
                    "cembra_array t = {{ NULL, {{ {} }} }}; int32_t k = new_array({}, sizeof({name}), &t); \
                     if (CEMBRA_RARE(k)) {{ free(g.data); {too_large} }} \
                     for (int64_t i = 0; i < count; i++) {{ {name} e = {}; memcpy((char *)t.data + i * (int64_t)sizeof e, &e, sizeof e); }} \
                     free(g.data); {} }}",
                    sizes.collect::<Vec<_>>().join(", "),
                    of_result.rank(),
                    fold.call("fold", &format!("x + i * length * {size}, length")),
                    self.taken(result, "t")
                );
            }
        }
        Some(text)
    }
}

/// Bytes of an element.
pub(super) fn element_size(element: ScalarType) -> usize {
    cembra_vm::value::array::cell_size(element)
}
