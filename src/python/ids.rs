//! Numbers of the parts of a tree, and stretches of its lists.
//!
//! ```text
//! stmt_lists: [s0, s1, s2 | s3 | …]      a block is a stretch of it: 0..3
//! ```

use std::fmt;

/// Number of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub(super) u32);

/// Number of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub(super) u32);

/// Number of a name or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub(super) u32);

impl ExprId {
    /// Position among the tree's expressions.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl StmtId {
    /// Position among the tree's statements.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl NameId {
    /// Position among the tree's names.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ExprId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

impl fmt::Display for StmtId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// A list: a stretch of the vector of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stretch {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Stretch {
    /// Number of elements.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// True without elements.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The list without its first.
    pub fn behind_first(self) -> Stretch {
        Stretch { start: (self.start + 1).min(self.end), end: self.end }
    }

    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}
