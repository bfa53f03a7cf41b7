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
