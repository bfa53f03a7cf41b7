//! Formatters: tools that lay out a source, for people who read it. None is used unless somebody asks.
//!
//! The text comes by standard input and goes by standard output, within a time limit. What a program gives does not depend on
//! it; a cache has no use for it, so that no set of steps has it by default.

use crate::native::error::NativeError;
use crate::native::process::{Ended, MOST_PRINTED, finished};
use crate::native::stage::{Language, ProgramSource};
use crate::workflow::{Fingerprint, Fingerprinter, Step};
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a formatter may take.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of what a formatter says about an error.
const LONGEST_LOG: u64 = 16 << 10;

/// The step behind a translation that has the formatter of the language lay out the text.
#[derive(Clone, Debug)]
pub struct Format {
    command: Vec<String>,
}

impl Format {
    /// The usual formatter of a language.
    pub fn usual<L: Language>() -> Format {
        Format::by(L::FORMATTER.iter().copied())
    }

    /// Another formatter: its program, and its arguments.
    pub fn by<'w>(command: impl IntoIterator<Item = &'w str>) -> Format {
        Format { command: command.into_iter().map(str::to_owned).collect() }
    }

    /// A text as the formatter lays it out.
    ///
    /// # Errors
    /// There is no such tool, it says no, gives nothing, or takes too long.
    pub fn text(&self, text: &str) -> Result<String, NativeError> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(text.to_owned()) };
        let failed = |what: String| NativeError::file(program, what);
        let io = |error: std::io::Error| failed(format!("the formatter cannot run: {error}"));
        let (mut input, mut output, mut log) = (
            tempfile::tempfile().map_err(io)?,
            tempfile::tempfile().map_err(io)?,
            tempfile::tempfile().map_err(io)?,
        );
        input.write_all(text.as_bytes()).and_then(|()| input.seek(SeekFrom::Start(0))).map_err(io)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(input));
        command.stdout(output.try_clone().map_err(io)?).stderr(log.try_clone().map_err(io)?);
        let status = match finished(command, &[&output, &log], TIME_LIMIT).map_err(io)? {
            Ended::With(status) => status,
            Ended::OutOfTime => {
                let seconds = TIME_LIMIT.as_secs();
                return Err(failed(format!("the formatter took longer than {seconds} s and was stopped")));
            }
            Ended::TooMuchPrinted => {
                return Err(failed(format!(
                    "the formatter printed more than {MOST_PRINTED} bytes and was stopped"
                )));
            }
        };
        let mut made = String::new();
        if !status.success() {
            log.seek(SeekFrom::Start(0)).map_err(io)?;
            let mut said = Vec::new();
            log.take(LONGEST_LOG).read_to_end(&mut said).map_err(io)?;
            return Err(failed(format!(
                "the formatter failed ({status}):\n{}",
                String::from_utf8_lossy(&said)
            )));
        }
        output.seek(SeekFrom::Start(0)).map_err(io)?;
        // A layout is longer than a text, but not by that much.
        output.take(64 * text.len() as u64 + (1 << 16)).read_to_string(&mut made).map_err(io)?;
        match made.trim().is_empty() {
            true => Err(failed("the formatter gave nothing".to_owned())),
            false => Ok(made),
        }
    }
}

impl Fingerprint for Format {
    fn feed(&self, to: &mut Fingerprinter) {
        to.group("Format", &[&self.command]);
    }
}

impl<L: Language> Step<ProgramSource<L>> for Format {
    type Out = ProgramSource<L>;
    type Err = NativeError;

    fn name(&self) -> &str {
        "format"
    }

    fn run(&self, mut source: ProgramSource<L>) -> Result<ProgramSource<L>, NativeError> {
        source.text = self.text(&source.text)?;
        Ok(source)
    }
}
