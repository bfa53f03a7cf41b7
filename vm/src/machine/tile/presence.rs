//! Which rows of a region may be missing, and where words say so: known from its inputs before rows are computed.
//!
//! ```text
//! x: words    y: all there      x + y    presence of x, followed           x < y    words of its own
//!                               y * 2    all there                         where(x < y, y, 0)    all there
//! ```
//!
//! A lifted member is present where its operands are. Others say so row by row, unless operands that miss no row leave no
//! doubt: a choice between two of them misses none.

use crate::array::block::Column;
use crate::machine::tile::region::{Place, Region};
use crate::machine::tile::schedule::Presence;
use bumpalo::Bump;

impl Region {
    /// Where the presence of every column's rows will stand, from what inputs have; nothing if all are there.
    pub(super) fn plan_presence<'a>(&'a self, columns: &mut [Column], arena: &'a Bump) -> &'a [Presence] {
        let inputs = self.inputs.len();
        if columns[..inputs].iter().all(Column::is_all_present) {
            return &self.complete;
        }
        let presence = arena.alloc_slice_fill_copy(columns.len(), Presence::Alike);
        for index in 0..inputs {
            if !columns[index].presence.is_null() {
                presence[index] = Presence::Input(index as u16);
            }
        }
        self.follow_presence(columns, presence);
        presence
    }

    /// The same where no input misses a row.
    pub(super) fn plan_complete(&self) -> Box<[Presence]> {
        if self.members.iter().all(|member| member.is_lifted) {
            return Box::default();
        }
        let mut presence = vec![Presence::Alike; self.columns.len()];
        let mut columns = self.columns.clone();
        columns[..self.inputs.len()].iter_mut().for_each(|column| column.all = u64::MAX);
        self.follow_presence(&mut columns, &mut presence);
        presence.into()
    }

    /// From inputs to the results of members.
    fn follow_presence(&self, columns: &mut [Column], presence: &mut [Presence]) {
        let inputs = self.inputs.len();
        for (index, member) in (inputs..).zip(&self.members) {
            if member.place == Place::Value {
                // A fold has no rows.
            } else if !member.is_lifted {
                let is_complete = |arg: &u16| {
                    presence[*arg as usize] == Presence::Alike && columns[*arg as usize].all == u64::MAX
                };
                let pattern = (0..).zip(member.args()).filter(|(_, arg)| is_complete(arg));
                let pattern = pattern.fold(0u16, |bits, (operand, _)| bits | 1 << operand);
                if member.complete_if >> pattern & 1 == 0 {
                    presence[index] = Presence::Own;
                }
            } else {
                let mut merged = Presence::Alike;
                for arg in member.args().iter().map(|arg| *arg as usize) {
                    columns[index].all &= columns[arg].all;
                    merged = match (merged, presence[arg]) {
                        (known, Presence::Alike) => known,
                        (Presence::Alike, Presence::Input(input)) => Presence::Input(input),
                        (known, other) if known == other && other != Presence::Own => known,
                        _ => Presence::Own,
                    };
                }
                let may_miss = merged != Presence::Alike || columns[index].all == 0;
                // An output has words of its own, and so have rows that one missing value takes away.
                let is_output = matches!(member.place, Place::Output(_));
                let is_taken = columns[index].all == 0 && merged != Presence::Alike;
                presence[index] = if is_taken || is_output && may_miss { Presence::Own } else { merged };
            }
        }
    }
}
