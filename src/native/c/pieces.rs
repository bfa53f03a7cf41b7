//! Calls of [parallel](cembra_vm::program::parallel) routines: one piece after the other, on the thread of the caller.
//!
//! ```text
//! for (uint64_t piece = 0; piece < pieces; piece++) {
//!     cembra_array a2 = …;                   the window of an array that the routine changes
//!     r1(…, begin, behind, &a2)              gives y
//!     so_far = piece == 0 ? y : r2(so_far, y)
//! }
//! ```
//!
//! The number of pieces and the order of their results are those of the machine, so that results have its bits.

use crate::native::c::calls::returns;
use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, leaves};
use crate::native::c::writer::Writer;
use cembra_vm::program::parallel::Parallel;
use cembra_vm::program::{Routine, ValueId};
use std::fmt::Write;

/// The text that programs with parallel routines need.
pub(super) const PIECES: &str = include_str!("pieces.c");

/// A call of a parallel routine.
struct PiecesCall<'c> {
    callee: &'c Routine,
    parallel: &'c Parallel,
    operands: &'c [ValueId],
}

impl PiecesCall<'_> {
    /// The number of an input of the routine.
    fn position(&self, input: ValueId) -> usize {
        let found = self.callee.inputs.iter().position(|(_, value)| *value == input);
        found.expect("the verifier has seen that windows have inputs")
    }
}

impl Writer<'_> {
    /// Calls a parallel routine.
    pub(super) fn call_in_pieces(
        &self,
        ip: usize,
        (number, parallel): (usize, &Parallel),
        operands: &[ValueId],
        result: ValueId,
    ) -> String {
        let call = PiecesCall { callee: &self.program.routines()[number], parallel, operands };
        let of_result: Vec<CType> = self.locals.all(result).into_iter().map(|(_, ctype)| ctype).collect();
        let mut text = String::from("{ ");
        for (position, ctype) in of_result.iter().enumerate() {
            let _ = write!(text, "{0} y{position} = 0, s{position} = 0; ", ctype.name());
        }
        let trips = [0, 1].map(|end| self.locals.only(operands[end]));
        let _ = write!(text, "cembra_pieces all = pieces_of({}, {}); ", trips[0], trips[1]);
        text += &self.windows_inside(ip, &call);
        text += "for (uint64_t piece = 0; piece < all.count; piece++) { \
                 int64_t begin = begin_of(&all, piece), behind = begin_of(&all, piece + 1); ";
        let args = self.arguments_of_piece(&mut text, &call);
        let [pieces, so_far] = ["y", "s"]
            .map(|name| (0..of_result.len()).map(|leaf| format!("{name}{leaf}")).collect::<Vec<_>>());
        text += &self.called(ip, number, &args, &pieces);
        let moved: String = so_far.iter().zip(&pieces).map(|(s, y)| format!("{s} = {y}; ")).collect();
        let both: String = so_far.iter().chain(&pieces).map(|local| format!(", {local}")).collect();
        let combined = self.called(ip, parallel.combine as usize, &both, &so_far);
        let _ = write!(text, "if (piece == 0) {{ {moved}}} else {{ {combined}}} }} ");
        for ((local, _), so_far) in self.locals.all(result).iter().zip(&so_far) {
            let _ = write!(text, "{local} = {so_far}; ");
        }
        text + "}"
    }

    /// Sees to it that each trip has its elements.
    fn windows_inside(&self, ip: usize, call: &PiecesCall<'_>) -> String {
        let mut text = String::new();
        for window in &call.parallel.windows {
            let [array, first, step] =
                [window.array, window.first, window.step].map(|input| call.operands[call.position(input)]);
            let (first, step) = (self.locals.only(first), self.locals.only(step));
            let size = (format!("{}_n{}", self.locals.owner(array), window.axis), CType::I64);
            let raise =
                self.raise(ip, &quoted("a round has no element of its own"), std::slice::from_ref(&size));
            let _ = write!(
                text,
                "if (CEMBRA_RARE(!window_is_inside(&all, {first}, {step}, {}))) \
                 {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} ",
                size.0
            );
        }
        text
    }

    /// The arguments of a piece; statements that make its windows are added to the text.
    fn arguments_of_piece(&self, text: &mut String, call: &PiecesCall<'_>) -> String {
        let mut args = String::from(", begin, behind");
        for (position, operand) in call.operands.iter().enumerate().skip(2) {
            if self.locals.array(*operand).is_none() {
                self.locals.all(*operand).iter().for_each(|(local, _)| args += &format!(", {local}"));
                continue;
            }
            let _ = write!(text, "cembra_array a{position} = {}; ", self.descriptor(*operand));
            let _ = write!(args, ", &a{position}");
            let window = call.parallel.windows.iter().find(|window| call.position(window.array) == position);
            if let Some(window) = window {
                let [first, step] = [window.first, window.step]
                    .map(|input| self.locals.only(call.operands[call.position(input)]));
                let _ = write!(
                    text,
                    "take_window(&a{position}, {}, {first}, {step}, begin, behind); ",
                    window.axis
                );
            }
        }
        args
    }

    /// Calls a routine of plain results, whose leaves go to locals.
    fn called(&self, ip: usize, number: usize, args: &str, to: &[String]) -> String {
        let routine = &self.program.routines()[number];
        let returns = returns(routine).unwrap_or("cembra_status");
        let (through, value) = match to {
            [only] => (String::new(), format!("{only} = z.value; ")),
            all => (all.iter().map(|local| format!(", &{local}")).collect(), String::new()),
        };
        debug_assert_eq!(
            leaves(routine.slot(routine.output).qtype()).map(|leaves| leaves.len()),
            Some(to.len())
        );
        format!(
            "{{ {returns} z = r{number}(run, depth{args}{through}); \
             if (CEMBRA_RARE(z.status)) {{ int32_t k = z.status; {} }} {value}}} ",
            self.leave(ip)
        )
    }
}
