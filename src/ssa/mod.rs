//! Static single assignment: blocks of operations, their dominators, and the ways in and out of SSA.
//!
//! ```text
//! front end ──> Flow with reads and writes of variables
//!                 │ construct    phis where several definitions meet, and are read
//!                 v
//!               Flow in SSA ── verify ── passes (control flow, dead code)
//!                 │ destruct     phi webs share a register; what is left becomes copies on edges
//!                 v
//!               registers with several definitions
//! ```
//!
//! A [`Flow`] is generic over what its operations do, so that the same blocks serve every stage. An instruction is a
//! value; operands are values. Nothing here recurses on the size of a function.

pub mod construct;
pub mod dead_code;
pub mod destruct;
pub mod dominators;
pub mod flow;
pub mod live;
pub mod loops;
pub mod order;
pub mod reaching;
pub mod simplify;
pub mod unread;
pub mod verify;

pub use construct::{construct, remove_phis_of_one, remove_trivial_phis};
pub use dead_code::remove_dead_code;
pub use destruct::{Destructed, destruct};
pub use dominators::Dominators;
pub use flow::{BlockId, Flow, FlowBlock, Inst, InstId, SsaOp, SsaOperation, Tail, VarId};
pub use loops::{NaturalLoop, natural_loops};
pub use order::order_blocks;
pub use simplify::{remove_known_ways, simplify_flow};
pub use verify::{SsaError, flow_errors, verify_flow};
