//! Test: every operator of rows gives the same bits with all instructions of this machine.

use crate::array::block::{BlockKernel, Column};
use crate::array::recipe::{Recorded, strip_rows};
use crate::builtins::table;
use crate::operator::facts::Class;
use crate::operator::scalar::ScalarKernel;
use crate::operator::{Kernel, OperatorTable, Overload};
use crate::strip::{Lane, List};
use crate::value::array::{ArrayClass, ArrayType, ROWS_OF_A_WORD, cell_size};
use crate::value::qtype::OPTIONAL_UNIT;
use crate::value::{QType, ScalarType};
use crate::vector::Level;
use std::sync::Arc;

/// Around words, and more than one word.
const SIZES: [usize; 6] = [1, 7, 63, 64, 65, 300];
const MOST: usize = 300;

/// Numbers that are cheap to make and never the same twice in a row.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A cell: any number, or one of those where operators behave in their own way.
    fn cell(&mut self, scalar: ScalarType) -> u64 {
        let bits = self.next();
        let special = (bits >> 40).is_multiple_of(4);
        match scalar {
            ScalarType::Boolean => bits & 1,
            ScalarType::Float64 | ScalarType::WeakFloat => {
                let specials =
                    [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE / 4.0, 1e300];
                let near = (bits >> 12) as f64 / (1u64 << 48) as f64 - 8.0;
                if special { specials[bits as usize % 8] } else { near }.to_bits()
            }
            ScalarType::Float32 => {
                let specials = [0.0, -0.0, 1.0, -1.5, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 4.0, 1e30];
                let near = (bits >> 40) as f32 / (1u64 << 20) as f32 - 8.0;
                u64::from(if special { specials[bits as usize % 8] } else { near }.to_bits())
            }
            _ if special => [0, 1, u64::MAX, i64::MIN as u64][bits as usize % 4],
            _ if bits.is_multiple_of(3) => bits,
            _ => (bits >> 32) % 1000,
        }
    }
}

/// Rows of an operand: cells, one after the other, and words of presence.
struct Rows {
    cells: Vec<u64>,
    words: Vec<u64>,
    step: usize,
}

impl Rows {
    fn new(numbers: &mut Numbers, scalar: ScalarType, is_one: bool) -> Rows {
        let size = cell_size(scalar);
        let mut cells = vec![0u64; MOST];
        for cell in bytemuck::cast_slice_mut::<u64, u8>(&mut cells).chunks_exact_mut(size.max(1)).take(MOST) {
            cell[..size].copy_from_slice(&numbers.cell(scalar).to_le_bytes()[..size]);
        }
        let words = (0..MOST.div_ceil(ROWS_OF_A_WORD)).map(|_| numbers.next() | numbers.next()).collect();
        let step = if is_one { 0 } else { size };
        Rows { cells, words, step }
    }

    fn column(&self, has_presence: bool) -> Column {
        Column {
            data: self.cells.as_ptr().cast(),
            step: self.step,
            presence: if has_presence { self.words.as_ptr() } else { std::ptr::null() },
            all: u64::MAX,
        }
    }
}

/// The kernel of an overload that cannot raise; NaN of a result is one value.
fn kernel(overload: &Overload) -> Option<BlockKernel> {
    match overload.kernel() {
        Kernel::Scalar(kernel) if !kernel.block.is_fallible => Some(kernel.block),
        _ => None,
    }
}

fn with_one_nan(mut bytes: Vec<u8>, scalar: ScalarType) -> Vec<u8> {
    match scalar {
        ScalarType::Float64 | ScalarType::WeakFloat => {
            for cell in bytes.as_chunks_mut::<8>().0 {
                if f64::from_le_bytes(*cell).is_nan() {
                    *cell = f64::NAN.to_le_bytes();
                }
            }
        }
        ScalarType::Float32 => {
            for cell in bytes.as_chunks_mut::<4>().0 {
                if f32::from_le_bytes(*cell).is_nan() {
                    *cell = f32::NAN.to_le_bytes();
                }
            }
        }
        _ => {}
    }
    bytes
}

#[test]
fn all_levels_give_the_same_bits() {
    let mut numbers = Numbers(0x5eed);
    let table = table();
    let mut compared = 0;
    let families = table.families().flat_map(|family| family.overloads());
    for overload in families {
        let Some(kernel) = kernel(overload) else { continue };
        // The kernel of a lifted overload is that of the plain one.
        let scalars: Vec<ScalarType> = overload.args().iter().filter_map(QType::element).collect();
        let result = overload.result().element().expect("a plain result");
        for one in 0..=scalars.len() {
            let rows: Vec<Rows> = scalars
                .iter()
                .enumerate()
                .map(|(index, scalar)| {
                    Rows::new(&mut numbers, *scalar, index + 1 == one && scalars.len() > 1)
                })
                .collect();
            let columns: Vec<Column> = rows.iter().map(|rows| rows.column(!kernel.is_lifted)).collect();
            for count in SIZES {
                let expected = kernel.rows(Level::Baseline, &columns, cell_size(result), count);
                let expected = (with_one_nan(expected.0, result), expected.1);
                for level in Level::available() {
                    let found = kernel.rows(*level, &columns, cell_size(result), count);
                    let found = (with_one_nan(found.0, result), found.1);
                    assert!(found == expected, "{overload}, {count} rows, {}", level.name());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 2_000, "only {compared}");
}

/// The list of one operator whose last operands are literals, if its recipe is for them: the numbers of columns are
/// those of cells of operands, of their presence, of the result's cells, and of its presence.
fn recorded(
    kernel: &BlockKernel,
    scalars: &[ScalarType],
    literal: Option<u64>,
    may_miss: &[bool],
) -> Option<List> {
    let mut list = List::new();
    let count = scalars.len() as u16;
    let operands: Vec<Recorded> = scalars
        .iter()
        .zip(0..)
        .map(|(scalar, number)| Recorded {
            cells: Lane::of(*scalar).map(|lane| match literal.filter(|_| number + 1 == count) {
                Some(bits) => list.literal(lane, bits),
                None => list.column(number, lane),
            }),
            present: may_miss[number as usize].then(|| list.presence(count + number)),
        })
        .collect();
    let recorded = kernel.recipe?.record(&mut list, &operands, kernel.is_lifted)?;
    if let Some(cells) = recorded.cells {
        list.store(2 * count, cells);
    }
    let present = recorded.present.unwrap_or_else(|| list.truth(true));
    list.store_presence(2 * count + 1, present);
    Some(list)
}

/// Operators for any type of rows.
fn made_on_demand(table: &OperatorTable) -> Vec<Arc<Overload>> {
    let plain = |scalar: &ScalarType| scalar.is_plain() && *scalar != ScalarType::WeakFloat;
    let scalars: Vec<ScalarType> = ScalarType::ALL.into_iter().filter(plain).collect();
    let families =
        |name: &str| table.families().find(|family| &**family.name() == name).expect("a row").clone();
    let made = scalars.iter().flat_map(|scalar| {
        let (plain, optional) = (QType::Scalar(*scalar), QType::Optional(*scalar));
        [
            ("core._copy", vec![optional.clone()]),
            ("core.has._array", vec![optional.clone()]),
            ("core.to_optional._scalar", vec![plain.clone()]),
            ("core.presence_and", vec![optional.clone(), OPTIONAL_UNIT]),
            ("core.presence_or", vec![optional.clone(), plain.clone()]),
            ("core.presence_or", vec![optional.clone(), optional.clone()]),
            ("core._presence_and_or", vec![optional.clone(), OPTIONAL_UNIT, plain]),
            ("core._presence_and_or", vec![optional.clone(), OPTIONAL_UNIT, optional.clone()]),
            ("core.where", vec![OPTIONAL_UNIT, optional.clone(), optional]),
        ]
    });
    made.map(|(name, args)| families(name).overload(&args).expect("an overload")).collect()
}

#[test]
fn recipes_give_the_bits_of_kernels() {
    let mut numbers = Numbers(0xca5e);
    let table = table();
    let (mut operators, mut compared) = (std::collections::BTreeSet::new(), 0);
    // Operands of integer division; other operators take them as well.
    let literals = [None, Some(1), Some(7), Some(86_400), Some((1 << 31) - 1), Some(3 << 40)];
    let listed = table.families().flat_map(|family| family.overloads().iter().cloned());
    for overload in listed.chain(made_on_demand(&table)) {
        let Kernel::Scalar(ScalarKernel { block: kernel, .. }) = overload.kernel() else { continue };
        if kernel.recipe.is_none() {
            continue;
        }
        let scalars: Vec<ScalarType> = overload.args().iter().filter_map(QType::element).collect();
        let result = overload.result().element().expect("a plain result");
        let patterns = || 0..1 << scalars.len();
        for (literal, pattern) in literals.iter().flat_map(|literal| patterns().map(move |p| (literal, p))) {
            // Of optionals, and of whatever a lifted kernel is applied to.
            let may_miss = |index: usize| match Lane::of(scalars[index]) {
                None => overload.args()[index].is_optional(),
                Some(_) => {
                    pattern >> index & 1 == 1 && (kernel.is_lifted || overload.args()[index].is_optional())
                }
            };
            let may_miss: Vec<bool> = (0..scalars.len()).map(may_miss).collect();
            let Some(list) = recorded(kernel, &scalars, *literal, &may_miss) else { continue };
            operators.insert(overload.name().to_string());
            let mut rows: Vec<Rows> =
                scalars.iter().map(|scalar| Rows::new(&mut numbers, *scalar, false)).collect();
            if let (Some(bits), Some(last)) = (literal, rows.last_mut()) {
                let bits = if scalars.last() == Some(&ScalarType::Boolean) { bits & 1 } else { *bits };
                last.cells = vec![bits; last.cells.len()];
                last.step = 0;
            }
            let columns: Vec<Column> =
                rows.iter().zip(&may_miss).map(|(rows, may_miss)| rows.column(*may_miss)).collect();
            for count in SIZES {
                let expected = kernel.present_rows(Level::Baseline, &columns, cell_size(result), count);
                let expected = (with_one_nan(expected.0, result), expected.1);
                for level in Level::available().iter().filter(|level| **level > Level::Baseline) {
                    let found = strip_rows(&list, *level, &columns, cell_size(result), count);
                    let found = (with_one_nan(found.0, result), found.1);
                    assert!(found == expected, "{overload}, {literal:?}, {count} rows, {}", level.name());
                    compared += 1;
                }
            }
        }
    }
    if Level::best() > Level::Baseline {
        assert!(compared > 1_000 && operators.len() > 35, "only {compared} of {operators:?}");
    }
}

/// Operators that are pointwise, but not members of regions over rows: of four operands whose types are one.
const ON_WHOLE_ARRAYS: [&str; 1] = ["bool.logical_if"];

/// What goes on rows of plain elements by themselves is code over rows, which a region runs together with others.
#[test]
fn pointwise_operators_go_over_rows() {
    let table = table();
    let pointwise = table.families().filter(|family| family.facts().class() == Class::Pointwise);
    let elements = [
        ScalarType::Float64,
        ScalarType::Float32,
        ScalarType::Int64,
        ScalarType::Int32,
        ScalarType::Boolean,
        ScalarType::Unit,
    ];
    let array = |element: ScalarType| QType::Array(ArrayType { class: ArrayClass::Dense, element });
    let mut found = Vec::new();
    for family in pointwise {
        for (element, arity) in
            elements.iter().flat_map(|element| (1..=4).map(move |arity| (*element, arity)))
        {
            for (first, last) in elements.iter().flat_map(|first| [(*first, element), (element, *first)]) {
                let mut args = vec![array(element); arity];
                (args[0], args[arity - 1]) =
                    (array(first), if arity > 1 { array(last) } else { array(first) });
                let overload = family.overload(&args);
                if overload.is_some_and(|overload| !overload.kernel().goes_over_rows()) {
                    found.push(family.name().to_string());
                }
            }
        }
    }
    found.sort();
    found.dedup();
    assert_eq!(found, ON_WHOLE_ARRAYS);
}
