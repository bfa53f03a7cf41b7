//! Instruction sets: which copies of a loop there are, and which the machine can run.
//!
//! A loop is written once and compiled once for each level. No level reorders or contracts an operation,
//! so all of them give the same bits.

use std::sync::OnceLock;

/// A loop that [`Level::run`] compiles for every level.
///
/// Mark `run` and what it calls `#[inline(always)]`: only what is inlined gets the instructions of a level.
pub trait Loop {
    /// What comes out of it.
    type Output;

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

    /// The levels that this machine can run, the least first.
    pub fn available() -> &'static [Level] {
        let best = Level::ALL.iter().rposition(|level| *level == Level::best()).unwrap_or(0);
        &Level::ALL[..=best]
    }

    /// The best level that this machine can run.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(Level::detect)
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
            Level::Avx512 => unsafe { run_avx512(body) },
            // SAFETY: the machine has the level.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { run_avx2(body) },
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
