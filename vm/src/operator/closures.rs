//! Overloads of closures that capture, as hosts write them.

use crate::array::function::Outcome;
use crate::layout::PlainSlot;
use crate::operator::family::Family;

impl Family {
    /// Adds a closure of one plain operand, which may capture, and its lifted form.
    pub fn function1<A: PlainSlot, R: PlainSlot, O: Outcome<R>>(
        self,
        f: impl Fn(A) -> O + Send + Sync + 'static,
    ) -> Family {
        self.general(&[A::plain_qtype()], R::plain_qtype(), move |call| {
            f(call.plain(0)).outcome().map(|result| call.set_plain(result))
        })
    }

    /// Adds a closure of two plain operands, which may capture, and its lifted form.
    pub fn function2<A: PlainSlot, B: PlainSlot, R: PlainSlot, O: Outcome<R>>(
        self,
        f: impl Fn(A, B) -> O + Send + Sync + 'static,
    ) -> Family {
        self.general(&[A::plain_qtype(), B::plain_qtype()], R::plain_qtype(), move |call| {
            f(call.plain(0), call.plain(1)).outcome().map(|result| call.set_plain(result))
        })
    }

    /// Adds a closure of three plain operands, which may capture, and its lifted form.
    pub fn function3<A: PlainSlot, B: PlainSlot, C: PlainSlot, R: PlainSlot, O: Outcome<R>>(
        self,
        f: impl Fn(A, B, C) -> O + Send + Sync + 'static,
    ) -> Family {
        let args = [A::plain_qtype(), B::plain_qtype(), C::plain_qtype()];
        self.general(&args, R::plain_qtype(), move |call| {
            f(call.plain(0), call.plain(1), call.plain(2)).outcome().map(|result| call.set_plain(result))
        })
    }
}
