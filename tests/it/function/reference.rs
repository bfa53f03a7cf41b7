//! What random functions mean: a walk over their trees with Python's semantics, integers of 64 bits.

use crate::function::generate::{Arguments, Expr, Function, Stmt};
use std::cmp::Ordering;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum {
    /// `int`.
    Int(i64),
    /// `float`.
    Float(f64),
    /// `bool`.
    Bool(bool),
}

use Datum::{Bool, Float, Int};

/// CPython's class of an error.
pub type Class = &'static str;

/// What `f`, the last function, returns; the array is changed in place.
pub fn call(
    functions: &[Function],
    arguments: &Arguments,
    array: &mut Vec<f64>,
) -> Result<Vec<Datum>, Class> {
    let args = [Int(arguments.int), Float(arguments.float), Bool(arguments.truth)];
    Walk { functions, array }.call(functions.len() - 1, &args)
}

struct Walk<'w> {
    functions: &'w [Function],
    array: &'w mut Vec<f64>,
}

/// How a statement ends.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Vec<Datum>),
}

/// The values of the variables of a call.
type Variables = Vec<Option<Datum>>;

impl Walk<'_> {
    /// The array is the first parameter of every function, and not in the list.
    fn call(&mut self, function: usize, args: &[Datum]) -> Result<Vec<Datum>, Class> {
        let function = &self.functions[function];
        let mut variables: Variables = vec![None; function.variables.len()];
        for (slot, arg) in variables[1..].iter_mut().zip(args) {
            *slot = Some(*arg);
        }
        match self.block(&function.body, &mut variables)? {
            Flow::Return(values) => Ok(values),
            _ => unreachable!("every function ends in a return"),
        }
    }

    fn block(&mut self, body: &[Stmt], variables: &mut Variables) -> Result<Flow, Class> {
        for statement in body {
            match self.statement(statement, variables)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Stmt, variables: &mut Variables) -> Result<Flow, Class> {
        match statement {
            Stmt::Assign(targets, values) => {
                let values: Vec<Datum> =
                    values.iter().map(|value| self.expr(value, variables)).collect::<Result<_, _>>()?;
                for (target, value) in targets.iter().zip(values) {
                    variables[*target] = Some(value);
                }
            }
            Stmt::Augment(target, op, value) => {
                let left = variables[*target].ok_or("UnboundLocalError")?;
                let right = self.expr(value, variables)?;
                variables[*target] = Some(binary(op, left, right)?);
            }
            Stmt::Store(_, index, value) => {
                // The value comes first.
                let value = self.expr(value, variables)?;
                let at = self.place(index, variables)?;
                self.array[at] = as_float(value);
            }
            Stmt::AugmentElement(_, index, op, value) => {
                let at = self.place(index, variables)?;
                let left = Float(self.array[at]);
                let right = self.expr(value, variables)?;
                self.array[at] = as_float(binary(op, left, right)?);
            }
            Stmt::If(test, then, orelse) => {
                let test = truth(self.expr(test, variables)?);
                return self.block(if test { then } else { orelse }, variables);
            }
            Stmt::For(target, range, body, orelse) => {
                let bounds: Vec<i64> = range
                    .iter()
                    .map(|bound| self.expr(bound, variables).map(as_int))
                    .collect::<Result<_, _>>()?;
                let (start, stop, step) = match bounds[..] {
                    [stop] => (0, stop, 1),
                    [start, stop] => (start, stop, 1),
                    _ => (bounds[0], bounds[1], bounds[2]),
                };
                if step == 0 {
                    return Err("ValueError");
                }
                let mut at = start;
                while if step > 0 { at < stop } else { at > stop } {
                    variables[*target] = Some(Int(at));
                    match self.block(body, variables)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Return(values) => return Ok(Flow::Return(values)),
                        Flow::Next | Flow::Continue => at += step,
                    }
                }
                return self.block(orelse, variables);
            }
            Stmt::While { turns, most, test, body, orelse } => {
                let mut count = 0;
                loop {
                    variables[*turns] = Some(Int(count));
                    if !truth(self.expr(test, variables)?) || count >= *most {
                        return self.block(orelse, variables);
                    }
                    count += 1;
                    variables[*turns] = Some(Int(count));
                    match self.block(body, variables)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Return(values) => return Ok(Flow::Return(values)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            Stmt::Break => return Ok(Flow::Break),
            Stmt::Continue => return Ok(Flow::Continue),
            Stmt::Return(values) => {
                let values = values.iter().map(|value| self.expr(value, variables));
                return Ok(Flow::Return(values.collect::<Result<_, _>>()?));
            }
        }
        Ok(Flow::Next)
    }

    /// The position in the array that an index means.
    fn place(&mut self, index: &Expr, variables: &Variables) -> Result<usize, Class> {
        let index = as_int(self.expr(index, variables)?);
        let length = self.array.len() as i64;
        let at = if index < 0 { index + length } else { index };
        if (0..length).contains(&at) { Ok(at as usize) } else { Err("IndexError") }
    }

    fn expr(&mut self, expr: &Expr, variables: &Variables) -> Result<Datum, Class> {
        Ok(match expr {
            Expr::Int(value) => Int(*value),
            Expr::Float(value) => Float(*value),
            Expr::Bool(value) => Bool(*value),
            Expr::Read(variable) => variables[*variable].ok_or("UnboundLocalError")?,
            Expr::Unary(op, operand) => match (*op, self.expr(operand, variables)?) {
                ("not", value) => Bool(!truth(value)),
                ("-", Float(value)) => Float(-value),
                ("-", value) => Int(as_int(value).checked_neg().ok_or("OverflowError")?),
                (_, value) => Int(!as_int(value)),
            },
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.expr(left, variables)?, self.expr(right, variables)?);
                binary(op, left, right)?
            }
            Expr::Compare(operands, ops) => {
                let mut left = self.expr(&operands[0], variables)?;
                for (op, operand) in ops.iter().zip(&operands[1..]) {
                    let right = self.expr(operand, variables)?;
                    if !compares(op, left, right) {
                        return Ok(Bool(false));
                    }
                    left = right;
                }
                Bool(true)
            }
            Expr::Logic(op, left, right) => {
                let left = self.expr(left, variables)?;
                match truth(left) == (*op == "and") {
                    true => self.expr(right, variables)?,
                    false => left,
                }
            }
            Expr::IfElse(parts) => {
                let [test, body, orelse] = &**parts;
                let test = truth(self.expr(test, variables)?);
                self.expr(if test { body } else { orelse }, variables)?
            }
            Expr::Element(_, index) => {
                let at = self.place(index, variables)?;
                Float(self.array[at])
            }
            Expr::Len(_) => Int(self.array.len() as i64),
            Expr::Builtin(name, args) => {
                let args: Vec<Datum> =
                    args.iter().map(|arg| self.expr(arg, variables)).collect::<Result<_, _>>()?;
                builtin(name, &args)?
            }
            Expr::Call(called, args) => {
                let args: Vec<Datum> =
                    args[1..].iter().map(|arg| self.expr(arg, variables)).collect::<Result<_, _>>()?;
                self.call(*called, &args)?[0]
            }
        })
    }
}

/// Whether a value holds as a condition.
pub fn truth(value: Datum) -> bool {
    match value {
        Int(value) => value != 0,
        Float(value) => value != 0.0,
        Bool(value) => value,
    }
}

fn as_int(value: Datum) -> i64 {
    match value {
        Int(value) => value,
        Bool(value) => value.into(),
        Float(value) => unreachable!("{value} is no integer"),
    }
}

fn as_float(value: Datum) -> f64 {
    match value {
        Float(value) => value,
        other => as_int(other) as f64,
    }
}

/// An operator between two numbers.
pub fn binary(op: &str, left: Datum, right: Datum) -> Result<Datum, Class> {
    match (op, left, right) {
        ("&", Bool(a), Bool(b)) => Ok(Bool(a & b)),
        ("|", Bool(a), Bool(b)) => Ok(Bool(a | b)),
        ("^", Bool(a), Bool(b)) => Ok(Bool(a ^ b)),
        (_, Float(_), _) | (_, _, Float(_)) => float_binary(op, as_float(left), as_float(right)).map(Float),
        ("/", a, b) => int_quotient(as_int(a), as_int(b)).map(Float),
        (_, a, b) => int_binary(op, as_int(a), as_int(b)).map(Int),
    }
}

fn int_binary(op: &str, a: i64, b: i64) -> Result<i64, Class> {
    if b == 0 && matches!(op, "//" | "%") {
        return Err("ZeroDivisionError");
    }
    let (wide_a, wide_b) = (i128::from(a), i128::from(b));
    let quotient = || wide_a.div_euclid(wide_b) - i128::from(wide_b < 0 && wide_a.rem_euclid(wide_b) != 0);
    let exact = match op {
        "+" => wide_a + wide_b,
        "-" => wide_a - wide_b,
        "*" => wide_a * wide_b,
        "//" => quotient(),
        "%" => wide_a - quotient() * wide_b,
        "&" => wide_a & wide_b,
        "|" => wide_a | wide_b,
        "^" => wide_a ^ wide_b,
        "**" => return a.checked_pow(b as u32).ok_or("OverflowError"),
        "<<" | ">>" if b < 0 => return Err("ValueError"),
        "<<" if a == 0 => 0,
        "<<" if b >= 64 => return Err("OverflowError"),
        "<<" => wide_a << b,
        ">>" => wide_a >> b.min(127),
        _ => unreachable!("{op} is no operator of integers"),
    };
    exact.try_into().map_err(|_| "OverflowError")
}

/// The float nearest to a quotient of integers.
fn int_quotient(a: i64, b: i64) -> Result<f64, Class> {
    if b == 0 {
        return Err("ZeroDivisionError");
    }
    let negative = (a < 0) != (b < 0);
    // A quotient of more than 54 bits whose last bit says whether anything follows rounds as the exact one.
    let (a, b) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
    let mut shift = 0;
    let mut scaled = a;
    while scaled != 0 && scaled.leading_zeros() > 1 {
        scaled <<= 1;
        shift += 1;
    }
    let quotient = (scaled / b) | u128::from(scaled % b != 0);
    let size = quotient as f64 * 2f64.powi(-shift);
    Ok(if negative { -size } else { size })
}

fn float_binary(op: &str, a: f64, b: f64) -> Result<f64, Class> {
    if b == 0.0 && matches!(op, "/" | "//" | "%") {
        return Err("ZeroDivisionError");
    }
    Ok(match op {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "%" => floor_divide(a, b).1,
        "//" => floor_divide(a, b).0,
        _ => unreachable!("{op} is no operator of floats"),
    })
}

/// Quotient and remainder of floats, as `divmod` gives them.
fn floor_divide(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder == 0.0 {
        remainder = 0f64.copysign(b);
    } else if (b < 0.0) != (remainder < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    let floor = match quotient == 0.0 {
        true => 0f64.copysign(a / b),
        false => {
            let floor = quotient.floor();
            if quotient - floor > 0.5 { floor + 1.0 } else { floor }
        }
    };
    (floor, remainder)
}

/// A comparison of numbers, exact.
pub fn compares(op: &str, left: Datum, right: Datum) -> bool {
    let order = match (left, right) {
        (Float(a), Float(b)) => a.partial_cmp(&b),
        (Float(a), b) => compare_exactly(as_int(b), a).map(Ordering::reverse),
        (a, Float(b)) => compare_exactly(as_int(a), b),
        (a, b) => Some(as_int(a).cmp(&as_int(b))),
    };
    match op {
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => order == Some(Ordering::Greater),
        ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        "==" => order == Some(Ordering::Equal),
        _ => order != Some(Ordering::Equal),
    }
}

/// An integer against a float, without rounding the integer.
fn compare_exactly(a: i64, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b >= 2f64.powi(63) {
        return Some(Ordering::Less);
    }
    if b < -2f64.powi(63) {
        return Some(Ordering::Greater);
    }
    let whole = b.floor();
    Some(a.cmp(&(whole as i64)).then(if b > whole { Ordering::Less } else { Ordering::Equal }))
}

/// `abs`, `float`, `bool`, `int`, `min` and `max`.
pub fn builtin(name: &str, args: &[Datum]) -> Result<Datum, Class> {
    match (name, args[0]) {
        ("abs", Float(value)) => Ok(Float(value.abs())),
        ("abs", value) => as_int(value).checked_abs().map(Int).ok_or("OverflowError"),
        ("float", value) => Ok(Float(as_float(value))),
        ("bool", value) => Ok(Bool(truth(value))),
        ("int", Float(value)) if value.is_nan() => Err("ValueError"),
        ("int", Float(value)) => match value.trunc() {
            whole if (-2f64.powi(63)..2f64.powi(63)).contains(&whole) => Ok(Int(whole as i64)),
            _ => Err("OverflowError"),
        },
        ("int", value) => Ok(Int(as_int(value))),
        (name, first) => {
            let op = if name == "min" { "<" } else { ">" };
            let better = |best: Datum, next: &Datum| if compares(op, *next, best) { *next } else { best };
            Ok(args[1..].iter().fold(first, better))
        }
    }
}
