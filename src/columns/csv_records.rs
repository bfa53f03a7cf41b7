//! Records of CSV text, one after the other, with the lines they begin in.
//!
//! The parser of the crate `csv-core` finds cells; here are the buffers around it. A reader that knows
//! lines exactly has to see the line ends between records, which the crate `csv` keeps to itself.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::{self, Read};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

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
    parser: Reader,
}

impl Records {
    /// The records of a text whose cells have this byte between them.
    pub fn new(input: Box<dyn Read + Send>, delimiter: u8) -> Records {
        let parser = ReaderBuilder::new().delimiter(delimiter).build();
        Records { input, buffer: vec![0; BUFFER], start: 0, end: 0, read: 0, parser }
    }

    /// Bytes parsed.
    pub fn position(&self) -> u64 {
        self.read - (self.end - self.start) as u64
    }

    /// Replaces a record by the next one; false at the end. Empty lines are no records.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next(&mut self, record: &mut Record) -> io::Result<bool> {
        self.skip_line_ends()?;
        record.line = self.parser.line();
        let (mut bytes, mut cells) = (0, 0);
        loop {
            let input = &self.buffer[self.start..self.end];
            let (outcome, taken, written, ended) =
                self.parser.read_record(input, &mut record.bytes[bytes..], &mut record.ends[cells..]);
            self.start += taken;
            (bytes, cells) = (bytes + written, cells + ended);
            match outcome {
                ReadRecordResult::InputEmpty => self.fill()?,
                ReadRecordResult::OutputFull => grow(&mut record.bytes),
                ReadRecordResult::OutputEndsFull => grow(&mut record.ends),
                ReadRecordResult::Record | ReadRecordResult::End => {
                    record.cells = cells;
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
        self.read += self.end as u64;
        Ok(())
    }
}

fn grow<T: Clone + Default>(full: &mut Vec<T>) {
    full.resize((2 * full.len()).max(64), T::default());
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
        assert_eq!(lines("\n\n"), []);
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
