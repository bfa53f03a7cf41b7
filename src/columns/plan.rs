//! Plan: expressions on their way to a job, once the columns are known.
//!
//! ```
//! use cembra::columns::{OpenOptions, Plan, create, open};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let (trips, speeds) = (directory.path().join("trips.csv"), directory.path().join("speeds.npz"));
//! std::fs::write(&trips, "distance,time\n120,2\n9,\n")?;
//! let speed = cembra::syntax::parse("distance / time")?;
//! let job = Plan::new([("speed", speed)]).job(vec![open(&trips, &OpenOptions::default())?])?;
//! let sink = create(&speeds, job.outputs())?;
//! let summary = job.run(sink, &mut |_| {})?;
//! assert_eq!((summary.rows, summary.failed), (2, 0));
//! # Ok(())
//! # }
//! ```

use crate::columns::error::ColumnsError;
use crate::columns::evaluate::{OnError, Scope};
use crate::columns::progress::RunOptions;
use crate::columns::rowwise::{self, RowWise, WholeFault};
use crate::columns::run::{Job, output_column};
use crate::columns::source::{Source, unreadable};
use crate::compile::{CompileError, Options, compile};
use crate::expr::graph::DEFAULT_NODE_LIMIT;
use crate::expr::{Expr, Node};
use crate::prepare::error::{GivenInputs, MissingInput};
use crate::prepare::{Prepare, PrepareError, Prepared, Source as Preparation};
use crate::registry::{Dialect, Registry};
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType, Value};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Expressions, and how they are compiled and run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The results in the order of their columns.
    pub results: Vec<(Arc<str>, Expr)>,
    /// Values of leaves that are no columns.
    pub constants: Vec<(Arc<str>, Value)>,
    /// The preparation steps.
    pub prepare: Prepare,
    /// The operators.
    pub registry: Registry,
    /// The dialect of the expressions.
    pub dialect: Dialect,
    /// Distinct nodes the expressions may have.
    pub node_limit: usize,
    /// Slot options.
    pub compile: Options,
    /// How the job is run.
    pub run: RunOptions,
}

impl Plan {
    /// These results with the default options.
    pub fn new<N: Into<Arc<str>>>(results: impl IntoIterator<Item = (N, Expr)>) -> Plan {
        Plan {
            results: results.into_iter().map(|(name, expr)| (name.into(), expr)).collect(),
            constants: Vec::new(),
            prepare: Prepare::standard(),
            registry: Registry::standard(),
            dialect: Dialect::default(),
            node_limit: DEFAULT_NODE_LIMIT,
            compile: Options::default(),
            run: RunOptions::default(),
        }
    }

    /// Compiles for the columns of these files.
    ///
    /// # Errors
    /// Two columns or results have one name, an expression is wrong or its result no column, or it does not work row by row and
    /// the rows are not one batch.
    pub fn job(self, sources: Vec<Box<dyn Source>>) -> Result<Job, ColumnsError> {
        let mut met = HashSet::new();
        if let Some((name, _)) = self.results.iter().find(|(name, _)| !met.insert(name)) {
            return Err(ColumnsError::DuplicateOutput { name: name.clone() });
        }
        let prepared = self.prepared(self.leaf_types(&sources)?)?;
        let bound = compile(&prepared, &self.compile)?;
        let slots = self.slots(&bound)?;
        slots.iter().try_for_each(|(name, slot)| output_column(name, slot.qtype()).map(drop))?;
        let scope = self.scope(&prepared)?;
        Job::new(bound, sources, &slots, &self.constants, (self.run, scope))
    }

    /// Types of the leaves that the results have.
    fn leaf_types(&self, sources: &[Box<dyn Source>]) -> Result<Vec<(Arc<str>, QType)>, ColumnsError> {
        let known = known_types(sources, &self.constants)?;
        let (mut used, mut missing) = (Vec::new(), Vec::new());
        let mut met = HashSet::new();
        for (name, span) in self.results.iter().flat_map(|(_, expr)| leaves(expr)) {
            check_readable(sources, &name)?;
            match known.get(&name) {
                _ if !met.insert(name.clone()) => {}
                Some((qtype, _)) => used.push((name, qtype.clone())),
                None => MissingInput::note(&mut missing, name, span, known.keys().cloned()),
            }
        }
        match missing.is_empty() {
            true => Ok(used),
            false => {
                let given = GivenInputs::new(known.into_keys());
                Err(CompileError::Prepare(PrepareError::MissingInputs { inputs: missing, given }).into())
            }
        }
    }

    /// All results in one graph, so that what they share is computed once.
    fn prepared(&self, inputs: Vec<(Arc<str>, QType)>) -> Result<Prepared, ColumnsError> {
        let Some((main, others)) = self.results.split_first() else { return Err(ColumnsError::NoResult) };
        let preparation = Preparation {
            expr: main.1.clone(),
            inputs,
            side_outputs: others.to_vec(),
            registry: self.registry.clone(),
            dialect: self.dialect,
            node_limit: self.node_limit,
        };
        self.prepare.run(preparation).map_err(|e| CompileError::Prepare(e).into())
    }

    fn scope(&self, prepared: &Prepared) -> Result<Scope, ColumnsError> {
        let exprs: Vec<&Expr> = self.results.iter().map(|(_, expr)| expr).collect();
        let needs_rows = self.run.batch_rows.is_some() || self.run.on_error != OnError::Fail;
        match rowwise::check(prepared, &self.registry, &exprs, &self.constants) {
            Ok(RowWise { whole: Some(WholeFault { operator, span }), .. })
                if self.run.on_error != OnError::Fail =>
            {
                Err(ColumnsError::WholeFault { operator, span })
            }
            // As of other sums of a whole file: results that are all scalars are one row.
            Ok(RowWise { reads_fixed_rows: true, .. }) if !needs_rows => Ok(Scope::AllRows),
            Ok(RowWise { is_unnamed: true, .. }) => Ok(Scope::EachRowUnnamed),
            Ok(_) => Ok(Scope::EachRow),
            Err(error) if needs_rows => Err(error),
            Err(_) => Ok(Scope::AllRows),
        }
    }

    fn slots(&self, bound: &BoundExpr) -> Result<Vec<(Arc<str>, TypedSlot)>, ColumnsError> {
        let slot = |(index, (name, _)): (usize, &(Arc<str>, Expr))| {
            let slot = match index {
                0 => bound.output_slot(),
                _ => bound.side_output_slot(name)?,
            };
            Ok((name.clone(), slot.clone()))
        };
        self.results.iter().enumerate().map(slot).collect()
    }
}

/// Checks that the column of this name can be read, if there is one.
fn check_readable(sources: &[Box<dyn Source>], name: &str) -> Result<(), ColumnsError> {
    for source in sources {
        if let Some(column) = source.columns().iter().find(|c| &*c.name == name && c.element.is_none()) {
            return Err(unreadable(&**source, column));
        }
    }
    Ok(())
}

/// Types of columns and constants, and where each stands.
fn known_types(
    sources: &[Box<dyn Source>],
    constants: &[(Arc<str>, Value)],
) -> Result<BTreeMap<Arc<str>, (QType, String)>, ColumnsError> {
    let mut known: BTreeMap<Arc<str>, (QType, String)> = BTreeMap::new();
    let columns = sources.iter().flat_map(|source| {
        source.columns().iter().map(|column| {
            // A column that cannot be read is refused where it is used.
            let element = column.element.unwrap_or(ScalarType::Text);
            let qtype = QType::Array(ArrayType { class: ArrayClass::Dense, element });
            (column.name.clone(), qtype, source.file().to_owned())
        })
    });
    let inputs = constants.iter().map(|(name, value)| (name.clone(), value.qtype(), "the inputs".to_owned()));
    for (name, qtype, place) in columns.chain(inputs) {
        if let Some((_, first)) = known.insert(name.clone(), (qtype, place.clone())) {
            return Err(ColumnsError::SharedColumn { name, first, second: place });
        }
    }
    Ok(known)
}

/// The leaves of an expression and where they stand.
fn leaves(expr: &Expr) -> Vec<(Arc<str>, Span)> {
    let graph = expr.graph();
    let leaf = |id| match graph.node(id) {
        Node::Leaf(name) => Some((graph.name(name).clone(), graph.span(id))),
        _ => None,
    };
    graph.post_order(&[expr.root()]).into_iter().filter_map(leaf).collect()
}
