//! Numbers and truth values as texts, as numpy makes them where texts and numbers are chosen from: `where(c, "none", 1.5)`.
//!
//! | dtype | width | text |
//! | --- | --- | --- |
//! | bool | 5 | `True` |
//! | int8, int32, int64 | 4, 11, 21 | `-7` |
//! | float16, float32, float64 | 32 | `1.5`, as it prints alone |

use crate::dag::array::{Array, Elements, TextArray};
use crate::dag::number_text::python_float;

/// The array with each element as a text; texts stay.
pub(crate) fn to_text(array: &Array) -> Array {
    let texts = match array {
        Array::Bool(elements) => written(elements, 5, |v| if v { "True" } else { "False" }.to_owned()),
        Array::Int8(elements) => written(elements, 4, |v| v.to_string()),
        Array::Int32(elements) => written(elements, 11, |v| v.to_string()),
        Array::Int64(elements) => written(elements, 21, |v| v.to_string()),
        Array::Float16(elements) => written(elements, 32, python_float),
        Array::Float32(elements) => written(elements, 32, python_float),
        Array::Float64(elements) => written(elements, 32, python_float),
        Array::Text(texts) => texts.clone(),
    };
    Array::Text(texts)
}

fn written<T: Copy>(elements: &Elements<T>, width: usize, text: impl Fn(T) -> String) -> TextArray {
    let texts: Vec<String> = elements.iter().map(|v| text(*v)).collect();
    TextArray::new(&texts, elements.shape(), width).expect("there is a text for each element")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_wide_as_any_of_their_type() {
        let check = |array: Array, dtype: &str, expected: &[&str]| match to_text(&array) {
            Array::Text(texts) => {
                assert_eq!(Array::Text(texts.clone()).dtype().to_string(), dtype);
                assert_eq!(texts.texts().collect::<Vec<_>>(), expected);
            }
            other => panic!("{other:?} is no text"),
        };
        check(Array::vector([true, false]), "<U5", &["True", "False"]);
        check(Array::vector([i8::MIN, 0]), "<U4", &["-128", "0"]);
        check(Array::vector([i32::MIN]), "<U11", &["-2147483648"]);
        check(Array::vector([i64::MIN]), "<U21", &["-9223372036854775808"]);
        check(Array::vector([1e16, -0.0, f64::NAN]), "<U32", &["1e+16", "-0.0", "nan"]);
        check(Array::vector([0.1f32]), "<U32", &["0.1"]);
    }
}
