//! Inspection: the frame byte by byte, tile regions and the code of their strips, programs and expressions as graphs, the operators as a
//! table.

pub mod code;
pub mod graph;
pub mod layout_map;
pub mod operators;
pub mod program;
pub mod regions;

pub use code::CodeListing;
pub use layout_map::LayoutMap;
pub use program::program_text;
pub use regions::Regions;
