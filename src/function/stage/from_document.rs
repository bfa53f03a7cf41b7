//! Functions of a stage from a document of its schema.
//!
//! Names become numbers: values in the order of their definitions, blocks in theirs. What a document can say and a
//! stage cannot hold is an error with its place; the rules of the stage are the verifier's.

use crate::function::build::RaisedFailure;
use crate::function::stage::error::{StageError, StageProblem};
use crate::function::stage::form::{FunctionOf, StageForm, StageFunction, StageParameter};
use crate::function::stage::schemas::value_name;
use crate::function::stage::term_reader::TermReader;
use crate::python::SourceLines;
use crate::schema::{Document, TermId, TermValue, validate};
use crate::ssa::{BlockId, Flow, InstId, SsaOp, Tail, VarId};
use cembra_vm::program::Catch;
use cembra_vm::value::Category;
use hashbrown::HashMap;
use std::sync::Arc;

/// Numbers under which guards keep errors.
const MAX_KEPT: usize = 1 << 16;
/// Loops around a block.
const MAX_LOOP_DEPTH: usize = 1 << 16;

/// Reads the functions of a document. Positions are of the source whose lines are given; without them, places are
/// those of the text that the document was read from.
///
/// # Errors
/// All that are found.
pub(super) fn from_document<S: StageForm>(
    document: &Document,
    lines: Option<&SourceLines>,
) -> Result<Vec<FunctionOf<S>>, Vec<StageError>> {
    validate(S::STAGE.schema(), document, S::STAGE.root()).map_err(|violations| {
        let text = |violation| crate::schema::TextError::from(violation);
        violations.into_iter().map(text).map(StageError::from).collect::<Vec<_>>()
    })?;
    let mut terms = TermReader::new(S::STAGE, document, lines);
    let root = document.as_term(document.root()).map_or(TermValue::Absent, |root| document.values(root)[0]);
    let functions = terms.terms(root);
    terms.functions = functions.len();
    let read = functions.into_iter().map(|term| function::<S>(&mut terms, term)).collect();
    if terms.errors.is_empty() { Ok(read) } else { Err(terms.errors) }
}

fn function<S: StageForm>(terms: &mut TermReader<'_>, term: TermId) -> FunctionOf<S> {
    let (_, values) = terms.parts(term);
    let mut rest = values.iter().copied();
    let mut next = move || rest.next().unwrap_or(TermValue::Absent);
    let name = terms.text(next()).to_owned();
    let parameters = terms.terms(next()).into_iter().map(|at| parameter::<S>(terms, at)).collect();
    let result = if S::HAS_TYPES { type_of::<S>(terms, next(), term) } else { None };
    let failures: Vec<RaisedFailure> = terms.terms(next()).into_iter().map(|at| failure(terms, at)).collect();
    let blocks = terms.terms(next());
    let mut function = StageFunction {
        name,
        parameters,
        result,
        failures,
        variables: Vec::new(),
        flow: Flow::new(),
        types: Vec::new(),
    };
    function.flow.blocks.clear();
    Reader::<S> { terms, function: &mut function, variables: HashMap::new() }.blocks(&blocks);
    function
}

fn parameter<S: StageForm>(terms: &mut TermReader<'_>, term: TermId) -> StageParameter<S::Type> {
    let (_, values) = terms.parts(term);
    let name = terms.text(values[0]).to_owned();
    let of = if S::HAS_TYPES { type_of::<S>(terms, values[1], term) } else { None };
    let default = match values.last() {
        Some(value) if S::HAS_DEFAULTS => terms.constant(*value, term),
        _ => None,
    };
    StageParameter { name, of, default }
}

fn failure(terms: &TermReader<'_>, term: TermId) -> RaisedFailure {
    let (_, values) = terms.parts(term);
    let category = Category::from_name(terms.text(values[0])).unwrap_or(Category::Raised);
    RaisedFailure { category, message: terms.text(values[1]).to_owned() }
}

fn type_of<S: StageForm>(terms: &mut TermReader<'_>, value: TermValue, around: TermId) -> Option<S::Type> {
    match value {
        TermValue::Absent => None,
        value => S::read_type(terms, value, around),
    }
}

struct Reader<'r, 'd, S: StageForm> {
    terms: &'r mut TermReader<'d>,
    function: &'r mut FunctionOf<S>,
    variables: HashMap<&'d str, VarId>,
}

impl<S: StageForm> Reader<'_, '_, S> {
    fn blocks(mut self, blocks: &[TermId]) {
        self.terms.clear();
        let mut definitions = Vec::new();
        for block in blocks {
            let (_, values) = self.terms.parts(*block);
            let depth = self.terms.number(values[2], "depth", MAX_LOOP_DEPTH, *block);
            let id = self.function.flow.add_block(depth);
            self.terms.define_block(values[0], id, *block);
            for definition in self.terms.terms(values[3]) {
                let inst = self.define(definition);
                self.function.flow.blocks[id.index()].insts.push(inst);
                definitions.push((id, inst, definition));
            }
        }
        for (at, block) in blocks.iter().enumerate() {
            let (_, values) = self.terms.parts(*block);
            let predecessors = self.terms.block_list(values[1], *block);
            self.function.flow.blocks[at].predecessors = predecessors;
            if let Some(tail) = self.terms.document.as_term(values[4]) {
                self.tail(at, tail);
            }
        }
        for (block, inst, definition) in definitions {
            self.definition(block, inst, definition);
        }
    }

    /// A value without its operation, which may read values that are defined further down.
    fn define(&mut self, definition: TermId) -> InstId {
        let (_, values) = self.terms.parts(definition);
        let span = self.terms.span(values[values.len() - 1], definition);
        let inst = self.function.flow.add_inst(SsaOp::Undef, Vec::new(), span);
        self.terms.define(values[0], inst, definition);
        let of = if S::HAS_TYPES { type_of::<S>(self.terms, values[1], definition) } else { None };
        self.function.types.push(of);
        if let Some((Some(variable), _)) = value_name(self.terms.text(values[0])) {
            let (variables, flow) = (&mut self.function.variables, &mut self.function.flow);
            let id = *self.variables.entry(variable).or_insert_with(|| {
                variables.push(variable.to_owned());
                flow.add_variable()
            });
            flow.insts[inst.index()].name = Some(id);
        }
        inst
    }

    fn definition(&mut self, block: BlockId, inst: InstId, definition: TermId) {
        let (_, values) = self.terms.parts(definition);
        let Some(term) = self.terms.document.as_term(values[if S::HAS_TYPES { 2 } else { 1 }]) else {
            return;
        };
        let read = match self.terms.parts(term) {
            ("Undef", _) => Some((SsaOp::Undef, Vec::new())),
            ("Phi", values) => self.phi(block, values[0], term).map(|args| (SsaOp::Phi, args)),
            _ => S::read_op(self.terms, term).map(|(op, args)| (SsaOp::Do(op), args)),
        };
        if let Some((op, args)) = read {
            let row = &mut self.function.flow.insts[inst.index()];
            (row.op, row.args) = (op, args);
        }
    }

    /// Operands of a phi in the order of the block's predecessors.
    fn phi(&mut self, block: BlockId, incoming: TermValue, term: TermId) -> Option<Vec<InstId>> {
        let mut given: Vec<(BlockId, InstId)> = Vec::new();
        for from in self.terms.terms(incoming) {
            let (_, values) = self.terms.parts(from);
            given.push((self.terms.block(values[0], from), self.terms.operand(values[1], from)));
        }
        let predecessors = &self.function.flow.blocks[block.index()].predecessors;
        let is_sorted = given.iter().map(|(from, _)| from).eq(predecessors);
        let mut args = Vec::with_capacity(given.len());
        if is_sorted {
            args.extend(given.iter().map(|(_, value)| *value));
            return Some(args);
        }
        for from in predecessors {
            match given.iter().position(|(block, _)| block == from) {
                Some(at) => args.push(given.swap_remove(at).1),
                None => {
                    let what = format!("the phi has no operand from {from}, which leads here");
                    self.terms.refuse(term, StageProblem::Rule { rule: 6, what });
                    return None;
                }
            }
        }
        if let Some((from, _)) = given.first() {
            let what = format!("the phi has an operand from {from} that no way leads here for");
            self.terms.refuse(term, StageProblem::Rule { rule: 6, what });
            return None;
        }
        Some(args)
    }

    /// What a guard takes.
    fn catch(&mut self, values: &[TermValue], term: TermId) -> Arc<Catch> {
        let texts = |reader: &Self, list: TermValue| -> Vec<&str> {
            let values = reader.terms.document.as_list(list).unwrap_or_default();
            values.iter().map(|value| reader.terms.text(*value)).collect()
        };
        let categories = texts(self, values[0]).into_iter().filter_map(Category::from_name).collect();
        let classes = texts(self, values[1]).into_iter().map(Arc::from).collect();
        let keep = match values[2] {
            TermValue::Absent => None,
            number => Some(self.terms.number(number, "kept error", MAX_KEPT, term)),
        };
        Arc::new(Catch { categories, classes, keep })
    }

    fn tail(&mut self, block: usize, term: TermId) {
        let (name, values) = self.terms.parts(term);
        let tail = match name {
            "Jump" => Tail::Jump(self.terms.block(values[0], term)),
            "Branch" => Tail::Branch {
                condition: self.terms.operand(values[0], term),
                then: self.terms.block(values[1], term),
                orelse: self.terms.block(values[2], term),
            },
            "Return" => Tail::Return(self.terms.operand(values[0], term)),
            "Guard" => Tail::Guard {
                catch: self.catch(values, term),
                then: self.terms.block(values[3], term),
                orelse: self.terms.block(values[4], term),
            },
            "Again" => Tail::Again(self.terms.number(values[0], "kept error", MAX_KEPT, term)),
            _ => Tail::Fail(self.terms.number(values[0], "failure", self.function.failures.len(), term)),
        };
        let tail_span = self.terms.span(values[values.len() - 1], term);
        let block = &mut self.function.flow.blocks[block];
        (block.tail, block.tail_span) = (tail, tail_span);
    }
}
