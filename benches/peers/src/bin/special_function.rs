//! Values of a special function for `vector_math/check.py`: raw numbers in, raw values out.
//!
//! `special_function NAME 64|32`. Points of a function of two numbers are pairs. The values are those of the
//! function alone; it is an error if rows with any instructions of the machine give other bits.

use cembra::vm::vector::Level;
use cembra::vm::vector::math::{BinaryFunction, MathOperand, UnaryFunction, double, single};
use std::io::{Read, Write};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, name, width] = &words[..] else { panic!("special_function NAME 64|32 < points > values") };
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input can be read");
    let output = match width.as_str() {
        "64" => {
            let x: Vec<f64> =
                input.chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().expect("8"))).collect();
            let binary = [double::binary_functions(), double::plane_functions()].concat();
            let values = values(name, &x, &double::unary_functions(), &binary, f64::to_bits);
            values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()
        }
        _ => {
            let x: Vec<f32> =
                input.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().expect("4"))).collect();
            let bits = |v: f32| u64::from(v.to_bits());
            let values = values(name, &x, &single::unary_functions(), &single::binary_functions(), bits);
            values.iter().flat_map(|v| v.to_le_bytes()).collect()
        }
    };
    std::io::stdout().write_all(&output).expect("standard output can be written");
}

fn values<T: Copy + Default + PartialEq>(
    name: &str,
    x: &[T],
    unary: &[UnaryFunction<T>],
    binary: &[BinaryFunction<T>],
    bits: impl Fn(T) -> u64,
) -> Vec<T> {
    let same = |a: T, b: T| bits(a) == bits(b) || (a != a && b != b);
    if let Some(function) = unary.iter().find(|f| f.name == name) {
        let values: Vec<T> = x.iter().map(|x| (function.one)(*x)).collect();
        for level in Level::available().iter().copied() {
            let mut rows = vec![T::default(); x.len()];
            (function.rows_on)(level, x, &mut rows);
            assert!(values.iter().zip(&rows).all(|(a, b)| same(*a, *b)), "{name} differs on {level:?}");
        }
        return values;
    }
    let function = binary.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no function {name}"));
    let column = |index: usize| x.chunks_exact(2).map(|pair| pair[index]).collect::<Vec<T>>();
    let (x, y) = (column(0), column(1));
    let values: Vec<T> = x.iter().zip(&y).map(|(x, y)| (function.one)(*x, *y)).collect();
    for level in Level::available().iter().copied() {
        let mut rows = vec![T::default(); x.len()];
        (function.rows_on)(level, MathOperand::Rows(&x), MathOperand::Rows(&y), &mut rows);
        assert!(values.iter().zip(&rows).all(|(a, b)| same(*a, *b)), "{name} differs on {level:?}");
    }
    values
}
