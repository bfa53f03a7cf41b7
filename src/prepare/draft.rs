//! Draft: the expression while it is being prepared.
//!
//! One graph grows through all steps; a step maps old nodes to new ones and moves the root. Operands
//! have smaller numbers than their users, so a step is a loop over numbers:
//!
//! ```text
//! reachable:  mark the root; from high to low, mark the operands of marked nodes
//! rewrite:    from low to high, map each marked node, its operands mapped before it
//! ```
//!
//! Every typed node carries the number of a [`signature`](crate::prepare::signature). How a node is
//! lowered and cast is in [`lowering`](crate::prepare::lowering), how one of literals is evaluated in
//! [`evaluate`](crate::prepare::evaluate).

use crate::expr::{Graph, GraphError, Literal, Node, NodeId, Symbol};
use crate::prepare::error::PrepareError;
use crate::prepare::fold_limits::FoldLimits;
use crate::prepare::signature::{Signature, SignatureId, SignatureTable};
use crate::prepare::types::{TypeId, TypeTable};
use crate::registry::define::LowerError;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use crate::registry::{Dialect, OperatorDef, Registry};
use cembra_vm::machine::invoke::Invoker;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Fault, QType, ScalarType, Value};
use hashbrown::HashMap;
use std::cell::Cell;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
struct Info {
    qtype: TypeId,
    signature: SignatureId,
}

/// The expression while it is being prepared.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The nodes, dead ones included.
    pub graph: Graph,
    /// The node that gives the value; with side outputs, the internal root operator.
    pub root: NodeId,
    /// Names of the side outputs, sorted; they are the operands of the root behind the first.
    pub side_outputs: Vec<Arc<str>>,
    /// Inputs in slot order.
    pub inputs: Vec<(Arc<str>, QType)>,
    /// The operators.
    pub registry: Registry,
    /// The casting lattice.
    pub dialect: Dialect,
    /// True if operators of literals are evaluated as soon as they appear: from the step that folds literals on.
    pub folding: bool,
    /// What that may still use up.
    pub fold_limits: FoldLimits,
    /// Applies operators to literals.
    pub(super) invoker: Invoker,
    /// False if nobody asks for the overloads of operators, only for types.
    pub binds: bool,
    types: TypeTable,
    info: Vec<Info>,
    signatures: SignatureTable,
    definitions: Vec<Option<Arc<OperatorDef>>>,
    /// Nodes of literals that raise on every evaluation.
    faults: HashMap<NodeId, Fault>,
    /// By a `where` that jumps over a value which no row needs: that value. None of them stood in the expression.
    jumps: HashMap<NodeId, NodeId>,
}

/// Why a rewriting rule fails: an error still to be located, or a complete one.
#[derive(Debug)]
pub enum Failure {
    /// The operands do not fit, or the graph is full.
    Lower(LowerError),
    /// Anything else.
    Prepare(PrepareError),
}

impl<E: Into<LowerError>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Lower(error.into())
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Failure {
        Failure::Prepare(error)
    }
}

/// Name of the operator that joins the main output and the side outputs.
pub const ROOT_OPERATOR: &str = "internal.root";

impl Draft {
    /// A draft of a graph without types.
    pub fn new(graph: Graph, root: NodeId, registry: Registry, dialect: Dialect) -> Draft {
        Draft {
            graph,
            root,
            side_outputs: Vec::new(),
            inputs: Vec::new(),
            registry,
            dialect,
            folding: false,
            fold_limits: FoldLimits::default(),
            invoker: Invoker::default(),
            binds: true,
            types: TypeTable::new(),
            info: Vec::new(),
            signatures: SignatureTable::new(),
            definitions: Vec::new(),
            faults: HashMap::new(),
            jumps: HashMap::new(),
        }
    }

    /// Main output and side outputs.
    pub fn outputs(&self) -> Vec<NodeId> {
        match self.side_outputs.is_empty() {
            true => vec![self.root],
            false => self.graph.operands(self.root).to_vec(),
        }
    }

    /// Which nodes the root reaches.
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.root.index() + 1];
        reached[self.root.index()] = true;
        for index in (0..reached.len()).rev() {
            if reached[index] {
                self.graph.operands(NodeId::at(index)).iter().for_each(|o| reached[o.index()] = true);
            }
        }
        reached
    }

    /// Maps every reachable node, operands first, and moves the root. The rule gets a node and its
    /// mapped operands; it may return any node.
    ///
    /// # Errors
    /// Whatever the rule reports.
    pub fn rewrite(
        &mut self,
        mut rule: impl FnMut(&mut Draft, NodeId, &[NodeId]) -> Result<NodeId, PrepareError>,
    ) -> Result<(), PrepareError> {
        let reached = self.reachable();
        let mut map: Vec<NodeId> = (0..reached.len()).map(NodeId::at).collect();
        let mut operands = Vec::new();
        for (index, _) in reached.iter().enumerate().filter(|(_, r)| **r) {
            let id = NodeId::at(index);
            operands.clear();
            operands.extend(self.graph.operands(id).iter().map(|o| map[o.index()]));
            map[index] = rule(self, id, &operands)?;
        }
        self.root = map[self.root.index()];
        Ok(())
    }

    /// Maps every reachable operator node. The rule gets the node over its mapped operands; an error of
    /// the rule is reported with the node's operator and place.
    ///
    /// # Errors
    /// Whatever the rule reports.
    pub fn rewrite_operators(
        &mut self,
        mut rule: impl FnMut(&mut Draft, NodeId) -> Result<NodeId, Failure>,
    ) -> Result<(), PrepareError> {
        self.rewrite(|draft, id, operands| {
            let Some(operator) = draft.graph.operator(id) else { return Ok(id) };
            let mapped = match draft.graph.operands(id) == operands {
                true => Ok(id),
                false => draft.apply(operator, operands, draft.graph.span(id)),
            };
            let result = mapped.map_err(Failure::from).and_then(|node| rule(draft, node));
            result.map_err(|failure| match failure {
                Failure::Lower(error) => {
                    PrepareError::of_node(draft.graph.span(id), draft.graph.name(operator), error)
                }
                Failure::Prepare(error) => error,
            })
        })
    }

    /// Type number of a node; unknown before it is typed.
    pub fn type_id(&self, id: NodeId) -> TypeId {
        self.info.get(id.index()).map_or(TypeId::UNKNOWN, |i| i.qtype)
    }

    /// Type of a typed node.
    pub fn qtype_of(&self, id: NodeId) -> &QType {
        self.types.get(self.type_id(id))
    }

    /// The type behind a number.
    pub fn get_type(&self, number: TypeId) -> &QType {
        self.types.get(number)
    }

    /// Number of a type.
    pub fn intern_type(&mut self, qtype: &QType) -> TypeId {
        self.types.intern(qtype)
    }

    /// Signature of a typed operator node.
    pub fn signature(&self, id: NodeId) -> Option<&Signature> {
        let number = self.info.get(id.index())?.signature;
        (number != SignatureId::NONE).then(|| self.signatures.get(number))
    }

    /// Sets the type of a leaf or literal.
    pub fn set_type(&mut self, id: NodeId, qtype: TypeId) {
        self.set_info(id, Info { qtype, signature: SignatureId::NONE });
    }

    fn set_info(&mut self, id: NodeId, info: Info) {
        if self.info.len() <= id.index() {
            let unknown = Info { qtype: TypeId::UNKNOWN, signature: SignatureId::NONE };
            self.info.resize(id.index() + 1, unknown);
        }
        self.info[id.index()] = info;
    }

    /// The fault a node of literals raises on every evaluation.
    pub fn fault(&self, id: NodeId) -> Option<&Fault> {
        if self.faults.is_empty() { None } else { self.faults.get(&id) }
    }

    /// Notes the fault a node of literals raises on every evaluation.
    pub fn set_fault(&mut self, id: NodeId, fault: Fault) {
        self.faults.insert(id, fault);
    }

    /// What a `where` jumps over that the step `guard rows` has made, where no row needs it.
    pub fn jumped_over(&self, id: NodeId) -> Option<NodeId> {
        self.jumps.get(&id).copied()
    }

    /// All of these `where`.
    pub fn row_jumps(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.jumps.keys().copied()
    }

    /// Notes such a `where`.
    pub fn set_jumped_over(&mut self, id: NodeId, value: NodeId) {
        self.jumps.insert(id, value);
    }

    /// Definition of an operator.
    ///
    /// # Errors
    /// Nobody defined it.
    pub fn definition(&mut self, operator: Symbol) -> Result<Arc<OperatorDef>, TypeError> {
        let index = operator.0 as usize;
        if let Some(Some(known)) = self.definitions.get(index) {
            return Ok(known.clone());
        }
        let found = self.find_definition(operator)?.clone();
        self.set_definition(operator, found.clone());
        Ok(found)
    }

    /// Definition of an operator, without noting it.
    ///
    /// # Errors
    /// Nobody defined it.
    pub fn find_definition(&self, operator: Symbol) -> Result<&Arc<OperatorDef>, TypeError> {
        match self.definitions.get(operator.0 as usize) {
            Some(Some(known)) => Ok(known),
            _ => self.registry.find(self.graph.name(operator)),
        }
    }

    /// Defines an operator for this draft only, as compiler extensions do.
    pub fn set_definition(&mut self, operator: Symbol, def: Arc<OperatorDef>) {
        let index = operator.0 as usize;
        if self.definitions.len() <= index {
            self.definitions.resize(index + 1, None);
        }
        self.definitions[index] = Some(def);
    }

    /// Types an operator node whose operands are typed.
    ///
    /// # Errors
    /// The operands do not fit.
    pub fn type_operator(&mut self, id: NodeId) -> Result<(), TypeError> {
        if self.type_id(id).is_known() {
            return Ok(());
        }
        let Some(operator) = self.graph.operator(id) else { return Ok(()) };
        let operands = self.graph.operands(id);
        let given: Vec<TypeId> = operands.iter().map(|o| self.type_id(*o)).collect();
        let number = match self.signatures.find(operator, &given) {
            Some(number) => number,
            None => {
                let def = self.definition(operator)?;
                let resolution = self.infer(&def, id, &given)?;
                let signature = self.resolved(operator, given, &resolution, &def);
                match def.reads_literals {
                    true => self.signatures.add_unshared(signature),
                    false => self.signatures.add(signature),
                }
            }
        };
        let qtype = self.signatures.get(number).result;
        self.set_info(id, Info { qtype, signature: number });
        Ok(())
    }

    fn resolved(
        &mut self,
        operator: Symbol,
        given: Vec<TypeId>,
        resolution: &Resolution,
        def: &OperatorDef,
    ) -> Signature {
        let args: Vec<TypeId> = resolution.args.iter().map(|t| self.types.intern(t)).collect();
        let result = self.types.intern(&resolution.result);
        let exact =
            (self.binds && given == args).then(|| def.family.as_ref()?.overload(&resolution.args)).flatten();
        Signature { operator, given, args, result, overload: exact }
    }

    fn infer(&self, def: &OperatorDef, id: NodeId, given: &[TypeId]) -> Result<Resolution, TypeError> {
        let types: Vec<QType> = given.iter().map(|t| self.types.get(*t).clone()).collect();
        let literals: Vec<Option<&Literal>> =
            self.graph.operands(id).iter().map(|o| self.graph.literal(*o)).collect();
        self.infer_types(def, &types, &literals)
    }

    fn infer_types(
        &self,
        def: &OperatorDef,
        types: &[QType],
        literals: &[Option<&Literal>],
    ) -> Result<Resolution, TypeError> {
        // Applying an operator to types alone; how deep that nests is bounded by the operators.
        let infer = |name: &str, types: &[QType]| -> Result<QType, TypeError> {
            let def = self.registry.find(name)?;
            let defaults = def.complete(types.len())?;
            let mut all = types.to_vec();
            all.extend(defaults.iter().map(literal_type));
            let mut literals: Vec<Option<&Literal>> = vec![None; types.len()];
            literals.extend(defaults.iter().map(Some));
            Ok(self.infer_types(def, &all, &literals)?.result)
        };
        let params = def.param_names(types.len());
        let context = InferContext {
            operator: &def.name,
            facts: def.facts(),
            params: &params,
            types,
            literals,
            dialect: self.dialect,
            table: self.registry.table(),
            infer: &infer,
            read: &Cell::new(0),
        };
        let resolution = (def.infer)(&context)?;
        context.check_values()?;
        Ok(resolution)
    }

    /// A typed operator node over typed operands, defaults filled in.
    ///
    /// # Errors
    /// The operands do not fit, or the graph is full.
    pub fn apply(&mut self, operator: Symbol, operands: &[NodeId], span: Span) -> Result<NodeId, LowerError> {
        let id = self.graph.apply(operator, operands)?;
        self.graph.set_span(id, span);
        self.type_operator(id)?;
        Ok(id)
    }

    /// A typed literal node.
    ///
    /// # Errors
    /// The graph is full.
    pub fn literal_node(&mut self, literal: Literal) -> Result<NodeId, GraphError> {
        let qtype = self.types.intern(&literal_type(&literal));
        let id = self.graph.add_literal(literal)?;
        self.set_type(id, qtype);
        Ok(id)
    }

    /// A typed literal node of a value.
    ///
    /// # Errors
    /// The graph is full.
    pub fn value_node(&mut self, value: impl Into<Value>) -> Result<NodeId, GraphError> {
        self.literal_node(Literal::Value(value.into()))
    }

    /// What a node is.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        self.graph.node(id)
    }

    /// True if the node applies an operator that preparation strips.
    pub fn is_annotation(&self, id: NodeId) -> bool {
        let Some(operator) = self.graph.operator(id) else { return false };
        self.find_definition(operator).is_ok_and(|def| def.facts().annotates())
    }

    /// True if the node applies this operator.
    pub fn is_operator(&self, id: NodeId, name: &str) -> bool {
        self.graph.operator(id).is_some_and(|op| &**self.graph.name(op) == name)
    }
}

/// The type of a literal; types and operators count as UNIT until they are used up.
pub fn literal_type(literal: &Literal) -> QType {
    match literal {
        Literal::Value(value) => value.qtype(),
        Literal::Type(_) | Literal::Operator(_) => QType::Scalar(ScalarType::Unit),
    }
}
