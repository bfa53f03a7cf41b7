//! OperatorDef: one expression operator.

use crate::expr::{GraphError, Literal, NodeId};
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::operator::Family;
use cembra_vm::operator::facts::Facts;
use cembra_vm::value::QType;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// A parameter of an operator.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name for keyword arguments and errors.
    pub name: Arc<str>,
    /// What happens without an argument.
    pub kind: ParamKind,
}

/// What happens if a parameter gets no argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamKind {
    /// It is an error.
    Required,
    /// The literal is taken.
    Default(Literal),
    /// The operator has an overload without it.
    Omittable,
    /// It takes all remaining arguments, perhaps none.
    Variadic,
    /// A text `a,b`: the names of keyword arguments, whose values go to the variadic parameter behind.
    Names,
}

/// Lowering or typing of a node failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LowerError {
    /// The arguments do not fit.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// The expression grew beyond its limit.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// What a lowering rule can do: look at nodes and make new, typed ones.
pub trait LowerContext {
    /// The dialect's casting lattice.
    fn dialect(&self) -> Dialect;
    /// Type of a node.
    fn qtype(&self, node: NodeId) -> QType;
    /// The literal in a node.
    fn literal(&self, node: NodeId) -> Option<Literal>;
    /// A literal node.
    ///
    /// # Errors
    /// The expression is full.
    fn make_literal(&mut self, literal: Literal) -> Result<NodeId, LowerError>;
    /// An operator node, lowered in turn.
    ///
    /// # Errors
    /// The arguments do not fit, or the expression is full.
    fn make(&mut self, operator: &str, args: &[NodeId]) -> Result<NodeId, LowerError>;
    /// The value cast to a type, by the operators that the machine has for it.
    ///
    /// # Errors
    /// There is no cast, or the expression is full.
    fn cast(&mut self, node: NodeId, to: &QType) -> Result<NodeId, LowerError>;
    /// The same bytes under another type of equal storage.
    ///
    /// # Errors
    /// The expression is full.
    fn reinterpret(&mut self, node: NodeId, qtype: &QType) -> Result<NodeId, LowerError>;
}

/// What lowering makes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowered {
    /// The node is as low as it gets.
    Keep,
    /// The node becomes this one.
    To(NodeId),
}

/// A type rule.
pub type InferRule = Arc<dyn Fn(&InferContext<'_>) -> Result<Resolution, TypeError> + Send + Sync>;
/// A lowering rule.
pub type LowerRule =
    Arc<dyn Fn(&mut dyn LowerContext, &[NodeId]) -> Result<Lowered, LowerError> + Send + Sync>;

/// An operator that can stand in an expression.
#[derive(Clone)]
pub struct OperatorDef {
    /// Dotted name.
    pub name: Arc<str>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// One sentence.
    pub meaning: Arc<str>,
    /// Type rule.
    pub infer: InferRule,
    /// Lowering rule; without one the node is an operator of the machine.
    pub lower: Option<LowerRule>,
    /// True if no node of an expression stays as it is: an operator of the machine with this name is for preparation.
    pub is_always_lowered: bool,
    /// True if the type rule looks at literals, not only at types.
    pub reads_literals: bool,
    /// The operator of the machine with the same name.
    pub family: Option<Arc<Family>>,
    /// What passes may assume of the operator, if not what the row of the machine's operator says.
    pub facts: Option<Facts>,
}

impl fmt::Debug for OperatorDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorDef").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OperatorDef {
    /// A definition; parameters are written `x`, `x=default` through [`OperatorDef::default`],
    /// `x?` if omittable, `*x` if variadic, `x=` for the names of keyword
    /// arguments.
    pub fn new(
        name: &str,
        params: &[&str],
        meaning: &str,
        infer: impl Fn(&InferContext<'_>) -> Result<Resolution, TypeError> + Send + Sync + 'static,
    ) -> OperatorDef {
        OperatorDef {
            name: name.into(),
            params: params.iter().map(|p| param(p)).collect(),
            meaning: meaning.into(),
            infer: Arc::new(infer),
            lower: None,
            is_always_lowered: false,
            reads_literals: false,
            family: None,
            facts: None,
        }
    }

    /// Sets the lowering rule.
    pub fn lowered(
        mut self,
        rule: impl Fn(&mut dyn LowerContext, &[NodeId]) -> Result<Lowered, LowerError> + Send + Sync + 'static,
    ) -> OperatorDef {
        self.lower = Some(Arc::new(rule));
        self
    }

    /// Declares that no node of an expression stays as it is.
    pub fn always_lowered(mut self) -> OperatorDef {
        self.is_always_lowered = true;
        self
    }

    /// Sets what passes may assume of the operator.
    pub fn with_facts(mut self, facts: Facts) -> OperatorDef {
        self.facts = Some(facts);
        self
    }

    /// What passes may assume of the operator.
    pub fn facts(&self) -> &Facts {
        static NOTHING: Facts = Facts::new();
        let of_row = || self.family.as_ref().map(|family| family.facts());
        self.facts.as_ref().or_else(of_row).unwrap_or(&NOTHING)
    }

    /// Declares that the type rule looks at literals.
    pub fn reading_literals(mut self) -> OperatorDef {
        self.reads_literals = true;
        self
    }

    /// Gives a parameter a default.
    ///
    /// # Panics
    /// If there is no such parameter.
    pub fn default(mut self, name: &str, literal: impl Into<Literal>) -> OperatorDef {
        let param = self.params.iter_mut().find(|p| &*p.name == name).expect("a default names a parameter");
        param.kind = ParamKind::Default(literal.into());
        self
    }

    /// Names of the parameters that `count` arguments fill; the variadic one repeats.
    pub fn param_names(&self, count: usize) -> Vec<Arc<str>> {
        let fixed = self.params.iter().map(|p| p.name.clone());
        let last = self.params.last().map_or_else(|| "?".into(), |p| p.name.clone());
        fixed.chain(std::iter::repeat(last)).take(count).collect()
    }

    /// The literals that complete `given` positional arguments.
    ///
    /// # Errors
    /// Too few or too many arguments.
    pub fn complete(&self, given: usize) -> Result<Vec<Literal>, TypeError> {
        let variadic = self.params.last().is_some_and(|p| p.kind == ParamKind::Variadic);
        let fixed = self.params.len() - usize::from(variadic);
        if given > fixed {
            return if variadic { Ok(Vec::new()) } else { Err(self.arity_error(given)) };
        }
        let mut literals = Vec::new();
        for param in &self.params[given..fixed] {
            match &param.kind {
                ParamKind::Default(literal) => literals.push(literal.clone()),
                ParamKind::Omittable => break,
                ParamKind::Required | ParamKind::Variadic | ParamKind::Names => {
                    return Err(self.arity_error(given));
                }
            }
        }
        Ok(literals)
    }

    /// The error for a wrong number of arguments.
    pub fn arity_error(&self, actual: usize) -> TypeError {
        let required = self.params.iter().filter(|p| p.kind == ParamKind::Required).count();
        let variadic = self.params.last().is_some_and(|p| p.kind == ParamKind::Variadic);
        let most = self.params.len() - usize::from(variadic);
        let expected = match (variadic, required == most, most) {
            (true, _, _) => format!("{required} or more arguments"),
            (_, true, 1) => "1 argument".to_owned(),
            (_, true, n) => format!("{n} arguments"),
            _ => format!("{required} to {most} arguments"),
        };
        let names: Vec<String> = self.params.iter().map(Param::signature).collect();
        let expected = match names.is_empty() {
            true => expected,
            false => format!("{expected} ({})", names.join(", ")),
        };
        TypeError::Arity { operator: self.name.clone(), expected, actual }
    }

    /// `name(x, y=default, *rest)`.
    pub fn signature(&self) -> String {
        let params: Vec<String> = self.params.iter().map(Param::signature).collect();
        format!("{}({})", self.name, params.join(", "))
    }
}

impl Param {
    fn signature(&self) -> String {
        match &self.kind {
            ParamKind::Required => self.name.to_string(),
            ParamKind::Default(literal) => format!("{}={literal}", self.name),
            ParamKind::Omittable => format!("[{}]", self.name),
            ParamKind::Variadic => format!("*{}", self.name),
            ParamKind::Names => format!("{}: names", self.name),
        }
    }
}

fn param(text: &str) -> Param {
    let (name, kind) = if let Some(name) = text.strip_prefix('*') {
        (name, ParamKind::Variadic)
    } else if let Some(name) = text.strip_suffix('?') {
        (name, ParamKind::Omittable)
    } else if let Some(name) = text.strip_suffix('=') {
        (name, ParamKind::Names)
    } else {
        (text, ParamKind::Required)
    };
    Param { name: name.into(), kind }
}
