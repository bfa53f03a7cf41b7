//! Operators that only exist in expressions, or whose expression form differs from the machine's:
//! other parameters, other type rules, or a lowering into simpler operators.
//!
//! | file | operators |
//! | --- | --- |
//! | presence | has, presence_and, presence_or, presence_not, where, logical_if, with_assertion, … |
//! | compare | greater, greater_equal, is_close, sigmoid |
//! | aggregate | sum, mean, min, max, var, …, all, any |
//! | ranks | ordinal_rank, dense_rank, cdf |
//! | pairs | weighted_average, covariance, correlation |
//! | array | at, slice, concat, searchsorted, shapes |
//! | made | make_dense_array, interleave, as_dense_array, shapes of a size |
//! | edges | group_by, from_keys, pairs, groups of other sizes, take |
//! | random | cityhash, sample, sample_n |
//! | cast | to_int32 …, cast, cast_values, to_optional, get_optional_value |
//! | like | zeros_like, ones_like, empty_like, const_like, shapes |
//! | tuple | get_nth, concat, slice, map, reduce, zip, namedtuples |
//! | series | ewma, agg_moving_average, serial_correlation |
//! | sequence | range, at, reduce |
//! | text | strings with default parameters, regular expressions |
//! | pieces | split, findall_regex |
//! | nd | axes of n-dimensional arrays: sum, mean, …, cumsum, transpose, take, reshape |
//! | annotation | qtype, name, export, source_location |

use crate::registry::define::OperatorDef;

pub mod aggregate;
pub mod annotation;
pub mod array;
pub mod cast;
pub mod compare;
mod edges;
pub mod like;
mod made;
pub mod nd;
mod pairs;
mod pieces;
pub mod presence;
mod random;
mod ranks;
pub mod sequence;
mod series;
pub mod text;
pub mod tuple;

/// All definitions of this room.
pub fn definitions() -> Vec<OperatorDef> {
    [
        presence::definitions(),
        aggregate::definitions(),
        ranks::definitions(),
        pairs::definitions(),
        array::definitions(),
        made::definitions(),
        edges::definitions(),
        random::definitions(),
        series::definitions(),
        compare::definitions(),
        cast::definitions(),
        like::definitions(),
        tuple::definitions(),
        sequence::definitions(),
        text::definitions(),
        pieces::definitions(),
        annotation::definitions(),
        nd::definitions(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
