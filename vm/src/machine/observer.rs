//! Observers: watch a run instruction by instruction.
//!
//! An observed run uses stepped code; a run without an observer pays nothing. [`Trace`] records the
//! values each instruction wrote, [`Profile`] counts and times instructions.

use crate::frame::Frame;
use crate::frame::typed::read_value;
use crate::program::{Program, Routine, ValueId};
use crate::value::Value;
use std::time::{Duration, Instant};

/// The instruction a run is at. Only a run makes one: the program is verified, and the frame is of the
/// routine's layout.
///
/// ```compile_fail,E0451
/// use cembra_vm::{frame::Frame, machine::observer::Step, program::Program};
/// fn step<'s>(program: &'s Program, frame: &'s Frame) -> Step<'s> {
///     Step { program, routine: 0, ip: 0, depth: 0, frame }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Step<'s> {
    pub(super) program: &'s Program,
    pub(super) routine: usize,
    pub(super) ip: usize,
    pub(super) depth: usize,
    pub(super) frame: &'s Frame,
}

impl<'s> Step<'s> {
    /// The program running.
    pub fn program(&self) -> &'s Program {
        self.program
    }

    /// Number of the routine running.
    pub fn routine_number(&self) -> usize {
        self.routine
    }

    /// Instruction number in the routine.
    pub fn ip(&self) -> usize {
        self.ip
    }

    /// Calls of routines open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Frame of the routine.
    pub fn frame(&self) -> &'s Frame {
        self.frame
    }

    /// The routine running.
    pub fn routine(&self) -> &'s Routine {
        &self.program.routines()[self.routine]
    }

    /// The current contents of a value's slot.
    ///
    /// # Panics
    /// There is no memory for a copy of rows.
    pub fn value(&self, value: ValueId) -> Value {
        let slot = self.routine().slot(value);
        // SAFETY: a run made this step, of a verified program on its own frame, so the slot holds a valid value of its type.
        let value = unsafe { read_value(self.frame.base(), slot.offset(), slot.qtype()) };
        value.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The values the instruction writes, with what their slots hold.
    pub fn written(&self) -> Vec<(ValueId, Value)> {
        let body = &self.routine().body;
        let writes = body.writes(&body.instructions()[self.ip]);
        writes.iter().map(|v| (*v, self.value(*v))).collect()
    }
}

/// Watches a run.
pub trait Observer {
    /// The instruction is about to run.
    fn before(&mut self, _step: &Step<'_>) {}

    /// The instruction has run.
    fn after(&mut self, _step: &Step<'_>) {}
}

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// Routine number.
    pub routine: usize,
    /// Instruction number.
    pub ip: usize,
    /// Calls open.
    pub depth: usize,
    /// Values the instruction wrote.
    pub written: Vec<(ValueId, Value)>,
}

/// Records what every instruction wrote.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Instructions in the order they ran.
    pub entries: Vec<TraceEntry>,
}

impl Observer for Trace {
    fn after(&mut self, step: &Step<'_>) {
        let (routine, ip, depth) = (step.routine_number(), step.ip, step.depth);
        self.entries.push(TraceEntry { routine, ip, depth, written: step.written() });
    }
}

/// How often an instruction ran, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Times it ran.
    pub runs: u64,
    /// Time in it, the observer's own overhead included.
    pub time: Duration,
}

/// Counts and times instructions.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Counts by routine and instruction.
    pub counts: Vec<Vec<Count>>,
    started: Option<Instant>,
}

impl Observer for Profile {
    fn before(&mut self, _: &Step<'_>) {
        self.started = Some(Instant::now());
    }

    fn after(&mut self, step: &Step<'_>) {
        let time = self.started.take().map_or(Duration::ZERO, |t| t.elapsed());
        if self.counts.len() <= step.routine {
            self.counts.resize_with(step.routine + 1, Vec::new);
        }
        let counts = &mut self.counts[step.routine];
        counts.resize(counts.len().max(step.ip + 1), Count::default());
        counts[step.ip].runs += 1;
        counts[step.ip].time += time;
    }
}
