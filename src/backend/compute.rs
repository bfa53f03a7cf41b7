//! The value of one node, by numpy's rules.

use crate::backend::axes::{expand_dims, squeeze};
use crate::backend::broadcast::shape_of;
use crate::backend::elementwise::{binary, select, unary, where_};
use crate::backend::error::{EvalError, OpError};
use crate::backend::function::{Arguments, Function};
use crate::backend::reduce::{quantile, reduce};
use crate::dag::graph::NodeData;
use crate::dag::kind::{Axis, AxisOp, Clause, Kind};
use crate::dag::printing::Spelling;
use crate::dag::{Array, DType, DagError, Graph, NodeId};
use cembra_vm::machine::SharedBudget;
use cembra_vm::value::Fault;
use cembra_vm::value::budget::Account;
use hashbrown::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What nodes need besides the values they read.
#[derive(Clone, Copy)]
pub(crate) struct Context<'s> {
    pub graph: &'s Graph,
    pub functions: &'s HashMap<Arc<str>, Function>,
    pub spelling: Spelling,
    pub budget: &'s SharedBudget,
    /// Bytes of the values that were computed.
    pub alive: &'s AtomicU64,
    /// True if somebody asks how long nodes take.
    pub is_measured: bool,
}

/// A value that was computed, and how long that took if somebody asks.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub result: Result<Array, EvalError>,
    pub time: Option<Duration>,
}

/// The values of nodes, as far as there are any.
pub(crate) type Values<'v> = &'v dyn Fn(NodeId) -> Option<&'v Array>;

impl Context<'_> {
    /// False for what the published engine has no evaluation for, if its texts are asked for.
    pub fn supports(self, data: &NodeData) -> bool {
        let is_squeeze = matches!(data.kind, Kind::Axis { op: AxisOp::Squeeze, .. });
        self.spelling == Spelling::Cembra || !is_squeeze
    }

    /// The value of a node, on the budget of the state.
    ///
    /// # Errors
    /// An operand has no value, or they do not fit; or the budget is used up.
    pub fn compute(self, data: &NodeData, values: Values<'_>) -> Result<Array, EvalError> {
        let is_leaf = data.kind.is_leaf();
        if !is_leaf {
            let size = Size::new(data, values);
            self.charge(size)
                .map_err(|fault| EvalError::Operation { node: data.place(), error: fault.into() })?;
        }
        let value = self.value(data, values)?;
        if !is_leaf {
            self.alive.fetch_add(value.byte_size() as u64, Ordering::Relaxed);
        }
        Ok(value)
    }

    /// The same with the time that it takes.
    pub fn timed(self, data: &NodeData, values: Values<'_>) -> Ahead {
        let start = self.is_measured.then(Instant::now);
        let result = self.compute(data, values);
        Ahead { result, time: start.map(|start| start.elapsed()) }
    }

    /// Charges a node before it is computed.
    fn charge(self, size: Size) -> Result<(), Fault> {
        let alive = self.alive.load(Ordering::Relaxed);
        self.budget.share().beside(alive).metered(|meter| {
            meter.check_array(size.elements)?;
            meter.rows(size.rows)?;
            Ok(meter.charge(size.bytes)?)
        })
    }

    fn value(self, data: &NodeData, values: Values<'_>) -> Result<Array, EvalError> {
        let operand = |id| self.operand(id, values);
        let is_missing =
            |is_timeseries| EvalError::PlaceholderValueNotProvided { node: data.place(), is_timeseries };
        let result = match &data.kind {
            Kind::Constant(value) => Ok(Array::from(value)),
            Kind::TimeseriesConstant(values) => Ok(values.clone()),
            Kind::Placeholder { default: Some(default) } => Ok(Array::from(default)),
            Kind::Placeholder { default: None } => return Err(is_missing(false)),
            Kind::TimeseriesPlaceholder => return Err(is_missing(true)),
            Kind::Unary(op, node) => unary(*op, operand(*node)?),
            Kind::Binary(op, left, right) => binary(*op, operand(*left)?, operand(*right)?),
            Kind::Where { condition, then, otherwise } => {
                let (then, otherwise) = (operand(*then)?, operand(*otherwise)?);
                where_(operand(*condition)?, then, otherwise)
            }
            Kind::MultiClauseWhere { clauses, default }
            | Kind::ExclusiveMultiClauseWhere { clauses, default, .. } => {
                self.choose(clauses, operand(*default)?, values)?
            }
            Kind::VariantSelector { .. } => Ok(Array::vector::<f64>([])),
            _ if !self.supports(data) => {
                return Err(EvalError::Unsupported { node: data.place(), operation: "squeeze" });
            }
            Kind::Axis { op, node, axis } => on_axes(*op, operand(*node)?, axis),
            Kind::FunctionCall { args, kwargs } => return self.call(data, args, kwargs, values),
        };
        result.map_err(|error| EvalError::Operation { node: data.place(), error })
    }

    /// The value of a node that another one reads.
    fn operand<'v>(self, id: NodeId, values: Values<'v>) -> Result<&'v Array, EvalError> {
        values(id).ok_or_else(|| match self.graph.data(id) {
            Some(data) => EvalError::NodeValueNotFound { node: data.place() },
            None => DagError::NoSuchNode { id }.into(),
        })
    }

    fn choose(
        self,
        clauses: &[Clause],
        default: &Array,
        values: Values<'_>,
    ) -> Result<Result<Array, OpError>, EvalError> {
        let operand = |id: &NodeId| self.operand(*id, values);
        let conditions = clauses.iter().map(|(c, _)| operand(c)).collect::<Result<Vec<_>, _>>()?;
        let values = clauses.iter().map(|(_, v)| operand(v)).collect::<Result<Vec<_>, _>>()?;
        Ok(select(&conditions, &values, default))
    }

    fn call(
        self,
        data: &NodeData,
        args: &[NodeId],
        kwargs: &[(Arc<str>, NodeId)],
        values: Values<'_>,
    ) -> Result<Array, EvalError> {
        let function = self.functions.get(&data.name);
        let function = function.ok_or_else(|| EvalError::FunctionNotFound { node: data.place() })?;
        let positional = args.iter().map(|id| self.operand(*id, values)).collect::<Result<_, _>>()?;
        let keyword = kwargs.iter().map(|(key, id)| Ok((&**key, self.operand(*id, values)?)));
        let arguments = Arguments::new(positional, keyword.collect::<Result<_, EvalError>>()?);
        function.call(&arguments).map_err(|error| EvalError::Function { node: data.place(), error })
    }
}

/// What it takes to compute a node, by its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    /// Elements of the result, at most.
    elements: usize,
    /// Elements of the longest operand or of the result.
    rows: usize,
    /// Bytes of the result, and of operands that are cast or brought into another order.
    bytes: u64,
}

/// Bytes of a text while texts are chosen or joined, besides its characters.
const TEXT_BYTES: usize = 48;

impl Size {
    /// Operands that do not fit together are left to the operation, which says so.
    fn new(data: &NodeData, values: Values<'_>) -> Size {
        let operands: Vec<&Array> = data.kind.operands().iter().filter_map(|id| values(*id)).collect();
        let longest = operands.iter().map(|array| array.len()).max().unwrap_or(0);
        let elements = match &data.kind {
            Kind::VariantSelector { .. } | Kind::FunctionCall { .. } => 0,
            Kind::Axis { .. } => longest,
            _ => shape_of(&operands).map_or(0, |shape| shape.iter().product()),
        };
        let dtypes = || operands.iter().map(|array| array.dtype());
        let is_text = dtypes().any(DType::is_text);
        let item = match is_text {
            true => TEXT_BYTES + dtypes().map(DType::item_size).sum::<usize>(),
            false => size_of::<f64>(),
        };
        let is_copied =
            matches!(data.kind, Kind::Axis { .. }) || dtypes().any(|dtype| dtype != DType::Float64);
        let copied = if is_copied { operands.iter().map(|array| array.len()).sum() } else { 0 };
        let bytes = (elements as u64).saturating_add(copied as u64).saturating_mul(item as u64);
        Size { elements, rows: longest.max(elements), bytes }
    }
}

fn on_axes(op: AxisOp, array: &Array, axis: &Axis) -> Result<Array, OpError> {
    match op {
        AxisOp::ExpandDims => expand_dims(array, axis.numbers()),
        AxisOp::Squeeze => squeeze(array, axis.numbers()),
        AxisOp::Reduce(reduction, dims) => reduce(reduction, dims, array, axis),
        AxisOp::Quantile { q, dims } => quantile(q, dims, array, axis.numbers()),
    }
}
