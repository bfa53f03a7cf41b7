//! Mutations of files: single bits, extreme sizes, parts that are cut, doubled or moved, tokens of the format.

use fastrand::Rng;

/// Words that break what trusts them: ends of ranges, lengths beyond any file, negative numbers.
const EXTREMES: [i64; 14] =
    [0, 1, -1, 2, 127, 128, 255, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX, i64::MIN];

/// Mutates a file in one to four ways. `others` are files of the same format, `tokens` what its texts consist of.
pub fn mutated(random: &mut Rng, file: &[u8], others: &[Vec<u8>], tokens: &[&str]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..random.usize(1..=4) {
        mutate(random, &mut bytes, others, tokens);
    }
    bytes
}

fn mutate(random: &mut Rng, bytes: &mut Vec<u8>, others: &[Vec<u8>], tokens: &[&str]) {
    let at = random.usize(..=bytes.len());
    let part = |random: &mut Rng, length: usize| {
        let from = random.usize(..=length);
        from..random.usize(from..=length.min(from + 64))
    };
    match random.usize(..if tokens.is_empty() { 8 } else { 11 }) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.usize(..8),
        1 if at < bytes.len() => bytes[at] = random.u8(..),
        2 | 3 => {
            let size = [1, 2, 4, 8][random.usize(..4)];
            let word = EXTREMES[random.usize(..EXTREMES.len())].to_le_bytes();
            // Sizes stand at even places, most at multiples of their own size.
            let at = if random.bool() { at / size * size } else { at };
            if let Some(target) = bytes.get_mut(at..at + size) {
                target.copy_from_slice(&word[..size]);
            }
        }
        4 => {
            let gone = part(random, bytes.len());
            bytes.drain(gone);
        }
        5 => {
            let copied = bytes[part(random, bytes.len())].to_vec();
            bytes.splice(at..at, copied);
        }
        6 => bytes.truncate(at),
        7 if !others.is_empty() => {
            let other = &others[random.usize(..others.len())];
            let copied = other[part(random, other.len())].to_vec();
            let end = (at + random.usize(..=copied.len())).min(bytes.len());
            bytes.splice(at..end, copied);
        }
        8.. => {
            let token = tokens[random.usize(..tokens.len())];
            let end = (at + random.usize(..4)).min(bytes.len());
            bytes.splice(at..end, token.bytes());
        }
        _ => {}
    }
}
