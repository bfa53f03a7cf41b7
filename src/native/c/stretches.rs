//! Stretches: the turns of a loop that are computed before it is known whether one raises, as text; see
//! [`speculation`](crate::native::c::speculation).

use crate::native::c::loops::Unchecked;
use crate::native::c::writer::Writer;
use crate::native::error::NotTranslated;
use cembra_vm::program::ValueId;
use hashbrown::HashSet;
use std::fmt::Write;
use std::ops::Range;

impl Writer<'_> {
    /// Writes the turns of a loop in stretches; the writer is in that loop.
    pub(super) fn stretches(&mut self, range: Range<usize>) -> Result<(), NotTranslated> {
        let Some(Unchecked { condition, speculation: Some(speculation), .. }) = &self.without_checks else {
            return Ok(());
        };
        let apart = &speculation.memory.apart;
        let mut arrays: Vec<ValueId> = apart.iter().flat_map(|(array, other)| [*array, *other]).collect();
        arrays.sort_unstable();
        arrays.dedup();
        let extent = |array: &ValueId| {
            let (rank, size) = self.locals.array(*array).map_or((0, 0), |of| (of.rank(), of.size()));
            let descriptor = self.descriptor(*array);
            format!(
                "uint64_t x{array}[2]; {{ cembra_array a = {descriptor}; extent_of(&a, {rank}, {size}, x{array}); }} "
            )
        };
        let declared: String = arrays.iter().map(extent).collect();
        let overlaps = apart.iter().map(|(array, other)| format!("overlaps(x{array}, x{other})"));
        let overlap = overlaps.collect::<Vec<_>>().join(" || ");
        let text = speculation.before(*condition, (&declared, &overlap)) + &speculation.opening();
        let closing = speculation.closing(*condition);
        self.text += &text;
        self.speculates = true;
        let body = &self.routine.body;
        let targets: HashSet<usize> = range.clone().filter_map(|ip| body.target(ip)).collect();
        let choices = self.choices(range.clone(), &targets);
        for ip in range {
            if targets.contains(&ip) {
                let _ = writeln!(self.text, "{}:;", self.label(ip));
            }
            self.write_instruction(ip, &choices)?;
        }
        self.speculates = false;
        self.text += &closing;
        Ok(())
    }
}
