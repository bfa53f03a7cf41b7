//! Inspection: the frame byte by byte, tile regions and the code of their strips, machine code, programs and expressions
//! as graphs, the operators as a table.

pub mod code;
pub mod graph;
pub mod layout_map;
pub mod machine_code;
pub mod operators;
pub mod program;
pub mod regions;

pub use code::CodeListing;
pub use layout_map::LayoutMap;
#[cfg(feature = "jit")]
pub use machine_code::MachineCode;
pub use machine_code::machine_code_text;
pub use program::program_text;
pub use regions::Regions;
