//! Runs: elements along axes that become one, and where the results stand.
//!
//! ```text
//! (2, 300) -> (2)     two runs of 300 elements, one after the other
//! (300, 2) -> (2)     two runs side by side: 2 elements from one of a run to the next
//! ```

use crate::value::shape::PerAxis;
use crate::value::{Axes, Fault, NdType};

/// How elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Elements that become one.
    pub(crate) run: usize,
    /// Results.
    pub(crate) count: usize,
    /// Runs side by side: how far it is from one element of a run to the next.
    pub(crate) width: usize,
}

/// An error if runs have no element, but results are asked for, of which there are none then.
pub(crate) fn check_elements(what: &str, runs: Runs) -> Result<(), Fault> {
    match runs.run == 0 && runs.count > 0 {
        true => Err(Fault::Range { message: format!("no elements, of which there is no {what}") }),
        false => Ok(()),
    }
}

/// How elements of an array of a shape become one along axes between which there are unit axes only.
pub(crate) fn runs(shape: &[usize], axes: Axes) -> Runs {
    let product = |reduced: bool| {
        let of = shape.iter().enumerate().filter(|(axis, _)| axes.contains(*axis) == reduced);
        of.map(|(_, size)| size).product()
    };
    let last = (0..shape.len()).rev().find(|axis| axes.contains(*axis) && shape[*axis] != 1);
    let width = last.map_or(1, |last| shape[last + 1..].iter().product());
    Runs { run: product(true), count: product(false), width }
}

/// The shape of an array of results: without the axes, or with unit axes for them if its type has as many.
pub(crate) fn result_shape(shape: &[usize], axes: Axes, result: NdType) -> PerAxis {
    let drops = result.rank() < shape.len();
    let size = |(axis, size): (usize, &usize)| match axes.contains(axis) {
        true => (!drops).then_some(1),
        false => Some(*size),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_shape() {
        let axes = |list: &[usize]| Axes::new(list.iter().copied()).expect("few axes");
        let of = |shape: &[usize], list: &[usize]| {
            let Runs { run, count, width } = runs(shape, axes(list));
            (run, count, width)
        };
        assert_eq!(of(&[2, 300], &[1]), (300, 2, 1));
        assert_eq!(of(&[300, 2], &[0]), (300, 2, 2));
        assert_eq!(of(&[4, 300, 2, 5], &[1]), (300, 40, 10));
        assert_eq!(of(&[4, 300, 1, 5], &[1, 2]), (300, 20, 5));
        assert_eq!(of(&[1, 5], &[0]), (1, 5, 1));
    }
}
