//! Recorded models of the published system: spectra, errors, graphs and schedules.

mod cases;
mod errors;
mod graphs;
mod recorded;
mod schedules;
