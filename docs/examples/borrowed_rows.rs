//! A host's own columns as inputs: lent for one call, read in place.
//!
//! The columns have every form that a view allows: a slice, every third number of a table, and values with a
//! validity bitmap as in the Arrow layout. Nothing is copied in, and the result is read where it stands.

use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::vm::value::{ArrayClass, ArrayType, NdView, QType, ScalarType};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = |element| QType::Array(ArrayType { class: ArrayClass::Dense, element });
    let expr = cembra::syntax::parse("distance / time * core.to_float64(trips | 0)")?;
    let leaves = [
        ("distance", rows(ScalarType::Float64)),
        ("time", rows(ScalarType::Float64)),
        ("trips", rows(ScalarType::Int32)),
    ];
    let bound = compile(&Prepare::standard().run(Source::new(expr, leaves))?, &Options::default())?;
    for region in bound.regions() {
        println!("{} operators on blocks of {} rows", region.members.len(), region.block);
    }

    let distance = vec![120.0, 80.0, 300.0, 12.5];
    // Rows of (time, fuel, day), one after the other.
    let table = [2.0, 9.5, 1.0, 1.0, 6.0, 2.0, 4.0, 20.0, 3.0, 0.5, 1.0, 4.0];
    let (trips, validity) = ([1, 2, 3, 4], [0b1011_0000]);
    let time = NdView::strided(&table, 0, 3, 4)?;
    let (distance, trips) = (NdView::of(&distance), NdView::of(&trips).with_validity(&validity, 4)?);

    let mut frame = bound.new_frame()?;
    let outputs = bound
        .call(&mut frame)
        .input(bound.input_slot("distance")?, &distance)?
        .input(bound.input_slot("time")?, &time)?
        .input(bound.input_slot("trips")?, &trips)?
        .run()?;
    let result = outputs.rows(bound.output_slot())?;
    println!("{:?}", result.as_slice::<f64>());
    assert_eq!(result.as_slice::<f64>(), [60.0, 160.0, 0.0, 100.0]);
    Ok(())
}
