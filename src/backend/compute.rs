//! The value of one node, by numpy's rules.

use crate::backend::axes::{expand_dims, squeeze};
use crate::backend::elementwise::{binary, unary};
use crate::backend::error::{EvalError, OpError, Place};
use crate::backend::function::{Arguments, Function};
use crate::backend::reduce::{quantile, reduce};
use crate::backend::select::{select, where_};
use crate::dag::graph::NodeData;
use crate::dag::kind::{Axis, AxisOp, Clause, Kind};
use crate::dag::printing::Spelling;
use crate::dag::{Array, DagError, Graph, NodeId};
use hashbrown::HashMap;
use std::sync::Arc;

/// What nodes need besides the values they read.
#[derive(Clone, Copy)]
pub(crate) struct Context<'s> {
    pub graph: &'s Graph,
    pub functions: &'s HashMap<Arc<str>, Function>,
    pub spelling: Spelling,
}

/// The values of nodes, as far as there are any.
pub(crate) type Values<'v> = &'v dyn Fn(NodeId) -> Option<&'v Array>;

impl Context<'_> {
    /// False for what the published engine has no evaluation for, if its texts are asked for.
    pub fn supports(self, data: &NodeData) -> bool {
        let is_squeeze = matches!(data.kind, Kind::Axis { op: AxisOp::Squeeze, .. });
        self.spelling == Spelling::Cembra || !is_squeeze
    }

    /// The value of a node.
    ///
    /// # Errors
    /// An operand has no value, or they do not fit.
    pub fn compute(self, data: &NodeData, values: Values<'_>) -> Result<Array, EvalError> {
        let operand = |id| self.operand(id, values);
        let is_missing =
            |is_timeseries| EvalError::PlaceholderValueNotProvided { node: place(data), is_timeseries };
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
                return Err(EvalError::Unsupported { node: place(data), operation: "squeeze" });
            }
            Kind::Axis { op, node, axis } => on_axes(*op, operand(*node)?, axis),
            Kind::FunctionCall { args, kwargs } => return self.call(data, args, kwargs, values),
        };
        result.map_err(|error| EvalError::Operation { node: place(data), error })
    }

    /// The value of a node that another one reads.
    fn operand<'v>(self, id: NodeId, values: Values<'v>) -> Result<&'v Array, EvalError> {
        values(id).ok_or_else(|| match self.graph.data(id) {
            Some(data) => EvalError::NodeValueNotFound { node: place(&data) },
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
        let function = function.ok_or_else(|| EvalError::FunctionNotFound { node: place(data) })?;
        let positional = args.iter().map(|id| self.operand(*id, values)).collect::<Result<_, _>>()?;
        let keyword = kwargs.iter().map(|(key, id)| Ok((&**key, self.operand(*id, values)?)));
        let arguments = Arguments::new(positional, keyword.collect::<Result<_, EvalError>>()?);
        function.call(&arguments).map_err(|error| EvalError::Function { node: place(data), error })
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

/// The node as errors name it.
pub(crate) fn place(data: &NodeData) -> Place {
    Place { id: data.id, name: data.name.clone() }
}
