//! Integration tests: what is seen from outside.

mod allocations;
mod autodiff;
mod budgets;
mod cases;
mod cli;
mod columns;
mod deep;
mod derivatives;
mod dump_stages;
mod dumps;
#[cfg(target_os = "linux")]
mod executable_memory;
mod field;
mod folding;
mod folds;
mod frames;
mod function;
mod graph_differential;
mod graph_eval;
mod graph_kinds;
mod graph_machine;
mod graph_memory;
mod graph_properties;
mod graph_rules;
mod graph_texts;
mod graph_types;
mod graphs;
mod host;
mod hostile;
mod model;
mod native;
mod new_operators;
mod numpy;
mod oracles;
#[cfg(feature = "png")]
mod pictures;
mod properties;
#[rustfmt::skip]
#[allow(dead_code, clippy::enum_variant_names, reason = "generated for every type of the schema")]
mod pyast_layer;
mod python;
mod random;
mod reference;
mod reuse;
mod rooms;
mod row_by_row;
mod schema;
mod schema_layers;
mod string_rows;
mod support;
mod tiers;
mod tutorials;
