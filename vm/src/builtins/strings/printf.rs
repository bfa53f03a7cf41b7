//! `strings.printf`: text by a format in the manner of C.
//!
//! ```text
//! %[number$][flags][width][.precision][length]letter      flags  - + space # 0
//!                                                         letter d i o u x X c   integers
//! width, precision: digits, or * for an argument                 f F e E g G a A  numbers
//!                                                                s   strings     v   any
//! ```
//!
//! - `%%` is a percent sign. `%v` takes neither flags nor width; it prints as `%d`, `%g`, `%s` would,
//!   and a BOOLEAN as `true` or `false`.
//! - A BOOLEAN counts as the integer 0 or 1. Width and precision count bytes of UTF-8; `%c` gives one
//!   byte and `%lc` a code point. A TEXT result that is not UTF-8 in the end raises.
//! - Arguments that are not mentioned are ignored. Either all conversions number their argument or none.
//! - A NaN prints without a sign, which in C depends on the processor.
//! - Width and precision end at [`MAX_WIDTH`], so that a short format cannot fill the memory.

use crate::builtins::strings::argument::{FormatArgument, append, formatted_type, make_room, write_result};
use crate::builtins::strings::digits::{Style, write_byte, write_bytes, write_float, write_integer};
use crate::builtins::strings::units::check_length;
use crate::operator::{Family, KernelCall};
use crate::value::Fault;
use crate::value::budget::{Account, Exhausted};

/// Largest width and precision of a conversion.
pub const MAX_WIDTH: u64 = 1 << 20;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            "strings.printf",
            &["fmt", "*args"],
            "The format, a TEXT or BYTES as in C, with the arguments in place of `%d`, `%.3f`, `%s`, `%v`. \
             Raises if they do not fit.",
        )
        .cost_of(60)
        .raises()
        .on_demand(|family, types| {
            let [format, args @ ..] = types else { return None };
            let result = formatted_type(format, args)?;
            Some(family.make_general(types, result, printf))
        }),
    ]
}

fn printf(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    write_result(call, |call, out| {
        let FormatArgument::Bytes(format) = FormatArgument::read(call, 0) else { return Ok(()) };
        let argument = |index: usize| (index < call.len() - 1).then(|| FormatArgument::read(call, index + 1));
        let written = write_formatted(out, format, &argument, call.meter());
        written.map_err(|refusal| refusal.into_fault(|| mismatch(format)))
    })
}

#[cold]
fn mismatch(format: &[u8]) -> Fault {
    let format = String::from_utf8_lossy(format);
    Fault::Format { message: format!("format specification '{format}' doesn't match format arguments") }
}

/// Why a format cannot be carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It is not well formed, or asks for an argument that is not there or of another type.
    Mismatch,
    /// A limit: a width or precision above [`MAX_WIDTH`], a string that is too long, or no memory.
    Limit(Fault),
}

impl From<Exhausted> for Refusal {
    fn from(exhausted: Exhausted) -> Refusal {
        Refusal::Limit(exhausted.into())
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Limit(fault)
    }
}

impl Refusal {
    /// The fault of the operator, which says itself what does not match.
    pub fn into_fault(self, mismatch: impl FnOnce() -> Fault) -> Fault {
        match self {
            Refusal::Mismatch => mismatch(),
            Refusal::Limit(fault) => fault,
        }
    }
}

#[cold]
fn too_wide(actual: u64) -> Refusal {
    Refusal::Limit(Fault::Limit { limit: "format-width", actual, maximum: MAX_WIDTH })
}

/// Appends a format with its arguments.
///
/// # Errors
/// The buffer is left with what was written up to the refusal.
fn write_formatted<'a>(
    out: &mut Vec<u8>,
    format: &[u8],
    arguments: &impl Fn(usize) -> Option<FormatArgument<'a>>,
    account: &dyn Account,
) -> Result<(), Refusal> {
    Scanner { rest: format, last: None, taken: 0, numbered: false, account }.write_rest(out, arguments)
}

/// Appends a value as the format of a percent sign, the style and the letter would.
///
/// # Errors
/// As [`write_formatted`].
pub fn write_styled(
    out: &mut Vec<u8>,
    style: &[u8],
    letter: Option<u8>,
    value: FormatArgument<'_>,
    account: &dyn Account,
) -> Result<(), Refusal> {
    let argument = |position: usize| (position == 0).then_some(value);
    let mut scanner = Scanner { rest: style, last: letter, taken: 0, numbered: false, account };
    scanner.write_conversion(out, &argument)?;
    scanner.write_rest(out, &argument)
}

/// Bytes that a number may take besides its width and precision: the digits of the largest FLOAT64, and those that are cut.
const NUMBER_BYTES: usize = 2048;

/// One conversion, such as `%-5.2f`.
struct Conversion {
    argument: usize,
    style: Style,
    /// True for the length `l`, which means something to `c` only.
    long: bool,
    letter: u8,
}

fn convert(out: &mut Vec<u8>, conversion: &Conversion, argument: FormatArgument<'_>) -> Option<()> {
    let Conversion { style, long, letter, .. } = conversion;
    match (letter, argument) {
        (b'v', FormatArgument::Boolean(x)) => out.extend_from_slice(if x { b"true" } else { b"false" }),
        (b'v' | b's', FormatArgument::Bytes(bytes)) => write_bytes(out, style, bytes),
        (b'v', FormatArgument::Float32(_) | FormatArgument::Float64(_)) => {
            write_float(out, style, b'g', argument.float()?)
        }
        (b'v', _) => write_integer(out, style, b'd', argument.integer()?, argument.bits()),
        (b'c', _) if *long => {
            let character = char::from_u32(argument.integer()? as u32)?;
            write_bytes(out, style, character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        (b'c', _) => write_byte(out, style, argument.integer()? as u8),
        (b'd' | b'i' | b'o' | b'u' | b'x' | b'X', _) => {
            write_integer(out, style, *letter, argument.integer()?, argument.bits());
        }
        (b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A', _) => {
            write_float(out, style, *letter, argument.float()?);
        }
        _ => return None,
    }
    Some(())
}

/// Reads conversions from what is left of the format.
struct Scanner<'f> {
    rest: &'f [u8],
    /// A letter that stands behind the rest.
    last: Option<u8>,
    /// Arguments taken in order so far.
    taken: usize,
    /// True if conversions number their arguments.
    numbered: bool,
    account: &'f dyn Account,
}

impl Scanner<'_> {
    fn write_rest<'a>(
        &mut self,
        out: &mut Vec<u8>,
        arguments: &impl Fn(usize) -> Option<FormatArgument<'a>>,
    ) -> Result<(), Refusal> {
        while let Some(percent) = self.rest.iter().position(|b| *b == b'%') {
            append(out, &self.rest[..percent], self.account)?;
            self.rest = &self.rest[percent + 1..];
            self.account.ask()?;
            self.write_conversion(out, arguments)?;
        }
        append(out, self.rest, self.account)?;
        append(out, self.last.as_slice(), self.account)?;
        Ok(())
    }

    /// Writes what stands behind a percent sign.
    fn write_conversion<'a>(
        &mut self,
        out: &mut Vec<u8>,
        arguments: &impl Fn(usize) -> Option<FormatArgument<'a>>,
    ) -> Result<(), Refusal> {
        if self.eat(b'%') {
            return Ok(append(out, b"%", self.account)?);
        }
        let conversion = self.conversion(arguments).ok_or(Refusal::Mismatch)?;
        let argument = arguments(conversion.argument).ok_or(Refusal::Mismatch)?;
        let Style { width, precision, .. } = conversion.style;
        let widest = width.max(precision.unwrap_or(0));
        if widest as u64 > MAX_WIDTH {
            return Err(too_wide(widest as u64));
        }
        let bytes = match argument {
            FormatArgument::Bytes(bytes) => bytes.len().min(precision.unwrap_or(usize::MAX)),
            _ => NUMBER_BYTES,
        };
        if let FormatArgument::Bytes(_) = argument {
            check_length(out.len().saturating_add(bytes))?;
        }
        make_room(out, widest.saturating_add(bytes), self.account)?;
        convert(out, &conversion, argument).ok_or(Refusal::Mismatch)?;
        Ok(check_length(out.len())?)
    }

    /// The conversion behind a percent sign; `None` if it is not well formed, or a width is no integer.
    fn conversion<'a>(
        &mut self,
        arguments: &impl Fn(usize) -> Option<FormatArgument<'a>>,
    ) -> Option<Conversion> {
        let number = self.number()?;
        let before = self.rest.len();
        let mut style = Style::default();
        while self.flag(&mut style) {}
        if let Some(width) = self.amount(arguments)? {
            style.left |= width < 0;
            style.width = width.unsigned_abs() as usize;
        }
        if self.eat(b'.') {
            // A negative precision counts as none.
            style.precision = usize::try_from(self.amount(arguments)?.unwrap_or(0)).ok();
        }
        let long = self.length();
        let is_basic = self.rest.len() == before;
        let letter = self.bump()?;
        if !letter.is_ascii_alphabetic() || (letter == b'v' && !is_basic) {
            return None;
        }
        let argument = number.unwrap_or(self.taken);
        self.taken += usize::from(number.is_none());
        Some(Conversion { argument, style, long, letter })
    }

    /// `3$` as position 2. `None` if numbered and unnumbered conversions mix.
    fn number(&mut self) -> Option<Option<usize>> {
        let at = self.rest;
        let number = self.digits().filter(|number| *number > 0 && at[0] != b'0' && self.eat(b'$'));
        if number.is_none() {
            self.rest = at;
        }
        let mixed = if number.is_some() { self.taken > 0 } else { self.numbered };
        self.numbered = number.is_some();
        (!mixed).then(|| number.map(|number| number as usize - 1))
    }

    fn flag(&mut self, style: &mut Style) -> bool {
        match self.rest.first() {
            Some(b'-') => style.left = true,
            Some(b'+') => style.plus = true,
            Some(b' ') => style.space = true,
            Some(b'#') => style.alternative = true,
            Some(b'0') => style.zero = true,
            _ => return false,
        }
        self.bump().is_some()
    }

    /// Digits, or `*` for an integer argument, cut to 32 bits.
    fn amount<'a>(
        &mut self,
        arguments: &impl Fn(usize) -> Option<FormatArgument<'a>>,
    ) -> Option<Option<i64>> {
        if !self.eat(b'*') {
            return Some(self.digits());
        }
        let position = match self.numbered {
            true => self.number()??,
            false => {
                self.taken += 1;
                self.taken - 1
            }
        };
        let amount = arguments(position)?.integer()?;
        Some(Some(amount.clamp(-i64::from(i32::MAX), i64::from(i32::MAX))))
    }

    /// Up to nine digits; a tenth is left where no digit may stand.
    fn digits(&mut self) -> Option<i64> {
        let length = self.rest.iter().take(9).take_while(|b| b.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&self.rest[..length]).ok()?.parse().ok()?;
        self.rest = &self.rest[length..];
        Some(digits)
    }

    /// `hh h ll l L j z t q`; true for `l`. The others say nothing that the argument does not.
    fn length(&mut self) -> bool {
        match self.bump_if(|b| b"hlLjztq".contains(&b)) {
            Some(b'l') => !self.eat(b'l'),
            Some(b'h') => {
                self.eat(b'h');
                false
            }
            _ => false,
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.bump_if(|b| b == byte).is_some()
    }

    fn bump_if(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        self.rest.first().copied().filter(|b| wanted(*b)).and_then(|_| self.bump())
    }

    fn bump(&mut self) -> Option<u8> {
        let Some((first, rest)) = self.rest.split_first() else { return self.last.take() };
        self.rest = rest;
        Some(*first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::budget::Unlimited;
    use FormatArgument::{Boolean, Bytes, Float64, Int32, Int64};

    fn printf(format: &str, arguments: &[FormatArgument<'_>]) -> Result<String, Refusal> {
        let mut out = Vec::new();
        write_formatted(
            &mut out,
            format.as_bytes(),
            &|index: usize| arguments.get(index).copied(),
            &Unlimited,
        )?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn conversions() {
        let cases: &[(&str, &[FormatArgument<'_>], &str)] = &[
            ("100%% %s", &[Bytes("ñ".as_bytes())], "100% ñ"),
            ("%2$d %1$d", &[Int32(1), Int32(2)], "2 1"),
            ("%-*d|", &[Int32(4), Int32(7)], "7   |"),
            ("%*d|", &[Int32(-4), Int32(7)], "7   |"),
            ("%1$.*2$f", &[Float64(1.5), Int32(3)], "1.500"),
            ("%.*f", &[Int32(-1), Float64(1.5)], "1.500000"),
            ("%x %x", &[Int32(-1), Int64(-1)], "ffffffff ffffffffffffffff"),
            ("%v %v %v", &[Boolean(true), Float64(0.1), Int64(-5)], "true 0.1 -5"),
            ("%d %c", &[Boolean(true), Int32(65 + 256)], "1 A"),
            ("%3lc|%llc", &[Int32(0xf1), Int32(65)], " ñ|A"),
            ("%hhd %lld %Lf", &[Int32(300), Int64(1), Int32(2)], "300 1 2.000000"),
            ("%.1s|%5s|", &[Bytes(b"ab"), Bytes(b"ab")], "a|   ab|"),
            ("no", &[Int32(1)], "no"),
        ];
        for (format, arguments, expected) in cases {
            assert_eq!(printf(format, arguments).as_deref(), Ok(*expected), "{format}");
        }
    }

    #[test]
    fn styles_end_in_a_letter_of_their_own_or_the_given_one() {
        let cases: [(&str, Option<u8>, &str); 5] = [
            ("05", Some(b'd'), "00042"),
            ("x", None, "2a"),
            ("d ", Some(b'd'), "42 d"),
            ("%", Some(b'd'), "%d"),
            ("1$", Some(b'd'), "42"),
        ];
        for (style, letter, expected) in cases {
            let mut out = Vec::new();
            assert_eq!(write_styled(&mut out, style.as_bytes(), letter, Int32(42), &Unlimited), Ok(()));
            assert_eq!(out, expected.as_bytes());
        }
        assert_eq!(
            write_styled(&mut Vec::new(), b"5%", Some(b'd'), Int32(42), &Unlimited),
            Err(Refusal::Mismatch)
        );
    }

    #[test]
    fn refusals() {
        let one = [Int32(1), Int32(1)];
        for format in [
            "%",
            "%5",
            "%y",
            "%d %d %d",
            "%s",
            "%5v",
            "%lv",
            "%1$d %d",
            "%d %1$d",
            "%0$d",
            "%3$d",
            "%01$d",
            "%hhhd",
            "%.-1d",
            "%1234567890d",
            "%1$*d",
            "%n",
            "%5%",
        ] {
            assert_eq!(printf(format, &one), Err(Refusal::Mismatch), "{format}");
        }
        assert_eq!(printf("%999999999d", &one), Err(too_wide(999_999_999)));
        assert_eq!(printf("%*d", &[Int64(i64::MIN), Int32(1)]), Err(too_wide(i32::MAX as u64)));
        assert_eq!(printf("%d", &[Float64(1.0)]), Err(Refusal::Mismatch));
    }
}
