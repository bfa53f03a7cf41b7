//! What a stage has of its own: its operations and its types, as terms of its schema.

use crate::function::build::RaisedFailure;
use crate::function::constant::Constant;
use crate::function::stage::schemas::StageName;
use crate::function::stage::term_reader::TermReader;
use crate::function::stage::term_writer::TermWriter;
use crate::schema::{TermId, TermValue};
use crate::ssa::{Flow, InstId, SsaOperation};
use std::fmt::Debug;

/// A function of any stage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StageFunction<O, T> {
    pub(super) name: String,
    pub(super) parameters: Vec<StageParameter<T>>,
    pub(super) result: Option<T>,
    pub(super) failures: Vec<RaisedFailure>,
    pub(super) variables: Vec<String>,
    pub(super) flow: Flow<O>,
    /// Type of each value, by instruction.
    pub(super) types: Vec<Option<T>>,
}

/// A parameter of a function of any stage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StageParameter<T> {
    pub(super) name: String,
    pub(super) of: Option<T>,
    pub(super) default: Option<Constant>,
}

/// A function of the stage `S`.
pub(super) type FunctionOf<S> = StageFunction<<S as StageForm>::Op, <S as StageForm>::Type>;

/// How a stage is written as terms of its schema.
pub(super) trait StageForm {
    /// The stage.
    const STAGE: StageName;
    /// True if values, parameters and results have types.
    const HAS_TYPES: bool;
    /// True if parameters have default values.
    const HAS_DEFAULTS: bool;
    /// What instructions do.
    type Op: SsaOperation + Debug + PartialEq;
    /// Types of values.
    type Type: Clone + Debug + PartialEq;

    /// The term of an operation.
    fn op_term(terms: &mut TermWriter<'_>, op: &Self::Op, args: &[TermValue]) -> TermValue;
    /// The operation of a term, with its operands; nothing after an error was noted.
    fn read_op(terms: &mut TermReader<'_>, term: TermId) -> Option<(Self::Op, Vec<InstId>)>;
    /// The term of a type.
    fn type_term(terms: &mut TermWriter<'_>, of: &Self::Type) -> TermValue;
    /// The type of a term; nothing after an error was noted.
    fn read_type(terms: &mut TermReader<'_>, value: TermValue, around: TermId) -> Option<Self::Type>;
}
