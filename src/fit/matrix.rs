//! Small matrices: inverses, and singular values.

use cembra_vm::vector::lanes::dot;

/// Sweeps over all pairs of columns after which a decomposition ends in any case; ten are usual.
const SWEEPS: usize = 60;

/// A square matrix, row after row.
pub type Matrix = Vec<Vec<f64>>;

/// The inverse by Cholesky's factorisation of the matrix scaled to a diagonal of ones; `None` if it is
/// singular.
pub fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let n = matrix.len();
    let scale: Vec<f64> = (0..n).map(|i| matrix[i][i].sqrt()).collect();
    if scale.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
        return None;
    }
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] / (scale[i] * scale[j]) - dot;
            lower[i][j] = match i == j {
                true if rest > n as f64 * f64::EPSILON => rest.sqrt(),
                true => return None,
                false => rest / lower[j][j],
            };
        }
    }
    let columns: Vec<Vec<f64>> = (0..n).map(|i| solve(&lower, i)).collect();
    Some((0..n).map(|i| (0..n).map(|j| columns[j][i] / (scale[i] * scale[j])).collect()).collect())
}

/// Solves `L Lᵀ x = e`, where `e` is a column of the unit matrix.
fn solve(lower: &Matrix, column: usize) -> Vec<f64> {
    let n = lower.len();
    let mut x = vec![0.0; n];
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (f64::from(u8::from(i == column)) - dot) / lower[i][i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - dot) / lower[i][i];
    }
    x
}

/// What the columns of a matrix span: `A = U S Vᵀ`, as far as singular values count.
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// Singular values with their columns of `U` and `V`.
    terms: Vec<(f64, Vec<f64>, Vec<f64>)>,
}

impl Decomposition {
    /// The decomposition of a matrix given by its columns, without singular values up to `rank` times the greatest.
    /// By rotations of pairs of columns until all are orthogonal: M. R. Hestenes, Journal of the Society for
    /// Industrial and Applied Mathematics 6 (1958) 51.
    pub fn new(columns: &[Vec<f64>], rank: f64) -> Decomposition {
        let n = columns.len();
        let mut left = columns.to_vec();
        let mut right: Matrix =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        for _ in 0..SWEEPS {
            let mut is_orthogonal = true;
            for p in 0..n {
                for q in p + 1..n {
                    if let Some(turn) = Turn::between(&left[p], &left[q]) {
                        is_orthogonal = false;
                        turn.apply(&mut left, p, q);
                        turn.apply(&mut right, p, q);
                    }
                }
            }
            if is_orthogonal {
                break;
            }
        }
        let values: Vec<f64> = left.iter().map(|column| dot(column, column).sqrt()).collect();
        let least = rank * values.iter().copied().fold(0.0, f64::max);
        let terms = values.into_iter().zip(left.into_iter().zip(right));
        let terms = terms.filter(|(value, _)| *value > least).map(|(value, (mut left, right))| {
            left.iter_mut().for_each(|entry| *entry /= value);
            (value, left, right)
        });
        Decomposition { terms: terms.collect() }
    }

    /// The shortest `x` of `n` numbers that brings `A x` nearest to the target.
    pub fn solve(&self, target: &[f64], n: usize) -> Vec<f64> {
        let mut x = vec![0.0; n];
        for (value, left, right) in &self.terms {
            let share = dot(left, target) / value;
            x.iter_mut().zip(right).for_each(|(x, entry)| *x += share * entry);
        }
        x
    }

    /// Orthonormal columns that span those of the matrix.
    pub fn into_span(self) -> Vec<Vec<f64>> {
        self.terms.into_iter().map(|(_, left, _)| left).collect()
    }
}

/// A rotation of two columns into orthogonal ones.
struct Turn {
    cos: f64,
    sin: f64,
}

impl Turn {
    /// None if they are orthogonal as far as rounding lets them.
    fn between(a: &[f64], b: &[f64]) -> Option<Turn> {
        let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
        if ab.abs() <= f64::EPSILON * (aa * bb).sqrt() {
            return None;
        }
        let zeta = (bb - aa) / (2.0 * ab);
        let tan = 1f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
        let cos = 1.0 / (1.0 + tan * tan).sqrt();
        Some(Turn { cos, sin: cos * tan })
    }

    fn apply(&self, columns: &mut [Vec<f64>], p: usize, q: usize) {
        let [a, b] = columns.get_disjoint_mut([p, q]).expect("two columns");
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (self.cos * *a - self.sin * *b, self.sin * *a + self.cos * *b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_from_its_decomposition() {
        let columns = vec![vec![4.0, 2.0, 0.6, 1.0], vec![2.0, -2.0, 0.5, 0.0], vec![6.0, 0.0, 1.1, 1.0]];
        let found = Decomposition::new(&columns, 1e-12);
        assert_eq!(found.terms.len(), 2, "the third column is the sum of the others");
        for (number, column) in columns.iter().enumerate() {
            for (row, expected) in column.iter().enumerate() {
                let entry: f64 = found.terms.iter().map(|(value, u, v)| value * u[row] * v[number]).sum();
                assert!((entry - expected).abs() < 1e-14, "{number} {row}: {entry}");
            }
        }
        // Of all (a, b, c) with a + c = 3 and b + c = 0 the shortest.
        let target: Vec<f64> = columns[0].iter().map(|entry| 3.0 * entry).collect();
        let shortest = found.solve(&target, 3);
        assert!(shortest.iter().zip([2.0, -1.0, 1.0]).all(|(x, e)| (x - e).abs() < 1e-14), "{shortest:?}");
        let span = found.into_span();
        assert!(dot(&span[0], &span[1]).abs() < 1e-15 && (dot(&span[0], &span[0]) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_matrix_times_its_inverse() {
        let matrix = vec![vec![4.0, 2.0, 0.6], vec![2.0, 2.0, 0.5], vec![0.6, 0.5, 3.0]];
        let inverse = inverse(&matrix).expect("a positive matrix");
        for (i, row) in matrix.iter().enumerate() {
            for (j, column) in inverse.iter().enumerate() {
                // The inverse is symmetric: its rows are its columns.
                let dot: f64 = row.iter().zip(column).map(|(a, b)| a * b).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        assert_eq!(super::inverse(&vec![vec![1.0, 1.0], vec![1.0, 1.0]]), None);
    }
}
