//! Lowering and casting of one node: operators of the machine instead of those of the language.
//!
//! Steps call these on the nodes they rewrite. Whatever is made here is typed, exact, and evaluated at
//! once if it consists of literals.

use crate::expr::{Literal, NodeId};
use crate::prepare::cast::cast_operands;
use crate::prepare::draft::Draft;
use crate::registry::define::LowerError;
use crate::registry::derived::cast;
use crate::registry::derived::cast::cast_operator;
use crate::registry::infer::TypeError;
use crate::registry::{Dialect, LowerContext, Lowered};
use cembra_vm::builtins::core;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{QType, ScalarType};

impl Draft {
    /// An exact operator node of the machine: typed, and evaluated at once if it can be.
    ///
    /// # Errors
    /// The operands do not fit, or the graph is full.
    pub fn exact(&mut self, operator: &str, operands: &[NodeId], span: Span) -> Result<NodeId, LowerError> {
        let operator = self.graph.symbol(operator);
        let id = self.apply(operator, operands, span)?;
        self.fold_exact(id)
    }

    /// An operator of the language over typed operands, by operators of the machine.
    ///
    /// # Errors
    /// The operands do not fit, or the graph is full.
    pub fn lowest(&mut self, operator: &str, operands: &[NodeId], span: Span) -> Result<NodeId, LowerError> {
        let made = Lowering { span, draft: self }.make(operator, operands)?;
        let exact = cast_operands(self, made)?;
        self.fold_exact(exact)
    }

    /// Lowers a typed node by the rule of its operator, if it has one.
    ///
    /// # Errors
    /// What the rule reports.
    pub fn lower_node(&mut self, id: NodeId) -> Result<NodeId, LowerError> {
        let Some(operator) = self.graph.operator(id) else { return Ok(id) };
        let def = self.definition(operator)?;
        let Some(rule) = def.lower.clone() else { return Ok(id) };
        let operands = self.graph.operands(id).to_vec();
        let mut lowering = Lowering { span: self.graph.span(id), draft: self };
        match rule(&mut lowering, &operands)? {
            Lowered::Keep => Ok(id),
            Lowered::To(lower) => Ok(lower),
        }
    }

    /// Casts a node to a type, by operators of the machine.
    ///
    /// # Errors
    /// There is no cast, or the graph is full.
    pub fn cast_node(&mut self, id: NodeId, to: &QType, span: Span) -> Result<NodeId, LowerError> {
        let from = self.qtype_of(id).clone();
        if from == *to {
            return Ok(id);
        }
        let (Some(source), Some(target)) = (from.scalar_inside(), to.scalar_inside()) else {
            return Err(TypeError::Cast { from, to: to.clone() }.into());
        };
        let class = |t: &QType| t.array().map(|t| t.class);
        let axes = match (from.nd(), to.nd()) {
            (Some(from), Some(to)) => from.has_axes_of(to),
            (from, to) => from.is_none() && to.is_none(),
        };
        if !axes || class(&from) != class(to) || (from.is_optional() && !to.is_optional()) {
            return Err(TypeError::Cast { from, to: to.clone() }.into());
        }
        let mut node = id;
        if source == ScalarType::WeakFloat && source != target {
            node = self.retype(node, ScalarType::Float64, span)?;
        }
        if let Some(operator) = cast_operator(Some(source), target) {
            node = self.exact(operator, &[node], span)?;
        }
        if target == ScalarType::WeakFloat && source != target {
            node = self.retype(node, ScalarType::WeakFloat, span)?;
        }
        if to.is_optional() && !from.is_optional() {
            node = self.exact(core::TO_OPTIONAL_SCALAR, &[node], span)?;
        }
        Ok(node)
    }

    /// The same bytes as another scalar type.
    fn retype(&mut self, id: NodeId, scalar: ScalarType, span: Span) -> Result<NodeId, LowerError> {
        let to = self.qtype_of(id).with_scalar(scalar);
        let to = to.unwrap_or(QType::Scalar(scalar));
        self.reinterpret_node(id, &to, span)
    }

    /// The same bytes under another type of equal storage.
    ///
    /// # Errors
    /// The graph is full.
    pub fn reinterpret_node(&mut self, id: NodeId, to: &QType, span: Span) -> Result<NodeId, LowerError> {
        let from = self.qtype_of(id);
        if from == to {
            return Ok(id);
        }
        let (name, derived) = match to.is_storage() {
            true => (cast::UPCAST, from),
            false => (cast::DOWNCAST, to),
        };
        let qtype = self.literal_node(Literal::Type(derived.clone()))?;
        self.exact(name, &[qtype, id], span)
    }
}

/// The draft as lowering rules see it.
struct Lowering<'d> {
    draft: &'d mut Draft,
    span: Span,
}

impl LowerContext for Lowering<'_> {
    fn dialect(&self) -> Dialect {
        self.draft.dialect
    }

    fn qtype(&self, node: NodeId) -> QType {
        self.draft.qtype_of(node).clone()
    }

    fn literal(&self, node: NodeId) -> Option<Literal> {
        self.draft.graph.literal(node).cloned()
    }

    fn make_literal(&mut self, literal: Literal) -> Result<NodeId, LowerError> {
        Ok(self.draft.literal_node(literal)?)
    }

    fn make(&mut self, operator: &str, args: &[NodeId]) -> Result<NodeId, LowerError> {
        let symbol = self.draft.graph.symbol(operator);
        let defaults = self.draft.definition(symbol)?.complete(args.len())?;
        let mut args = args.to_vec();
        for literal in defaults {
            args.push(self.draft.literal_node(literal)?);
        }
        let id = self.draft.apply(symbol, &args, self.span)?;
        let lower = self.draft.lower_node(id)?;
        self.draft.fold_exact(lower)
    }

    fn cast(&mut self, node: NodeId, to: &QType) -> Result<NodeId, LowerError> {
        self.draft.cast_node(node, to, self.span)
    }

    fn reinterpret(&mut self, node: NodeId, qtype: &QType) -> Result<NodeId, LowerError> {
        self.draft.reinterpret_node(node, qtype, self.span)
    }
}
