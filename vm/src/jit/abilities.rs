//! Abilities: what the processor of this machine can do in one instruction.

use cranelift_codegen::isa::TargetIsa;

/// What a processor can do beyond what every one can.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// Rounds floats to integers.
    pub(super) rounds: bool,
    /// Multiplies and adds with one rounding.
    pub(super) fuses: bool,
    /// Combines the bits of a float with those of a comparison.
    pub(super) masks: bool,
}

impl Abilities {
    /// Those of a target.
    pub(super) fn of(isa: &dyn TargetIsa) -> Abilities {
        let flags = isa.isa_flags();
        let has = |name: &str| flags.iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
        match isa.triple().architecture {
            target_lexicon::Architecture::X86_64 => {
                let fuses = has("has_avx") && has("has_fma");
                Abilities { rounds: has("has_sse41"), fuses, masks: true }
            }
            target_lexicon::Architecture::Aarch64(_) => Abilities { rounds: true, fuses: true, masks: false },
            _ => Abilities { rounds: false, fuses: false, masks: false },
        }
    }
}
