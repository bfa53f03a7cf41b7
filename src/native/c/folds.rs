//! Statements of folds and other reductions that stand by themselves.
//!
//! ```text
//! nd._sum(v3, AXES_1)    the axes that stay first, those that go last; each run of elements one after the other
//!                        is folded by fold_sum_f64 of `folds.c`
//! nd._var(v3, AXES_1, v2)    the same by whole_var_f64 of `reductions.c`
//! ```

use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::reductions::Reduction;
use crate::native::c::writer::Writer;
use crate::native::operation::Operation;
use std::fmt::Write;

impl Writer<'_> {
    /// Statements of a reduction of an array that is there; `None` if the operator is none.
    pub(super) fn reduced(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        let fold = Reduction::of(overload)?;
        let (array, rank) = (self.locals.owner(operands[0]), fold.operand.rank());
        let size = fold.operand.size();
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
        let option = operands.last().filter(|_| fold.has_option && operands.len() > 2);
        let option = option.map(|value| self.locals.only(*value)).unwrap_or_else(|| "0".to_owned());
        let call = |elements: &str| match fold.has_option {
            true => format!("{}({elements}, length, {option})", fold.function),
            false => format!("{}({elements}, length)", fold.function),
        };
        if fold.takes_share {
            let share = [(option.clone(), CType::F64)];
            let raise = self.raise(ip, &quoted("a quantile is from 0 to 1"), &share);
            let _ = write!(
                text,
                "if (CEMBRA_RARE(!({option} >= 0.0 && {option} <= 1.0))) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} "
            );
        }
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
                let _ = write!(text, "{} = {}; free(g.data); }}", self.locals.only(result), call("x"));
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
                    call(&format!("x + i * length * {size}")),
                    self.taken(result, "t")
                );
            }
        }
        Some(text)
    }
}
