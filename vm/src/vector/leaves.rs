//! The leaves of a tree of sums: its sizes from left to right, from any place on.

use crate::vector::spread::left_half;

/// The sizes of the leaves of so many elements, in order, again and again.
#[derive(Clone, Debug)]
pub struct Leaves {
    count: usize,
    /// Sizes of the halves to come, the next one last. Each is at least a quarter of the one before.
    halves: [usize; 48],
    len: usize,
}

impl Leaves {
    /// The leaves of `count` elements, which are not none, from the one on that an element is in. The second number
    /// is the place of that element in its leaf.
    pub fn from(count: usize, element: usize) -> (Leaves, usize) {
        let mut leaves = Leaves { count, halves: [0; 48], len: 0 };
        leaves.push(count);
        let mut before = element % count;
        loop {
            let size = leaves.halves[leaves.len - 1];
            match left_half(size) {
                // All of it comes before.
                _ if size <= before => {
                    before -= size;
                    leaves.len -= 1;
                }
                Some(left) => leaves.part(left),
                None => return (leaves, before),
            }
        }
    }

    /// How many elements there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The size of the next leaf.
    pub fn next_size(&mut self) -> usize {
        if self.len == 0 {
            self.push(self.count);
        }
        while let Some(left) = left_half(self.halves[self.len - 1]) {
            self.part(left);
        }
        self.len -= 1;
        self.halves[self.len]
    }

    /// Parts the next half in two.
    fn part(&mut self, left: usize) {
        self.halves[self.len - 1] -= left;
        self.push(left);
    }

    fn push(&mut self, size: usize) {
        self.halves[self.len] = size;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for count in [1, 7, 128, 129, 300, 1000, 4097, 176_000] {
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
