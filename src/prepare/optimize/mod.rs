//! The optimizer: peephole rules on exact operators of the machine.
//!
//! Every rule has a name and can be switched off by it. *Strict* rules change no bit of any value and
//! are on by default. Rules of the `fast_math` set may change bits (the sign of a zero, the rounding of
//! a sum, what a NaN compares to) and are off unless asked for; and so is the one rule of `contract`, which leaves out
//! roundings. A rule may drop the evaluation of a
//! value that nobody needs, and with it an error that evaluation would have raised; it never adds one.
//!
//! Post-condition: no enabled rule applies to a reachable node, or the node has been rewritten
//! [`MOST_REWRITES`] times; types are unchanged.

use crate::expr::{Graph, NodeId};
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::registry::define::LowerError;
use cembra_vm::builtins::core;
use cembra_vm::value::Value;
use std::collections::BTreeSet;

pub mod arithmetic;
pub mod boolean;
pub mod presence;
pub mod rows;
pub mod tuple;

/// Rewrites of one node before the optimizer lets it be.
pub const MOST_REWRITES: usize = 100;

/// What a rule does to a node: a better node, or nothing.
pub type Apply = fn(&mut Rewriter<'_>, NodeId) -> Result<Option<NodeId>, LowerError>;

/// Which values a rule may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleClass {
    /// No bit of any.
    Strict,
    /// Signs of zeros, the order of sums, comparisons with NaN.
    FastMath,
    /// Products that are added: they are not rounded before.
    Contract,
}

/// A rewriting rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Name, to switch it on and off.
    pub name: &'static str,
    /// What it may change.
    pub class: RuleClass,
    /// What it does, as `before -> after`.
    pub meaning: &'static str,
    /// Operators of the nodes it looks at.
    pub operators: &'static [&'static str],
    /// The rewriting.
    pub apply: Apply,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({})", self.name)
    }
}

/// Every rule there is.
pub fn all_rules() -> Vec<&'static Rule> {
    [arithmetic::RULES, presence::RULES, boolean::RULES, rows::RULES, tuple::RULES]
        .into_iter()
        .flatten()
        .collect()
}

/// Which rules are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSet {
    enabled: BTreeSet<&'static str>,
}

impl Default for RuleSet {
    fn default() -> Self {
        RuleSet::strict()
    }
}

impl RuleSet {
    /// No rule.
    pub fn none() -> RuleSet {
        RuleSet { enabled: BTreeSet::new() }
    }

    /// The strict rules.
    pub fn strict() -> RuleSet {
        RuleSet::none().with(RuleClass::Strict)
    }

    /// The strict rules and those of the `fast_math` set.
    pub fn fast_math() -> RuleSet {
        RuleSet::strict().with(RuleClass::FastMath)
    }

    /// These rules and all of a class.
    #[must_use]
    pub fn with(mut self, class: RuleClass) -> RuleSet {
        self.enabled.extend(all_rules().iter().filter(|r| r.class == class).map(|r| r.name));
        self
    }

    /// Switches a rule on; false if there is no such rule.
    pub fn enable(&mut self, name: &str) -> bool {
        let rule = all_rules().into_iter().find(|r| r.name == name);
        rule.map(|r| self.enabled.insert(r.name)).is_some()
    }

    /// Switches a rule off; false if there is no such rule.
    pub fn disable(&mut self, name: &str) -> bool {
        self.enabled.remove(name);
        all_rules().iter().any(|r| r.name == name)
    }

    /// True if a rule is on.
    pub fn is_enabled(&self, name: &str) -> bool {
        self.enabled.contains(name)
    }
}

/// The step.
///
/// # Errors
/// The graph is full.
pub fn optimize(mut draft: Draft, rules: &RuleSet) -> Result<Draft, PrepareError> {
    let table = RuleTable::new(&mut draft.graph, rules);
    draft.rewrite_operators(|draft, id| {
        let node = draft.fold_exact(id)?;
        Ok(Rewriter { draft, table: &table }.simplify(node)?)
    })?;
    Ok(draft)
}

/// Enabled rules by operator.
struct RuleTable {
    by_symbol: Vec<Vec<&'static Rule>>,
}

impl RuleTable {
    fn new(graph: &mut Graph, enabled: &RuleSet) -> RuleTable {
        let mut by_symbol: Vec<Vec<&'static Rule>> = Vec::new();
        for rule in all_rules().into_iter().filter(|r| enabled.is_enabled(r.name)) {
            for operator in rule.operators {
                let index = graph.symbol(operator).0 as usize;
                if by_symbol.len() <= index {
                    by_symbol.resize(index + 1, Vec::new());
                }
                by_symbol[index].push(rule);
            }
        }
        RuleTable { by_symbol }
    }
}

/// What a rule can do: look at a node and make better ones.
pub struct Rewriter<'d> {
    draft: &'d mut Draft,
    table: &'d RuleTable,
}

impl Rewriter<'_> {
    /// Applies rules to a node until none applies.
    fn simplify(&mut self, id: NodeId) -> Result<NodeId, LowerError> {
        let mut node = id;
        for _ in 0..MOST_REWRITES {
            match self.rewrite_once(node)? {
                Some(better) => node = better,
                None => break,
            }
        }
        Ok(node)
    }

    fn rewrite_once(&mut self, id: NodeId) -> Result<Option<NodeId>, LowerError> {
        let Some(operator) = self.draft.graph.operator(id) else { return Ok(None) };
        let Some(rules) = self.table.by_symbol.get(operator.0 as usize) else { return Ok(None) };
        for rule in rules {
            if let Some(better) = (rule.apply)(self, id)?
                && self.keeps_type(rule, id, better)
            {
                return Ok(Some(better));
            }
        }
        Ok(None)
    }

    /// Rules are written for scalars and hold row by row; over arrays one may find a scalar that stands
    /// for all rows, as `where(m, x, x) -> x` does, and then does not apply.
    fn keeps_type(&self, rule: &Rule, id: NodeId, better: NodeId) -> bool {
        let (before, after) = (self.draft.qtype_of(id), self.draft.qtype_of(better));
        debug_assert!(before == after || before.array().is_some(), "{} keeps the type {before}", rule.name);
        before == after
    }

    /// The draft.
    pub fn draft(&self) -> &Draft {
        self.draft
    }

    /// Operands of a node if it applies this operator to this many.
    pub fn matches<const N: usize>(&self, id: NodeId, operator: &str) -> Option<[NodeId; N]> {
        match self.draft.is_operator(id, operator) {
            true => self.draft.graph.operands(id).try_into().ok(),
            false => None,
        }
    }

    /// The operands of a node known to have this many.
    pub fn operands<const N: usize>(&self, id: NodeId) -> Option<[NodeId; N]> {
        self.draft.graph.operands(id).try_into().ok()
    }

    /// The value of a literal node.
    pub fn value(&self, id: NodeId) -> Option<&Value> {
        self.draft.graph.value(id)
    }

    /// An exact operator node, simplified in turn.
    ///
    /// # Errors
    /// The operands do not fit, or the graph is full.
    pub fn make(&mut self, operator: &str, operands: &[NodeId], like: NodeId) -> Result<NodeId, LowerError> {
        let span = self.draft.graph.span(like);
        let node = self.draft.exact(operator, operands, span)?;
        self.simplify(node)
    }

    /// A literal node.
    ///
    /// # Errors
    /// The graph is full.
    pub fn literal(&mut self, value: impl Into<Value>) -> Result<NodeId, LowerError> {
        Ok(self.draft.value_node(value)?)
    }

    /// The value as an optional, unless it is one, or rows, each of which may be missing.
    ///
    /// # Errors
    /// The graph is full.
    pub fn optional(&mut self, id: NodeId) -> Result<NodeId, LowerError> {
        let qtype = self.draft.qtype_of(id);
        match qtype.is_optional() || qtype.array().is_some() {
            true => Ok(id),
            false => self.make(core::TO_OPTIONAL_SCALAR, &[id], id),
        }
    }
}
