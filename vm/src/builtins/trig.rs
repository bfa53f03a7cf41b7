//! `math.trig.*`: trigonometry and hyperbolic functions. Angles are in radians.

use crate::builtins::math::special_row;
use crate::operator::Family;
use crate::vector::math::{BinaryKind, UnaryKind, double, single};

/// Name of `math.trig.acos`.
pub const ACOS: &str = "math.trig.acos";
/// Name of `math.trig.asin`.
pub const ASIN: &str = "math.trig.asin";
/// Name of `math.trig.atan`.
pub const ATAN: &str = "math.trig.atan";
/// Name of `math.trig.atan2`.
pub const ATAN2: &str = "math.trig.atan2";
/// Name of `math.trig.cos`.
pub const COS: &str = "math.trig.cos";
/// Name of `math.trig.cosh`.
pub const COSH: &str = "math.trig.cosh";
/// Name of `math.trig.sin`.
pub const SIN: &str = "math.trig.sin";
/// Name of `math.trig.sinh`.
pub const SINH: &str = "math.trig.sinh";
/// Name of `math.trig.tan`.
pub const TAN: &str = "math.trig.tan";
/// Name of `math.trig.tanh`.
pub const TANH: &str = "math.trig.tanh";

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        special_row!(SIN, "Sine of an angle in radians.", 20, ["math.trig.cos(x)"], sin, sin_into),
        special_row!(COS, "Cosine of an angle in radians.", 20, ["-math.trig.sin(x)"], cos, cos_into),
        special_row!(
            TAN,
            "Tangent of an angle in radians.",
            25,
            ["1.0 + math.trig.tan(x) * math.trig.tan(x)"],
            tan,
            tan_into
        ),
        special_row!(ASIN, "Arc sine in radians.", 25, ["1.0 / math.sqrt(1.0 - x * x)"], asin, asin_into),
        special_row!(ACOS, "Arc cosine in radians.", 25, ["-1.0 / math.sqrt(1.0 - x * x)"], acos, acos_into),
        special_row!(ATAN, "Arc tangent in radians.", 25, ["1.0 / (1.0 + x * x)"], atan, atan_into),
        special_row!(SINH, "Hyperbolic sine.", 30, ["math.trig.cosh(x)"], sinh, sinh_into),
        special_row!(COSH, "Hyperbolic cosine.", 30, ["math.trig.sinh(x)"], cosh, cosh_into),
        special_row!(
            TANH,
            "Hyperbolic tangent.",
            30,
            ["1.0 - math.trig.tanh(x) * math.trig.tanh(x)"],
            tanh,
            tanh_into
        ),
        special_row!(
            "math.trig.asinh",
            "Inverse hyperbolic sine.",
            40,
            ["1.0 / math.sqrt(x * x + 1.0)"],
            asinh,
            asinh_into
        ),
        special_row!(
            "math.trig.acosh",
            "Inverse hyperbolic cosine.",
            40,
            ["1.0 / math.sqrt(x * x - 1.0)"],
            acosh,
            acosh_into
        ),
        special_row!(
            "math.trig.atanh",
            "Inverse hyperbolic tangent.",
            40,
            ["1.0 / (1.0 - x * x)"],
            atanh,
            atanh_into
        ),
        Family::new(ATAN2, &["y", "x"], "Angle of the point (x, y) in radians.")
            .cost_of(30)
            .derivative(&["x / (x * x + y * y)", "-y / (x * x + y * y)"])
            .special(BinaryKind::Atan2)
            .binary_rows_in_place(|y: f32, x: f32| single::atan2(y, x), single::atan2_into)
            .binary_rows_in_place(|y: f64, x: f64| double::atan2(y, x), double::atan2_into),
    ]
}
