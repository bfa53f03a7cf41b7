//! The text form of a program: it prints, reads back to an equal program, and is what gets stored
//! and sent.
//!
//! ```text
//! cembra-program 1
//! hash 5f0c…                                    # of everything but this line
//! routine 0
//!   layout size 32, align 8
//!     input FLOAT32 [0x00]
//!     output FLOAT64 [0x08]
//!     l0: FLOAT64 [0x18] = 1
//!   values
//!     v0: FLOAT32 [0x00]
//!     v1: FLOAT64 [0x08]
//!     v2: FLOAT64 [0x10]
//!     v3: FLOAT64 [0x18]
//!   interface
//!     input 'x' = v0
//!     output = v1
//!     literal v3 = l0
//!   operators
//!     o0: core.to_float64(FLOAT32) -> FLOAT64 total
//!     o1: math.add(FLOAT64, FLOAT64) -> FLOAT64 total
//!   eval
//!     v2 = o0(v0) @0..1
//!     v1 = o1(v2, v3)
//! end
//! ```
//!
//! Every fact is on a line of its own and nothing is abbreviated. `docs/program-text.md` has the
//! grammar. [`dump`](crate::program::dump) is the form for people who do not need it back.
//!
//! 1. `parse(print(p))` prints as `p`; two programs are equal if their texts are.
//! 2. Whatever [`parse`] returns has passed [`verify`](crate::program::verify) and [`slot_check`]. The
//!    hash finds accidents; against malice, which can compute a hash, these two suffice.
//! 3. No text makes [`parse`] panic, recurse without bound, or take memory out of proportion to its
//!    length beyond the named [`Limits`].

mod check;
mod cursor;
mod error;
mod eval;
mod id;
mod layout;
mod literal;
mod parse;
mod print;
mod quoted;
mod types;

pub use error::{Limits, OperatorProblem, Position, ProgramTextError};
pub use id::{ProgramId, VERSION};

use crate::operator::OperatorTable;
use crate::program::program::Program;
use crate::program::slot_check;
use crate::program::text::error::check_limit;
use crate::program::text::id::{TITLE, version_of};
use crate::program::verify::verify;
use crate::value::{QType, Value};
use sha2::{Digest, Sha256};

/// The text of a program, with version and hash.
///
/// # Panics
/// If an instruction refers to an operand list or trap that its body does not have.
pub fn print(program: &Program) -> String {
    let mut text = format!("{TITLE} {}\nhash {}\n", version_of(program), content_hash(program));
    print::write_routines(program, &mut text, |_| {});
    text
}

/// A value in the form of a literal, without its type; [`parse_value`] reads it back bit for bit.
pub fn print_value(value: &Value) -> String {
    let mut text = String::new();
    literal::write_literal(&mut text, value);
    text
}

/// Reads a value of a known type in the form of a literal: `1.5`, `missing`, `'x'`, `(1, 2.5)`,
/// `[1, 2]`.
///
/// # Errors
/// The text has another form.
pub fn parse_value(text: &str, qtype: &QType) -> Result<Value, ProgramTextError> {
    let mut line = cursor::Lines::new(text).take();
    let value = literal::read_literal(&mut line, qtype)?;
    line.done()?;
    Ok(value)
}

/// The hash of a program's content, without keeping its text.
///
/// # Panics
/// As [`print()`].
pub fn content_hash(program: &Program) -> ProgramId {
    let mut hash = Sha256::new_with_prefix(format!("{TITLE} {}\n", version_of(program)));
    print::write_routines(program, &mut String::new(), |line| {
        hash.update(&line);
        line.clear();
    });
    ProgramId(hash.finalize().into())
}

/// Reads a program under the default [`Limits`], resolves its operators and checks it.
///
/// # Errors
/// The text does not read, is not the one its hash was taken of, needs operators that the table does
/// not have, or is not a sound program.
pub fn parse(text: &str, table: &OperatorTable) -> Result<Program, ProgramTextError> {
    parse_within(text, table, &Limits::default())
}

/// As [`parse`], under limits of the host's choice.
///
/// # Errors
/// As [`parse`].
pub fn parse_within(text: &str, table: &OperatorTable, limits: &Limits) -> Result<Program, ProgramTextError> {
    check_limit("program-bytes", "bytes of text", text.len() as u64, limits.text_bytes)?;
    let (program, version, stated) = parse::Parser::new(text, table, limits).program()?;
    let needed = version_of(&program);
    if version != needed {
        return Err(ProgramTextError::OtherVersion { version, needed });
    }
    let actual = content_hash(&program);
    if stated != actual {
        return Err(ProgramTextError::Hash { stated, actual });
    }
    verify(&program)?;
    check_limit("program-check-bytes", "bytes to check", check::cost(&program), limits.check_bytes)?;
    slot_check::check(&program)?;
    Ok(program)
}
