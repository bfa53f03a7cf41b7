//! Both tiers, side by side.

use cembra_vm::jit;
use cembra_vm::machine::Used;
use cembra_vm::machine::{BoundExpr, RunOptions};
use cembra_vm::program::{Program, Routine};
use cembra_vm::value::Value;
use std::cell::Cell;
use std::sync::Arc;

/// A program on the interpreter, and compiled.
pub struct Tiers {
    pub interpreted: BoundExpr,
    pub compiled: BoundExpr,
}

/// What a run gave, for comparison: NaN is one value.
pub type Ran = (String, u64);

impl Tiers {
    pub fn of(routines: Vec<Routine>) -> Tiers {
        Tiers::maybe(routines).unwrap_or_else(|reason| panic!("not compiled: {reason}"))
    }

    /// `Err` if the program is not compiled.
    pub fn maybe(routines: Vec<Routine>) -> Result<Tiers, jit::NotCompiled> {
        let program = Arc::new(Program::new(routines));
        let bind = || BoundExpr::new(program.clone()).unwrap_or_else(|error| panic!("{error}"));
        let (interpreted, compiled) = (bind(), bind());
        jit::compile(&compiled)?;
        assert_eq!(compiled.compiled_tier().map(|tier| tier.name()), Some("jit"));
        Ok(Tiers { interpreted, compiled })
    }

    /// Runs both.
    #[track_caller]
    pub fn agree(&self, inputs: &[Value], with: With<'_>) -> Ran {
        let expected = ran(&self.interpreted, inputs, with);
        let found = ran(&self.compiled, inputs, with);
        assert_eq!(found, expected, "compiled and interpreted, with {inputs:?}");
        found
    }

    /// The same with every amount of fuel from none to more than enough.
    #[track_caller]
    pub fn agree_with_fuel(&self, inputs: &[Value]) {
        let (_, used) = self.agree(inputs, &plain);
        (0..used + 2).for_each(|fuel| {
            self.agree(inputs, &move |options| options.fuel(fuel));
        });
    }
}

/// Options of a run, added to others.
pub type With<'w> = &'w dyn for<'o> Fn(RunOptions<'o>) -> RunOptions<'o>;

/// No more options.
pub fn plain(options: RunOptions<'_>) -> RunOptions<'_> {
    options
}

/// What a run gives, and the fuel that it used up.
pub fn ran(bound: &BoundExpr, inputs: &[Value], with: With<'_>) -> Ran {
    let used = Cell::new(Used::default());
    let outcome = outcome(bound, inputs, with(RunOptions::new().used(&used)));
    (outcome, used.get().instructions)
}

/// Runs a program on a fresh frame; gives its results and changed inputs, or its error.
pub fn outcome(bound: &BoundExpr, inputs: &[Value], options: RunOptions<'_>) -> String {
    let main = bound.program().main();
    let mut frame = bound.new_frame().expect("there is memory for a frame");
    assert_eq!(main.inputs.len(), inputs.len());
    for ((_, value), input) in main.inputs.iter().zip(inputs) {
        frame.write(main.slot(*value), input).expect("of the input's type");
    }
    match bound.execute_with(&mut frame, options) {
        Ok(()) => {
            let read = |value| frame.read(main.slot(value)).expect("it is written");
            let after = main.updated_inputs.iter().map(|value| read(*value));
            format!("{:?}", main.results().map(read).chain(after).collect::<Vec<_>>())
        }
        Err(error) => format!("{error:?}"),
    }
}
