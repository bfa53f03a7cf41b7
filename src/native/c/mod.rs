//! Programs as C11.
//!
//! ```text
//! header.c     types of the boundary, categories of errors, the functions of the program      also a file of its own
//! prelude.c    arithmetic of the operators, in functions that are defined for every operand
//! r0, r1, …    a function for each routine
//! NAME_call    takes addresses of all arguments and results: what loaders call
//! NAME         the same with types, for people
//! NAME_sweep   goes over elements where the host says that they stand, if the program is one region
//! ```
//!
//! An error leaves through every function as its category; where it was raised, and with which operands, stands in the
//! `cembra_error` of the call.

mod arrays;
pub(in crate::native) mod calls;
mod cells;
mod choosing;
mod chosen;
pub(in crate::native) mod composed;
pub(in crate::native) mod constants;
mod elements;
mod entry;
mod fold_kinds;
mod folds;
mod forms;
mod groups;
mod lists;
mod literals;
pub(in crate::native) mod locals;
mod loops;
mod makes;
mod moved;
mod operators;
mod pairs;
mod parts;
mod pieces;
pub(in crate::native) mod recipes;
mod reductions;
mod region_functions;
mod region_text;
mod region_walk;
mod regions;
mod routine;
mod row_folds;
pub(in crate::native) mod rules;
pub(in crate::native) mod special;
mod speculation;
mod stretches;
mod sweeps;
mod syntax;
mod tables;
mod writer;

pub use entry::header;

use crate::native::c::chosen::{CHOSEN, chosen_functions};
use crate::native::c::composed::{composed, in_c, is_composed, special_functions};
use crate::native::c::fold_kinds::{FOLDS, fold_functions};
use crate::native::c::groups::{GROUPS, RANKS, RANKS_NEED, group_functions, needs_folds, rank_functions};
use crate::native::c::lists::{LISTS, list_functions};
use crate::native::c::locals::CType;
use crate::native::c::moved::{MOVED, moved_functions};
use crate::native::c::pairs::{PAIRS, pair_functions};
use crate::native::c::parts::part_functions;
use crate::native::c::pieces::PIECES;
use crate::native::c::reductions::{REDUCTIONS, SPREAD, needs_reductions};
use crate::native::c::region_text::REGIONS;
use crate::native::c::rules::needs_decimals;
use crate::native::c::special::{ANGLES, Special};
use crate::native::c::tables::{TABLES, table_functions};
use crate::native::error::NotTranslated;
use crate::native::operation::{operators, text_for};
use crate::native::stage::{C, ENGINE, ProgramCall, ProgramSource};
use crate::workflow::{Fingerprint, Fingerprinter, Step};
use cembra_vm::builtins::nd::part::ASSIGN;
use cembra_vm::library::BoundaryArray;
use cembra_vm::program::Program;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::budget::{DEFAULT_BYTES_ALIVE, MOST_ARRAY_ROWS};
use std::fmt::Write;
use std::sync::Arc;

/// The text that programs with rows need.
const ROWS: &str = include_str!("rows.c");

/// Functions of rules that go by the digits of a number.
const DECIMALS: &str = include_str!("decimals.c");

/// What operators do, as functions of C.
const PRELUDE: &str = include_str!("prelude.c");

/// What one array may have, and what a run may have alive: as in the interpreter, unless that is told otherwise.
fn limits() -> String {
    format!(
        "#define CEMBRA_ELEMENTS UINT64_C({MOST_ARRAY_ROWS})\n#define CEMBRA_BYTES UINT64_C({DEFAULT_BYTES_ALIVE})\n\n"
    )
}

/// True for names that the text uses itself.
fn is_used(name: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    // Functions and macros; its locals are in nobody's way.
    let called = [
        PRELUDE, DECIMALS, PIECES, REGIONS, FOLDS, ROWS, GROUPS, SPREAD, REDUCTIONS, CHOSEN, MOVED, LISTS,
        RANKS, TABLES, PAIRS,
    ]
    .into_iter()
    .flat_map(|text| text.split('('))
    .filter_map(|text| text.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next());
    let is_of_folds = |prefix: &&str| name.starts_with(*prefix);
    let is_own = name.starts_with("cembra_")
        || name.starts_with("CEMBRA_")
        || is_composed(name)
        || called.into_iter().any(|word| word == name)
        || [
            "special_",
            "leaf_",
            "join_",
            "tree_",
            "finish_",
            "fold_",
            "group_",
            "scan_",
            "moments_",
            "key_",
            "whole_",
            "ranked_",
            "has_nan_",
            "running_",
            "grouped_",
            "rows_below_",
            "sorted_",
            "hash_",
            "find_key_",
            "enter_key_",
            "add_key_",
            "order_of_",
            "deviations_",
            "products_",
            "distances_",
        ]
        .iter()
        .any(is_of_folds);
    is_own || name.strip_prefix('r').and_then(|rest| rest.split('_').next()).is_some_and(is_number)
}

/// Translates programs to C11.
///
/// Operators that have neither a recipe nor a rule of their own and are no special function, texts and tuples with arrays have no
/// form yet: the error names them.
#[derive(Clone, Debug, Default)]
pub struct TranslateToC {
    source: Option<Arc<str>>,
}

impl TranslateToC {
    /// The same for a program made of this text: errors tell lines of it. A source then changes with every line that is
    /// added in front.
    pub fn with_lines_of(source: &str) -> TranslateToC {
        TranslateToC { source: Some(source.into()) }
    }

    /// The functions of the routines, with the instruction in front of its statements: for people.
    ///
    /// # Errors
    /// As for the step.
    pub fn explained(&self, call: &ProgramCall) -> Result<String, NotTranslated> {
        let (program, line) = (call.translated(), |span: Span| self.line(span));
        let functions = (0..program.routines().len())
            .map(|number| routine::function(number, &program, call.layout(), &line, true));
        Ok(functions.collect::<Result<Vec<String>, _>>()?.join("\n"))
    }

    /// The line of a place in the text, from 1; 0 if it is unknown.
    fn line(&self, span: Span) -> u32 {
        let source = self.source.as_deref().filter(|_| !span.is_unknown());
        let before = source.and_then(|text| text.as_bytes().get(..span.start as usize));
        before.map_or(0, |before| before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1)
    }
}

/// True if a program has rows that may be missing, or edges, which are made of them.
fn has_rows(program: &Program) -> bool {
    let mut values = program.routines().iter().flat_map(|routine| &routine.values);
    values.any(|info| {
        let qtype = info.slot.qtype();
        qtype.is_edge() || BoundaryArray::of(qtype).is_some_and(BoundaryArray::has_rows)
    })
}

/// True if a program has operators on whole arrays.
fn walks(program: &Program) -> bool {
    operators(program).any(|overload| {
        let takes_arrays = overload.args().iter().any(|qtype| BoundaryArray::of(qtype).is_some());
        takes_arrays && !overload.reads_lent() && (!overload.updates() || &**overload.name() == ASSIGN)
    })
}

/// The special functions that a program calls, and what is made of them.
fn special_texts(program: &Program) -> String {
    let mut found = special_functions(program);
    if !rank_functions(program).is_empty() {
        let needed = RANKS_NEED.map(|kind| Special::total(kind, CType::F64));
        found.extend(needed.map(|special| (special.name(), special)));
    }
    let angles = if found.values().any(Special::needs_angles) { ANGLES } else { "" };
    // What others call stands in front of them.
    let (callers, called): (Vec<&Special>, Vec<&Special>) =
        found.values().partition(|special| !special.calls().is_empty());
    let functions = called.into_iter().chain(callers).map(|special| format!("\n{}", special.text()));
    let composed = composed(program, in_c);
    std::iter::once(angles.to_owned()).chain(functions).chain([composed]).collect()
}

impl Fingerprint for TranslateToC {
    fn feed(&self, to: &mut Fingerprinter) {
        to.group("TranslateToC", &[&ENGINE, &self.source.as_deref().map(str::to_owned)]);
    }
}

impl Step<ProgramCall> for TranslateToC {
    type Out = ProgramSource<C>;
    type Err = NotTranslated;

    fn name(&self) -> &str {
        "translate"
    }

    fn run(&self, call: ProgramCall) -> Result<ProgramSource<C>, NotTranslated> {
        let (program, signature) = (&call.translated(), call.signature());
        if is_used(call.name()) {
            return Err(NotTranslated::Name { name: call.name().to_owned() });
        }
        let mut text = header(call.name(), &signature)?;
        text.push_str("\n#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n\n");
        text += &limits();
        text.push_str(PRELUDE);
        text += text_for(program, DECIMALS, needs_decimals);
        text += if has_rows(program) { ROWS } else { "" };
        text += if walks(program) { REGIONS } else { "" };
        let (has_groups, has_reductions) = (needs_folds(program), needs_reductions(program));
        text += if has_groups || has_reductions { FOLDS } else { fold_functions(program) };
        text += if has_groups || has_reductions { SPREAD } else { "" };
        text += if has_reductions { REDUCTIONS } else { "" };
        text += &special_texts(program);
        text += group_functions(program);
        text += rank_functions(program);
        text += chosen_functions(program);
        let parts = part_functions(program);
        text += if parts.is_empty() { moved_functions(program) } else { MOVED };
        text += parts;
        text += pair_functions(program);
        text += list_functions(program);
        text += table_functions(program);
        text += if program.routines().iter().any(|routine| routine.parallel.is_some()) { PIECES } else { "" };
        text.push('\n');
        for (number, routine) in program.routines().iter().enumerate() {
            let _ = writeln!(text, "{};", calls::parameters(number, routine)?);
        }
        let line = |span: Span| self.line(span);
        for number in 0..program.routines().len() {
            text.push('\n');
            text += &routine::function(number, program, call.layout(), &line, false)?;
        }
        text += &sweeps::sweep(&call, program).unwrap_or_default();
        text.push('\n');
        text += &entry::entry(call.name(), program, &signature)?;
        Ok(ProgramSource::new(&call, text, vec!["m".to_owned()]))
    }
}
