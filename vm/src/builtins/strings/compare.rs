//! Comparisons of strings over rows, for the operators that give masks and for those that give truth values.

/// Code over rows for a comparison of two strings, of which a closure makes the result.
macro_rules! compared_rows {
    ($string:ident, ==, $result:expr) => {
        |call| call.compare_strings::<$string, _>($result)
    };
    ($string:ident, !=, $result:expr) => {
        |call| call.compare_strings::<$string, _>(|equal| ($result)(!equal))
    };
    ($string:ident, $operator:tt, $result:expr) => {
        |call| call.map_strings::<$string, _, _, 2>(|[x, y], _| ($result)(x $operator y))
    };
}
pub(in crate::builtins) use compared_rows;
