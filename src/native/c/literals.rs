//! Literals that are arrays and edges: constants of C, which nobody writes and nobody frees.
//!
//! ```text
//! static const union { uint64_t bits[2]; double cells[2]; } v3_cells = { { UINT64_C(0x3ff0000000000000), … } };
//! char *v3 = (char *)&v3_cells; int64_t v3_n0 = 2, v3_s0 = 8;
//! ```
//!
//! Cells are written as bits, so that they are those of the literal, whatever NaN it has.

use crate::native::c::constants::integer;
use crate::native::c::locals::element_name;
use crate::native::c::writer::Writer;
use crate::native::error::NotTranslated;
use crate::native::stage::{C, Language};
use cembra_vm::library::BoundaryArray;
use cembra_vm::program::ValueId;
use cembra_vm::value::{Edge, Value};
use std::fmt::Write;

/// Bytes of cells of one literal at most: a compiler takes long for more.
const MOST_BYTES: usize = 1 << 20;

impl Writer<'_> {
    /// Declares the locals of a literal that is an array or an edge.
    pub(super) fn declare_literal(&mut self, value: ValueId, literal: &Value) -> Result<(), NotTranslated> {
        let array = self.locals.array(value);
        match (literal, array) {
            (Value::NdArray(rows), Some(array)) => {
                let mut cells = vec![0; rows.shape().iter().product::<usize>() * array.size()];
                rows.view().copy_to(&mut cells);
                self.declare_cells(value, array, &cells, rows.shape(), None)
            }
            (Value::Array(_, rows), Some(array)) => {
                let cells = &rows.bytes()[..rows.len() * array.size()];
                self.declare_cells(value, array, cells, &[rows.len()], rows.presence())
            }
            (Value::Edge(_, edge), None) => self.declare_grouping(value, edge),
            _ => Err(self.no_form(value)),
        }
    }

    fn declare_cells(
        &mut self,
        value: ValueId,
        array: BoundaryArray,
        cells: &[u8],
        shape: &[usize],
        presence: Option<&[u64]>,
    ) -> Result<(), NotTranslated> {
        self.fits(value, cells.len())?;
        if cells.is_empty() {
            let _ = writeln!(
                self.text,
                "    static const uint8_t {value}_cells[8] = {{ 0 }};\n    char *{value} = (char *){value}_cells;"
            );
        } else {
            let (size, element) = (array.size(), element_name(array.element()));
            let count = cells.len() / size;
            let _ = writeln!(
                self.text,
                "    static const union {{ uint{}_t bits[{count}]; {element} cells[{count}]; }} {value}_cells = {{ {{ {} }} }};\n    \
                 char *{value} = (char *)&{value}_cells;",
                8 * size,
                cells.chunks(size).map(bits).collect::<Vec<_>>().join(", ")
            );
        }
        let mut stride = array.size();
        let mut axes = Vec::new();
        for (axis, size) in shape.iter().enumerate().rev() {
            axes.push(format!("{value}_n{axis} = {size}, {value}_s{axis} = {stride}"));
            stride *= size;
        }
        if !axes.is_empty() {
            let _ = writeln!(self.text, "    int64_t {};", axes.join(", "));
        }
        if array.has_rows() {
            self.declare_presence(value, shape[0], presence);
        }
        Ok(())
    }

    fn declare_presence(&mut self, value: ValueId, rows: usize, presence: Option<&[u64]>) {
        let bitmap = match presence {
            None => "NULL".to_owned(),
            Some(words) => {
                let bytes = words.iter().flat_map(|word| word.to_le_bytes());
                let bytes: Vec<String> = bytes.take(rows.div_ceil(8)).map(|byte| byte.to_string()).collect();
                let _ = writeln!(
                    self.text,
                    "    static const uint8_t {value}_there[] = {{ {} }};",
                    if bytes.is_empty() { "0".to_owned() } else { bytes.join(", ") }
                );
                format!("{value}_there")
            }
        };
        let _ = writeln!(self.text, "    const uint8_t *{value}_valid = {bitmap}; int64_t {value}_bit = 0;");
    }

    /// An edge whose groups are known.
    fn declare_grouping(&mut self, value: ValueId, edge: &Edge) -> Result<(), NotTranslated> {
        let numbers = match edge.split_points() {
            Some(points) => points.len(),
            None if edge.is_to_scalar() => 0,
            None => 2 * edge.child_size() + edge.parent_size(),
        };
        self.fits(value, 8 * numbers)?;
        let mut list = |what: &str, numbers: Vec<i64>| {
            let numbers: Vec<String> = numbers.into_iter().map(integer).collect();
            let numbers = if numbers.is_empty() { "0".to_owned() } else { numbers.join(", ") };
            let _ = writeln!(self.text, "    static const int64_t {value}_{what}[] = {{ {numbers} }};");
            format!("(int64_t *){value}_{what}")
        };
        let number = |number: &usize| *number as i64;
        let (mut mapping, mut starts, mut rows) = ("NULL".to_owned(), "NULL".to_owned(), "NULL".to_owned());
        if let Some(points) = edge.split_points() {
            starts = list("starts", points.iter().map(number).collect());
        } else if !edge.is_to_scalar() {
            let (parents, groups) = (edge.mapping(), edge.groups());
            let parent = |row| parents.get(row).and_then(|parent| parent.as_i64()).unwrap_or(-1);
            mapping = list("mapping", (0..parents.len()).map(parent).collect());
            let ends = groups.iter().scan(0, |end, group| {
                *end += group.len() as i64;
                Some(*end)
            });
            starts = list("starts", std::iter::once(0).chain(ends).collect());
            rows = list("rows", groups.iter().flatten().map(number).collect());
        }
        let _ = writeln!(
            self.text,
            "    cembra_grouping {value} = {{ {}, {}, {mapping}, {starts}, {rows} }};",
            edge.child_size(),
            edge.parent_size()
        );
        Ok(())
    }

    fn fits(&self, value: ValueId, bytes: usize) -> Result<(), NotTranslated> {
        match bytes > MOST_BYTES {
            true => Err(NotTranslated::Literal {
                language: C::NAME,
                routine: self.number,
                value,
                bytes,
                most: MOST_BYTES,
            }),
            false => Ok(()),
        }
    }
}

/// The bits of a cell.
fn bits(cell: &[u8]) -> String {
    let mut bytes = [0; 8];
    bytes[..cell.len()].copy_from_slice(cell);
    format!("UINT{}_C(0x{:x})", 8 * cell.len(), u64::from_ne_bytes(bytes))
}
