//! `math.*_distribution_inverse_cdf`: the number below which a variable is with a probability.

use crate::operator::Family;
use crate::value::Fault;
use crate::vector::distribution;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            "math.normal_distribution_inverse_cdf",
            &["x"],
            "The number that a standard normal variable is not above with probability x. Raises unless x is in 0 … 1.",
        )
        .cost_of(40)
        .raises()
        .unary(|x: f32| normal(x.into()).map(|x| x as f32))
        .unary(normal),
        Family::new(
            "math.t_distribution_inverse_cdf",
            &["x", "degrees_of_freedom"],
            "The number that a variable of Student's t distribution is not above with probability x. Raises unless x is in 0 … 1, and the degrees of freedom are above 0 and finite.",
        )
        .cost_of(2000)
        .raises()
        .binary(|x: f32, degrees: f32| student(x.into(), degrees.into()).map(|t| t as f32))
        .binary(student),
        Family::new(
            "math.beta_distribution_inverse_cdf",
            &["cdf_arg", "alpha", "beta"],
            "The number that a variable of the beta distribution is not above with probability cdf_arg. Raises unless that is in 0 … 1, and alpha and beta are above 0 and finite.",
        )
        .cost_of(2000)
        .raises()
        .ternary(|p: f32, a: f32, b: f32| beta(p.into(), a.into(), b.into()).map(|x| x as f32))
        .ternary(beta),
    ]
}

fn domain(message: String) -> Fault {
    Fault::Domain { message: message.into() }
}

fn check_probability(x: f64) -> Result<(), Fault> {
    match (0.0..=1.0).contains(&x) {
        true => Ok(()),
        false => Err(domain(format!("inverse CDF accepts only values between 0 and 1, got {x}"))),
    }
}

fn check_positive(value: f64, name: &str) -> Result<(), Fault> {
    match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(domain(format!("{name} must be a positive finite number, got {value}"))),
    }
}

fn normal(x: f64) -> Result<f64, Fault> {
    check_probability(x).map(|()| distribution::normal(x))
}

fn student(x: f64, degrees: f64) -> Result<f64, Fault> {
    check_probability(x)?;
    check_positive(degrees, "degrees_of_freedom of the t distribution")?;
    Ok(distribution::student(x, degrees))
}

fn beta(p: f64, alpha: f64, beta: f64) -> Result<f64, Fault> {
    check_probability(p)?;
    check_positive(alpha, "alpha of the beta distribution")?;
    check_positive(beta, "beta of the beta distribution")?;
    Ok(distribution::beta(p, alpha, beta))
}
