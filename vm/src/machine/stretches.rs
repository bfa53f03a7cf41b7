//! Stretches: how much fuel is charged where a run goes on.
//!
//! ```text
//! v2 = o0(v0)             3       up to the next jump, trap or call, which is charged as well; guards are passed
//! v3 = o1(v2)             2
//! jump_if<+2>(v3)         1       the stretches behind it are charged when it leads there
//! ```

use crate::program::{Body, Instruction};

/// By instruction the fuel from there to the next jump, trap or call; behind the last one there is none.
pub(super) fn stretches(body: &Body) -> Vec<u32> {
    let mut fuel = vec![0; body.instructions().len() + 1];
    for (ip, instruction) in body.instructions().iter().enumerate().rev() {
        let runs_on = matches!(instruction, Instruction::Operator { .. } | Instruction::Guard { .. });
        fuel[ip] = 1 + if runs_on { fuel[ip + 1] } else { 0 };
    }
    fuel
}
