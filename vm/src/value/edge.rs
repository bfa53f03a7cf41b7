//! Edges: which row of a parent each row of a child belongs to.
//!
//! ```text
//! child     a  b  c  d            mapping 0, 0, missing, 2 of 3 parents: group 0 is a, b; group 2 is d
//! parent    0  0  -  2            split points 0, 2, 2, 4 of 3 parents: a, b | | c, d
//! ```

use crate::value::array::{ArrayRows, MAX_ROWS, are_rows};
use crate::value::budget::{Account, Exhausted, Unlimited, fill_up_to, reserve_exact};
use crate::value::scalar::ScalarType;
use std::ops::Range;
use std::sync::Arc;

/// How the rows of a child are grouped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// The parent of each child row, and the number of parents.
    Mapping(Arc<ArrayRows>, usize),
    /// Where the children of each parent begin; one more at the end.
    SplitPoints(Vec<usize>),
    /// All rows of the child in one group, which is no row.
    Scalar(usize),
}

pub(crate) const NOT_FROM_0: &str = "split points array must have first element equal to 0";
pub(crate) const UNSORTED: &str = "split points must be sorted";

/// An edge is as long as an array may be.
fn check_rows(rows: usize) -> Result<(), String> {
    match rows > MAX_ROWS {
        true => Err(format!("limit array-rows: {rows} exceeds {MAX_ROWS}")),
        false => Ok(()),
    }
}

/// How children find their parents.
#[derive(Clone, Copy)]
pub(crate) enum Parents<'e> {
    /// The parent of each, if it has one.
    Stored(&'e ArrayRows),
    /// Where those of each parent begin, and the end.
    Points(&'e [usize]),
}

/// Child rows by parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    starts: Vec<usize>,
    members: Vec<usize>,
}

impl Groups {
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// True without groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the groups hold.
    pub fn heap_bytes(&self) -> u64 {
        ((self.starts.capacity() + self.members.capacity()) * size_of::<usize>()) as u64
    }

    /// Child rows of a parent, in order.
    pub fn of(&self, parent: usize) -> &[usize] {
        &self.members[self.starts[parent]..self.starts[parent + 1]]
    }

    /// Child rows of each parent.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        (0..self.len()).map(|parent| self.of(parent))
    }
}

impl Edge {
    /// An edge by the parent of each child row.
    ///
    /// # Errors
    /// What is wrong: there is no such parent.
    pub fn from_mapping(mapping: ArrayRows, parents: usize) -> Result<Edge, String> {
        Edge::from_mapping_within(Arc::new(mapping), parents, &Unlimited)
            .unwrap_or_else(|stop| panic!("{stop}"))
    }

    /// The same in a run that may have to stop, of rows that others may read as well.
    ///
    /// # Errors
    /// The run has to stop; or what is wrong.
    pub fn from_mapping_within(
        mapping: Arc<ArrayRows>,
        parents: usize,
        account: &dyn Account,
    ) -> Result<Result<Edge, String>, Exhausted> {
        Edge::from_mapping_by(mapping, parents, account, are_rows)
    }

    /// The same by a function that tells what [`are_rows`] does, perhaps faster.
    pub(crate) fn from_mapping_by(
        mapping: Arc<ArrayRows>,
        parents: usize,
        account: &dyn Account,
        are_rows: impl Fn(&[i64], usize) -> bool,
    ) -> Result<Result<Edge, String>, Exhausted> {
        if let Err(error) = check_rows(parents) {
            return Ok(Err(error));
        }
        if mapping.element() != ScalarType::Int64 {
            return Ok(Err(format!("parents are numbers of rows, not {}", mapping.element())));
        }
        let ids: &[i64] = &bytemuck::cast_slice(mapping.bytes())[..mapping.len()];
        let is_wrong = |id: i64| !(0..parents as i64).contains(&id);
        let mut wrong = None;
        each_stretch(ids.len(), account, |mut rows| {
            if wrong.is_none() && !are_rows(&ids[rows.clone()], parents) {
                wrong = rows.find(|row| mapping.is_present(*row) && is_wrong(ids[*row]));
            }
        })?;
        Ok(match wrong.map(|row| ids[row]) {
            None => Ok(Edge { form: Form::Mapping(mapping, parents) }),
            Some(id) if id < 0 => Err(format!("parent id {id} is below 0")),
            Some(id) => Err(format!("parent_size={parents}, but parent id {id} is used")),
        })
    }

    /// An edge by where the children of each parent begin, and the end.
    ///
    /// # Errors
    /// What is wrong: the points are not sorted, or do not begin with 0.
    pub fn from_split_points(points: &[i64]) -> Result<Edge, String> {
        check_rows(points.last().map_or(0, |last| usize::try_from(*last).unwrap_or(0)))?;
        if points.first() != Some(&0) {
            return Err(NOT_FROM_0.to_owned());
        }
        // Behind 0, a point below 0 is not sorted.
        let points: Option<Vec<usize>> = points.iter().map(|point| usize::try_from(*point).ok()).collect();
        points.map_or_else(|| Err(UNSORTED.to_owned()), Edge::from_points)
    }

    /// The same of points that are not below 0.
    ///
    /// # Errors
    /// As [`Edge::from_split_points`].
    pub fn from_points(points: Vec<usize>) -> Result<Edge, String> {
        Edge::from_points_within(points, &Unlimited).unwrap_or_else(|stop| panic!("{stop}"))
    }

    /// The same in a run that may have to stop.
    ///
    /// # Errors
    /// The run has to stop; or what is wrong.
    pub fn from_points_within(
        points: Vec<usize>,
        account: &dyn Account,
    ) -> Result<Result<Edge, String>, Exhausted> {
        if let Err(error) = check_rows(points.last().copied().unwrap_or(0)) {
            return Ok(Err(error));
        }
        if points.first() != Some(&0) {
            return Ok(Err(NOT_FROM_0.to_owned()));
        }
        let mut is_sorted = true;
        each_stretch(points.len() - 1, account, |pairs| {
            is_sorted &= points[pairs.start..pairs.end + 1].is_sorted();
        })?;
        Ok(match is_sorted {
            true => Ok(Edge { form: Form::SplitPoints(points) }),
            false => Err(UNSORTED.to_owned()),
        })
    }

    /// No children and no parents.
    pub fn empty() -> Edge {
        Edge { form: Form::SplitPoints(vec![0]) }
    }

    /// All rows of a child in one group.
    pub fn to_scalar(children: usize) -> Edge {
        Edge { form: Form::Scalar(children) }
    }

    /// True if the parent is no array.
    pub fn is_to_scalar(&self) -> bool {
        matches!(self.form, Form::Scalar(_))
    }

    /// Bytes of memory that the edge holds.
    pub fn heap_bytes(&self) -> u64 {
        match &self.form {
            Form::Mapping(mapping, _) => mapping.heap_bytes(),
            // That of no children is what empty slots have.
            Form::SplitPoints(points) if points.len() > 1 => (points.capacity() * size_of::<usize>()) as u64,
            Form::SplitPoints(_) | Form::Scalar(_) => 0,
        }
    }

    /// Number of child rows.
    pub fn child_size(&self) -> usize {
        match &self.form {
            Form::Mapping(mapping, _) => mapping.len(),
            Form::SplitPoints(points) => points.last().copied().unwrap_or(0),
            Form::Scalar(children) => *children,
        }
    }

    /// Number of parent rows.
    pub fn parent_size(&self) -> usize {
        match &self.form {
            Form::Mapping(_, parents) => *parents,
            Form::SplitPoints(points) => points.len() - 1,
            Form::Scalar(_) => 1,
        }
    }

    /// The split points, if the edge is made of them.
    pub fn split_points(&self) -> Option<&[usize]> {
        match &self.form {
            Form::SplitPoints(points) => Some(points),
            _ => None,
        }
    }

    /// The parent of each child row, if the edge is made of them.
    pub fn stored_mapping(&self) -> Option<&ArrayRows> {
        match &self.form {
            Form::Mapping(mapping, _) => Some(mapping),
            _ => None,
        }
    }

    /// How children find their parents, unless there is one parent, which is no row.
    pub(crate) fn parents(&self) -> Option<Parents<'_>> {
        match &self.form {
            Form::Mapping(mapping, _) => Some(Parents::Stored(mapping)),
            Form::SplitPoints(points) => Some(Parents::Points(points)),
            Form::Scalar(_) => None,
        }
    }

    /// The parent of each child row.
    pub fn mapping(&self) -> ArrayRows {
        let mut rows = ArrayRows::new(ScalarType::Int64);
        self.write_mapping(&mut rows, &Unlimited).unwrap_or_else(|error| panic!("{error}"));
        rows
    }

    /// Writes the parent of each child row, with memory on account.
    ///
    /// # Errors
    /// The account or the system refuses, or the run has to stop.
    pub fn write_mapping(&self, rows: &mut ArrayRows, account: &dyn Account) -> Result<(), Exhausted> {
        if let Form::Mapping(mapping, _) = &self.form {
            return rows.copy_within(mapping, account);
        }
        rows.resize_within(ScalarType::Int64, self.child_size(), account)?;
        let ids: &mut [i64] = bytemuck::cast_slice_mut(rows.bytes_mut());
        let Form::SplitPoints(points) = &self.form else {
            return each_stretch(self.child_size(), account, |rows| ids[rows].fill(0));
        };
        let mut unasked = 0;
        for (parent, pair) in points.windows(2).enumerate() {
            for ids in ids[pair[0]..pair[1]].chunks_mut(STRETCH) {
                ids.fill(parent as i64);
                unasked += ids.len();
                if unasked >= STRETCH {
                    account.ask()?;
                    unasked = 0;
                }
            }
            // Groups without rows take time as well.
            unasked += 1;
        }
        Ok(())
    }

    /// The child rows of each parent, in order.
    pub fn groups(&self) -> Groups {
        self.groups_within(&Unlimited).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same, with memory on account.
    ///
    /// # Errors
    /// The account or the system refuses, or the run has to stop.
    pub fn groups_within(&self, account: &dyn Account) -> Result<Groups, Exhausted> {
        let mut groups = Groups { starts: Vec::new(), members: Vec::new() };
        let filled = self.fill(&mut groups, account);
        if filled.is_err() {
            account.give_back(groups.heap_bytes());
        }
        filled.map(|()| groups)
    }

    /// Calls with each child row that has a parent, and its place if the rows of all groups stood one group behind the other;
    /// where each group begins then, and the end. For an edge that holds parents.
    ///
    /// # Errors
    /// The run has to stop.
    ///
    /// # Panics
    /// If there are not two more starts than parents, or they are not 0.
    #[inline(always)]
    pub(crate) fn place_children(
        &self,
        starts: &mut [usize],
        account: &dyn Account,
        f: impl FnMut(usize, usize),
    ) -> Result<(), Exhausted> {
        let Form::Mapping(mapping, parents) = &self.form else { return Ok(()) };
        assert!(
            starts.len() == parents + 2 && starts.iter().all(|start| *start == 0),
            "zeros for the starts"
        );
        count_children(mapping, starts, account)?;
        place_children(mapping, starts, account, f)
    }

    fn fill(&self, groups: &mut Groups, account: &dyn Account) -> Result<(), Exhausted> {
        let Groups { starts, members } = groups;
        reserve_exact(starts, self.parent_size() + 2, account)?;
        match &self.form {
            Form::SplitPoints(points) => {
                each_stretch(points.len(), account, |part| starts.extend_from_slice(&points[part]))?;
            }
            Form::Scalar(children) => starts.extend([0, *children]),
            Form::Mapping(mapping, parents) => return fill_by_mapping(mapping, *parents, groups, account),
        }
        reserve_exact(members, self.child_size(), account)?;
        each_stretch(self.child_size(), account, |rows| members.extend(rows))
    }
}

/// Groups by the parent of each child row; there is room for the starts.
fn fill_by_mapping(
    mapping: &ArrayRows,
    parents: usize,
    groups: &mut Groups,
    account: &dyn Account,
) -> Result<(), Exhausted> {
    let Groups { starts, members } = groups;
    fill_up_to(starts, parents + 2, 0, account)?;
    count_children(mapping, starts, account)?;
    let all = starts[parents + 1];
    reserve_exact(members, all, account)?;
    fill_up_to(members, all, 0, account)?;
    place_children(mapping, starts, account, |row, place| members[place] = row)?;
    starts.truncate(parents + 1);
    Ok(())
}

/// Writes where the children of each parent begin, one place behind its own: of two more places than there are parents, which
/// are 0.
fn count_children(mapping: &ArrayRows, starts: &mut [usize], account: &dyn Account) -> Result<(), Exhausted> {
    each_child(mapping, account, |_, parent| starts[parent + 2] += 1)?;
    each_stretch(starts.len() - 2, account, |parents| {
        parents.for_each(|parent| starts[parent + 2] += starts[parent + 1]);
    })
}

/// Calls with each child row and its place among those of all groups, one group behind the other. Each start is at its own
/// place then, with the end of all groups behind the last one.
fn place_children(
    mapping: &ArrayRows,
    starts: &mut [usize],
    account: &dyn Account,
    mut f: impl FnMut(usize, usize),
) -> Result<(), Exhausted> {
    each_child(mapping, account, |row, parent| {
        let next = &mut starts[parent + 1];
        f(row, *next);
        *next += 1;
    })
}

/// Calls with each child row that has a parent, and with the parent.
#[inline(always)]
fn each_child(
    mapping: &ArrayRows,
    account: &dyn Account,
    mut f: impl FnMut(usize, usize),
) -> Result<(), Exhausted> {
    let ids: &[i64] = &bytemuck::cast_slice(mapping.bytes())[..mapping.len()];
    each_stretch(mapping.len(), account, |rows| match mapping.presence() {
        None => rows.clone().zip(&ids[rows]).for_each(|(row, parent)| f(row, *parent as usize)),
        Some(_) => rows.filter(|row| mapping.is_present(*row)).for_each(|row| f(row, ids[row] as usize)),
    })
}

/// Rows between two questions whether the run has to stop.
const STRETCH: usize = 1 << 16;

/// Calls with the rows in stretches.
fn each_stretch(
    rows: usize,
    account: &dyn Account,
    mut f: impl FnMut(Range<usize>),
) -> Result<(), Exhausted> {
    for start in (0..rows).step_by(STRETCH) {
        account.ask()?;
        f(start..rows.min(start + STRETCH));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::scalar_value::ScalarValue;

    #[test]
    fn rows_find_their_parents() {
        let ids = [Some(2), None, Some(0), Some(2)].map(|id| id.map(ScalarValue::Int64));
        let edge = Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &ids), 3).expect("valid");
        assert_eq!((edge.child_size(), edge.parent_size()), (4, 3));
        assert_eq!(edge.groups().iter().collect::<Vec<_>>(), [&[2][..], &[], &[0, 3]]);
        let split = Edge::from_split_points(&[0, 2, 2]).expect("valid");
        assert_eq!(split.groups().iter().collect::<Vec<_>>(), [&[0, 1][..], &[]]);
        assert_eq!(split.mapping().len(), 2);
        let wrong = |points: &[i64]| Edge::from_split_points(points).expect_err("wrong");
        assert_eq!(wrong(&[0, 2, 1]), "split points must be sorted");
        assert_eq!(wrong(&[1]), "split points array must have first element equal to 0");
        let mapping = ArrayRows::from_values(ScalarType::Int64, &ids);
        let error = Edge::from_mapping(mapping, 2).expect_err("wrong");
        assert_eq!(error, "parent_size=2, but parent id 2 is used");
        assert_eq!(wrong(&[0, 1 << 40]), "limit array-rows: 1099511627776 exceeds 134217728");
    }
}
