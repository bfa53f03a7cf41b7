//! The leaves of a tree of sums: its sizes from left to right, from any place on.

use crate::vector::spread::LEAF;

/// Elements that halves are parted by: the left one has a multiple of them.
const UNIT: usize = 8;

/// The sizes of the leaves of so many elements, in order, again and again.
///
/// ```text
/// units      37                      way 0, depth 0      (37 + 0) >> 0
/// halves     18          19          ways 0, 1           (37 + 0) >> 1, (37 + 1) >> 1
/// quarters   9     9     9     10    ways 0, 2, 1, 3     (37 + way) >> 2
/// ```
///
/// The left half of units is rounded down and the right one up: a part is found from the way to it, without the parts
/// above.
#[derive(Clone, Copy, Debug)]
pub struct Leaves {
    count: usize,
    /// The way to the next leaf: a bit for each half, that of the whole the lowest one, 1 for the right.
    way: u64,
    /// How many bits.
    depth: u32,
}

impl Leaves {
    /// The leaves of `count` elements from the first one on.
    #[inline]
    pub fn of(count: usize) -> Leaves {
        let mut leaves = Leaves { count, way: 0, depth: 0 };
        while leaves.size() > LEAF {
            leaves.depth += 1;
        }
        leaves
    }

    /// The leaves of `count` elements, which are not none, from the one on that an element is in. The second number
    /// is the place of that element in its leaf.
    #[inline]
    pub fn from(count: usize, element: usize) -> (Leaves, usize) {
        let mut leaves = Leaves { count, way: 0, depth: 0 };
        let mut before = if element < count { element } else { element % count };
        while leaves.size() > LEAF {
            leaves.depth += 1;
            let left = leaves.size();
            if before >= left {
                before -= left;
                leaves.way |= 1 << (leaves.depth - 1);
            }
        }
        (leaves, before)
    }

    /// How many elements there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The size of the next leaf.
    #[inline]
    pub fn next_size(&mut self) -> usize {
        let size = self.size();
        // Up to where it goes on to the right; after the last leaf to the whole, and on with the first.
        while self.depth > 0 {
            let half = 1 << (self.depth - 1);
            self.way ^= half;
            if self.way & half != 0 {
                break;
            }
            self.depth -= 1;
        }
        while self.size() > LEAF {
            self.depth += 1;
        }
        size
    }

    /// The size of the part that the way leads to.
    #[inline]
    fn size(&self) -> usize {
        let units = ((self.count / UNIT) as u64 + self.way) >> self.depth;
        let is_last = self.way + 1 == 1 << self.depth;
        units as usize * UNIT + if is_last { self.count % UNIT } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::spread::left_half;

    #[test]
    fn leaves_are_those_of_the_tree() {
        fn sizes(count: usize, into: &mut Vec<usize>) {
            match left_half(count) {
                None => into.push(count),
                Some(left) => {
                    sizes(left, into);
                    sizes(count - left, into);
                }
            }
        }
        for count in [1, 7, 8, 127, 128, 129, 135, 136, 257, 300, 1000, 4097, 65_543, 176_000] {
            let mut expected = Vec::new();
            sizes(count, &mut expected);
            let (mut leaves, place) = Leaves::from(count, 0);
            assert_eq!(place, 0);
            for _ in 0..2 {
                let found: Vec<usize> = expected.iter().map(|_| leaves.next_size()).collect();
                assert_eq!(found, expected, "{count} elements");
            }
            for element in [0, count / 3, count / 2, count - 1] {
                let (mut leaves, place) = Leaves::from(count, element + 3 * count);
                let mut first = 0;
                let leaf = expected.iter().position(|size| {
                    first += size;
                    first > element
                });
                let leaf = leaf.expect("the element is in a leaf");
                assert_eq!(place, element + expected[leaf] - first, "element {element} of {count}");
                assert_eq!(leaves.next_size(), expected[leaf]);
            }
        }
    }
}
