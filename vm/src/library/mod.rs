//! Native libraries: opened, checked, called. The only dlopen of the machine; by the feature `library`.
//!
//! ```text
//! file ── size, SHA-256 ──> dlopen ── ABI version, types ──> Library ── bind(arguments) ──> BoundCall ── run, run, …
//!         of the build                 symbols of the file               every check             no check
//! ```
//!
//! 1. A file is loaded only if it has the size and the digest that its build has noted: neither a half-written library nor
//!    a stale one gets as far as dlopen.
//! 2. A library is called only if it says that it was made for this version of the boundary and for these types.
//! 3. Arguments are checked when they are bound: number, type, element, axes, layout. What is bound stays borrowed.
//! 4. Memory of calls is used again: `CallMemory::bind` makes every check and allocates nothing. A result is made in memory
//!    of the host, if he lends some.
//! 5. `CallMemory::sweep` has a library without errors go over elements where the host says, with the same checks.
//! 6. `CallMemory::keep_sweep` binds a sweep to places in memory of the host: a time loop compares types and sizes of memory, no more.
//! 7. What the code of a library does is up to whoever has built it. A build of this crate writes inside of arrays that
//!    it was lent to change, and to its results.

mod argument;
mod boundary_array;
mod call;
mod call_layout;
mod edge;
mod error;
mod kept;
mod open;
mod signature;
mod sweep;

pub use crate::machine::{Positions, SweepOrder};
pub use argument::Argument;
pub use boundary_array::BoundaryArray;
pub use call::{BoundCall, CallMemory};
pub use error::{BoundaryError, LibraryError, Raised};
pub use kept::{KeptSweep, SweepSource};
pub use open::{Digest, Library};
pub use signature::{ABI_VERSION, Parameter, Signature};
pub use sweep::SweepOperand;
