//! Values as numpy prints them.
//!
//! ```text
//! [[ 1.          0.5       ]     one word a number, all of one width
//!  [-2.         33.33333333]]    a line of 75 characters breaks between words
//! ```
//!
//! The layout is that of `numpy.array2string` with its default options: eight digits behind the point, all
//! numbers with exponents if one needs them, and above 1000 elements only the first and last three of each
//! axis. Only what is shown determines the width of the words.

use crate::dag::array::{Array, Elements, TextArray};
use crate::dag::number_text::{
    FloatText, positional, python_float, python_string, scientific, scientific_digits, special,
};
use std::fmt::Display;

/// Characters of a line.
const LINE_WIDTH: usize = 75;
/// Elements up to which an array is shown whole.
const THRESHOLD: usize = 1000;
/// Elements shown at each end of an axis.
const EDGE: usize = 3;

/// Which elements are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Those at the ends of long axes, in arrays of more than 1000 elements.
    Summary,
    /// All.
    Full,
}

/// The value as `str(array)` prints it.
pub fn value_text(array: &Array, detail: Detail) -> String {
    if array.shape().is_empty() {
        return single(array);
    }
    Layout { separator: " ", indent: 0, width: LINE_WIDTH }.text(array, detail)
}

/// The value as `repr(array)` prints it: `array([1, 2, 3])`.
pub fn repr_text(array: &Array) -> String {
    let dtype = array.dtype();
    let mut suffix = String::new();
    if array.len() > THRESHOLD {
        suffix.push_str(&format!(", shape={}", shape_text(array.shape())));
    }
    if !dtype.is_literal() || array.is_empty() {
        suffix.push_str(&match dtype.is_text() {
            true => format!(", dtype='{dtype}'"),
            false => format!(", dtype={dtype}"),
        });
    }
    let text = match array.shape().is_empty() {
        true => literal(array),
        false => Layout { separator: ", ", indent: 6, width: LINE_WIDTH - 1 }.text(array, Detail::Summary),
    };
    format!("array({text}{suffix})")
}

/// The value as nested lists of a Python program, on one line; infinity is `1e309`.
pub fn literal_text(array: &Array, detail: Detail) -> String {
    if array.shape().is_empty() {
        return literal(array);
    }
    let shown = Shown::new(array.shape(), detail);
    let words = words(array, &shown, Form::Literal);
    nested(&shown, &mut words.iter(), 0)
}

/// All elements as nested lists on one line; infinity is `inf`.
pub(crate) fn list_text(array: &Array) -> String {
    let shown = Shown::new(array.shape(), Detail::Full);
    nested(&shown, &mut words(array, &shown, Form::Listed).iter(), 0)
}

/// A shape as Python prints the tuple: `()`, `(3,)`, `(2, 3)`.
pub fn shape_text(shape: &[usize]) -> String {
    tuple_text(shape)
}

/// A tuple of numbers.
pub(crate) fn tuple_text<T: Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(T::to_string).collect();
    match &texts[..] {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}

/// An array without axes as `str` prints it.
fn single(array: &Array) -> String {
    match array {
        Array::Text(texts) => texts.texts().collect(),
        _ => all_words(array, Form::Single).concat(),
    }
}

fn literal(array: &Array) -> String {
    all_words(array, Form::Literal).concat()
}

fn all_words(array: &Array, form: Form) -> Vec<String> {
    words(array, &Shown::new(array.shape(), Detail::Full), form)
}

/// How elements are written.
#[derive(Clone, Copy)]
enum Form {
    /// In the width of all, as part of an array.
    Aligned,
    /// Alone.
    Single,
    /// As part of a program.
    Literal,
    /// As part of a node.
    Listed,
}

/// For each axis, which indices are shown, in order; `None` stands for those left out.
struct Shown {
    axes: Vec<Vec<Option<usize>>>,
}

impl Shown {
    fn new(shape: &[usize], detail: Detail) -> Shown {
        let summarised = detail == Detail::Summary && shape.iter().product::<usize>() > THRESHOLD;
        let axis = |size: &usize| match summarised && *size > 2 * EDGE {
            true => {
                let ends = (0..EDGE).map(Some).chain([None]);
                ends.chain((size - EDGE..*size).map(Some)).collect()
            }
            false => (0..*size).map(Some).collect(),
        };
        Shown { axes: shape.iter().map(axis).collect() }
    }

    /// The shown elements in row-major order.
    fn elements<T: Copy>(&self, elements: &Elements<T>) -> Vec<T> {
        let mut shown = Vec::new();
        // Without elements there may be any number of indices along the other axes.
        if elements.is_empty() {
            return shown;
        }
        self.each(&mut vec![0; self.axes.len()], 0, &mut |index| shown.push(elements[index]));
        shown
    }

    /// Calls `visit` with the index of each shown element; `index` is filled up to `axis`.
    fn each(&self, index: &mut [usize], axis: usize, visit: &mut dyn FnMut(&[usize])) {
        let Some(shown) = self.axes.get(axis) else { return visit(index) };
        for at in shown.iter().copied().flatten() {
            index[axis] = at;
            self.each(index, axis + 1, visit);
        }
    }
}

/// The shown elements as texts.
fn words(array: &Array, shown: &Shown, form: Form) -> Vec<String> {
    match array {
        Array::Bool(v) => shown.elements(v).into_iter().map(|v| boolean(v, form)).collect(),
        Array::Int8(v) => integers(shown.elements(v).into_iter().map(i64::from).collect(), form),
        Array::Int32(v) => integers(shown.elements(v).into_iter().map(i64::from).collect(), form),
        Array::Int64(v) => integers(shown.elements(v), form),
        Array::Float16(v) => floats(&shown.elements(v), form),
        Array::Float32(v) => floats(&shown.elements(v), form),
        Array::Float64(v) => floats(&shown.elements(v), form),
        Array::Text(texts) => text_words(texts, shown),
    }
}

fn text_words(texts: &TextArray, shown: &Shown) -> Vec<String> {
    shown.elements(&texts.codes).into_iter().map(|code| python_string(texts.text(code))).collect()
}

fn boolean(value: bool, form: Form) -> String {
    match (value, form) {
        (true, Form::Aligned) => " True".to_owned(),
        (true, _) => "True".to_owned(),
        (false, _) => "False".to_owned(),
    }
}

fn integers(values: Vec<i64>, form: Form) -> Vec<String> {
    let texts: Vec<String> = values.iter().map(i64::to_string).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    match form {
        Form::Aligned => texts.iter().map(|text| format!("{text:>width$}")).collect(),
        Form::Single | Form::Literal | Form::Listed => texts,
    }
}

fn floats<T: FloatText>(values: &[T], form: Form) -> Vec<String> {
    match form {
        Form::Aligned => aligned_floats(values),
        Form::Single => values.iter().map(|v| python_float(*v)).collect(),
        Form::Listed => values.iter().map(|v| python_float(v.wide())).collect(),
        // Python has no literals of these; overflow makes them.
        Form::Literal => values
            .iter()
            .map(|v| match v.wide() {
                wide if wide.is_nan() => "(1e309-1e309)".to_owned(),
                f64::INFINITY => "1e309".to_owned(),
                f64::NEG_INFINITY => "-1e309".to_owned(),
                wide => python_float(wide),
            })
            .collect(),
    }
}

/// Numbers with their points below each other.
fn aligned_floats<T: FloatText>(values: &[T]) -> Vec<String> {
    let finite: Vec<T> = values.iter().copied().filter(|v| v.wide().is_finite()).collect();
    let parts: Vec<(String, String)> = match needs_exponents(&finite) {
        true => with_exponents(&finite),
        false => finite.iter().map(|v| positional(*v)).collect(),
    };
    let mut left = parts.iter().map(|(whole, _)| whole.len()).max().unwrap_or(0);
    let right = parts.iter().map(|(_, rest)| rest.len()).max().unwrap_or(0);
    for word in values.iter().filter_map(|v| special(v.wide())) {
        left = left.max(word.len().saturating_sub(right + 1));
    }
    let mut parts = parts.iter();
    let word = |value: &T| match special(value.wide()) {
        Some(word) => format!("{word:>width$}", width = left + right + 1),
        None => {
            let (whole, rest) = parts.next().expect("every finite number has its parts");
            format!("{whole:>left$}.{rest:<right$}")
        }
    };
    values.iter().map(word).collect()
}

fn needs_exponents<T: FloatText>(finite: &[T]) -> bool {
    let magnitudes = finite.iter().map(|v| v.wide().abs()).filter(|v| *v != 0.0);
    let (smallest, largest) = magnitudes.fold((f64::INFINITY, 0.0f64), |(s, l), v| (s.min(v), l.max(v)));
    largest > 0.0 && (largest >= T::EXPONENT_FROM || smallest < 1e-4 || largest / smallest > 1000.0)
}

/// First digits, and further digits with the exponent: as many digits for all as one needs, those of the
/// exact value.
fn with_exponents<T: FloatText>(finite: &[T]) -> Vec<(String, String)> {
    let digits = finite.iter().map(|v| scientific_digits(*v)).max().unwrap_or(0);
    let parts: Vec<_> = finite.iter().map(|v| scientific(*v, digits)).collect();
    let exponents = parts.iter().map(|(_, _, exponent)| exponent.unsigned_abs().to_string().len());
    let exponent_digits = exponents.max().unwrap_or(2).max(2);
    let join = |(first, rest, exponent): (String, String, i32)| {
        let sign = if exponent < 0 { '-' } else { '+' };
        let exponent = exponent.unsigned_abs();
        (first, format!("{rest}e{sign}{exponent:0exponent_digits$}"))
    };
    parts.into_iter().map(join).collect()
}

/// Nested lists on one line.
fn nested<'w>(shown: &Shown, words: &mut impl Iterator<Item = &'w String>, axis: usize) -> String {
    let Some(indices) = shown.axes.get(axis) else {
        return words.next().expect("every shown element has its word").clone();
    };
    let items: Vec<String> = indices
        .iter()
        .map(|index| match index {
            Some(_) => nested(shown, words, axis + 1),
            None => "...".to_owned(),
        })
        .collect();
    format!("[{}]", items.join(", "))
}

/// How an array is laid out in lines.
struct Layout {
    separator: &'static str,
    /// Characters before the first bracket.
    indent: usize,
    /// Characters of a line.
    width: usize,
}

impl Layout {
    fn text(&self, array: &Array, detail: Detail) -> String {
        if array.is_empty() {
            return "[]".to_owned();
        }
        let shown = Shown::new(array.shape(), detail);
        let words = words(array, &shown, Form::Aligned);
        self.block(&shown, &mut words.iter(), 0)
    }

    /// One axis and those within; recursion goes as deep as an array has axes, at most 64.
    fn block<'w>(&self, shown: &Shown, words: &mut impl Iterator<Item = &'w String>, axis: usize) -> String {
        let indent = " ".repeat(self.indent + 1 + axis);
        let left = shown.axes.len() - axis;
        let text = match left {
            1 => self.row(&shown.axes[axis], words, &indent),
            _ => {
                let items = shown.axes[axis].iter().map(|index| match index {
                    Some(_) => self.block(shown, words, axis + 1),
                    None => "...".to_owned(),
                });
                let items: Vec<String> = items.collect();
                let between = format!("{}{}{indent}", self.separator.trim_end(), "\n".repeat(left - 1));
                items.join(&between)
            }
        };
        format!("[{text}]")
    }

    /// The words of the last axis; `indent` begins every line but the first, which follows a bracket.
    fn row<'w>(
        &self,
        indices: &[Option<usize>],
        words: &mut impl Iterator<Item = &'w String>,
        indent: &str,
    ) -> String {
        // Each bracket that closes, and the separator, need their place on the line.
        let axis = indent.len() - self.indent - 1;
        let width = self.width - axis - self.separator.trim_end().len().max(1);
        let (mut text, mut line) = (String::new(), indent.to_owned());
        for (at, index) in indices.iter().enumerate() {
            let word = match index {
                Some(_) => words.next().expect("every shown element has its word").as_str(),
                None => "...",
            };
            if line.chars().count() + word.chars().count() > width && line.len() > indent.len() {
                text.push_str(line.trim_end());
                text.push('\n');
                line = indent.to_owned();
            }
            line.push_str(word);
            if at + 1 < indices.len() {
                line.push_str(self.separator);
            }
        }
        text.push_str(&line);
        text.split_off(indent.len())
    }
}
