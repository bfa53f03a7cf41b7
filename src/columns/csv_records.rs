//! Records of CSV text, one after the other, with the lines they begin in.
//!
//! The parser of the crate `csv-core` finds cells; here are the buffers around it. A reader that knows
//! lines exactly has to see the line ends between records, which the crate `csv` keeps to itself.
//!
//! That parser takes any text. Quotes are followed beside it, so that a quote that is never closed is
//! an error, and not a cell with the rest of the file.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::{self, Read};
use thiserror::Error;

/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// Bytes that a record may have, and the ends of its cells: 1 GiB.
const LONGEST: usize = 1 << 30;

/// What some editors begin UTF-8 files with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A record: its cells, without quotes.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The cells one after the other; what stands behind the last end is left over from others.
    bytes: Vec<u8>,
    /// Where each cell ends.
    ends: Vec<usize>,
    cells: usize,
    /// The line it begins in, from 1.
    pub line: u64,
    /// The line of the first quote that has characters other than a delimiter behind its end.
    pub loose_quote: Option<u64>,
}

/// Why there is no next record.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The input cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The text ends inside of quotes.
    #[error("line {line}: the quote that opens here is never closed")]
    OpenQuote {
        /// The line with the opening quote.
        line: u64,
    },
}

impl Record {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells
    }

    /// True without cells.
    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// A cell.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let ends = self.ends.get(..self.cells)?;
        let start = if index == 0 { 0 } else { *ends.get(index - 1)? };
        self.bytes.get(start..*ends.get(index)?)
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.cells).filter_map(|index| self.get(index))
    }
}

/// Records of a text.
pub struct Records {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have not been parsed.
    start: usize,
    end: usize,
    /// Bytes read from the input.
    read: u64,
    delimiter: u8,
    parser: Reader,
    /// Bytes that a record may have.
    longest: usize,
}

/// Where the text is between quotes. Bytes of other cells than the quoted ones are not looked at one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    /// A cell begins.
    Start,
    /// In a cell without quotes, or behind the quoted part of one.
    Plain,
    /// Behind an opening quote that stands in this line.
    Quoted(u64),
    /// Behind a quote in quotes that opened in this line: the end, or the first half of a doubled quote.
    Closing(u64),
}

/// Follows the quotes of one record.
#[derive(Debug)]
struct Quotes {
    state: QuoteState,
    line: u64,
    delimiter: u8,
    loose: Option<u64>,
}

impl Quotes {
    fn new(line: u64, delimiter: u8) -> Quotes {
        Quotes { state: QuoteState::Start, line, delimiter, loose: None }
    }

    /// Takes the next bytes of the record.
    fn take(&mut self, bytes: &[u8]) {
        let is_plain = matches!(self.state, QuoteState::Start | QuoteState::Plain);
        match bytes.last() {
            None => {}
            Some(last) if is_plain && !bytes.contains(&b'"') => {
                self.state = if *last == self.delimiter { QuoteState::Start } else { QuoteState::Plain };
            }
            Some(_) => bytes.iter().for_each(|byte| self.step(*byte)),
        }
    }

    fn step(&mut self, byte: u8) {
        use QuoteState::{Closing, Plain, Quoted, Start};
        self.line += u64::from(byte == b'\n');
        self.state = match (self.state, byte) {
            (Start, b'"') => Quoted(self.line),
            (Start | Plain, byte) => {
                if byte == self.delimiter {
                    Start
                } else {
                    Plain
                }
            }
            (Quoted(line), b'"') => Closing(line),
            (Quoted(line), _) => Quoted(line),
            (Closing(line), b'"') => Quoted(line),
            (Closing(_), byte) if byte == self.delimiter => Start,
            (Closing(_), b'\n' | b'\r') => Plain,
            (Closing(line), _) => {
                self.loose.get_or_insert(line);
                Plain
            }
        };
    }
}

impl Records {
    /// The records of a text whose cells have this byte between them.
    pub fn new(input: Box<dyn Read + Send>, delimiter: u8) -> Records {
        let parser = ReaderBuilder::new().delimiter(delimiter).build();
        let (buffer, longest) = (vec![0; BUFFER], LONGEST);
        Records { input, buffer, start: 0, end: 0, read: 0, delimiter, parser, longest }
    }

    /// Bytes parsed.
    pub fn position(&self) -> u64 {
        self.read - (self.end - self.start) as u64
    }

    /// Replaces a record by the next one; false at the end. Empty lines are no records.
    ///
    /// # Errors
    /// The input cannot be read, or ends inside of quotes.
    pub fn next(&mut self, record: &mut Record) -> Result<bool, RecordError> {
        self.skip_line_ends()?;
        record.line = self.parser.line();
        let mut quotes = Quotes::new(record.line, self.delimiter);
        let (mut bytes, mut cells) = (0, 0);
        loop {
            let input = &self.buffer[self.start..self.end];
            let (outcome, taken, written, ended) =
                self.parser.read_record(input, &mut record.bytes[bytes..], &mut record.ends[cells..]);
            quotes.take(&input[..taken]);
            self.start += taken;
            (bytes, cells) = (bytes + written, cells + ended);
            match outcome {
                ReadRecordResult::InputEmpty => self.fill()?,
                ReadRecordResult::OutputFull => grow(&mut record.bytes, self.longest, record.line)?,
                ReadRecordResult::OutputEndsFull => grow(&mut record.ends, self.longest, record.line)?,
                ReadRecordResult::Record | ReadRecordResult::End => {
                    if let QuoteState::Quoted(line) = quotes.state {
                        return Err(RecordError::OpenQuote { line });
                    }
                    record.cells = cells;
                    record.loose_quote = quotes.loose;
                    return Ok(matches!(outcome, ReadRecordResult::Record));
                }
            }
        }
    }

    /// Passes over line ends, which the parser would take for the beginning of the next record.
    fn skip_line_ends(&mut self) -> io::Result<()> {
        loop {
            if self.start == self.end {
                self.fill()?;
            }
            match self.buffer[self.start..self.end].first() {
                Some(b'\n') => self.parser.set_line(self.parser.line() + 1),
                Some(b'\r') => {}
                _ => return Ok(()),
            }
            self.start += 1;
        }
    }

    /// Reads more; at the end of the input the buffer stays empty.
    fn fill(&mut self) -> io::Result<()> {
        self.start = 0;
        self.end = 0;
        self.end = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        // The parser would pass over a byte order mark, and a cell behind it may be quoted.
        let is_marked = self.read == 0 && self.buffer[..self.end].starts_with(BYTE_ORDER_MARK);
        self.start = if is_marked { BYTE_ORDER_MARK.len() } else { 0 };
        self.read += self.end as u64;
        Ok(())
    }
}

/// Doubles a full buffer, up to `longest` bytes.
fn grow<T: Clone + Default>(full: &mut Vec<T>, longest: usize, line: u64) -> io::Result<()> {
    let most = longest / size_of::<T>();
    let length = (2 * full.len()).max(64).min(most);
    if length <= full.len() {
        let what = format!("limit csv-record: the record of line {line} has more than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    full.try_reserve_exact(length - full.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    full.resize(length, T::default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static str) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(Box::new(text.as_bytes()), b',');
        let mut record = Record::default();
        let mut all = Vec::new();
        while records.next(&mut record).expect("text can be read") {
            let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
            all.push((record.line, cells.collect()));
        }
        assert_eq!(records.position(), text.len() as u64);
        all
    }

    #[test]
    fn records_know_their_lines() {
        let cells = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        for end in ["\n", "\r\n"] {
            let text: &'static str =
                ["a,b", "", "1,\"x", "y\"", "2,", "", "", "\"\"", "3,4"].join(end).leak();
            let quoted = format!("x{end}y");
            let expected = [
                (1, cells(&["a", "b"])),
                (3, cells(&["1", &quoted])),
                (5, cells(&["2", ""])),
                (8, cells(&[""])),
                (9, cells(&["3", "4"])),
            ];
            assert_eq!(lines(text), expected, "{text:?}");
        }
        assert_eq!(lines("\u{feff}a\n\n"), [(1, cells(&["a"]))]);
        assert_eq!(lines("\u{feff}\"a,b\"\n"), [(1, cells(&["a,b"]))]);
        assert_eq!(lines("\n\n"), []);
    }

    /// Lines of loose quotes, or of the quote that stays open; texts are read whole and byte by byte.
    fn quotes(text: &'static str) -> Result<Vec<Option<u64>>, u64> {
        let read = |input: Box<dyn Read + Send>| {
            let mut records = Records::new(input, b',');
            let mut record = Record::default();
            let mut all = Vec::new();
            loop {
                match records.next(&mut record) {
                    Ok(true) => all.push(record.loose_quote),
                    Ok(false) => return Ok(all),
                    Err(RecordError::OpenQuote { line }) => return Err(line),
                    Err(RecordError::Read(error)) => panic!("{error}"),
                }
            }
        };
        let whole = read(Box::new(text.as_bytes()));
        assert_eq!(read(Box::new(Bytewise(text.as_bytes()))), whole, "{text:?}");
        whole
    }

    /// Nobody has to send a line end.
    #[test]
    fn records_have_a_most() {
        let mut records = Records::new(Box::new(io::repeat(b'x')), b',');
        records.longest = 1 << 20;
        let error = records.next(&mut Record::default()).expect_err("it never ends");
        let RecordError::Read(error) = error else { panic!("{error:?}") };
        assert_eq!(error.to_string(), "limit csv-record: the record of line 1 has more than 1048576 bytes");
        let mut records = Records::new(Box::new(io::repeat(b',')), b',');
        records.longest = 1 << 20;
        assert!(records.next(&mut Record::default()).is_err());
    }

    struct Bytewise(&'static [u8]);

    impl Read for Bytewise {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn quotes_are_closed_at_the_end_of_their_cell() {
        assert_eq!(quotes("a,b\n1,\"x\"\n\"y\",\"\"\n"), Ok(vec![None; 3]));
        assert_eq!(quotes("a\n\"x \"\"y\"\"\"\r\n\"\"\"\"\n5\" pipe\n"), Ok(vec![None; 4]));
        assert_eq!(quotes("a\n\"x\ny\""), Ok(vec![None; 2]));
        assert_eq!(quotes("a\n\"x\ny\n"), Err(2));
        assert_eq!(quotes("a,b\n\"x\ny\",\"z\n1,2\n"), Err(3));
        assert_eq!(quotes("\""), Err(1));
        assert_eq!(quotes("a\n\"\"\"\n"), Err(2));
        assert_eq!(quotes("a,b\n1,\"x\n2,y\n3,\"z\"\n4,w\n"), Ok(vec![None, Some(2), None]));
        assert_eq!(quotes("a\n\"x\" \n\"y\"z\"\n"), Ok(vec![None, Some(2), Some(3)]));
    }

    #[test]
    fn cells_may_be_longer_than_buffers() {
        let text: &'static str =
            format!("{},\"{}\"\n1,2\n", "a".repeat(BUFFER + 7), "b,\n".repeat(BUFFER)).leak();
        let all = lines(text);
        assert_eq!(all[0].1.iter().map(String::len).collect::<Vec<_>>(), [BUFFER + 7, 3 * BUFFER]);
        assert_eq!(all[1], (2 + BUFFER as u64, vec!["1".to_owned(), "2".to_owned()]));
    }
}
