//! Rule 9 of the [verifier](crate::program::verify): what a parallel routine has, so that its pieces can run on frames of
//! their own at the same time.

use crate::program::instruction::ValueId;
use crate::program::parallel::{Parallel, Window};
use crate::program::program::{Program, Routine};
use crate::value::QType;
use crate::value::qtype::INT64;

/// Says what a parallel routine lacks; the routine's own references have been checked.
pub(super) fn broken_rule(program: &Program, number: usize, parallel: &Parallel) -> Option<String> {
    let routine = &program.routines()[number];
    let input_type = |value: ValueId| {
        let is_input = routine.inputs.iter().any(|(_, input)| *input == value);
        is_input.then(|| routine.slot(value).qtype())
    };
    if number == 0 {
        return Some("the main routine is no parallel one".to_owned());
    }
    if routine.overrides_inputs || !routine.side_outputs.is_empty() {
        return Some("a parallel routine overrides no inputs and has one output".to_owned());
    }
    if !routine.slot(routine.output).qtype().is_plain() {
        return Some("the output of a parallel routine is no plain value".to_owned());
    }
    let starts_with_trips = routine.inputs.len() >= 2
        && routine.inputs[..2].iter().all(|(_, input)| routine.slot(*input).qtype() == &INT64);
    if !starts_with_trips {
        return Some("the first two inputs of a parallel routine are numbers of trips, INT64".to_owned());
    }
    let is_allowed = |qtype: &QType| qtype.is_plain() || matches!(qtype, QType::NdArray(_));
    if let Some((name, _)) =
        routine.inputs.iter().find(|(_, value)| !is_allowed(routine.slot(*value).qtype()))
    {
        return Some(format!("the input `{name}` of a parallel routine is neither plain nor an NDARRAY"));
    }
    for window in &parallel.windows {
        let Window { array, axis, first, step } = *window;
        let has_axis =
            matches!(input_type(array), Some(QType::NdArray(array)) if (axis as usize) < array.rank());
        let is_placed = [first, step].iter().all(|value| input_type(*value) == Some(&INT64));
        if !has_axis || !is_placed || !routine.updated_inputs.contains(&array) {
            return Some(format!(
                "the window of {array} needs an NDARRAY with axis {axis} that the routine updates, and INT64 inputs"
            ));
        }
    }
    let windows = |value: &ValueId| parallel.windows.iter().filter(|window| window.array == *value).count();
    if let Some(value) = routine.updated_inputs.iter().find(|value| windows(value) != 1) {
        return Some(format!("{value} is updated by a parallel routine, and has not one window"));
    }
    let combines = program.routines().get(parallel.combine as usize).is_some_and(|combine| {
        let of_output = |qtype: &QType| qtype == routine.slot(routine.output).qtype();
        combine.parallel.is_none() && combine.updated_inputs.is_empty() && takes_two(combine, of_output)
    });
    (!combines).then(|| format!("routine {} does not combine two results of the routine", parallel.combine))
}

/// True if a routine makes one value of two, all of a type.
fn takes_two(routine: &Routine, is_type: impl Fn(&QType) -> bool) -> bool {
    let is = |value: ValueId| is_type(routine.slot(value).qtype());
    routine.inputs.len() == 2
        && routine.side_outputs.is_empty()
        && is(routine.output)
        && routine.inputs.iter().all(|(_, input)| is(*input))
}
