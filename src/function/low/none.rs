//! What may be None: two leaves, whether there is a number, and the number.

use super::Lowering;
use crate::function::build::RaisedFailure;
use crate::function::types::FunctionType;
use crate::python::CompareOp;
use crate::ssa::InstId;
use cembra_vm::value::Category;
use cembra_vm::value::qtype::BOOLEAN;

impl Lowering<'_> {
    /// The number of what may be None, which it is not; or `TypeError` is raised, if there is a message.
    pub(super) fn not_none(&mut self, x: InstId, message: Option<&str>) -> InstId {
        let leaves = self.leaves(x);
        if let Some(message) = message {
            let is_none = self.not(leaves[0]);
            let message = format!("TypeError: {message}");
            self.raise_if(is_none, RaisedFailure { category: Category::Raised, message });
        }
        leaves[1]
    }

    /// True where both are None, or numbers that are equal; one of them may be None.
    pub(super) fn equal_or_none(&mut self, x: InstId, y: InstId) -> InstId {
        let (x_type, y_type) = (self.type_of(x), self.type_of(y));
        let [x_there, y_there] = [(x, x_type), (y, y_type)].map(|(value, of)| match of {
            FunctionType::Optional(_) => self.leaf(value),
            other => self.boolean(*other != FunctionType::None),
        });
        let (a_type, b_type) = (x_type.without_none(), y_type.without_none());
        let neither = self.or(x_there, y_there);
        let neither = self.not(neither);
        if !a_type.is_number() || !b_type.is_number() {
            return neither;
        }
        let last = |leaves: Vec<InstId>| leaves[leaves.len() - 1];
        let (a, b) = (last(self.leaves(x)), last(self.leaves(y)));
        let equal = self.compare_numbers(CompareOp::Equal, (a, a_type), (b, b_type));
        let both = self.and(x_there, y_there);
        let equal = self.and(both, equal);
        self.or(equal, neither)
    }

    /// True where there is a number, and it is not zero.
    pub(super) fn truth_of_optional(&mut self, x: InstId, of: &FunctionType) -> InstId {
        let leaves = self.leaves(x);
        let zero = self.boolean(false);
        let zero = self.cast(zero, &FunctionType::Bool, of);
        let is_true = self.total("bool.not_equal", vec![leaves[1], zero], BOOLEAN);
        self.and(leaves[0], is_true)
    }
}
