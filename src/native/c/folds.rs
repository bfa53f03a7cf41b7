//! Statements of folds that stand by themselves.
//!
//! ```text
//! nd._sum(v3, AXES_1)    the axes that stay first, those that go last; each run of elements one after the other
//!                        is folded by fold_sum_f64 of `folds.c`
//! ```

use crate::native::c::constants::quoted;
use crate::native::c::fold_kinds::Fold;
use crate::native::c::locals::element_name;
use crate::native::c::writer::Writer;
use cembra_vm::operator::Overload;
use cembra_vm::program::ValueId;
use std::fmt::Write;

impl Writer<'_> {
    /// Statements of a fold of an array that is there; `None` if the operator is none.
    pub(super) fn fold(
        &self,
        ip: usize,
        overload: &Overload,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<String> {
        let fold = Fold::of(overload).filter(|fold| fold.rows.is_none())?;
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
