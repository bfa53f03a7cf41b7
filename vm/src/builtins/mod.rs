//! The standard operators, one row of a [`Family`](crate::operator::Family) each.
//!
//! A row gives the name, the parameters, the meaning, what evaluation may do, a relative cost, the
//! partial derivatives, and the overloads as plain Rust functions. Documentation, dumps, binding and
//! compiled tiers all read it. Operators that the preparation rewrites into others (such as
//! `core.greater`) have their row in the registry of the compiler.

use crate::operator::OperatorTable;
use std::sync::{Arc, LazyLock};

pub mod aggregate;
pub mod array;
pub mod arrays_made;
pub mod bitwise;
pub mod bools;
pub mod casts;
pub mod core;
mod distinct;
pub mod distribution;
pub mod edge;
pub mod edge_groups;
pub mod group_values;
#[cfg(test)]
mod levels;
pub mod math;
pub mod nd;
pub mod plane;
mod present;
pub mod python;
pub mod random;
mod recipes;
mod rows_so_far;
pub mod scan;
pub mod scattered;
pub mod seq;
pub mod series;
pub mod strings;
mod text_order;
pub mod trig;
pub mod unsigned;
pub mod weighted;

/// The table of all standard operators.
pub fn table() -> Arc<OperatorTable> {
    static TABLE: LazyLock<Arc<OperatorTable>> = LazyLock::new(|| {
        let mut table = OperatorTable::new();
        let rows = [
            math::rows(),
            distribution::rows(),
            trig::rows(),
            core::rows(),
            casts::rows(),
            bools::rows(),
            bitwise::rows(),
            unsigned::rows(),
            strings::rows(),
            seq::rows(),
            series::rows(),
            aggregate::rows(),
            array::rows(),
            arrays_made::rows(),
            scan::rows(),
            scattered::rows(),
            weighted::rows(),
            edge::rows(),
            edge_groups::rows(),
            group_values::rows(),
            text_order::rows(),
            nd::rows(),
            plane::rows(),
            python::rows(),
            random::rows(),
        ];
        for row in rows.into_iter().flatten() {
            table.add(row).expect("standard operators have distinct names");
        }
        Arc::new(table)
    });
    TABLE.clone()
}
