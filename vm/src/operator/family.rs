//! Families: one row of the operator table each.
//!
//! A row names the operator, says what it computes, and lists its overloads as plain Rust functions:
//!
//! ```
//! use cembra_vm::operator::Family;
//! let row = Family::new("math.hypot", &["x", "y"], "Length of the vector (x, y).")
//!     .binary(|x: f64, y: f64| x.hypot(y));
//! assert_eq!(row.overloads().len(), 2); // FLOAT64, and OPTIONAL_FLOAT64 by lifting
//! ```
//!
//! `unary`, `binary`, `ternary` add an overload and its *lifted* form, where a missing operand gives
//! a missing result; over rows of columns the two have one code. The `exact_*` forms add only what is written, for operators that have their own
//! rules for missing values.

use crate::array::block::BlockKernel;
use crate::array::block_rows::{rows1, rows1_in_place, rows2, rows2_in_place};
use crate::array::function::Outcome;
use crate::array::recipe::Recipe;
use crate::array::special::SpecialFunction;
use crate::layout::PlainSlot;
use crate::layout::access::PlainScalar;
use crate::operator::call::KernelCall;
use crate::operator::facts::{Class, Facts};
use crate::operator::fusible::Fusible;
use crate::operator::general::{GeneralKernel, LiftedKernel};
use crate::operator::lifting::Each;
use crate::operator::primitive::Primitive;
use crate::operator::scalar::{self, Typed};
use crate::operator::signature::{Effects, Kernel, Overload};
use crate::value::nd_view::NdCell;
use crate::value::{Fault, QType};
use crate::vector::math::MathOperand;
use std::sync::Arc;

/// Finds or makes the overload for argument types, for operators that accept unboundedly many types.
pub type GenericOverload = Arc<dyn Fn(&[QType]) -> Option<Overload> + Send + Sync>;

/// The same, of the family that asks.
type MakesOverloads = dyn Fn(&Family, &[QType]) -> Option<Overload> + Send + Sync;

/// One operator with all its overloads.
#[derive(Clone)]
pub struct Family {
    name: Arc<str>,
    params: Box<[Box<str>]>,
    meaning: Box<str>,
    effects: Effects,
    cost: u32,
    pub(super) facts: Facts,
    harmless: Option<(usize, i8)>,
    rows_of: Option<usize>,
    pub(super) recipe: Option<Recipe>,
    /// The operation of the next overload of plain values.
    pub(super) fusible: Option<Fusible>,
    pub(super) primitive: Option<Primitive>,
    pub(super) special: Option<SpecialFunction>,
    /// Code over rows of the overloads to come.
    rows: Option<GeneralKernel>,
    /// True if overloads are made on demand for arrays of narrow elements too.
    takes_narrow: bool,
    /// True if the recipe is for code that may raise as well.
    pub(super) recipe_may_raise: bool,
    overloads: Vec<Arc<Overload>>,
    generic: Option<GenericOverload>,
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Family").field("name", &self.name).field("overloads", &self.overloads.len()).finish()
    }
}

impl Family {
    /// A row without overloads: name, parameter names, meaning in one sentence.
    pub fn new(name: &str, params: &[&str], meaning: &str) -> Family {
        Family {
            name: name.into(),
            params: params.iter().map(|p| (*p).into()).collect(),
            meaning: meaning.into(),
            effects: Effects::Total,
            cost: 1,
            facts: Facts::new(),
            harmless: None,
            rows_of: None,
            recipe: None,
            fusible: None,
            primitive: None,
            special: None,
            rows: None,
            takes_narrow: false,
            recipe_may_raise: false,
            overloads: Vec::new(),
            generic: None,
        }
    }

    /// The operator's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Parameter names; a last name with a leading `*` takes any number of arguments.
    pub fn params(&self) -> impl ExactSizeIterator<Item = &str> {
        self.params.iter().map(|p| &**p)
    }

    /// What the operator computes.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// What evaluation may do.
    pub fn effects(&self) -> Effects {
        self.effects
    }

    /// True if the operator changes its first operand in place.
    pub fn updates(&self) -> bool {
        self.effects == Effects::Updates
    }

    /// Relative cost; an addition is 1.
    pub fn cost(&self) -> u32 {
        self.cost
    }

    /// What passes may assume of the operator. One with code for plain values is pointwise, unless its row says otherwise.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Partial derivatives, one expression per parameter in the operator's own parameter names; empty
    /// if its slope is not written so.
    pub fn partials(&self) -> &[&'static str] {
        self.facts.partials()
    }

    /// An argument, and the value with which no evaluation raises whatever the other arguments are.
    pub fn harmless(&self) -> Option<(usize, i8)> {
        self.harmless
    }

    /// The listed overloads.
    pub fn overloads(&self) -> &[Arc<Overload>] {
        &self.overloads
    }

    /// True if overloads are made on demand for types beyond the list.
    pub fn is_generic(&self) -> bool {
        self.generic.is_some()
    }

    /// The overload for exactly these argument types, up to storage.
    pub fn overload(&self, args: &[QType]) -> Option<Arc<Overload>> {
        let listed = self.overloads.iter().find(|o| o.accepts(args.iter())).cloned();
        listed.or_else(|| {
            if !self.takes_narrow && args.iter().any(QType::has_narrow_elements) {
                return None;
            }
            let stored: Vec<QType> = args.iter().map(QType::storage).collect();
            let generic = self.generic.as_ref().and_then(|generic| generic(&stored));
            // What a host makes on demand may be for other types than asked for.
            let fits = |made: &Overload| made.accepts(stored.iter()) && made.result().is_type_of_values();
            let generic = generic.filter(fits);
            generic.or_else(|| self.over_arrays(&stored)).map(Arc::new)
        })
    }

    /// The overload for arrays, by that for their rows or elements.
    fn over_arrays(&self, args: &[QType]) -> Option<Overload> {
        let (each, single) = self.single(args)?;
        each.over_arrays(args, &single)
    }

    /// The overload that arrays are gone over with: of their rows, or of their elements. Rows that an operator does not
    /// take beside plain values go with optionals.
    pub fn single(&self, args: &[QType]) -> Option<(Each, Arc<Overload>)> {
        let (each, exact) = Each::of(args)?;
        let lifted = || exact.iter().map(QType::to_optional).collect::<Option<Vec<QType>>>();
        let single = self.overload(&exact).or_else(|| match each {
            Each::Row(_) => self.overload(&lifted()?),
            Each::Element => None,
        });
        Some((each, single?))
    }

    /// Sets the relative cost.
    pub fn cost_of(mut self, cost: u32) -> Family {
        self.cost = cost;
        self
    }

    /// Says with which value of an argument no evaluation raises: where a choice between rows looks away, arrays
    /// without presence get it. Of a mask it is presence, whatever the number.
    pub fn harmless_with(mut self, argument: usize, value: i8) -> Family {
        self.harmless = Some((argument, value));
        self
    }

    /// Says that the rows of the result are made of those of one argument one by one, where a missing row gives
    /// a missing row. Overloads added later carry it.
    pub fn by_rows_of(mut self, argument: usize) -> Family {
        self.rows_of = Some(argument);
        self
    }

    /// Declares that evaluation may raise. Overloads added later carry it.
    pub fn raises(mut self) -> Family {
        self.effects = Effects::Raises;
        self
    }

    /// Declares an operator of the host. Overloads added later carry it.
    pub fn host(mut self) -> Family {
        self.effects = Effects::Host;
        self
    }

    /// Says that overloads are made on demand for arrays of narrow elements too: it looks at none, or at one.
    pub(crate) fn narrow(mut self) -> Family {
        self.takes_narrow = true;
        self
    }

    /// Declares an operator that changes its first operand, which is its result. Overloads added later carry it, and
    /// their kernels do so.
    pub(crate) fn updating(mut self) -> Family {
        self.effects = Effects::Updates;
        self
    }

    /// Adds overloads of one operand: `A -> R` and lifted.
    pub fn unary<A: PlainScalar, R: PlainScalar, O: Outcome<R> + 'static>(
        self,
        f: impl Fn(A) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        let plain = scalar::unary::<_, A, R, O>(f);
        let lifted = move |a: Option<A>| match a {
            Some(a) => f(a).outcome().map(Some),
            None => Ok(None),
        };
        let lifted = scalar::unary_over::<_, Option<A>, Option<R>, _>(lifted, plain.2.block);
        self.add(plain).add(lifted)
    }

    /// Adds overloads of one operand of a type to itself, with a loop of its own over rows: `rows` gives the
    /// same bits as `f` of each row. There are no rows of UNIT to go through.
    pub fn unary_rows<T: PlainScalar + NdCell>(
        self,
        f: impl Fn(T) -> T + Copy + Send + Sync + 'static,
        rows: impl Fn(&[T], &mut [T]) + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add_rows1(f, rows1(rows))
    }

    /// As [`unary_rows`](Family::unary_rows), where `rows` writes all of the result and reads none of it.
    pub(crate) fn unary_rows_in_place<T: PlainScalar + NdCell>(
        self,
        f: impl Fn(T) -> T + Copy + Send + Sync + 'static,
        rows: impl Fn(&[T], &mut [T]) + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add_rows1(f, rows1_in_place(rows))
    }

    fn add_rows1<T: PlainScalar>(
        self,
        f: impl Fn(T) -> T + Copy + Send + Sync + 'static,
        block: BlockKernel,
    ) -> Family {
        let lifted = move |x: Option<T>| x.map(f);
        self.add(scalar::unary_over::<_, T, T, _>(f, block)).add(scalar::unary_over::<
            _,
            Option<T>,
            Option<T>,
            _,
        >(lifted, block))
    }

    /// Adds overloads of two operands of a type to itself, with a loop of its own over rows: `rows` gives the
    /// same bits as `f` of each row. There are no rows of UNIT to go through.
    pub fn binary_rows<T: PlainScalar + NdCell>(
        self,
        f: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
        rows: impl Fn(MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]) + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add_rows2(f, rows2(rows))
    }

    /// As [`binary_rows`](Family::binary_rows), where `rows` writes all of the result and reads none of it.
    pub(crate) fn binary_rows_in_place<T: PlainScalar + NdCell>(
        self,
        f: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
        rows: impl Fn(MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]) + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add_rows2(f, rows2_in_place(rows))
    }

    fn add_rows2<T: PlainScalar>(
        self,
        f: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
        block: BlockKernel,
    ) -> Family {
        let lifted = move |x: Option<T>, y: Option<T>| x.zip(y).map(|(x, y)| f(x, y));
        self.add(scalar::binary_over::<_, T, T, T, _>(f, block)).add(scalar::binary_over::<
            _,
            Option<T>,
            Option<T>,
            Option<T>,
            _,
        >(lifted, block))
    }

    /// Adds overloads of two operands: `(A, B) -> R` and lifted.
    pub fn binary<A: PlainScalar, B: PlainScalar, R: PlainScalar, O: Outcome<R> + 'static>(
        self,
        f: impl Fn(A, B) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        self.lift2(scalar::binary::<_, A, B, R, O>(f), f)
    }

    /// As [`Family::binary`], with code for every combination of accumulators: for the operators that
    /// programs consist of.
    pub fn hot_binary<A: PlainScalar, B: PlainScalar, R: PlainScalar, O: Outcome<R> + 'static>(
        self,
        f: impl Fn(A, B) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        self.lift2(scalar::hot_binary::<_, A, B, R, O>(f), f)
    }

    fn lift2<A: PlainScalar, B: PlainScalar, R: PlainScalar, O: Outcome<R> + 'static>(
        self,
        plain: Typed,
        f: impl Fn(A, B) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        let lifted = move |a: Option<A>, b: Option<B>| match (a, b) {
            (Some(a), Some(b)) => f(a, b).outcome().map(Some),
            _ => Ok(None),
        };
        let lifted = scalar::binary_over::<_, Option<A>, Option<B>, Option<R>, _>(lifted, plain.2.block);
        self.add(plain).add(lifted)
    }

    /// Adds a comparison: `(T, T) -> OPTIONAL_UNIT` and lifted, fused with a following jump.
    pub fn predicate<T: PlainScalar>(
        self,
        f: impl Fn(T, T) -> bool + Copy + Send + Sync + 'static,
    ) -> Family {
        let plain = scalar::comparison(move |a: T, b: T| f(a, b).then_some(()));
        let lifted = move |a: Option<T>, b: Option<T>| match (a, b) {
            (Some(a), Some(b)) => f(a, b).then_some(()),
            _ => None,
        };
        let lifted = scalar::binary_over::<_, Option<T>, Option<T>, Option<()>, _>(lifted, plain.2.block);
        self.add(plain).add(lifted)
    }

    /// Adds a comparison: `(A, B) -> BOOLEAN` and lifted, fused with a following jump.
    pub fn test<A: PlainScalar, B: PlainScalar>(
        self,
        f: impl Fn(A, B) -> bool + Copy + Send + Sync + 'static,
    ) -> Family {
        self.lift2(scalar::comparison::<_, A, B, bool>(f), f)
    }

    /// Adds exactly `A -> R`. As with every kernel, other threads may call it:
    ///
    /// ```compile_fail,E0277
    /// use cembra_vm::operator::Family;
    /// #[derive(Clone, Copy)]
    /// struct HereOnly(std::marker::PhantomData<*const ()>);
    /// let here = HereOnly(std::marker::PhantomData);
    /// Family::new("host.here", &["x"], "x").exact_unary(move |x: i64| {
    ///     let _here: HereOnly = here;
    ///     x
    /// });
    /// ```
    pub fn exact_unary<A: PlainSlot, R: PlainSlot, O: Outcome<R> + 'static>(
        self,
        f: impl Fn(A) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add(scalar::unary::<_, A, R, O>(f))
    }

    /// Adds exactly `(A, B) -> R`, in every mode.
    pub fn exact_binary<A: PlainSlot, B: PlainSlot, R: PlainSlot, O: Outcome<R> + 'static>(
        self,
        f: impl Fn(A, B) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add(scalar::hot_binary::<_, A, B, R, O>(f))
    }

    /// Adds a general kernel for these argument types and its lifted form, where a missing argument gives
    /// a missing result. Arguments and results that are optional already stay as they are: the kernel
    /// has its own rules for them.
    pub fn general(
        self,
        args: &[QType],
        result: QType,
        f: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Family {
        self.add_lifted(args, result, GeneralKernel::new(f))
    }

    fn add_lifted(self, args: &[QType], result: QType, kernel: GeneralKernel) -> Family {
        let optional: Option<Vec<QType>> = args.iter().map(QType::to_optional).collect();
        let lifted = optional.zip(result.to_optional()).filter(|(optional, _)| optional != args);
        let lifted_kernel = LiftedKernel {
            kernel: kernel.clone(),
            takes_optional: args.iter().map(QType::is_optional).collect(),
            gives_optional: result.is_optional(),
        };
        let family = self.add_overload(args.into(), result, Kernel::General(kernel));
        match lifted {
            Some((args, result)) => family.add_overload(args.into(), result, Kernel::Lifted(lifted_kernel)),
            None => family,
        }
    }

    /// Adds a general kernel for exactly these argument types.
    pub fn exact_general(
        self,
        args: &[QType],
        result: QType,
        f: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Family {
        self.add_overload(args.into(), result, Kernel::General(GeneralKernel::new(f)))
    }

    /// Gives overloads that are added later code over rows: for arrays of what they take, and single values beside them. Code of
    /// plain values has loops of its own.
    pub(crate) fn over_rows(
        mut self,
        f: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Family {
        self.rows = Some(GeneralKernel::new(f));
        self
    }

    /// Adds overloads that are made on demand for argument types in storage form.
    pub fn on_demand(
        self,
        f: impl Fn(&Family, &[QType]) -> Option<Overload> + Send + Sync + 'static,
    ) -> Family {
        self.making(Box::new(f))
    }

    fn making(mut self, f: Box<MakesOverloads>) -> Family {
        let row = Family { generic: None, ..self.clone() };
        self.generic = Some(Arc::new(move |args| f(&row, args)));
        self
    }

    /// An overload of this family, for use by on-demand rules. Only the crate makes kernels of its own
    /// choice: a scalar kernel must be for exactly these types.
    pub(crate) fn make(&self, args: impl Into<Box<[QType]>>, result: QType, mut kernel: Kernel) -> Overload {
        if let Kernel::Scalar(scalar) = &mut kernel {
            if self.recipe_may_raise || !scalar.block.is_fallible {
                scalar.block.recipe = self.recipe;
            }
            scalar.block.special = self.special;
        }
        let overload = Overload::new(self.name.clone(), args.into(), result, kernel, self.effects);
        let overload = overload.with_rows(self.rows.clone());
        match self.rows_of {
            Some(argument) => overload.by_rows_of(argument),
            None => overload,
        }
    }

    /// A general overload of this family, for use by on-demand rules.
    pub fn make_general(
        &self,
        args: impl Into<Box<[QType]>>,
        result: QType,
        f: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Overload {
        self.make(args, result, Kernel::General(GeneralKernel::new(f)))
    }

    pub(super) fn add(mut self, (args, result, mut kernel): Typed) -> Family {
        kernel.threaded.fusible = self.fusible.take();
        kernel.threaded.primitive = self.primitive.filter(|_| !result.is_optional());
        if self.facts.class() == Class::Unknown {
            self.facts = self.facts.with_class(Class::Pointwise);
        }
        self.add_overload(args.into(), result, Kernel::Scalar(kernel))
    }

    fn add_overload(mut self, args: Box<[QType]>, result: QType, kernel: Kernel) -> Family {
        self.overloads.push(Arc::new(self.make(args, result, kernel)));
        self
    }
}
