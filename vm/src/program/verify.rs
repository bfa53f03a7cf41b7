//! Verifier: what must hold before a program may be bound. Linear in the program's size.
//!
//! 1. **Slots**: every value's slot is accepted by the routine's layout: inside the frame, aligned,
//!    handles on handles of their type, plain bytes on plain bytes. A handle has one type in a layout, so
//!    that all values on it have the same, up to storage.
//! 2. **Views**: a view refers to an earlier value, lies within its slot, and has a type that such a
//!    sub-slot has (tuple field, presence byte, value behind it) or the owner's storage type.
//! 3. **References**: operators, traps, routines, operand lists and values exist.
//! 4. **Operands**: each operand and result has the type of the overload, up to storage. The result
//!    shares no byte with an operand unless the kernel reads before it writes; a tuple's operand may
//!    already stand in its field. The result of an operator that updates is its first operand, the same value.
//! 5. **Jumps** stay in the body (its end included); conditions are OPTIONAL_UNIT or BOOLEAN. **Guards** lead to an instruction,
//!    stand before an operator, a call or what raises, and take what [can be caught](crate::program::Catch::CATEGORIES).
//! 6. **Init and eval are separate**: no instruction writes a byte of a literal, or of an input
//!    unless the value is declared to override it; views are not written, nor are inputs themselves, unless
//!    the routine declares that it updates them and the operator does so.
//! 7. **Calls** match the inputs and results of the routine called. What the routine updates is a value that the
//!    caller may update, and shares no byte with another operand or a result of the call.
//! 8. **Interface**: inputs and the output have their slots among the layout's inputs and outputs, names
//!    are distinct, literals have the type of their value and stand in the layout. Results share no byte
//!    unless one is the other, a view of it or a field of it, whether or not the end is ever reached.
//! 9. **Parallel routines** take the numbers of trips, plain values and n-dimensional arrays, give a plain value, and have
//!    one window for each array that they update. The routine that combines results takes two of them and gives one.
//!
//! These make execution memory-safe whatever the instructions do. That every read finds the value it
//! means, on every path, is proved by [`slot_check`](crate::program::slot_check).

use crate::layout::TypedSlot;
use crate::program::body::Body;
use crate::program::instruction::{Instruction, ValueId, ValueList};
use crate::program::program::{Program, Routine};
pub use crate::program::verify_error::VerifyError;
use crate::program::verify_parallel::broken_rule;
use crate::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use crate::value::{QType, Value};
use std::cmp::Reverse;
use std::collections::HashSet;

/// Checks the rules; the first broken one is the error.
pub fn verify(program: &Program) -> Result<(), VerifyError> {
    let checkers: Vec<Checker<'_>> = program
        .routines()
        .iter()
        .enumerate()
        .map(|(number, routine)| Checker::new(program, number, routine))
        .collect();
    // A call looks at the values of its callee, so those of all routines come first.
    checkers.iter().try_for_each(|c| c.check_values().and_then(|()| c.check_interface()))?;
    checkers.iter().try_for_each(Checker::check_parallel)?;
    checkers.iter().try_for_each(Checker::check_body)
}

struct Checker<'p> {
    program: &'p Program,
    number: usize,
    routine: &'p Routine,
    body: &'p Body,
    pinned: Pinned,
    inputs: HashSet<ValueId>,
}

/// Byte ranges of literals and inputs, which instructions do not write. Both are ascending, and disjoint once the
/// interface has been checked.
struct Pinned {
    literals: Vec<(u32, u32)>,
    inputs: Vec<(u32, u32)>,
    /// Those that the routine updates, which no other value overrides.
    updated: Vec<(u32, u32)>,
}

impl Pinned {
    fn of(routine: &Routine) -> Pinned {
        let layout = &routine.layout;
        let literals = layout.literals().iter().map(|(at, v)| (*at, *at + v.qtype().size()));
        let inputs = layout.inputs().iter().map(|s| (s.offset(), s.offset() + s.qtype().size()));
        let slots = routine.updated_inputs.iter().filter_map(|value| routine.values.get(value.index()));
        let updated = slots
            .map(|info| (info.slot.offset(), info.slot.offset().saturating_add(info.slot.qtype().size())));
        let mut pinned =
            Pinned { literals: literals.collect(), inputs: inputs.collect(), updated: updated.collect() };
        pinned.literals.sort_unstable();
        pinned.inputs.sort_unstable();
        pinned.updated.sort_unstable();
        pinned.updated.dedup();
        pinned
    }

    /// Two ranges that share a byte.
    fn overlap(&self) -> Option<(u32, u32)> {
        let mut all = [&*self.literals, &*self.inputs].concat();
        all.sort_unstable();
        all.windows(2).find(|pair| pair[0].1 > pair[1].0).map(|pair| (pair[0].0, pair[1].0))
    }
}

/// True if one of these ascending, disjoint ranges shares a byte with the slot.
fn shares_a_byte(ranges: &[(u32, u32)], slot: &TypedSlot) -> bool {
    let first = ranges.partition_point(|(_, end)| *end <= slot.offset());
    ranges.get(first).is_some_and(|(start, _)| u64::from(*start) < slot.end())
}

impl<'p> Checker<'p> {
    fn new(program: &'p Program, number: usize, routine: &'p Routine) -> Checker<'p> {
        let inputs = routine.inputs.iter().map(|(_, v)| *v).collect();
        Checker { program, number, routine, body: &routine.body, pinned: Pinned::of(routine), inputs }
    }

    fn check_body(&self) -> Result<(), VerifyError> {
        for (ip, instruction) in self.body.instructions().iter().enumerate() {
            match instruction {
                Instruction::Operator { operator, operands, result } => {
                    self.check_operator(ip, *operator, *operands, *result)?;
                }
                Instruction::Jump { .. } => {}
                Instruction::JumpIf { condition, .. } | Instruction::JumpIfNot { condition, .. } => {
                    let slot = self.value(ip, *condition)?;
                    if *slot.qtype() != BOOLEAN {
                        self.expect_type(ip, *condition, slot, &OPTIONAL_UNIT)?;
                    }
                }
                Instruction::Trap { trap } => {
                    self.expect(ip, (*trap as usize) < self.body.traps().len(), || format!("trap {trap}"))?;
                }
                Instruction::Guard { catch, .. } => self.check_guard(ip, *catch)?,
                Instruction::Again { .. } => {}
                Instruction::Call { routine, operands, results } => {
                    self.check_call(ip, *routine, *operands, *results)?;
                }
            }
            if let (Some(offset), None) = (instruction.offset(), self.body.target(ip)) {
                return Err(VerifyError::Jump { routine: self.number, ip, offset });
            }
        }
        Ok(())
    }

    /// Rule 5 for a guard.
    fn check_guard(&self, ip: usize, catch: u32) -> Result<(), VerifyError> {
        let found = self.body.catches().get(catch as usize);
        self.expect(ip, found.is_some(), || format!("catch {catch}"))?;
        let wrong = |what: String| Err(VerifyError::Guard { routine: self.number, ip, what });
        if let Some(category) = found.and_then(|catch| catch.first_never_caught()) {
            return wrong(format!("{category} is never caught"));
        }
        if self.body.target(ip) == Some(self.body.instructions().len()) {
            return wrong("it leads to the end".to_owned());
        }
        match self.body.instructions().get(ip + 1) {
            None
            | Some(Instruction::Jump { .. } | Instruction::JumpIf { .. } | Instruction::JumpIfNot { .. }) => {
                wrong("what follows raises nothing".to_owned())
            }
            Some(_) => Ok(()),
        }
    }

    fn check_values(&self) -> Result<(), VerifyError> {
        for (index, info) in self.routine.values.iter().enumerate() {
            let (value, slot) = (ValueId(index as u32), &info.slot);
            if !self.routine.layout.accepts(slot) {
                return Err(VerifyError::Slot { routine: self.number, value, slot: slot.clone() });
            }
            if let Some(owner) = info.view_of {
                let fits = owner < value && is_view(slot, &self.routine.values[owner.index()].slot);
                if !fits {
                    return Err(VerifyError::View { routine: self.number, value, slot: slot.clone(), owner });
                }
            }
        }
        Ok(())
    }

    fn check_interface(&self) -> Result<(), VerifyError> {
        let fail = |what: String| Err(VerifyError::Interface { routine: self.number, what });
        let exists = |v: ValueId| v.index() < self.routine.values.len();
        let layout = &self.routine.layout;
        if let Some((first, second)) = self.pinned.overlap() {
            return fail(format!("the inputs or literals at 0x{first:02X} and 0x{second:02X} share bytes"));
        }
        let inputs: HashSet<&TypedSlot> = layout.inputs().iter().collect();
        let mut literals: Vec<(u32, &Value)> = layout.literals().iter().map(|(at, v)| (*at, v)).collect();
        literals.sort_by_key(|l| l.0);
        let mut names = HashSet::new();
        for (name, value) in &self.routine.inputs {
            if !exists(*value) || !inputs.contains(self.routine.slot(*value)) {
                return fail(format!("the input `{name}` is not an input of the layout"));
            }
            if !names.insert(name) {
                return fail(format!("two inputs are named `{name}`"));
            }
        }
        if let Some(value) = self.routine.updated_inputs.iter().find(|v| !self.inputs.contains(*v)) {
            return fail(format!("{value} is updated as an input, but it is none"));
        }
        if let Some(value) = self.routine.results().find(|v| !exists(*v)) {
            return fail(format!("the result {value} does not exist"));
        }
        if !layout.outputs().contains(self.routine.slot(self.routine.output)) {
            return fail("the output is not an output of the layout".to_owned());
        }
        let sorted = self.routine.side_outputs.windows(2).all(|w| w[0].0 < w[1].0);
        if !sorted {
            return fail("side outputs are not sorted by distinct names".to_owned());
        }
        if let Some((first, second)) = self.results_at_odds() {
            return fail(format!("the results {first} and {second} share bytes"));
        }
        for (value, literal) in &self.routine.literals {
            let is_at = |offset: u32| {
                let from = literals.partition_point(|l| l.0 < offset);
                literals[from..].iter().take_while(|l| l.0 == offset).any(|l| l.1 == literal)
            };
            let found = exists(*value)
                && self.routine.slot(*value).qtype().storage() == literal.qtype().storage()
                && is_at(self.routine.slot(*value).offset());
            if !found {
                return fail(format!("the literal {value} = {literal} is not in the layout"));
            }
        }
        Ok(())
    }

    fn check_parallel(&self) -> Result<(), VerifyError> {
        let parallel = self.routine.parallel.as_ref();
        match parallel.and_then(|parallel| broken_rule(self.program, self.number, parallel)) {
            Some(what) => Err(VerifyError::Interface { routine: self.number, what }),
            None => Ok(()),
        }
    }

    /// Two results that share a byte, although neither is the other, a view of it or a field of it.
    fn results_at_odds(&self) -> Option<(ValueId, ValueId)> {
        let routine = self.routine;
        let has_bytes = |value: &ValueId| routine.slot(*value).qtype().size() > 0;
        let mut results: Vec<ValueId> = routine.results().filter(has_bytes).collect();
        if results.len() < 2 {
            return None;
        }
        // What contains others comes before them.
        results.sort_by_key(|value| {
            let slot = routine.slot(*value);
            (slot.offset(), Reverse(slot.end()), Reverse(slot.qtype().depth()), *value)
        });
        results.dedup();
        let owners = routine.owners();
        let is_part = |inner: ValueId, outer: ValueId| {
            let (part, whole) = (routine.slot(inner), routine.slot(outer));
            let is_field = is_view(part, whole) && part.qtype().depth() < whole.qtype().depth();
            whole.contains(part) && (owners.owner(inner) == owners.owner(outer) || is_field)
        };
        let mut around: Vec<ValueId> = Vec::new();
        for value in results {
            let slot = routine.slot(value);
            while around.pop_if(|outer| !routine.slot(*outer).overlaps(slot)).is_some() {}
            match around.last() {
                Some(outer) if !is_part(value, *outer) => return Some((*outer, value)),
                _ => around.push(value),
            }
        }
        None
    }

    fn check_operator(
        &self,
        ip: usize,
        operator: u32,
        operands: ValueList,
        result: ValueId,
    ) -> Result<(), VerifyError> {
        let overload = self.body.operators().get(operator as usize);
        self.expect(ip, overload.is_some(), || format!("operator {operator}"))?;
        self.expect(ip, self.body.has_list(operands), || "the operand list".to_owned())?;
        let Some(overload) = overload else { return Ok(()) };
        let operands = self.body.list(operands);
        self.expect_count(ip, "operands", operands.len(), overload.args().len())?;
        let out = self.value(ip, result)?;
        if out.qtype().storage() != *overload.result() {
            self.expect_type(ip, result, out, overload.result())?;
        }
        let updated = operands.first().filter(|_| overload.updates());
        match updated {
            Some(operand) if *operand != result => {
                return Err(VerifyError::Update { routine: self.number, ip, result, operand: *operand });
            }
            Some(_) => self.check_updated(ip, result, out)?,
            None => self.check_written(ip, result, out)?,
        }
        let in_place = overload.reads_before_writing();
        for (index, (operand, expected)) in operands.iter().zip(overload.args()).enumerate() {
            let slot = self.value(ip, *operand)?;
            if slot.qtype() != expected && slot.qtype().storage() != *expected {
                self.expect_type(ip, *operand, slot, expected)?;
            }
            let field =
                overload.assembles() && out.field(index).is_some_and(|f| f.storage() == slot.storage());
            let is_updated = overload.updates() && index == 0;
            let apart = in_place || field || is_updated || !slot.overlaps(out);
            if !apart {
                let (result, operand) = (out.clone(), slot.clone());
                return Err(VerifyError::Overlap { routine: self.number, ip, result, operand });
            }
        }
        Ok(())
    }

    fn check_call(
        &self,
        ip: usize,
        routine: u32,
        operands: ValueList,
        results: ValueList,
    ) -> Result<(), VerifyError> {
        let callee = self.program.routines().get(routine as usize);
        self.expect(ip, callee.is_some(), || format!("routine {routine}"))?;
        let lists = self.body.has_list(operands) && self.body.has_list(results);
        self.expect(ip, lists, || "the operand list".to_owned())?;
        let Some(callee) = callee else { return Ok(()) };
        let (operands, results) = (self.body.list(operands), self.body.list(results));
        self.expect_count(ip, "operands", operands.len(), callee.inputs.len())?;
        self.expect_count(ip, "results", results.len(), 1 + callee.side_outputs.len())?;
        for (operand, (_, input)) in operands.iter().zip(&callee.inputs) {
            let slot = self.value(ip, *operand)?;
            self.expect_type(ip, *operand, slot, callee.slot(*input).qtype())?;
            if callee.updated_inputs.contains(input) {
                self.check_updated(ip, *operand, slot)?;
            }
        }
        for (result, output) in results.iter().zip(callee.results()) {
            let slot = self.value(ip, *result)?;
            self.expect_type(ip, *result, slot, callee.slot(output).qtype())?;
            self.check_written(ip, *result, slot)?;
        }
        self.check_apart(ip, callee, operands, results)
    }

    /// Rule 7 for the operands that the routine called updates.
    fn check_apart(
        &self,
        ip: usize,
        callee: &Routine,
        operands: &[ValueId],
        results: &[ValueId],
    ) -> Result<(), VerifyError> {
        if callee.updated_inputs.is_empty() {
            return Ok(());
        }
        let inputs = callee.inputs.iter().map(|(_, input)| callee.updated_inputs.contains(input));
        let kinds = inputs.chain(std::iter::repeat(false));
        let values = operands.iter().chain(results).zip(kinds);
        let mut slots: Vec<(&TypedSlot, bool)> =
            values.map(|(value, updated)| (self.routine.slot(*value), updated)).collect();
        slots.retain(|(slot, _)| slot.qtype().size() > 0);
        slots.sort_by_key(|(slot, _)| slot.offset());
        // The slots that reach the farthest so far, of all and of those that are updated.
        let (all, of_updated) = (0, 1);
        let mut farthest: [Option<&TypedSlot>; 2] = [None; 2];
        for (slot, updated) in slots {
            if let Some(before) =
                farthest[if updated { all } else { of_updated }].filter(|before| before.overlaps(slot))
            {
                let (result, operand) = (slot.clone(), before.clone());
                return Err(VerifyError::Overlap { routine: self.number, ip, result, operand });
            }
            for kind in [all, of_updated].into_iter().take(1 + usize::from(updated)) {
                if farthest[kind].is_none_or(|before| before.end() < slot.end()) {
                    farthest[kind] = Some(slot);
                }
            }
        }
        Ok(())
    }

    /// Rule 6 for a value that is changed in place.
    fn check_updated(&self, ip: usize, value: ValueId, slot: &TypedSlot) -> Result<(), VerifyError> {
        match self.routine.updated_inputs.contains(&value) {
            true => Ok(()),
            false => self.check_written(ip, value, slot),
        }
    }

    /// Rule 6 for one result.
    fn check_written(&self, ip: usize, value: ValueId, slot: &TypedSlot) -> Result<(), VerifyError> {
        let what = if self.routine.values[value.index()].view_of.is_some() {
            "a view"
        } else {
            let is_on_input = || shares_a_byte(&self.pinned.inputs, slot);
            match () {
                () if shares_a_byte(&self.pinned.literals, slot) => "on a literal",
                () if self.inputs.contains(&value) => "an input",
                () if !self.routine.overrides_inputs && is_on_input() => "on an input",
                () if shares_a_byte(&self.pinned.updated, slot) => "on an input that is updated",
                () => return Ok(()),
            }
        };
        Err(VerifyError::Written { routine: self.number, ip, value, slot: slot.clone(), what })
    }

    fn value(&self, ip: usize, value: ValueId) -> Result<&TypedSlot, VerifyError> {
        self.expect(ip, value.index() < self.routine.values.len(), || value.to_string())?;
        Ok(self.routine.slot(value))
    }

    fn expect(&self, ip: usize, exists: bool, what: impl Fn() -> String) -> Result<(), VerifyError> {
        match exists {
            true => Ok(()),
            false => Err(VerifyError::Reference { routine: self.number, ip, what: what() }),
        }
    }

    fn expect_count(
        &self,
        ip: usize,
        what: &'static str,
        actual: usize,
        expected: usize,
    ) -> Result<(), VerifyError> {
        match actual == expected {
            true => Ok(()),
            false => Err(VerifyError::Count { routine: self.number, ip, what, actual, expected }),
        }
    }

    fn expect_type(
        &self,
        ip: usize,
        value: ValueId,
        slot: &TypedSlot,
        expected: &QType,
    ) -> Result<(), VerifyError> {
        if slot.qtype() == expected || slot.qtype().storage() == expected.storage() {
            return Ok(());
        }
        Err(VerifyError::Type {
            routine: self.number,
            ip,
            what: value.to_string(),
            actual: slot.clone(),
            expected: expected.to_string(),
        })
    }
}

/// Rule 2: `inner` is a sub-slot of `outer`, at any depth, or the same bytes under another type of
/// the same layout.
fn is_view(inner: &TypedSlot, outer: &TypedSlot) -> bool {
    if inner.offset() == outer.offset() && inner.qtype().storage() == outer.qtype().storage() {
        return true;
    }
    if let Some(tuple) = outer.qtype().tuple() {
        let inside = inner.offset().wrapping_sub(outer.offset());
        // Empty fields share an offset with the field behind them, which comes last.
        let after = tuple.offsets().partition_point(|offset| *offset <= inside);
        return after.checked_sub(1).and_then(|i| outer.field(i)).is_some_and(|f| is_view(inner, &f));
    }
    let parts = [outer.presence(), outer.value()];
    parts.into_iter().flatten().any(|part| part.storage() == inner.storage())
}
