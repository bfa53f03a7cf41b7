//! Type rules: from argument types to the types after casts and the result type.

use crate::expr::Literal;
use crate::registry::dialect::Dialect;
use cembra_vm::builtins::{bools, core};
use cembra_vm::operator::{Facts, OperatorTable};
use cembra_vm::value::tuple::TupleTypeError;
use cembra_vm::value::{Category, QType};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use thiserror::Error;

/// Operators of presence with their symbols, and the operators of logic that somebody may have meant.
pub const PRESENCE_SYMBOLS: [(&str, &str, &str); 3] = [
    (core::PRESENCE_NOT, "~", bools::LOGICAL_NOT),
    (core::PRESENCE_OR, "|", bools::LOGICAL_OR),
    (core::PRESENCE_AND, "&", bools::LOGICAL_AND),
];

/// The arguments do not fit the operator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeError {
    /// An argument is not of the kind the parameter takes.
    #[error("expected {expected}, got {param}: {actual}")]
    Expected {
        /// What the parameter takes, in the plural.
        expected: Cow<'static, str>,
        /// The parameter, or the argument as it is written.
        param: Arc<str>,
        /// Type of the argument, or what it is instead of a value.
        actual: String,
    },
    /// The argument must be a literal of a kind.
    #[error("expected {expected} as a literal, got {param}: {actual}")]
    ExpectedLiteral {
        /// What the parameter takes.
        expected: &'static str,
        /// The parameter, or the argument as it is written.
        param: Arc<str>,
        /// What the argument is.
        actual: String,
    },
    /// The argument is a literal that is no regular expression.
    #[error("{message}")]
    Pattern {
        /// What is wrong.
        message: String,
        /// The parameter.
        param: Arc<str>,
        /// The literal.
        actual: String,
    },
    /// The arguments fit one by one, but have no type in common.
    #[error("no common QType for ({})", join(types))]
    NoCommonType {
        /// Types of the arguments.
        types: Vec<QType>,
    },
    /// No overload takes these types.
    #[error("{operator} does not take ({})", join(types))]
    NoOverload {
        /// The operator.
        operator: Arc<str>,
        /// Types of the arguments.
        types: Vec<QType>,
    },
    /// An operator that another one applies does not take these types.
    #[error("{operator} does not take ({}): expected {expected}, got {actual}", join(types))]
    Applied {
        /// The operator that is applied.
        operator: Arc<str>,
        /// Types of its arguments.
        types: Vec<QType>,
        /// What one of its parameters takes.
        expected: Cow<'static, str>,
        /// What it would get.
        actual: String,
    },
    /// The operator makes or takes a mask, which n-dimensional arrays do not have.
    #[error("{operator} does not take n-dimensional arrays, which have no missing values{}",
        instead.as_ref().map(|name| format!("; use {name}")).unwrap_or_default())]
    NdPresence {
        /// The operator.
        operator: Arc<str>,
        /// The operator that makes truth values of the same arguments.
        instead: Option<Arc<str>>,
    },
    /// A symbol of presence between truth values.
    #[error(
        "`{symbol}` is about missing values, and not about truth values; use {logical} for those, or {presence}"
    )]
    Truths {
        /// The symbol.
        symbol: &'static str,
        /// The operator of logic.
        logical: &'static str,
        /// The operator that the symbol stands for.
        presence: Arc<str>,
    },
    /// A list of axes that an array does not have.
    #[error("{message}")]
    Axes {
        /// What is wrong.
        message: String,
    },
    /// Several overloads take these types after casts, and none is closest.
    #[error("ambiguous overloads of {operator} for ({}): {}", join(types), candidates.join("; "))]
    Ambiguous {
        /// The operator.
        operator: Arc<str>,
        /// Types of the arguments.
        types: Vec<QType>,
        /// Signatures that are equally close.
        candidates: Vec<String>,
    },
    /// Too few or too many arguments.
    #[error("{operator} takes {expected}, got {actual}")]
    Arity {
        /// The operator.
        operator: Arc<str>,
        /// How many arguments it takes.
        expected: String,
        /// How many there are.
        actual: usize,
    },
    /// A cast that must be asked for.
    #[error("implicit casting from {from} to {to} is not allowed")]
    ImplicitCast {
        /// Type of the value.
        from: QType,
        /// Type asked for.
        to: QType,
    },
    /// There is no cast between the types.
    #[error("casting from {from} to {to} is not allowed")]
    Cast {
        /// Type of the value.
        from: QType,
        /// Type asked for.
        to: QType,
    },
    /// A field number outside the tuple.
    #[error("index out of range: n={index}, value.field_count={count}")]
    Index {
        /// The number.
        index: i64,
        /// Fields of the tuple.
        count: usize,
    },
    /// A name that a namedtuple does not have, or a wrong list of names.
    #[error("{message}")]
    Names {
        /// What is wrong.
        message: String,
    },
    /// Nobody defined the operator.
    #[error("unknown operator `{name}`{}", suggestion(near))]
    UnknownOperator {
        /// The name.
        name: Arc<str>,
        /// Names that look like it.
        near: Vec<Arc<str>>,
    },
    /// A function of a host does not take these types.
    #[error("{operator}: {reason}")]
    Function {
        /// The operator that stands for the function.
        operator: Arc<str>,
        /// Why not.
        reason: Arc<str>,
    },
    /// The result would be too large a tuple type.
    #[error(transparent)]
    Tuple(#[from] TupleTypeError),
}

impl TypeError {
    /// The error that an operator of presence is written by its symbol and meets truth values.
    pub fn truths(presence: &Arc<str>) -> TypeError {
        let known = PRESENCE_SYMBOLS.iter().find(|(name, ..)| **name == **presence);
        let (_, symbol, logical) = known.unwrap_or(&PRESENCE_SYMBOLS[0]);
        TypeError::Truths { symbol, logical, presence: presence.clone() }
    }

    /// The error with an argument as it is written, in place of the parameter's name.
    pub fn about(self, written: Option<Arc<str>>) -> TypeError {
        let Some(written) = written else { return self };
        let argument: Arc<str> = format!("`{written}`").into();
        match self {
            TypeError::Expected { expected, actual, .. } => {
                TypeError::Expected { expected, param: argument, actual }
            }
            TypeError::ExpectedLiteral { expected, actual, .. } => {
                TypeError::ExpectedLiteral { expected, param: argument, actual }
            }
            other => other,
        }
    }

    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match self {
            TypeError::Index { .. } => Category::IndexOutOfRange,
            TypeError::UnknownOperator { .. } => Category::UnknownName,
            TypeError::Pattern { .. } => Category::Parse,
            TypeError::Tuple(TupleTypeError::Depth { .. } | TupleTypeError::Leaves { .. }) => Category::Limit,
            _ => Category::Type,
        }
    }
}

fn join(types: &[QType]) -> String {
    types.iter().map(QType::to_string).collect::<Vec<_>>().join(",")
}

/// `; did you mean `a` or `b`?` for similar names, nothing without.
pub fn suggestion(near: &[Arc<str>]) -> String {
    match near {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            format!("; did you mean {}?", names.join(" or "))
        }
    }
}

/// A type or an operator as an error names it where a value should stand.
pub fn not_a_value(literal: &Literal) -> String {
    match literal {
        Literal::Type(qtype) => format!("the type {qtype}"),
        Literal::Operator(name) => format!("the operator {name}"),
        Literal::Value(value) => value.to_string(),
    }
}

/// What an operator makes of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The type each argument is cast to first.
    pub args: Vec<QType>,
    /// The result type.
    pub result: QType,
}

/// Gives the result type of an operator applied to types.
pub type ApplyToTypes<'c> = dyn Fn(&str, &[QType]) -> Result<QType, TypeError> + 'c;

/// What a type rule sees.
pub struct InferContext<'c> {
    /// The operator's name.
    pub operator: &'c Arc<str>,
    /// What passes may assume of the operator.
    pub facts: &'c Facts,
    /// Parameter names, one for each argument.
    pub params: &'c [Arc<str>],
    /// Types of the arguments; a literal type or operator has the type UNIT here.
    pub types: &'c [QType],
    /// Literals among the arguments.
    pub literals: &'c [Option<&'c Literal>],
    /// Casting lattice.
    pub dialect: Dialect,
    /// Operators of the machine.
    pub table: &'c OperatorTable,
    /// Bits of the arguments that the rule has read as a type or an operator.
    pub read: &'c Cell<u64>,
    /// Finds the result type of another operator, for rules that apply one.
    pub infer: &'c ApplyToTypes<'c>,
}

impl InferContext<'_> {
    /// The arguments as they are.
    pub fn unchanged(&self, result: QType) -> Result<Resolution, TypeError> {
        Ok(Resolution { args: self.types.to_vec(), result })
    }

    /// The error that an argument is not of a kind.
    pub fn expected(&self, expected: impl Into<Cow<'static, str>>, index: usize) -> TypeError {
        let actual = match self.literals[index] {
            Some(literal @ (Literal::Type(_) | Literal::Operator(_))) => not_a_value(literal),
            _ => self.types[index].to_string(),
        };
        TypeError::Expected { expected: expected.into(), param: self.params[index].clone(), actual }
    }

    /// The result type of an operator that this one applies. Errors name its types: the parameters are not those that
    /// somebody wrote arguments for.
    ///
    /// # Errors
    /// The operator does not take them.
    pub fn apply(&self, operator: &Arc<str>, types: &[QType]) -> Result<QType, TypeError> {
        (self.infer)(operator, types).map_err(|error| match error {
            TypeError::Expected { expected, actual, .. } => {
                TypeError::Applied { operator: operator.clone(), types: types.to_vec(), expected, actual }
            }
            TypeError::ExpectedLiteral { expected, actual, .. } => TypeError::Applied {
                operator: operator.clone(),
                types: types.to_vec(),
                expected: format!("{expected} as a literal").into(),
                actual,
            },
            other => other,
        })
    }

    /// The error if an argument is a type or an operator that the rule has not asked for.
    pub fn check_values(&self) -> Result<(), TypeError> {
        let unread = |index: &usize| self.read.get() & (1 << index) == 0;
        for index in (0..self.literals.len().min(64)).filter(unread) {
            if matches!(self.literals[index], Some(Literal::Type(_) | Literal::Operator(_))) {
                return Err(self.expected("a value", index));
            }
        }
        Ok(())
    }

    fn note_read(&self, index: usize) {
        self.read.set(self.read.get() | 1 << index.min(63));
    }

    /// The type in an argument that must be a literal type.
    pub fn type_literal(&self, index: usize) -> Result<&QType, TypeError> {
        self.note_read(index);
        match self.literals[index] {
            Some(Literal::Type(qtype)) => Ok(qtype),
            _ => Err(self.expected_literal("a type", index)),
        }
    }

    /// The operator in an argument that must be an operator name.
    pub fn operator_literal(&self, index: usize) -> Result<&Arc<str>, TypeError> {
        self.note_read(index);
        match self.literals[index] {
            Some(Literal::Operator(name)) => Ok(name),
            _ => Err(self.expected_literal("an operator", index)),
        }
    }

    /// The integer in an argument that must be a literal.
    pub fn integer_literal(&self, index: usize) -> Result<i64, TypeError> {
        let value = self.literals[index].and_then(Literal::value).and_then(|v| v.scalar()?.as_i64());
        value.ok_or_else(|| self.expected_literal("an integer", index))
    }

    /// The text in an argument that must be a literal.
    pub fn text_literal(&self, index: usize) -> Result<&Arc<str>, TypeError> {
        use cembra_vm::value::ScalarValue;
        match self.literals[index].and_then(Literal::value).and_then(|v| v.scalar()) {
            Some(ScalarValue::Text(text)) => Ok(text),
            _ => Err(self.expected_literal("a text", index)),
        }
    }

    /// The error that an argument is not a literal of a kind.
    pub fn expected_literal(&self, expected: &'static str, index: usize) -> TypeError {
        let value = || match &self.types[index] {
            tuple @ QType::Tuple(_) => {
                format!("a value of type {tuple} (core.make_tuple makes no literal, tuple does)")
            }
            qtype => format!("a value of type {qtype}"),
        };
        let actual = self.literals[index].map_or_else(value, Literal::to_string);
        TypeError::ExpectedLiteral { expected, param: self.params[index].clone(), actual }
    }

    /// The types of some arguments with one scalar in them, the smallest that all become unasked, and
    /// the type of rows that come of them: of arrays an array, else the common type.
    ///
    /// # Errors
    /// There is no such scalar, or arrays of two families meet.
    pub fn common_rows(&self, indices: &[usize]) -> Result<(Vec<QType>, QType), TypeError> {
        let types: Vec<QType> = indices.iter().map(|i| self.types[*i].clone()).collect();
        let error = || TypeError::NoCommonType { types: types.clone() };
        let mut arrays = types.iter().filter_map(QType::array);
        let Some(first) = arrays.next() else {
            let common = self.common(indices)?;
            return Ok((vec![common.clone(); indices.len()], common));
        };
        let mut elements = types.iter().map(QType::element);
        let scalar = elements.next().flatten().ok_or_else(error)?;
        let scalar = elements.try_fold(scalar, |common, next| self.dialect.common_scalar(common, next?));
        let scalar = scalar.filter(|_| arrays.all(|t| t.class == first.class)).ok_or_else(error)?;
        let cast = types.iter().filter_map(|t| t.with_scalar(scalar)).collect();
        Ok((cast, QType::Array(first.of(scalar))))
    }

    /// The smallest common type of some arguments.
    pub fn common(&self, indices: &[usize]) -> Result<QType, TypeError> {
        let types = || indices.iter().map(|i| self.types[*i].clone());
        let mut rest = types();
        let first = rest.next().ok_or_else(|| TypeError::NoCommonType { types: Vec::new() })?;
        rest.try_fold(first, |common, next| self.dialect.common(&common, &next))
            .ok_or_else(|| TypeError::NoCommonType { types: types().collect() })
    }
}
