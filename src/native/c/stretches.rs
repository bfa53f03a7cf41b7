//! Stretches: the turns of a loop that are computed before it is known whether one raises, as text; see
//! [`speculation`](crate::native::c::speculation).

use crate::native::c::loops::Unchecked;
use crate::native::c::speculation::Speculation;
use crate::native::c::writer::Writer;
use crate::native::error::NotTranslated;
use cembra_vm::program::ValueId;
use hashbrown::HashSet;
use std::fmt::Write;
use std::ops::Range;

impl Writer<'_> {
    /// Writes the turns of a loop in stretches; the writer is in that loop.
    pub(super) fn stretches(
        &mut self,
        range: Range<usize>,
        targets: &HashSet<usize>,
    ) -> Result<(), NotTranslated> {
        let Some(Unchecked { condition, test, speculation: Some(speculation), .. }) = &self.without_checks
        else {
            return Ok(());
        };
        let mut text = format!("{}:;\n", Speculation::label(*condition));
        for (array, other) in &speculation.memory.apart {
            let extent = |array: ValueId, to: &str| {
                let (of, descriptor) = (self.locals.array(array)?, self.descriptor(array));
                let (rank, size) = (of.rank(), of.size());
                Some(format!("cembra_array {to}a = {descriptor}; extent_of(&{to}a, {rank}, {size}, {to}); "))
            };
            let both = extent(*array, "x").zip(extent(*other, "y")).map(|(x, y)| x + &y).unwrap_or_default();
            let _ = writeln!(
                text,
                "    {{ uint64_t x[2], y[2]; {both}if (overlaps(x, y)) goto L{condition}u; }}"
            );
        }
        text += &speculation.opening(&test.last);
        let closing = speculation.closing(*condition);
        self.text += &text;
        self.speculates = true;
        let choices = self.choices(range.clone(), targets);
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
