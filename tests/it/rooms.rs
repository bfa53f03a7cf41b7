//! Outputs that go to memory of the host: written there by regions, copied from whatever else computes them.

use crate::support::{bind, parse};
use cembra::compile::Options;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::frame::Frame;
use cembra::vm::machine::{BoundExpr, Room};
use cembra::vm::value::{NdType, NdView, QType};

fn table() -> QType {
    QType::NdArray(NdType::from_name("NDARRAY_FLOAT64_NN").expect("a type"))
}

/// A program with side outputs, and a frame with `x` of two rows and three columns.
fn ready(text: &str, side_outputs: &[(&str, &str)]) -> (BoundExpr, Frame) {
    let mut source = Source::new(parse(text, Dialect::Cembra), [("x", table())]);
    let named = |(name, text): &(&str, &str)| ((*name).into(), parse(text, Dialect::Cembra));
    source.side_outputs.extend(side_outputs.iter().map(named));
    let bound = bind(source, &Prepare::standard(), Options::default());
    let mut frame = bound.new_frame().expect("memory");
    let x = NdView::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).expect("fits");
    if let Ok(slot) = bound.input_slot("x") {
        frame.write_nd(slot, &x).expect("its type");
    }
    (bound, frame)
}

/// The output in memory of the host, and whether the frame has it too.
fn into_room(text: &str) -> (Vec<f64>, bool) {
    let (bound, mut frame) = ready(text, &[]);
    let (mut target, slot) = (vec![0.0; 6], bound.output_slot());
    let outputs = bound.call(&mut frame).run_into(&mut [Room::new(slot, &mut target)]).expect("it runs");
    let is_in_frame = outputs.elements(slot).is_ok();
    (target, is_in_frame)
}

#[test]
fn regions_write_where_the_host_wants_it() {
    assert_eq!(into_room("x * 2.0 + 1.0"), (vec![3.0, 5.0, 7.0, 9.0, 11.0, 13.0], false));
    assert_eq!(into_room("nd.cumsum(x + 0.0 * x, 1)"), (vec![1.0, 3.0, 6.0, 4.0, 9.0, 15.0], false));
}

#[test]
fn what_is_not_computed_by_a_region_is_copied() {
    assert_eq!(into_room("x"), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], true));
    assert_eq!(into_room("nd.transpose(x)"), (vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0], true));
    let literal = "ndarray(NDARRAY_FLOAT64_NN, 2, 3, 6, 5, 4, 3, 2, 1)";
    assert_eq!(into_room(literal), (vec![6.0, 5.0, 4.0, 3.0, 2.0, 1.0], true));
    // A room does not change what the frame keeps.
    let (bound, mut frame) = ready("x", &[]);
    for _ in 0..2 {
        let mut target = [0.0; 6];
        bound.call(&mut frame).run_into(&mut [Room::new(bound.output_slot(), &mut target)]).expect("it runs");
        assert_eq!(target[5], 6.0);
    }
}

/// Operators that read all of a result find it in the room.
#[test]
fn results_in_a_room_are_read_there() {
    let (bound, mut frame) = ready("nd.transpose(x * 2.0) + 1.0", &[("twice", "x * 2.0")]);
    let twice = bound.side_output_slot("twice").expect("there is one").clone();
    let (mut first, mut second) = ([0.0; 6], [0.0; 6]);
    let mut rooms = [Room::new(bound.output_slot(), &mut first), Room::new(&twice, &mut second)];
    bound.call(&mut frame).run_into(&mut rooms).expect("it runs");
    assert_eq!(first, [3.0, 9.0, 5.0, 11.0, 7.0, 13.0]);
    assert_eq!(second, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}

#[test]
fn two_rooms_may_be_for_one_result() {
    let (bound, mut frame) = ready("x * 2.0", &[("same", "x * 2.0"), ("again", "x * 2.0")]);
    let slot = |name| bound.side_output_slot(name).expect("there is one").clone();
    let (same, again) = (slot("same"), slot("again"));
    let mut targets = [[0.0; 6]; 3];
    let [a, b, c] = &mut targets;
    let mut rooms = [Room::new(bound.output_slot(), a), Room::new(&same, b), Room::new(&again, c)];
    bound.call(&mut frame).run_into(&mut rooms).expect("it runs");
    assert_eq!(targets, [[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]; 3]);
}

#[test]
fn rooms_that_do_not_fit_are_errors() {
    let (bound, mut frame) = ready("x * 2.0", &[("sum", "nd.sum(x)")]);
    let slot = bound.output_slot();
    let mut run = |room: Room<'_>| match bound.call(&mut frame).run_into(&mut [room]) {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    };
    let sizes = run(Room::new(slot, &mut [0.0; 5]));
    assert!(
        sizes.ends_with("which has 6") && sizes.starts_with("there is room for 5 elements of "),
        "{sizes}"
    );
    let element = run(Room::new(slot, &mut [0.0f32; 6]));
    assert!(element.ends_with("gives no elements of FLOAT32"), "{element}");
    let scalar = bound.side_output_slot("sum").expect("there is one");
    let scalar = run(Room::new(scalar, &mut [0.0; 1]));
    assert!(
        scalar.contains("gives no elements of FLOAT64; a room takes an output of a type such as"),
        "{scalar}"
    );
    let (other, _) = ready("x", &[("a", "x + 1.0"), ("b", "x + 2.0"), ("c", "x + 3.0"), ("d", "x + 4.0")]);
    let foreign = run(Room::new(other.side_output_slot("d").expect("there is one"), &mut [0.0; 6]));
    assert!(foreign.ends_with("is not a slot of this frame"), "{foreign}");
    // The frame is as good as before.
    bound.execute(&mut frame).expect("it runs");
    assert_eq!(frame.nd_view(slot).expect("written").cells::<f64>().last(), Some(12.0));
}

/// An output of a room is not in the frame, and nothing of an earlier run stands for it.
#[test]
fn the_frame_does_not_show_what_went_to_the_host() {
    let (bound, mut frame) = ready("x * 2.0", &[]);
    let slot = bound.output_slot();
    bound.execute(&mut frame).expect("it runs");
    assert!(frame.nd_view(slot).is_ok());
    let mut target = [0.0; 6];
    bound.call(&mut frame).run_into(&mut [Room::new(slot, &mut target)]).expect("it runs");
    assert!(frame.nd_view(slot).is_err() && frame.read(slot).is_err());
    bound.execute(&mut frame).expect("it runs");
    assert_eq!(frame.nd_view(slot).expect("written").cells::<f64>().next(), Some(2.0));
}
