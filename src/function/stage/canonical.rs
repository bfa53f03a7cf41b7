//! The canonical form of a function: what a text of it says, and nothing else.
//!
//! 1. Values are numbered in the order of the blocks; instructions that stand in no block are gone.
//! 2. Variables of one name are one variable, numbered in the order of their first values; others are gone.

use crate::function::stage::form::StageFunction;
use crate::ssa::{InstId, SsaOperation, VarId};
use hashbrown::HashMap;

impl<O: SsaOperation, T: Clone> StageFunction<O, T> {
    /// The same function in canonical form.
    pub(super) fn canonical(mut self) -> StageFunction<O, T> {
        let order: Vec<InstId> =
            self.flow.blocks.iter().flat_map(|block| block.insts.iter().copied()).collect();
        let mut number = vec![InstId(u32::MAX); self.flow.insts.len()];
        order.iter().zip(0..).for_each(|(old, new)| number[old.index()] = InstId(new));
        let renumbered = |value: &mut InstId| *value = number[value.index()];
        let (mut variables, mut known) = (Vec::new(), HashMap::new());
        let mut insts = Vec::with_capacity(order.len());
        for old in &order {
            let mut row = self.flow.inst(*old).clone();
            row.args.iter_mut().for_each(renumbered);
            let name =
                row.name.map(|variable| &self.variables[variable.index()]).filter(|name| !name.is_empty());
            row.name = name.map(|name| {
                *known.entry(name.clone()).or_insert_with(|| {
                    variables.push(name.clone());
                    VarId(variables.len() as u32 - 1)
                })
            });
            insts.push(row);
        }
        for block in &mut self.flow.blocks {
            block.insts.iter_mut().for_each(renumbered);
            block.tail.operand_mut().into_iter().for_each(renumbered);
        }
        let _: &HashMap<String, VarId> = &known;
        self.types = order.iter().map(|old| self.types.get(old.index()).cloned().flatten()).collect();
        (self.flow.insts, self.flow.variables, self.variables) = (insts, variables.len(), variables);
        self
    }
}
