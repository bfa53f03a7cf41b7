//! Rules of slopes, read off the rows of operators once each.
//!
//! ```text
//! math.exp          partials        math.exp(x)
//! math.divide       differential    (d_x - result * d_y) / y
//! nd.where          linear          nd.where(condition, d_x, d_y)
//! nd.sum            along axes      the operator itself, of the slope of x
//! ```

use crate::autodiff::error::AutodiffError;
use crate::expr::{Literal, Node, NodeId, Symbol};
use crate::registry::define::ParamKind;
use crate::registry::{Dialect, OperatorDef, Registry};
use crate::syntax::{Limits, parse_with};
use cembra_vm::operator::facts::{Along, Class, Linear, Slope};
use hashbrown::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// How the slope of an operator follows from those of its operands.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// By partial derivatives, one for each parameter.
    Partials(Arc<[Formula]>),
    /// By a formula of operands and slopes.
    Differential(Arc<Formula>),
    /// By the operator itself, which is linear in its first operand.
    Along(Along),
    /// Nobody has written it.
    Unwritten,
}

/// An expression of operands, slopes and the result: operands before their users, the root last.
#[derive(Debug)]
pub(super) struct Formula(pub Vec<Term>);

/// A node of a formula.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// The operand with this number.
    Operand(usize),
    /// The same, which may not have a slope.
    Constant(usize),
    /// The slope of that operand.
    Slope(usize),
    /// The node whose slope it is.
    Result,
    Literal(Literal),
    /// An operator and its operands, by their places among the terms.
    Apply(Arc<str>, Box<[usize]>),
}

/// The rules of operators by the numbers of their names in one graph.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Option<Rule>>);

impl Rules {
    /// The rule of an operator.
    ///
    /// # Errors
    /// The text in its row is no expression of what it may name.
    pub fn of(
        &mut self,
        operator: Symbol,
        def: &OperatorDef,
        registry: &Registry,
    ) -> Result<Rule, AutodiffError> {
        let index = operator.0 as usize;
        self.0.resize(self.0.len().max(index + 1), None);
        if self.0[index].is_none() {
            let of_row = if registry.is_standard() { read_once(def, registry) } else { read(def, registry) };
            self.0[index] = Some(of_row.map_err(|message| AutodiffError::slope(&def.name, message))?);
        }
        Ok(self.0[index].clone().unwrap_or(Rule::Unwritten))
    }
}

/// The rule of a standard operator, read once a process.
fn read_once(def: &OperatorDef, registry: &Registry) -> Result<Rule, String> {
    static RULES: LazyLock<Mutex<HashMap<Arc<str>, Rule>>> = LazyLock::new(Mutex::default);
    let rules = || RULES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(rule) = rules().get(&def.name) {
        return Ok(rule.clone());
    }
    let rule = read(def, registry)?;
    rules().insert(def.name.clone(), rule.clone());
    Ok(rule)
}

fn read(def: &OperatorDef, registry: &Registry) -> Result<Rule, String> {
    let facts = def.facts();
    let formula = |text: &&str| parsed(def, registry, text);
    Ok(match (facts.slope(), facts.class(), facts.linear()) {
        (Slope::Partials(texts), ..) => Rule::Partials(texts.iter().map(formula).collect::<Result<_, _>>()?),
        (Slope::Differential(text), ..) => Rule::Differential(Arc::new(formula(text)?)),
        _ if facts.annotates() => Rule::Differential(Arc::new(Formula(vec![Term::Slope(0)]))),
        (Slope::Unwritten, Class::Along(along), Linear::In([0])) => Rule::Along(along),
        (Slope::Unwritten, Class::Pointwise, linear) => itself(def, linear),
        (Slope::Unwritten, ..) => Rule::Unwritten,
    })
}

/// The slope of a linear operator: itself, of the slopes.
fn itself(def: &OperatorDef, linear: Linear) -> Rule {
    let count = def.params.len();
    let variadic = def.params.iter().any(|param| param.kind == ParamKind::Variadic);
    if variadic || !(0..count).any(|place| linear.has(place)) {
        return Rule::Unwritten;
    }
    let operand = |place| if linear.has(place) { Term::Slope(place) } else { Term::Constant(place) };
    let mut terms: Vec<Term> = (0..count).map(operand).collect();
    terms.push(Term::Apply(def.name.clone(), (0..count).collect()));
    Rule::Differential(Arc::new(Formula(terms)))
}

/// The formula in a text, which names parameters, their slopes and the result.
fn parsed(def: &OperatorDef, registry: &Registry, text: &str) -> Result<Formula, String> {
    let expr = parse_with(text, registry, Dialect::default(), &Limits::default());
    let expr = expr.map_err(|error| format!("`{text}` is no expression: {error}"))?;
    let graph = expr.graph();
    let param = |name: &str| def.params.iter().position(|param| *param.name == *name);
    let term = |id: NodeId| match graph.node(id) {
        Node::Leaf(name) | Node::Placeholder(name) => {
            let name = graph.name(name);
            let slope = || name.strip_prefix("d_").and_then(param).map(Term::Slope);
            let result = || (&**name == "result").then_some(Term::Result);
            let term = param(name).map(Term::Operand).or_else(slope).or_else(result);
            term.ok_or_else(|| format!("`{text}` names `{name}`"))
        }
        Node::Literal(literal) => Ok(Term::Literal(literal.clone())),
        Node::Operator(operator, operands) => {
            let places = operands.iter().map(|operand| operand.index()).collect();
            Ok(Term::Apply(graph.name(operator).clone(), places))
        }
    };
    (0..=expr.root().index()).map(NodeId::at).map(term).collect::<Result<_, _>>().map(Formula)
}
