//! What a Parquet file says about sizes, checked against its length before a reader believes it.
//!
//! ```text
//! PAR1 .. chunk of a column: page header, page, page header, page .. metadata (where the chunks are)  length  PAR1
//! ```
//!
//! The reader takes memory for a page by the size that its header claims. So the headers are read here first, in the
//! compact form of Thrift, as far as their sizes go.
//!
//! 1. The chunks of the selected columns lie inside of the file, and their pages inside of the chunks.
//! 2. A page is no longer than its compressed bytes can become, and a dictionary has no more values than bits.

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Bytes that a page compressed by brotli may have, which knows no largest ratio.
const BROTLI_PAGE: u64 = 64 << 20;

/// Levels of structures in a page header.
const DEPTH: u8 = 16;

/// What a page header says.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageSizes {
    uncompressed: i64,
    compressed: i64,
    dictionary_values: i64,
    /// Bytes of the header.
    header: u64,
}

/// Checks the pages of a chunk.
///
/// # Errors
/// They cannot be read, or say sizes that their bytes do not justify.
pub fn check_chunk(file: &mut File, length: u64, chunk: &ColumnChunkMetaData) -> io::Result<()> {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let (start, bytes) = (u64::try_from(start).ok(), u64::try_from(chunk.compressed_size()).ok());
    let (Some(start), Some(bytes)) = (start, bytes) else {
        return Err(wrong("a column has a negative size"));
    };
    let end = start.checked_add(bytes).filter(|end| *end <= length);
    let end = end.ok_or_else(|| wrong("a column goes beyond the end of the file"))?;
    let mut at = start;
    file.seek(SeekFrom::Start(at))?;
    let mut input = BufReader::with_capacity(1 << 12, file);
    while at < end {
        let mut header = Header { input: (&mut input).take(end - at), read: 0 };
        let sizes = header.page_sizes()?;
        at += sizes.header;
        check_page(&sizes, chunk.compression(), end - at)?;
        at += sizes.compressed.unsigned_abs();
        input.seek_relative(sizes.compressed)?;
    }
    Ok(())
}

fn check_page(sizes: &PageSizes, compression: Compression, left: u64) -> io::Result<()> {
    let (compressed, uncompressed) =
        match (u64::try_from(sizes.compressed), u64::try_from(sizes.uncompressed)) {
            (Ok(compressed), Ok(uncompressed)) if compressed <= left => (compressed, uncompressed),
            _ => return Err(wrong("a page goes beyond the end of its column")),
        };
    let most = match compression {
        Compression::UNCOMPRESSED => compressed,
        // A copy of 64 bytes takes two or three.
        Compression::SNAPPY => compressed.saturating_mul(32),
        Compression::LZ4 | Compression::LZ4_RAW => compressed.saturating_mul(255),
        Compression::BROTLI(_) => compressed.saturating_mul(1032).max(BROTLI_PAGE),
        _ => compressed.saturating_mul(1032),
    };
    // A page may keep its levels uncompressed, and say that it is not compressed at all.
    if uncompressed > most.max(compressed) {
        return Err(wrong(&format!("{compressed} compressed bytes cannot become {uncompressed}")));
    }
    if u64::try_from(sizes.dictionary_values)
        .ok()
        .is_none_or(|values| values > uncompressed.saturating_mul(8))
    {
        let values = sizes.dictionary_values;
        return Err(wrong(&format!("a dictionary of {uncompressed} bytes cannot have {values} values")));
    }
    Ok(())
}

/// A page header in the compact form of Thrift.
struct Header<R> {
    input: R,
    read: u64,
}

/// Types of fields in structures.
mod field {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const INTEGERS: std::ops::RangeInclusive<u8> = 4..=6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCTURE: u8 = 12;
}

impl<R: Read> Header<R> {
    fn page_sizes(&mut self) -> io::Result<PageSizes> {
        let mut sizes = PageSizes::default();
        let mut last = 0;
        while let Some((id, kind)) = self.field(&mut last)? {
            match (id, kind) {
                (2, 5) => sizes.uncompressed = self.integer()?,
                (3, 5) => sizes.compressed = self.integer()?,
                (7, field::STRUCTURE) => sizes.dictionary_values = self.dictionary_values()?,
                _ => self.skip(kind, DEPTH)?,
            }
        }
        sizes.header = self.read;
        Ok(sizes)
    }

    /// The number of values of a dictionary, the first field of its structure.
    fn dictionary_values(&mut self) -> io::Result<i64> {
        let (mut values, mut last) = (0, 0);
        while let Some((id, kind)) = self.field(&mut last)? {
            match (id, kind) {
                (1, 5) => values = self.integer()?,
                _ => self.skip(kind, DEPTH)?,
            }
        }
        Ok(values)
    }

    /// Number and type of the next field of a structure; none at its end.
    fn field(&mut self, last: &mut i64) -> io::Result<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let kind = byte & 0x0f;
        if kind == field::STOP {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => self.integer()?,
            delta => last.wrapping_add(i64::from(delta)),
        };
        Ok(Some((*last, kind)))
    }

    fn skip(&mut self, kind: u8, depth: u8) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| wrong("a page header is too deep"))?;
        match kind {
            field::TRUE | field::FALSE => Ok(()),
            field::BYTE => self.byte().map(drop),
            kind if field::INTEGERS.contains(&kind) => self.integer().map(drop),
            field::DOUBLE => self.skip_bytes(8),
            field::BINARY => {
                let bytes = self.varint()?;
                self.skip_bytes(bytes)
            }
            field::LIST | field::SET => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                self.skip_elements(count, &[byte & 0x0f], depth)
            }
            field::MAP => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                self.skip_elements(count, &[kinds >> 4, kinds & 0x0f], depth)
            }
            field::STRUCTURE => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            _ => Err(wrong("a page header is damaged")),
        }
    }

    /// Truth values take a byte each in lists, none in structures.
    fn skip_elements(&mut self, count: u64, kinds: &[u8], depth: u8) -> io::Result<()> {
        for _ in 0..count {
            for kind in kinds {
                match *kind {
                    field::TRUE | field::FALSE => self.byte().map(drop)?,
                    kind => self.skip(kind, depth)?,
                }
            }
        }
        Ok(())
    }

    fn skip_bytes(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
        self.read += skipped;
        if skipped == bytes { Ok(()) } else { Err(wrong("a page header is cut off")) }
    }

    fn integer(&mut self) -> io::Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(wrong("a number of a page header is too long"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte).map_err(|_| wrong("a page header is cut off"))?;
        self.read += 1;
        Ok(byte[0])
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_sizes() {
        // A data page of 100 bytes that were 40, with a structure to skip; a dictionary of 3 values.
        let data = [0x15, 0, 0x15, 200, 1, 0x15, 80, 0x2c, 0x15, 6, 0x15, 0, 0x1c, 0x18, 2, 9, 9, 0, 0, 0, 7];
        let dictionary = [0x15, 4, 0x15, 24, 0x15, 24, 0x4c, 0x15, 6, 0x15, 0, 0, 0];
        let sizes = |bytes: &[u8]| Header { input: bytes, read: 0 }.page_sizes();
        let expected = PageSizes { uncompressed: 100, compressed: 40, dictionary_values: 0, header: 20 };
        assert_eq!(sizes(&data).expect("a header"), expected);
        let expected = PageSizes { uncompressed: 12, compressed: 12, dictionary_values: 3, header: 13 };
        assert_eq!(sizes(&dictionary).expect("a header"), expected);
        assert!(sizes(&data[..12]).is_err() && sizes(&[0x18, 255, 255, 255, 255, 127]).is_err());
        assert!(sizes(&[0x1c; 100]).is_err());
    }

    #[test]
    fn pages_are_no_longer_than_they_can_become() {
        let check = |uncompressed, compressed, dictionary_values, compression| {
            let sizes = PageSizes { uncompressed, compressed, dictionary_values, header: 0 };
            check_page(&sizes, compression, 1000).is_ok()
        };
        assert!(check(1000, 100, 10, Compression::SNAPPY) && !check(1 << 30, 100, 0, Compression::SNAPPY));
        assert!(
            check(100, 100, 0, Compression::UNCOMPRESSED) && !check(101, 100, 0, Compression::UNCOMPRESSED)
        );
        assert!(!check(10, 1001, 0, Compression::SNAPPY) && !check(-1, 10, 0, Compression::SNAPPY));
        assert!(!check(10, 10, 81, Compression::SNAPPY) && check(10, 10, 80, Compression::SNAPPY));
    }
}
