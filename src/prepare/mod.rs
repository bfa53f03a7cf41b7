//! Preparation: from an expression to one the compiler can place slot by slot.
//!
//! Most of the compiler is expression to expression. Each file here is one step with one idea and a
//! post-condition that [`post_conditions`] checks behind it. [`pipeline`] is the sequence.
//!
//! | step | file | what it does |
//! | --- | --- | --- |
//! | join | [`join`] | main expression and side outputs under one root |
//! | populate types | [`populate`] | types of inputs to every node |
//! | fold literals | [`fold`], [`evaluate`] | operators of literals become values |
//! | lower operators | [`lower`] | operators of the machine instead of those of the language |
//! | strip annotations | [`lower`] | annotations have served |
//! | insert casts | [`cast`] | exact overloads |
//! | optimize | [`optimize`] | named rewriting rules |
//! | guard rows | [`rows`] | what a choice between rows rules out does not raise |
//! | extend | [`extend`], [`emitter`] | compiler extensions pack what shall not become slots |
//! | place branches | [`branches`], [`lazy`] | what belongs to which branch of a `where` |
//!
//! All of them work on a [`draft`]: a graph that grows, with the types of its nodes ([`types`],
//! [`signature`]) and what can be done to one node ([`lowering`]).

pub mod branches;
pub mod cast;
pub mod draft;
pub mod emitter;
pub mod error;
pub mod evaluate;
pub mod extend;
pub mod fold;
pub mod fold_limits;
pub mod join;
pub mod lazy;
pub mod lower;
pub mod lowering;
pub mod optimize;
pub mod pipeline;
pub mod populate;
pub mod post_conditions;
pub mod prepared;
pub mod rows;
pub mod signature;
pub mod types;

pub use error::PrepareError;
pub use fold_limits::FoldLimits;
pub use join::Source;
pub use optimize::{RuleClass, RuleSet};
pub use pipeline::Prepare;
pub use prepared::Prepared;
