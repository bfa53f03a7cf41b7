//! Types: which operands an operator takes, what they are cast to, and what it gives.

use cembra::expr::Literal;
use cembra::registry::Dialect;
use cembra::vm::value::ScalarType::{self, *};
use cembra::vm::value::qtype::{INT64, OPTIONAL_UNIT, TEXT, UNIT};
use cembra::vm::value::tuple::TupleType;
use cembra::vm::value::{QType, Value};

/// Types around a node.
#[derive(Clone, Debug)]
pub struct Typing {
    /// What each operand is cast to.
    pub args: Vec<QType>,
    /// The type of the result.
    pub result: QType,
}

impl Typing {
    /// A node without operands.
    pub fn of(result: QType) -> Typing {
        Typing { args: Vec::new(), result }
    }
}

/// Scalar types an element-wise operator takes, the smaller first.
const NUMBERS: &[ScalarType] = &[Int32, Int64, WeakFloat, Float32, Float64];
const FLOATS: &[ScalarType] = &[WeakFloat, Float32, Float64];
const INTEGERS: &[ScalarType] = &[Int32, Int64];
const BOOLEANS: &[ScalarType] = &[Boolean];
const COMPARABLE: &[ScalarType] = &[Unit, Boolean, Text, Bytes, Int32, Int64, WeakFloat, Float32, Float64];

/// What an element-wise operator gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gives {
    /// The type of its operands.
    Same,
    /// A presence mask.
    Mask,
    /// This type, optional if an operand is.
    Scalar(ScalarType),
}

/// What an operator takes, how many, and what it gives, if it is element-wise.
pub fn elementwise(operator: &str) -> Option<(&'static [ScalarType], usize, Gives)> {
    Some(match operator {
        "math.neg" | "math.pos" | "math.abs" | "math.sign" | "math.floor" | "math.ceil" | "math.round"
        | "math.trunc" => (NUMBERS, 1, Gives::Same),
        "math.add" | "math.subtract" | "math.multiply" | "math.floordiv" | "math.mod" | "math.maximum"
        | "math.minimum" => (NUMBERS, 2, Gives::Same),
        "math.divide" | "math.fmod" | "math.pow" | "math.hypot" | "math.trig.atan2" => {
            (FLOATS, 2, Gives::Same)
        }
        "math.fma" | "math.sigmoid" => (FLOATS, 3, Gives::Same),
        "math.is_nan" | "math.is_inf" | "math.is_finite" => (FLOATS, 1, Gives::Mask),
        "bitwise.bitwise_and" | "bitwise.bitwise_or" | "bitwise.bitwise_xor" => (INTEGERS, 2, Gives::Same),
        "bitwise.invert" => (INTEGERS, 1, Gives::Same),
        "bitwise.count" => (INTEGERS, 1, Gives::Scalar(Int32)),
        "bool.logical_not" => (BOOLEANS, 1, Gives::Same),
        "bool.logical_and" | "bool.logical_or" => (BOOLEANS, 2, Gives::Same),
        "strings.length" => (&[Text, Bytes], 1, Gives::Scalar(Int64)),
        "strings.upper" => (&[Text], 1, Gives::Same),
        "strings.contains" => (&[Text, Bytes], 2, Gives::Mask),
        _ => match operator.split_once('.')? {
            ("core", "equal" | "not_equal" | "less" | "less_equal" | "greater" | "greater_equal") => {
                (COMPARABLE, 2, Gives::Mask)
            }
            ("bool", "equal" | "not_equal" | "less" | "less_equal" | "greater" | "greater_equal") => {
                (COMPARABLE, 2, Gives::Scalar(Boolean))
            }
            ("math", name) if super::scalar::is_function(name) => (FLOATS, 1, Gives::Same),
            _ => return None,
        },
    })
}

/// True if a scalar becomes another unasked.
fn casts(from: ScalarType, to: ScalarType, dialect: Dialect) -> bool {
    let published = dialect == Dialect::Arolla;
    match (from, to) {
        (Int32, Int64) | (Float32, Float64) | (WeakFloat, Float32 | Float64) => true,
        (Int32 | Int64, Float64) => true,
        (Int32 | Int64, Float32) => published,
        _ => from == to,
    }
}

/// The first of some types that all others become.
fn first_common(candidates: &[ScalarType], types: &[ScalarType], dialect: Dialect) -> Option<ScalarType> {
    candidates.iter().copied().find(|to| types.iter().all(|from| casts(*from, *to, dialect)))
}

/// The smallest common type of whole values.
fn common(types: &[&QType], dialect: Dialect) -> Option<QType> {
    if types.iter().all(|t| *t == types[0]) {
        return Some(types[0].clone());
    }
    let scalars: Option<Vec<ScalarType>> = types.iter().map(|t| t.scalar()).collect();
    let scalar = first_common(COMPARABLE, &scalars?, dialect)?;
    Some(shaped(scalar, types.iter().any(|t| t.is_optional())))
}

fn shaped(scalar: ScalarType, optional: bool) -> QType {
    if optional { QType::Optional(scalar) } else { QType::Scalar(scalar) }
}

fn is_mask(qtype: &QType) -> bool {
    qtype.scalar() == Some(Unit)
}

/// Types around an operator node.
pub fn typing(
    operator: &str,
    types: &[QType],
    literals: &[Option<&Literal>],
    dialect: Dialect,
) -> Option<Typing> {
    if let Some((candidates, arity, gives)) = elementwise(operator) {
        return (types.len() == arity).then(|| of_elements(candidates, gives, types, dialect)).flatten();
    }
    let as_they_are = |result: QType| Some(Typing { args: types.to_vec(), result });
    match (operator, types) {
        ("core.has", [x]) => as_they_are(shaped(x.scalar().map(|_| Unit)?, x.is_optional())),
        ("core.presence_not", [x]) => as_they_are(x.scalar().map(|_| OPTIONAL_UNIT)?),
        ("core.all" | "core.any", [x, _]) if is_mask(x) => {
            Some(Typing { args: vec![OPTIONAL_UNIT, UNIT], result: OPTIONAL_UNIT })
        }
        ("core.presence_and", [x, mask]) if is_mask(mask) => {
            as_they_are(shaped(x.scalar()?, x.is_optional() || mask.is_optional()))
        }
        ("core.presence_or", [x, y]) => {
            let scalar = first_common(COMPARABLE, &[x.scalar()?, y.scalar()?], dialect)?;
            let args = vec![shaped(scalar, x.is_optional()), shaped(scalar, y.is_optional())];
            Some(Typing { args, result: shaped(scalar, x.is_optional() && y.is_optional()) })
        }
        ("core.where", [mask, yes, no]) if is_mask(mask) => {
            let result = common(&[yes, no], dialect)?;
            Some(Typing { args: vec![OPTIONAL_UNIT, result.clone(), result.clone()], result })
        }
        ("bool.logical_if", [condition, yes, no, missing]) if condition.scalar() == Some(Boolean) => {
            let result = common(&[yes, no, missing], dialect)?;
            let args = vec![condition.clone(), result.clone(), result.clone(), result.clone()];
            Some(Typing { args, result })
        }
        ("core.with_assertion", [value, mask, text]) if is_mask(mask) && *text == TEXT => {
            as_they_are(value.clone())
        }
        ("core.to_optional" | "core.empty_like", [x]) => as_they_are(x.to_optional()?),
        ("core.get_optional_value", [x]) => as_they_are(QType::Scalar(x.scalar()?)),
        ("core.zeros_like" | "core.ones_like", [x]) => {
            let number = x.is_numeric() || x.scalar() == Some(Boolean);
            number.then(|| as_they_are(x.clone())).flatten()
        }
        ("core.broadcast_like", [target, value]) => {
            let optional = target.scalar().map(|_| target.is_optional() || value.is_optional())?;
            as_they_are(shaped(value.scalar()?, optional))
        }
        ("core.identity", [x]) => as_they_are(x.clone()),
        ("core.make_tuple", _) => as_they_are(QType::Tuple(TupleType::new(types.to_vec()).ok()?)),
        ("core.get_nth", [QType::Tuple(tuple), _]) => {
            let index = literals[1]?.value()?.scalar()?.as_i64()?;
            as_they_are(tuple.fields().get(usize::try_from(index).ok()?)?.clone())
        }
        ("core.concat_tuples", _) => {
            let fields: Option<Vec<&[QType]>> = types.iter().map(|t| Some(t.tuple()?.fields())).collect();
            as_they_are(QType::Tuple(TupleType::new(fields?.concat()).ok()?))
        }
        ("strings.join", [_, ..]) if types.iter().all(|t| t.scalar() == Some(Text)) => {
            as_they_are(shaped(Text, types.iter().any(QType::is_optional)))
        }
        ("seq.range", [QType::Scalar(Int64), QType::Scalar(Int64), QType::Scalar(Int64)]) => {
            as_they_are(QType::Sequence(Int64))
        }
        ("seq.reduce", [_, QType::Sequence(Int64), initial]) => {
            let Some(Literal::Operator(op)) = literals[0] else { return None };
            let step = typing(op, &[initial.clone(), INT64], &[None, None], dialect)?;
            (step.result == *initial).then(|| as_they_are(initial.clone())).flatten()
        }
        ("core.cast", [x, _, _]) => explicit_cast(x, literals).and_then(as_they_are),
        _ => to_number(operator, types).and_then(as_they_are),
    }
}

fn of_elements(candidates: &[ScalarType], gives: Gives, types: &[QType], dialect: Dialect) -> Option<Typing> {
    let scalars: Option<Vec<ScalarType>> = types.iter().map(QType::scalar).collect();
    let scalar = first_common(candidates, &scalars?, dialect)?;
    let optional = types.iter().any(QType::is_optional);
    let result = match gives {
        Gives::Same => shaped(scalar, optional),
        Gives::Mask => OPTIONAL_UNIT,
        Gives::Scalar(other) => shaped(other, optional),
    };
    Some(Typing { args: vec![shaped(scalar, optional); types.len()], result })
}

/// The scalar type a cast operator makes.
pub fn cast_target(operator: &str) -> Option<ScalarType> {
    Some(match operator {
        "core.to_int32" => Int32,
        "core.to_int64" => Int64,
        "core.to_float32" => Float32,
        "core.to_float64" => Float64,
        "core.to_bool" => Boolean,
        _ => return None,
    })
}

fn is_castable(scalar: ScalarType) -> bool {
    scalar.is_numeric() || scalar == Boolean
}

fn to_number(operator: &str, types: &[QType]) -> Option<QType> {
    let [x] = types else { return None };
    let target = cast_target(operator).filter(|_| x.scalar().is_some_and(is_castable))?;
    Some(shaped(target, x.is_optional()))
}

fn explicit_cast(from: &QType, literals: &[Option<&Literal>]) -> Option<QType> {
    let [_, Some(Literal::Type(to)), Some(Literal::Value(implicit_only))] = literals else { return None };
    let scalars = from == to || (is_castable(from.scalar()?) && is_castable(to.scalar()?));
    let shapes = to.is_optional() || !from.is_optional();
    (scalars && shapes && *implicit_only == Value::from(false)).then(|| to.clone())
}

/// The operands whose values matter for the result; types decide about the others.
pub fn needed(operator: &str, types: &[QType]) -> Vec<usize> {
    let optional = |index: usize| types[index].is_optional();
    match operator {
        "core.has" | "core.presence_not" if !optional(0) => vec![],
        "core.zeros_like" | "core.ones_like" | "core.empty_like" => vec![],
        "core.broadcast_like" => vec![1],
        "core.presence_and" | "core.with_assertion" if !optional(1) => vec![0],
        "core.presence_or" if !optional(0) => vec![0],
        "core.all" | "core.any" if types[0] == UNIT => vec![0],
        "core.cast" | "core.get_nth" => vec![0],
        "seq.reduce" => vec![1, 2],
        _ => (0..types.len()).collect(),
    }
}
