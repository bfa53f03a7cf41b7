//! Random expressions that have types, and random values for their inputs.
//!
//! Operands are drawn from what exists already, recent nodes first, so that nodes are shared within and
//! across branches. Values are drawn from the edges of their types as often as from the middle.

use crate::reference::Inputs;
use crate::reference::types::typing;
use cembra::expr::{Expr, ExprBuilder, ExprRef, Literal};
use cembra::registry::Dialect;
use cembra::vm::value::{QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::collections::HashMap;

/// An expression and the types of its leaves.
pub struct Sample {
    pub expr: Expr,
    pub leaves: HashMap<String, QType>,
    pub dialect: Dialect,
}

/// Operators of any operands, with their number. Those that occur twice are drawn twice as often.
const OPERATORS: &[(&str, usize)] = &[
    ("math.add", 2),
    ("math.add", 2),
    ("math.subtract", 2),
    ("math.multiply", 2),
    ("math.multiply", 2),
    ("math.divide", 2),
    ("math.floordiv", 2),
    ("math.mod", 2),
    ("math.fmod", 2),
    ("math.pow", 2),
    ("math.hypot", 2),
    ("math.trig.atan2", 2),
    ("math.maximum", 2),
    ("math.minimum", 2),
    ("math.fma", 3),
    ("math.sigmoid", 3),
    ("math.neg", 1),
    ("math.pos", 1),
    ("math.abs", 1),
    ("math.sign", 1),
    ("math.floor", 1),
    ("math.ceil", 1),
    ("math.round", 1),
    ("math.trunc", 1),
    ("math.is_nan", 1),
    ("math.is_inf", 1),
    ("math.is_finite", 1),
    ("math.sqrt", 1),
    ("math.exp", 1),
    ("math.log", 1),
    ("math.log1p", 1),
    ("math.erf", 1),
    ("math.trig.sin", 1),
    ("math.trig.tanh", 1),
    ("math.symlog1p", 1),
    ("math.log_sigmoid", 1),
    ("core.equal", 2),
    ("core.not_equal", 2),
    ("core.less", 2),
    ("core.less_equal", 2),
    ("core.greater", 2),
    ("core.greater_equal", 2),
    ("bool.equal", 2),
    ("bool.not_equal", 2),
    ("bool.less", 2),
    ("bool.greater_equal", 2),
    ("bool.logical_and", 2),
    ("bool.logical_or", 2),
    ("bool.logical_not", 1),
    ("bool.logical_if", 4),
    ("bitwise.bitwise_and", 2),
    ("bitwise.bitwise_or", 2),
    ("bitwise.bitwise_xor", 2),
    ("bitwise.invert", 1),
    ("bitwise.count", 1),
    ("core.has", 1),
    ("core.has", 1),
    ("core.presence_not", 1),
    ("core.presence_and", 2),
    ("core.presence_and", 2),
    ("core.presence_and", 2),
    ("core.presence_or", 2),
    ("core.presence_or", 2),
    ("core.where", 3),
    ("core.where", 3),
    ("core.where", 3),
    ("core.where", 3),
    ("core.where", 3),
    ("core.all", 1),
    ("core.any", 1),
    ("core.to_optional", 1),
    ("core.get_optional_value", 1),
    ("core.with_assertion", 3),
    ("core.zeros_like", 1),
    ("core.ones_like", 1),
    ("core.empty_like", 1),
    ("core.broadcast_like", 2),
    ("core.identity", 1),
    ("core.to_int32", 1),
    ("core.to_int64", 1),
    ("core.to_float32", 1),
    ("core.to_float64", 1),
    ("core.to_bool", 1),
    ("core.cast", 1),
    ("core.make_tuple", 1),
    ("core.make_tuple", 2),
    ("core.make_tuple", 3),
    ("core.get_nth", 1),
    ("core.get_nth", 1),
    ("core.concat_tuples", 2),
    ("strings.length", 1),
    ("strings.upper", 1),
    ("strings.contains", 2),
    ("strings.join", 2),
    ("strings.join", 3),
    ("seq.reduce", 1),
];

/// Operators that a reduction over INT64 may use.
const REDUCERS: &[&str] = &["math.add", "math.subtract", "math.multiply", "math.maximum", "math.floordiv"];

struct Generator<'r, 'b> {
    rng: &'r mut Rng,
    builder: &'b ExprBuilder,
    dialect: Dialect,
    pool: Vec<(ExprRef<'b>, QType)>,
    /// Texts that may still be joined: each may triple the length.
    joins: usize,
}

/// A random expression of at most `operators` operators.
pub fn sample(rng: &mut Rng, operators: usize) -> Sample {
    let dialect = if rng.bool() { Dialect::Cembra } else { Dialect::Arolla };
    let builder = ExprBuilder::new();
    let mut leaves = HashMap::new();
    let mut generator = Generator { rng, builder: &builder, dialect, pool: Vec::new(), joins: 4 };
    for name in ["a", "b", "c", "d", "e"].into_iter().take(generator.rng.usize(1..=5)) {
        let qtype = generator.leaf_type();
        generator.pool.push((builder.leaf(name), qtype.clone()));
        leaves.insert(name.to_owned(), qtype);
    }
    for _ in 0..generator.rng.usize(1..=operators) {
        generator.grow();
    }
    let root = generator.root();
    Sample { expr: root.build().expect("room"), leaves, dialect }
}

/// Random values for the leaves.
pub fn inputs(rng: &mut Rng, leaves: &HashMap<String, QType>) -> Inputs {
    let mut names: Vec<&String> = leaves.keys().collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), value(rng, &leaves[name]))).collect()
}

impl<'b> Generator<'_, 'b> {
    fn leaf_type(&mut self) -> QType {
        let scalar = self.scalar_type();
        if self.rng.u8(0..3) == 0 { QType::Optional(scalar) } else { QType::Scalar(scalar) }
    }

    fn scalar_type(&mut self) -> ScalarType {
        use ScalarType::*;
        let often = [Float64, Float64, Float32, Int32, Int64, Int64, Boolean, Unit, Text, Bytes, WeakFloat];
        often[self.rng.usize(0..often.len())]
    }

    /// Adds one operator node, or gives up.
    fn grow(&mut self) {
        for _ in 0..20 {
            let (operator, arity) = OPERATORS[self.rng.usize(0..OPERATORS.len())];
            for _ in 0..4 {
                let operands: Vec<_> = (0..arity).map(|i| self.operand(i)).collect();
                if let Some(node) = self.apply(operator, operands) {
                    self.pool.push(node);
                    return;
                }
            }
        }
    }

    /// A recent node, any node, or a literal.
    fn operand(&mut self, position: usize) -> (ExprRef<'b>, QType) {
        let count = self.pool.len();
        match self.rng.u8(0..8) {
            0 if position > 0 => self.literal(),
            1..=3 => self.pool[self.rng.usize(0..count)].clone(),
            _ => self.pool[self.rng.usize(count.saturating_sub(4)..count)].clone(),
        }
    }

    fn literal(&mut self) -> (ExprRef<'b>, QType) {
        let qtype = self.leaf_type();
        (self.builder.literal(value(self.rng, &qtype)), qtype)
    }

    fn apply(
        &mut self,
        operator: &str,
        mut operands: Vec<(ExprRef<'b>, QType)>,
    ) -> Option<(ExprRef<'b>, QType)> {
        let mut literals: Vec<Option<Literal>> = vec![None; operands.len()];
        let add = |operands: &mut Vec<(ExprRef<'b>, QType)>, literals: &mut Vec<_>, value: Value| {
            operands.push((self.builder.literal(value.clone()), value.qtype()));
            literals.push(Some(Literal::Value(value)));
        };
        match operator {
            "core.get_nth" => {
                let count = operands[0].1.tuple()?.fields().len();
                let index = self.rng.i64(0..i64::try_from(count).ok().filter(|c| *c > 0)?);
                add(&mut operands, &mut literals, index.into());
            }
            "core.with_assertion" => {
                operands.pop();
                literals.pop();
                add(&mut operands, &mut literals, "it does not hold".into());
            }
            "core.all" | "core.any" => add(&mut operands, &mut literals, Value::Scalar(ScalarValue::Unit)),
            "core.cast" => {
                let target = self.leaf_type();
                operands.push((self.builder.qtype(target.clone()), cembra::vm::value::qtype::UNIT));
                literals.push(Some(Literal::Type(target)));
                add(&mut operands, &mut literals, false.into());
            }
            "strings.join" => self.joins = self.joins.checked_sub(1)?,
            "seq.reduce" => return self.reduction(operands.pop()?),
            _ => {}
        }
        let types: Vec<QType> = operands.iter().map(|o| o.1.clone()).collect();
        let literals: Vec<Option<&Literal>> = literals.iter().map(Option::as_ref).collect();
        let result = typing(operator, &types, &literals, self.dialect)?.result;
        let refs: Vec<ExprRef<'b>> = operands.iter().map(|o| o.0).collect();
        small(&result).then(|| (self.builder.call(operator, &refs), result))
    }

    /// `seq.reduce(op, seq.range(start, stop, step), initial)` over a few numbers.
    fn reduction(&mut self, (initial, qtype): (ExprRef<'b>, QType)) -> Option<(ExprRef<'b>, QType)> {
        let operator = REDUCERS[self.rng.usize(0..REDUCERS.len())];
        let types = [qtype.clone(), cembra::vm::value::qtype::INT64];
        let result = typing(operator, &types, &[None, None], self.dialect)?.result;
        if result != qtype {
            return None;
        }
        let step = if self.rng.bool() { 1 } else { -2 };
        let bounds = [self.rng.i64(-3..4), self.rng.i64(-3..8), step].map(|v| self.builder.literal(v));
        let range = self.builder.call("seq.range", &bounds);
        let operator = self.builder.operator(operator);
        Some((self.builder.call("seq.reduce", &[operator, range, initial]), qtype))
    }

    /// The last node, or several in a tuple.
    fn root(&mut self) -> ExprRef<'b> {
        let last = self.pool.len() - 1;
        if self.rng.u8(0..4) > 0 {
            return self.pool[last].0;
        }
        let fields: Vec<ExprRef<'b>> = (0..self.rng.usize(1..=3))
            .map(|_| self.pool[self.rng.usize(last.saturating_sub(6)..=last)].0)
            .collect();
        self.builder.call("core.make_tuple", &fields)
    }
}

/// Tuples of tuples grow fast; a few fields are enough.
fn small(qtype: &QType) -> bool {
    qtype.leaf_count() <= 12 && qtype.depth() <= 4
}

/// A random value of a type.
fn value(rng: &mut Rng, qtype: &QType) -> Value {
    match qtype {
        QType::Optional(scalar) if rng.u8(0..3) == 0 => Value::Missing(*scalar),
        QType::Optional(scalar) => Value::Present(scalar_value(rng, *scalar)),
        QType::Scalar(scalar) => Value::Scalar(scalar_value(rng, *scalar)),
        other => panic!("no random {other}"),
    }
}

fn scalar_value(rng: &mut Rng, scalar: ScalarType) -> ScalarValue {
    let integer = |rng: &mut Rng| match rng.u8(0..4) {
        0 => [i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX)][rng.usize(0..4)],
        1 => rng.i64(..),
        _ => rng.i64(-3..6),
    };
    match scalar {
        ScalarType::Unit => ScalarValue::Unit,
        ScalarType::Boolean => ScalarValue::Boolean(rng.bool()),
        ScalarType::Int32 => ScalarValue::Int32(integer(rng) as i32),
        ScalarType::Int64 => ScalarValue::Int64(integer(rng)),
        ScalarType::Float32 => ScalarValue::Float32(float(rng) as f32),
        ScalarType::Float64 => ScalarValue::Float64(float(rng)),
        ScalarType::WeakFloat => ScalarValue::WeakFloat(float(rng)),
        ScalarType::Text => ScalarValue::Text(["", "a", "ab", "straße", "Ωmega"][rng.usize(0..5)].into()),
        ScalarType::Bytes => ScalarValue::Bytes([&b""[..], b"a", b"ab\0", b"\xff"][rng.usize(0..4)].into()),
        narrow => unreachable!("no value is of type {narrow}"),
    }
}

fn float(rng: &mut Rng) -> f64 {
    const EDGES: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        2_147_483_648.0,
        -9_223_372_036_854_775_808.0,
    ];
    match rng.u8(0..4) {
        0 => EDGES[rng.usize(0..EDGES.len())],
        1 => f64::from_bits(rng.u64(..) & !(1 << 62)),
        _ => f64::from(rng.i32(-40..60)) / 8.0,
    }
}
