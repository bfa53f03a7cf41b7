//! Types of n-dimensional arrays, and lists of axes that are known when a program is made.
//!
//! ```text
//! NDARRAY_FLOAT64_N1N     three axes; the middle one is a unit axis
//! AXES_02                 the axes 0 and 2, as an argument of an operator: a type with one value
//! ```
//!
//! A *unit axis* has the size 1 by its type and broadcasts; every other axis is dynamic and does not, even if
//! its size happens to be 1. So the axes of a result are known before anything runs.

use crate::value::scalar::ScalarType;
use std::fmt;

/// The largest number of axes.
pub const MAX_RANK: usize = 6;

/// Elements that an n-dimensional array can have and that operators take as they are. Further ones are
/// [narrow](ScalarType::is_narrow).
pub const ND_ELEMENTS: [ScalarType; 5] =
    [ScalarType::Boolean, ScalarType::Int32, ScalarType::Int64, ScalarType::Float32, ScalarType::Float64];

/// True if an n-dimensional array can have such elements.
pub(crate) fn is_element(scalar: ScalarType) -> bool {
    ND_ELEMENTS.contains(&scalar) || scalar.is_narrow()
}

/// The type of an n-dimensional array: its element, its number of axes, and which of them are unit axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NdType {
    element: ScalarType,
    rank: u8,
    /// Bit `i` for a unit axis `i`.
    units: u8,
}

impl NdType {
    /// The type of an element, a number of axes from 1 on, and the bits of the unit axes; `None` if there is no
    /// such type.
    pub fn new(element: ScalarType, rank: usize, units: u8) -> Option<NdType> {
        let axes = (1..=MAX_RANK).contains(&rank) && u32::from(units) < 1 << rank;
        (axes && is_element(element)).then_some(NdType { element, rank: rank as u8, units })
    }

    /// The type with an element and axes, each of which is or is not a unit axis.
    pub fn of_axes(element: ScalarType, units: impl IntoIterator<Item = bool>) -> Option<NdType> {
        let (mut rank, mut bits) = (0, 0u8);
        for unit in units {
            bits |= u8::from(unit).checked_shl(rank as u32).unwrap_or(0);
            rank += 1;
        }
        NdType::new(element, rank, bits)
    }

    /// The type with this name, such as `NDARRAY_INT32_NN`.
    pub fn from_name(name: &str) -> Option<NdType> {
        let (element, axes) = name.strip_prefix("NDARRAY_")?.rsplit_once('_')?;
        let units: Option<Vec<bool>> = axes
            .chars()
            .map(|axis| match axis {
                'N' => Some(false),
                '1' => Some(true),
                _ => None,
            })
            .collect();
        let narrow = || ScalarType::NARROW.into_iter().find(|t| t.name() == element);
        NdType::of_axes(ScalarType::from_name(element).or_else(narrow)?, units?)
    }

    /// Type of the elements.
    pub fn element(self) -> ScalarType {
        self.element
    }

    /// Number of axes.
    pub fn rank(self) -> usize {
        usize::from(self.rank)
    }

    /// True for a unit axis.
    pub fn is_unit(self, axis: usize) -> bool {
        self.units >> axis & 1 == 1
    }

    /// For each axis whether it is a unit axis.
    pub fn units(self) -> impl ExactSizeIterator<Item = bool> + DoubleEndedIterator {
        (0..self.rank()).map(move |axis| self.is_unit(axis))
    }

    /// The same axes with another element, if there are such arrays.
    pub fn with_element(self, element: ScalarType) -> Option<NdType> {
        NdType::new(element, self.rank(), self.units)
    }

    /// True if both have the same axes.
    pub fn has_axes_of(self, other: NdType) -> bool {
        (self.rank, self.units) == (other.rank, other.units)
    }
}

impl fmt::Display for NdType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NDARRAY_{}_", self.element)?;
        self.units().try_for_each(|unit| f.write_str(if unit { "1" } else { "N" }))
    }
}

/// Up to [`MAX_RANK`] distinct axes in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Axes {
    count: u8,
    axes: [u8; MAX_RANK],
}

impl Axes {
    /// These axes; `None` if one is too large or given twice.
    pub fn new(axes: impl IntoIterator<Item = usize>) -> Option<Axes> {
        let mut list = Axes::default();
        for axis in axes {
            if axis >= MAX_RANK || list.contains(axis) {
                return None;
            }
            list.axes[usize::from(list.count)] = axis as u8;
            list.count += 1;
        }
        Some(list)
    }

    /// The list with this name, such as `AXES_02` or, of no axes, `AXES_NONE`.
    pub fn from_name(name: &str) -> Option<Axes> {
        match name.strip_prefix("AXES_")? {
            "NONE" => Some(Axes::default()),
            "" => None,
            digits => {
                let axes: Option<Vec<usize>> =
                    digits.chars().map(|digit| digit.to_digit(10).map(|axis| axis as usize)).collect();
                Axes::new(axes?)
            }
        }
    }

    /// Number of axes.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// True without axes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The axes in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + '_ {
        self.axes[..self.len()].iter().map(|axis| usize::from(*axis))
    }

    /// True if the axis is among them.
    pub fn contains(&self, axis: usize) -> bool {
        self.iter().any(|other| other == axis)
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "AXES_NONE" } else { "AXES_" })?;
        self.iter().try_for_each(|axis| write!(f, "{axis}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["NDARRAY_FLOAT64_N1N", "NDARRAY_BOOLEAN_1", "NDARRAY_INT32_NNNNNN", "NDARRAY_UINT8_N"] {
            assert_eq!(NdType::from_name(name).map(|t| t.to_string()).as_deref(), Some(name));
        }
        for name in [
            "NDARRAY_TEXT_N",
            "NDARRAY_INT32_",
            "NDARRAY_INT32",
            "NDARRAY_INT32_NNNNNNN",
            "NDARRAY_INT32_2",
            "NDARRAY_INT32_NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN",
        ] {
            assert_eq!(NdType::from_name(name), None, "{name}");
        }
        for name in ["AXES_NONE", "AXES_0", "AXES_520"] {
            assert_eq!(Axes::from_name(name).map(|a| a.to_string()).as_deref(), Some(name));
        }
        for name in ["AXES_", "AXES_6", "AXES_11", "AXES_x"] {
            assert_eq!(Axes::from_name(name), None, "{name}");
        }
    }
}
