//! Products of slopes by their factors, so that as much as can be is computed on few axes, and common factors once.
//!
//! ```text
//! (n · ln 2) · (s · d) - q · (k · d)      four passes over rows
//! d · ((ln 2 · s) · n - k · q)            two; the scalars are multiplied once
//! ```
//!
//! 1. Factors without dynamic axes are multiplied first, numbers among them here.
//! 2. Factors that are the same all along the last axis stay outside, for [`Products`](crate::autodiff::Products).
//! 3. A product of arrays that the expression itself has is one factor: it is computed anyway.

use crate::autodiff::builder::{Dynamic, Slope, SlopeBuilder};
use crate::autodiff::error::AutodiffError;
use crate::expr::{Node, NodeId};
use cembra_vm::builtins::math;

/// Factors of one product; a longer one stays as it is, so that slopes grow with the expression and no faster.
const MOST: usize = 8;

/// The factors of a product.
#[derive(Clone, Debug)]
struct Factors {
    /// Of all numbers.
    number: f64,
    /// Without dynamic axes.
    scalars: Vec<NodeId>,
    arrays: Vec<NodeId>,
}

impl Factors {
    fn of_number(number: f64) -> Factors {
        Factors { number, scalars: Vec::new(), arrays: Vec::new() }
    }
}

impl SlopeBuilder {
    /// A product, by the factors of both; `None` if it is zero.
    pub(super) fn product(&mut self, x: NodeId, y: NodeId) -> Result<Slope, AutodiffError> {
        let is_one = |id: NodeId| self.literal_number(id) == Some(1.0);
        if is_one(x) || is_one(y) || !self.is_array(x) && !self.is_array(y) {
            return self.times(x, y);
        }
        let (mut all, of_y) = (self.factors(x), self.factors(y));
        all.number *= of_y.number;
        all.scalars.extend(of_y.scalars);
        all.arrays.extend(of_y.arrays);
        self.multiplied(all)
    }

    /// A sum, of terms with common arrays as their product with the sum of the rest.
    pub(super) fn sum(&mut self, x: Slope, y: Slope) -> Result<Slope, AutodiffError> {
        match (x, y) {
            (Some(x), Some(y)) => self.joined(math::ADD, x, y),
            (x, y) => Ok(x.or(y)),
        }
    }

    /// A difference, likewise.
    pub(super) fn difference(&mut self, x: Slope, y: Slope) -> Result<Slope, AutodiffError> {
        match (x, y) {
            (Some(x), Some(y)) => self.joined(math::SUBTRACT, x, y),
            (None, Some(y)) => self.apply(math::NEG, &[y]).map(Some),
            (x, None) => Ok(x),
        }
    }

    fn joined(&mut self, operator: &str, x: NodeId, y: NodeId) -> Result<Slope, AutodiffError> {
        let plain = |builder: &mut SlopeBuilder| builder.apply(operator, &[x, y]).map(Some);
        if !self.is_array(x) || !self.is_array(y) {
            return plain(self);
        }
        let (mut of_x, mut of_y) = (self.factors(x), self.factors(y));
        let mut common = Vec::new();
        of_x.arrays.retain(|array| match of_y.arrays.iter().position(|other| other == array) {
            Some(place) => {
                common.push(of_y.arrays.remove(place));
                false
            }
            None => true,
        });
        if common.is_empty() {
            return plain(self);
        }
        let are_numbers = [&of_x, &of_y].iter().all(|f| f.scalars.is_empty() && f.arrays.is_empty());
        let mut all = Factors { arrays: common, ..Factors::of_number(1.0) };
        if are_numbers {
            let sign = if operator == math::ADD { 1.0 } else { -1.0 };
            all.number = of_x.number + sign * of_y.number;
            return self.multiplied(all);
        }
        let (Some(x), Some(y)) = (self.multiplied(of_x)?, self.multiplied(of_y)?) else { return plain(self) };
        let rest = self.apply(operator, &[x, y])?;
        if self.is_array(rest) {
            all.arrays.push(rest)
        } else {
            all.scalars.push(rest)
        }
        self.multiplied(all)
    }

    /// The factors of a node; itself if it is no product, or one of too many.
    fn factors(&mut self, id: NodeId) -> Factors {
        let mut found = Factors::of_number(1.0);
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            if let Some(number) = self.literal_number(next) {
                found.number *= number;
                continue;
            }
            if !self.is_array(next) {
                found.scalars.push(next);
            } else if let Some(operands) = self.split(next) {
                open.extend(operands.into_iter().rev());
            } else if let Some(operand) = self.negated(next) {
                found.number = -found.number;
                open.push(operand);
            } else {
                found.arrays.push(next);
            }
            if found.scalars.len() + found.arrays.len() + open.len() > MOST {
                return Factors { arrays: vec![id], ..Factors::of_number(1.0) };
            }
        }
        found
    }

    /// The operands of a product that is a slope, or an array of the expression times a scalar.
    fn split(&mut self, id: NodeId) -> Option<[NodeId; 2]> {
        let Node::Operator(operator, &[x, y]) = self.graph().node(id) else { return None };
        let is_product = &**self.graph().name(operator) == math::MULTIPLY;
        let may_split = is_product && (id.index() >= self.nodes || !self.is_array(x) || !self.is_array(y));
        may_split.then_some([x, y])
    }

    /// The operand of a slope that is the negative of another.
    fn negated(&self, id: NodeId) -> Option<NodeId> {
        let Node::Operator(operator, &[x]) = self.graph().node(id) else { return None };
        (id.index() >= self.nodes && &**self.graph().name(operator) == math::NEG).then_some(x)
    }

    /// The product of factors; `None` if it is zero.
    fn multiplied(&mut self, factors: Factors) -> Result<Slope, AutodiffError> {
        let Factors { number, scalars, arrays } = factors;
        if number == 0.0 {
            return Ok(None);
        }
        let number = (number != 1.0).then(|| self.literal(number)).transpose()?;
        let mut scalar = scalars.into_iter().try_fold(number, |x, y| self.by(x, y).map(Some))?;
        let mut product = None;
        for mut group in self.grouped(arrays) {
            // The last array of the narrowest group takes the scalars.
            if let (Some(scalar), Some(last)) = (scalar.take(), group.last_mut()) {
                *last = self.by(Some(scalar), *last)?;
            }
            if let Some(of_group) = group.into_iter().try_fold(None, |x, y| self.by(x, y).map(Some))? {
                product = Some(self.by(product, of_group)?);
            }
        }
        match product.or(scalar) {
            Some(product) => Ok(Some(product)),
            None => self.literal(1.0).map(Some),
        }
    }

    /// Arrays by their axes: first those that do not change along the last axis, then from few axes to many.
    fn grouped(&mut self, arrays: Vec<NodeId>) -> Vec<Vec<NodeId>> {
        let mut groups: Vec<(bool, usize, Option<Dynamic>, Vec<NodeId>)> = Vec::new();
        for array in arrays {
            let axes = self.axes(array);
            match groups.iter_mut().find(|(_, _, of_group, _)| *of_group == axes) {
                Some((.., group)) => group.push(array),
                None => {
                    let changes = axes.as_ref().is_none_or(|axes| axes.last() == Some(&true));
                    let count =
                        axes.as_ref().map_or(usize::MAX, |axes| axes.iter().filter(|axis| **axis).count());
                    groups.push((changes, count, axes, vec![array]));
                }
            }
        }
        groups.sort_by_key(|(changes, count, ..)| (*changes, *count));
        groups.into_iter().map(|(.., group)| group).collect()
    }

    /// A product with a factor that may be missing.
    fn by(&mut self, x: Slope, y: NodeId) -> Result<NodeId, AutodiffError> {
        match x {
            None => Ok(y),
            Some(x) => self.times(x, y).map(|product| product.expect("no factor is zero")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::autodiff::forward::jacobian;
    use crate::syntax::parse;
    use cembra_vm::value::QType;
    use cembra_vm::value::qtype::FLOAT64;

    /// The slope by the scalar a, of an expression of scalars, lines e and f, and a column t.
    fn slope(text: &str) -> String {
        let axis = |text: &str| text.parse::<QType>().expect("a type");
        let line = || axis("NDARRAY_FLOAT64_1N");
        let arrays = [("e", line()), ("f", line()), ("t", axis("NDARRAY_FLOAT64_N1"))];
        let scalars = ["a", "b", "c"].map(|name| (name, FLOAT64));
        let leaves: Vec<(&str, QType)> = scalars.into_iter().chain(arrays).collect();
        let slopes = jacobian(&parse(text).expect("an expression"), &leaves).expect("few nodes");
        slopes[0].as_ref().map_or("0".to_owned(), ToString::to_string)
    }

    #[test]
    fn scalars_come_first() {
        assert_eq!(slope("math.exp(e * a) * b"), "math.exp(e * a) * (b * e)");
        assert_eq!(slope("b * ((e - a) * (e - a))"), "float64(-2) * b * (e - a)");
        assert_eq!(slope("(b * e) * (c * (a * f))"), "e * (b * c * f)");
    }

    #[test]
    fn common_factors_are_taken_out() {
        assert_eq!(
            slope("math.exp2(a * e) / (1.0 + a * e)"),
            "_1 = a * e\n_2 = math.exp2(_1)\n_3 = weak_float(1) + _1\n\
             e * (float64(0.6931471805599453) * _2 - _2 / _3) * (float64(1) / _3)"
        );
        assert_eq!(slope("(e - a) * f - (e - a) * f"), "0");
    }

    #[test]
    fn what_does_not_change_along_the_last_axis_stays_outside() {
        assert_eq!(slope("t * math.exp(e * a)"), "t * (math.exp(e * a) * e)");
        assert_eq!(slope("f * (t * math.exp(e * a))"), "t * f * (math.exp(e * a) * e)");
        assert_eq!(slope("(e + t) * (a * (f * t))"), "(e + t) * (f * t)", "the expression has this product");
    }

    #[test]
    fn many_factors_are_one() {
        let text = (0..40).fold("math.exp(a * e)".to_owned(), |text, _| format!("math.exp({text})"));
        assert_eq!(slope(&text).lines().count(), 41, "a line for each power and one for the slope");
    }
}
