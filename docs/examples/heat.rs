//! Heat on a plate, from Rust: the program of `fields/heat.field` with a builder, 50 steps, a picture.
//!
//! `cargo run --release --features cli --example heat`

use cembra::backend::FieldPlan;
use cembra::field::{FieldBuffer, FieldBuilder, FieldCells, FieldData, FieldProgram};
use cembra::plot::{FieldFigure, FieldFigureAxis};
use cembra::vm::value::{ScalarType, ScalarValue};

/// A step of the heat equation, at the inner points of the plate.
fn step() -> Result<FieldProgram, Box<dyn std::error::Error>> {
    let b = FieldBuilder::new();
    let (i, j) = (b.horizontal("I"), b.horizontal("J"));
    let k = b.scalar("k", ScalarType::Float64);
    let n = b.scalar("n", ScalarType::Int32);
    let u = b.output("u", &[i, j], ScalarType::Float64);
    let lap = (u * -4.0 + u.shift(i, -1) + u.shift(i, 1) + u.shift(j, -1) + u.shift(j, 1)).named("lap");
    let inner = b.bound(1).to(n.bound() - 1);
    b.store(u, &[(i, inner.clone()), (j, inner)], u + k * lap);
    Ok(b.build().map_err(|mut errors| errors.remove(0))?)
}

/// A plate of n x n points that is cold, but for one hot edge, after some steps; its values row by row.
pub fn warm_plate(n: usize, steps: usize) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let program = step()?;
    let cold = (0..n * n).map(|at| if at < n { 100.0 } else { 20.0 }).collect();
    let mut data = FieldData::default();
    data.fields.insert("u".to_owned(), FieldBuffer::row_major(FieldCells::Float64(cold), &[0, 0], &[n, n])?);
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.2));
    data.scalars.insert("n".to_owned(), ScalarValue::Int32(i32::try_from(n)?));
    // Everything is checked and compiled here; steps allocate nothing.
    let mut plan = FieldPlan::new(&program, &data).map_err(|mut errors| errors.remove(0))?;
    for _ in 0..steps {
        plan.run(&mut data)?;
    }
    Ok(data.fields["u"].view().cells::<f64>().collect())
}

/// The plate as SVG.
pub fn picture(n: usize, values: Vec<f64>) -> Result<String, Box<dyn std::error::Error>> {
    let axis = |name: &str| FieldFigureAxis { name: name.to_owned(), first: 0, count: n };
    let figure = FieldFigure { title: "u".to_owned(), axes: vec![axis("I"), axis("J")], values };
    Ok(figure.svg()?)
}

/// Prints what becomes of the middle of the plate.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values = warm_plate(8, 50)?;
    println!("in the middle {:.3}", values[4 * 8 + 4]);
    println!("a picture of {} bytes", picture(8, values)?.len());
    Ok(())
}
