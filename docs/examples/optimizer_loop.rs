//! One frame, a million runs: gradient descent that rewrites only theta.
//!
//! A frame keeps its inputs between runs. The data are written once; each step writes the two
//! parameters, runs three expressions, and reads the gradient. After the first step nothing is allocated.

use cembra::compile::{Binder, Options};
use cembra::prepare::{Prepare, Source};
use cembra::vm::value::qtype::FLOAT64;

const STEPS: usize = 333_333;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Residuals of y = a*x + b at three points that lie on y = 2*x + 1.
    let residuals = "r0 = a*x0 + b - y0\nr1 = a*x1 + b - y1\nr2 = a*x2 + b - y2\n";
    let texts = ["r0*r0 + r1*r1 + r2*r2", "2.0*(r0*x0 + r1*x1 + r2*x2)", "2.0*(r0 + r1 + r2)"];
    let leaves = ["a", "b", "x0", "y0", "x1", "y1", "x2", "y2"].map(|name| (name, FLOAT64));

    // Three expressions in one layout: they share inputs, and a frame serves them all.
    let mut binder = Binder::new(Options::default());
    for text in texts {
        let expr = cembra::syntax::parse(&format!("{residuals}{text}"))?;
        let used = expr.leaves();
        let inputs = leaves.iter().filter(|(name, _)| used.iter().any(|u| **u == **name)).cloned();
        binder.add(&Prepare::standard().run(Source::new(expr, inputs))?)?;
    }
    let bound = binder.build()?;
    let [loss, by_a, by_b] = &bound[..] else { unreachable!("three expressions were added") };

    let mut frame = loss.new_frame()?;
    for (name, value) in [("x0", 0.0), ("y0", 1.0), ("x1", 1.0), ("y1", 3.0), ("x2", 2.0), ("y2", 5.0)] {
        frame.set(loss.input::<f64>(name)?, value);
    }
    let (a, b) = (loss.input::<f64>("a")?, loss.input::<f64>("b")?);
    let (slope, shift) = (by_a.output::<f64>()?, by_b.output::<f64>()?);
    let mut theta = [0.0, 0.0];
    for _ in 0..STEPS {
        frame.set(a, theta[0]);
        frame.set(b, theta[1]);
        for expr in &bound {
            expr.execute(&mut frame)?;
        }
        theta[0] -= 0.01 * frame.get(slope);
        theta[1] -= 0.01 * frame.get(shift);
    }
    loss.execute(&mut frame)?;
    let rest = frame.get(loss.output::<f64>()?);
    println!("y = {} x + {}, loss {rest:e}", theta[0], theta[1]);
    assert!((theta[0] - 2.0).abs() < 1e-9 && (theta[1] - 1.0).abs() < 1e-9 && rest < 1e-18);
    Ok(())
}
