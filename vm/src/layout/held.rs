//! What the handle of an array holds: the frame's own, a shared one, or what a host lends for a run.
//!
//! ```text
//! Owned   the frame's own array, whose memory is kept between runs        read and written
//! Shared  a literal, or an array that a host wrote                        read; replaced or copied before it is written
//! Lent    a loan of the host for one run, and the frame's own to          the loan says
//!         come back to
//! ```
//!
//! Rows and n-dimensional arrays differ in what a host can lend, and in nothing else. A loan is in a handle only during the
//! run that it is lent for.

use std::fmt::Debug;
use std::sync::Arc;

/// An array that a frame keeps.
pub trait Kept {
    /// What a host lends; nothing by default.
    type Loan: Debug + Default;

    /// An array of the same type without cells.
    fn emptied(&self) -> Self;

    /// Makes the loan give way to the frame's own array, which is computed next.
    fn give_way(loan: &mut Self::Loan);
}

/// An array in a frame.
#[derive(Debug)]
pub enum Held<A: Kept> {
    /// An array of the frame, whose memory is kept between runs.
    Owned(Box<A>),
    /// A literal shared with the layout, or an array shared by the host.
    Shared(Arc<A>),
    /// What a host lends.
    Lent(Box<Lent<A>>),
}

/// What a host lends, and the frame's own array.
#[derive(Debug)]
pub struct Lent<A: Kept> {
    pub(super) loan: A::Loan,
    pub(super) own: A,
}

impl<A: Kept> Held<A> {
    /// The array; of one that is lent the frame's own.
    #[inline]
    pub fn own(&self) -> &A {
        match self {
            Held::Owned(array) => array,
            Held::Shared(array) => array,
            Held::Lent(lent) => &lent.own,
        }
    }

    /// The frame's own array, to be resized and written.
    #[inline]
    pub fn owned(&mut self) -> &mut A {
        match self {
            Held::Owned(array) => array,
            other => other.become_owned(),
        }
    }

    #[cold]
    fn become_owned(&mut self) -> &mut A {
        if let Held::Shared(shared) = self {
            *self = Held::Owned(Box::new(shared.emptied()));
        }
        match self {
            Held::Owned(array) => array,
            Held::Lent(lent) => {
                A::give_way(&mut lent.loan);
                &mut lent.own
            }
            Held::Shared(_) => unreachable!("a shared array was replaced above"),
        }
    }

    /// The loan, to lend something by it. The frame's own array stays for later.
    pub(super) fn begin_loan(&mut self) -> &mut A::Loan {
        if !matches!(self, Held::Lent(_)) {
            let emptied = self.own().emptied();
            let own = std::mem::replace(self.owned(), emptied);
            *self = Held::Lent(Box::new(Lent { loan: A::Loan::default(), own }));
        }
        self.loan_mut().expect("it is lent now")
    }

    /// What is lent, in this run or an earlier one.
    pub(super) fn loan(&self) -> Option<&A::Loan> {
        match self {
            Held::Lent(lent) => Some(&lent.loan),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn loan_mut(&mut self) -> Option<&mut A::Loan> {
        match self {
            Held::Lent(lent) => Some(&mut lent.loan),
            _ => None,
        }
    }
}
