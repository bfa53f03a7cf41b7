//! Literals of the text: numbers, scalar constructors, compound constructors.
//!
//! ```text
//! -1.5                    a number with its sign
//! optional_int32{NA}      a scalar constructor: its argument is read here, it is no expression
//! tuple(1, float32(2))    a compound constructor: read as a call, whose arguments must be literals
//! ```

use crate::expr::Literal;
use crate::registry::TypeError;
use crate::syntax::call::Argument;
use crate::syntax::construct;
use crate::syntax::error::{SyntaxError, SyntaxErrorKind};
use crate::syntax::lexer::{Kind, Token, span};
use crate::syntax::parser::{Parsed, Parser, Pending};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::sequence::SequenceValue;
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{ArrayClass, ArrayRows, Edge, NdRows, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

/// What an n-dimensional array is made of.
const ND_ARRAY: &str = "a type such as NDARRAY_FLOAT64_NN, the size of each axis, and as many elements";
/// What the axes of a machine's operator are made of.
const AXES: &str = "a type such as AXES_02; operators such as nd.sum take tuple(0, 1)";
/// What an edge is made of.
const EDGE: &str = "a number of parents and the parent of each row";

impl Parser<'_> {
    pub(super) fn number(&mut self, token: &Token, negative: bool, start: Span) -> Parsed<()> {
        let place = span(start.start as usize, token.span.end as usize);
        let element =
            self.element().and_then(|element| Some((element, cell(&token.kind, negative, element)?)));
        let literal = match (&token.kind, element) {
            (_, Some((element, argument))) => {
                construct::construct(&element.name().to_ascii_lowercase(), element, false, argument)
            }
            (Kind::Integer(text), None) => construct::integer(self.dialect, text, negative),
            (Kind::Float(text), None) => construct::float(self.dialect, text, negative),
            _ => return self.expected("a number"),
        };
        self.literal(literal.map_err(|kind| SyntaxError::new(kind, place))?, place)
    }

    /// The type of elements, if an element of a literal of many follows, such as behind `dense_array(FLOAT64, `.
    fn element(&self) -> Option<ScalarType> {
        let Some(Pending::Call { name, arguments, .. }) = self.pending.last() else { return None };
        let (qtype, rest) = arguments.split_first()?;
        match (name.as_str(), self.graph.literal(qtype.node)?) {
            ("dense_array" | "array" | "sequence", Literal::Type(QType::Scalar(element))) => Some(*element),
            ("ndarray", Literal::Type(QType::NdArray(t))) if rest.len() >= t.rank() => Some(t.element()),
            _ => None,
        }
    }

    /// True if a name is `nan` or `inf` where elements are floats.
    pub(super) fn is_special(&self, kind: &Kind) -> bool {
        matches!(kind, Kind::Name(word) if special(word, false).is_some())
            && self.element().is_some_and(ScalarType::is_float)
    }

    /// `float64(1)`, `optional_int32{NA}`.
    pub(super) fn constructor(&mut self, name: &str, place: Span) -> Parsed<()> {
        let Some((scalar, optional)) = construct::scalar_constructor(name) else {
            let kind = SyntaxErrorKind::UnknownConstructor { name: name.to_owned() };
            return Err(SyntaxError::new(kind, place));
        };
        let close = if self.at_symbol("{") { "}" } else { ")" };
        let open = self.next().span;
        let argument = self.constructor_argument(close)?;
        if !self.at_symbol(close) {
            return match self.kind(0) {
                Kind::End => {
                    let bracket = if close == "}" { '{' } else { '(' };
                    Err(SyntaxError::new(SyntaxErrorKind::Unclosed { bracket }, open))
                }
                _ => {
                    let expected = "one literal";
                    let kind = SyntaxErrorKind::Constructor { constructor: name.to_owned(), expected };
                    Err(SyntaxError::new(kind, self.peek().span))
                }
            };
        }
        let place = span(place.start as usize, self.next().span.end as usize);
        let literal = construct::construct(name, scalar, optional, argument);
        self.literal(literal.map_err(|kind| SyntaxError::new(kind, place))?, place)
    }

    fn constructor_argument(&mut self, close: &str) -> Parsed<construct::Argument> {
        use construct::Argument;
        let negative = self.at_symbol("-");
        if negative {
            self.next();
        }
        let argument = match self.kind(0) {
            Kind::Symbol(symbol) if *symbol == close && !negative => return Ok(Argument::None),
            Kind::Integer(text) | Kind::Float(text) => Argument::Number(text.clone(), negative),
            Kind::Name(word) if special(word, negative).is_some() => {
                Argument::Special(special(word, negative).unwrap_or_default())
            }
            Kind::Name(word) if matches!(word.as_str(), "NA" | "None") && !negative => Argument::Missing,
            Kind::Name(word) if matches!(word.as_str(), "true" | "True" | "false" | "False") && !negative => {
                Argument::Truth(word.eq_ignore_ascii_case("true"))
            }
            Kind::Text(text) if !negative => Argument::Text(text.clone()),
            Kind::Bytes(bytes) if !negative => Argument::Bytes(bytes.clone()),
            _ => return self.expected("a literal"),
        };
        self.next();
        Ok(argument)
    }

    /// Literals of compound type.
    pub(super) fn compound(&self, name: &str, arguments: &[Argument]) -> Result<Literal, SyntaxErrorKind> {
        let expected = |expected| SyntaxErrorKind::Constructor { constructor: name.to_owned(), expected };
        let literals: Vec<&Literal> = arguments
            .iter()
            .map(|a| self.graph.literal(a.node).ok_or_else(|| expected(only_literals(name))))
            .collect::<Result<_, _>>()?;
        let values = || -> Result<Vec<Value>, SyntaxErrorKind> {
            literals.iter().map(|l| l.value().cloned().ok_or_else(|| expected("values"))).collect()
        };
        let tuple_error = |e| SyntaxErrorKind::Operator(TypeError::Tuple(e));
        match (name, &literals[..]) {
            ("present", []) => Ok(Literal::Value(Value::presence(true))),
            ("missing", []) => Ok(Literal::Value(Value::presence(false))),
            ("tuple", _) => Ok(Literal::Value(Value::tuple(values()?).map_err(tuple_error)?)),
            ("namedtuple", _) => {
                let values = values()?;
                let names: Vec<Arc<str>> =
                    arguments.iter().filter_map(|a| Some(a.keyword.as_ref()?.name.clone())).collect();
                let types: Vec<QType> = values.iter().map(Value::qtype).collect();
                let qtype = TupleType::named(names, types).map_err(tuple_error)?;
                Ok(Literal::Value(Value::of_tuple_type(qtype, values)))
            }
            ("sequence", [Literal::Type(QType::Scalar(element)), ..]) => {
                let scalars =
                    literals[1..].iter().map(|l| element_of(l, *element)).collect::<Option<Vec<_>>>();
                let sequence = scalars.and_then(|s| SequenceValue::from_scalars(*element, &s));
                let sequence = sequence.ok_or_else(|| expected("a type and values of that type"))?;
                Ok(Literal::Value(Value::Sequence(Arc::new(sequence))))
            }
            ("dense_array" | "array", [Literal::Type(QType::Scalar(element)), ..]) => {
                let row = |literal: &&Literal| match literal.value() {
                    Some(Value::Missing(_)) => Some(None),
                    _ => element_of(literal, *element).map(Some),
                };
                let rows: Option<Vec<_>> = literals[1..].iter().map(row).collect();
                let rows = rows.ok_or_else(|| expected("a type and values of that type, or missing"))?;
                let class = if name == "array" { ArrayClass::Array } else { ArrayClass::Dense };
                Ok(Literal::Value(Value::Array(class, Arc::new(ArrayRows::from_values(*element, &rows)))))
            }
            ("ndarray", [Literal::Type(QType::NdArray(qtype)), rest @ ..]) if rest.len() >= qtype.rank() => {
                let (sizes, cells) = rest.split_at(qtype.rank());
                let size = |literal: &&Literal| usize::try_from(literal.value()?.scalar()?.as_i64()?).ok();
                let sizes: Option<Vec<usize>> = sizes.iter().map(size).collect();
                let cells: Option<Vec<_>> =
                    cells.iter().map(|literal| element_of(literal, qtype.element())).collect();
                let (sizes, cells) = sizes.zip(cells).ok_or_else(|| expected(ND_ARRAY))?;
                let rows = NdRows::from_scalars(*qtype, &sizes, &cells).map_err(|_| expected(ND_ARRAY))?;
                Ok(Literal::Value(Value::NdArray(Arc::new(rows))))
            }
            ("ndarray", _) => Err(expected(ND_ARRAY)),
            ("axes", [Literal::Type(QType::Axes(axes))]) => Ok(Literal::Value(Value::Axes(*axes))),
            ("axes", _) => Err(expected(AXES)),
            ("dense_array_edge" | "array_edge", [Literal::Value(Value::Scalar(parents)), ids @ ..]) => {
                let id = |literal: &&Literal| match literal.value() {
                    Some(Value::Missing(_)) => Some(None),
                    _ => element_of(literal, ScalarType::Int64).map(Some),
                };
                let ids: Option<Vec<_>> = ids.iter().map(id).collect();
                let parents = parents.as_i64().and_then(|parents| usize::try_from(parents).ok());
                let (parents, ids) = parents.zip(ids).ok_or_else(|| expected(EDGE))?;
                let edge = Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &ids), parents);
                let class = if name == "array_edge" { ArrayClass::Array } else { ArrayClass::Dense };
                Ok(Literal::Value(Value::Edge(class, Arc::new(edge.map_err(|_| expected(EDGE))?))))
            }
            ("dense_array_edge" | "array_edge", _) => Err(expected(EDGE)),
            ("dense_array_shape" | "array_shape", [Literal::Value(Value::Scalar(size))]) => {
                let size = size.as_i64().and_then(|size| u64::try_from(size).ok());
                let size = size.ok_or_else(|| expected("a number of rows"))?;
                let class = if name == "array_shape" { ArrayClass::Array } else { ArrayClass::Dense };
                Ok(Literal::Value(Value::ArrayShape(class, size)))
            }
            ("dense_array_shape" | "array_shape", _) => Err(expected("a number of rows")),
            ("dense_array" | "array", _) => Err(expected("a type and values of that type, or missing")),
            ("qtype", [Literal::Value(Value::Scalar(ScalarValue::Text(text)))]) => {
                text.parse().map(Literal::Type).map_err(|_| expected("the name of a type"))
            }
            ("sequence", _) => Err(expected("a type and values of that type")),
            ("qtype", _) => Err(expected("the name of a type")),
            _ => Err(expected("no argument")),
        }
    }
}

/// What a constructor takes, which got something else than a literal, and what to write in its place.
fn only_literals(constructor: &str) -> &'static str {
    match constructor {
        "tuple" => "literals; for values use core.make_tuple",
        "namedtuple" => "literals; for values use namedtuple.make",
        "sequence" => "literals; for values use seq.make",
        "dense_array" => {
            "literals; give rows of values as an input, or add a value to a row: dense_array(FLOAT64, 0) + x"
        }
        "array" => {
            "literals; give rows of values as an input, or add a value to a row: array(FLOAT64, 0) + x"
        }
        "ndarray" => "literals; for values use nd.full, and nd.concatenate for several",
        _ => "literals",
    }
}

/// The number that a word stands for, if it is one.
fn special(word: &str, negative: bool) -> Option<f64> {
    match (word, negative) {
        ("nan", _) => Some(f64::NAN),
        ("inf", false) => Some(f64::INFINITY),
        ("inf", true) => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Digits or a word as an element: they are read in the precision of its type.
fn cell(kind: &Kind, negative: bool, element: ScalarType) -> Option<construct::Argument> {
    let is_integer = matches!(element, ScalarType::Int32 | ScalarType::Int64);
    match kind {
        Kind::Integer(text) if is_integer || element.is_float() => {
            Some(construct::Argument::Number(text.clone(), negative))
        }
        Kind::Float(text) if element.is_float() => Some(construct::Argument::Number(text.clone(), negative)),
        Kind::Name(word) if element.is_float() => special(word, negative).map(construct::Argument::Special),
        _ => None,
    }
}

/// A literal as an element.
fn element_of(literal: &Literal, element: ScalarType) -> Option<ScalarValue> {
    let value = literal.value()?.scalar()?;
    if value.scalar_type() == element {
        return Some(value.clone());
    }
    Some(match element {
        ScalarType::Int32 => ScalarValue::Int32(i32::try_from(value.as_i64()?).ok()?),
        ScalarType::Int64 => ScalarValue::Int64(value.as_i64()?),
        ScalarType::Float32 => {
            let (wide, single) = (value.as_f64()?, value.as_f64()? as f32);
            // As in `float32(1e300)`, what is too large is no infinity.
            (wide.is_infinite() || !single.is_infinite()).then_some(ScalarValue::Float32(single))?
        }
        ScalarType::Float64 => ScalarValue::Float64(value.as_f64()?),
        ScalarType::WeakFloat => ScalarValue::WeakFloat(value.as_f64()?),
        _ => return None,
    })
}
