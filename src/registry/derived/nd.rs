//! `nd.*`: operators on the axes of n-dimensional arrays.
//!
//! Axes are literals: a number, `tuple(0, 1)`, or `unit` for all; below 0 they count from the end. Lowering makes of them
//! a value of a type such as `AXES_02`: the machine's operators know the axes of their result from types alone.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::operator::facts::{AlongAxes, Facts, Linear, Places};
use cembra_vm::value::nd_type::MAX_RANK;
use cembra_vm::value::qtype::{FLOAT64, INT64};
use cembra_vm::value::{Axes, NdType, QType, ScalarType, ScalarValue, Value};

/// Name of `nd.any`.
pub const ANY: &str = "nd.any";
/// Name of `nd.cumsum`.
pub const CUMSUM: &str = "nd.cumsum";
/// Name of `nd.max`.
pub const MAX: &str = "nd.max";
/// Name of `nd.mean`.
pub const MEAN: &str = "nd.mean";
/// Name of `nd.squeeze`.
pub const SQUEEZE: &str = "nd.squeeze";
/// Name of `nd.sum`.
pub const SUM: &str = "nd.sum";
/// Name of `nd.take`.
pub const TAKE: &str = "nd.take";
/// Name of `nd.transpose`.
pub const TRANSPOSE: &str = "nd.transpose";

/// The mean slope of the elements that are the extreme one.
macro_rules! slope_of_extreme {
    ($extreme:literal) => {
        concat!(
            "is_it = bool.equal(x, ",
            $extreme,
            "(x, axes, true))\n",
            "nd.sum(nd.where(is_it, d_x, 0.0), axes, keep) / nd.sum(nd.where(is_it, 1.0, 0.0), axes, keep)"
        )
    };
}

/// Name of `nd.broadcast_to`.
pub const BROADCAST_TO: &str = "nd.broadcast_to";
/// Name of `nd.size`.
pub const SIZE: &str = "nd.size";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    let mut all = vec![
        reduction(SUM, "nd._sum", "Sum along axes; integers and truths are added as INT64.")
            .with_facts(reducing().with_linear(IN_FIRST)),
        reduction("nd.prod", "nd._prod", "Product along axes, joined as sums are; INT64 of integers."),
        reduction(MEAN, "nd._mean", "Mean along axes; NaN without elements.")
            .with_facts(reducing().with_linear(IN_FIRST)),
        reduction("nd.min", "nd._min", "The least element along axes; NaN if there is one.")
            .with_facts(reducing().differential(slope_of_extreme!("nd.min"))),
        reduction(MAX, "nd._max", "The greatest element along axes; NaN if there is one.")
            .with_facts(reducing().differential(slope_of_extreme!("nd.max"))),
        reduction(ANY, "nd._any", "True if an element along axes is not zero."),
        reduction("nd.all", "nd._all", "True if no element along axes is zero."),
        reduction("nd.count", "nd._count", "Number of elements along axes that are not zero."),
        reduction("nd.median", "nd._median", "The middle element along axes, or the mean of two."),
        reduction("nd.argmin", "nd._argmin", "Place along axes of the first least element, or NaN."),
        reduction("nd.argmax", "nd._argmax", "Place along axes of the first greatest element, or NaN."),
        with_option(
            "nd.quantile",
            &["x", "q", "axes", "keep"],
            "nd._quantile",
            1,
            FLOAT64,
            "The element at a share of the way from least to greatest, by linear interpolation.",
        ),
    ];
    for (name, machine, meaning) in [
        ("nd.var", "nd._var", "Mean square of the deviations from the mean, of n - ddof."),
        ("nd.std", "nd._std", "Square root of the variance."),
    ] {
        let def = with_option(name, &["x", "axes", "keep", "ddof"], machine, 3, INT64, meaning);
        all.push(def.default("ddof", Literal::from(0i64)));
    }
    all.extend([cumsum(), expand_dims(), squeeze(), transpose(), size(), take(), concatenate()]);
    all.extend([
        resized(
            BROADCAST_TO,
            "nd._broadcast_to",
            "The elements repeated along new axes and unit axes, up to these sizes; a literal 1 gives a unit axis.",
            Some("be broadcast to"),
        )
        // Slopes have the axes that they depend on; the others are theirs by broadcasting.
        .with_facts(Facts::pointwise().with_linear(IN_FIRST).differential("d_x")),
        resized(
            "nd.reshape",
            "nd._reshape",
            "The elements in their order under axes of these sizes, one perhaps -1; a literal 1 gives a unit axis.",
            None,
        )
        .with_facts(Facts::along(AlongAxes::All, Places::Moved).with_linear(IN_FIRST)),
    ]);
    all.extend([
        with_integers(
            "nd.get",
            &["array", "*indices"],
            "The element at these indices, one for each axis; a negative one counts from the end. INT64 of a narrow element.",
        ),
        with_integers(
            "nd.length",
            &["array", "axis"],
            "The size of an axis; a negative one counts from the last.",
        ),
        with_integers(
            "nd.full",
            &["value", "*sizes"],
            "An array of these sizes, in which every element is the value.",
        ),
    ]);
    all
}

const IN_FIRST: Linear = Linear::In(&[0]);

/// The facts of a reduction along its argument 1, which argument 2 says to keep.
fn reducing() -> Facts {
    Facts::along(AlongAxes::Named(1), Places::KeptIf(2))
}

/// What stands for all axes.
fn all_axes() -> Literal {
    Literal::Value(Value::Scalar(ScalarValue::Unit))
}

/// The numbers in a literal: one, or a tuple of some; `None` for `unit`.
fn numbers(literal: &Literal) -> Option<Option<Vec<i64>>> {
    match literal.value()? {
        Value::Scalar(ScalarValue::Unit) => Some(None),
        Value::Tuple(t) => {
            let numbers: Option<Vec<i64>> = t.fields().iter().map(|f| f.scalar()?.as_i64()).collect();
            Some(Some(numbers?))
        }
        other => Some(Some(vec![other.scalar()?.as_i64()?])),
    }
}

/// The axes that a literal names, of so many; `unit` stands for these. `None` if it is no such literal, or there are too many
/// axes.
///
/// # Errors
/// An axis does not exist, or is named twice.
pub fn axes_of(
    literal: &Literal,
    rank: usize,
    all: impl Iterator<Item = usize>,
) -> Option<Result<Axes, TypeError>> {
    let Some(numbers) = numbers(literal)? else { return Axes::new(all).map(Ok) };
    let place = |number: &i64| {
        let place = if *number < 0 { number + rank as i64 } else { *number };
        let place = usize::try_from(place).ok().filter(|place| *place < rank);
        place.ok_or_else(|| TypeError::Axes { message: format!("no axis {number} among {rank} axes") })
    };
    let places = numbers.iter().map(place).collect::<Result<Vec<usize>, TypeError>>();
    Some(places.and_then(|places| {
        let twice = || TypeError::Axes { message: format!("an axis stands twice in {numbers:?}") };
        Axes::new(places).ok_or_else(twice)
    }))
}

/// What a rule sees of an operator, while it is typed and while it is lowered.
struct Given<'g> {
    dialect: Dialect,
    types: &'g [QType],
    literals: &'g [Option<&'g Literal>],
}

/// The arguments of the machine's operator: ours, cast to a type, or new literals.
enum Argument {
    Of(usize, QType),
    Literal(Literal),
}

impl Argument {
    fn axes(axes: Axes) -> Argument {
        Argument::Literal(Literal::Value(Value::Axes(axes)))
    }
}

/// The operator of the machine and its arguments.
type Machine = (String, Vec<Argument>);

/// Why a call is refused.
enum Wrong {
    /// An argument is not of a kind.
    Kind(usize, &'static str),
    /// The argument must be a literal of a kind.
    Literal(usize, &'static str),
    /// Another error.
    Other(TypeError),
}

impl Given<'_> {
    fn nd(&self, index: usize) -> Result<NdType, Wrong> {
        self.types[index].nd().ok_or(Wrong::Kind(index, "n-dimensional arrays"))
    }

    fn axes(&self, index: usize, rank: usize, all: impl Iterator<Item = usize>) -> Result<Axes, Wrong> {
        let axes = self.literals[index].and_then(|literal| axes_of(literal, rank, all));
        axes.ok_or(Wrong::Literal(index, "an axis, or axes such as tuple(0, 1),"))?.map_err(Wrong::Other)
    }

    fn flag(&self, index: usize) -> Result<bool, Wrong> {
        match self.literals[index].and_then(Literal::value) {
            Some(Value::Scalar(ScalarValue::Boolean(flag))) => Ok(*flag),
            _ => Err(Wrong::Literal(index, "a boolean")),
        }
    }

    /// An argument that is an integer, or an array of some, as INT64.
    fn integers(&self, index: usize) -> Result<Argument, Wrong> {
        let integer = self.types[index].scalar_inside().is_some_and(ScalarType::is_integer);
        let wide = self.types[index].with_scalar(ScalarType::Int64).filter(|_| integer);
        let wide = wide.filter(|t| matches!(t, QType::Scalar(_) | QType::NdArray(_)));
        Ok(Argument::Of(index, wide.ok_or(Wrong::Kind(index, "integers"))?))
    }

    fn unchanged(&self, index: usize) -> Argument {
        Argument::Of(index, self.types[index].clone())
    }
}

/// An operator that becomes one of the machine by a rule.
fn by_rule(
    name: &str,
    params: &[&str],
    meaning: &str,
    rule: impl Fn(&Given<'_>) -> Result<Machine, Wrong> + Copy + Send + Sync + 'static,
) -> OperatorDef {
    let axes = if params.contains(&"axes") { " Axes are a literal: 0, or tuple(0, 1)." } else { "" };
    OperatorDef::new(name, params, &format!("{meaning}{axes}"), move |cx| infer(cx, rule))
        .reading_literals()
        .lowered(move |cx, args| lower(cx, args, rule))
}

fn infer(
    cx: &InferContext<'_>,
    rule: impl Fn(&Given<'_>) -> Result<Machine, Wrong>,
) -> Result<Resolution, TypeError> {
    let given = Given { dialect: cx.dialect, types: cx.types, literals: cx.literals };
    let (machine, args) = rule(&given).map_err(|wrong| match wrong {
        Wrong::Kind(index, expected) => cx.expected(expected, index),
        Wrong::Literal(index, expected) => cx.expected_literal(expected, index),
        Wrong::Other(error) => error,
    })?;
    let types: Vec<QType> = args
        .iter()
        .map(|argument| match argument {
            Argument::Of(_, qtype) => qtype.clone(),
            Argument::Literal(literal) => literal.value().map_or(QType::ScalarShape, Value::qtype),
        })
        .collect();
    match cx.table.overload(&machine, &types) {
        Some(overload) => cx.unchanged(overload.result().clone()),
        None => Err(TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() }),
    }
}

fn lower(
    cx: &mut dyn LowerContext,
    args: &[NodeId],
    rule: impl Fn(&Given<'_>) -> Result<Machine, Wrong>,
) -> Result<Lowered, LowerError> {
    let types: Vec<QType> = args.iter().map(|arg| cx.qtype(*arg)).collect();
    let literals: Vec<Option<Literal>> = args.iter().map(|arg| cx.literal(*arg)).collect();
    let literals: Vec<Option<&Literal>> = literals.iter().map(Option::as_ref).collect();
    let Ok((machine, arguments)) = rule(&Given { dialect: cx.dialect(), types: &types, literals: &literals })
    else {
        return Ok(Lowered::Keep);
    };
    let mut given = Vec::new();
    for argument in arguments {
        given.push(match argument {
            Argument::Of(index, qtype) => cx.cast(args[index], &qtype)?,
            Argument::Literal(literal) => cx.make_literal(literal)?,
        });
    }
    Ok(Lowered::To(cx.make(&machine, &given)?))
}

/// The machine's operator of this name, whose arguments but the first are integers and become INT64.
fn with_integers(name: &'static str, params: &[&str], meaning: &str) -> OperatorDef {
    OperatorDef::new(name, params, meaning, move |cx| {
        let given = Given { dialect: cx.dialect, types: cx.types, literals: cx.literals };
        let mut args = cx.types.to_vec();
        if let Some(QType::Scalar(element)) = args.first() {
            args[0] = QType::Scalar(element.storage());
        }
        for (index, arg) in args.iter_mut().enumerate().skip(1) {
            match given.integers(index) {
                Ok(Argument::Of(_, qtype)) => *arg = qtype,
                _ => return Err(cx.expected("integers", index)),
            }
        }
        match cx.table.overload(name, &args) {
            Some(overload) => Ok(Resolution { result: overload.result().clone(), args }),
            None => Err(TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() }),
        }
    })
}

/// A reduction along axes, of all without any, that drops them or keeps them as unit axes.
fn reduction(name: &str, machine: &'static str, meaning: &str) -> OperatorDef {
    let rule = move |given: &Given<'_>| reduced(given, machine, [1, 2], None);
    by_rule(name, &["x", "axes", "keep"], meaning, rule)
        .with_facts(reducing())
        .default("axes", all_axes())
        .default("keep", Literal::from(false))
}

/// A reduction with an argument of a type more.
fn with_option(
    name: &str,
    params: &[&str],
    machine: &'static str,
    option: usize,
    qtype: QType,
    meaning: &str,
) -> OperatorDef {
    let place = |name| params.iter().position(|param| *param == name).expect("the parameter is listed");
    let places = [place("axes"), place("keep")];
    let integer = qtype == INT64;
    let rule = move |given: &Given<'_>| {
        let option = match integer {
            true => given.integers(option)?,
            false if given.types[option].is_numeric() && !given.types[option].is_optional() => {
                Argument::Of(option, FLOAT64)
            }
            false => return Err(Wrong::Kind(option, "numerics")),
        };
        reduced(given, machine, places, Some(option))
    };
    by_rule(name, params, meaning, rule).default("axes", all_axes()).default("keep", Literal::from(false))
}

fn reduced(
    given: &Given<'_>,
    machine: &str,
    [axes, keep]: [usize; 2],
    option: Option<Argument>,
) -> Result<Machine, Wrong> {
    let rank = given.nd(0)?.rank();
    let axes = given.axes(axes, rank, 0..rank)?;
    let suffix = if given.flag(keep)? { "_kept" } else { "" };
    let args = [given.unchanged(0), Argument::axes(axes)].into_iter().chain(option).collect();
    Ok((format!("{machine}{suffix}"), args))
}

/// An operator of an array and axes.
fn of_axes(
    name: &str,
    meaning: &str,
    rule: impl Fn(&Given<'_>, NdType) -> Result<(&'static str, Axes), Wrong> + Copy + Send + Sync + 'static,
) -> OperatorDef {
    by_rule(name, &["x", "axes"], meaning, move |given| {
        let (machine, axes) = rule(given, given.nd(0)?)?;
        Ok((machine.to_owned(), vec![given.unchanged(0), Argument::axes(axes)]))
    })
}

fn cumsum() -> OperatorDef {
    let meaning = "Sum of the elements up to this one along each of the axes; with reverse, from this one on. In groups, \
        eight floats along the last axis are added up by themselves first: three times as fast, with other last digits.";
    by_rule(CUMSUM, &["x", "axes", "reverse", "in_groups"], meaning, |given| {
        let t = given.nd(0)?;
        let axes = given.axes(1, t.rank(), 0..t.rank())?;
        let has_groups = matches!(t.element(), ScalarType::Float32 | ScalarType::Float64)
            && axes.iter().eq([t.rank() - 1]);
        let machine = match (given.flag(3)? && has_groups, given.flag(2)?) {
            (false, false) => "nd._cumsum",
            (false, true) => "nd._cumsum_back",
            (true, false) => "nd._cumsum_in_groups",
            (true, true) => "nd._cumsum_in_groups_back",
        };
        Ok((machine.to_owned(), vec![given.unchanged(0), Argument::axes(axes)]))
    })
    .with_facts(Facts::along(AlongAxes::Named(1), Places::Kept).with_linear(IN_FIRST))
    .default("reverse", Literal::from(false))
    .default("in_groups", Literal::from(false))
}

fn expand_dims() -> OperatorDef {
    of_axes("nd.expand_dims", "The elements with unit axes at these places of the result.", |given, t| {
        let new = given.literals[1].and_then(numbers).flatten().map_or(0, |numbers| numbers.len());
        let rank = t.rank() + new;
        if rank > MAX_RANK {
            let message = format!("an array of {rank} axes; at most {MAX_RANK} are allowed");
            return Err(Wrong::Other(TypeError::Axes { message }));
        }
        Ok(("nd._expand_dims", given.axes(1, rank, 0..0)?))
    })
    .with_facts(Facts::along(AlongAxes::None, Places::Moved).with_linear(IN_FIRST))
}

fn squeeze() -> OperatorDef {
    let meaning = "The elements without these axes, whose size must be 1; by default without all unit axes.";
    of_axes(SQUEEZE, meaning, |given, t| {
        let units = t.units().enumerate().filter(|(_, unit)| *unit).map(|(axis, _)| axis);
        Ok(("nd._squeeze", given.axes(1, t.rank(), units)?))
    })
    .with_facts(Facts::along(AlongAxes::Units(1), Places::Moved).with_linear(IN_FIRST))
    .default("axes", all_axes())
}

fn transpose() -> OperatorDef {
    let meaning = "The elements under the axes in this order; by default in the opposite one.";
    of_axes(TRANSPOSE, meaning, |given, t| {
        let axes = given.axes(1, t.rank(), (0..t.rank()).rev())?;
        let message = || format!("an order of {} axes, where the array has {}", axes.len(), t.rank());
        match axes.len() == t.rank() {
            true => Ok(("nd._transpose", axes)),
            false => Err(Wrong::Other(TypeError::Axes { message: message() })),
        }
    })
    .with_facts(Facts::along(AlongAxes::None, Places::Moved).with_linear(IN_FIRST))
    .default("axes", all_axes())
}

fn size() -> OperatorDef {
    of_axes(SIZE, "Number of elements along these axes, or of all.", |given, t| {
        Ok(("nd._size", given.axes(1, t.rank(), 0..t.rank())?))
    })
    .default("axes", all_axes())
}

/// A single axis of so many.
fn one_axis(given: &Given<'_>, index: usize, rank: usize) -> Result<Axes, Wrong> {
    let axes = given.axes(index, rank, 0..0)?;
    if axes.len() == 1 { Ok(axes) } else { Err(Wrong::Literal(index, "one axis")) }
}

fn take() -> OperatorDef {
    let meaning = "The elements at these places of an axis; places below 0 count from its end.";
    by_rule(TAKE, &["x", "indices", "axis"], meaning, |given| {
        let axis = one_axis(given, 2, given.nd(0)?.rank())?;
        Ok(("nd._take".to_owned(), vec![given.unchanged(0), given.integers(1)?, Argument::axes(axis)]))
    })
    .with_facts(Facts::along(AlongAxes::Named(2), Places::Moved).with_linear(IN_FIRST))
}

fn concatenate() -> OperatorDef {
    let meaning = "Arrays one after the other along an axis; the other axes have one size.";
    by_rule("nd.concatenate", &["axis", "*arrays"], meaning, |given| {
        let arrays = (1..given.types.len()).map(|index| given.nd(index)).collect::<Result<Vec<_>, _>>()?;
        let none = || Wrong::Other(TypeError::NoCommonType { types: given.types[1..].to_vec() });
        let (first, rest) = arrays.split_first().ok_or_else(none)?;
        let mut elements = rest.iter().map(|t| t.element());
        let common = elements.try_fold(first.element(), |common, t| given.dialect.common_scalar(common, t));
        let common = common.ok_or_else(none)?;
        let mut args = vec![Argument::axes(one_axis(given, 0, first.rank())?)];
        for (index, t) in arrays.iter().enumerate() {
            let cast = t.with_element(common).ok_or_else(none)?;
            args.push(Argument::Of(index + 1, QType::NdArray(cast)));
        }
        Ok(("nd._concatenate".to_owned(), args))
    })
}

/// An operator of an array or a scalar, and a size for each axis of the result.
/// An operator of sizes. If its arrays keep their axes, the last argument says what fewer axes cannot do.
fn resized(
    name: &str,
    machine: &'static str,
    meaning: &str,
    keeps_axes: Option<&'static str>,
) -> OperatorDef {
    by_rule(name, &["x", "*sizes"], meaning, move |given| {
        let element = given.types[0].storage();
        if !matches!(element, QType::Scalar(_) | QType::NdArray(_)) {
            return Err(Wrong::Kind(0, "n-dimensional arrays or scalars"));
        }
        let rank = element.nd().map_or(0, NdType::rank);
        if let Some(verb) = keeps_axes.filter(|_| rank + 1 > given.types.len()) {
            let message = format!("an array of {rank} axes cannot {verb} {} sizes", given.types.len() - 1);
            return Err(Wrong::Other(TypeError::Axes { message }));
        }
        let one = |literal: &Option<&Literal>| {
            literal.and_then(|literal| literal.value()?.scalar()?.as_i64()) == Some(1)
        };
        let sizes = &given.literals[1..];
        let units = Axes::new((0..sizes.len()).filter(|axis| one(&sizes[*axis])));
        let message = || format!("an array of {} axes; from 1 to {MAX_RANK} are allowed", sizes.len());
        let units = units.filter(|_| (1..=MAX_RANK).contains(&sizes.len()));
        let units = units.ok_or_else(|| Wrong::Other(TypeError::Axes { message: message() }))?;
        let mut args = vec![Argument::Of(0, element), Argument::axes(units)];
        for index in 1..given.types.len() {
            args.push(given.integers(index)?);
        }
        Ok((machine.to_owned(), args))
    })
}
