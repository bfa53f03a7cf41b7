//! A host registers an operator of its own: a typed closure that captures a price list.
//!
//! The operator has the same standing as the standard ones: it is typed, cast to, dumped, and runs only
//! where its value is needed. It is declared `host`, so it is not called at compile time.

use cembra::host::{Accessors, ExecutorOptions, ModelExecutor};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::operator::Family;
use cembra::vm::value::Fault;
use std::collections::HashMap;

struct Order {
    item: i64,
    count: i64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prices = HashMap::from([(7, 2.5), (8, 0.25)]);
    let price = move |item: i64| -> Result<f64, Fault> {
        let known = prices.get(&item).copied();
        known.ok_or_else(|| Fault::Host { message: format!("item {item} has no price") })
    };

    // Name, parameters, one sentence; then one line for each overload. `function1` adds INT64 -> FLOAT64
    // and OPTIONAL_INT64 -> OPTIONAL_FLOAT64; the closure is only called for present values.
    let row = Family::new("shop.price", &["item"], "Price of an item. Raises for an unknown one.")
        .cost_of(50)
        .host()
        .function1(price);
    let mut registry = Registry::standard();
    registry.register(row)?;

    let text = "core.where(count > 0, shop.price(item) * count, 0.0)";
    let expr = parse_with(text, &registry, Dialect::default(), &Limits::default())?;
    let loader = Accessors::new().with("item", |o: &Order| o.item).with("count", |o: &Order| o.count);
    let options = ExecutorOptions { registry, ..ExecutorOptions::default() };
    let total = ModelExecutor::<Order, f64>::compile_with(&expr, &loader, None, options)?;

    assert_eq!(total.execute(&Order { item: 7, count: 4 })?, 10.0);
    // Nothing is ordered, so nobody asks for the price.
    assert_eq!(total.execute(&Order { item: 9, count: 0 })?, 0.0);
    let error = total.execute(&Order { item: 9, count: 1 }).expect_err("item 9 has no price");
    assert!(error.to_string().contains("item 9 has no price"), "{error}");
    println!("{error}");
    Ok(())
}
