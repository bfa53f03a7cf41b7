//! What is printed reads back: expressions in both dialects, programs in their stored form.

use crate::random::generate::sample;
use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::builtins;
use cembra::vm::program::text;
use fastrand::Rng;

const FIRST: u64 = 0x7e47;
const PROGRAMS: u64 = 10_000;

#[test]
fn printed_expressions_and_programs_read_back() {
    let registry = Registry::standard();
    let mut stored = 0;
    for number in FIRST..FIRST + PROGRAMS {
        let sample = sample(&mut Rng::with_seed(number), 16);
        let printed = sample.expr.to_string();
        for dialect in [Dialect::Cembra, Dialect::Arolla] {
            let parsed = parse_with(&printed, &registry, dialect, &Limits::default())
                .unwrap_or_else(|e| panic!("program {number}: {e}\n{printed}"));
            assert_eq!(parsed, sample.expr, "program {number}");
            assert_eq!(parsed.to_string(), printed, "program {number}");
        }
        let leaves: Vec<_> = sample.leaves.iter().map(|(name, t)| (name.as_str(), t.clone())).collect();
        let source = Source::new(sample.expr, leaves).dialect(sample.dialect);
        // Some fail at compile time, as `1 // 0`.
        let Ok(prepared) = Prepare::standard().run(source) else { continue };
        let bound = compile(&prepared, &Options::default()).expect("valid");
        let printed = text::print(bound.program());
        let parsed = text::parse(&printed, &builtins::table())
            .unwrap_or_else(|e| panic!("program {number}: {e}\n{printed}"));
        assert_eq!(text::content_hash(&parsed), text::content_hash(bound.program()));
        assert_eq!(text::print(&parsed), printed, "program {number}");
        stored += 1;
    }
    assert!(stored > PROGRAMS / 2, "only {stored} programs compile");
}
