//! What literal folding may use up in one preparation.

use cembra_vm::value::Value;

/// What folding may use up in one preparation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldLimits {
    /// Rows that folded operators go over, all together: 1,048,576 by default.
    pub rows: u64,
    /// Bytes of rows and texts that one operator may have alive: 256 MiB by default.
    pub bytes_alive: u64,
    /// Bytes of rows and texts that become literals, all together: 16 MiB by default.
    pub bytes_kept: u64,
}

impl Default for FoldLimits {
    fn default() -> FoldLimits {
        FoldLimits { rows: 1 << 20, bytes_alive: 256 << 20, bytes_kept: 16 << 20 }
    }
}

impl FoldLimits {
    /// Takes what an operator went over and its value; false if there is not as much left.
    pub(super) fn take(&mut self, args: &[Value], value: &Value) -> bool {
        let rows = args.iter().chain([value]).map(Value::rows).max().unwrap_or(0) as u64;
        let (Some(rows), Some(kept)) =
            (self.rows.checked_sub(rows), self.bytes_kept.checked_sub(value.heap_bytes()))
        else {
            return false;
        };
        (self.rows, self.bytes_kept) = (rows, kept);
        true
    }
}
