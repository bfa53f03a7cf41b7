//! Cells: arrays of the graph as the machine holds them, and back.
//!
//! ```text
//! int8, float16   ──widened──>   INT32, FLOAT32   ──narrowed──>   int8, float16
//! texts           ──Texts──>     INT32 codes      ──Texts──>      texts
//! ```
//!
//! All other dtypes have elements of their own there. Nothing is lost on the way: results of such dtypes are
//! rounded, or wrap, in the operators that make them.

use crate::dag::array::{Array, DType, Element, Elements, TextArray};
use crate::dag::value_type::ValueType;
use cembra_vm::value::broadcast::check_count;
use cembra_vm::value::nd_view::NdCell;
use cembra_vm::value::{Fault, NdRows, NdView, QType, Value};
use half::f16;
use hashbrown::HashMap;
use std::sync::Arc;

/// Codes for texts: equal texts have one code, and 0 is that of the empty text.
#[derive(Clone, Debug)]
pub struct Texts {
    codes: HashMap<Arc<str>, i32>,
    texts: Vec<Arc<str>>,
}

impl Default for Texts {
    fn default() -> Texts {
        let empty: Arc<str> = "".into();
        Texts { codes: HashMap::from([(empty.clone(), 0)]), texts: vec![empty] }
    }
}

impl Texts {
    /// The code of a text, new if there is none yet.
    pub fn code(&mut self, text: &Arc<str>) -> i32 {
        let next = self.texts.len() as i32;
        *self.codes.entry(text.clone()).or_insert_with(|| {
            self.texts.push(text.clone());
            next
        })
    }

    /// Number of texts.
    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// Forgets all but the first texts.
    pub fn truncate(&mut self, count: usize) {
        for text in self.texts.drain(count..) {
            self.codes.remove(&text);
        }
    }

    fn codes_of<'r>(&mut self, array: &TextArray, room: &'r mut Room) -> &'r [i32] {
        room.table.clear();
        room.table.extend(array.table.iter().map(|text| self.code(text)));
        let table = &room.table;
        refill(&mut room.int32, array.codes.iter().map(|code| table[*code as usize]))
    }
}

/// Memory for cells that do not lie in an array as the machine holds them, kept from use to use.
#[derive(Debug, Default)]
pub struct Room {
    bools: Vec<bool>,
    int32: Vec<i32>,
    int64: Vec<i64>,
    float32: Vec<f32>,
    float64: Vec<f64>,
    /// Codes of the texts of a table.
    table: Vec<i32>,
}

/// The elements of an array as the machine holds them: where they lie, or in the room. Its [`ValueType`] is one of the
/// machine.
///
/// # Errors
/// It has more elements than arrays of the machine may have, sizes of 0 counted as 1.
pub fn view_of<'a>(array: &'a Array, texts: &mut Texts, room: &'a mut Room) -> Result<NdView<'a>, Fault> {
    fn view<'a, T: NdCell>(cells: &'a [T], shape: &[usize]) -> NdView<'a> {
        NdView::from_slice(cells, shape).expect("an array has as many elements as its shape says")
    }
    let shape = array.shape();
    check_count(shape)?;
    Ok(match array {
        Array::Bool(elements) => view(row_major(elements, &mut room.bools), shape),
        Array::Int8(elements) => view(refill(&mut room.int32, elements.iter().map(|v| i32::from(*v))), shape),
        Array::Int32(elements) => view(row_major(elements, &mut room.int32), shape),
        Array::Int64(elements) => view(row_major(elements, &mut room.int64), shape),
        Array::Float16(elements) => {
            view(refill(&mut room.float32, elements.iter().map(|v| v.to_f32())), shape)
        }
        Array::Float32(elements) => view(row_major(elements, &mut room.float32), shape),
        Array::Float64(elements) => view(row_major(elements, &mut room.float64), shape),
        Array::Text(texts_of) => view(texts.codes_of(texts_of, room), shape),
    })
}

fn row_major<'a, T: Element>(elements: &'a Elements<T>, room: &'a mut Vec<T>) -> &'a [T] {
    match elements.as_slice() {
        Some(slice) => slice,
        None => refill(room, elements.iter().copied()),
    }
}

fn refill<T>(room: &mut Vec<T>, cells: impl Iterator<Item = T>) -> &[T] {
    room.clear();
    room.extend(cells);
    room
}

/// An array as a literal of the machine; nothing if the machine has no such arrays.
pub fn literal(array: &Array, texts: &mut Texts) -> Option<Value> {
    let qtype = ValueType::of(array).qtype()?;
    let mut room = Room::default();
    let view = view_of(array, texts, &mut room).ok()?;
    match qtype {
        QType::NdArray(qtype) => Some(Value::NdArray(Arc::new(NdRows::from_view(qtype, &view).ok()?))),
        _ => view.scalars().next().map(Value::Scalar),
    }
}

/// The array of a type whose cells stand in a view.
pub fn array_of(view: &NdView<'_>, of: ValueType, texts: &Texts) -> Array {
    let shape = view.shape();
    match of.dtype {
        DType::Bool => made::<bool>(cells(view), shape),
        DType::Int8 => made::<i8>(cells::<i32>(view).into_iter().map(|v| v as i8).collect(), shape),
        DType::Int32 => made::<i32>(cells(view), shape),
        DType::Int64 => made::<i64>(cells(view), shape),
        DType::Float16 => made::<f16>(cells::<f32>(view).into_iter().map(f16::from_f32).collect(), shape),
        DType::Float32 => made::<f32>(cells(view), shape),
        DType::Float64 => made::<f64>(cells(view), shape),
        DType::Text(width) => {
            let chosen: Vec<&str> =
                cells::<i32>(view).into_iter().map(|code| &*texts.texts[code as usize]).collect();
            let made = TextArray::new(&chosen, shape, width);
            Array::Text(made.expect("a view has as many elements as its shape says"))
        }
    }
}

fn cells<T: NdCell>(view: &NdView<'_>) -> Vec<T> {
    match view.as_slice() {
        Some(slice) => slice.to_vec(),
        None => view.cells().collect(),
    }
}

fn made<T: Element>(cells: Vec<T>, shape: &[usize]) -> Array {
    Array::new(cells, shape).expect("a view has as many elements as its shape says")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_go_both_ways() {
        let mut texts = Texts::default();
        let column = [1.5, -0.0].map(f16::from_f32);
        for array in [
            Array::vector([true, false]),
            Array::new(vec![i8::MIN, 3], &[2, 1]).expect("two elements"),
            Array::vector(column),
            Array::texts(&["b", "", "b"]),
        ] {
            let Some(Value::NdArray(rows)) = literal(&array, &mut texts) else { panic!("it has axes") };
            assert_eq!(array_of(&rows.view(), ValueType::of(&array), &texts), array);
        }
        assert_eq!(texts.count(), 2);
        texts.truncate(1);
        assert_eq!(texts.code(&"a".into()), 1);
        assert_eq!(literal(&Array::from(2.5), &mut texts), Some(Value::from(2.5)));
    }
}
