//! Side outputs: an expression exports values by name, a listener gets them after each run.
//!
//! `annotation.export(x, 'name')` has the value of `x`. The executor compiles the expression twice
//! into one layout: plain, and with the exports that the listener wants.

use cembra::host::{Accessors, ExecutorOptions, Listener, ModelExecutor};

struct Body {
    mass: f64,
    speed: f64,
}

#[derive(Debug, Default, PartialEq)]
struct Seen {
    momentum: f64,
    others: Vec<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expr = cembra::syntax::parse(
        "p = annotation.export(mass * speed, 'momentum')
         fast = annotation.export(speed > 10.0, 'fast')
         core.where(fast, 0.5 * p * speed, 0.0)",
    )?;
    let loader = Accessors::new().with("mass", |b: &Body| b.mass).with("speed", |b: &Body| b.speed);

    // One closure by name and type, one for all other names.
    let listener = Listener::new()
        .on("momentum", |seen: &mut Seen, value: f64| seen.momentum = value)
        .on_all(|seen: &mut Seen, name, value| seen.others.push(format!("{name} = {value}")));
    let energy = ModelExecutor::<Body, f64, Seen>::compile_with(
        &expr,
        &loader,
        Some(&listener),
        ExecutorOptions::default(),
    )?;

    let (slow, fast) = (Body { mass: 2.0, speed: 3.0 }, Body { mass: 2.0, speed: 20.0 });
    let mut seen = Seen::default();
    assert_eq!(energy.execute_into(&fast, &mut seen)?, 400.0);
    assert_eq!(seen, Seen { momentum: 40.0, others: vec!["fast = present".to_owned()] });

    // A side output is computed even where the main output does not need it.
    let mut seen = Seen::default();
    assert_eq!(energy.execute_into(&slow, &mut seen)?, 0.0);
    assert_eq!(seen, Seen { momentum: 6.0, others: vec!["fast = missing".to_owned()] });

    // Without a sink the plain program runs: nothing but the main output.
    assert_eq!(energy.execute(&fast)?, 400.0);
    println!("{seen:?}");
    Ok(())
}
