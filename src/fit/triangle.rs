//! The triangle of residuals and their derivatives: all that a step of least squares needs to know of them.
//!
//! ```text
//!  J   r         R   q
//! ┌───┬─┐       ┌─┐ ┌─┐
//! │   │ │  ──>  └┐│ │ │      n + 1 rows instead of one for each value: columns have the same
//! │   │ │        └┘ │ρ│      lengths and angles, so that |r + J d|² = |q + R d|² for every step d
//! └───┴─┘           └─┘
//! ```
//!
//! Rows come in blocks, each of which is rotated into the triangle by reflections while it is in the cache; `J` is
//! never there as a whole. The method of A. S. Householder, Journal of the ACM 5 (1958) 339, block by block as J.
//! Demmel, L. Grigori, M. Hoemmen and J. Langou, SIAM Journal on Scientific Computing 34 (2012) A206. Unlike sums of
//! products, `JᵀJ`, it keeps the condition number of `J`. A column that is not finite becomes one with NaN; the others do
//! not suffer, so that a sum of squares is known where a derivative is not.

use cembra_vm::vector::Level;
use cembra_vm::vector::lanes::dot;
use cembra_vm::vector::level::Loop;

/// Rows from which on a block is worth rotating.
const BLOCK: usize = 256;

/// Columns of few rows that stand for those of many.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle {
    /// The derivatives, then the residuals.
    columns: Vec<Vec<f64>>,
}

impl Triangle {
    /// The columns of the derivatives.
    pub fn derivatives(&self) -> &[Vec<f64>] {
        &self.columns[..self.columns.len() - 1]
    }

    /// The column of the residuals.
    pub fn residuals(&self) -> &[f64] {
        self.columns.last().expect("there are always residuals")
    }

    /// The sum of the squares of the residuals.
    pub fn chi_square(&self) -> f64 {
        dot(self.residuals(), self.residuals())
    }
}

/// Rows on their way into a triangle.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Rows that are not in the triangle, as columns of derivatives and residuals; then places that are free.
    columns: Vec<Vec<f64>>,
    /// How many such rows there are.
    waiting: usize,
    triangle: Triangle,
    /// How many rows were rotated last. Their columns are what reflected the columns behind.
    rotated: usize,
    /// The reflections: by each column of derivatives that is not zero.
    mirrors: Vec<Option<Mirror>>,
}

/// A reflection along the direction `(first, values)`, whose values are a column of rotated rows.
#[derive(Clone, Copy, Debug)]
struct Mirror {
    first: f64,
    /// Half the square of its length.
    half: f64,
}

impl Mirror {
    /// Reflects a column that begins with a number of the triangle.
    #[inline(always)]
    fn reflect(self, values: &[f64], above: &mut f64, column: &mut [f64]) {
        let shadow = (self.first * *above + dot(values, column)) / self.half;
        *above -= shadow * self.first;
        column.iter_mut().zip(values).for_each(|(value, mirror)| *value -= shadow * mirror);
    }
}

impl Rows {
    /// No rows, of so many derivatives.
    pub fn new(derivatives: usize) -> Rows {
        let size = derivatives + 1;
        let triangle = Triangle { columns: vec![vec![0.0; size]; size] };
        Rows { columns: vec![Vec::new(); size], waiting: 0, triangle, rotated: 0, mirrors: vec![None; size] }
    }

    /// How many derivatives there are.
    pub fn derivatives(&self) -> usize {
        self.columns.len() - 1
    }

    /// Adds so many rows: a part of the column of each derivative, and of that of the residuals. `column` is called
    /// for each, with its place and where to write the values.
    pub fn push(&mut self, count: usize, mut column: impl FnMut(usize, &mut [f64])) {
        let end = self.waiting + count;
        for (place, values) in self.columns.iter_mut().enumerate() {
            if values.len() < end {
                values.resize(end, 0.0);
            }
            column(place, &mut values[self.waiting..end]);
        }
        self.waiting = end;
        if end >= BLOCK {
            self.rotate();
        }
    }

    /// The triangle of all rows.
    pub fn finish(mut self) -> Triangle {
        self.rotate();
        self.triangle
    }

    /// The triangle of the rows so far.
    pub fn triangle(&mut self) -> &Triangle {
        self.rotate();
        &self.triangle
    }

    /// The triangle of the rows that were rotated last, if they were the only ones, with other residuals.
    pub fn with_residuals(&mut self, write: impl FnOnce(&mut [f64])) -> &Triangle {
        let residuals = self.columns.last_mut().expect("there are always residuals");
        write(&mut residuals[..self.rotated]);
        Level::best().run(Residuals(self));
        &self.triangle
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.waiting = 0;
        self.triangle.columns.iter_mut().for_each(|column| column.fill(0.0));
    }

    /// Rotates the rows into the triangle.
    fn rotate(&mut self) {
        if self.waiting > 0 {
            Level::best().run(Rotation(self));
            self.waiting = 0;
        }
    }
}

/// The rotation of rows into the triangle, column by column.
struct Rotation<'r>(&'r mut Rows);

impl Loop for Rotation<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rows { columns, waiting, triangle, rotated, mirrors } = self.0;
        *rotated = *waiting;
        for place in 0..columns.len() {
            let (values, others) = columns[place..].split_first_mut().expect("a column");
            let (corner, others_above) = triangle.columns[place..].split_first_mut().expect("its top");
            let values = &values[..*rotated];
            mirrors[place] = mirror(values, &mut corner[place]);
            if let Some(mirror) = mirrors[place] {
                for (other, above) in others.iter_mut().zip(others_above) {
                    mirror.reflect(values, &mut above[place], &mut other[..*rotated]);
                }
            }
        }
    }
}

/// What reflects `(corner, values)` to `(end, 0)`, which is along the difference of both; then the corner is the end.
#[inline(always)]
fn mirror(values: &[f64], corner: &mut f64) -> Option<Mirror> {
    let below = dot(values, values);
    let length = (*corner * *corner + below).sqrt();
    if !length.is_finite() {
        // It says so, and leaves the other columns as they are.
        *corner = f64::NAN;
        return None;
    }
    let end = -length.copysign(*corner);
    let first = *corner - end;
    if below == 0.0 {
        return None;
    }
    *corner = end;
    Some(Mirror { first, half: 0.5 * (first * first + below) })
}

/// The rotation of other residuals by the mirrors of rows that began with an empty triangle.
struct Residuals<'r>(&'r mut Rows);

impl Loop for Residuals<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rows { columns, triangle, rotated, mirrors, .. } = self.0;
        let (residuals, columns) = columns.split_last_mut().expect("residuals");
        let above = triangle.columns.last_mut().expect("residuals");
        let residuals = &mut residuals[..*rotated];
        above.fill(0.0);
        for ((values, mirror), above) in columns.iter().zip(&*mirrors).zip(&mut *above) {
            if let Some(mirror) = mirror {
                mirror.reflect(&values[..*rotated], above, residuals);
            }
        }
        mirror(residuals, above.last_mut().expect("a corner"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns far from each other in size, and a third that is nearly the sum of both.
    fn columns(rows: usize) -> [Vec<f64>; 4] {
        let number = |i: usize, factor: f64| (i as f64 * factor).fract() - 0.4;
        let first: Vec<f64> = (0..rows).map(|i| 1e6 * number(i, 0.618_033_988_7)).collect();
        let second: Vec<f64> = (0..rows).map(|i| 1e-3 * number(i, 0.414_213_562_4)).collect();
        let third = first.iter().zip(&second).map(|(a, b)| a + b + 1e-7).collect();
        [first, second, third, (0..rows).map(|i| number(i, 0.732_050_807_6)).collect()]
    }

    fn triangle(columns: &[Vec<f64>], part: usize) -> Triangle {
        let mut rows = Rows::new(columns.len() - 1);
        for first in (0..columns[0].len()).step_by(part) {
            let last = columns[0].len().min(first + part);
            rows.push(last - first, |place, values| values.copy_from_slice(&columns[place][first..last]));
        }
        rows.finish()
    }

    #[test]
    fn lengths_and_angles_stay() {
        for rows in [1, 3, 255, 256, 1000] {
            let columns = columns(rows);
            let triangle = triangle(&columns, 7);
            let all: Vec<&[f64]> =
                triangle.derivatives().iter().map(Vec::as_slice).chain([triangle.residuals()]).collect();
            for i in 0..4 {
                assert!(all[i][i + 1..].iter().all(|v| *v == 0.0), "{triangle:?}");
                for j in 0..4 {
                    let scale = (dot(&columns[i], &columns[i]) * dot(&columns[j], &columns[j])).sqrt();
                    let (found, expected) = (dot(all[i], all[j]), dot(&columns[i], &columns[j]));
                    assert!((found - expected).abs() < 1e-14 * scale, "{rows}: {i} {j} {found} {expected}");
                }
            }
        }
    }

    /// What the third column has over the first two is 1e-13 of it, and known to three digits of 16: sums of
    /// products would not know that there is anything.
    #[test]
    fn what_columns_hardly_differ_by_is_kept() {
        let columns = columns(1000);
        let found = triangle(&columns, 100).derivatives()[2][2].abs();
        // The constant 1e-7, less what the others can make up for.
        assert!((2e-7..3.2e-6).contains(&found), "{found}");
    }

    #[test]
    fn other_residuals_see_the_same_mirrors() {
        let columns = columns(300);
        let mut rows = Rows::new(3);
        rows.push(300, |place, values| values.copy_from_slice(&columns[if place == 3 { 0 } else { place }]));
        assert!(rows.triangle().chi_square() > 0.0);
        let found = rows.with_residuals(|values| values.copy_from_slice(&columns[3])).clone();
        assert_eq!(found, triangle(&columns, 300));
    }

    #[test]
    fn what_is_not_finite_shows_in_its_column() {
        let mut columns = columns(600);
        columns[1][4] = f64::INFINITY;
        let found = triangle(&columns, 3);
        assert!(found.derivatives()[1][1].is_nan());
        let expected = dot(&columns[3], &columns[3]);
        assert!((found.chi_square() / expected - 1.0).abs() < 1e-14, "residuals have a sum of squares");
        columns[3][500] = f64::NAN;
        assert!(triangle(&columns, 3).chi_square().is_nan());
    }
}
