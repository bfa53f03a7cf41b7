//! Operations and types of the stages `ussa` and `tssa` as terms.

use crate::function::library::LibraryFunction;
use crate::function::op::{FunctionId, FunctionOp, IndexPart};
use crate::function::stage::error::StageProblem;
use crate::function::stage::form::StageForm;
use crate::function::stage::schemas::{StageName, element_named};
use crate::function::stage::term_reader::TermReader;
use crate::function::stage::term_writer::TermWriter;
use crate::function::types::{ArrayOf, DictOf, FunctionType, MAX_AXES};
use crate::python::pyast::{binary_name, compare_name, unary_name};
use crate::python::{BinaryOp, CompareOp, UnaryOp};
use crate::schema::{TermId, TermValue};
use crate::ssa::InstId;
use cembra_vm::value::ScalarType;

/// A stage of operations on Python values, with types or without.
#[derive(Clone, Copy, Debug)]
pub(super) struct PythonForm<const TYPED: bool>;

/// The stage without types.
pub(super) type UntypedForm = PythonForm<false>;

/// The stage with types.
pub(super) type TypedForm = PythonForm<true>;

impl<const TYPED: bool> StageForm for PythonForm<TYPED> {
    const STAGE: StageName = if TYPED { StageName::Tssa } else { StageName::Ussa };
    const HAS_TYPES: bool = TYPED;
    const HAS_DEFAULTS: bool = true;
    type Op = FunctionOp;
    type Type = FunctionType;

    fn op_term(terms: &mut TermWriter<'_>, op: &FunctionOp, args: &[TermValue]) -> TermValue {
        op_term(terms, op, args)
    }

    fn read_op(terms: &mut TermReader<'_>, term: TermId) -> Option<(FunctionOp, Vec<InstId>)> {
        read_op(terms, term)
    }

    fn type_term(terms: &mut TermWriter<'_>, of: &FunctionType) -> TermValue {
        if TYPED { type_term(terms, of) } else { TermValue::Absent }
    }

    fn read_type(terms: &mut TermReader<'_>, value: TermValue, around: TermId) -> Option<FunctionType> {
        if TYPED { read_type(terms, value, around, 0) } else { None }
    }
}

fn type_term(terms: &mut TermWriter<'_>, of: &FunctionType) -> TermValue {
    match of {
        FunctionType::None => terms.term("Nothing", &[]),
        FunctionType::Bool => terms.term("Bool", &[]),
        FunctionType::Int => terms.term("Int", &[]),
        FunctionType::Float => terms.term("Float", &[]),
        FunctionType::Text => terms.term("Text", &[]),
        FunctionType::Char => terms.term("Char", &[]),
        FunctionType::Dict(dict) => {
            let key = terms.text(dict.key.name());
            let value = dict.value.map_or(TermValue::Absent, |value| terms.text(value.name()));
            terms.term("DictOf", &[key, value])
        }
        FunctionType::Optional(of) => {
            let of = type_term(terms, of);
            terms.term("Optional", &[of])
        }
        FunctionType::Tuple(fields) => {
            let fields: Vec<TermValue> = fields.iter().map(|field| type_term(terms, field)).collect();
            let fields = terms.list(&fields);
            terms.term("TupleOf", &[fields])
        }
        FunctionType::Array(array) => {
            let element = terms.text(array.element.name());
            match array.is_list {
                true => terms.term("ListOf", &[element]),
                false => {
                    let axes = terms.int(array.rank as i64);
                    terms.term("ArrayOf", &[element, axes])
                }
            }
        }
    }
}

/// Types inside of each other.
const MAX_TYPE_DEPTH: usize = 500;
/// Types of a document, shared ones once for each place.
const MAX_TYPES: usize = 1 << 22;

fn read_type(
    terms: &mut TermReader<'_>,
    value: TermValue,
    around: TermId,
    depth: usize,
) -> Option<FunctionType> {
    let term = terms.document.as_term(value)?;
    terms.types += 1;
    if depth > MAX_TYPE_DEPTH || terms.types > MAX_TYPES {
        let what = format!("types nest at most {MAX_TYPE_DEPTH} levels, and there are at most {MAX_TYPES}");
        terms.refuse(around, StageProblem::Datum { what });
        return None;
    }
    let (name, values) = terms.parts(term);
    Some(match name {
        "Nothing" => FunctionType::None,
        "Bool" => FunctionType::Bool,
        "Int" => FunctionType::Int,
        "Float" => FunctionType::Float,
        "Text" => FunctionType::Text,
        "Char" => FunctionType::Char,
        "Optional" => FunctionType::Optional(Box::new(read_type(terms, values[0], term, depth + 1)?)),
        "TupleOf" => {
            let fields = terms.document.as_list(values[0]).unwrap_or_default();
            let fields: Option<Vec<_>> =
                fields.iter().map(|field| read_type(terms, *field, term, depth + 1)).collect();
            FunctionType::Tuple(fields?.into())
        }
        "ListOf" => FunctionType::Array(ArrayOf::list(element_of(terms, values[0]))),
        "DictOf" => {
            let value = (values[1] != TermValue::Absent).then(|| element_of(terms, values[1]));
            FunctionType::Dict(DictOf { key: element_of(terms, values[0]), value })
        }
        _ => {
            let rank = terms.number(values[1], "number of axes", MAX_AXES + 1, term) as usize;
            FunctionType::Array(ArrayOf::array(element_of(terms, values[0]), rank))
        }
    })
}

fn element_of(terms: &TermReader<'_>, value: TermValue) -> ScalarType {
    element_named(terms.text(value)).unwrap_or(ScalarType::Float64)
}

fn op_term(terms: &mut TermWriter<'_>, op: &FunctionOp, args: &[TermValue]) -> TermValue {
    match op {
        FunctionOp::Param(position) => {
            let position = terms.int(*position);
            terms.term("Param", &[position])
        }
        FunctionOp::Constant(constant) => {
            let constant = terms.constant(constant);
            terms.term("Const", &[constant])
        }
        FunctionOp::Unary(op) => {
            let op = terms.term(unary_name(*op), &[]);
            terms.term("Unary", &[op, args[0]])
        }
        FunctionOp::Binary(op) => {
            let op = terms.term(binary_name(*op), &[]);
            terms.term("Binary", &[op, args[0], args[1]])
        }
        FunctionOp::InPlace(op) => {
            let op = terms.term(binary_name(*op), &[]);
            terms.term("InPlace", &[op, args[0], args[1]])
        }
        FunctionOp::Compare(op) => {
            let op = terms.term(compare_name(*op), &[]);
            terms.term("Compare", &[op, args[0], args[1]])
        }
        FunctionOp::Truth => terms.term("Truth", args),
        FunctionOp::LibraryFunction(function) => {
            let name = terms.text(function.name());
            let dtype = function.dtype.map_or(TermValue::Absent, |element| terms.text(element.name()));
            let args = terms.list(args);
            terms.term("Library", &[name, dtype, args])
        }
        FunctionOp::Call(id) => {
            let (id, args) = (terms.int(id.0), terms.list(args));
            terms.term("Call", &[id, args])
        }
        FunctionOp::Tuple => {
            let fields = terms.list(args);
            terms.term("Tuple", &[fields])
        }
        FunctionOp::GetItem(parts) => {
            let places = places(terms, parts, &args[1..]);
            terms.term("GetItem", &[args[0], places])
        }
        FunctionOp::SetItem(parts) => {
            let places = places(terms, parts, &args[2..]);
            terms.term("SetItem", &[args[0], args[1], places])
        }
        FunctionOp::Unpack(count) => {
            let count = terms.int(*count);
            terms.term("Unpack", &[args[0], count])
        }
        FunctionOp::Attribute(name) => {
            let name = terms.text(name);
            terms.term("Attribute", &[args[0], name])
        }
        FunctionOp::RangeBound => terms.term("RangeBound", args),
        FunctionOp::RangeCount => terms.term("RangeCount", args),
        FunctionOp::Step => terms.term("Step", args),
        FunctionOp::Round => terms.term("Round", args),
        FunctionOp::ModuleConstant => terms.term("ModuleConstant", args),
        FunctionOp::Promote => terms.term("Promote", args),
        FunctionOp::NotNone(message) => {
            let message = message.as_ref().map_or(TermValue::Absent, |message| terms.text(message));
            terms.term("NotNone", &[args[0], message])
        }
    }
}

fn places(terms: &mut TermWriter<'_>, parts: &[IndexPart], args: &[TermValue]) -> TermValue {
    let mut args = args.iter().copied();
    let mut given = |is_given: bool| match is_given {
        true => args.next().unwrap_or(TermValue::Missing),
        false => TermValue::Absent,
    };
    let mut places = Vec::new();
    for part in parts {
        places.push(match part {
            IndexPart::At => {
                let index = given(true);
                terms.term("At", &[index])
            }
            IndexPart::Slice { lower, upper, step } => {
                let bounds = [given(*lower), given(*upper), given(*step)];
                terms.term("Slice", &bounds)
            }
        });
    }
    terms.list(&places)
}

fn read_op(terms: &mut TermReader<'_>, term: TermId) -> Option<(FunctionOp, Vec<InstId>)> {
    let (name, values) = terms.parts(term);
    let word = |terms: &TermReader<'_>, value: TermValue| {
        terms.document.as_term(value).map_or("", |word| terms.parts(word).0)
    };
    let op = match name {
        "Param" => {
            return Some((FunctionOp::Param(terms.number(values[0], "parameter", 1 << 20, term)), vec![]));
        }
        "Const" => return Some((FunctionOp::Constant(terms.constant(values[0], term)?), vec![])),
        "Unary" => FunctionOp::Unary(UNARY.into_iter().find(|op| unary_name(*op) == word(terms, values[0]))?),
        "Binary" | "InPlace" => {
            let op = BINARY.into_iter().find(|op| binary_name(*op) == word(terms, values[0]))?;
            if name == "Binary" { FunctionOp::Binary(op) } else { FunctionOp::InPlace(op) }
        }
        "Compare" => {
            FunctionOp::Compare(COMPARE.into_iter().find(|op| compare_name(*op) == word(terms, values[0]))?)
        }
        "Truth" => FunctionOp::Truth,
        "Library" => {
            let function = library(terms, values, term)?;
            return Some((FunctionOp::LibraryFunction(function), terms.operands(values[2], term)));
        }
        "Call" => {
            let id = FunctionId(terms.number(values[0], "function", terms.functions, term));
            return Some((FunctionOp::Call(id), terms.operands(values[1], term)));
        }
        "Tuple" => return Some((FunctionOp::Tuple, terms.operands(values[0], term))),
        "GetItem" => {
            let mut args = vec![terms.operand(values[0], term)];
            let parts = read_places(terms, values[1], &mut args);
            return Some((FunctionOp::GetItem(parts), args));
        }
        "SetItem" => {
            let mut args = vec![terms.operand(values[0], term), terms.operand(values[1], term)];
            let parts = read_places(terms, values[2], &mut args);
            return Some((FunctionOp::SetItem(parts), args));
        }
        "Unpack" => {
            let count = terms.number(values[1], "number of fields", 1 << 20, term);
            return Some((FunctionOp::Unpack(count), vec![terms.operand(values[0], term)]));
        }
        "Attribute" => {
            let name = terms.text(values[1]).into();
            return Some((FunctionOp::Attribute(name), vec![terms.operand(values[0], term)]));
        }
        "RangeBound" => FunctionOp::RangeBound,
        "RangeCount" => FunctionOp::RangeCount,
        "Step" => FunctionOp::Step,
        "Round" => FunctionOp::Round,
        "ModuleConstant" => FunctionOp::ModuleConstant,
        "NotNone" => {
            let message = (values[1] != TermValue::Absent).then(|| terms.text(values[1]).into());
            return Some((FunctionOp::NotNone(message), vec![terms.operand(values[0], term)]));
        }
        _ => FunctionOp::Promote,
    };
    // The operands of the other operations are their last fields.
    let words = usize::from(matches!(name, "Unary" | "Binary" | "InPlace" | "Compare"));
    let args = values[words..].iter().map(|value| terms.operand(*value, term)).collect();
    Some((op, args))
}

fn library(terms: &mut TermReader<'_>, values: &[TermValue], term: TermId) -> Option<LibraryFunction> {
    let name = terms.text(values[0]);
    let Some(mut function) = LibraryFunction::find(name) else {
        let what = format!("the library has no function `{name}`");
        terms.refuse(term, StageProblem::Datum { what });
        return None;
    };
    if values[1] != TermValue::Absent {
        function.dtype = element_named(terms.text(values[1]));
    }
    Some(function)
}

fn read_places(terms: &mut TermReader<'_>, list: TermValue, args: &mut Vec<InstId>) -> Vec<IndexPart> {
    let mut parts = Vec::new();
    for place in terms.terms(list) {
        let (name, values) = terms.parts(place);
        let given = |at: usize| values.get(at).is_some_and(|value| *value != TermValue::Absent);
        parts.push(match name {
            "At" => IndexPart::At,
            _ => IndexPart::Slice { lower: given(0), upper: given(1), step: given(2) },
        });
        let bounds = values.iter().filter(|value| **value != TermValue::Absent);
        args.extend(bounds.map(|value| terms.operand(*value, place)));
    }
    parts
}

const UNARY: [UnaryOp; 4] = [UnaryOp::Neg, UnaryOp::Pos, UnaryOp::Invert, UnaryOp::Not];

const BINARY: [BinaryOp; 12] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::FloorDiv,
    BinaryOp::Mod,
    BinaryOp::Pow,
    BinaryOp::ShiftLeft,
    BinaryOp::ShiftRight,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
];

const COMPARE: [CompareOp; 10] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessEqual,
    CompareOp::Greater,
    CompareOp::GreaterEqual,
    CompareOp::Is,
    CompareOp::IsNot,
    CompareOp::In,
    CompareOp::NotIn,
];
