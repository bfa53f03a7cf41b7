//! Pairs: two operators of arithmetic on FLOAT64 in one pass over rows, so that what is between them stays in
//! registers.
//!
//! ```text
//! t0 = x ∘ y        first      second(t0, z)
//! t1 = t0 • z       ─────>     rows of t1, none of t0
//! ```
//!
//! Sums and differences of two products are three operators in one pass: `x * y + z * w`.
//!
//! Each row goes through all operations one after the other, each rounded by itself: the bits are those of the
//! operators. There is a loop for each choice of operands that are one value for all rows, which stay in
//! registers: such a pair reads and writes memory half as often as its two operators.

use crate::operator::block::{Arithmetic, BlockRun, Column, Operands, RowFault, Target};
use crate::vector::Level;

/// Which operand of the second operation the first one computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `(x ∘ y) • z`, of the operands x, y and z
    Left,
    /// `z • (x ∘ y)`, of the operands x, y and z
    Right,
    /// `(x ∘ y) • (x ∘ y)`, of the operands x and y
    Both,
}

/// The code of a pair for this machine; `None` if there is no code that computes both in one pass.
pub fn pair(first: Arithmetic, second: Arithmetic, side: Side) -> Option<BlockRun> {
    for_this_machine(match first {
        Arithmetic::Add => of_second::<Add>(second, side)?,
        Arithmetic::Subtract => of_second::<Subtract>(second, side)?,
        Arithmetic::Multiply => of_second::<Multiply>(second, side)?,
        Arithmetic::Divide => of_second::<Divide>(second, side)?,
    })
}

/// The code of `x * y + z * w` or `x * y - z * w`, of the operands x, y, z and w; `None` as of [`pair`].
pub fn products(second: Arithmetic) -> Option<BlockRun> {
    for_this_machine(match second {
        Arithmetic::Add => [products_avx2::<Add>, products_avx2::<Add>, products_avx512::<Add>],
        Arithmetic::Subtract => {
            [products_avx2::<Subtract>, products_avx2::<Subtract>, products_avx512::<Subtract>]
        }
        Arithmetic::Multiply | Arithmetic::Divide => return None,
    })
}

type Runs = [BlockRun; Level::ALL.len()];

/// The code for the instructions that there are; none for the oldest ones, which are not worth a copy of all loops.
fn for_this_machine(runs: Runs) -> Option<BlockRun> {
    let level = Level::best();
    let has_code = cfg!(not(target_arch = "x86_64")) || level != Level::Baseline;
    has_code.then(|| runs[level as usize])
}

fn of_second<F: Operation>(second: Arithmetic, side: Side) -> Option<Runs> {
    Some(match (second, side) {
        (Arithmetic::Multiply, Side::Both) => runs::<F, Square, true>(),
        (_, Side::Both) => return None,
        // The same on both sides, but for which NaN comes out of two.
        (Arithmetic::Add, _) => runs::<F, Add, true>(),
        (Arithmetic::Multiply, _) => runs::<F, Multiply, true>(),
        (Arithmetic::Subtract, Side::Left) => runs::<F, Subtract, true>(),
        (Arithmetic::Subtract, Side::Right) => runs::<F, Subtract, false>(),
        (Arithmetic::Divide, Side::Left) => runs::<F, Divide, true>(),
        (Arithmetic::Divide, Side::Right) => runs::<F, Divide, false>(),
    })
}

fn runs<F: Operation, S: Operation, const LEFT: bool>() -> Runs {
    // On x86-64 the first is never taken, see `for_this_machine`.
    [run_avx2::<F, S, LEFT>, run_avx2::<F, S, LEFT>, run_avx512::<F, S, LEFT>]
}

trait Operation {
    fn apply(x: f64, y: f64) -> f64;
}

macro_rules! operation {
    ($name:ident, $operator:tt) => {
        struct $name;

        impl Operation for $name {
            #[inline(always)]
            fn apply(x: f64, y: f64) -> f64 {
                x $operator y
            }
        }
    };
}

operation!(Add, +);
operation!(Subtract, -);
operation!(Multiply, *);
operation!(Divide, /);

/// Of the first operand; there is no second.
struct Square;

impl Operation for Square {
    #[inline(always)]
    fn apply(x: f64, _: f64) -> f64 {
        x * x
    }
}

#[inline(always)]
fn apply<F: Operation, S: Operation, const LEFT: bool>(x: f64, y: f64, z: f64) -> f64 {
    match LEFT {
        true => S::apply(F::apply(x, y), z),
        false => S::apply(z, F::apply(x, y)),
    }
}

/// # Safety
/// The contract of [`BlockRun`], for three columns and a target of FLOAT64; of a square, the third is any.
#[inline(always)]
unsafe fn run<F: Operation, S: Operation, const LEFT: bool>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    if rows == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        let columns = [args.column(0), args.column(1), args.column(2)];
        match columns.map(|column| column.step != 0) {
            [true, true, true] => each::<F, S, LEFT, true, true, true>(columns, target, rows),
            [true, true, false] => each::<F, S, LEFT, true, true, false>(columns, target, rows),
            [true, false, true] => each::<F, S, LEFT, true, false, true>(columns, target, rows),
            [true, false, false] => each::<F, S, LEFT, true, false, false>(columns, target, rows),
            [false, true, true] => each::<F, S, LEFT, false, true, true>(columns, target, rows),
            [false, true, false] => each::<F, S, LEFT, false, true, false>(columns, target, rows),
            // Of three values alone there is one row only.
            [false, false, _] => each::<F, S, LEFT, false, false, true>(columns, target, rows),
        }
    }
    Ok(())
}

/// The rows of a pair whose operands have rows (`true`) or one value for all (`false`).
///
/// # Safety
/// As [`run`]; there is a row.
#[inline(always)]
unsafe fn each<F: Operation, S: Operation, const LEFT: bool, const X: bool, const Y: bool, const Z: bool>(
    columns: [&Column; 3],
    target: Target,
    rows: usize,
) {
    let [x, y, z] = columns.map(|column| column.data.cast::<f64>());
    let out = target.data.cast::<f64>();
    // SAFETY: the caller's promise.
    unsafe {
        let one = |is_one: bool, at: *const f64| if is_one { at.read() } else { 0.0 };
        let (of_x, of_y, of_z) = (one(!X, x), one(!Y, y), one(!Z, z));
        for row in 0..rows {
            let x = if X { x.add(row).read() } else { of_x };
            let y = if Y { y.add(row).read() } else { of_y };
            let z = if Z { z.add(row).read() } else { of_z };
            out.add(row).write(apply::<F, S, LEFT>(x, y, z));
        }
    }
}

/// A product of two operands.
#[derive(Clone, Copy)]
struct Product {
    x: *const f64,
    y: *const f64,
    /// How many of them have rows; if it is one, x.
    with_rows: usize,
}

impl Product {
    fn of(x: &Column, y: &Column) -> Product {
        let [has_x, has_y] = [x, y].map(|column| column.step != 0);
        // The same either way, but for which NaN comes out of two.
        let (x, y) = if has_y && !has_x { (y, x) } else { (x, y) };
        let with_rows = usize::from(has_x) + usize::from(has_y);
        Product { x: x.data.cast(), y: y.data.cast(), with_rows }
    }

    /// What does not change from row to row: the second factor, or the product.
    ///
    /// # Safety
    /// Both have a cell.
    #[inline(always)]
    unsafe fn constant<const ROWS: usize>(self) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            match ROWS {
                0 => self.x.read() * self.y.read(),
                _ => self.y.read(),
            }
        }
    }

    /// # Safety
    /// Where there are rows, they have this one.
    #[inline(always)]
    unsafe fn at<const ROWS: usize>(self, constant: f64, row: usize) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            match ROWS {
                0 => constant,
                1 => self.x.add(row).read() * constant,
                _ => self.x.add(row).read() * self.y.add(row).read(),
            }
        }
    }
}

/// # Safety
/// The contract of [`BlockRun`], for four columns and a target of FLOAT64.
#[inline(always)]
unsafe fn run_products<S: Operation>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    if rows == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise; there is a row.
    unsafe {
        let products =
            [Product::of(args.column(0), args.column(1)), Product::of(args.column(2), args.column(3))];
        let out = target.data.cast::<f64>();
        match products.map(|product| product.with_rows) {
            [0, 0] => each_sum::<S, 0, 0>(products, out, rows),
            [0, 1] => each_sum::<S, 0, 1>(products, out, rows),
            [0, _] => each_sum::<S, 0, 2>(products, out, rows),
            [1, 0] => each_sum::<S, 1, 0>(products, out, rows),
            [1, 1] => each_sum::<S, 1, 1>(products, out, rows),
            [1, _] => each_sum::<S, 1, 2>(products, out, rows),
            [_, 0] => each_sum::<S, 2, 0>(products, out, rows),
            [_, 1] => each_sum::<S, 2, 1>(products, out, rows),
            [_, _] => each_sum::<S, 2, 2>(products, out, rows),
        }
    }
    Ok(())
}

/// The rows of a sum of products of which so many factors have rows.
///
/// # Safety
/// As [`run_products`]; there is a row.
#[inline(always)]
unsafe fn each_sum<S: Operation, const X: usize, const Z: usize>(
    [first, second]: [Product; 2],
    out: *mut f64,
    rows: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (of_first, of_second) = (first.constant::<X>(), second.constant::<Z>());
        for row in 0..rows {
            let value = S::apply(first.at::<X>(of_first, row), second.at::<Z>(of_second, row));
            out.add(row).write(value);
        }
    }
}

macro_rules! compiled {
    ($name:ident, $run:ident, $features:literal, [$($declared:tt)*], [$($generic:tt)*]) => {
        /// # Safety
        #[doc = concat!("The contract of [`", stringify!($run), "`]; the machine has the features.")]
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<$($declared)*>(
            args: Operands<'_>,
            target: Target,
            rows: usize,
        ) -> Result<(), Box<RowFault>> {
            // SAFETY: the caller's promise.
            unsafe { $run::<$($generic)*>(args, target, rows) }
        }

        #[cfg(not(target_arch = "x86_64"))]
        use $run as $name;
    };
    ($avx2:ident, $avx512:ident, $run:ident, $declared:tt, $generic:tt) => {
        compiled!($avx2, $run, "avx2,fma", $declared, $generic);
        compiled!($avx512, $run, "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl", $declared, $generic);
    };
}

compiled!(run_avx2, run_avx512, run, [F: Operation, S: Operation, const LEFT: bool], [F, S, LEFT]);
compiled!(products_avx2, products_avx512, run_products, [S: Operation], [S]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::block::IN_ORDER;

    const ALL: [Arithmetic; 4] =
        [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide];

    fn of(operation: Arithmetic, x: f64, y: f64) -> f64 {
        match operation {
            Arithmetic::Add => x + y,
            Arithmetic::Subtract => x - y,
            Arithmetic::Multiply => x * y,
            Arithmetic::Divide => x / y,
        }
    }

    /// Where columns begin among the values.
    const FROM: [usize; 4] = [3, 0, 11, 7];

    /// The rows that code computes of columns of which some are one value, beside those that `expected` says.
    fn check(run: BlockRun, ones: usize, rows: usize, what: &str, expected: impl Fn([f64; 4]) -> f64) {
        let values: Vec<f64> = (0..43).map(|i| (f64::from(i) - 20.0) * 0.37).collect();
        let is_one = |index: usize| ones >> index & 1 == 1;
        let columns: [Column; 4] = std::array::from_fn(|index| {
            Column::of_cells(values[FROM[index]..].as_ptr().cast(), if is_one(index) { 0 } else { 8 })
        });
        let args = Operands { columns: columns.as_ptr(), positions: &IN_ORDER };
        let mut out = vec![0.0f64; rows];
        let target = Target { data: out.as_mut_ptr().cast(), presence: std::ptr::null_mut() };
        // SAFETY: every column has these rows behind its first one; the target has room for them.
        unsafe { run(args, target, rows) }.expect("no fault");
        for (row, result) in out.iter().enumerate() {
            let at = |index: usize| values[FROM[index] + if is_one(index) { 0 } else { row }];
            let expected = expected(std::array::from_fn(at));
            assert_eq!(result.to_bits(), expected.to_bits(), "{what} {ones:b} {row}");
        }
    }

    const ROWS: [usize; 7] = [0, 1, 7, 8, 9, 17, 23];

    #[test]
    fn every_pair_gives_the_bits_of_its_two_operations() {
        for (first, second) in ALL.into_iter().flat_map(|first| ALL.map(|second| (first, second))) {
            for side in [Side::Left, Side::Right, Side::Both] {
                let Some(run) = pair(first, second, side) else { continue };
                let expected = |[x, y, z, _]: [f64; 4]| {
                    let between = of(first, x, y);
                    match side {
                        Side::Left => of(second, between, z),
                        Side::Right => of(second, z, between),
                        Side::Both => of(second, between, between),
                    }
                };
                for (ones, rows) in (0..7).flat_map(|ones| ROWS.map(|rows| (ones, rows))) {
                    check(run, ones, rows, &format!("{first:?} {second:?} {side:?}"), expected);
                }
            }
        }
    }

    #[test]
    fn sums_of_products_give_the_bits_of_their_three_operations() {
        for second in ALL {
            let Some(run) = products(second) else { continue };
            for (ones, rows) in (0..16).flat_map(|ones| ROWS.map(|rows| (ones, rows))) {
                check(run, ones, rows, &format!("{second:?}"), |[x, y, z, w]| of(second, x * y, z * w));
            }
        }
    }
}
