//! ProgramId: the content hash of a program, and the first line of its text.

use std::fmt;

/// The version of the text that this build writes and reads.
pub const VERSION: u32 = 1;

/// First word of every program text.
pub(super) const TITLE: &str = "cembra-program";

/// Content hash of a program, equal across processes and machines: the SHA-256 of its text without
/// the hash line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramId(pub [u8; 32]);

impl ProgramId {
    /// Reads the 64 hexadecimal digits in which an id prints.
    pub fn from_hex(digits: &str) -> Option<ProgramId> {
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(ProgramId(bytes))
    }
}

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramId({self})")
    }
}
