//! Compile an expression by hand, look at the program, evaluate it on a frame.
//!
//! Each stage is a value of its own: expression, prepared expression, bound expression, frame. A host
//! that needs no access to them uses `ModelExecutor` (see `side_outputs.rs`, `many_threads.rs`).

use cembra::compile::{Options, compile};
use cembra::inspect::LayoutMap;
use cembra::prepare::{Prepare, Source};
use cembra::vm::program::dump;
use cembra::vm::value::qtype::FLOAT64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expr = cembra::syntax::parse("(-b + math.sqrt(b*b - 4.0*a*c)) / (2.0*a)")?;

    // Preparation needs the types of the leaves; their order is that of the input slots.
    let source = Source::new(expr, [("a", FLOAT64), ("b", FLOAT64), ("c", FLOAT64)]);
    let prepared = Prepare::standard().run(source)?;
    let root = compile(&prepared, &Options::default())?;

    println!("{}", dump::dump(root.program()));
    println!("{}", LayoutMap::new(root.program()));

    // Names become slots once; a slot is an offset and a type.
    let (a, b, c) = (root.input::<f64>("a")?, root.input::<f64>("b")?, root.input::<f64>("c")?);
    let output = root.output::<f64>()?;
    let mut frame = root.new_frame()?;
    frame.set(a, 1.0);
    frame.set(b, -3.0);
    frame.set(c, 2.0);
    root.execute(&mut frame)?;
    assert_eq!(frame.get(output), 2.0);

    // The frame is 64 bytes; inputs stay what they are until they are written again.
    assert_eq!(root.layout().size(), 64);
    frame.set(c, -4.0);
    root.execute(&mut frame)?;
    assert_eq!(frame.get(output), 4.0);
    Ok(())
}
