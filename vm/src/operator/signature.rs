//! Overloads: one operator for exact types, and what may be assumed of it.

use crate::array::block::BlockKernel;
use crate::array::fold_kernel::FoldKernel;
use crate::array::recipe::Recorded;
#[cfg(feature = "jit")]
use crate::array::recipe::{Recipe, fast_path};
use crate::array::runs::Runs;
use crate::array::scan::ScanKernel;
use crate::array::special::SpecialFunction;
use crate::layout::slot::TypedSlot;
use crate::operator::call::KernelCall;
use crate::operator::general::{GeneralCall, GeneralKernel, LiftedKernel};
use crate::operator::operand_view::OperandView;
use crate::operator::pointwise::Pointwise;
use crate::operator::primitive::Primitive;
use crate::operator::scalar::ScalarKernel;
use crate::operator::threaded::Threaded;
use crate::strip::{List, Term};
use crate::value::{Axes, Fault, QType};
use std::fmt;
use std::sync::Arc;

/// What evaluating an operator can do besides giving a value. Every operator is a function of its
/// arguments; the difference is whether one may be evaluated although nobody needs its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Always gives a value: may be evaluated early or in vain.
    Total,
    /// May raise a fault: evaluated only where its value is needed.
    Raises,
    /// An operator of the host: may raise, panic, or be expensive.
    Host,
    /// Changes its first operand in place, which is its result. May raise, and then changes nothing.
    Updates,
}

impl Effects {
    /// All of them.
    pub const ALL: [Effects; 4] = [Effects::Total, Effects::Raises, Effects::Host, Effects::Updates];

    /// True if evaluation in vain cannot be observed.
    pub fn is_total(self) -> bool {
        self == Effects::Total
    }

    /// One word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Effects::Total => "total",
            Effects::Raises => "raises",
            Effects::Host => "host",
            Effects::Updates => "updates",
        }
    }
}

/// The code of an overload.
#[derive(Clone, Debug)]
pub(crate) enum Kernel {
    /// Threaded code on plain values.
    Scalar(ScalarKernel),
    /// Threaded code on an array and plain values: one element is read or written.
    Element(Threaded),
    /// Code over rows or elements of arrays.
    Map(Pointwise),
    /// Code that makes one value of the rows of an array, or of elements along axes between which there are unit axes only:
    /// over whole arrays and over blocks. The axis of rows is the first one.
    Fold { whole: GeneralKernel, fold: FoldKernel, axes: Axes },
    /// Running sums along the last axis of an n-dimensional array: over whole arrays and over blocks.
    Scan { whole: GeneralKernel, scan: ScanKernel },
    /// A closure on the slots as they are.
    General(GeneralKernel),
    /// A closure on the values behind optional arguments; the result is optional.
    Lifted(LiftedKernel),
    /// Puts each operand into the tuple field of the same position, unless it stands there already.
    Assemble,
}

/// An operator for exact argument types. The machine trusts its kernel to be for these types, so only
/// a [`Family`](crate::operator::Family) makes one, and nobody changes it:
///
/// ```compile_fail,E0616
/// use cembra_vm::operator::Family;
/// use cembra_vm::value::qtype::TEXT;
/// let same = Family::new("host.same", &["x"], "x itself").unary(|x: i64| x);
/// let mut overload = (*same.overloads()[0]).clone();
/// overload.args = [TEXT].into(); // the kernel reads an INT64
/// ```
#[derive(Clone, Debug)]
pub struct Overload {
    /// The operator's name as dumps print it.
    name: Arc<str>,
    /// Exact argument types, in storage form.
    args: Box<[QType]>,
    /// Exact result type, in storage form.
    result: QType,
    /// The code.
    kernel: Kernel,
    /// What evaluation may do.
    effects: Effects,
    /// What evaluation of one row may do, of an operator that is applied to rows.
    of_row: Option<OfRow>,
    /// True if the code finds its first argument where a host lends it.
    reads_lent: bool,
    /// How the result lies in the first argument, if it does.
    view: Option<OperandView>,
    /// Code over rows, of a kernel on single values that needs slots.
    rows: Option<GeneralKernel>,
}

/// What an operator does to one of the rows that it is applied to.
#[derive(Clone, Copy, Debug)]
struct OfRow {
    effects: Effects,
    /// True if a row that is missing in an argument is missing in the result, and nothing is evaluated.
    misses: bool,
    /// The one argument whose rows they are; `None` for all arrays.
    argument: Option<usize>,
}

impl Kernel {
    /// The code over rows or elements, if that is what the kernel is.
    pub(crate) fn block(&self) -> Option<&BlockKernel> {
        match self {
            Kernel::Map(pointwise) => Some(&pointwise.kernel),
            _ => None,
        }
    }

    /// The code on single values, if that is what the kernel is.
    pub(crate) fn threaded(&self) -> Option<&Threaded> {
        match self {
            Kernel::Scalar(kernel) => Some(&kernel.threaded),
            Kernel::Element(threaded) => Some(threaded),
            _ => None,
        }
    }

    /// True of code over rows or elements, which a region runs where they stand.
    pub(crate) fn goes_over_rows(&self) -> bool {
        matches!(self, Kernel::Map(_) | Kernel::Fold { .. } | Kernel::Scan { .. })
    }

    /// True if the result has not the rows or elements of the operands, which become one or fewer.
    pub(crate) fn reduces(&self) -> bool {
        matches!(self, Kernel::Fold { .. })
    }

    /// The code of a fold of the rows of the first argument.
    pub fn fold_of_rows(fold: FoldKernel) -> Kernel {
        let whole = GeneralKernel::new(move |call| {
            let (column, runs) = (call.column(0), Runs { run: call.array(0).len(), count: 1, width: 1 });
            let (meter, arena, out) = (call.meter(), call.arena(), call.result_place());
            // SAFETY: the column has the rows; the overload was made for their type and that of the result.
            unsafe { fold.fold_all(column, runs, out, arena, meter) }
        });
        Kernel::Fold { whole, fold, axes: Axes::new([0]).expect("an axis") }
    }

    /// A closure on the slots as they are.
    pub fn general(f: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static) -> Kernel {
        Kernel::General(GeneralKernel::new(f))
    }
}

impl Overload {
    /// The same operator for other types and code. Arrays of different sizes raise.
    pub(super) fn over_arrays(&self, args: &[QType], result: QType, kernel: Kernel) -> Overload {
        let is_array = |qtype: &&QType| qtype.array().is_some() || qtype.nd().is_some();
        let arrays = args.iter().filter(is_array).count();
        let effects = match self.effects {
            Effects::Total if arrays > 1 => Effects::Raises,
            other => other,
        };
        let of_row = Some(OfRow { effects: self.effects, misses: self.is_lifted(), argument: None });
        Overload { of_row, ..Overload::new(self.name.clone(), args.into(), result, kernel, effects) }
    }

    /// The same for an operator that takes the rows of one argument one by one and others as a whole; what is
    /// missing there is missing in the result.
    pub(super) fn by_rows_of(self, argument: usize) -> Overload {
        let of_row = Some(OfRow { effects: self.effects, misses: true, argument: Some(argument) });
        Overload { of_row, ..self }
    }

    /// True if the result is missing where an optional argument is.
    fn is_lifted(&self) -> bool {
        match &self.kernel {
            Kernel::Scalar(kernel) => kernel.block.is_lifted,
            Kernel::Lifted(kernel) => !kernel.takes_optional.contains(&true),
            _ => false,
        }
    }

    /// An overload whose kernel is for these types.
    pub(super) fn new(
        name: Arc<str>,
        args: Box<[QType]>,
        result: QType,
        kernel: Kernel,
        effects: Effects,
    ) -> Overload {
        Overload {
            name,
            args,
            result,
            kernel,
            effects,
            of_row: None,
            reads_lent: false,
            view: None,
            rows: None,
        }
    }

    /// The same of code that reads its first argument by [`KernelCall::rows`](crate::operator::KernelCall::rows).
    pub(crate) fn reading_lent(self) -> Overload {
        Overload { reads_lent: true, ..self }
    }

    /// The same with code over rows.
    pub(super) fn with_rows(self, rows: Option<GeneralKernel>) -> Overload {
        Overload { rows, ..self }
    }

    /// Code over rows, of a kernel on single values that needs slots.
    pub(super) fn rows(&self) -> Option<&GeneralKernel> {
        self.rows.as_ref()
    }

    /// The same of code whose result is a view of its first argument.
    pub(crate) fn viewing(self, view: OperandView) -> Overload {
        Overload { view: Some(view), ..self }
    }

    /// How the result lies in the first argument, if it does.
    pub(crate) fn view(&self) -> Option<&OperandView> {
        self.view.as_ref()
    }

    /// True if the elements of the result lie in the first argument: who reads them may read that, if it stays as it is.
    pub fn is_view(&self) -> bool {
        self.view.is_some()
    }

    /// The operator's name as dumps print it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Exact argument types, in storage form.
    pub fn args(&self) -> &[QType] {
        &self.args
    }

    /// Exact result type, in storage form.
    pub fn result(&self) -> &QType {
        &self.result
    }

    /// What evaluation may do.
    pub fn effects(&self) -> Effects {
        self.effects
    }

    /// What evaluation of one row may do; `None` unless the operator is applied row by row.
    pub fn row_effects(&self) -> Option<Effects> {
        self.of_row.map(|row| row.effects)
    }

    /// True if evaluation in vain can be noticed by a fault, also where the row of the table has to say so of
    /// operators that never raise: a fold that needs no element gives a value of any array.
    pub fn may_raise(&self) -> bool {
        match &self.kernel {
            Kernel::Fold { fold, .. } => fold.needs.is_some(),
            _ => !self.effects.is_total(),
        }
    }

    /// True if the operator looks at the rows of an argument one by one.
    pub fn takes_rows_of(&self, argument: usize) -> bool {
        self.of_row.is_some_and(|row| row.argument.is_none_or(|only| only == argument))
    }

    /// True if the operator is applied row by row, and not at all to a row that is missing in an argument.
    pub fn misses_rows(&self) -> bool {
        self.of_row.is_some_and(|row| row.misses)
    }

    /// The code.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// True if the result may take the bytes of an operand: threaded code reads all operands before
    /// it writes.
    pub fn reads_before_writing(&self) -> bool {
        self.kernel.threaded().is_some()
    }

    /// True if the operator changes its first operand in place: that is its result, the same value in the same slot.
    pub fn updates(&self) -> bool {
        self.effects == Effects::Updates
    }

    /// True if the operator finds its first operand where a host lends it: it is about one element or the size of
    /// an axis, or its code knows of lent rows.
    pub fn reads_lent(&self) -> bool {
        self.reads_lent || matches!(self.kernel, Kernel::Element(_))
    }

    /// True if the result has fewer elements than operands have: it is there when all of them have been seen.
    pub fn reduces(&self) -> bool {
        self.kernel.reduces()
    }

    /// True if the operator goes over the rows or elements of its operands in blocks: it is a member of a tile region.
    pub fn goes_over_rows(&self) -> bool {
        self.kernel.goes_over_rows()
    }

    /// True if an operand may stand in the field of the result that it goes to.
    pub fn assembles(&self) -> bool {
        matches!(self.kernel, Kernel::Assemble)
    }

    /// What an operator on plain values does that may refuse them, or one on an element of an array; see
    /// [`Primitive`].
    pub fn primitive(&self) -> Option<Primitive> {
        self.kernel.threaded().and_then(|code| code.primitive)
    }

    /// Adds to a list what the operator computes of one row, or of plain values, by its
    /// [recipe](crate::array::recipe); `None` if it has none for these operands.
    pub fn record(&self, list: &mut List, operands: &[Recorded]) -> Option<Recorded> {
        let kernel = self.rows_kernel()?;
        kernel.recipe?.record(list, operands, kernel.is_lifted)
    }

    /// The same of a recipe that does not hold for all operands, with a truth of those for which it does not: they are refused, or
    /// give another value. `None` too if there are none.
    pub fn record_usual(&self, list: &mut List, operands: &[Recorded]) -> Option<(Recorded, Term)> {
        let kernel = self.rows_kernel()?;
        let (recorded, rare) = kernel.recipe?.record_with_rare(list, operands, kernel.is_lifted)?;
        Some((recorded, rare?))
    }

    /// The same of the [special function](Self::special_function) that the operator is; without a truth if the recipe holds
    /// for all operands.
    #[cfg(feature = "jit")]
    pub(crate) fn record_function(
        &self,
        list: &mut List,
        operands: &[Recorded],
    ) -> Option<(Recorded, Option<Term>)> {
        let recipe = Recipe::Function(self.special_function()?);
        recipe.record_with_rare(list, operands, true)
    }

    /// The [fast path](crate::strip::record_fast) of the special function that the operator is, of one plain FLOAT64, with a truth of operands that do not
    /// take the path; no operand that takes it is refused. `None` if there is no such path.
    #[cfg(feature = "jit")]
    pub(crate) fn record_fast(&self, list: &mut List, operands: &[Recorded]) -> Option<(Recorded, Term)> {
        fast_path(self.special_function()?, list, operands)
    }

    /// The special function that the operator is, of one row or of plain values: of present operands, where the result
    /// is present as well.
    pub fn special_function(&self) -> Option<SpecialFunction> {
        self.rows_kernel()?.special
    }

    /// The code over rows, of arrays or of what plain values are a row of.
    fn rows_kernel(&self) -> Option<&BlockKernel> {
        match &self.kernel {
            Kernel::Scalar(kernel) => Some(&kernel.block),
            other => other.block(),
        }
    }

    /// True if these are the argument types, up to storage.
    pub fn accepts<'a>(&self, args: impl ExactSizeIterator<Item = &'a QType>) -> bool {
        args.len() == self.args.len() && args.zip(&self.args).all(|(a, b)| a == b || a.storage() == *b)
    }

    /// Binds a kernel to slots; `None` for threaded code, which needs no binding.
    pub fn bind_general(&self, args: Box<[TypedSlot]>, out: TypedSlot) -> Option<GeneralCall> {
        match &self.kernel {
            Kernel::Scalar(_) | Kernel::Element(_) => None,
            Kernel::Map(kernel) => {
                let kernel = *kernel;
                Some(GeneralCall::new(GeneralKernel::new(move |call| kernel.run(call)), args, out))
            }
            Kernel::Fold { whole, .. } | Kernel::Scan { whole, .. } => {
                Some(GeneralCall::new(whole.clone(), args, out))
            }
            Kernel::General(kernel) if self.updates() => {
                Some(GeneralCall::updating(kernel.clone(), args, out))
            }
            Kernel::General(kernel) => Some(GeneralCall::new(kernel.clone(), args, out)),
            Kernel::Lifted(kernel) => Some(GeneralCall::lifted(kernel, &args, out)),
            Kernel::Assemble => Some(GeneralCall::new(GeneralKernel::new(assemble), args, out)),
        }
    }
}

fn assemble(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    call.keep_result();
    (0..call.len()).try_for_each(|i| call.copy_to_field(i, i))
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (i, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if i > 0 { ", " } else { "" })?;
        }
        write!(f, ") -> {}", self.result)
    }
}
