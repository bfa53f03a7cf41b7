//! FormatArgument: what `strings.printf` and `strings.format` take, and the result they fill.
//!
//! Both work on bytes: a TEXT argument is its UTF-8, a TEXT result is checked to be UTF-8 in the end.
//! The result is missing if the format or any argument is, whatever the format says.

use crate::builtins::strings::units::check_length;
use crate::builtins::strings::utf8::checked_buffer;
use crate::layout::access::{Bytes, PlainScalar, Text};
use crate::operator::KernelCall;
use crate::operator::string_rows::StringSlot;
use crate::value::budget::{Account, reserve_more};
use crate::value::{Fault, QType, ScalarType};

/// What a conversion takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FormatArgument<'a> {
    /// A BOOLEAN.
    Boolean(bool),
    /// An INT32.
    Int32(i32),
    /// An INT64.
    Int64(i64),
    /// A FLOAT32.
    Float32(f32),
    /// A FLOAT64.
    Float64(f64),
    /// The bytes of a BYTES or of a TEXT in UTF-8.
    Bytes(&'a [u8]),
}

impl<'a> FormatArgument<'a> {
    /// Reads an argument, which is present.
    pub fn read(call: &KernelCall<'a>, index: usize) -> FormatArgument<'a> {
        match call.qtype(index).scalar() {
            Some(ScalarType::Boolean) => FormatArgument::Boolean(plain(call, index)),
            Some(ScalarType::Int32) => FormatArgument::Int32(plain(call, index)),
            Some(ScalarType::Int64) => FormatArgument::Int64(plain(call, index)),
            Some(ScalarType::Float32) => FormatArgument::Float32(plain(call, index)),
            Some(ScalarType::Text) => {
                FormatArgument::Bytes(Text::read(call, index).unwrap_or_default().as_bytes())
            }
            Some(ScalarType::Bytes) => FormatArgument::Bytes(Bytes::read(call, index).unwrap_or_default()),
            _ => FormatArgument::Float64(plain(call, index)),
        }
    }

    /// The integer; a BOOLEAN counts as 0 or 1.
    pub fn integer(self) -> Option<i64> {
        match self {
            FormatArgument::Boolean(x) => Some(i64::from(x)),
            FormatArgument::Int32(x) => Some(i64::from(x)),
            FormatArgument::Int64(x) => Some(x),
            _ => None,
        }
    }

    /// The float, or the float nearest to the integer.
    pub fn float(self) -> Option<f64> {
        match self {
            FormatArgument::Float32(x) => Some(f64::from(x)),
            FormatArgument::Float64(x) => Some(x),
            other => other.integer().map(|x| x as f64),
        }
    }

    /// The bits that `%x` shows; a BOOLEAN is an INT32.
    pub fn bits(self) -> u64 {
        match self {
            FormatArgument::Int32(x) => u64::from(x as u32),
            other => other.integer().unwrap_or_default() as u64,
        }
    }
}

fn plain<T: PlainScalar>(call: &KernelCall<'_>, index: usize) -> T {
    match call.qtype(index).is_optional() {
        true => call.plain::<Option<T>>(index).unwrap_or_default(),
        false => call.plain::<T>(index),
    }
}

/// The result type for a format and arguments: the string type of the format, optional if anything is;
/// `None` for arguments that no conversion takes.
pub fn formatted_type(format: &QType, args: &[QType]) -> Option<QType> {
    let string = format.scalar().filter(|t| !t.is_plain())?;
    let takes = |t: ScalarType| t.is_numeric() || t == ScalarType::Boolean || t == string;
    if !args.iter().all(|arg| arg.scalar().is_some_and(takes)) {
        return None;
    }
    match format.is_optional() || args.iter().any(QType::is_optional) {
        true => Some(QType::Optional(string)),
        false => Some(QType::Scalar(string)),
    }
}

/// Makes room behind a result for so many bytes, which count.
///
/// # Errors
/// Too many bytes would be alive, or the system refuses.
pub fn make_room(out: &mut Vec<u8>, bytes: usize, account: &dyn Account) -> Result<(), Fault> {
    reserve_more(out, bytes, account).map_err(Fault::from)
}

/// Appends bytes of a format or of an argument to a result.
///
/// # Errors
/// The result would be longer than a string may be; or as [`make_room`].
pub fn append(out: &mut Vec<u8>, bytes: &[u8], account: &dyn Account) -> Result<(), Fault> {
    check_length(out.len().saturating_add(bytes.len()))?;
    make_room(out, bytes.len(), account)?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Fills the TEXT or BYTES result if all arguments are present.
///
/// # Errors
/// What `write` raises, and [`Fault::Format`] if a TEXT does not become UTF-8.
pub fn write_result<'f>(
    call: &mut KernelCall<'f>,
    write: impl FnOnce(&KernelCall<'f>, &mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if !(0..call.len()).all(|index| call.is_present(index)) {
        call.set_missing();
        return Ok(());
    }
    // The buffer leaves the frame while arguments are read.
    if call.result_type().scalar() == Some(ScalarType::Text) {
        let mut out = std::mem::take(call.text_out()).into_bytes();
        write(call, &mut out)?;
        *call.text_out() = checked_buffer(out)?;
    } else {
        let mut out = std::mem::take(call.bytes_out());
        write(call, &mut out)?;
        *call.bytes_out() = out;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_and_integers_are_numbers() {
        let of = |argument: FormatArgument<'_>| (argument.integer(), argument.float(), argument.bits());
        assert_eq!(of(FormatArgument::Boolean(true)), (Some(1), Some(1.0), 1));
        assert_eq!(of(FormatArgument::Int32(-1)), (Some(-1), Some(-1.0), 0xffff_ffff));
        assert_eq!(of(FormatArgument::Int64(-1)), (Some(-1), Some(-1.0), u64::MAX));
        assert_eq!(of(FormatArgument::Float32(0.5)), (None, Some(0.5), 0));
        assert_eq!(of(FormatArgument::Bytes(b"1")), (None, None, 0));
    }
}
