//! Records: nodes as an operation with named fields, the form between a node and any text of it.
//!
//! Dumps and program files both become records, and records become nodes. Operands are ids, so that the
//! records of a graph can come in any order; [`add_all`] checks that every operand is there.

use crate::dag::array::{Array, DType, TextArray};
use crate::dag::array_text::shape_text;
use crate::dag::graph::Graph;
use crate::dag::kind::{Axis, AxisOp, BinaryOp, Branch, Clause, Dims, Kind, NodeId, Reduction, UnaryOp};
use crate::dag::scalar::Scalar;
use half::f16;
use std::sync::Arc;

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `None`.
    None,
    /// A truth value, a number or a text.
    Scalar(Scalar),
    /// Another node, as `n7`.
    Node(NodeId),
    /// A list or a tuple.
    List(Vec<Literal>),
    /// Values by key.
    Map(Vec<(String, Literal)>),
}

/// An operation with its fields.
#[derive(Clone, Debug)]
pub struct Record {
    /// Number of the node.
    pub id: u32,
    /// Name of the operation, as `add`.
    pub op: String,
    /// Values by position; only function calls have them: the function, then arguments.
    pub args: Vec<Literal>,
    /// Values by name.
    pub fields: Vec<(String, Literal)>,
}

/// Adds the nodes of all records to a graph. `projection` says what `project_using_…` does with axes.
///
/// # Errors
/// Index of a record that is no node, and why.
pub fn add_all(graph: &Graph, records: &[Record], projection: Dims) -> Result<(), (usize, String)> {
    for (index, record) in records.iter().enumerate() {
        let (kind, name) = record.node(projection).map_err(|what| (index, what))?;
        graph.add_at(record.id, kind, &name).map_err(|e| (index, e.to_string()))?;
    }
    for (index, record) in records.iter().enumerate() {
        let data = graph.data(NodeId(record.id));
        let operands = data.map(|data| data.kind.operands()).unwrap_or_default();
        if let Some(missing) = operands.iter().find(|id| graph.data(**id).is_none()) {
            return Err((index, format!("there is no node {missing}")));
        }
    }
    Ok(())
}

impl Record {
    /// Kind and name of the node.
    fn node(&self, projection: Dims) -> Result<(Kind, String), String> {
        if self.op == "function_call" || self.op == "function" {
            return self.function_call();
        }
        if !self.args.is_empty() {
            return Err(format!("{} takes no arguments by position", self.op));
        }
        let name = match self.find("name") {
            None => String::new(),
            Some(Literal::Scalar(Scalar::Text(name))) => name.to_string(),
            Some(_) => return Err("the name is no text".to_owned()),
        };
        Ok((self.kind(projection)?, name))
    }

    fn kind(&self, projection: Dims) -> Result<Kind, String> {
        if let Some(op) = UnaryOp::from_name(&self.op) {
            return Ok(Kind::Unary(op, self.operand("node")?));
        }
        if let Some(op) = BinaryOp::from_name(&self.op) {
            return Ok(Kind::Binary(op, self.operand("left")?, self.operand("right")?));
        }
        if let Some(op) = self.axis_op(projection)? {
            return Ok(Kind::Axis { op, node: self.operand("node")?, axis: self.axis()? });
        }
        match self.op.as_str() {
            "constant" => Ok(Kind::Constant(self.scalar("value")?.ok_or("the value is None")?)),
            "placeholder" => Ok(Kind::Placeholder { default: self.scalar("default_value")? }),
            "timeseries_constant" => Ok(Kind::TimeseriesConstant(self.array("values")?)),
            "timeseries_placeholder" => Ok(Kind::TimeseriesPlaceholder),
            "where" => Ok(Kind::Where {
                condition: self.operand("condition")?,
                then: self.operand("then")?,
                otherwise: self.operand("otherwise")?,
            }),
            "multi_clause_where" => Ok(Kind::MultiClauseWhere {
                clauses: self.clauses()?,
                default: self.operand("default_value")?,
            }),
            "exclusive_multi_clause_where" => Ok(Kind::ExclusiveMultiClauseWhere {
                clauses: self.clauses()?,
                default: self.operand("default_value")?,
                companion: self.operand("companion")?,
            }),
            "variant_selector" => Ok(Kind::VariantSelector {
                selector: self.operand("selector_node")?,
                branches: self.branches()?,
                merge_nodes: operands(self.get("merge_nodes")?)?,
            }),
            other => Err(format!("unknown operation {other}")),
        }
    }

    fn axis_op(&self, projection: Dims) -> Result<Option<AxisOp>, String> {
        let projected = self.op.strip_prefix("project_using_").map(|name| (projection, name));
        let reduced = self.op.strip_prefix("reduce_").map(|name| (Dims::Drop, name));
        let Some((dims, reduction)) = projected.or(reduced) else {
            return Ok(match self.op.as_str() {
                "expand_dims" => Some(AxisOp::ExpandDims),
                "squeeze" => Some(AxisOp::Squeeze),
                _ => None,
            });
        };
        if reduction == "quantile" {
            return match self.get("q")? {
                Literal::Scalar(Scalar::Float(q)) => Ok(Some(AxisOp::Quantile { q: *q, dims })),
                Literal::Scalar(Scalar::Int(q)) => Ok(Some(AxisOp::Quantile { q: *q as f64, dims })),
                _ => Err("q is no number".to_owned()),
            };
        }
        Ok(Reduction::from_name(reduction).map(|reduction| AxisOp::Reduce(reduction, dims)))
    }

    fn function_call(&self) -> Result<(Kind, String), String> {
        let Some((Literal::Scalar(Scalar::Text(name)), args)) = self.args.split_first() else {
            return Err("a function call begins with the name of the function".to_owned());
        };
        let args = args.iter().map(operand).collect::<Result<_, _>>()?;
        let kwarg = |(key, node): &(String, Literal)| Ok((Arc::from(key.as_str()), operand(node)?));
        let kwargs = self.fields.iter().map(kwarg).collect::<Result<_, String>>()?;
        Ok((Kind::FunctionCall { args, kwargs }, name.to_string()))
    }

    fn find(&self, field: &str) -> Option<&Literal> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, value)| value)
    }

    fn get(&self, field: &str) -> Result<&Literal, String> {
        self.find(field).ok_or_else(|| format!("{} needs a field `{field}`", self.op))
    }

    fn operand(&self, field: &str) -> Result<NodeId, String> {
        operand(self.get(field)?).map_err(|what| format!("field `{field}`: {what}"))
    }

    /// A scalar, or nothing for `None` and for a field that is not there.
    fn scalar(&self, field: &str) -> Result<Option<Scalar>, String> {
        match self.find(field) {
            None | Some(Literal::None) => Ok(None),
            Some(Literal::Scalar(scalar)) => Ok(Some(scalar.clone())),
            Some(_) => Err(format!("field `{field}` is no scalar")),
        }
    }

    fn axis(&self) -> Result<Axis, String> {
        let wrong = || "the axis is neither a number nor a list of numbers".to_owned();
        let number = |literal: &Literal| match literal {
            Literal::Scalar(Scalar::Int(axis)) => isize::try_from(*axis).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        match self.get("axis")? {
            Literal::List(axes) => Ok(Axis::Many(axes.iter().map(number).collect::<Result<_, _>>()?)),
            one => Ok(Axis::One(number(one)?)),
        }
    }

    fn clauses(&self) -> Result<Vec<Clause>, String> {
        let Literal::List(clauses) = self.get("clauses")? else {
            return Err("the clauses are no list".to_owned());
        };
        let clause = |clause: &Literal| match operands(clause)?[..] {
            [condition, value] => Ok((condition, value)),
            _ => Err("a clause is a condition and a value".to_owned()),
        };
        clauses.iter().map(clause).collect()
    }

    fn branches(&self) -> Result<Vec<Branch>, String> {
        let Literal::Map(branches) = self.get("branch_map")? else {
            return Err("the branches are no map".to_owned());
        };
        let branch = |(key, nodes): &(String, Literal)| Ok((Arc::from(key.as_str()), operands(nodes)?));
        branches.iter().map(branch).collect()
    }

    /// A nested list, with the fields `dtype` and `shape` where the list does not say them.
    fn array(&self, field: &str) -> Result<Array, String> {
        let (mut shape, mut flat) = (Vec::new(), Vec::new());
        flatten(self.get(field)?, &mut shape, 0, &mut flat)?;
        if let Some(Literal::List(sizes)) = self.find("shape") {
            let size = |size: &Literal| match size {
                Literal::Scalar(Scalar::Int(size)) => usize::try_from(*size).ok(),
                _ => None,
            };
            let sizes: Option<Vec<usize>> = sizes.iter().map(size).collect();
            shape = sizes.ok_or("the shape is no list of sizes")?;
        }
        let dtype = match self.find("dtype") {
            Some(Literal::Scalar(Scalar::Text(name))) => {
                DType::from_name(name).ok_or_else(|| format!("there is no type {name}"))?
            }
            _ => dtype_of(&flat),
        };
        array(dtype, &shape, &flat)
    }
}

fn operand(literal: &Literal) -> Result<NodeId, String> {
    match literal {
        Literal::Node(id) => Ok(*id),
        _ => Err("expected a node".to_owned()),
    }
}

fn operands(literal: &Literal) -> Result<Vec<NodeId>, String> {
    match literal {
        Literal::List(nodes) => nodes.iter().map(operand).collect(),
        _ => Err("expected a list of nodes".to_owned()),
    }
}

/// Scalars of a nested list in row-major order, and its shape.
fn flatten(
    literal: &Literal,
    shape: &mut Vec<usize>,
    axis: usize,
    flat: &mut Vec<Scalar>,
) -> Result<(), String> {
    match literal {
        Literal::Scalar(scalar) if shape.len() == axis => flat.push(scalar.clone()),
        Literal::List(items) => {
            if shape.len() == axis && flat.is_empty() && axis < crate::dag::array::RANK_LIMIT {
                shape.push(items.len());
            }
            if shape.get(axis) != Some(&items.len()) {
                return Err("lists of one axis differ in length".to_owned());
            }
            items.iter().try_for_each(|item| flatten(item, shape, axis + 1, flat))?;
        }
        _ => return Err("an array is made of scalars, all in as many lists".to_owned()),
    }
    Ok(())
}

/// The type that numpy gives a list of these.
fn dtype_of(scalars: &[Scalar]) -> DType {
    let all = |is: fn(&Scalar) -> bool| scalars.iter().all(is);
    match scalars {
        [] => DType::Float64,
        _ if all(|s| matches!(s, Scalar::Bool(_))) => DType::Bool,
        _ if all(|s| matches!(s, Scalar::Text(_))) => DType::Text(0),
        _ if all(|s| matches!(s, Scalar::Bool(_) | Scalar::Int(_))) => DType::Int64,
        _ => DType::Float64,
    }
}

/// An array of a type and shape from its elements in row-major order.
///
/// # Errors
/// There are more or fewer elements than the shape has places, or one does not fit the type.
pub fn array(dtype: DType, shape: &[usize], elements: &[Scalar]) -> Result<Array, String> {
    let wrong = |scalar: &Scalar| format!("{scalar:?} is no element of an array of {dtype}");
    let float = |scalar: &Scalar| match scalar {
        Scalar::Float(v) => Ok(*v),
        Scalar::Int(v) => Ok(*v as f64),
        Scalar::Bool(v) => Ok(f64::from(u8::from(*v))),
        Scalar::Text(_) => Err(wrong(scalar)),
    };
    let integer = |scalar: &Scalar| match scalar {
        Scalar::Int(v) => Ok(*v),
        Scalar::Bool(v) => Ok(i64::from(*v)),
        _ => Err(wrong(scalar)),
    };
    macro_rules! collect {
        ($convert:expr) => {
            Array::new(elements.iter().map($convert).collect::<Result<Vec<_>, String>>()?, shape)
        };
    }
    let made = match dtype {
        DType::Bool => collect!(|s| if let Scalar::Bool(v) = s { Ok(*v) } else { Err(wrong(s)) }),
        DType::Int8 => collect!(|s| i8::try_from(integer(s)?).map_err(|_| wrong(s))),
        DType::Int32 => collect!(|s| i32::try_from(integer(s)?).map_err(|_| wrong(s))),
        DType::Int64 => collect!(integer),
        DType::Float16 => collect!(|s| float(s).map(f16::from_f64)),
        DType::Float32 => collect!(|s| float(s).map(|v| v as f32)),
        DType::Float64 => collect!(float),
        DType::Text(width) => {
            let text = |s: &Scalar| if let Scalar::Text(v) = s { Ok(v.clone()) } else { Err(wrong(s)) };
            let texts = elements.iter().map(text).collect::<Result<Vec<_>, String>>()?;
            TextArray::new(&texts, shape, width).map(Array::Text)
        }
    };
    made.ok_or_else(|| format!("{} elements do not fill shape {}", elements.len(), shape_text(shape)))
}
