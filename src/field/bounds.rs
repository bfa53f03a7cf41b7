//! Bounds as sums of products, so that two of them can be compared before scalars have values.
//!
//! ```text
//! n - 1 and n*1 + 2      differ by 3, whatever n is
//! n and m                differ by nobody knows what
//! ```

use crate::field::expression::{BoundTerm, FieldBound, FieldScalarId};
use std::collections::BTreeMap;

/// Products that a bound may have; larger ones are not compared.
const MOST_PRODUCTS: usize = 64;

/// For each product of scalars its factor; that of no scalars is a number.
type Products = BTreeMap<Vec<FieldScalarId>, i128>;

fn products(bound: &FieldBound) -> Option<Products> {
    let mut stack: Vec<Products> = Vec::new();
    for term in &bound.0 {
        let value = match term {
            BoundTerm::Literal(value) => Products::from([(Vec::new(), i128::from(*value))]),
            BoundTerm::Scalar(id) => Products::from([(vec![*id], 1)]),
            BoundTerm::Add | BoundTerm::Sub => {
                let (right, mut left) = (stack.pop()?, stack.pop()?);
                for (scalars, factor) in right {
                    let known = left.entry(scalars).or_default();
                    let sum = match term {
                        BoundTerm::Add => known.checked_add(factor),
                        _ => known.checked_sub(factor),
                    };
                    *known = sum?;
                }
                left
            }
            BoundTerm::Mul => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                let mut all = Products::new();
                for (scalars, factor) in &left {
                    for (others, other) in &right {
                        let mut both: Vec<FieldScalarId> = scalars.iter().chain(others).copied().collect();
                        both.sort_unstable();
                        let known = all.entry(both).or_default();
                        *known = known.checked_add(factor.checked_mul(*other)?)?;
                    }
                }
                all
            }
        };
        if value.len() > MOST_PRODUCTS {
            return None;
        }
        stack.push(value);
    }
    stack.pop()
}

impl FieldBound {
    /// How much larger it is than another one, if that is so whatever scalars are.
    pub fn beyond(&self, other: &FieldBound) -> Option<i128> {
        let mut difference = products(self)?;
        for (scalars, factor) in products(other)? {
            let known = difference.entry(scalars).or_default();
            *known = known.checked_sub(factor)?;
        }
        let number = difference.remove(&Vec::new()).unwrap_or(0);
        difference.values().all(|factor| *factor == 0).then_some(number)
    }

    /// The bound plus an offset, with one number at its end.
    #[must_use]
    pub fn moved(&self, by: i64) -> FieldBound {
        let mut terms = self.0.clone();
        let constant = match terms[..] {
            [BoundTerm::Literal(value)] => return FieldBound::literal(value.saturating_add(by)),
            [.., BoundTerm::Literal(value), BoundTerm::Add] => Some(value),
            [.., BoundTerm::Literal(value), BoundTerm::Sub] => Some(value.saturating_neg()),
            _ => None,
        };
        if constant.is_some() {
            terms.truncate(terms.len() - 2);
        }
        match constant.unwrap_or(0).saturating_add(by) {
            0 => {}
            sum if sum > 0 => terms.extend([BoundTerm::Literal(sum), BoundTerm::Add]),
            sum => terms.extend([BoundTerm::Literal(sum.saturating_neg()), BoundTerm::Sub]),
        }
        FieldBound(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BoundTerm::{Add, Literal, Mul, Scalar, Sub};

    #[test]
    fn bounds_are_compared_by_their_products() {
        let [n, m] = [0, 1].map(|id| Scalar(FieldScalarId(id)));
        let bound = |terms: &[BoundTerm]| FieldBound(terms.to_vec());
        let twice = bound(&[n, m, Add, Literal(2), Mul]);
        let apart = bound(&[m, m, Add, n, Add, n, Add, Literal(5), Sub]);
        assert_eq!(twice.beyond(&apart), Some(5));
        assert_eq!(apart.moved(5).beyond(&twice), Some(0));
        assert_eq!(bound(&[n, m, Mul]).beyond(&bound(&[m, n, Mul])), Some(0));
        assert_eq!(bound(&[n]).beyond(&bound(&[m])), None);
        let mut power = vec![n, m, Add];
        (0..200).for_each(|at| power.extend([n, Literal(at), Add, m, Add, Mul]));
        assert_eq!(bound(&power).beyond(&bound(&power)), None);
    }
}
