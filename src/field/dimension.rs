//! Dimensions: the named axes of fields.
//!
//! Axes of a result stand in one order: horizontal dimensions, then the local one, then vertical ones; within a kind by
//! name. A field may store its axes in any order.

use std::fmt;
use std::sync::Arc;

/// Dimensions that a program may have.
pub const MOST_DIMENSIONS: usize = 64;

/// What a dimension stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DimensionKind {
    /// Points of a grid or of a mesh.
    Horizontal,
    /// Neighbours in a row of a table.
    Local,
    /// Levels, the last axes.
    Vertical,
}

impl DimensionKind {
    /// `horizontal`, `local` or `vertical`.
    pub fn name(self) -> &'static str {
        match self {
            DimensionKind::Horizontal => "horizontal",
            DimensionKind::Local => "local",
            DimensionKind::Vertical => "vertical",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<DimensionKind> {
        [DimensionKind::Horizontal, DimensionKind::Local, DimensionKind::Vertical]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: Arc<str>,
    /// What it stands for.
    pub kind: DimensionKind,
}

/// Number of a dimension among those of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimensionId(pub usize);

/// A set of dimensions of one program.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct DimensionSet(u64);

impl DimensionSet {
    /// True if the dimension is one of them.
    pub fn contains(self, id: DimensionId) -> bool {
        self.0 >> id.0 & 1 == 1
    }

    /// The set and this dimension. Programs have at most [`MOST_DIMENSIONS`].
    #[must_use]
    pub fn with(self, id: DimensionId) -> DimensionSet {
        DimensionSet(self.0 | 1 << id.0)
    }

    /// The set without this dimension.
    #[must_use]
    pub fn without(self, id: DimensionId) -> DimensionSet {
        DimensionSet(self.0 & !(1 << id.0))
    }

    /// The dimensions of both.
    #[must_use]
    pub fn union(self, other: DimensionSet) -> DimensionSet {
        DimensionSet(self.0 | other.0)
    }

    /// True if all of them are in the other set.
    pub fn is_subset(self, other: DimensionSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Its dimensions, by number.
    pub fn iter(self) -> impl Iterator<Item = DimensionId> {
        (0..MOST_DIMENSIONS).map(DimensionId).filter(move |id| self.contains(*id))
    }
}

impl FromIterator<DimensionId> for DimensionSet {
    fn from_iter<I: IntoIterator<Item = DimensionId>>(ids: I) -> DimensionSet {
        ids.into_iter().fold(DimensionSet::default(), DimensionSet::with)
    }
}

impl fmt::Debug for DimensionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|id| id.0)).finish()
    }
}
