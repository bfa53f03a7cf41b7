//! Pairs of cells that become one step: the builder notes what cells do, and at the end gives the first of a pair the
//! [code of both](crate::operator::fused).

use crate::operator::cell::Cell;
use crate::operator::fused::{Half, pair};
use crate::operator::fusible::Fusible;
use crate::operator::threaded::{FIRST_IN_ACCUMULATOR, RESULT_NOT_STORED, SECOND_IN_ACCUMULATOR, Threaded};

/// What the cells of a routine do, as far as there are pairs of it; in the order of the cells.
#[derive(Default)]
pub(super) struct Pairs(Vec<(usize, Half)>);

impl Pairs {
    /// Notes a cell of an operation that is no comparison.
    pub(super) fn note(&mut self, cell: usize, code: &Threaded, mode: usize) {
        let is_comparison = |o: &Fusible| matches!(o, Fusible::FloatOrder(_) | Fusible::IntegerOrder(_));
        if let Some(operation) = code.fusible.filter(|operation| !is_comparison(operation)) {
            self.0.push((cell, Half { operation, mode, sense: false }));
        }
    }

    /// Notes a cell of a comparison that jumps if it holds (`sense`) or if it does not.
    pub(super) fn note_jump(&mut self, cell: usize, code: &Threaded, mode: usize, sense: bool) {
        if let Some(operation) = code.fusible {
            self.0.push((cell, Half { operation, mode, sense }));
        }
    }

    /// Notes that the result of a cell is not stored.
    pub(super) fn note_unstored(&mut self, cell: usize) {
        if let Ok(index) = self.0.binary_search_by_key(&cell, |(cell, _)| *cell) {
            self.0[index].1.mode |= RESULT_NOT_STORED;
        }
    }

    /// Fuses cells that stand one behind the other. The second cells stay as they are.
    pub(super) fn fuse(&self, cells: &mut [Cell]) {
        let mut rest = &self.0[..];
        while let [(cell, first), others @ ..] = rest {
            let second = others.first().filter(|(next, _)| cell + 1 == *next);
            let run = second.and_then(|(next, second)| {
                pair(
                    *first,
                    Half { mode: mode_behind(*first, &cells[*cell], *second, &cells[*next]), ..*second },
                )
            });
            rest = match run {
                Some(run) => {
                    cells[*cell].run = run;
                    &others[1..]
                }
                None => others,
            };
        }
    }
}

/// The mode of a second cell when the first one has run. A comparison at a jump target, such as at the end of a loop, finds
/// its operands in the frame; behind the cell that counts, what that has stored is in the accumulator too.
fn mode_behind(first: Half, first_cell: &Cell, second: Half, second_cell: &Cell) -> usize {
    let are_of_one_type = matches!(
        (first.operation, second.operation),
        (Fusible::Integer(_) | Fusible::GetInteger(_), Fusible::IntegerOrder(_))
            | (Fusible::Float(_) | Fusible::GetFloat(_), Fusible::FloatOrder(_))
    );
    if !are_of_one_type || second.mode != 0 || first.mode & RESULT_NOT_STORED != 0 {
        return second.mode;
    }
    let [a, b, ..] = second_cell.args;
    match first_cell.out {
        out if out == a => FIRST_IN_ACCUMULATOR,
        out if out == b => SECOND_IN_ACCUMULATOR,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::builtins::table;
    use crate::layout::FrameLayout;
    use crate::machine::bound::BoundExpr;
    use crate::machine::code::Style;
    use crate::program::instruction::Span;
    use crate::program::program::ValueInfo;
    use crate::program::{Body, Program, Routine, ValueId};
    use crate::value::qtype::{FLOAT64, INT64};
    use crate::value::{QType, ScalarValue, Value};
    use std::sync::Arc;

    /// `out = second(first(x, y), z)`, or `out = second(z, first(x, y))` if that is the other way round.
    fn chain(qtype: &QType, [first, second]: [&str; 2], is_swapped: bool) -> Arc<Program> {
        let mut layout = FrameLayout::builder();
        let values: Vec<ValueInfo> = (0..5)
            .map(|index| {
                let slot = layout.typed(qtype.clone());
                match index {
                    0..3 => layout.place_input(&slot),
                    3 => layout.place_output(&slot),
                    _ => {}
                }
                ValueInfo { slot, view_of: None }
            })
            .collect();
        let [x, y, z, out, between] = [0, 1, 2, 3, 4].map(ValueId);
        let operands = if is_swapped { [z, between] } else { [between, z] };
        let mut body = Body::new();
        for (name, operands, result) in [(first, [x, y], between), (second, operands, out)] {
            let overload =
                table().overload(name, &[qtype.clone(), qtype.clone()]).expect("a standard operator");
            let operator = body.add_operator(overload);
            body.push_operator(operator, &operands, result, Span::default());
        }
        let inputs = [("x", x), ("y", y), ("z", z)].map(|(name, value)| (name.into(), value));
        Arc::new(Program::new(vec![Routine::new(
            layout.build().expect("small"),
            values,
            inputs.into(),
            out,
            body,
        )]))
    }

    /// What a program gives for these inputs, or where it fails and why.
    fn outcome(program: &Arc<Program>, style: Style, inputs: [Value; 3]) -> String {
        let bound = BoundExpr::with_style(program.clone(), style).expect("a valid program");
        let mut frame = bound.new_frame().expect("memory");
        let routine = program.main();
        for ((_, input), value) in routine.inputs.iter().zip(&inputs) {
            frame.write(routine.slot(*input), value).expect("a value of the type");
        }
        match bound.execute(&mut frame) {
            // Zeros of both signs and numbers that are none print as what they are.
            Ok(()) => format!("{:?}", frame.read(bound.output_slot()).expect("a result")),
            Err(error) => error.to_string(),
        }
    }

    fn check(qtype: &QType, names: &[&str], numbers: &[Value]) {
        for first in names {
            for second in names {
                for is_swapped in [false, true] {
                    let program = chain(qtype, [first, second], is_swapped);
                    for (i, x) in numbers.iter().enumerate() {
                        let at = |step: usize| numbers[(i + step) % numbers.len()].clone();
                        for step in 0..numbers.len() {
                            let inputs = [x.clone(), at(step), at(2 * step + 1)];
                            let run = |style| outcome(&program, style, inputs.clone());
                            assert_eq!(
                                run(Style::Fused),
                                run(Style::Stepped),
                                "{first}, {second} of {inputs:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn fused_arithmetic_is_that_of_one_operator_after_the_other() {
        let floats = [0.0, -0.0, 1.5, -3.0, 1e308, 5e-324, f64::INFINITY, f64::NAN];
        let floats = floats.map(|x| Value::Scalar(ScalarValue::Float64(x)));
        check(&FLOAT64, &["math.add", "math.subtract", "math.multiply"], &floats);
        let integers = [0, 1, -1, 7, 1 << 40, i64::MAX, i64::MIN];
        let integers = integers.map(|x| Value::Scalar(ScalarValue::Int64(x)));
        let names = [
            "math.add",
            "math.subtract",
            "python.add",
            "python.subtract",
            "python.multiply",
            "bitwise.bitwise_and",
        ];
        check(&INT64, &names, &integers);
    }
}
