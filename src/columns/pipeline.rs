//! The three threads of a run: reading, computing, writing.

use crate::columns::error::{ColumnsError, Problem, RowError};
use crate::columns::evaluate::{Evaluator, OnError, Results};
use crate::columns::progress::{Progress, RunOptions, Summary};
use crate::columns::sink::{OutputColumn, Sink};
use crate::columns::source::{Rows, Source};
use cembra_vm::value::ArrayRows;
use cembra_vm::value::array::{MAX_ROWS, cell_size};
use cembra_vm::value::repr::write_payload;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender};

/// Rows of the first batch, which tells how many bytes a row has.
const FIRST: usize = 64;

/// Bytes of rows that a batch should have at most: wide rows and long texts make batches shorter.
const BATCH_BYTES: usize = 16 << 20;

/// Rows of all sources, and how far the first one is read.
#[derive(Debug, Default)]
pub struct Batch {
    parts: Vec<Rows>,
    read: (u64, u64),
}

/// What the writing thread is told.
pub enum Message {
    /// The results of a batch.
    Rows(Vec<ArrayRows>),
    /// The run is over, and has succeeded.
    Finish,
}

/// Why computing stops early.
pub enum Stop {
    /// A row cannot be read or computed.
    Failed(Box<ColumnsError>),
    /// Another thread has ended early: the writing one says why, the reading one has panicked.
    NoThread,
}

impl From<ColumnsError> for Stop {
    fn from(error: ColumnsError) -> Stop {
        Stop::Failed(Box::new(error))
    }
}

/// Reads all batches of at most so many rows; without a number, one with all of them. The end is told, so
/// that it is not mistaken for a thread that is gone.
pub fn read_all(
    mut sources: Vec<Box<dyn Source>>,
    batch_rows: Option<usize>,
    batches: &SyncSender<Result<Option<Batch>, ColumnsError>>,
    empties: &Receiver<Batch>,
) {
    let (mut first, mut rows) = (0, batch_rows.map_or(MAX_ROWS, |most| most.min(FIRST)));
    loop {
        let mut batch = empties.try_recv().unwrap_or_default();
        let mut read = fill(&mut sources, rows, first, &mut batch);
        let count = batch.parts.first().map_or(0, |rows| rows.count);
        let is_last = match batch_rows {
            Some(_) => read.is_err() || count == 0,
            None => {
                read = read.and_then(|()| expect_end(&mut sources));
                true
            }
        };
        first += count as u64;
        rows = next_rows(&batch, count).min(rows.saturating_mul(8)).min(batch_rows.unwrap_or(MAX_ROWS));
        // Of all rows there is a batch even if there are none.
        let is_batch = read.is_err() || count > 0 || batch_rows.is_none();
        let sent = if is_batch { batches.send(read.map(|()| Some(batch))) } else { Ok(()) };
        if sent.is_err() {
            return;
        }
        if is_last {
            // Nobody listens after an error.
            let _ = batches.send(Ok(None));
            return;
        }
    }
}

/// Rows that have the bytes of a batch, if they are like those of this one.
fn next_rows(batch: &Batch, count: usize) -> usize {
    let bytes: usize = batch.parts.iter().flat_map(|rows| &rows.columns).map(bytes_of).sum();
    (BATCH_BYTES.saturating_mul(count) / bytes.max(1)).max(1)
}

/// Bytes of cells: texts have those of their characters and an end each.
fn bytes_of(rows: &ArrayRows) -> usize {
    match rows.element().is_plain() {
        true => rows.len() * cell_size(rows.element()),
        false => rows.bytes().len() + rows.len() * size_of::<u64>(),
    }
}

/// Reads the next rows of all sources.
fn fill(
    sources: &mut [Box<dyn Source>],
    most: usize,
    first: u64,
    batch: &mut Batch,
) -> Result<(), ColumnsError> {
    batch.parts.resize_with(sources.len(), Rows::default);
    for (source, rows) in sources.iter_mut().zip(&mut batch.parts) {
        source.read(most, rows)?;
    }
    batch.read = sources.first().map_or((0, 0), |source| source.progress());
    let expected = batch.parts.first().map_or(0, |rows| rows.count);
    let Some(other) = batch.parts.iter().position(|rows| rows.count != expected) else { return Ok(()) };
    let mut total = |index: usize| -> Result<u64, ColumnsError> {
        let read = first + batch.parts[index].count as u64;
        Ok(read + rows_to_the_end(&mut *sources[index])?)
    };
    let (first_rows, second_rows) = (total(0)?, total(other)?);
    let file = |index: usize| sources[index].file().to_owned();
    Err(ColumnsError::RowCounts { first: file(0), first_rows, second: file(other), second_rows })
}

fn rows_to_the_end(source: &mut dyn Source) -> Result<u64, ColumnsError> {
    let (mut rows, mut count) = (Rows::default(), 0);
    loop {
        source.read(4096, &mut rows)?;
        match rows.count {
            0 => return Ok(count),
            more => count += more as u64,
        }
    }
}

/// Checks that one batch had all rows.
fn expect_end(sources: &mut [Box<dyn Source>]) -> Result<(), ColumnsError> {
    let mut rows = Rows::default();
    for source in sources {
        source.read(1, &mut rows)?;
        if rows.count > 0 {
            return Err(ColumnsError::TooManyRows { file: source.file().to_owned(), limit: MAX_ROWS });
        }
    }
    Ok(())
}

/// Writes all results. Without the last message the sink is dropped unfinished.
///
/// # Errors
/// The sink fails.
pub fn write_all(mut sink: Box<dyn Sink>, results: &Receiver<Message>) -> Result<(), ColumnsError> {
    while let Ok(message) = results.recv() {
        match message {
            Message::Rows(columns) => sink.write(&columns.iter().collect::<Vec<_>>())?,
            Message::Finish => return sink.finish(),
        }
    }
    Ok(())
}

/// The computing thread.
pub struct Work {
    evaluator: Evaluator,
    /// Names of the columns, source by source.
    names: Vec<Arc<str>>,
    /// Names of the files.
    files: Vec<String>,
    options: RunOptions,
    /// What has been done so far.
    pub summary: Summary,
}

impl Work {
    /// Nothing done yet.
    pub fn new(
        evaluator: Evaluator,
        names: Vec<Arc<str>>,
        files: Vec<String>,
        outputs: &[OutputColumn],
        options: RunOptions,
    ) -> Work {
        let head = outputs.iter().map(|column| ArrayRows::new(column.element)).collect();
        Work { evaluator, names, files, options, summary: Summary { head, ..Summary::default() } }
    }

    /// Computes all batches, until there are enough rows.
    ///
    /// # Errors
    /// A row fails, and the run with it; or the writing thread is gone.
    pub fn compute(
        &mut self,
        incoming: &Receiver<Result<Option<Batch>, ColumnsError>>,
        recycled: &Sender<Batch>,
        results: &SyncSender<Message>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        loop {
            let Some(mut batch) = incoming.recv().map_err(|_| Stop::NoThread)?? else { return Ok(()) };
            let computed = self.batch(&mut batch)?;
            let (read, total) = batch.read;
            // The reading thread may have ended.
            let _ = recycled.send(batch);
            self.keep_head(&computed);
            self.summary.written += computed.columns.first().map_or(0, |rows| rows.len()) as u64;
            results.send(Message::Rows(computed.columns)).map_err(|_| Stop::NoThread)?;
            progress(Progress { rows: self.summary.rows, read, total });
            if self.options.enough.is_some_and(|enough| self.summary.written >= enough) {
                return Ok(());
            }
        }
    }

    fn batch(&mut self, batch: &mut Batch) -> Result<Results, ColumnsError> {
        let count = batch.parts.first().map_or(0, |rows| rows.count);
        let mut columns: Vec<ArrayRows> =
            batch.parts.iter_mut().flat_map(|rows| rows.columns.drain(..)).collect();
        let bad = all_bad(&batch.parts);
        let results = self.evaluator.batch(&mut columns, count, &bad, self.options.on_error)?;
        if let Some((row, problem)) = results.failed.first() {
            let error = self.row_error(&batch.parts, &columns, *row, problem);
            if self.options.on_error == OnError::Fail {
                return Err(error.into());
            }
            self.summary.first_failure.get_or_insert(error);
        }
        self.summary.failed += results.failed.len() as u64;
        self.summary.rows += count as u64;
        // The memory goes back where it came from; which source gets which array does not matter.
        if let Some(rows) = batch.parts.first_mut() {
            rows.columns = columns;
        }
        Ok(results)
    }

    fn row_error(&self, parts: &[Rows], columns: &[ArrayRows], row: usize, problem: &Problem) -> RowError {
        let is_it = |rows: &Rows| rows.bad.iter().any(|(at, other)| *at == row && other == problem);
        let source = parts.iter().position(is_it);
        let file = source.map_or_else(|| self.files.join(", "), |index| self.files[index].clone());
        let lines = match source {
            Some(index) => &parts[index].lines,
            None => parts
                .iter()
                .map(|rows| &rows.lines)
                .find(|lines| !lines.is_empty())
                .unwrap_or(&parts[0].lines),
        };
        let line = lines.get(row).copied();
        let value = |(name, rows): (&Arc<str>, &ArrayRows)| (name.clone(), shown(rows, row));
        let raised = matches!(problem, Problem::Raised(_));
        let values = self.names.iter().zip(columns).filter(|_| raised).map(value).collect();
        RowError { file, row: self.summary.rows + row as u64 + 1, line, problem: problem.clone(), values }
    }

    fn keep_head(&mut self, results: &Results) {
        for (head, rows) in self.summary.head.iter_mut().zip(&results.columns) {
            let left = self.options.head.saturating_sub(head.len());
            (0..rows.len().min(left)).for_each(|row| head.push_row_of(rows, row));
        }
    }
}

/// The bad rows of all sources, one problem each.
fn all_bad(parts: &[Rows]) -> Vec<(usize, Problem)> {
    let mut all: Vec<(usize, Problem)> = parts.iter().flat_map(|rows| rows.bad.iter().cloned()).collect();
    all.sort_by_key(|(row, _)| *row);
    all.dedup_by_key(|(row, _)| *row);
    all
}

/// A cell as messages and tables show it.
pub fn shown(rows: &ArrayRows, row: usize) -> String {
    let mut text = String::new();
    match rows.get(row) {
        Some(value) => write_payload(&mut text, &value),
        None => text.push_str("NA"),
    }
    text
}
