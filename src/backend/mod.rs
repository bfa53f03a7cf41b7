//! Backends: what runs the graphs of [`crate::dag`], and [`model`]s on the machine.
//!
//! ```text
//!        set values, functions, flags
//!                  │
//! Dag ──evaluate_dag(state, dag)──> State: the value of every node evaluated
//!                  │
//!                  └──> console: trace, dump, breakpoints;  profile: time and bytes
//! ```
//!
//! [`step`] evaluates one node after the other, [`plan`] compiles graphs for the machine; values and errors are the same. Both are a
//! [`Backend`], and a host may have its own.
//!
//! ```
//! use cembra::backend::{State, evaluate_dag};
//! use cembra::dag::{Array, Graph, forest, ir};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = Graph::new();
//! let (a, b) = (graph.placeholder("a"), graph.placeholder("b"));
//! let c = a.exp() + 55 / &a;
//! let d = &c * &b + 1024;
//! let dag = ir::compile_trees(forest::partition(&[d.clone(), c])?);
//!
//! let mut state = State::new(&graph);
//! state.set_node_value(&a, Array::from(4_i64))?;
//! state.set_node_value(&b, Array::from(2_i64))?;
//! evaluate_dag(&mut state, &dag)?;
//! assert_eq!(state.get_node_value(&d)?, &Array::from(1160.6963000662886));
//! # Ok(())
//! # }
//! ```

mod axes;
mod broadcast;
pub mod compiled;
mod compute;
pub mod console;
pub mod elementwise;
pub mod error;
pub mod evaluate;
pub mod field;
pub mod flags;
pub mod function;
pub mod model;
mod one_node;
mod operators;
mod parallel;
pub mod plan;
pub mod profile;
pub mod recorded;
mod reduce;
pub mod state;
pub mod step;
mod trace;

pub use compiled::ProgramError;
pub use console::{Console, Standard, Transcript};
pub use error::{EvalError, OpError, UserFunctionError};
pub use evaluate::{
    Backend, MachineBackend, StepBackend, evaluate_dag, evaluate_in_parallel, evaluate_nodes,
};
pub use field::{FieldPlan, FieldTier, InterpretedStage, TierObserver, run_field_program};
pub use flags::Flags;
pub use function::{Arguments, Function};
pub use plan::{Plan, Results};
pub use profile::Profile;
pub use state::State;
