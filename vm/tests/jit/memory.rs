//! Memory of machine code: never writable and executable at once, and given back.

use crate::agree::{Tiers, plain};
use crate::draft::Draft;
use cembra_vm::program::Routine;
use cembra_vm::value::Value;
use cembra_vm::value::qtype::INT64;

/// `x + x + …`, of so many sums.
fn chain(length: usize) -> Routine {
    let mut draft = Draft::new();
    let x = draft.next_input(INT64);
    let out = draft.next_output(INT64);
    let mut last = x;
    for _ in 0..length {
        let next = draft.next_temporary(INT64);
        draft.run("python.add", &[last, x], next);
        last = next;
    }
    draft.run("core._copy", &[last], out);
    draft.finish(&[("x", x)], out)
}

/// The mappings of this process, as the system lists them.
#[cfg(target_os = "linux")]
fn mappings() -> Vec<String> {
    let listed = std::fs::read_to_string("/proc/self/maps").expect("the system lists them");
    listed.lines().map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn code_is_not_writable_and_goes_with_its_program() {
    let executable = || mappings().iter().filter(|line| line.contains("r-xp")).count();
    let kept: Vec<Tiers> = (0..40).map(|_| Tiers::of(vec![chain(20)])).collect();
    let before = executable();
    for _ in 0..2_000 {
        let tiers = Tiers::of(vec![chain(20)]);
        tiers.agree(&[Value::from(2i64)], &plain);
    }
    assert!(executable() < before + 100, "{} executable mappings, {before} before", executable());
    let both: Vec<String> = mappings().into_iter().filter(|line| line.contains("rwx")).collect();
    assert_eq!(both, Vec::<String>::new());
    kept[0].agree(&[Value::from(2i64)], &plain);
}

#[test]
fn long_chains_are_compiled_in_time() {
    let tiers = Tiers::of(vec![chain(20_000)]);
    tiers.agree(&[Value::from(1i64)], &plain);
    tiers.agree(&[Value::from(i64::MAX / 10_000)], &plain);
    assert!(Tiers::maybe(vec![chain(200_000)]).is_err(), "it is too large");
}
