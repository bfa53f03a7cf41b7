//! Recorded models of the published system: spectra, errors, graphs and schedules.

mod batch;
mod budgets;
mod cases;
mod compiled;
mod errors;
mod fit_methods;
mod fits;
mod formulas;
mod graphs;
mod memory;
mod properties;
mod recorded;
mod schedules;
