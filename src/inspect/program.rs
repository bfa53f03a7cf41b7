//! A bound program as a whole: instructions, the frame byte by byte, tile regions if there are any.

use crate::inspect::layout_map::LayoutMap;
use crate::inspect::regions::Regions;
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::dump;

/// The dump, the frame and the regions under headings.
pub fn program_text(bound: &BoundExpr) -> String {
    let (program, regions) = (bound.program(), Regions::new(bound));
    let heading = if regions.is_empty() { "" } else { "\nRegions:\n" };
    format!("{}\nFrame:\n{}{heading}{regions}", dump::dump(program), LayoutMap::new(program))
}
