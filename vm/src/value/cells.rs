//! Cells: the memory of arrays, in whole lines of the cache.
//!
//! ```text
//! line        0 … 63 | 64 … 127 | …
//! wide loads  [ 64 bytes ]           one line each; off by 16 bytes, as allocators give it, each takes two
//! ```

use bytemuck::{Pod, Zeroable};

/// Bytes that begin with a line. There may be more than were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells(Vec<Line>);

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

impl Cells {
    /// Makes room for so many bytes at least; new ones are zero.
    pub(super) fn make_room(&mut self, bytes: usize) {
        let lines = bytes.div_ceil(size_of::<Line>());
        if self.0.len() < lines {
            self.0.resize(lines, Line::zeroed());
        }
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    /// The bytes, to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }

    /// Takes the bytes of others, keeping the memory.
    pub(super) fn copy_from(&mut self, other: &Cells) {
        self.0.clone_from(&other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_begin_with_a_line() {
        let mut cells = Cells::default();
        assert!(cells.bytes().is_empty());
        for bytes in [1, 64, 65, 5000] {
            cells.make_room(bytes);
            cells.bytes_mut()[bytes - 1] = 7;
            assert!(cells.bytes().len() >= bytes && cells.bytes().as_ptr().addr().is_multiple_of(64));
        }
        cells.make_room(1);
        assert_eq!([0, 63, 64, 4999].map(|at| cells.bytes()[at]), [7, 7, 7, 7]);
    }
}
