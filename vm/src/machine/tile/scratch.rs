//! Scratch memory of a region: places for the blocks that only its steps read, used again when nobody reads them any more.

use crate::array::fold_kernel::CHUNK;
use crate::machine::tile::columns::Columns;
use crate::machine::tile::schedule::{Code, Schedule, Step};
use crate::value::array::ROWS_OF_A_WORD;
use hashbrown::HashMap;

/// Bytes of one block of 8-byte cells and its words of presence.
pub(super) fn block_bytes(block: usize) -> usize {
    block * 8 + block / ROWS_OF_A_WORD * 8
}

/// Bytes from one place to the next. Blocks at about the same distance from a page start are in each other's way: a load
/// waits for a store to another page, a little before, as if it were to its own.
pub(super) fn place_bytes(block: usize) -> usize {
    let bytes = block_bytes(block);
    bytes + (PLACE_STEP + PAGE - bytes % PAGE) % PAGE
}

/// Bytes of a page.
const PAGE: usize = 4096;
/// How much farther from a page start a place begins than the one before: an odd number of cache lines, not near a
/// small fraction of a page.
const PLACE_STEP: usize = 43 * 64;

/// Places of the blocks that only steps read.
pub(super) struct Scratch {
    /// By member.
    pub(super) place: HashMap<usize, usize>,
    /// How many there are.
    pub(super) places: usize,
}

impl Scratch {
    /// Gives each result of a step with a last reader a place. A result never takes the place of an operand:
    /// kernels do not expect it. `steps` has the members whose results each step computes.
    pub(super) fn assign(steps: &[Vec<usize>], last_reader: impl Fn(usize) -> Option<usize>) -> Scratch {
        let mut scratch = Scratch { place: HashMap::new(), places: 0 };
        // Places of values whose last reader is this step.
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        let mut free: Vec<usize> = Vec::new();
        for (number, members) in steps.iter().enumerate() {
            for member in members {
                let Some(last) = last_reader(*member) else { continue };
                let place = free.pop().unwrap_or_else(|| {
                    scratch.places += 1;
                    scratch.places - 1
                });
                scratch.place.insert(*member, place);
                ends[last.max(number)].push(place);
            }
            free.append(&mut ends[number]);
        }
        scratch
    }

    /// Steps with these places, for blocks of so many rows.
    pub(super) fn schedule(&self, steps: Box<[Step]>, columns: &Columns<'_>, block: usize) -> Schedule {
        let place = |(number, place): (&usize, &usize)| {
            (columns.of_member(*number) as u16, (place * place_bytes(block)) as u32)
        };
        let mut in_scratch: Box<[(u16, u32)]> = self.place.iter().map(place).collect();
        in_scratch.sort_unstable();
        // Scratch memory is for a block: a result that nobody reads stands there too.
        let is_one_strip = self.places == 0 && matches!(&*steps, [Step { code: Code::Strip(_), .. }]);
        let at_once = if is_one_strip { CHUNK } else { block };
        let scratch = self.places * place_bytes(block);
        Schedule { block, steps, in_scratch, scratch, is_one_strip, at_once }
    }
}
