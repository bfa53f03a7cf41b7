//! Statistics of two arrays of numbers: a row counts where both are present.
//!
//! They are made of sums in FLOAT64, which are rounded at the end to the float that both arrays become.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::derived::aggregate::{fraction, no_edge};
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::value::qtype::{BOOLEAN, UNIT};
use cembra_vm::value::{QType, ScalarType, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![weighted_average(), covariance(), correlation()]
}

/// The result type: an array along an edge, else what `whole` makes of the float that both arrays become.
fn rule(cx: &InferContext<'_>, edge: usize, whole: fn(ScalarType) -> QType) -> Result<Resolution, TypeError> {
    let array = |index: usize| cx.types[index].array().ok_or_else(|| cx.expected("an array type", index));
    let (x, y) = (array(0)?, array(1)?);
    for (index, t) in [x, y].iter().enumerate() {
        if !t.element.is_numeric() {
            return Err(cx.expected("numerics", index));
        }
    }
    let real = |element: ScalarType| fraction(cx.dialect, element);
    let element = cx.dialect.common_scalar(real(x.element), real(y.element)).filter(|_| x.class == y.class);
    let element = element.ok_or_else(|| TypeError::NoCommonType { types: cx.types[..2].to_vec() })?;
    match cx.types[edge] {
        QType::Edge(class) if class == x.class => cx.unchanged(QType::Array(x.of(element))),
        QType::EdgeToScalar(class) if class == x.class => cx.unchanged(whole(element)),
        UNIT => cx.unchanged(whole(element)),
        _ => Err(cx.expected("an edge", edge)),
    }
}

/// Two arrays as FLOAT64, by an edge if it is one, and the float of the result.
struct Pairs<'c> {
    cx: &'c mut dyn LowerContext,
    /// As they are.
    rows: [NodeId; 2],
    /// Where both are present.
    x: NodeId,
    y: NodeId,
    edge: NodeId,
    element: ScalarType,
}

impl Pairs<'_> {
    fn new(cx: &mut dyn LowerContext, args: [NodeId; 3]) -> Result<Pairs<'_>, LowerError> {
        let [x, y, edge] = args;
        let dialect = cx.dialect();
        let mut reals = [ScalarType::Float64; 2];
        for (real, node) in reals.iter_mut().zip([x, y]) {
            *real = fraction(dialect, cx.qtype(node).element().unwrap_or(ScalarType::Float64));
        }
        let element = dialect.common_scalar(reals[0], reals[1]).unwrap_or(ScalarType::Float64);
        let mut cast = |node: NodeId| {
            let given = cx.qtype(node);
            // Integers are rounded as the dialect wants fractions of them.
            let rounded = given.with_scalar(element).unwrap_or_else(|| given.clone());
            let node = cx.cast(node, &rounded)?;
            cx.cast(node, &given.with_scalar(ScalarType::Float64).unwrap_or(given))
        };
        let (x, y) = (cast(x)?, cast(y)?);
        let rows = [x, y];
        let (has_x, has_y) = (cx.make("core.has", &[x])?, cx.make("core.has", &[y])?);
        let (x, y) = (cx.make("core.presence_and", &[x, has_y])?, cx.make("core.presence_and", &[y, has_x])?);
        Ok(Pairs { cx, rows, x, y, edge, element })
    }

    /// The sum of products of rows, of all or of each group.
    fn sum_of_products(&mut self, x: NodeId, y: NodeId) -> Result<NodeId, LowerError> {
        let products = self.cx.make("math.multiply", &[x, y])?;
        self.cx.make("math.sum", &[products, self.edge])
    }

    /// The differences of rows from the mean of those of their group where both are present. They may be present where the other
    /// row is not, so that means and differences read the same arrays, and nothing has to be kept for the second reading.
    fn deviations(&mut self) -> Result<[NodeId; 2], LowerError> {
        let mut deviations = self.rows;
        for (rows, common) in deviations.iter_mut().zip([self.x, self.y]) {
            let mean = self.cx.make("math.mean", &[common, self.edge])?;
            let mean = match self.cx.qtype(self.edge) {
                QType::Edge(_) => self.cx.make("array.expand", &[mean, self.edge])?,
                _ => mean,
            };
            *rows = self.cx.make("math.subtract", &[*rows, mean])?;
        }
        Ok(deviations)
    }

    /// The sum of squares of the rows where others are present.
    fn sum_of_squares(&mut self, rows: NodeId, others: NodeId) -> Result<NodeId, LowerError> {
        let has_other = self.cx.make("core.has", &[others])?;
        let rows = self.cx.make("core.presence_and", &[rows, has_other])?;
        self.sum_of_products(rows, rows)
    }

    /// How many rows there are, as FLOAT64.
    fn count(&mut self, rows: NodeId) -> Result<NodeId, LowerError> {
        let count = self.cx.make("array.count", &[rows, self.edge])?;
        let real = self.cx.qtype(count).with_scalar(ScalarType::Float64);
        self.cx.cast(count, &real.unwrap_or(QType::Scalar(ScalarType::Float64)))
    }

    /// A quotient, missing unless the count is more than `used`, which is a FLOAT64.
    fn quotient_above(
        &mut self,
        used: NodeId,
        count: NodeId,
        [sum, over]: [NodeId; 2],
    ) -> Result<NodeId, LowerError> {
        let are_enough = self.cx.make("core.less", &[used, count])?;
        let quotient = self.cx.make("math.divide", &[sum, over])?;
        self.cx.make("core.presence_and", &[quotient, are_enough])
    }

    /// A result in the float that both arrays become.
    fn rounded(self, node: NodeId) -> Result<Lowered, LowerError> {
        let given = self.cx.qtype(node);
        let to = given.with_scalar(self.element).unwrap_or(given);
        Ok(Lowered::To(self.cx.cast(node, &to)?))
    }
}

fn weighted_average() -> OperatorDef {
    OperatorDef::new(
        "math.weighted_average",
        &["values", "weights", "into"],
        "Sum of the values times their weights, over the sum of the weights, of the rows where both are present; NaN without any.",
        |cx| rule(cx, 2, QType::Scalar),
    )
    .default("into", no_edge())
    .lowered(|cx, args| {
        let mut pairs = Pairs::new(cx, [args[0], args[1], args[2]])?;
        let sum = pairs.sum_of_products(pairs.x, pairs.y)?;
        let weights = pairs.cx.make("math.sum", &[pairs.y, pairs.edge])?;
        let average = pairs.cx.make("math.divide", &[sum, weights])?;
        pairs.rounded(average)
    })
}

fn covariance() -> OperatorDef {
    OperatorDef::new(
        "math.covariance",
        &["x", "y", "into", "unbiased"],
        "Mean product of the deviations from the means, of the rows where both are present; over their number less one if unbiased: missing for one row.",
        |cx| match cx.types[3] {
            BOOLEAN => rule(cx, 2, QType::Optional),
            _ => Err(cx.expected("a boolean", 3)),
        },
    )
    .default("into", no_edge())
    .default("unbiased", Literal::Value(Value::from(true)))
    .lowered(|cx, args| {
        let used = cx.cast(args[3], &QType::Scalar(ScalarType::Float64))?;
        let mut pairs = Pairs::new(cx, [args[0], args[1], args[2]])?;
        let [x, y] = pairs.deviations()?;
        let products = pairs.cx.make("math.multiply", &[x, y])?;
        let sum = pairs.cx.make("math.sum", &[products, pairs.edge])?;
        let count = pairs.count(products)?;
        let over = pairs.cx.make("math.subtract", &[count, used])?;
        let mean = pairs.quotient_above(used, count, [sum, over])?;
        pairs.rounded(mean)
    })
}

fn correlation() -> OperatorDef {
    OperatorDef::new(
        "math.correlation",
        &["x", "y", "into"],
        "Pearson's coefficient of correlation, of the rows where both are present; NaN where one of them is constant, missing without rows.",
        |cx| rule(cx, 2, QType::Optional),
    )
    .default("into", no_edge())
    .lowered(|cx, args| {
        let none = cx.make_literal(Literal::from(0.0f64))?;
        let mut pairs = Pairs::new(cx, [args[0], args[1], args[2]])?;
        let [x, y] = pairs.deviations()?;
        let products = pairs.cx.make("math.multiply", &[x, y])?;
        let sum = pairs.cx.make("math.sum", &[products, pairs.edge])?;
        let count = pairs.count(products)?;
        let (squares_x, squares_y) = (pairs.sum_of_squares(x, y)?, pairs.sum_of_squares(y, x)?);
        let squares = pairs.cx.make("math.multiply", &[squares_x, squares_y])?;
        let root = pairs.cx.make("math.sqrt", &[squares])?;
        let coefficient = pairs.quotient_above(none, count, [sum, root])?;
        pairs.rounded(coefficient)
    })
}
