//! Instruction sets: which copies of a loop there are, and which the machine can run.
//!
//! A loop is written once and compiled once for each level. No level reorders or contracts an operation,
//! so all of them give the same bits.
//!
//! A process uses one level throughout, decided when it is asked for first: the best one of the machine, or a lower
//! one for comparisons and tests, by [`Level::cap`] or the environment variable `CEMBRA_LEVEL`.

use std::sync::OnceLock;

/// What this process uses.
static USED: OnceLock<Level> = OnceLock::new();

/// A loop that [`Level::run`] compiles for every level.
///
/// Mark `run` and what it calls `#[inline(always)]`: only what is inlined gets the instructions of a level.
pub trait Loop {
    /// What comes out of it.
    type Output;

    /// False if vectors of 512 bits are not worth a copy: the one of AVX2 serves machines that have more.
    const GAINS_BY_WIDTH: bool = true;

    /// Runs it.
    fn run(self) -> Self::Output;
}

/// An instruction set that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every machine of the target has: SSE2, or NEON.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, BW and VL.
    Avx512,
}

impl Level {
    /// Every level, the least first.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The name as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Level::Baseline => "baseline",
            Level::Avx2 => "AVX2",
            Level::Avx512 => "AVX-512",
        }
    }

    /// The level with a name as commands take it: `baseline`, `avx2` or `avx512`.
    pub fn from_word(word: &str) -> Option<Level> {
        match word {
            "baseline" => Some(Level::Baseline),
            "avx2" => Some(Level::Avx2),
            "avx512" => Some(Level::Avx512),
            _ => None,
        }
    }

    /// Lets this process use this level, or the best one of the machine if that is lower. Before anything else is
    /// done: results have the same bits on each level, but code that has been chosen stays.
    ///
    /// # Errors
    /// The process uses another level already.
    pub fn cap(self) -> Result<(), Level> {
        let capped = Level::detect().min(self);
        match *USED.get_or_init(|| capped) {
            used if used == capped => Ok(()),
            used => Err(used),
        }
    }

    /// The levels that this process can run, the least first.
    pub fn available() -> &'static [Level] {
        let best = Level::ALL.iter().rposition(|level| *level == Level::best()).unwrap_or(0);
        &Level::ALL[..=best]
    }

    /// The best level that this process can run.
    #[inline]
    pub fn best() -> Level {
        *USED.get_or_init(|| {
            let asked_for = std::env::var("CEMBRA_LEVEL").ok();
            let cap = asked_for.and_then(|word| Level::from_word(&word));
            cap.map_or(Level::detect(), |cap| cap.min(Level::detect()))
        })
    }

    /// Runs a loop with the instructions of this level.
    ///
    /// # Panics
    /// The machine does not have the level.
    #[inline]
    pub fn run<L: Loop>(self, body: L) -> L::Output {
        assert!(self <= Level::best(), "{self:?} on a machine without it");
        match self {
            // SAFETY: the machine has the level.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if L::GAINS_BY_WIDTH => unsafe { run_avx512(body) },
            // SAFETY: the machine has the level, or a better one.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx2 => unsafe { run_avx2(body) },
            _ => body.run(),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Level {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            _ => Level::Baseline,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Level {
        Level::Baseline
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<L: Loop>(body: L) -> L::Output {
    body.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
fn run_avx512<L: Loop>(body: L) -> L::Output {
    body.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_is_used_stays() {
        let used = Level::best();
        assert_eq!(used.cap(), Ok(()));
        if used > Level::Baseline {
            assert_eq!(Level::Baseline.cap(), Err(used));
            assert_eq!(Level::best(), used);
        }
    }

    #[test]
    fn words_name_levels() {
        let words = ["baseline", "avx2", "avx512"];
        assert_eq!(words.map(Level::from_word), Level::ALL.map(Some));
        assert_eq!(Level::from_word("AVX-512"), None);
    }
}
