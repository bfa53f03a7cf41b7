//! One compiled model, many threads.
//!
//! A `ModelExecutor` is immutable and cheap to clone. `execute` takes a frame from a shared pool and
//! gives it back; a loop in one thread keeps a frame of its own with `local`, and shares nothing.

use cembra::host::{Accessors, ModelExecutor};
use std::thread;

struct Point {
    x: f64,
    y: f64,
}

const THREADS: usize = 4;
const POINTS: usize = 50_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expr = cembra::syntax::parse("math.sqrt(x*x + y*y)")?;
    let loader = Accessors::new().with("x", |p: &Point| p.x).with("y", |p: &Point| p.y);
    let length = ModelExecutor::<Point, f64>::compile(&expr, &loader)?;

    let workers: Vec<_> = (0..THREADS)
        .map(|worker| {
            let length = length.clone();
            thread::spawn(move || {
                let mut local = length.local().map_err(|e| e.to_string())?;
                let mut sum = 0.0;
                for i in 0..POINTS {
                    let scale = (worker * POINTS + i) as f64;
                    let point = Point { x: 3.0 * scale, y: 4.0 * scale };
                    // From the pool and from the own frame: the same bits.
                    let pooled = length.execute(&point).map_err(|e| e.to_string())?;
                    let own = local.execute(&point).map_err(|e| e.to_string())?;
                    assert_eq!(pooled.to_bits(), own.to_bits());
                    sum += own;
                }
                Ok::<f64, String>(sum)
            })
        })
        .collect();

    let mut total = 0.0;
    for worker in workers {
        total += worker.join().map_err(|_| "a worker panicked")??;
    }
    let count = (THREADS * POINTS) as f64;
    assert_eq!(total, 5.0 * count * (count - 1.0) / 2.0);
    println!("{count} points on {THREADS} threads: total length {total}");
    Ok(())
}
