//! Names of values in texts: `s.2` is the third definition of `s`, `%3` a value without a variable.

use crate::ssa::{Flow, SsaOperation};
use hashbrown::HashMap;

/// The name of each value of a flow, by instruction, in the order of its blocks.
pub fn value_names<O: SsaOperation>(flow: &Flow<O>, variables: &[String]) -> Vec<String> {
    // Variables of one name share its numbers.
    let mut versions: HashMap<&str, u32> = HashMap::new();
    let mut names = vec![String::new(); flow.insts.len()];
    for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
        let variable = flow.inst(*inst).name.map_or("", |variable| &variables[variable.index()]);
        let version = versions.entry(variable).or_default();
        names[inst.index()] = match variable {
            "" => format!("%{version}"),
            variable => format!("{variable}.{version}"),
        };
        *version += 1;
    }
    names
}

/// A message with the names of values instead of the numbers of instructions, `%5`.
pub(super) fn with_names(message: &str, names: &[String]) -> String {
    let mut parts = message.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let name = part[..digits].parse().ok().and_then(|number: usize| names.get(number));
        match name.filter(|name| !name.is_empty()) {
            Some(name) => out.push_str(name),
            None => {
                out.push('%');
                out.push_str(&part[..digits]);
            }
        }
        out.push_str(&part[digits..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_names() {
        let names = ["n.0".to_owned(), "%0".to_owned(), String::new()];
        assert_eq!(
            with_names("%0 and %1, not %2 or %9: 50% of x % y", &names),
            "n.0 and %0, not %2 or %9: 50% of x % y"
        );
    }
}
