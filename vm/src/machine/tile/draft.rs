//! Drafts of the steps of a region: which members run together, in one pass over rows.
//!
//! ```text
//! t0 = multiply(a, x)   t1 = add(t0, b)   t2 = exp(t1)      steps    t1 = a * x + b, t0 in registers
//!                                                                    t2 = exp(t1)
//! ```

use crate::machine::tile::columns::{Columns, Source};
use crate::operator::Kernel;
use crate::operator::block::{Arithmetic, BlockRun};
use crate::operator::pair::{Side, pair, products};
use crate::operator::polynomial::{MAX_CONSTANTS, Polynomial, quotient_of_sum};
use crate::operator::reduction::ReductionKernel;

/// A step, while places are not known.
pub(super) struct Draft {
    /// The member whose result it computes.
    pub(super) member: usize,
    /// What it reads.
    pub(super) sources: Vec<Source>,
    /// How it computes it.
    pub(super) pass: Pass,
    /// All other members that it computes on the way.
    pub(super) fused: Vec<usize>,
}

impl Draft {
    /// The draft of a member by its own code.
    pub(super) fn own(columns: &Columns<'_>, member: usize) -> Draft {
        let sources = columns.operands[member].clone();
        Draft { member, sources, pass: Pass::Own, fused: Vec::new() }
    }

    /// All members that it computes.
    fn with_fused(&self) -> Vec<usize> {
        [&*self.fused, &[self.member]].concat()
    }
}

/// How a step computes the result of a member.
#[derive(Clone, Copy)]
pub(super) enum Pass {
    /// By the code of the member.
    Own,
    /// By the code of several operators.
    Joined(BlockRun),
    /// By the code of two, which add to a product.
    Sum(BlockRun),
    /// By the code of several operators, which are a polynomial.
    Polynomial(Polynomial),
    /// By the code of a reduction that computes a sum with a product on the way.
    FoldOfSum,
}

/// The steps of a region: its members in order, but arithmetic whose result only one other operation of arithmetic
/// reads is part of a [pair](crate::operator::pair), of a sum of two products, or of a longer
/// [chain](crate::operator::polynomial). Sums with a product that only a reduction of
/// [pairs of elements](crate::operator::nd_pairs) reads are part of that.
pub(super) struct Drafts {
    pub(super) steps: Vec<Draft>,
    /// By member: true if the step of another computes it on the way.
    pub(super) is_fused: Vec<bool>,
}

impl Drafts {
    /// `reads` says how often members read the result of one; none, if others do.
    pub(super) fn new(columns: &Columns<'_>, reads: impl Fn(usize) -> Option<u32>) -> Drafts {
        let mut drafting = Drafting { columns, reads, by_member: Vec::new(), chains: Vec::new() };
        columns.members().for_each(|member| drafting.add(member));
        let mut steps = drafting.by_member;
        let mut is_fused = vec![false; steps.len()];
        // From the last: what only a fused one would compute on the way is computed by itself.
        for draft in steps.iter().rev() {
            if !is_fused[draft.member] {
                draft.fused.iter().for_each(|member| is_fused[*member] = true);
            }
        }
        steps.retain(|draft| !is_fused[draft.member]);
        Drafts { steps, is_fused }
    }

    /// By column: the last step that reads it; 0 if none does.
    pub(super) fn last_readers(&self, columns: &Columns<'_>) -> Vec<usize> {
        let mut last = vec![0; columns.inputs.len() + columns.results.len()];
        for (number, draft) in self.steps.iter().enumerate() {
            draft.sources.iter().for_each(|source| last[columns.index(*source)] = number);
        }
        last
    }
}

/// Drafts on their way.
struct Drafting<'c, 'r, R> {
    columns: &'c Columns<'r>,
    reads: R,
    by_member: Vec<Draft>,
    /// By member: the chain that it ends.
    chains: Vec<Option<Chain>>,
}

/// What may become a [polynomial](Polynomial): `((a x ± c0) x ± c1) x …`.
struct Chain {
    a: Source,
    x: Source,
    /// And whether they are subtracted.
    constants: Vec<(Source, bool)>,
    ends_with_x: bool,
    /// All members but the last.
    fused: Vec<usize>,
}

impl<R: Fn(usize) -> Option<u32>> Drafting<'_, '_, R> {
    fn add(&mut self, member: usize) {
        self.chains.push(self.chain(member));
        let joined = self.fold_of_sum(member).or_else(|| self.polynomial(member));
        let joined = joined.or_else(|| self.products(member)).or_else(|| self.quotient(member));
        let joined = joined.or_else(|| self.pair(member));
        self.by_member.push(joined.unwrap_or_else(|| Draft::own(self.columns, member)));
    }

    fn fold_of_sum(&self, member: usize) -> Option<Draft> {
        let Kernel::Reduction(ReductionKernel { fold, .. }) = self.columns.kernels[member] else {
            return None;
        };
        fold.step_of_sum()?;
        self.of_sum(member, |_| Pass::FoldOfSum)
    }

    fn quotient(&self, member: usize) -> Option<Draft> {
        if self.arithmetic(member)? != Arithmetic::Divide {
            return None;
        }
        self.of_sum(member, |sum| Pass::Joined(quotient_of_sum(sum == 1)))
    }

    /// A member of whose two operands one is a sum with a product; `pass` tells by which.
    fn of_sum(&self, member: usize, pass: impl Fn(usize) -> Pass) -> Option<Draft> {
        let operands = &self.columns.operands[member];
        (0..2).find_map(|operand| {
            let sum = self.read_only_here(operands[operand], 1);
            let sum = sum.filter(|draft| matches!(draft.pass, Pass::Sum(_)))?;
            let sources = [&*sum.sources, &[operands[1 - operand]]].concat();
            Some(Draft { member, sources, pass: pass(operand), fused: sum.with_fused() })
        })
    }

    fn polynomial(&self, member: usize) -> Option<Draft> {
        let Chain { a, x, constants, ends_with_x, fused } = self.chains[member].as_ref()?;
        let (constants, is_subtracted): (Vec<Source>, Vec<bool>) = constants.iter().copied().unzip();
        let pass = Pass::Polynomial(Polynomial::new(&is_subtracted, *ends_with_x)?);
        Some(Draft { member, sources: [&[*a, *x], &*constants].concat(), pass, fused: fused.clone() })
    }

    /// The chain that a member ends.
    fn chain(&self, member: usize) -> Option<Chain> {
        let arithmetic = self.arithmetic(member)?;
        let (x, y) = (self.columns.operands[member][0], self.columns.operands[member][1]);
        let product = || Chain { a: x, x: y, constants: Vec::new(), ends_with_x: true, fused: Vec::new() };
        match arithmetic {
            Arithmetic::Multiply => {
                Some(self.times(x, y).or_else(|| self.times(y, x)).unwrap_or_else(product))
            }
            Arithmetic::Add => self.plus(x, y, false).or_else(|| self.plus(y, x, false)),
            Arithmetic::Subtract => self.plus(x, y, true),
            Arithmetic::Divide => None,
        }
    }

    /// A chain that goes on with a multiplication by its x.
    fn times(&self, sum: Source, x: Source) -> Option<Chain> {
        let Draft { member, .. } = self.read_only_here(sum, 1)?;
        let chain = self.chains[*member].as_ref().filter(|chain| !chain.ends_with_x)?;
        let a = match chain.constants.len() {
            // The product begins another chain.
            MAX_CONSTANTS => return None,
            _ if chain.x == x => chain.a,
            // Of the first product either factor may be the x.
            1 if chain.a == x => chain.x,
            _ => return None,
        };
        let fused = [&*chain.fused, &[*member]].concat();
        Some(Chain { a, x, constants: chain.constants.clone(), ends_with_x: true, fused })
    }

    /// A chain that goes on with a constant.
    fn plus(&self, product: Source, constant: Source, is_subtracted: bool) -> Option<Chain> {
        let Draft { member, .. } = self.read_only_here(product, 1)?;
        let chain = self.chains[*member].as_ref().filter(|chain| chain.ends_with_x)?;
        let is_constant =
            matches!(constant, Source::Input(number) if !self.columns.inputs[number].is_array());
        if !is_constant {
            return None;
        }
        let constants = [&*chain.constants, &[(constant, is_subtracted)]].concat();
        let fused = [&*chain.fused, &[*member]].concat();
        Some(Chain { a: chain.a, x: chain.x, constants, ends_with_x: false, fused })
    }

    fn products(&self, member: usize) -> Option<Draft> {
        let run = products(self.arithmetic(member)?)?;
        let product = |operand: usize| {
            let (draft, arithmetic) = self.arithmetic_only_here(self.columns.operands[member][operand], 1)?;
            (arithmetic == Arithmetic::Multiply).then_some(draft)
        };
        let (x, y) = (product(0)?, product(1)?);
        let sources = [&*x.sources, &*y.sources].concat();
        Some(Draft { member, sources, pass: Pass::Joined(run), fused: vec![x.member, y.member] })
    }

    fn pair(&self, member: usize) -> Option<Draft> {
        let second = self.arithmetic(member)?;
        let operands = &self.columns.operands[member];
        let with = |operand: usize, side: Side| {
            let reads = if side == Side::Both { 2 } else { 1 };
            let (half, first) = self.arithmetic_only_here(operands[operand], reads)?;
            let run = pair(first, second, side)?;
            let mut sources = half.sources.clone();
            if side != Side::Both {
                sources.push(operands[1 - operand]);
            }
            let pass = match (first, second) {
                (Arithmetic::Multiply, Arithmetic::Add) => Pass::Sum(run),
                _ => Pass::Joined(run),
            };
            Some(Draft { member, sources, pass, fused: vec![half.member] })
        };
        match operands[0] == operands[1] {
            true => with(0, Side::Both),
            false => with(0, Side::Left).or_else(|| with(1, Side::Right)),
        }
    }

    /// The operation on FLOAT64 that a member is.
    fn arithmetic(&self, member: usize) -> Option<Arithmetic> {
        self.columns.block_kernel(member)?.arithmetic
    }

    /// The draft of a member that is an operation on FLOAT64 by its own code, if it is read so often and only inside.
    fn arithmetic_only_here(&self, source: Source, reads: u32) -> Option<(&Draft, Arithmetic)> {
        let draft = self.read_only_here(source, reads)?;
        matches!(draft.pass, Pass::Own).then_some((draft, self.arithmetic(draft.member)?))
    }

    /// The draft of a member, if it is read so often and only inside.
    fn read_only_here(&self, source: Source, reads: u32) -> Option<&Draft> {
        match source {
            Source::Member(member) if (self.reads)(member) == Some(reads) => Some(&self.by_member[member]),
            _ => None,
        }
    }
}
