//! Reductions over axes.
//!
//! The reduced axes are brought to the end; each run of elements over them gives one element of the result. The machine
//! reduces runs, but for sums and products of floats, and what is made of them: there numpy's order of rounding stands
//! here. A run is cut into pieces of elements that lie side by side, those of the last reduced axes if no axis that
//! stays comes after them; axes of size 1 do not count. A piece is added pairwise in blocks of 128, the pieces in order:
//!
//! ```text
//! axis=(0, 2) of shape (2, 3, 5)      element 0:  ((0 + five elements) + five elements)
//! axis=0 of shape (7, 3)              element 0:  seven pieces of one element, so in order
//! ```
//!
//! Means and variances round to the type after each step, with float16 in float32 within a piece. No axes reduce nothing: `axis=()`.
//!
//! A single value has no axes. Of the reductions that are one operation between elements (sum, prod, min, max, any,
//! all, and the count of what is true) numpy takes `axis=0` and `axis=-1` all the same, and gives the value; of means, variances and
//! quantiles it does not, nor of `axis=(0,)`.

use crate::backend::axes::resolve;
use crate::backend::elementwise::reshaped;
use crate::backend::error::OpError;
use crate::backend::one_node::{FIRST, OneNode};
use crate::dag::array::{Element, Elements, same_type};
use crate::dag::kind::{Axis, AxisOp, Dims, Kind, Reduction};
use crate::dag::{Array, ValueType};
use half::f16;
use ndarray::{ArrayViewD, IxDyn};
use std::ops::{Add, Mul};

/// Reduces axes of an array.
///
/// # Errors
/// There is no such axis, it is given twice, the type has no such reduction, or there is no smallest or
/// largest of no elements.
pub fn reduce(reduction: Reduction, dims: Dims, array: &Array, axis: &Axis) -> Result<Array, OpError> {
    // Others are not one operation between elements.
    let joins = !matches!(reduction, Reduction::Mean | Reduction::Median | Reduction::Var | Reduction::Std);
    let runs = match axis {
        Axis::One(0 | -1) if array.shape().is_empty() && joins => Runs::new(array, &[], dims)?,
        axis => Runs::new(array, axis.numbers(), dims)?,
    };
    let is_extreme = matches!(reduction, Reduction::Min | Reduction::Max);
    match (reduction, array) {
        (Reduction::Any | Reduction::All | Reduction::CountNonzero | Reduction::Median, _)
        | (_, Array::Text(_)) => {}
        _ if is_extreme && runs.is_without_elements() => {
            return Err(OpError::NoElements { operation: reduction.numpy_name() });
        }
        _ if is_extreme => {}
        (_, Array::Float16(elements)) => return Ok(runs.of_floats(reduction, elements)),
        (_, Array::Float32(elements)) => return Ok(runs.of_floats(reduction, elements)),
        (_, Array::Float64(elements)) => return Ok(runs.of_floats(reduction, elements)),
        (Reduction::Sum | Reduction::Prod, _) => {}
        _ => return Ok(runs.of_floats(reduction, &wide(array))),
    }
    runs.on_machine(reduction.numpy_name(), AxisOp::Reduce(reduction, Dims::Drop), array)
}

/// The quantile of each run, linear between neighbours.
///
/// # Errors
/// As [`reduce`]; the share is not between 0 and 1.
pub fn quantile(q: f64, dims: Dims, array: &Array, axes: &[isize]) -> Result<Array, OpError> {
    let runs = Runs::new(array, axes, dims)?;
    let has_order = !matches!(array, Array::Text(_) | Array::Bool(_));
    if has_order && runs.is_without_elements() {
        return Err(OpError::NoElements { operation: "quantile" });
    }
    if has_order && !(0.0..=1.0).contains(&q) {
        return Err(OpError::QuantileRange { q });
    }
    runs.on_machine("quantile", AxisOp::Quantile { q, dims: Dims::Drop }, array)
}

/// Truth values and integers as float64.
fn wide(array: &Array) -> Elements<f64> {
    match array {
        Array::Bool(elements) => elements.mapv(|v| f64::from(u8::from(v))).into_shared(),
        Array::Int8(elements) => elements.mapv(f64::from).into_shared(),
        Array::Int32(elements) => elements.mapv(f64::from).into_shared(),
        Array::Int64(elements) => elements.mapv(|v| v as f64).into_shared(),
        _ => unreachable!("floats are reduced as they are, and texts are refused"),
    }
}

/// How an array is cut into runs.
struct Runs {
    /// Axes of the array: those that stay, then those reduced.
    order: Vec<usize>,
    /// Sizes of the result.
    shape: Vec<usize>,
    /// Elements of a run.
    length: usize,
    /// Elements of a piece, which lie side by side.
    piece: usize,
}

impl Runs {
    fn new(array: &Array, axes: &[isize], dims: Dims) -> Result<Runs, OpError> {
        let shape = array.shape();
        let mut reduced = resolve(axes, shape.len())?;
        reduced.sort_unstable();
        let stay = (0..shape.len()).filter(|axis| !reduced.contains(axis));
        let kept = |axis: usize| if reduced.contains(&axis) { 1 } else { shape[axis] };
        let result = match dims {
            Dims::Drop => stay.clone().map(|axis| shape[axis]).collect(),
            Dims::Keep => (0..shape.len()).map(kept).collect(),
        };
        Ok(Runs {
            order: stay.chain(reduced.iter().copied()).collect(),
            shape: result,
            length: reduced.iter().map(|axis| shape[*axis]).product(),
            piece: piece(shape, &reduced),
        })
    }

    /// True if an element of the result has no elements.
    fn is_without_elements(&self) -> bool {
        self.length == 0 && self.count() > 0
    }

    /// Elements of the result.
    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    fn ordered<'e, T>(&self, elements: &'e Elements<T>) -> ArrayViewD<'e, T> {
        elements.view().permuted_axes(IxDyn(&self.order))
    }

    /// The reduction of rows, each a run.
    fn on_machine(&self, operation: &'static str, op: AxisOp, array: &Array) -> Result<Array, OpError> {
        let kind = Kind::Axis { op, node: FIRST, axis: Axis::One(1) };
        let program = OneNode::find(kind, vec![ValueType::of_axes(array.dtype(), [false; 2])])?;
        let not_defined = || OpError::NotDefined { operation, dtypes: vec![array.dtype()] };
        let program = program.ok_or_else(not_defined)?;
        let ordered = same_type!(array, e => self.ordered(e).to_owned().into_shared());
        // Without runs their length does not matter, and there are rows of one element as well as of none.
        let length = if self.count() == 0 { 1 } else { self.length };
        let rows = reshaped(&ordered, &[self.count(), length]);
        Ok(reshaped(&program.run(&[rows])?, &self.shape))
    }

    /// What adds or multiplies floats, in numpy's order.
    fn of_floats<T: Rounded>(&self, reduction: Reduction, elements: &Elements<T>) -> Array {
        let ordered = self.ordered(elements);
        let mut elements = ordered.iter().copied();
        let mut run = Vec::with_capacity(self.length);
        let result = (0..self.count()).map(|_| {
            run.clear();
            run.extend(elements.by_ref().take(self.length));
            match reduction {
                Reduction::Sum => self.sum(&run),
                Reduction::Prod => self.product(&run),
                Reduction::Mean => self.mean(&run),
                Reduction::Var => self.variance(&run),
                Reduction::Std => T::round(self.variance(&run).into().sqrt()),
                _ => unreachable!("the machine reduces what adds no floats"),
            }
        });
        Array::new(result.collect(), &self.shape).expect("there is a run for each element of the result")
    }

    fn sum<T: Rounded>(&self, run: &[T]) -> T {
        let mut wide = Vec::with_capacity(self.piece);
        run.chunks(self.piece).fold(T::default(), |sum, piece| {
            wide.clear();
            wide.extend(piece.iter().map(|v| T::Wide::from(*v)));
            T::narrow(T::Wide::from(sum) + pairwise_sum(&wide))
        })
    }

    fn product<T: Rounded>(&self, run: &[T]) -> T {
        let times = |product: T::Wide, v: &T| product * T::Wide::from(*v);
        run.chunks(self.piece)
            .fold(T::round(1.0), |product, piece| T::narrow(piece.iter().fold(T::Wide::from(product), times)))
    }

    /// The mean; NaN of no elements. Elements of float16 are added as float32.
    fn mean<T: Rounded>(&self, run: &[T]) -> T {
        let wide: Vec<T::Wide> = run.iter().map(|v| T::Wide::from(*v)).collect();
        T::narrow(self.share(self.sum(&wide), run.len()))
    }

    /// The mean of squared distances from the mean, where the mean of float16 is rounded to it twice.
    fn variance<T: Rounded>(&self, run: &[T]) -> T {
        let mean: f64 = self.share(self.sum(run), run.len()).into();
        let squares = run.iter().map(|v| {
            let distance: f64 = T::round((*v).into() - mean).into();
            T::round(distance * distance)
        });
        self.share(self.sum(&squares.collect::<Vec<T>>()), run.len())
    }

    fn share<T: Rounded>(&self, sum: T, count: usize) -> T {
        T::round(sum.into() / count as f64)
    }
}

/// Elements of the last reduced axes, as far as no axis that stays comes after them; axes of size 1 do not count.
fn piece(shape: &[usize], reduced: &[usize]) -> usize {
    let last = shape.iter().enumerate().rev().filter(|(_, size)| **size != 1);
    let sizes = last.take_while(|(axis, _)| reduced.contains(axis)).map(|(_, size)| *size);
    sizes.product::<usize>().max(1)
}

/// Floats, and the type that numpy adds them in.
trait Rounded: Element + Default + Into<f64> {
    type Wide: Rounded<Wide = Self::Wide> + From<Self> + Add<Output = Self::Wide> + Mul<Output = Self::Wide>;
    /// The nearest number of the type.
    fn round(value: f64) -> Self;
    /// The nearest number to a sum.
    fn narrow(wide: Self::Wide) -> Self {
        Self::round(wide.into())
    }
}

impl Rounded for f16 {
    type Wide = f32;
    fn round(value: f64) -> f16 {
        f16::from_f64(value)
    }
}

impl Rounded for f32 {
    type Wide = f32;
    fn round(value: f64) -> f32 {
        value as f32
    }
}

impl Rounded for f64 {
    type Wide = f64;
    fn round(value: f64) -> f64 {
        value
    }
}

fn in_order<T: Copy + Add<Output = T>>(first: T, run: &[T]) -> T {
    run.iter().fold(first, |sum, v| sum + *v)
}

/// Sums blocks of 128 with eight running sums each, and the blocks in pairs.
fn pairwise_sum<T: Copy + Default + Add<Output = T>>(run: &[T]) -> T {
    const BLOCK: usize = 128;
    if run.len() < 8 {
        return in_order(T::default(), run);
    }
    if run.len() > BLOCK {
        // The first half is a multiple of eight. Halving bounds the depth by the length of the number.
        let half = run.len() / 2;
        let (first, second) = run.split_at(half - half % 8);
        return pairwise_sum(first) + pairwise_sum(second);
    }
    let (eights, rest) = run.split_at(run.len() - run.len() % 8);
    let mut sums = [T::default(); 8];
    sums.copy_from_slice(&eights[..8]);
    for eight in eights[8..].chunks_exact(8) {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum = *sum + *value;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    in_order(((a + b) + (c + d)) + ((e + f) + (g + h)), rest)
}
