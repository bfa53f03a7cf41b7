//! Types of operators: arithmetic, comparisons, tuples, counters.

use crate::function::constant::Constant;
use crate::function::error::FunctionProblem;
use crate::function::op::FunctionOp;
use crate::function::types::FunctionType;
use crate::python::{BinaryOp, CompareOp, UnaryOp};
use cembra_vm::value::tuple::{MAX_DEPTH, MAX_LEAVES};

/// Fields of a tuple.
const MAX_FIELDS: usize = 1_000;

pub(super) fn type_error(message: impl Into<String>) -> FunctionProblem {
    FunctionProblem::Type { message: message.into() }
}

/// Type of the result of an operation.
pub(super) fn type_of(
    op: &FunctionOp,
    args: &[FunctionType],
    last: Option<&Constant>,
) -> Result<FunctionType, FunctionProblem> {
    match op {
        FunctionOp::Constant(constant) => Ok(constant.function_type()),
        FunctionOp::Unary(op) => unary(*op, &args[0], last),
        FunctionOp::Binary(op) | FunctionOp::InPlace(op) => binary(*op, &args[0], &args[1], last),
        FunctionOp::Compare(op) => compare(*op, &args[0], &args[1]),
        FunctionOp::Truth => match &args[0] {
            FunctionType::Array(array) if !array.is_list => Err(FunctionProblem::Unsupported {
                rule: "truth-of-array",
                message: format!("the truth of {array} is ambiguous"),
                hint: "compare an element, or its length",
            }),
            FunctionType::Text if last.is_none() => Err(FunctionProblem::Unsupported {
                rule: "text",
                message: "the truth of a text that is not known".to_owned(),
                hint: "compare characters",
            }),
            _ => Ok(FunctionType::Bool),
        },
        FunctionOp::Tuple => tuple(args.iter().cloned()),
        FunctionOp::Unpack(count) => match &args[0] {
            FunctionType::Tuple(fields) => match fields.len().cmp(&(*count as usize)) {
                std::cmp::Ordering::Equal => Ok(args[0].clone()),
                std::cmp::Ordering::Greater => Err(FunctionProblem::Value {
                    message: format!("too many values to unpack (expected {count}, got {})", fields.len()),
                }),
                std::cmp::Ordering::Less => Err(FunctionProblem::Value {
                    message: format!("not enough values to unpack (expected {count}, got {})", fields.len()),
                }),
            },
            // How many elements there are is known when it runs.
            FunctionType::Array(_) => Ok(args[0].clone()),
            FunctionType::Dict(_) | FunctionType::Text | FunctionType::Char => {
                Err(FunctionProblem::Unsupported {
                    rule: "unpack",
                    message: format!("a {} is not unpacked", args[0].python_name()),
                    hint: "a loop over it",
                })
            }
            other => Err(type_error(format!("cannot unpack non-iterable {} object", other.python_name()))),
        },
        FunctionOp::RangeBound => match args[0].without_none() {
            FunctionType::Bool | FunctionType::Int => Ok(FunctionType::Int),
            other => {
                let name = other.python_name();
                Err(type_error(format!("'{name}' object cannot be interpreted as an integer")))
            }
        },
        FunctionOp::RangeCount | FunctionOp::Step | FunctionOp::Round => Ok(FunctionType::Int),
        FunctionOp::ModuleConstant => Ok(args[0].clone()),
        FunctionOp::Promote => Ok(FunctionType::Float),
        FunctionOp::NotNone(_) => match args[0].without_none() {
            FunctionType::None => Err(type_error("None is not what a test has found not to be None")),
            other => Ok(other.clone()),
        },
        FunctionOp::Param(_)
        | FunctionOp::LibraryFunction(_)
        | FunctionOp::Call(_)
        | FunctionOp::GetItem(_)
        | FunctionOp::SetItem(_)
        | FunctionOp::Attribute(_) => unreachable!("other files have the rules of these"),
    }
}

/// A tuple, if it is not too long: recursion could make it longer and longer; nor too deep, nor has too many parts in all, which
/// double where it has one tuple twice.
fn tuple(fields: impl Iterator<Item = FunctionType>) -> Result<FunctionType, FunctionProblem> {
    let fields: Vec<FunctionType> = fields.collect();
    let limit = |name, limit| Err(FunctionProblem::Limit { name, limit });
    if fields.len() > MAX_FIELDS {
        return limit("tuple-fields", MAX_FIELDS);
    }
    let tuple = FunctionType::tuple(fields);
    match tuple.depth_and_parts() {
        (depth, _) if depth > MAX_DEPTH => limit("tuple-depth", MAX_DEPTH as usize),
        (_, parts) if parts > u64::from(MAX_LEAVES) => limit("tuple-fields", MAX_LEAVES as usize),
        _ => Ok(tuple),
    }
}

fn unary(op: UnaryOp, x: &FunctionType, last: Option<&Constant>) -> Result<FunctionType, FunctionProblem> {
    if op == UnaryOp::Not {
        return type_of(&FunctionOp::Truth, std::slice::from_ref(x), last);
    }
    let sign = sign_of_unary(op);
    match x.without_none() {
        FunctionType::Bool | FunctionType::Int => Ok(FunctionType::Int),
        FunctionType::Float if op != UnaryOp::Invert => Ok(FunctionType::Float),
        other => Err(type_error(format!("bad operand type for unary {sign}: '{}'", other.python_name()))),
    }
}

pub(super) fn sign_of_unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Not => "not",
        UnaryOp::Neg => "-",
        UnaryOp::Pos => "+",
        UnaryOp::Invert => "~",
    }
}

pub(super) fn sign_of(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "//",
        BinaryOp::Mod => "%",
        BinaryOp::Pow => "** or pow()",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::MatMul => "@",
    }
}

fn binary(
    op: BinaryOp,
    x: &FunctionType,
    y: &FunctionType,
    last: Option<&Constant>,
) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::{Array, Bool, Float, Int, Tuple};
    let (x, y) = (x.without_none(), y.without_none());
    let refused = || {
        let (x, y) = (x.python_name(), y.python_name());
        Err(type_error(format!("unsupported operand type(s) for {}: '{x}' and '{y}'", sign_of(op))))
    };
    if matches!((x, y), (Array(_), _) | (_, Array(_))) && matches!((x, y), (Array(_) | Bool | Int | Float, _))
    {
        return Err(FunctionProblem::Unsupported {
            rule: "array-expression",
            message: format!("`{}` of lists", sign_of(op)),
            hint: "l.extend(m), np.array(l), or a loop over the elements",
        });
    }
    let is_text_operation = match op {
        BinaryOp::Add => x.is_text() && y.is_text(),
        BinaryOp::Mul => x.is_text() && y.is_integer() || x.is_integer() && y.is_text(),
        BinaryOp::Mod => x.is_text(),
        _ => false,
    };
    if is_text_operation {
        return Err(FunctionProblem::Unsupported {
            rule: "text",
            message: format!("`{}` on texts", sign_of(op)),
            hint: "characters are numbers: ord(c), chr(n)",
        });
    }
    match op {
        BinaryOp::Add if matches!((x, y), (Tuple(_), Tuple(_))) => match (x, y) {
            (Tuple(x), Tuple(y)) => tuple(x.iter().chain(&**y).cloned()),
            _ => refused(),
        },
        _ if !x.is_number() || !y.is_number() => refused(),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => match x.is_integer() && y.is_integer() {
            true => Ok(Int),
            false => refused(),
        },
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => match (x, y) {
            (Bool, Bool) => Ok(Bool),
            (Bool | Int, Bool | Int) => Ok(Int),
            _ => refused(),
        },
        BinaryOp::MatMul => refused(),
        BinaryOp::Div => Ok(Float),
        BinaryOp::Pow if x.is_integer() && y.is_integer() => match last {
            // An integer to a power that is known to be negative is a float.
            Some(Constant::Int(..=-1)) => Ok(Float),
            _ => Ok(Int),
        },
        _ if *x == Float || *y == Float => Ok(Float),
        _ => Ok(Int),
    }
}

pub(super) fn sign_of_compare(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
        _ => "==",
    }
}

/// True for `<`, `<=`, `>`, `>=`, which None has not.
pub(super) fn is_order(op: CompareOp) -> bool {
    sign_of_compare(op) != "=="
}

fn compare(op: CompareOp, x: &FunctionType, y: &FunctionType) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::{Array, Bool, None, Tuple};
    let sign = sign_of_compare(op);
    let (x, y) = if is_order(op) { (x.without_none(), y.without_none()) } else { (x, y) };
    match (x, y) {
        (Array(_), _) | (_, Array(_)) if !matches!(op, CompareOp::Is | CompareOp::IsNot) => {
            Err(FunctionProblem::Unsupported {
                rule: "array-expression",
                message: format!("`{sign}` of lists"),
                hint: "compare the elements in a loop",
            })
        }
        // Whether a value is None is known from its type.
        _ if matches!(op, CompareOp::Is | CompareOp::IsNot) => match (x, y) {
            (None, _) | (_, None) => Ok(Bool),
            // There are two truth values, which are no numbers.
            (Bool, y) if y.is_number() => Ok(Bool),
            (x, Bool) if x.is_number() => Ok(Bool),
            _ => Err(FunctionProblem::Unsupported {
                rule: "identity",
                message: "`is` compares with None and truth values only".to_owned(),
                hint: "write ==",
            }),
        },
        (x, y) if x.is_number() && y.is_number() || x.is_text() && y.is_text() => Ok(Bool),
        (FunctionType::Dict(_), _) | (_, FunctionType::Dict(_)) => Err(FunctionProblem::Unsupported {
            rule: "dictionary",
            message: format!("`{sign}` of dictionaries or sets"),
            hint: "compare their lengths and elements",
        }),
        (Tuple(a), Tuple(b)) if a.iter().chain(&**b).all(FunctionType::is_number) => match op {
            CompareOp::Equal | CompareOp::NotEqual => Ok(Bool),
            _ => Err(FunctionProblem::Unsupported {
                rule: "tuple-order",
                message: "the order of tuples is not supported".to_owned(),
                hint: "compare the fields",
            }),
        },
        (Tuple(_), Tuple(_)) => Err(FunctionProblem::Unsupported {
            rule: "tuple-compare",
            message: "only tuples of numbers are compared".to_owned(),
            hint: "compare the fields",
        }),
        _ if matches!(op, CompareOp::Equal | CompareOp::NotEqual) => Ok(Bool),
        (x, y) => {
            let (x, y) = (x.python_name(), y.python_name());
            Err(type_error(format!("'{sign}' not supported between instances of '{x}' and '{y}'")))
        }
    }
}
