//! Recipes as expressions: the operations of a list, one row, in the syntax of a language.

use crate::native::c::locals::{CType, Locals, leaves};
use crate::native::syntax::Syntax;
use cembra_vm::array::recipe::Recorded;
use cembra_vm::operator::Overload;
use cembra_vm::program::ValueId;
use cembra_vm::strip::{BinaryOp, Lane, List, Op, Term, UnaryOp};
use cembra_vm::value::{QType, ScalarType, ScalarValue};
use std::fmt::Write;

/// Statements that compute an operator by its recipe; `None` if it has none.
pub(in crate::native) fn statements(
    syntax: &dyn Syntax,
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
    let lowered = Lowered::new(syntax, &list, results.iter().flatten().copied(), |number, is_presence| {
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
            text += &syntax.declared(&format!("c{number}"), *ctype, &value(term));
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

/// What is known of a truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It is this one for certain.
    Certain(bool),
    /// It is that of a term, or the opposite.
    As(Term, bool),
}

impl Known {
    fn not(self) -> Known {
        match self {
            Known::Certain(truth) => Known::Certain(!truth),
            Known::As(term, truth) => Known::As(term, !truth),
        }
    }

    /// True if both are; `None` if that depends on two terms.
    fn and(self, other: Known) -> Option<Known> {
        match (self, other) {
            (Known::Certain(true), known) | (known, Known::Certain(true)) => Some(known),
            (Known::Certain(false), _) | (_, Known::Certain(false)) => Some(Known::Certain(false)),
            _ if self == other => Some(self),
            _ => (self == other.not()).then_some(Known::Certain(false)),
        }
    }
}

/// True if a truth holds wherever the operands are there that the function names.
pub(super) fn is_certain(list: &List, truth: Term, is_there: impl Fn(u16) -> bool) -> bool {
    let mut known: Vec<Known> = Vec::new();
    for (term, op, lane) in list.terms() {
        let of = |term: Term| known[term.index()];
        let found = match op {
            Op::Presence(number) if is_there(number) => Some(Known::Certain(true)),
            _ if lane != Lane::Mask => None,
            Op::Literal(bits) => Some(Known::Certain(bits & 1 == 1)),
            Op::Unary(UnaryOp::Not, x) => Some(of(x).not()),
            Op::Binary(BinaryOp::And, x, y) => of(x).and(of(y)),
            Op::Binary(BinaryOp::AndNot, x, y) => of(x).and(of(y).not()),
            Op::Binary(BinaryOp::Or, x, y) => of(x).not().and(of(y).not()).map(Known::not),
            Op::Select(mask, yes, no) => match (of(mask), of(yes) == of(no)) {
                (_, true) => Some(of(yes)),
                (Known::Certain(mask), _) => Some(of(if mask { yes } else { no })),
                _ => None,
            },
            _ => None,
        };
        known.push(found.unwrap_or(Known::As(term, true)));
    }
    known.get(truth.index()) == Some(&Known::Certain(true))
}

pub(in crate::native) fn ctype(lane: Lane) -> CType {
    match lane {
        Lane::F64 => CType::F64,
        Lane::F32 => CType::F32,
        Lane::I64 => CType::I64,
        Lane::I32 => CType::I32,
        Lane::Mask => CType::U8,
    }
}

/// Terms as expressions, those used more than once as temporaries.
pub(in crate::native) struct Lowered {
    expressions: Vec<String>,
    /// Declarations of the temporaries, in order.
    pub(in crate::native) temporaries: String,
}

impl Lowered {
    /// The terms that the results need. The function names the local of an operand, or of its presence.
    pub(in crate::native) fn new(
        syntax: &dyn Syntax,
        list: &List,
        results: impl Iterator<Item = Term>,
        local: impl Fn(u16, bool) -> String,
    ) -> Lowered {
        Lowered::with(syntax, list, results, local, false)
    }

    /// The same; if the text `computes_both`, what selections choose from are temporaries: compilers see that all of it is computed, and
    /// make vectors of it, and no branches.
    pub(in crate::native) fn with(
        syntax: &dyn Syntax,
        list: &List,
        results: impl Iterator<Item = Term>,
        local: impl Fn(u16, bool) -> String,
        computes_both: bool,
    ) -> Lowered {
        let terms: Vec<(Term, Op, Lane)> = list.terms().collect();
        let mut uses = vec![0u32; terms.len()];
        results.for_each(|term| uses[term.index()] += 1);
        for (term, op, _) in terms.iter().rev() {
            if uses[term.index()] > 0 {
                op.operands().for_each(|operand| uses[operand.index()] += 1);
            }
        }
        let mut is_chosen = vec![false; terms.len()];
        for (_, op, _) in &terms {
            if let Op::Select(_, yes, no) = op {
                [yes, no].into_iter().for_each(|arm| is_chosen[arm.index()] = computes_both);
            }
        }
        let mut lowered =
            Lowered { expressions: Vec::with_capacity(terms.len()), temporaries: String::new() };
        for (term, op, lane) in terms {
            let used = uses[term.index()];
            let is_leaf = matches!(op, Op::Column(_) | Op::Presence(_) | Op::Literal(_));
            let mut text = match (used, op) {
                (0, _) => String::new(),
                (_, Op::Column(number) | Op::Scalar(number)) => local(number, false),
                (_, Op::Presence(number)) => local(number, true),
                (_, Op::Literal(bits)) => syntax.literal(bits, lane),
                (_, op) => syntax.operation(list, op, lane, &|term| lowered.of(term)),
            };
            // Helpers may look at an operand twice, but they are functions; the operators of C do not.
            let is_temporary = used > 1 || used > 0 && is_chosen[term.index()];
            if is_temporary && !is_leaf {
                lowered.temporaries += &syntax.declared(&term.to_string(), ctype(lane), &text);
                text = term.to_string();
            }
            lowered.expressions.push(text);
        }
        lowered
    }

    /// The expression of a term.
    pub(in crate::native) fn of(&self, term: Term) -> String {
        self.expressions[term.index()].clone()
    }
}

/// Moves of the scalars of operands to those of a result that consists of them.
pub(in crate::native) fn assembled(
    operands: &[ValueId],
    result: ValueId,
    qtype: &QType,
    locals: &Locals<'_>,
) -> Option<String> {
    leaves(qtype)?;
    let sources = operands.iter().flat_map(|operand| locals.all(*operand));
    let moved = locals.all(result).into_iter().zip(sources).filter(|((to, _), (from, _))| to != from);
    Some(moved.map(|((to, _), (from, _))| format!("{to} = {from}; ")).collect())
}
