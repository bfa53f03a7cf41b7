//! Linear least squares with bounds: the step of parameters that residuals are linear in.
//!
//! ```text
//! minimise |r + J d|²   with   low <= d <= high        r and J of few rows: those of a triangle
//! ```
//!
//! Bounds by active sets, as P. B. Stark and R. L. Parker, Computational Statistics 10 (1995) 129: parameters
//! at a bound are held; of those that would rather leave it, the one with the steepest slope is let go.
//! Columns that depend on each other share the shortest step.

use crate::fit::bounds::Bounds;
use crate::fit::matrix::Decomposition;
use cembra_vm::vector::lanes::dot;

/// Singular values below this part of the greatest count as zero.
const RANK: f64 = 1e-12;

/// The best step and what it leaves open.
#[derive(Clone, Debug)]
pub struct Step {
    /// The step of each parameter.
    pub step: Vec<f64>,
    /// Orthonormal columns that span those of the parameters that are not held at bounds.
    span: Vec<Vec<f64>>,
}

impl Step {
    /// Takes from a column what the parameters that are not held can make up for.
    pub fn project(&self, column: &mut [f64]) {
        for base in &self.span {
            let made_up = dot(base, column);
            column.iter_mut().zip(base).for_each(|(value, base)| *value -= made_up * base);
        }
    }
}

/// The step from residuals and their columns of derivatives, within `room` for each parameter; none if these
/// are not finite.
pub fn solve(residuals: &[f64], columns: &[Vec<f64>], room: &[Bounds]) -> Option<Step> {
    // Columns of length one: parameters may have any unit.
    let norms: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    let is_finite = residuals.iter().chain(&norms).all(|value| value.is_finite());
    if !is_finite {
        return None;
    }
    let norms: Vec<f64> = norms.into_iter().map(|norm| if norm > 0.0 { norm } else { 1.0 }).collect();
    let scaled = columns.iter().zip(&norms).map(|(column, norm)| column.iter().map(|v| v / norm).collect());
    let scaled_room =
        room.iter().zip(&norms).map(|(b, norm)| Bounds { min: b.min * norm, max: b.max * norm });
    let target = residuals.iter().map(|residual| -residual).collect();
    let mut search = Search::new(scaled.collect(), target, scaled_room.collect());
    search.run();
    let step = search.step.iter().zip(&norms).map(|(step, norm)| step / norm).collect();
    Some(Step { step, span: search.of_free().into_span() })
}

/// A small problem of least squares, `columns d = target`, on its way to the best step.
struct Search {
    columns: Vec<Vec<f64>>,
    target: Vec<f64>,
    room: Vec<Bounds>,
    /// Always within its room.
    step: Vec<f64>,
    /// Parameters that are not held at a bound.
    free: Vec<usize>,
}

impl Search {
    fn new(columns: Vec<Vec<f64>>, target: Vec<f64>, room: Vec<Bounds>) -> Search {
        let step = room.iter().map(|b| 0.0f64.max(b.min).min(b.max)).collect();
        Search { columns, target, free: (0..room.len()).collect(), room, step }
    }

    /// Every round but few makes the sum of squares smaller, and there are finitely many sets of held
    /// parameters; the limit is for rounding.
    fn run(&mut self) {
        for _ in 0..10 * self.room.len() + 10 {
            match self.blocked() {
                Some(parameter) => self.free.retain(|free| *free != parameter),
                None => match self.steepest() {
                    Some(parameter) => self.free.push(parameter),
                    None => return,
                },
            }
        }
    }

    /// Goes to the best step of the free parameters, or as far as the first bound; gives the parameter that is
    /// stopped there.
    fn blocked(&mut self) -> Option<usize> {
        let best = self.best_of_free();
        let mut nearest: Option<(f64, usize, f64)> = None;
        for (index, value) in self.free.iter().zip(best.iter()) {
            let Bounds { min, max } = self.room[*index];
            let bound = value.clamp(min, max);
            if bound != *value {
                let share = (bound - self.step[*index]) / (value - self.step[*index]);
                if nearest.is_none_or(|(least, _, _)| share < least) {
                    nearest = Some((share, *index, bound));
                }
            }
        }
        let share = nearest.map_or(1.0, |(share, _, _)| share);
        for (index, value) in self.free.iter().zip(best.iter()) {
            self.step[*index] += share * (value - self.step[*index]);
        }
        let (_, parameter, bound) = nearest?;
        self.step[parameter] = bound;
        Some(parameter)
    }

    /// What is left of the target behind the steps of some parameters.
    fn rest(&self, steps: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut rest = self.target.clone();
        for index in steps {
            let step = self.step[index];
            rest.iter_mut().zip(&self.columns[index]).for_each(|(rest, entry)| *rest -= step * entry);
        }
        rest
    }

    /// Parameters that are held at a bound.
    fn held(&self) -> impl Iterator<Item = usize> {
        (0..self.room.len()).filter(|index| !self.free.contains(index))
    }

    /// The columns of the free parameters.
    fn of_free(&self) -> Decomposition {
        let columns: Vec<Vec<f64>> = self.free.iter().map(|index| self.columns[*index].clone()).collect();
        Decomposition::new(&columns, RANK)
    }

    /// The best values of the free parameters while the others stay.
    fn best_of_free(&self) -> Vec<f64> {
        self.of_free().solve(&self.rest(self.held()), self.free.len())
    }

    /// Of the held parameters the one that gains most by leaving its bound.
    fn steepest(&self) -> Option<usize> {
        let rest = self.rest(0..self.room.len());
        let downhill = |index: usize| dot(&self.columns[index], &rest);
        let gain = |index: usize| {
            let Bounds { min, max } = self.room[index];
            match () {
                () if min == max => 0.0,
                () if self.step[index] <= min => downhill(index),
                () => -downhill(index),
            }
        };
        // What rounding leaves of the slope is no reason to move.
        let noise = 1e-12 * dot(&self.target, &self.target).sqrt();
        self.held().filter(|index| gain(*index) > noise).max_by(|a, b| gain(*a).total_cmp(&gain(*b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Bounds = Bounds { min: f64::NEG_INFINITY, max: f64::INFINITY };

    /// Two lines over each other and a constant: y = 3 a + 2 b + 1.
    fn problem() -> (Vec<f64>, Vec<Vec<f64>>) {
        let line = |x0: f64| (0..20).map(move |i| (-(f64::from(i) * 0.5 - x0).powi(2)).exp());
        let columns = vec![line(4.0).collect(), line(5.0).collect(), vec![1.0; 20]];
        let data = |i: usize| 3.0 * columns[0][i] + 2.0 * columns[1][i] + 1.0;
        let residuals = (0..20).map(|i| -data(i)).collect();
        (residuals, columns)
    }

    fn close(actual: &[f64], expected: &[f64]) -> bool {
        actual.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-12)
    }

    #[test]
    fn steps_are_exact_without_bounds() {
        let (residuals, columns) = problem();
        let step = solve(&residuals, &columns, &[OPEN; 3]).expect("finite");
        assert!(close(&step.step, &[3.0, 2.0, 1.0]), "{:?}", step.step);
        let mut column = columns[1].clone();
        step.project(&mut column);
        assert!(close(&column, &[0.0; 20]));
        assert!(solve(&[f64::NAN; 20], &columns, &[OPEN; 3]).is_none());
    }

    /// At a bound the sum of squares only grows inwards, and elsewhere its slope is zero.
    #[test]
    fn bounds_hold_what_would_leave_them() {
        let (residuals, columns) = problem();
        let low = Bounds { min: -1.0, max: 2.5 };
        let room = [low, Bounds { min: -1.0, max: 9.0 }, Bounds { min: -1.0, max: 0.5 }];
        let step = solve(&residuals, &columns, &room).expect("finite");
        assert_eq!((step.step[0], step.step[2]), (2.5, 0.5));
        let left: Vec<f64> = (0..20)
            .map(|i| residuals[i] + (0..3).map(|c| columns[c][i] * step.step[c]).sum::<f64>())
            .collect();
        let slope = |c: usize| columns[c].iter().zip(&left).map(|(a, r)| a * r).sum::<f64>();
        assert!(slope(0) < 0.0 && slope(2) < 0.0 && slope(1).abs() < 1e-12, "{step:?}");
    }

    #[test]
    fn equal_columns_share_a_step() {
        let (residuals, mut columns) = problem();
        columns.push(columns[0].clone());
        columns.push(vec![0.0; 20]);
        let step = solve(&residuals, &columns, &[OPEN; 5]).expect("finite");
        assert!(close(&step.step, &[1.5, 2.0, 1.0, 1.5, 0.0]), "{:?}", step.step);
    }
}
