//! Data of field programs: buffers with origins and strides, scalars, rows of tables.
//!
//! ```text
//! u on I -1:3, J 0:2        origin (-1, 0), shape (4, 2), strides (2, 1)
//!                           (i, j) is at  start + (i - -1) * 2 + (j - 0) * 1
//! ```
//!
//! A buffer owns its cells, so that no two fields share memory.

use crate::field::cells::{FieldCells, MOST_FIELD_CELLS, each_cells};
use crate::field::dimension::DimensionId;
use crate::field::element::{dtype_name, held_as, integers};
use crate::field::error::{FieldProblem, MissingData};
use crate::field::points::{PointRange, WrittenPoints};
use crate::field::program::{FieldDeclaration, FieldProgram, FieldRole};
use crate::field::types::has_dtype;
use cembra_vm::machine::HostCells;
use cembra_vm::value::array::cell_size;
use cembra_vm::value::budget::{Account, Unlimited};
use cembra_vm::value::{NdView, ScalarType, ScalarValue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far behind another array none begins, both seen from the beginnings of their pages: a load a little behind a store of the
/// step before waits for it, which costs a stencil on 64 x 64 points a third of its time.
const NEAR: usize = 256;
const PAGE: usize = 4096;

/// Cells of one value that do not begin near behind others, where all of them may be in the first-level cache.
fn filled_apart(value: &ScalarValue, count: usize, others: &[usize]) -> Result<FieldCells, FieldProblem> {
    let mut spacers = Vec::new();
    loop {
        let cells = FieldCells::filled(value, count)?;
        let is_near = |other: &usize| (1..NEAR).contains(&(cells.address().wrapping_sub(*other) % PAGE));
        let is_small = count * cell_size(cells.dtype()) <= 64 << 10;
        if !is_small || spacers.len() == 8 || !others.iter().any(is_near) {
            return Ok(cells);
        }
        // Something else takes the place where they began.
        drop(cells);
        spacers.push(Vec::<u8>::with_capacity(NEAR));
    }
}

/// Cells for the points of a box.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldBuffer {
    pub(super) cells: FieldCells,
    /// The element type, which the type of the cells [holds](held_as).
    pub(super) dtype: ScalarType,
    pub(super) origin: Vec<i64>,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<isize>,
    pub(super) start: usize,
    /// The points that have values, unless all of them do.
    pub(super) written: Option<Arc<WrittenPoints>>,
}

/// Where the points of a buffer stand among its cells.
#[derive(Clone, Debug)]
pub(crate) struct BufferLayout {
    origin: Vec<i64>,
    strides: Vec<isize>,
    start: usize,
    cells: usize,
}

impl FieldBuffer {
    /// Where its points stand among its cells.
    pub(crate) fn layout(&self) -> BufferLayout {
        let (origin, strides) = (self.origin.clone(), self.strides.clone());
        BufferLayout { origin, strides, start: self.start, cells: self.cells.len() }
    }

    /// True if its points stand so.
    pub(crate) fn has_layout(&self, layout: &BufferLayout) -> bool {
        // Axes are few: a loop is faster than a call that compares memory.
        self.start == layout.start
            && self.strides.iter().zip(&layout.strides).all(|(one, other)| one == other)
            && self.origin.iter().zip(&layout.origin).all(|(one, other)| one == other)
            && self.origin.len() == layout.origin.len()
            && self.cells.len() == layout.cells
    }

    /// The cells, to be written by a run.
    pub(crate) fn lend_mut(&mut self) -> HostCells<'_> {
        each_cells!(&mut self.cells, cells => HostCells::write(cells))
    }

    /// Cells one after the other, the last axis fastest, from a point on.
    ///
    /// # Errors
    /// There are not as many cells as the shape says, or the origin is out of reach.
    pub fn row_major(
        cells: FieldCells,
        origin: &[i64],
        shape: &[usize],
    ) -> Result<FieldBuffer, FieldProblem> {
        let count = cell_count(shape)?;
        if count != cells.len() {
            let what = format!("{} cells for the shape {shape:?}", cells.len());
            return Err(FieldProblem::Data { what });
        }
        let mut strides = vec![1isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1) as isize;
        }
        FieldBuffer::strided(cells, origin, shape, &strides, 0)
    }

    /// Cells with any strides: `strides` count cells, and the point `origin` has the cell `start`.
    ///
    /// # Errors
    /// A cell lies outside, the origin is out of reach, or an axis does not step over all cells of the axes with smaller
    /// strides, so that two points could share one.
    pub fn strided(
        cells: FieldCells,
        origin: &[i64],
        shape: &[usize],
        strides: &[isize],
        start: usize,
    ) -> Result<FieldBuffer, FieldProblem> {
        let wrong = |what: String| Err(FieldProblem::Data { what });
        if origin.len() != shape.len() || strides.len() != shape.len() {
            return wrong(format!(
                "origin {origin:?}, shape {shape:?} and strides {strides:?} differ in axes"
            ));
        }
        let count = cell_count(shape)?;
        if cells.len() > MOST_FIELD_CELLS {
            let what = format!("a buffer of {} cells; at most {MOST_FIELD_CELLS} are allowed", cells.len());
            return Err(FieldProblem::Limit { limit: "field-cells", what });
        }
        // Points stay within 32 bits, so that sums of offsets stay within 64.
        let reach = i64::from(i32::MAX);
        if origin
            .iter()
            .zip(shape)
            .any(|(first, size)| first.unsigned_abs() > reach as u64 || *size as i64 > reach)
        {
            return wrong(format!("origin {origin:?} and shape {shape:?} reach beyond 32 bits"));
        }
        let (mut lowest, mut highest) = (start as i128, start as i128);
        let mut axes: Vec<(i128, i128)> = Vec::new();
        for (size, stride) in shape.iter().zip(strides).filter(|_| count > 0) {
            let reach = (*size as i128 - 1) * *stride as i128;
            lowest += reach.min(0);
            highest += reach.max(0);
            if *size > 1 {
                axes.push(((*stride as i128).abs(), *size as i128));
            }
        }
        if count > 0 && (lowest < 0 || highest >= cells.len() as i128) {
            return wrong(format!("shape {shape:?} with strides {strides:?} reaches outside of the cells"));
        }
        axes.sort_unstable();
        let mut covered = 1;
        for (stride, size) in axes {
            if stride < covered {
                return wrong(format!("with strides {strides:?} points of {shape:?} may share a cell"));
            }
            covered = stride * size;
        }
        let (origin, shape, strides) = (origin.to_vec(), shape.to_vec(), strides.to_vec());
        let dtype = cells.dtype();
        Ok(FieldBuffer { cells, dtype, origin, shape, strides, start, written: None })
    }

    /// A buffer of one value.
    ///
    /// # Errors
    /// There are too many cells.
    pub fn filled(value: &ScalarValue, origin: &[i64], shape: &[usize]) -> Result<FieldBuffer, FieldProblem> {
        FieldBuffer::row_major(FieldCells::filled(value, cell_count(shape)?)?, origin, shape)
    }

    /// The same with elements of a type that its cells hold: int8 to uint16 in INT32, uint32 in INT64, uint64 in INT64
    /// of the same bits.
    ///
    /// # Errors
    /// Cells of this type do not hold such elements, or a cell is none of their numbers.
    pub fn of_dtype(mut self, dtype: ScalarType) -> Result<FieldBuffer, FieldProblem> {
        has_dtype(&format!("what holds {}", dtype_name(dtype)), self.cells.dtype(), held_as(dtype))?;
        // All bits are a number of uint64.
        if let Some(numbers) = integers(dtype).filter(|_| dtype != ScalarType::Uint64)
            && let Some(number) = self.cells.integer_outside(&numbers)
        {
            return Err(FieldProblem::Data { what: format!("{number} is no {}", dtype_name(dtype)) });
        }
        self.dtype = dtype;
        Ok(self)
    }

    /// The element type.
    pub fn dtype(&self) -> ScalarType {
        self.dtype
    }

    /// First point along each axis.
    pub fn origin(&self) -> &[i64] {
        &self.origin
    }

    /// Points along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All cells in the order of memory, those of no point included.
    pub fn cells(&self) -> &FieldCells {
        &self.cells
    }

    /// Checks that it has as many axes as a field.
    pub(super) fn has_axes_of(&self, field: &FieldDeclaration) -> Result<(), FieldProblem> {
        let (axes, dims) = (self.shape.len(), field.dims.len());
        match axes == dims {
            true => Ok(()),
            false => {
                let what = format!("the data of `{}` has {axes} axes and the field {dims}", field.name);
                Err(FieldProblem::Data { what })
            }
        }
    }

    /// The values of all points.
    pub fn view(&self) -> NdView<'_> {
        self.part(&self.origin, &self.shape)
    }

    /// The values of a box inside, by axis.
    ///
    /// # Panics
    /// If a point lies outside.
    pub fn part(&self, first: &[i64], shape: &[usize]) -> NdView<'_> {
        let axes = first.iter().zip(shape).enumerate();
        self.view_at(&self.place(axes.map(|(axis, (first, size))| Some((axis, *first, *size))), &[]))
    }

    /// Writes the values of a box inside; the array has its axes in the order of the buffer's.
    ///
    /// # Panics
    /// If a point lies outside, or shape or element type differ.
    pub fn store(&mut self, first: &[i64], values: &NdView<'_>) {
        let axes = first.iter().zip(values.shape()).enumerate();
        let place = self.place(axes.map(|(axis, (first, size))| Some((axis, *first, *size))), &[]);
        self.store_at(&place, values);
        let range = |(first, size): (&i64, &usize)| PointRange { first: *first, end: first + *size as i64 };
        self.note_written(&first.iter().zip(values.shape()).map(range).collect::<Vec<_>>());
    }
}

fn cell_count(shape: &[usize]) -> Result<usize, FieldProblem> {
    let product = shape.iter().try_fold(1usize, |count, size| count.checked_mul((*size).max(1)));
    match product {
        Some(product) if product <= MOST_FIELD_CELLS => Ok(if shape.contains(&0) { 0 } else { product }),
        _ => {
            let what =
                format!("a field of the shape {shape:?}; at most {MOST_FIELD_CELLS} cells are allowed");
            Err(FieldProblem::Limit { limit: "field-cells", what })
        }
    }
}

/// The rows of a neighbour table.
#[derive(Clone, Debug)]
pub struct TableEntries {
    entries: Arc<[i64]>,
    width: usize,
}

impl PartialEq for TableEntries {
    fn eq(&self, other: &TableEntries) -> bool {
        // A plan asks before each run, mostly about the very entries it knows.
        self.width == other.width
            && (Arc::ptr_eq(&self.entries, &other.entries) || self.entries == other.entries)
    }
}

impl Eq for TableEntries {}

impl TableEntries {
    /// Rows of so many columns, one after the other.
    ///
    /// # Errors
    /// The entries are no whole number of rows.
    pub fn new(entries: Vec<i64>, width: usize) -> Result<TableEntries, FieldProblem> {
        if width == 0 || !entries.len().is_multiple_of(width) {
            let what = format!("a table of {} entries in rows of {width}", entries.len());
            return Err(FieldProblem::Data { what });
        }
        Ok(TableEntries { entries: entries.into(), width })
    }

    /// Columns of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.entries.len() / self.width
    }

    /// An entry.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn entry(&self, row: usize, column: usize) -> i64 {
        assert!(column < self.width, "column {column} of {}", self.width);
        self.entries[row * self.width + column]
    }

    /// All entries, row by row.
    pub fn entries(&self) -> &[i64] {
        &self.entries
    }
}

/// The data of a program by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldData {
    /// Inputs, and outputs with what they start as.
    pub fields: BTreeMap<String, FieldBuffer>,
    /// Scalars.
    pub scalars: BTreeMap<String, ScalarValue>,
    /// Tables.
    pub tables: BTreeMap<String, TableEntries>,
}

impl FieldData {
    /// Bytes of all cells and entries.
    pub fn bytes(&self) -> u64 {
        let of_cells = |buffer: &FieldBuffer| buffer.cells.len() * cell_size(buffer.cells.dtype());
        let of_entries = |table: &TableEntries| size_of_val(table.entries());
        let cells: usize = self.fields.values().map(of_cells).sum();
        (cells + self.tables.values().map(of_entries).sum::<usize>()) as u64
    }

    /// Gives a buffer to every output that has none: of the extent that the program declares, or else along each
    /// dimension of that of the first field that has it, or of the rows of the first table from it; filled with what the
    /// program says. Without that there are zeros, which are no values yet: a plan refuses statements that read them before
    /// one writes there.
    ///
    /// # Errors
    /// No field has one of the dimensions, or there are too many cells.
    pub fn complete(&mut self, program: &FieldProgram) -> Result<(), FieldProblem> {
        self.complete_within(program, &Unlimited)
    }

    /// The same with an account that the cells are charged to.
    ///
    /// # Errors
    /// As [`FieldData::complete`], or the account stops it.
    pub fn complete_within(
        &mut self,
        program: &FieldProgram,
        account: &dyn Account,
    ) -> Result<(), FieldProblem> {
        let mut cells = 0;
        for field in &program.fields {
            if field.role != FieldRole::Output || self.fields.contains_key(&*field.name) {
                continue;
            }
            let (mut origin, mut shape) = (Vec::new(), Vec::new());
            for (place, dim) in field.dims.iter().enumerate() {
                let declared = field
                    .shape
                    .as_ref()
                    .map(|shape| (field.origin.as_ref().map_or(0, |origin| origin[place]), shape[place]));
                let (first, size) = match declared {
                    Some(range) => range,
                    None => self.range(program, *dim).ok_or_else(|| self.no_range(program, field, *dim))?,
                };
                origin.push(first);
                shape.push(size);
            }
            cells += cell_count(&shape)?;
            if cells > MOST_FIELD_CELLS {
                let what = format!(
                    "outputs without data, up to `{}`, have {cells} cells; at most {MOST_FIELD_CELLS} are allowed",
                    field.name
                );
                return Err(FieldProblem::Limit { limit: "field-cells", what });
            }
            let bytes = cell_count(&shape)? * cell_size(held_as(field.dtype));
            account.charge(bytes as u64).map_err(|stop| FieldProblem::from(stop).of_field(&field.name))?;
            let zero = ScalarValue::zero(held_as(field.dtype));
            let fill = field.fill.as_ref().unwrap_or(&zero);
            let others: Vec<usize> = self.fields.values().map(|other| other.cells.address()).collect();
            let buffer = filled_apart(fill, cell_count(&shape)?, &others)?;
            let buffer = FieldBuffer::row_major(buffer, &origin, &shape)?.of_dtype(field.dtype)?;
            let buffer = if field.fill.is_some() { buffer } else { buffer.without_values() };
            self.fields.insert(field.name.to_string(), buffer);
        }
        Ok(())
    }

    /// Why an output has no extent along a dimension: data that is missing or has other axes, or else that nobody says one.
    fn no_range(&self, program: &FieldProgram, field: &FieldDeclaration, dim: DimensionId) -> FieldProblem {
        let mut with_data = program.fields.iter().filter_map(|of| Some((of, self.fields.get(&*of.name)?)));
        if let Some(problem) = with_data.find_map(|(of, buffer)| buffer.has_axes_of(of).err()) {
            return problem;
        }
        let is_needed = |of: &&FieldDeclaration| of.role == FieldRole::Input && of.dims.contains(&dim);
        if let Some(input) = program.fields.iter().find(is_needed) {
            return FieldProblem::missing(MissingData::Field, &input.name);
        }
        if let Some(table) = program.tables.iter().find(|table| table.from == dim) {
            return FieldProblem::missing(MissingData::Table, &table.name);
        }
        let (name, dim) = (&field.name, program.dim_name(dim));
        let what = format!(
            "`{name}` has no data, and nothing says its extent along {dim}: `{name}[{dim}=0:8]` would"
        );
        FieldProblem::Data { what }
    }

    /// The range of the first field that has a dimension and data, or else the rows of the first table from it; of a local
    /// dimension the columns of its table.
    fn range(&self, program: &FieldProgram, dim: DimensionId) -> Option<(i64, usize)> {
        if let Some(table) = program.table_of(dim) {
            return Some((0, program.tables[table.0].width));
        }
        let of_field = program.fields.iter().find_map(|field| {
            let buffer = self.fields.get(&*field.name)?;
            let place = field.dims.iter().position(|other| *other == dim)?;
            Some((*buffer.origin.get(place)?, *buffer.shape.get(place)?))
        });
        let rows = || {
            let mut tables = program.tables.iter().filter(|table| table.from == dim);
            tables.find_map(|table| Some((table.origin, self.tables.get(&*table.name)?.rows())))
        };
        of_field.or_else(rows)
    }
}
