//! The inverse of a symmetric positive matrix.

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

#[cfg(test)]
mod tests {
    use super::*;

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
