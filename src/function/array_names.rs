//! One array by several names: what programs, whose slots own their arrays, cannot show is refused here.
//!
//! ```text
//! b = a if k else c   written behind: which one?                     refused; read: fine
//! g(a, a)             g writes its first argument                    refused
//! b = g(a)            g stays a call and returns what it got         refused if `a` or `b` is written behind
//! ```
//!
//! What is built in place needs none of this: there two names of one array are one value.

use crate::function::draft::Draft;
use crate::function::error::FunctionError;
use crate::function::low::LowOp;
use crate::ssa::destruct::EdgeCopy;
use crate::ssa::{BlockId, InstId, SsaOp, Tail};
use cembra_vm::builtins::core::MAKE_TUPLE;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::QType;
use hashbrown::{HashMap, HashSet};

/// What happens first to the array of a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstUse {
    Update,
    OtherArray,
}

/// By instance, the parameters that its result may be, or hold: found from callees to callers.
pub(super) fn returned_parameters(drafts: &[Draft]) -> Vec<HashSet<u32>> {
    let mut returned: Vec<HashSet<u32>> = vec![HashSet::new(); drafts.len()];
    loop {
        let mut grew = false;
        for (number, draft) in drafts.iter().enumerate() {
            for block in draft.flow().block_ids() {
                let Tail::Return(value) = draft.flow().block(block).tail else { continue };
                for parameter in draft.parameters_of(value, &returned) {
                    grew |= returned[number].insert(parameter);
                }
            }
        }
        if !grew {
            return returned;
        }
    }
}

fn array_in_tuple(span: Span) -> FunctionError {
    let message = "an array in a tuple is read, not written";
    FunctionError::unsupported("array-in-tuple", message, "pass the array itself", span)
}

impl Draft {
    /// True if the array that a register holds at the end of a block may be changed in place behind it, by this register:
    /// paths end where the register gets another array.
    fn is_updated_behind(&self, block: BlockId, register: InstId, updated: &[HashSet<u32>]) -> bool {
        let mut seen = HashSet::new();
        let mut work: Vec<BlockId> = self.flow().block(block).tail.successors().collect();
        while let Some(at) = work.pop() {
            if !seen.insert(at) {
                continue;
            }
            match self.first_use(at, register, updated) {
                Some(FirstUse::Update) => return true,
                Some(FirstUse::OtherArray) => {}
                None => work.extend(self.flow().block(at).tail.successors()),
            }
        }
        false
    }

    /// Whether a block changes the array of a register first, or gives the register another one.
    fn first_use(&self, block: BlockId, register: InstId, updated: &[HashSet<u32>]) -> Option<FirstUse> {
        for inst in &self.flow().block(block).insts {
            if self.updated_by(*inst, updated).contains(&register) {
                return Some(FirstUse::Update);
            }
            // The array of a phi that shares the register is in place; an operator that updates gives its operand.
            let gives = self.flow().operation(*inst).is_some_and(|op| !matches!(op, LowOp::Update(_)));
            if gives && self.register(*inst) == register {
                return Some(FirstUse::OtherArray);
            }
        }
        let overwrites = |copy: &EdgeCopy| match copy {
            EdgeCopy::Copy { to, .. } | EdgeCopy::Restore { to, .. } => *to == register,
            EdgeCopy::Save { .. } => false,
        };
        self.out.copies[block.index()].iter().any(overwrites).then_some(FirstUse::OtherArray)
    }

    /// True of a new array that nobody reads behind this block but the phi that takes it: the copy is the array.
    fn is_handed_on(&self, block: BlockId, array: InstId) -> bool {
        let flow = self.flow();
        let reads = |values: &[InstId]| values.iter().filter(|value| **value == array).count();
        let mut phis = 0;
        for other in flow.block_ids() {
            let rows = flow.block(other);
            for inst in &rows.insts {
                let count = reads(&flow.inst(*inst).args);
                match flow.is_phi(*inst) {
                    true => phis += count,
                    false if count > 0 && other != block => return false,
                    false => {}
                }
            }
            if rows.tail.operand() == Some(array) {
                return false;
            }
        }
        phis == 1 && matches!(flow.operation(array), Some(LowOp::Operator(..)))
    }

    /// Rule 4 of [programs](super::program).
    pub(super) fn check_arrays(
        &self,
        updated: &[HashSet<u32>],
        returned: &[HashSet<u32>],
    ) -> Result<(), FunctionError> {
        for block in self.flow().block_ids() {
            for copy in &self.out.copies[block.index()] {
                let (EdgeCopy::Copy { to: at, from } | EdgeCopy::Restore { to: at, saved: from }) = copy
                else {
                    continue;
                };
                let is_undefined = matches!(self.flow().inst(*from).op, SsaOp::Undef);
                let is_written =
                    || [*at, *from].into_iter().any(|array| self.is_updated_behind(block, array, updated));
                if self.is_array(*at) && !is_undefined && is_written() && !self.is_handed_on(block, *from) {
                    let name = self.flow().inst(*at).name.map(|name| &*self.function.variables[name.index()]);
                    let name = name.filter(|name| !name.is_empty()).map(|name| format!("`{name}`"));
                    return Err(FunctionError::unsupported(
                        "array-alias",
                        format!(
                            "{} is one of several arrays here, and is written",
                            name.as_deref().unwrap_or("a name")
                        ),
                        "write through a name that is always the same array",
                        self.flow().block(block).tail_span,
                    ));
                }
            }
            for inst in &self.flow().block(block).insts {
                let args = &self.flow().inst(*inst).args;
                if let Some(callee) = self.flow().operation(*inst).and_then(LowOp::callee) {
                    self.check_call(args, &updated[callee.0 as usize], self.flow().inst(*inst).span)?;
                }
                let first = args.first().filter(|_| {
                    matches!(self.flow().operation(*inst), Some(LowOp::Update(_)))
                        && matches!(self.flow().operation(args[0]), Some(LowOp::Part(_)))
                });
                if first.is_some() {
                    return Err(array_in_tuple(self.flow().inst(*inst).span));
                }
            }
        }
        self.check_results(updated, returned)
    }

    /// One array is not passed twice where the callee writes it.
    fn check_call(&self, args: &[InstId], updated: &HashSet<u32>, span: Span) -> Result<(), FunctionError> {
        for written in updated {
            if matches!(self.flow().operation(args[*written as usize]), Some(LowOp::Part(_))) {
                return Err(array_in_tuple(span));
            }
            let register = self.register(args[*written as usize]);
            let names = args.iter().filter(|arg| self.register(**arg) == register).count();
            if names > 1 {
                return Err(FunctionError::unsupported(
                    "array-alias",
                    "one array is passed twice, and written by the function",
                    "pass a copy: a.copy()",
                    span,
                ));
            }
        }
        Ok(())
    }

    /// An array that a call returns, and got, is read behind it by either name, and written by none.
    fn check_results(
        &self,
        updated: &[HashSet<u32>],
        returned: &[HashSet<u32>],
    ) -> Result<(), FunctionError> {
        let mut behind: HashMap<InstId, Vec<bool>> = HashMap::new();
        for block in self.flow().block_ids() {
            // What happens first to a register in the rest of the block.
            let mut next: HashMap<InstId, FirstUse> = HashMap::new();
            for copy in &self.out.copies[block.index()] {
                if let EdgeCopy::Copy { to, .. } | EdgeCopy::Restore { to, .. } = copy {
                    next.insert(*to, FirstUse::OtherArray);
                }
            }
            for inst in self.flow().block(block).insts.iter().rev() {
                for name in self.names_of_result(*inst, returned) {
                    let is_written = match next.get(&name) {
                        Some(first) => *first == FirstUse::Update,
                        None => behind
                            .entry(name)
                            .or_insert_with(|| self.updated_behind_blocks(name, updated))[block.index()],
                    };
                    if is_written {
                        return Err(FunctionError::unsupported(
                            "array-alias",
                            "a call returns an array that is passed to it, and one of the two names is written",
                            "write by the name that is passed, before the call; or pass a copy: a.copy()",
                            self.flow().inst(*inst).span,
                        ));
                    }
                }
                if self.flow().operation(*inst).is_some_and(|op| !matches!(op, LowOp::Update(_))) {
                    next.insert(self.register(*inst), FirstUse::OtherArray);
                }
                next.extend(self.updated_by(*inst, updated).into_iter().map(|at| (at, FirstUse::Update)));
            }
        }
        Ok(())
    }

    /// The registers of the array that a call returns and got; none of other instructions.
    fn names_of_result(&self, inst: InstId, returned: &[HashSet<u32>]) -> HashSet<InstId> {
        let callee = self.flow().operation(inst).and_then(LowOp::callee);
        let Some(positions) = callee.map(|callee| &returned[callee.0 as usize]).filter(|it| !it.is_empty())
        else {
            return HashSet::new();
        };
        let args = &self.flow().inst(inst).args;
        let passed = positions.iter().map(|position| self.register(args[*position as usize]));
        passed.chain([self.register(inst)]).collect()
    }

    /// By block, whether the array of a register may be changed behind its end, as [`Draft::is_updated_behind`] says of
    /// one block.
    fn updated_behind_blocks(&self, register: InstId, updated: &[HashSet<u32>]) -> Vec<bool> {
        let mut behind = vec![false; self.flow().blocks.len()];
        let uses: Vec<Option<FirstUse>> =
            self.flow().block_ids().map(|block| self.first_use(block, register, updated)).collect();
        let is_update = |block: &BlockId| uses[block.index()] == Some(FirstUse::Update);
        let mut work: Vec<BlockId> = self.flow().block_ids().filter(is_update).collect();
        while let Some(block) = work.pop() {
            for before in &self.flow().block(block).predecessors {
                if !std::mem::replace(&mut behind[before.index()], true) && uses[before.index()].is_none() {
                    work.push(*before);
                }
            }
        }
        behind
    }

    /// The parameters whose arrays a value may be, or hold.
    fn parameters_of(&self, value: InstId, returned: &[HashSet<u32>]) -> HashSet<u32> {
        let (mut found, mut seen, mut work) = (HashSet::new(), HashSet::new(), vec![value]);
        while let Some(value) = work.pop() {
            let is_plain = self.function.types[value.index()].as_ref().is_some_and(QType::is_plain);
            if is_plain || !seen.insert(value) {
                continue;
            }
            let inst = self.flow().inst(value);
            match (&inst.op, self.flow().operation(value)) {
                (SsaOp::Phi, _) => work.extend(&inst.args),
                (_, Some(LowOp::Input(position))) => drop(found.insert(*position)),
                (_, Some(LowOp::Update(_) | LowOp::Part(_))) => work.push(inst.args[0]),
                (_, Some(LowOp::Operator(MAKE_TUPLE, _))) => work.extend(&inst.args),
                (_, Some(op)) => {
                    if let Some(callee) = op.callee() {
                        let passed = returned[callee.0 as usize].iter();
                        work.extend(passed.map(|position| inst.args[*position as usize]));
                    }
                }
                _ => {}
            }
        }
        found
    }
}
