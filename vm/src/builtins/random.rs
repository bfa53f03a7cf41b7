//! `random.*`: hashes of texts, by which rows are sampled.
//!
//! The hash is CityHash64 with a seed, of CityHash 1.1, without its highest bit: the same text and seed give the same number
//! everywhere and always.

use crate::array::meter::Meter;
use crate::builtins::strings::search::poll_if_long;
use crate::layout::access::Text;
use crate::operator::Family;
use crate::value::Fault;
use crate::value::qtype::{INT64, TEXT};

/// Name of `random._cityhash`.
pub const CITYHASH: &str = "random._cityhash";

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(CITYHASH, &["x", "seed"], "The hash of a text, from 0 up to 2^63 - 1.")
            .cost_of(12)
            .over_rows(|call| {
                let (seeds, meter) = (call.number_rows(1), call.meter());
                call.map_strings::<Text, Option<i64>, _, 1>(|[text], row| {
                    seeds.get(row).map(|seed| hash_of(text, seed, meter)).transpose()
                })
            })
            .general(&[TEXT, INT64], INT64, |call| {
                let hash = hash_of(call.text(0), call.get::<i64>(1), call.meter())?;
                call.set::<i64>(hash);
                Ok(())
            }),
    ]
}

fn hash_of(text: &str, seed: i64, meter: &Meter<'_>) -> Result<i64, Fault> {
    poll_if_long::<Text>(text, meter)?;
    Ok((city_hash(text.as_bytes(), seed as u64) & i64::MAX as u64) as i64)
}

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
/// The factor of `Hash128to64`.
const K_MUL: u64 = 0x9ddf_ea08_eb38_2d69;

/// CityHash64WithSeed.
fn city_hash(bytes: &[u8], seed: u64) -> u64 {
    mixed(unseeded(bytes).wrapping_sub(K2), seed, K_MUL)
}

/// CityHash64.
fn unseeded(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=64 => up_to_64(bytes),
        _ => longer(bytes),
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the hash reads inside of the text"))
}

fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(*bytes[at..].first_chunk().expect("the hash reads inside of the text")))
}

fn shifted(x: u64) -> u64 {
    x ^ (x >> 47)
}

/// HashLen16.
fn mixed(u: u64, v: u64, factor: u64) -> u64 {
    let a = shifted((u ^ v).wrapping_mul(factor));
    shifted((v ^ a).wrapping_mul(factor)).wrapping_mul(factor)
}

fn factor(bytes: &[u8]) -> u64 {
    K2.wrapping_add(2 * bytes.len() as u64)
}

fn up_to_16(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if length >= 8 {
        let factor = factor(bytes);
        let (a, b) = (word(bytes, 0).wrapping_add(K2), word(bytes, length - 8));
        let c = b.rotate_right(37).wrapping_mul(factor).wrapping_add(a);
        let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(factor);
        mixed(c, d, factor)
    } else if length >= 4 {
        let u = (length as u64).wrapping_add(half(bytes, 0) << 3);
        mixed(u, half(bytes, length - 4), factor(bytes))
    } else if length > 0 {
        let at = |at: usize| u64::from(bytes[at]);
        let (y, z) = (at(0) + (at(length / 2) << 8), length as u64 + (at(length - 1) << 2));
        shifted(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
    } else {
        K2
    }
}

fn up_to_32(bytes: &[u8]) -> u64 {
    let (length, factor) = (bytes.len(), factor(bytes));
    let (a, b) = (word(bytes, 0).wrapping_mul(K1), word(bytes, 8));
    let (c, d) = (word(bytes, length - 8).wrapping_mul(factor), word(bytes, length - 16).wrapping_mul(K2));
    let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let v = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    mixed(u, v, factor)
}

fn up_to_64(bytes: &[u8]) -> u64 {
    let (length, factor) = (bytes.len(), factor(bytes));
    let (a, b) = (word(bytes, 0).wrapping_mul(K2), word(bytes, 8));
    let (c, d) = (word(bytes, length - 24), word(bytes, length - 32));
    let (e, f) = (word(bytes, 16).wrapping_mul(K2), word(bytes, 24).wrapping_mul(9));
    let (g, h) = (word(bytes, length - 8), word(bytes, length - 16).wrapping_mul(factor));
    let ag = a.wrapping_add(g);
    let u = ag.rotate_right(43).wrapping_add(b.rotate_right(30).wrapping_add(c).wrapping_mul(9));
    let v = (ag ^ d).wrapping_add(f).wrapping_add(1);
    let w = u.wrapping_add(v).wrapping_mul(factor).swap_bytes().wrapping_add(h);
    let x = e.wrapping_add(f).rotate_right(42).wrapping_add(c);
    let y = v.wrapping_add(w).wrapping_mul(factor).swap_bytes().wrapping_add(g).wrapping_mul(factor);
    let z = e.wrapping_add(f).wrapping_add(c);
    let a = x.wrapping_add(z).wrapping_mul(factor).wrapping_add(y).swap_bytes().wrapping_add(b);
    let b = z.wrapping_add(a).wrapping_mul(factor).wrapping_add(d).wrapping_add(h);
    shifted(b).wrapping_mul(factor).wrapping_add(x)
}

/// WeakHashLen32WithSeeds of the 32 bytes at an offset.
fn weak(bytes: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let (w, x, y, z) = (word(bytes, at), word(bytes, at + 8), word(bytes, at + 16), word(bytes, at + 24));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let sum = a.wrapping_add(x).wrapping_add(y);
    (sum.wrapping_add(z), b.wrapping_add(sum.rotate_right(44)).wrapping_add(a))
}

fn longer(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let mut x = word(bytes, length - 40);
    let mut y = word(bytes, length - 16).wrapping_add(word(bytes, length - 56));
    let mut z = mixed(word(bytes, length - 48).wrapping_add(length as u64), word(bytes, length - 24), K_MUL);
    let mut v = weak(bytes, length - 64, length as u64, z);
    let mut w = weak(bytes, length - 32, y.wrapping_add(K1), x);
    x = x.wrapping_mul(K1).wrapping_add(word(bytes, 0));
    for at in (0..(length - 1) & !63).step_by(64) {
        let sum = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(bytes, at + 8));
        x = sum.rotate_right(37).wrapping_mul(K1) ^ w.1;
        let sum = y.wrapping_add(v.1).wrapping_add(word(bytes, at + 48));
        y = sum.rotate_right(42).wrapping_mul(K1).wrapping_add(v.0).wrapping_add(word(bytes, at + 40));
        z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(K1);
        v = weak(bytes, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak(bytes, at + 32, z.wrapping_add(w.1), y.wrapping_add(word(bytes, at + 16)));
        (x, z) = (z, x);
    }
    let u = mixed(v.0, w.0, K_MUL).wrapping_add(shifted(y).wrapping_mul(K1)).wrapping_add(z);
    mixed(u, mixed(v.1, w.1, K_MUL).wrapping_add(x), K_MUL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the published engine, one for each length that is read in another way.
    #[test]
    fn hashes_are_those_of_city_hash() {
        let long = |count: usize| "x".repeat(count);
        let cases = [
            (String::new(), 1, 8430598780235088852),
            ("1".to_owned(), 1, 402623703329080176),
            ("abc".to_owned(), -1, 8597108477593773311),
            ("b'abc'".to_owned(), 1, 4306972536138712785),
            (long(20), 1, 8346281282983426591),
            (long(40), 1, 1553018083240773322),
            (long(100), 1, 2352519803904313017),
        ];
        for (text, seed, expected) in cases {
            assert_eq!(hash_of(&text, seed, &Meter::of_default()), Ok(expected), "{text}");
        }
    }
}
