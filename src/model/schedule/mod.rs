//! Schedules: the order in which the nodes of a graph become numbers, or the reasons why there is none.

pub mod make;
mod operations;
pub mod packed;

pub mod plan;
pub mod print;
pub mod reason;
mod rows;
mod steps;

pub use make::{schedule, schedule_1d, schedule_2d};
pub use plan::Schedule;
pub use reason::Reason;
