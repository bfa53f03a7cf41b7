//! The driver: batches from sources through a program to a sink.
//!
//! ```text
//! reading thread          main thread              writing thread
//! sources ──> batch ══1══> program ──> results ══1══> sink
//!    ^                        │ empty batch
//!    └────────────────────────┘
//! ```
//!
//! At most one batch waits on each side, so there are three batches of rows and three of results in
//! memory at most, whatever the size of the files.

use crate::columns::error::ColumnsError;
use crate::columns::evaluate::{Evaluator, Scope};
use crate::columns::pipeline::{Message, Stop, Work, read_all, write_all};
use crate::columns::progress::{Progress, RunOptions, Summary};
use crate::columns::sink::{OutputColumn, Sink};
use crate::columns::source::{Source, unreadable};
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::BoundExpr;
use cembra_vm::value::{QType, ScalarType, Value};
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

/// A compiled expression with what it is run on.
pub struct Job {
    sources: Vec<Box<dyn Source>>,
    evaluator: Evaluator,
    /// Names of the columns that the program takes, source by source.
    names: Vec<Arc<str>>,
    outputs: Vec<OutputColumn>,
    options: RunOptions,
}

/// The type of a result as a column: masks are truth values, weak floats are doubles.
///
/// # Errors
/// The result is neither an array nor a scalar.
pub fn output_column(name: &Arc<str>, qtype: &QType) -> Result<OutputColumn, ColumnsError> {
    let element = match qtype {
        QType::Array(array) => Some(array.element),
        other => other.scalar(),
    };
    let wrong = || ColumnsError::OutputType { name: name.clone(), qtype: qtype.clone() };
    let element = match element.ok_or_else(wrong)? {
        ScalarType::Unit => ScalarType::Boolean,
        ScalarType::WeakFloat => ScalarType::Float64,
        other => other,
    };
    Ok(OutputColumn { name: name.clone(), element })
}

impl Job {
    /// A program whose results are named by `outputs`, on the columns of the sources that its inputs name.
    /// The other inputs have constant values. A program that does not work row by row needs all rows in
    /// one batch.
    ///
    /// # Errors
    /// A result is no column, or a column cannot be read.
    pub fn new(
        bound: BoundExpr,
        mut sources: Vec<Box<dyn Source>>,
        outputs: &[(Arc<str>, TypedSlot)],
        constants: &[(Arc<str>, Value)],
        (options, scope): (RunOptions, Scope),
    ) -> Result<Job, ColumnsError> {
        let columns = outputs.iter().map(|(name, slot)| output_column(name, slot.qtype()));
        let columns: Vec<OutputColumn> = columns.collect::<Result<_, _>>()?;
        let mut names = Vec::new();
        for source in &mut sources {
            let wanted = |name: &str| bound.input_slot(name).is_ok();
            let offered = source.columns().iter().enumerate();
            let chosen: Vec<usize> =
                offered.filter(|(_, c)| wanted(&c.name)).map(|(index, _)| index).collect();
            names.extend(chosen.iter().map(|index| source.columns()[*index].name.clone()));
            if let Some(column) = chosen.iter().map(|i| &source.columns()[*i]).find(|c| c.element.is_none()) {
                return Err(unreadable(&**source, column));
            }
            source.select(&chosen)?;
        }
        let slots: Vec<TypedSlot> = outputs.iter().map(|(_, slot)| slot.clone()).collect();
        let elements = columns.iter().map(|column| column.element).collect();
        let evaluator = Evaluator::new(bound, &names, slots, elements, constants, scope)?;
        let evaluator = evaluator.within(options.budget.clone());
        Ok(Job { sources, evaluator, names, outputs: columns, options })
    }

    /// The result columns.
    pub fn outputs(&self) -> &[OutputColumn] {
        &self.outputs
    }

    /// Runs to the end, and finishes the sink.
    ///
    /// # Errors
    /// A file cannot be read or written, or a row fails and the job says that then the run fails. The
    /// sink is then not finished.
    pub fn run(
        self,
        sink: Box<dyn Sink>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Summary, ColumnsError> {
        let Job { sources, evaluator, names, outputs, options } = self;
        let files = sources.iter().map(|source| source.file().to_owned()).collect();
        let mut work = Work::new(evaluator, names, files, &outputs, options.clone());
        std::thread::scope(|scope| {
            let (batches, incoming) = sync_channel(1);
            let (recycled, empties) = channel();
            let (results, outgoing) = sync_channel(1);
            scope.spawn(move || read_all(sources, options.batch_rows, &batches, &empties));
            let writer = scope.spawn(move || write_all(sink, &outgoing));
            let computed = work.compute(&incoming, &recycled, &results, progress);
            // The reading thread stops when it cannot send, the writing thread at the end of its batches.
            drop((incoming, recycled));
            if computed.is_ok() {
                let _ = results.send(Message::Finish);
            }
            drop(results);
            let written = writer.join().expect("sinks report errors and do not panic");
            match computed {
                Err(Stop::Failed(error)) => Err(*error),
                _ => written,
            }
        })?;
        Ok(work.summary)
    }
}
