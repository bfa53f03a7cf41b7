//! Recipes as expressions of C: the operations of a list, one row.

use crate::native::c::constants::{float, integer, narrow, single};
use crate::native::c::locals::{CType, Locals, leaves};
use cembra_vm::operator::Overload;
use cembra_vm::operator::recipe::Recorded;
use cembra_vm::program::ValueId;
use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, Op, ShiftOp, Term, UnaryOp};
use cembra_vm::value::{QType, ScalarType, ScalarValue};
use std::fmt::Write;

/// Statements that compute an operator by its recipe; `None` if it has none.
pub(super) fn statements(
    overload: &Overload,
    operands: &[ValueId],
    result: ValueId,
    locals: &Locals<'_>,
    literal: impl Fn(ValueId) -> Option<ScalarValue>,
) -> Option<String> {
    let mut list = List::new();
    let recorded: Option<Vec<Recorded>> = operands
        .iter()
        .zip(overload.args())
        .zip(0..)
        .map(|((value, qtype), number)| operand(&mut list, qtype, number, literal(*value)))
        .collect();
    let recorded = overload.record(&mut list, &recorded?)?;
    let results = results(overload.result(), recorded)?;
    let lowered = Lowered::new(&list, results.iter().flatten().copied(), |number, is_presence| {
        let all = locals.all(operands[usize::from(number)]);
        let local = if is_presence { all.first() } else { all.last() };
        local.map(|(name, _)| name.clone()).unwrap_or_default()
    });
    let targets: Vec<(String, CType)> = locals.all(result);
    let value = |term: &Option<Term>| term.map_or("1".to_owned(), |term| lowered.of(term));
    let mut text = lowered.temporaries.clone();
    // All are computed before one is changed: a result may be an operand.
    if let [(target, _)] = &targets[..] {
        let _ = write!(text, "{target} = {};", value(&results[0]));
    } else {
        for (number, (term, (_, ctype))) in results.iter().zip(&targets).enumerate() {
            let _ = write!(text, "{} c{number} = {}; ", ctype.name(), value(term));
        }
        for (number, (target, _)) in targets.iter().enumerate() {
            let _ = write!(text, "{target} = c{number}; ");
        }
    }
    let is_one = targets.len() == 1 && lowered.temporaries.is_empty();
    Some(if is_one { text } else { format!("{{ {} }}", text.trim_end()) })
}

/// The terms of the leaves of a result; `None` stands for a presence that is certain.
fn results(qtype: &QType, recorded: Recorded) -> Option<Vec<Option<Term>>> {
    let leaves = leaves(qtype)?.len();
    match qtype {
        QType::Scalar(_) if recorded.present.is_none() => Some(vec![Some(recorded.cells?)]),
        QType::Optional(_) if leaves == 1 => Some(vec![recorded.present]),
        QType::Optional(_) => Some(vec![recorded.present, Some(recorded.cells?)]),
        _ => None,
    }
}

fn lane(scalar: ScalarType) -> Option<Lane> {
    match CType::of(scalar)? {
        CType::F64 => Some(Lane::F64),
        CType::F32 => Some(Lane::F32),
        CType::I64 => Some(Lane::I64),
        CType::I32 => Some(Lane::I32),
        CType::U8 if scalar == ScalarType::Boolean => Some(Lane::Mask),
        CType::U8 => None,
    }
}

/// An operand as terms: columns with its number, or a literal.
pub(super) fn operand(
    list: &mut List,
    qtype: &QType,
    number: u16,
    literal: Option<ScalarValue>,
) -> Option<Recorded> {
    let (scalar, is_optional) = match qtype {
        QType::Scalar(scalar) => (*scalar, false),
        QType::Optional(scalar) => (*scalar, true),
        _ => return None,
    };
    let literal = match literal {
        Some(ScalarValue::Int32(x)) => Some(list.i32(x)),
        Some(ScalarValue::Int64(x)) => Some(list.i64(x)),
        _ => None,
    };
    let cells = literal.or_else(|| lane(scalar).map(|lane| list.column(number, lane)));
    let present = is_optional.then(|| list.presence(number));
    Some(Recorded { cells, present })
}

fn ctype(lane: Lane) -> CType {
    match lane {
        Lane::F64 => CType::F64,
        Lane::F32 => CType::F32,
        Lane::I64 => CType::I64,
        Lane::I32 => CType::I32,
        Lane::Mask => CType::U8,
    }
}

/// Terms as expressions, those used more than once as temporaries.
pub(super) struct Lowered {
    expressions: Vec<String>,
    /// Declarations of the temporaries, in order.
    pub(super) temporaries: String,
}

impl Lowered {
    /// The terms that the results need. The function names the local of an operand, or of its presence.
    pub(super) fn new(
        list: &List,
        results: impl Iterator<Item = Term>,
        local: impl Fn(u16, bool) -> String,
    ) -> Lowered {
        let terms: Vec<(Term, Op, Lane)> = list.terms().collect();
        let mut uses = vec![0u32; terms.len()];
        results.for_each(|term| uses[term.index()] += 1);
        for (term, op, _) in terms.iter().rev() {
            if uses[term.index()] > 0 {
                op.operands().for_each(|operand| uses[operand.index()] += 1);
            }
        }
        let mut lowered =
            Lowered { expressions: Vec::with_capacity(terms.len()), temporaries: String::new() };
        for (term, op, lane) in terms {
            let used = uses[term.index()];
            let is_leaf = matches!(op, Op::Column(_) | Op::Presence(_) | Op::Literal(_));
            let mut text = match used {
                0 => String::new(),
                _ => lowered.expression(list, op, lane, &local),
            };
            // Helpers may look at an operand twice, but they are functions; the operators of C do not.
            if used > 1 && !is_leaf {
                let _ = write!(lowered.temporaries, "{} {term} = {text}; ", ctype(lane).name());
                text = term.to_string();
            }
            lowered.expressions.push(text);
        }
        lowered
    }

    /// The expression of a term.
    pub(super) fn of(&self, term: Term) -> String {
        self.expressions[term.index()].clone()
    }

    fn expression(&self, list: &List, op: Op, lane: Lane, local: impl Fn(u16, bool) -> String) -> String {
        match op {
            Op::Column(number) | Op::Scalar(number) => local(number, false),
            Op::Presence(number) => local(number, true),
            Op::Literal(bits) => match lane {
                Lane::F64 => float(f64::from_bits(bits)),
                Lane::F32 => single(f32::from_bits(bits as u32)),
                Lane::I64 => integer(bits as i64),
                Lane::I32 => narrow(bits as i32),
                Lane::Mask => (bits & 1).to_string(),
            },
            Op::Unary(op, x) => unary(op, &self.of(x), lane),
            Op::Binary(op, x, y) => binary(op, &self.of(x), &self.of(y), lane),
            Op::Compare(comparison, x, y) => {
                let (x, y) = (self.of(x), self.of(y));
                match comparison {
                    Comparison::Unordered => format!("(__builtin_isunordered({x}, {y}) != 0)"),
                    other => format!("({x} {} {y})", sign(other)),
                }
            }
            Op::Select(mask, yes, no) => {
                format!("({} ? {} : {})", self.of(mask), self.of(yes), self.of(no))
            }
            Op::Shift(op, x, bits) => {
                let (x, width) = (self.of(x), if lane == Lane::I64 { 64 } else { 32 });
                match op {
                    ShiftOp::Left => format!("(int{width}_t)((uint{width}_t){x} << {bits})"),
                    ShiftOp::Right => format!("(int{width}_t)((uint{width}_t){x} >> {bits})"),
                    ShiftOp::RightSigned => format!("({x} >> {bits})"),
                }
            }
            Op::Fma(a, b, c) => {
                let function = if lane == Lane::F32 { "fmaf" } else { "fma" };
                format!("{function}({}, {}, {})", self.of(a), self.of(b), self.of(c))
            }
            Op::Cast(x) => cast(&self.of(x), list.lane(x), lane),
            Op::Bits(x) => match lane {
                Lane::F64 => format!("f64_of((uint64_t){})", self.of(x)),
                Lane::F32 => format!("f32_of((uint32_t){})", self.of(x)),
                Lane::I64 => format!("(int64_t)bits_f64({})", self.of(x)),
                _ => format!("(int32_t)bits_f32({})", self.of(x)),
            },
        }
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        Comparison::NotEqual | Comparison::Unordered => "!=",
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
    }
}

/// The ending of helpers for a type.
fn ending(lane: Lane) -> &'static str {
    match lane {
        Lane::F64 => "f64",
        Lane::F32 => "f32",
        Lane::I64 => "i64",
        Lane::I32 | Lane::Mask => "i32",
    }
}

fn unary(op: UnaryOp, x: &str, lane: Lane) -> String {
    // The functions of FLOAT32 end with f.
    let function = |name: &str| format!("{name}{}({x})", if lane == Lane::F32 { "f" } else { "" });
    match op {
        UnaryOp::Neg if lane.is_float() => format!("(- {x})"),
        UnaryOp::Neg => format!("neg_{}({x})", ending(lane)),
        UnaryOp::Abs if lane.is_float() => function("fabs"),
        UnaryOp::Abs => format!("abs_{}({x})", ending(lane)),
        UnaryOp::Sqrt => function("sqrt"),
        UnaryOp::Floor => function("floor"),
        UnaryOp::Ceil => function("ceil"),
        UnaryOp::Trunc => function("trunc"),
        UnaryOp::Nearest => function("rint"),
        UnaryOp::Not if lane == Lane::Mask => format!("(!{x})"),
        UnaryOp::Not => format!("(~{x})"),
    }
}

fn binary(op: BinaryOp, x: &str, y: &str, lane: Lane) -> String {
    let ending = ending(lane);
    match op {
        BinaryOp::Add if lane.is_float() => format!("({x} + {y})"),
        BinaryOp::Add => format!("add_{ending}({x}, {y})"),
        BinaryOp::Sub if lane.is_float() => format!("({x} - {y})"),
        BinaryOp::Sub => format!("sub_{ending}({x}, {y})"),
        BinaryOp::Mul if lane.is_float() => format!("({x} * {y})"),
        BinaryOp::Mul => format!("mul_{ending}({x}, {y})"),
        BinaryOp::MulLow => format!("mul_low({x}, {y})"),
        BinaryOp::Div => format!("({x} / {y})"),
        BinaryOp::Min => format!("min_{ending}({x}, {y})"),
        BinaryOp::Max => format!("max_{ending}({x}, {y})"),
        BinaryOp::And => format!("({x} & {y})"),
        BinaryOp::Or => format!("({x} | {y})"),
        BinaryOp::Xor => format!("({x} ^ {y})"),
        BinaryOp::AndNot if lane == Lane::Mask => format!("({x} & !{y})"),
        BinaryOp::AndNot => format!("({x} & ~{y})"),
    }
}

fn cast(x: &str, from: Lane, to: Lane) -> String {
    match to {
        Lane::I64 if from.is_float() => format!("i64_of_f64({x})"),
        Lane::I32 if from.is_float() => format!("i32_of_f64({x})"),
        Lane::I32 => format!("(int32_t)(uint32_t){x}"),
        to => format!("({}){x}", ctype(to).name()),
    }
}
