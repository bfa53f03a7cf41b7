//! The header of NPY arrays, as the format's documentation has it (NumPy, `numpy.lib.format`).
//!
//! ```text
//! 93 'NUMPY'  major minor  length   {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }  spaces \n
//! ```
//!
//! The length has two bytes in version 1 and four in versions 2 and 3. It is read here, in a few lines:
//! the crates that do it bring a parser generator that needs a C compiler.

use cembra_vm::value::ScalarType;
use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Bytes a header may have: arrays of one axis and plain cells need 118.
const LONGEST: usize = 1 << 16;

/// The types of cells that have an [element](Cells::element).
pub const READABLE: &str = "bool, int8, int16, int32, int64, uint8, uint16, uint32, float32 and float64";

/// Bytes of a header that is written, with all that stands before it: a multiple of 64.
pub const WRITTEN: usize = 128;

/// How the cells of an array are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// `b`, `i`, `u` or `f`.
    pub kind: u8,
    /// Bytes of a cell.
    pub size: usize,
    /// True if the first byte is the most significant one.
    pub big_endian: bool,
}

impl Cells {
    /// Reads `<f8`, `|b1` and the like; none for anything that is no number or truth value.
    fn parse(descr: &str) -> Option<Cells> {
        let (order, rest) = descr.split_at_checked(1)?;
        let (kind, size) = rest.split_at_checked(1)?;
        let size = size.parse().ok().filter(|_| size.bytes().all(|digit| digit.is_ascii_digit()))?;
        let big_endian = match order {
            "<" | "|" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        Some(Cells { kind: kind.as_bytes()[0], size, big_endian })
    }

    /// The cells of an element as they are written; none for texts and bytes.
    pub fn of(element: ScalarType) -> Option<Cells> {
        let (kind, size) = match element {
            ScalarType::Boolean => (b'b', 1),
            ScalarType::Int32 => (b'i', 4),
            ScalarType::Int64 => (b'i', 8),
            ScalarType::Int8 => (b'i', 1),
            ScalarType::Int16 => (b'i', 2),
            ScalarType::Uint8 => (b'u', 1),
            ScalarType::Uint16 => (b'u', 2),
            ScalarType::Uint32 => (b'u', 4),
            ScalarType::Uint64 => (b'u', 8),
            ScalarType::Float32 => (b'f', 4),
            ScalarType::Float64 | ScalarType::WeakFloat => (b'f', 8),
            _ => return None,
        };
        Some(Cells { kind, size, big_endian: false })
    }

    /// The name of the type of the cells: `int8`, `float64`.
    pub fn type_name(self) -> String {
        let bits = self.size.saturating_mul(8);
        match self.kind {
            b'b' => "bool".to_owned(),
            b'i' => format!("int{bits}"),
            b'u' => format!("uint{bits}"),
            b'f' => format!("float{bits}"),
            b'c' => format!("complex{bits}"),
            kind => format!("{}{}", char::from(kind), self.size),
        }
    }

    /// The element that holds every cell; none if there is none.
    pub fn element(self) -> Option<ScalarType> {
        Some(match (self.kind, self.size) {
            (b'b', 1) => ScalarType::Boolean,
            (b'i', 1 | 2 | 4) | (b'u', 1 | 2) => ScalarType::Int32,
            (b'i', 8) | (b'u', 4) => ScalarType::Int64,
            (b'f', 4) => ScalarType::Float32,
            (b'f', 8) => ScalarType::Float64,
            _ => return None,
        })
    }
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the cells as it stands there.
    pub descr: String,
    /// How they are stored, if they are numbers or truth values.
    pub cells: Option<Cells>,
    /// Sizes of the axes.
    pub shape: Vec<u64>,
    /// True if the first index moves fastest; nothing to an array of one axis.
    pub is_fortran: bool,
    /// Bytes of the header, with all that stands before it.
    pub length: u64,
}

impl Header {
    /// Reads a header, and nothing behind it.
    ///
    /// # Errors
    /// The bytes cannot be read, or are no header.
    pub fn read(from: &mut impl Read) -> io::Result<Header> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(|_| wrong("no NPY array"))?;
        if &start[..6] != MAGIC {
            return Err(wrong("no NPY array: it does not begin with \\x93NUMPY"));
        }
        let (before, length) = match start[6] {
            1 => {
                let mut length = [0; 2];
                from.read_exact(&mut length)?;
                (10, usize::from(u16::from_le_bytes(length)))
            }
            2 | 3 => {
                let mut length = [0; 4];
                from.read_exact(&mut length)?;
                (12, u32::from_le_bytes(length) as usize)
            }
            _ => return Err(wrong("an NPY array of an unknown version")),
        };
        if length > LONGEST {
            return Err(wrong("the NPY header is longer than 65536 bytes"));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text).map_err(|_| wrong("the NPY header is cut off"))?;
        let text = std::str::from_utf8(&text).map_err(|_| wrong("the NPY header is not UTF-8"))?;
        let header = Header::parse(text).ok_or_else(|| wrong("the NPY header is malformed"))?;
        Ok(Header { length: before + length as u64, ..header })
    }

    /// Checks that an array with this header has exactly so many bytes, before memory is taken for its cells.
    /// Cells that cannot be read are not counted.
    ///
    /// # Errors
    /// There are fewer bytes or more.
    pub fn check_length(&self, bytes: u64) -> io::Result<()> {
        let Some(cells) = self.cells.filter(|cells| cells.element().is_some()) else { return Ok(()) };
        let empty = self.shape.contains(&0);
        let cells = match empty {
            true => Some(0),
            false => self.shape.iter().try_fold(cells.size as u64, |size, axis| size.checked_mul(*axis)),
        };
        let claimed = cells.and_then(|cells| cells.checked_add(self.length));
        if claimed == Some(bytes) {
            return Ok(());
        }
        let claimed = claimed.map_or("more than 2^64".to_owned(), |bytes| bytes.to_string());
        let shape = self.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let what = format!("an array of [{shape}] {} has {claimed} bytes, and there are {bytes}", self.descr);
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }

    /// Reads the dictionary of a header.
    fn parse(text: &str) -> Option<Header> {
        let descr = value_of(text, "descr")?;
        let (shape, rest) = value_of(text, "shape")?.strip_prefix('(')?.split_once(')')?;
        let order = value_of(text, "fortran_order")?;
        let is_fortran = order.starts_with("True");
        let behind_order = order.strip_prefix("True").or_else(|| order.strip_prefix("False"))?;
        if !ends(rest) || !ends(behind_order) {
            return None;
        }
        let axes = shape.split(',').map(str::trim).filter(|axis| !axis.is_empty());
        let shape = axes.map(|axis| axis.parse().ok()).collect::<Option<Vec<u64>>>()?;
        // A type with fields is a list, and has no cells that could be read.
        let name = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        if name.is_some_and(|(_, rest)| !ends(rest)) {
            return None;
        }
        let name = name.map_or_else(|| "a structure".to_owned(), |(name, _)| name.to_owned());
        Some(Header { cells: Cells::parse(&name), descr: name, shape, is_fortran, length: 0 })
    }
}

/// What follows `'key':`.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let key = format!("'{key}'");
    let behind = &text[text.find(&key)? + key.len()..];
    Some(behind.trim_start().strip_prefix(':')?.trim_start())
}

/// True if a value of the header has ended.
fn ends(rest: &str) -> bool {
    rest.trim_start().starts_with([',', '}'])
}

/// A header for an array of this shape, the last axis fastest, padded to [`WRITTEN`] bytes whatever the numbers.
///
/// # Panics
/// There are more than two axes.
pub fn written(cells: Cells, shape: &[u64]) -> Vec<u8> {
    assert!(shape.len() <= 2, "the header of two axes has {WRITTEN} bytes, whatever their sizes");
    let header = written_nd(cells, shape);
    assert_eq!(header.len(), WRITTEN, "the header of two axes is not longer");
    header
}

/// A header for an array of any number of axes, the last one fastest, padded to a multiple of 64 bytes and to
/// [`WRITTEN`] at least.
///
/// # Panics
/// The header is longer than 65,535 bytes: there are more than 3,000 axes.
pub fn written_nd(cells: Cells, shape: &[u64]) -> Vec<u8> {
    let shape: String = shape.iter().map(|size| format!("{size},")).collect();
    let order = if cells.size == 1 { '|' } else { '<' };
    let (kind, size) = (char::from(cells.kind), cells.size);
    let text = format!("{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({shape}), }}");
    let whole = (10 + text.len() + 1).next_multiple_of(64).max(WRITTEN);
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(u16::try_from(whole - 10).expect("arrays have few axes").to_le_bytes());
    header.extend(text.bytes());
    header.resize(whole - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back() {
        let cells = Cells { kind: b'f', size: 8, big_endian: false };
        for rows in [0, 7, u64::MAX] {
            let bytes = written(cells, &[rows]);
            assert_eq!(bytes.len(), WRITTEN);
            let header = Header::read(&mut &bytes[..]).expect("a header");
            let (descr, shape, length) = ("<f8".to_owned(), vec![rows], WRITTEN as u64);
            assert_eq!(header, Header { descr, cells: Some(cells), shape, is_fortran: false, length });
            let bytes = written(cells, &[rows, rows]);
            assert_eq!(bytes.len(), WRITTEN);
            assert_eq!(Header::read(&mut &bytes[..]).expect("a header").shape, [rows, rows]);
        }
    }

    #[test]
    fn what_can_be_read_is_what_has_an_element() {
        let cells = b"biufcUSO".iter().flat_map(|kind| (1..=16).map(|size| (*kind, size)));
        let cells = cells.map(|(kind, size)| Cells { kind, size, big_endian: false });
        let names: Vec<String> =
            cells.filter(|cells| cells.element().is_some()).map(Cells::type_name).collect();
        assert_eq!(names.join(", "), READABLE.replace(" and ", ", "));
    }

    #[test]
    fn bytes_are_what_the_header_says() {
        let check = |shape: &[u64], bytes| {
            let cells = Cells { kind: b'f', size: 8, big_endian: false };
            let header = Header {
                descr: "<f8".to_owned(),
                cells: Some(cells),
                shape: shape.to_vec(),
                is_fortran: false,
                length: 128,
            };
            header.check_length(bytes).is_ok()
        };
        assert!(check(&[], 136) && check(&[3], 152) && check(&[2, 3], 176) && check(&[0, u64::MAX, 2], 128));
        assert!(
            !check(&[3], 151) && !check(&[3], 153) && !check(&[u64::MAX, 2], 128) && !check(&[1 << 61], 128)
        );
    }

    #[test]
    fn other_headers_are_read_or_refused() {
        let header =
            |text: &str| Header::parse(text).map(|h| (h.descr, h.cells.and_then(Cells::element), h.shape));
        assert_eq!(
            header("{'shape': (2, 3), 'fortran_order': True, 'descr': '>i2'}"),
            Some((">i2".to_owned(), Some(ScalarType::Int32), vec![2, 3]))
        );
        assert_eq!(
            header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}"),
            Some(("a structure".to_owned(), None, vec![]))
        );
        assert_eq!(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"), None);
        assert_eq!(header("{'descr': '<f8', 'shape': (1,)}"), None);
        assert_eq!(header("{'descr': '<f8', 'fortran_order': 1, 'shape': (1,)}"), None);
        for more in [
            "{'descr': '<f8' + x, 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f8', 'fortran_order': False or x, 'shape': (1,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)*2}",
        ] {
            assert_eq!(header(more), None, "{more}");
        }
        // Sizes that are no size of a cell, or whose bits are too many.
        for size in ["+8", "18446744073709551615", "2305843009213693960", "0"] {
            let text = format!("{{'descr': '<f{size}', 'fortran_order': False, 'shape': (1,)}}");
            assert_eq!(header(&text), Some((format!("<f{size}"), None, vec![1])), "{size}");
            let told = Header::parse(&text).and_then(|header| header.cells).map(Cells::type_name);
            assert!(told.is_none_or(|name| name != "float64"), "{size}");
        }
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend(u32::MAX.to_le_bytes());
        assert!(Header::read(&mut &long[..]).is_err());
    }
}
