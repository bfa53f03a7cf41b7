//! Into SSA: reads and writes of variables become operands, and phis where several definitions meet.
//!
//! A phi for a variable stands in the iterated dominance frontier of the blocks that write it, where the variable
//! is live: nobody pays for a phi that nobody reads. Then a walk over the dominator tree renames.
//! (Cytron and others, 1991; pruned after Choi and others, 1991.)

use crate::ssa::dominators::Dominators;
use crate::ssa::flow::{BlockId, Flow, InstId, SsaOp, SsaOperation, VarId};
use crate::ssa::live::{BlockMarks, VariableUses, mark_live_in};
use cembra_vm::program::instruction::Span;

/// Brings a flow whose blocks are all reachable into SSA. Where a variable has no value, phis read
/// [`SsaOp::Undef`].
pub fn construct<O: SsaOperation>(flow: &mut Flow<O>) {
    let dominators = Dominators::new(flow);
    let phi_of = place_phis(flow, &dominators);
    Renaming::new(flow, phi_of).run(&dominators);
    remove_trivial_phis(flow);
}

/// Puts phis without operands where they are needed; gives the variable of each.
fn place_phis<O: SsaOperation>(flow: &mut Flow<O>, dominators: &Dominators) -> Vec<Option<VarId>> {
    let (uses, frontiers) = (VariableUses::new(flow), dominators.frontiers(flow));
    let mut variable_of = vec![None; flow.insts.len()];
    let mut phis: Vec<Vec<InstId>> = vec![Vec::new(); flow.blocks.len()];
    let mut has_phi = BlockMarks::new(flow.blocks.len());
    let mut live_in = BlockMarks::new(flow.blocks.len());
    for variable in (0..flow.variables as u32).map(VarId) {
        if uses.readers[variable.index()].is_empty() {
            continue;
        }
        mark_live_in(flow, &uses, variable, &mut live_in);
        has_phi.clear();
        let mut work = uses.writers[variable.index()].clone();
        while let Some(block) = work.pop() {
            for at in &frontiers[block.index()] {
                if live_in.contains(*at) && has_phi.insert(*at) {
                    let phi = flow.add_inst(SsaOp::Phi, Vec::new(), Span::default());
                    flow.insts[phi.index()].name = Some(variable);
                    variable_of.push(Some(variable));
                    phis[at.index()].push(phi);
                    work.push(*at);
                }
            }
        }
    }
    for (block, phis) in flow.blocks.iter_mut().zip(phis) {
        block.insts.splice(0..0, phis);
    }
    variable_of
}

struct Renaming<'f, O> {
    flow: &'f mut Flow<O>,
    /// The variable of each phi that was placed.
    phi_of: Vec<Option<VarId>>,
    /// Current value by variable.
    current: Vec<Option<InstId>>,
    /// What reads stand for.
    stands_for: Vec<Option<InstId>>,
    /// Operands of phis by phi, in the order of predecessors.
    undef: Option<InstId>,
}

enum Visit {
    Enter(BlockId),
    /// Takes back what the block below changed.
    Leave(Vec<(VarId, Option<InstId>)>),
}

impl<'f, O: SsaOperation> Renaming<'f, O> {
    fn new(flow: &'f mut Flow<O>, phi_of: Vec<Option<VarId>>) -> Renaming<'f, O> {
        for block in flow.block_ids() {
            let count = flow.block(block).predecessors.len();
            let phis: Vec<InstId> = flow.phis(block).collect();
            phis.iter().for_each(|phi| flow.insts[phi.index()].args = vec![InstId(u32::MAX); count]);
        }
        let (current, stands_for) = (vec![None; flow.variables], vec![None; flow.insts.len()]);
        Renaming { flow, phi_of, current, stands_for, undef: None }
    }

    fn run(&mut self, dominators: &Dominators) {
        let mut work = vec![Visit::Enter(BlockId(0))];
        while let Some(visit) = work.pop() {
            match visit {
                Visit::Enter(block) => {
                    work.push(Visit::Leave(self.block(block)));
                    work.extend(dominators.children(block).iter().map(|child| Visit::Enter(*child)));
                }
                Visit::Leave(changes) => {
                    for (variable, before) in changes.into_iter().rev() {
                        self.current[variable.index()] = before;
                    }
                }
            }
        }
    }

    /// Renames in one block; gives what the current values were before.
    fn block(&mut self, block: BlockId) -> Vec<(VarId, Option<InstId>)> {
        let mut changes = Vec::new();
        let insts = std::mem::take(&mut self.flow.blocks[block.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            let phi = self.phi_of.get(inst.index()).copied().flatten();
            if let Some(variable) = phi {
                changes.push((variable, self.current[variable.index()].replace(inst)));
                kept.push(inst);
                continue;
            }
            let mut args = std::mem::take(&mut self.flow.insts[inst.index()].args);
            args.iter_mut().for_each(|arg| *arg = self.resolved(*arg));
            match self.flow.insts[inst.index()].op {
                SsaOp::Read(variable) => {
                    let value = self.current[variable.index()];
                    self.stands_for[inst.index()] = Some(value.unwrap_or_else(|| self.undefined()));
                }
                SsaOp::Write(variable) => {
                    let value = args[0];
                    self.flow.insts[value.index()].name.get_or_insert(variable);
                    changes.push((variable, self.current[variable.index()].replace(value)));
                }
                _ => kept.push(inst),
            }
            self.flow.insts[inst.index()].args = args;
        }
        // The entry may have got an undefined value meanwhile, which stands first.
        kept.extend(std::mem::take(&mut self.flow.blocks[block.index()].insts));
        self.flow.blocks[block.index()].insts = kept;
        if let Some(operand) = self.flow.blocks[block.index()].tail.operand_mut() {
            *operand = self.stands_for[operand.index()].unwrap_or(*operand);
        }
        self.fill_phis(block);
        changes
    }

    fn resolved(&self, value: InstId) -> InstId {
        self.stands_for.get(value.index()).copied().flatten().unwrap_or(value)
    }

    fn fill_phis(&mut self, block: BlockId) {
        let tail = self.flow.block(block).tail.clone();
        for to in tail.successors() {
            let phis: Vec<InstId> = self.flow.phis(to).collect();
            for phi in phis {
                let Some(variable) = self.phi_of.get(phi.index()).copied().flatten() else { continue };
                let value = self.current[variable.index()];
                let value = value.unwrap_or_else(|| self.undefined());
                let predecessors = &self.flow.blocks[to.index()].predecessors;
                for (position, _) in predecessors.iter().enumerate().filter(|(_, from)| **from == block) {
                    self.flow.insts[phi.index()].args[position] = value;
                }
            }
        }
    }

    /// The value of variables without one, in the entry.
    fn undefined(&mut self) -> InstId {
        if let Some(known) = self.undef {
            return known;
        }
        let undef = self.flow.add_inst(SsaOp::Undef, Vec::new(), Span::default());
        self.flow.blocks[0].insts.insert(0, undef);
        self.stands_for.push(None);
        *self.undef.insert(undef)
    }
}

/// Replaces phis whose operands are one value, or the phi itself, until there are none.
pub fn remove_trivial_phis<O: SsaOperation>(flow: &mut Flow<O>) {
    remove_phis_of_one(flow, |_, _| None);
}

/// The same where an operand counts as the value that it passes on, if it does.
pub fn remove_phis_of_one<O: SsaOperation>(
    flow: &mut Flow<O>,
    passes_on: impl Fn(&Flow<O>, InstId) -> Option<InstId>,
) {
    let mut stands_for: Vec<InstId> = (0..flow.insts.len() as u32).map(InstId).collect();
    let find = |stands_for: &[InstId], mut value: InstId| {
        while stands_for[value.index()] != value {
            value = stands_for[value.index()];
        }
        value
    };
    loop {
        let mut changed = false;
        for block in flow.block_ids() {
            let phis: Vec<InstId> = flow.phis(block).collect();
            for phi in phis {
                if stands_for[phi.index()] != phi {
                    continue;
                }
                let source = |arg: &InstId| {
                    let first = find(&stands_for, *arg);
                    let next = |value: &InstId| passes_on(flow, *value).map(|from| find(&stands_for, from));
                    std::iter::successors(Some(first), next).last().unwrap_or(first)
                };
                let mut others: Vec<InstId> = flow.inst(phi).args.iter().map(source).collect();
                others.retain(|value| *value != phi);
                others.dedup();
                if let [one] = others[..] {
                    stands_for[phi.index()] = one;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    for value in (0..stands_for.len() as u32).map(InstId) {
        let root = find(&stands_for, value);
        stands_for[value.index()] = root;
    }
    flow.replace_values(|value| stands_for[value.index()]);
    for block in &mut flow.blocks {
        block.insts.retain(|inst| stands_for[inst.index()] == *inst);
    }
}
