//! Edges: which row of a parent each row of a child belongs to.
//!
//! ```text
//! child     a  b  c  d            mapping 0, 0, missing, 2 of 3 parents: group 0 is a, b; group 2 is d
//! parent    0  0  -  2            split points 0, 2, 2, 4 of 3 parents: a, b | | c, d
//! ```

use crate::value::array::{ArrayRows, MAX_ROWS};
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;

/// How the rows of a child are grouped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// The parent of each child row, and the number of parents.
    Mapping(ArrayRows, usize),
    /// Where the children of each parent begin; one more at the end.
    SplitPoints(Vec<usize>),
    /// All rows of the child in one group, which is no row.
    Scalar(usize),
}

/// An edge is as long as an array may be.
fn check_rows(rows: usize) -> Result<(), String> {
    match rows > MAX_ROWS {
        true => Err(format!("limit array-rows: {rows} exceeds {MAX_ROWS}")),
        false => Ok(()),
    }
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
        check_rows(parents)?;
        for id in mapping.iter().flatten().filter_map(|id| id.as_i64()) {
            match usize::try_from(id) {
                Err(_) => return Err(format!("parent id {id} is below 0")),
                Ok(row) if row >= parents => {
                    return Err(format!("parent_size={parents}, but parent id {id} is used"));
                }
                Ok(_) => {}
            }
        }
        Ok(Edge { form: Form::Mapping(mapping, parents) })
    }

    /// An edge by where the children of each parent begin, and the end.
    ///
    /// # Errors
    /// What is wrong: the points are not sorted, or do not begin with 0.
    pub fn from_split_points(points: &[i64]) -> Result<Edge, String> {
        check_rows(points.last().map_or(0, |last| usize::try_from(*last).unwrap_or(0)))?;
        if points.first() != Some(&0) {
            return Err("split points array must have first element equal to 0".to_owned());
        }
        if points.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err("split points must be sorted".to_owned());
        }
        Ok(Edge { form: Form::SplitPoints(points.iter().map(|point| *point as usize).collect()) })
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

    /// The parent of each child row.
    pub fn mapping(&self) -> ArrayRows {
        match &self.form {
            Form::Mapping(mapping, _) => mapping.clone(),
            Form::SplitPoints(points) => {
                let mut rows = ArrayRows::new(ScalarType::Int64);
                for (parent, pair) in points.windows(2).enumerate() {
                    (pair[0]..pair[1]).for_each(|_| rows.push_value(&ScalarValue::Int64(parent as i64)));
                }
                rows
            }
            Form::Scalar(children) => {
                let mut rows = ArrayRows::new(ScalarType::Int64);
                (0..*children).for_each(|_| rows.push_value(&ScalarValue::Int64(0)));
                rows
            }
        }
    }

    /// The child rows of each parent, in order.
    pub fn groups(&self) -> Groups {
        match &self.form {
            Form::SplitPoints(points) => {
                Groups { starts: points.clone(), members: (0..self.child_size()).collect() }
            }
            Form::Scalar(children) => {
                Groups { starts: vec![0, *children], members: (0..*children).collect() }
            }
            Form::Mapping(mapping, parents) => {
                let parent = |row: usize| mapping.get(row)?.as_i64().map(|id| id as usize);
                let mut starts = vec![0; parents + 1];
                (0..mapping.len()).filter_map(parent).for_each(|parent| starts[parent + 1] += 1);
                (0..*parents).for_each(|parent| starts[parent + 1] += starts[parent]);
                let mut next = starts.clone();
                let mut members = vec![0; starts[*parents]];
                for row in 0..mapping.len() {
                    if let Some(parent) = parent(row) {
                        members[next[parent]] = row;
                        next[parent] += 1;
                    }
                }
                Groups { starts, members }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
