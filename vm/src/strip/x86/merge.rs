//! Merging: terms that become one instruction with the term that reads them.
//!
//! ```text
//! t3 = lt t1 t2                     t5 = select t3 t1 t2          t5 = vminpd t1, t2
//!
//! t4 = add t1 t2                    t5 = select t3 t4 t0          t5 = vaddpd t0 {t3}, t1, t2
//!
//! t4 = lt t1 t2                     t5 = and t3 t4                t5 = vcmppd {t3} t1, t2
//!
//! t3 = cast t1   t4 = lt (abs t1) 2^31    t4 = t3 != least         t4 = vpcmpd t3, least
//! ```
//!
//! The instruction for a minimum gives its second operand on ties and if one is NaN, as the choice does. An arm that is
//! an operation read only here goes under the mask of AVX-512, over zeros, or over the other arm if that is not needed
//! any more. Of a float that does not fit an integer, and of none that is smaller than 2^31, conversion makes the least integer.

use crate::strip::list::List;
use crate::strip::op::{BinaryOp, Comparison, Lane, Op, Sink, Term, UnaryOp};
use hashbrown::HashMap;

/// How a choice is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The smaller one, or the second operand.
    Min(Term, Term),
    /// The larger one, or the second operand.
    Max(Term, Term),
    /// The operation of the first arm, over the second arm.
    Masked,
    /// The operation of the first arm, over zeros.
    Zeroed,
}

/// A choice between numbers.
#[derive(Clone, Copy)]
pub struct Choice {
    pub copy: usize,
    pub lane: Lane,
    pub mask: Term,
    pub yes: Term,
    pub no: Term,
}

/// What is merged.
#[derive(Clone, Debug)]
pub struct Merges {
    /// By choice.
    pub choices: Vec<Option<Merge>>,
    /// Terms that are computed by the one that reads them, or by none.
    pub is_deferred: Vec<bool>,
    /// By comparison that says whether a float fits: the integer that is made of it.
    pub fits: Vec<Option<Term>>,
}

/// Finds what can be merged.
pub fn merges(list: &List, reads: &[u32], has_masked_operations: bool) -> Merges {
    let count = list.terms().len();
    let mut merges =
        Merges { choices: vec![None; count], is_deferred: vec![false; count], fits: vec![None; count] };
    find_conversions(list, reads, has_masked_operations, &mut merges);
    let last = last_reads(list, reads);
    let numbers = list.terms().filter(|(term, _, lane)| reads[term.index()] > 0 && *lane != Lane::Mask);
    for (term, op, _) in numbers {
        let Op::Select(mask, yes, no) = op else { continue };
        let is_only_here = |operand: Term| reads[operand.index()] == 1;
        if let Some(merge) = extreme(list, mask, yes, no).filter(|_| is_only_here(mask)) {
            merges.choices[term.index()] = Some(merge);
            merges.is_deferred[mask.index()] = true;
            continue;
        }
        if has_masked_operations
            && list.op(no) == Op::Literal(0)
            && is_only_here(yes)
            && is_plain(list.op(yes))
        {
            merges.choices[term.index()] = Some(Merge::Zeroed);
            merges.is_deferred[yes.index()] = true;
            continue;
        }
        let dies_here = last[no.index()] == term.index() && is_computed(list.op(no));
        let reads_other = || operands(list, list.op(yes)).any(|operand| operand == no);
        if has_masked_operations
            && is_only_here(yes)
            && is_plain(list.op(yes))
            && dies_here
            && mask != no
            && yes != no
            && !reads_other()
        {
            merges.choices[term.index()] = Some(Merge::Masked);
            merges.is_deferred[yes.index()] = true;
        }
    }
    if has_masked_operations {
        defer_comparisons(list, reads, &mut merges.is_deferred);
    }
    merges
}

/// Sizes of floats that are compared with the end of an integer type to which the floats are converted before that, and for nothing
/// else; 64 bits only where that is an instruction.
fn find_conversions(list: &List, reads: &[u32], has_wide: bool, merges: &mut Merges) {
    let mut converted: HashMap<(Term, Lane), Term> = HashMap::new();
    for (term, op, lane) in list.terms().filter(|(term, ..)| reads[term.index()] > 0) {
        let (size, end) = match op {
            Op::Cast(x) if list.lane(x) == Lane::F64 => {
                converted.insert((x, lane), term);
                continue;
            }
            Op::Compare(Comparison::Less, size, end) if reads[size.index()] == 1 => (size, end),
            _ => continue,
        };
        let (Op::Unary(UnaryOp::Abs, x), Op::Literal(end)) = (list.op(size), list.op(end)) else { continue };
        let to = match f64::from_bits(end) {
            TWO_TO_31 => Lane::I32,
            TWO_TO_63 if has_wide => Lane::I64,
            _ => continue,
        };
        if let Some(integer) = converted.get(&(x, to)) {
            merges.fits[term.index()] = Some(*integer);
            merges.is_deferred[size.index()] = true;
        }
    }
    for sink in list.sinks().iter().filter(|_| has_wide) {
        if let Some((fits, _)) = merges.fires_by_integer(list, reads, *sink) {
            merges.is_deferred[sink.term().index()] = true;
            merges.is_deferred[fits.index()] = true;
        }
    }
}

impl Merges {
    /// The comparison that says whether a float fits, and the integer that is made of it, if that is all that a sink fires by: the least
    /// of several integers tells it of all of them.
    pub fn fires_by_integer(&self, list: &List, reads: &[u32], sink: Sink) -> Option<(Term, Term)> {
        let Sink::Fire(mask) = sink else { return None };
        let Op::Unary(_, fits) = list.op(mask) else { return None };
        let is_only_here = reads[mask.index()] == 1 && reads[fits.index()] == 1;
        self.fits[fits.index()].filter(|_| is_only_here).map(|integer| (fits, integer))
    }
}

const TWO_TO_31: f64 = 2_147_483_648.0;
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A comparison that only one `and` reads goes under the mask of its other operand.
fn defer_comparisons(list: &List, reads: &[u32], is_deferred: &mut [bool]) {
    for (_, op, _) in list.terms().filter(|(term, _, lane)| reads[term.index()] > 0 && *lane == Lane::Mask) {
        let Op::Binary(BinaryOp::And, x, y) = op else { continue };
        let is_comparison = |term: &Term| {
            matches!(list.op(*term), Op::Compare(..))
                && reads[term.index()] == 1
                && !is_deferred[term.index()]
        };
        if let Some(comparison) = [y, x].into_iter().find(is_comparison) {
            is_deferred[comparison.index()] = true;
        }
    }
}

/// The terms that instructions of an operation read: those that fuse take the opposite of a factor or an addend by themselves.
pub fn operands(list: &List, op: Op) -> impl Iterator<Item = Term> {
    let fuses = matches!(op, Op::Fma(..));
    op.operands().map(move |term| if fuses { signed(list, term).0 } else { term })
}

/// What a term is the opposite of, and true; else the term itself.
pub fn signed(list: &List, term: Term) -> (Term, bool) {
    match list.op(term) {
        Op::Unary(UnaryOp::Neg, x) => (x, true),
        _ => (term, false),
    }
}

/// The last term that reads each term; of those that are stored, beyond all.
fn last_reads(list: &List, reads: &[u32]) -> Vec<usize> {
    let mut last = vec![0; list.terms().len()];
    for (term, op, _) in list.terms().filter(|(term, ..)| reads[term.index()] > 0) {
        operands(list, op).for_each(|operand| last[operand.index()] = term.index());
    }
    for sink in list.sinks() {
        last[sink.term().index()] = usize::MAX;
    }
    last
}

fn extreme(list: &List, mask: Term, yes: Term, no: Term) -> Option<Merge> {
    let Op::Compare(comparison, x, y) = list.op(mask) else { return None };
    if !list.lane(x).is_float() {
        return None;
    }
    // As `smaller < larger`.
    let (smaller, larger) = match comparison {
        Comparison::Less => (x, y),
        Comparison::Greater => (y, x),
        _ => return None,
    };
    match () {
        () if (yes, no) == (smaller, larger) => Some(Merge::Min(yes, no)),
        () if (yes, no) == (larger, smaller) => Some(Merge::Max(yes, no)),
        () => None,
    }
}

/// True if a value is computed by instructions, so that it has a register.
fn is_computed(op: Op) -> bool {
    op.operands().next().is_some() && !matches!(op, Op::Bits(_))
}

/// True for what is one instruction of two operands in AVX-512.
fn is_plain(op: Op) -> bool {
    match op {
        Op::Binary(op, ..) => !matches!(op, BinaryOp::Min | BinaryOp::Max),
        _ => false,
    }
}
