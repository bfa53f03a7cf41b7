//! Prepared: the result of preparation, and the check of its invariants.
//!
//! 1. Every node's type is known and stands apart from the expression.
//! 2. There are no placeholders.
//! 3. There are no annotations.
//! 4. Every operator is at the lowest level: an exact overload of the machine, a built-in of the
//!    compiler, or packed by an extension.
//! 5. With side outputs the root is the root operator: main output first, then the side outputs sorted
//!    by name; nothing else is.

use crate::expr::{Graph, Node, NodeId, Symbol};
use crate::prepare::branches::Regions;
use crate::prepare::draft::{Draft, ROOT_OPERATOR};
use crate::prepare::emitter::CompileOperator;
use crate::prepare::error::PrepareError;
use crate::prepare::lower::BUILTINS;
use crate::prepare::signature::Signature;
use crate::registry::derived::{cast, presence, tuple};
use cembra_vm::value::{Fault, QType};
use hashbrown::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// A prepared expression.
#[derive(Clone, Debug)]
pub struct Prepared {
    draft: Draft,
    packed: PackedOperators,
    regions: Regions,
}

/// An operator that an extension packed.
#[derive(Clone, Debug)]
pub struct Packed {
    /// Its compile half.
    pub compile: Arc<dyn CompileOperator>,
    /// The expressions in it; the compile half knows them by number.
    pub bodies: Vec<Prepared>,
}

/// The packed operators of an expression, by name.
pub type PackedOperators = HashMap<Symbol, Packed>;

impl Prepared {
    /// Takes a draft whose nodes have been placed, and the operators packed in it.
    pub fn new(mut draft: Draft, packed: PackedOperators, regions: Regions) -> Prepared {
        draft.end_folding();
        Prepared { draft, packed, regions }
    }

    /// The nodes.
    pub fn graph(&self) -> &Graph {
        &self.draft.graph
    }

    /// The node that gives the value; with side outputs, the root operator.
    pub fn root(&self) -> NodeId {
        self.draft.root
    }

    /// Main output, then side outputs sorted by name.
    pub fn outputs(&self) -> Vec<NodeId> {
        self.draft.outputs()
    }

    /// Names of the side outputs.
    pub fn side_outputs(&self) -> &[Arc<str>] {
        &self.draft.side_outputs
    }

    /// Names and types of the inputs, in slot order.
    pub fn inputs(&self) -> &[(Arc<str>, QType)] {
        &self.draft.inputs
    }

    /// Type of a node.
    pub fn qtype(&self, id: NodeId) -> &QType {
        self.draft.qtype_of(id)
    }

    /// Signature of an operator node.
    pub fn signature(&self, id: NodeId) -> Option<&Signature> {
        self.draft.signature(id)
    }

    /// What a node of literals raises on every evaluation.
    pub fn fault(&self, id: NodeId) -> Option<&Fault> {
        self.draft.fault(id)
    }

    /// What is packed into the operator of a node.
    pub fn packed(&self, id: NodeId) -> Option<&Packed> {
        if self.packed.is_empty() { None } else { self.packed.get(&self.draft.graph.operator(id)?) }
    }

    /// For a node that only shows bytes of an operand and needs no instruction: the operand, and where
    /// the bytes lie in it.
    pub fn viewed(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let graph = self.graph();
        let operands = graph.operands(id);
        match &**graph.name(graph.operator(id)?) {
            tuple::GET_NTH => {
                let index = graph.value(operands[1])?.scalar()?.as_i64()?;
                let tuple = self.qtype(operands[0]).tuple()?;
                Some((operands[0], tuple.offset(usize::try_from(index).ok()?)))
            }
            presence::HAS_OPTIONAL => Some((operands[0], 0)),
            cast::UPCAST | cast::DOWNCAST => Some((operands[1], 0)),
            _ => None,
        }
    }

    /// Which nodes belong to which branch.
    pub fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The draft behind it.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub fn verify(&self) -> Result<(), PrepareError> {
        let fail = |what: String| Err(PrepareError::PostCondition { step: "preparation".to_owned(), what });
        let reached = self.draft.reachable();
        for index in (0..reached.len()).filter(|i| reached[*i]) {
            let id = NodeId::at(index);
            if !self.draft.type_id(id).is_known() {
                return fail(format!("{id:?} has no type"));
            }
            match self.graph().node(id) {
                Node::Placeholder(name) => return fail(format!("P.{} is left", self.graph().name(name))),
                Node::Operator(operator, _) => {
                    let name = self.graph().name(operator).clone();
                    self.verify_operator(id, &name)?;
                }
                Node::Leaf(_) | Node::Literal(_) => {}
            }
        }
        Ok(())
    }

    fn verify_operator(&self, id: NodeId, name: &str) -> Result<(), PrepareError> {
        let fail = |what: String| Err(PrepareError::PostCondition { step: "preparation".to_owned(), what });
        if self.draft.is_annotation(id) {
            return fail(format!("the annotation {name} is left"));
        }
        if name == ROOT_OPERATOR && (id != self.root() || self.side_outputs().is_empty()) {
            return fail("the root operator is not the root".to_owned());
        }
        let exact = self.signature(id).is_some_and(|s| s.overload.is_some() && s.is_exact());
        let lowest = exact || BUILTINS.contains(&name) || self.packed(id).is_some();
        if !lowest {
            return fail(format!("{name} is not an operator of the machine"));
        }
        Ok(())
    }
}

/// Types of the inputs, and the prepared expression as text.
impl std::fmt::Display for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        for (name, qtype) in self.inputs() {
            writeln!(text, "{name}: {qtype}")?;
        }
        if !self.inputs().is_empty() {
            text.push('\n');
        }
        text.push_str(&crate::expr::print::print_graph(self.graph(), self.root()));
        f.write_str(&text)
    }
}
