//! From the graph to an expression: numpy's operations become operators of the machine.
//!
//! ```text
//! n3 = graph.add(left=n1, right=n2)      int64 + float32      _0 = core.to_float64(n1)
//!                                        is float64           _1 = core.to_float64(n2)
//!                                                             math.add(_0, _1)
//! ```
//!
//! The [`ValueType`]s of the operands decide; that of the result follows. Casts to the promoted type are spelt out,
//! so that nothing depends on the rules of the expression language. Operators named `graph._…` have numpy's
//! meaning where no operator of the language has; whoever compiles the expression registers them.
//!
//! A node may have no operator there: a user function, a type error, texts put in order or joined, more axes than
//! the machine has. [`ToExpr::lower`] says so, and the node is computed between two expressions.
//!
//! Equal nodes become one, which a graph with identity never does by itself.

use crate::dag::array::{Array, DType};
use crate::dag::cells::{Texts, literal};
use crate::dag::kind::{
    Axis, AxisOp, BinaryMeaning, BinaryOp, Clause, Dims, Kind, NodeId, Reduction, UnaryOp,
};
use crate::dag::promotion::{divided, promote, summed, transcendental};
use crate::dag::value_type::ValueType;
use crate::expr::{self, GraphError, Literal};
use crate::registry::derived::cast::cast_operator;
use cembra_vm::builtins::nd::{reduce, shape};
use cembra_vm::builtins::{bools, casts};
use cembra_vm::value::{Axes, QType, Value};
use hashbrown::HashMap;

/// A node of the expression and the type of the array it stands for.
type Typed = (expr::NodeId, ValueType);

/// What lowering a node gives; nothing if the machine has no operator for it.
type Lowered = Result<Option<Typed>, GraphError>;

/// An expression in the making: one graph for all nodes.
#[derive(Debug, Default)]
pub struct ToExpr {
    graph: expr::Graph,
    nodes: HashMap<NodeId, Typed>,
    inputs: Vec<(NodeId, ValueType)>,
    texts: Texts,
}

/// The expression of some nodes.
#[derive(Debug)]
pub struct Expression {
    /// Its graph; inputs are leaves with the names of their nodes.
    pub graph: expr::Graph,
    /// Nodes whose values it reads.
    pub inputs: Vec<(NodeId, ValueType)>,
    /// Nodes whose values it gives, by id.
    pub outputs: Vec<(NodeId, expr::NodeId, ValueType)>,
    /// Codes of the texts in it.
    pub texts: Texts,
}

impl ToExpr {
    /// An expression without nodes.
    pub fn new() -> ToExpr {
        ToExpr::default()
    }

    /// Adds a node whose value comes from outside; false if the machine has no such values.
    ///
    /// # Errors
    /// The expression is full.
    pub fn input(&mut self, id: NodeId, of: ValueType) -> Result<bool, GraphError> {
        if of.qtype().is_none() {
            return Ok(false);
        }
        let leaf = self.graph.leaf(&id.to_string())?;
        self.nodes.insert(id, (leaf, of));
        self.inputs.push((id, of));
        Ok(true)
    }

    /// True if the node is an input or has been lowered.
    pub fn has(&self, id: NodeId) -> bool {
        self.nodes.contains_key(&id)
    }

    /// Lowers a node whose operands are there; false if the machine has no operator for it.
    ///
    /// # Errors
    /// The expression is full.
    pub fn lower(&mut self, id: NodeId, kind: &Kind) -> Result<bool, GraphError> {
        let lowered = self.kind(kind)?.filter(|(_, of)| of.qtype().is_some());
        if let Some(typed) = lowered {
            self.nodes.insert(id, typed);
        }
        Ok(lowered.is_some())
    }

    /// The expression of these nodes.
    pub fn finish(self, mut outputs: Vec<NodeId>) -> Expression {
        outputs.sort_unstable();
        outputs.dedup();
        let output = |id| {
            let (node, of) = self.nodes[&id];
            (id, node, of)
        };
        let outputs = outputs.into_iter().map(output).collect();
        Expression { graph: self.graph, inputs: self.inputs, outputs, texts: self.texts }
    }

    fn kind(&mut self, kind: &Kind) -> Lowered {
        match kind {
            Kind::Constant(value) | Kind::Placeholder { default: Some(value) } => {
                self.literal(&Array::from(value))
            }
            Kind::TimeseriesConstant(values) => self.literal(values),
            Kind::Placeholder { default: None } | Kind::TimeseriesPlaceholder => Ok(None),
            Kind::VariantSelector { .. } => self.literal(&Array::vector::<f64>([])),
            Kind::Unary(op, node) => self.unary(*op, self.nodes[node]),
            Kind::Binary(op, left, right) => self.binary(*op, self.nodes[left], self.nodes[right]),
            Kind::Where { condition, then, otherwise } => {
                let condition = self.truth(self.nodes[condition])?;
                self.choose(&[(condition, self.nodes[then])], self.nodes[otherwise])
            }
            Kind::MultiClauseWhere { clauses, default }
            | Kind::ExclusiveMultiClauseWhere { clauses, default, .. } => self.select(clauses, *default),
            Kind::Axis { op, node, axis } => self.on_axes(*op, self.nodes[node], axis),
            Kind::FunctionCall { .. } => Ok(None),
        }
    }

    fn apply(&mut self, operator: &str, operands: &[expr::NodeId]) -> Result<expr::NodeId, GraphError> {
        let operator = self.graph.symbol(operator);
        self.graph.apply(operator, operands)
    }

    fn value(&mut self, value: impl Into<Literal>) -> Result<expr::NodeId, GraphError> {
        self.graph.add_literal(value)
    }

    fn literal(&mut self, array: &Array) -> Lowered {
        let Some(value) = literal(array, &mut self.texts) else { return Ok(None) };
        Ok(Some((self.value(value)?, ValueType::of(array))))
    }

    /// The operand in a dtype that holds all its values.
    fn cast(&mut self, operand: Typed, to: DType) -> Result<Typed, GraphError> {
        let (node, of) = operand;
        let cast = of.with_dtype(to);
        if of.element() == cast.element() {
            return Ok((node, cast));
        }
        let operator = cast_operator(None, cast.element()).expect("there is a cast to every type");
        Ok((self.apply(operator, &[node])?, cast))
    }

    /// The truth of each element: not zero, not empty.
    fn truth(&mut self, operand: Typed) -> Result<Typed, GraphError> {
        let (node, of) = operand;
        let truth = match of.dtype {
            DType::Bool => node,
            DType::Text(_) => {
                let empty = self.value(0i32)?;
                self.apply(bools::NOT_EQUAL, &[node, empty])?
            }
            _ => self.apply(casts::TO_BOOL, &[node])?,
        };
        Ok((truth, of.with_dtype(DType::Bool)))
    }

    fn unary(&mut self, op: UnaryOp, operand: Typed) -> Lowered {
        let dtype = operand.1.dtype;
        let operand = match op {
            UnaryOp::LogicalNot => self.truth(operand)?,
            _ if dtype.is_text() || (op, dtype) == (UnaryOp::Negate, DType::Bool) => return Ok(None),
            UnaryOp::Negate => operand,
            UnaryOp::Exp | UnaryOp::Log => self.cast(operand, transcendental(dtype))?,
        };
        self.narrowed(op.operator(), &[operand.0], operand.1)
    }

    fn binary(&mut self, op: BinaryOp, left: Typed, right: Typed) -> Lowered {
        let axes = |dtype| ValueType::broadcast(dtype, &[left.1, right.1]);
        if let BinaryMeaning::Logic(operator) = op.operator() {
            let (left, right) = (self.truth(left)?, self.truth(right)?);
            return Ok(Some((self.apply(operator, &[left.0, right.0])?, axes(DType::Bool))));
        }
        let Some(common) = promote(left.1.dtype, right.1.dtype) else { return Ok(None) };
        if let BinaryMeaning::Comparison(operator) | BinaryMeaning::Reversed(operator) = op.operator() {
            let in_order = !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
            if common.is_text() && in_order {
                return Ok(None);
            }
            let (left, right) = match common.is_text() {
                true => (left, right),
                false => (self.cast(left, common)?, self.cast(right, common)?),
            };
            let operands = match op.operator() {
                BinaryMeaning::Reversed(_) => [right.0, left.0],
                _ => [left.0, right.0],
            };
            return Ok(Some((self.apply(operator, &operands)?, axes(DType::Bool))));
        }
        if common.is_text() {
            return Ok(None);
        }
        let dtype = match (op, common) {
            (BinaryOp::Divide, common) => divided(common),
            (BinaryOp::Power, DType::Bool) => DType::Int8,
            (_, common) => common,
        };
        let Some(operator) = arithmetic_operator(op, dtype) else { return Ok(None) };
        let (left, right) = match dtype {
            DType::Bool => (left, right),
            _ => (self.cast(left, dtype)?, self.cast(right, dtype)?),
        };
        self.narrowed(operator, &[left.0, right.0], axes(dtype))
    }

    /// An operator whose result the machine holds wider than the dtype is: what does not fit wraps or is rounded.
    fn narrowed(&mut self, operator: &str, operands: &[expr::NodeId], of: ValueType) -> Lowered {
        let node = self.apply(operator, operands)?;
        Ok(Some((self.narrow(node, of.dtype)?, of)))
    }

    fn narrow(&mut self, node: expr::NodeId, dtype: DType) -> Result<expr::NodeId, GraphError> {
        match dtype {
            DType::Int8 => self.apply("graph._wrap_int8", &[node]),
            DType::Float16 => self.apply("graph._round_float16", &[node]),
            _ => Ok(node),
        }
    }

    fn select(&mut self, clauses: &[Clause], default: NodeId) -> Lowered {
        let typed: Vec<(Typed, Typed)> =
            clauses.iter().map(|(condition, value)| (self.nodes[condition], self.nodes[value])).collect();
        let are_conditions = typed.iter().all(|(condition, _)| condition.1.dtype == DType::Bool);
        match are_conditions && !typed.is_empty() {
            true => self.choose(&typed, self.nodes[&default]),
            false => Ok(None),
        }
    }

    /// The value of the first clause that holds; conditions are truths.
    fn choose(&mut self, clauses: &[(Typed, Typed)], default: Typed) -> Lowered {
        let promoted =
            clauses.iter().try_fold(default.1.dtype, |dtype, (_, value)| promote(dtype, value.1.dtype));
        let Some(dtype) = promoted else { return Ok(None) };
        let mut chosen = self.cast_or_keep(default, dtype)?;
        for (condition, value) in clauses.iter().rev() {
            let value = self.cast_or_keep(*value, dtype)?;
            let node = self.apply(shape::WHERE, &[condition.0, value.0, chosen.0])?;
            chosen = (node, ValueType::broadcast(dtype, &[condition.1, value.1, chosen.1]));
        }
        Ok(Some(chosen))
    }

    /// As [`ToExpr::cast`], also among truths and among texts, which need none.
    fn cast_or_keep(&mut self, operand: Typed, to: DType) -> Result<Typed, GraphError> {
        match to {
            DType::Bool | DType::Text(_) => Ok((operand.0, operand.1.with_dtype(to))),
            _ => self.cast(operand, to),
        }
    }

    fn on_axes(&mut self, op: AxisOp, operand: Typed, axis: &Axis) -> Lowered {
        match op {
            AxisOp::ExpandDims => self.expand_dims(operand, axis.numbers()),
            AxisOp::Squeeze => self.squeeze(operand, axis.numbers()),
            AxisOp::Reduce(reduction, dims) => {
                let Some(axes) = machine_axes(operand.1, axis.numbers()) else { return Ok(None) };
                self.reduce(reduction, dims, operand, axes)
            }
            AxisOp::Quantile { q, dims } => {
                let dtype = operand.1.dtype;
                let is_defined = !dtype.is_text() && dtype != DType::Bool && (0.0..=1.0).contains(&q);
                let axes = machine_axes(operand.1, axis.numbers()).filter(|_| is_defined);
                let Some(axes) = axes else { return Ok(None) };
                let (operand, share) = (self.cast(operand, DType::Float64)?, self.value(q)?);
                let place =
                    self.reduction(reduce::QUANTILE, dims, operand, axes, Some(share), DType::Float64)?;
                self.rounded(place, divided(dtype))
            }
        }
    }

    fn expand_dims(&mut self, operand: Typed, axes: &[isize]) -> Lowered {
        let (node, of) = operand;
        let rank = of.rank() + axes.len();
        let Some(places) = resolve(axes, rank).and_then(Axes::new) else { return Ok(None) };
        let mut old = of.units();
        let units = (0..rank).map(|axis| places.contains(axis) || old.next().unwrap_or(false));
        let made = ValueType::of_axes(of.dtype, units);
        if axes.is_empty() || made.qtype().is_none() {
            return Ok(Some((node, made)));
        }
        let places = self.value(Value::Axes(places))?;
        if of.rank() > 0 {
            return Ok(Some((self.apply(shape::EXPAND_DIMS, &[node, places])?, made)));
        }
        let one = self.value(1i64)?;
        let operands: Vec<expr::NodeId> =
            [node, places].into_iter().chain(std::iter::repeat_n(one, rank)).collect();
        Ok(Some((self.apply(shape::RESHAPE, &operands)?, made)))
    }

    fn squeeze(&mut self, operand: Typed, axes: &[isize]) -> Lowered {
        let (node, of) = operand;
        let Some(places) = resolve(axes, of.rank()).and_then(Axes::new) else { return Ok(None) };
        if places.is_empty() {
            return Ok(Some(operand));
        }
        if !places.iter().all(|axis| of.is_unit(axis)) {
            return Ok(None);
        }
        let made = without(of, places);
        let places = self.value(Value::Axes(places))?;
        Ok(Some((self.apply(shape::SQUEEZE, &[node, places])?, made)))
    }

    fn reduce(&mut self, reduction: Reduction, dims: Dims, operand: Typed, axes: Axes) -> Lowered {
        let dtype = operand.1.dtype;
        let is_truth = matches!(reduction, Reduction::Any | Reduction::All | Reduction::CountNonzero);
        let operand = match dtype {
            DType::Text(_) if is_truth => self.truth(operand)?,
            DType::Text(_) => return Ok(None),
            _ => operand,
        };
        let (operand, result) = match reduction {
            Reduction::Any | Reduction::All => (operand, DType::Bool),
            Reduction::CountNonzero => (operand, DType::Int64),
            Reduction::Min | Reduction::Max => (operand, dtype),
            Reduction::Median => (self.cast(operand, DType::Float64)?, DType::Float64),
            // What follows rounds, and rounds float16 in other places.
            _ if dtype == DType::Float16 => return Ok(None),
            Reduction::Sum | Reduction::Prod => (operand, summed(dtype)),
            Reduction::Mean => (self.cast(operand, divided(dtype))?, divided(dtype)),
            // The mean of float32 is taken in float64 by these.
            _ if dtype == DType::Float32 => return Ok(None),
            Reduction::Var | Reduction::Std => (self.cast(operand, DType::Float64)?, DType::Float64),
        };
        let used = match reduction {
            Reduction::Var | Reduction::Std => Some(self.value(0i64)?),
            _ => None,
        };
        let reduced = self.reduction(reduction.operator(), dims, operand, axes, used, result)?;
        match reduction {
            Reduction::Median => self.rounded(reduced, divided(dtype)),
            _ => Ok(reduced),
        }
    }

    /// A place in the order of elements, taken as float64, in the type of the result.
    fn rounded(&mut self, place: Option<Typed>, dtype: DType) -> Lowered {
        match (place, dtype) {
            (Some((node, of)), DType::Float16) => Ok(Some((self.narrow(node, dtype)?, of.with_dtype(dtype)))),
            (Some(place), dtype) => self.cast(place, dtype).map(Some),
            (None, _) => Ok(None),
        }
    }

    fn reduction(
        &mut self,
        operator: &str,
        dims: Dims,
        operand: Typed,
        axes: Axes,
        more: Option<expr::NodeId>,
        result: DType,
    ) -> Lowered {
        let (node, of) = operand;
        let (operator, made) = match dims {
            Dims::Keep => {
                let units = (0..of.rank()).map(|axis| of.is_unit(axis) || axes.contains(axis));
                (format!("{operator}_kept"), ValueType::of_axes(result, units))
            }
            Dims::Drop => (operator.to_owned(), without(of, axes).with_dtype(result)),
        };
        let axes = self.value(Value::Axes(axes))?;
        let operands: Vec<expr::NodeId> = [node, axes].into_iter().chain(more).collect();
        Ok(Some((self.apply(&operator, &operands)?, made)))
    }
}

/// The type without some axes.
fn without(of: ValueType, axes: Axes) -> ValueType {
    let kept = of.units().enumerate().filter(|(axis, _)| !axes.contains(*axis)).map(|(_, unit)| unit);
    ValueType::of_axes(of.dtype, kept)
}

/// Axes from 0; nothing if one does not exist or is given twice.
fn resolve(axes: &[isize], rank: usize) -> Option<Vec<usize>> {
    let place = |axis: &isize| {
        let from_start = if *axis < 0 { axis + rank as isize } else { *axis };
        usize::try_from(from_start).ok().filter(|axis| *axis < rank)
    };
    axes.iter().map(place).collect()
}

/// The axes a reduction takes on the machine, which has none of single values and none over no axes.
fn machine_axes(of: ValueType, axes: &[isize]) -> Option<Axes> {
    let is_array = matches!(of.qtype(), Some(QType::NdArray(_)));
    resolve(axes, of.rank()).and_then(Axes::new).filter(|axes| is_array && !axes.is_empty())
}

/// The operator of arithmetic in a dtype of numbers or truths; nothing if it is not defined, or not on the machine.
fn arithmetic_operator(op: BinaryOp, dtype: DType) -> Option<&'static str> {
    match (op, dtype, op.operator()) {
        (BinaryOp::Add | BinaryOp::Maximum, DType::Bool, _) => Some(bools::LOGICAL_OR),
        (BinaryOp::Multiply, DType::Bool, _) => Some(bools::LOGICAL_AND),
        (_, DType::Bool, _) => None,
        (BinaryOp::Power, DType::Int8 | DType::Int32 | DType::Int64, _) => Some("graph._power"),
        (_, _, BinaryMeaning::Arithmetic(operator)) => Some(operator),
        _ => None,
    }
}
