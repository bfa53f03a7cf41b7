//! Scalars: arithmetic, comparison and casts of present values.

use cembra::vm::value::ScalarType;
use cembra::vm::value::ScalarValue::{self, *};
use cembra::vm::value::fault::Category;
use cembra::vm::vector::float::{self, Float};
use std::cmp::Ordering;

type Computed = Result<ScalarValue, Category>;

/// The functions of one float, by the name behind `math.`.
fn function<T: Float>(name: &str) -> Option<fn(T) -> T> {
    Some(match name {
        "sqrt" => |x| x.sqrt(),
        "cbrt" => |x| x.cbrt(),
        "exp" => |x| x.exp(),
        "exp2" => |x| x.exp2(),
        "expm1" => |x| x.expm1(),
        "log" => |x| x.ln(),
        "log2" => |x| x.log2(),
        "log10" => |x| x.log10(),
        "log1p" => |x| x.log1p(),
        "symlog1p" => float::symlog1p,
        "logit" => float::logit,
        "log_sigmoid" => float::log_sigmoid,
        "erf" => |x| x.erf(),
        "erfc" => |x| x.erfc(),
        "trig.sin" => |x| x.sin(),
        "trig.cos" => |x| x.cos(),
        "trig.tan" => |x| x.tan(),
        "trig.asin" => |x| x.asin(),
        "trig.acos" => |x| x.acos(),
        "trig.atan" => |x| x.atan(),
        "trig.sinh" => |x| x.sinh(),
        "trig.cosh" => |x| x.cosh(),
        "trig.tanh" => |x| x.tanh(),
        "trig.asinh" => |x| x.asinh(),
        "trig.acosh" => |x| x.acosh(),
        "trig.atanh" => |x| x.atanh(),
        _ => return None,
    })
}

/// True for a function of one float.
pub fn is_function(name: &str) -> bool {
    function::<f64>(name).is_some()
}

/// An element-wise operator on present scalars of one type; a mask is given as a BOOLEAN.
pub fn apply(operator: &str, args: &[ScalarValue]) -> Computed {
    if let [x, y] = args
        && let Some(truth) = comparison(operator, x, y)
    {
        return Ok(Boolean(truth));
    }
    match args {
        [Boolean(x)] => Ok(Boolean(!x)),
        [Boolean(x), Boolean(y)] => {
            Ok(Boolean(if operator == "bool.logical_and" { *x && *y } else { *x || *y }))
        }
        [Text(x)] if operator == "strings.upper" => Ok(Text(x.to_uppercase().into())),
        [Text(x)] => Ok(Int64(x.chars().count() as i64)),
        [Bytes(x)] => Ok(Int64(x.len() as i64)),
        [Text(x), Text(y)] => Ok(Boolean(x.contains(&**y))),
        [Bytes(x), Bytes(y)] => Ok(Boolean(y.is_empty() || x.windows(y.len()).any(|w| w == &**y))),
        _ => number(operator, args),
    }
}

fn comparison(operator: &str, x: &ScalarValue, y: &ScalarValue) -> Option<bool> {
    let name = operator.strip_prefix("core.").or_else(|| operator.strip_prefix("bool."))?;
    let order: Option<Ordering> = match (x, y) {
        (Unit, Unit) => Some(Ordering::Equal),
        (Boolean(x), Boolean(y)) => Some(x.cmp(y)),
        (Int32(x), Int32(y)) => Some(x.cmp(y)),
        (Int64(x), Int64(y)) => Some(x.cmp(y)),
        (Float32(x), Float32(y)) => x.partial_cmp(y),
        (Float64(x), Float64(y)) | (WeakFloat(x), WeakFloat(y)) => x.partial_cmp(y),
        (Text(x), Text(y)) => Some(x.cmp(y)),
        (Bytes(x), Bytes(y)) => Some(x.cmp(y)),
        _ => return None,
    };
    Some(match name {
        "equal" => order == Some(Ordering::Equal),
        "not_equal" => order != Some(Ordering::Equal),
        "less" => order == Some(Ordering::Less),
        "greater" => order == Some(Ordering::Greater),
        "less_equal" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "greater_equal" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    })
}

fn number(operator: &str, args: &[ScalarValue]) -> Computed {
    let doubles = || args.iter().filter_map(ScalarValue::as_f64).collect::<Vec<f64>>();
    match &args[0] {
        Int32(_) => integer(operator, &integers(args), 32).map(|v| match v {
            Int64(wide) => Int32(wide as i32),
            other => other,
        }),
        Int64(_) => integer(operator, &integers(args), 64),
        Float32(_) => {
            let singles: Vec<f32> = doubles().into_iter().map(|x| x as f32).collect();
            of_float(operator, &singles).map(|r| r.map_or_else(Boolean, Float32))
        }
        Float64(_) => of_float(operator, &doubles()).map(|r| r.map_or_else(Boolean, Float64)),
        WeakFloat(_) => of_float(operator, &doubles()).map(|r| r.map_or_else(Boolean, WeakFloat)),
        other => panic!("{operator} of {other:?}"),
    }
}

fn integers(args: &[ScalarValue]) -> Vec<i128> {
    args.iter().filter_map(ScalarValue::as_i64).map(i128::from).collect()
}

/// Exact integers of any size, then wrapped to the width.
fn integer(operator: &str, args: &[i128], width: u32) -> Computed {
    let (x, y) = (args[0], args.get(1).copied().unwrap_or(0));
    let down = |x: i128, y: i128| if y > 0 { x.div_euclid(y) } else { (-x).div_euclid(-y) };
    let exact = match operator {
        "math.add" => x + y,
        "math.subtract" => x - y,
        "math.multiply" => x * y,
        "math.floordiv" | "math.mod" if y == 0 => return Err(Category::DivisionByZero),
        "math.floordiv" => down(x, y),
        "math.mod" => x - down(x, y) * y,
        "math.maximum" => x.max(y),
        "math.minimum" => x.min(y),
        "math.neg" => -x,
        "math.abs" => x.abs(),
        "math.sign" => x.signum(),
        "math.pos" | "math.floor" | "math.ceil" | "math.round" | "math.trunc" => x,
        "bitwise.bitwise_and" => x & y,
        "bitwise.bitwise_or" => x | y,
        "bitwise.bitwise_xor" => x ^ y,
        "bitwise.invert" => !x,
        "bitwise.count" => {
            let mask = (1i128 << width) - 1;
            return Ok(Int32((x & mask).count_ones() as i32));
        }
        other => panic!("{other} of integers"),
    };
    Ok(Int64(if width == 32 { i64::from(exact as i32) } else { exact as i64 }))
}

/// A float, or a truth value in `Err`.
fn of_float<T: Float>(operator: &str, args: &[T]) -> Result<Result<T, bool>, Category> {
    let x = args[0];
    if let Some(f) = operator.strip_prefix("math.").and_then(function::<T>) {
        return Ok(Ok(f(x)));
    }
    let (y, z) = (args.get(1).copied().unwrap_or(T::ZERO), args.get(2).copied().unwrap_or(T::ZERO));
    Ok(Ok(match operator {
        "math.add" => x + y,
        "math.subtract" => x - y,
        "math.multiply" => x * y,
        "math.divide" => x / y,
        "math.floordiv" | "math.mod" if y == T::ZERO => return Err(Category::DivisionByZero),
        "math.floordiv" => float::floordiv(x, y),
        "math.mod" => float::floormod(x, y),
        "math.fmod" => x.fmod(y),
        "math.pow" => x.pow(y),
        "math.hypot" => x.hypot(y),
        "math.trig.atan2" => x.atan2(y),
        "math.fma" => x.mul_add(y, z),
        "math.sigmoid" => (-(z * (y - x))).sigmoid(),
        "math.maximum" if x.is_nan() || y.is_nan() => T::NAN,
        "math.maximum" => {
            if y > x {
                y
            } else {
                x
            }
        }
        "math.minimum" if x.is_nan() || y.is_nan() => T::NAN,
        "math.minimum" => {
            if y < x {
                y
            } else {
                x
            }
        }
        "math.neg" => -x,
        "math.pos" => x,
        "math.abs" => x.abs(),
        "math.sign" if x.is_nan() => x,
        "math.sign" if x == T::ZERO => T::ZERO,
        "math.sign" => T::ONE.copysign(x),
        "math.floor" => x.floor(),
        "math.ceil" => x.ceil(),
        "math.round" => x.round(),
        "math.trunc" => x.trunc(),
        "math.is_nan" => return Ok(Err(x.is_nan())),
        "math.is_inf" => return Ok(Err(x.is_infinite())),
        "math.is_finite" => return Ok(Err(!x.is_nan() && !x.is_infinite())),
        other => panic!("{other} of floats"),
    }))
}

/// A scalar as another type.
pub fn cast(value: &ScalarValue, to: ScalarType) -> Computed {
    if value.scalar_type() == to {
        return Ok(value.clone());
    }
    let exact: Option<i128> = match value {
        Boolean(v) => Some(i128::from(*v)),
        Int32(v) => Some(i128::from(*v)),
        Int64(v) => Some(i128::from(*v)),
        _ => None,
    };
    let float = value.as_f64();
    let truncated = || {
        let x = float.filter(|x| x.is_finite()).ok_or(Category::Cast)?;
        Ok(x as i128)
    };
    Ok(match to {
        ScalarType::Boolean => Boolean(exact.map_or_else(|| float != Some(0.0), |v| v != 0)),
        ScalarType::Int32 => Int32(exact.map_or_else(truncated, Ok)?.try_into().map_err(|_| Category::Cast)?),
        ScalarType::Int64 => Int64(exact.map_or_else(truncated, Ok)?.try_into().map_err(|_| Category::Cast)?),
        ScalarType::Float32 => Float32(exact.map_or_else(|| float.unwrap_or(0.0) as f32, |v| v as f32)),
        ScalarType::Float64 => Float64(exact.map_or_else(|| float.unwrap_or(0.0), |v| v as f64)),
        ScalarType::WeakFloat => WeakFloat(exact.map_or_else(|| float.unwrap_or(0.0), |v| v as f64)),
        other => panic!("{value:?} to {other}"),
    })
}
