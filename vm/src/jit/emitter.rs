//! Emitter: values as variables, and what compiled code has the machine do.
//!
//! A leaf is *clean* if the frame has its value too: it is not stored again, up to the next block.

use crate::jit::abilities::Abilities;
use crate::jit::places::Places;
use crate::jit::preserving::{OF_CELLS, Preserving};
use crate::jit::spilled::Spilled;
use crate::jit::variables::{Key, Leaf, leaves};
use crate::machine::native::{DONE, FUEL, STATUS, STOPPED, WATCH, call, run_cells};
use crate::machine::parts::RoutineParts;
use crate::program::program::Owners;
use crate::program::{Routine, ValueId};
use crate::value::{ScalarValue, Value as Literal};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, Variable};
use hashbrown::{HashMap, HashSet};

/// The owners that have more than one definition, or one behind a use in the list of instructions.
pub(super) fn redefined(routine: &Routine) -> HashSet<ValueId> {
    let (owners, body) = (routine.owners(), &routine.body);
    let inputs = routine.inputs.iter().map(|(_, value)| *value);
    let literals = routine.literals.iter().map(|(value, _)| *value);
    let mut defined: HashSet<ValueId> = inputs.chain(literals).map(|value| owners.owner(value)).collect();
    let mut redefined = HashSet::new();
    for instruction in body.instructions() {
        let read = body.reads(instruction).iter().map(|value| owners.owner(*value));
        redefined.extend(read.filter(|owner| !defined.contains(owner)));
        let written = body.writes(instruction).iter().map(|value| owners.owner(*value));
        redefined.extend(written.filter(|owner| !defined.insert(*owner)));
    }
    redefined
}

/// An instruction that a cell can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instructed<'r> {
    /// The position of its cell.
    pub(super) cell: usize,
    pub(super) operands: &'r [ValueId],
    pub(super) results: &'r [ValueId],
}

/// Code of a routine while it is made.
pub(super) struct Emitter<'r, 'f> {
    pub(super) b: FunctionBuilder<'f>,
    pub(super) routine: &'r Routine,
    pub(super) parts: &'r RoutineParts,
    pub(super) abilities: Abilities,
    pub(super) owners: Owners,
    /// Literals of one scalar.
    literals: HashMap<ValueId, ScalarValue>,
    /// All literals, which are never written.
    pinned: HashSet<ValueId>,
    /// Leaves of values with one definition, made before every use on all paths, as the slot checker saw, and in the list.
    pub(super) defined: HashMap<Key, Value>,
    /// Such leaves in memory, if they are not among the others.
    pub(super) spilled: Spilled,
    /// The other owners: their leaves are variables, which take more work.
    pub(super) redefined: HashSet<ValueId>,
    variables: HashMap<Key, Variable>,
    pub(super) clean: HashSet<Key>,
    /// The registers of the run, and the frame.
    run: Value,
    pub(super) frame: Value,
    /// What is left of the slice, if the routine charges fuel itself.
    pub(super) fuel: Option<Variable>,
    /// Where elements stand, of arrays whose elements the routine reads or writes.
    pub(super) places: Places,
    /// Is set where an array may stand elsewhere now, in a loop that wants to know.
    pub(super) moved: Option<Variable>,
    of_cells: SigRef,
    pub(super) rare: Preserving<FuncRef>,
    /// Returns that the run has stopped; before that, the fuel is put down.
    pub(super) stopped: Block,
    /// The same where it is down already.
    stopped_below: Block,
}

impl<'r, 'f> Emitter<'r, 'f> {
    /// Begins the code of a routine, which charges fuel itself if it has jumps.
    pub(super) fn new(
        mut b: FunctionBuilder<'f>,
        isa: &dyn TargetIsa,
        routine: &'r Routine,
        parts: &'r RoutineParts,
        has_jumps: bool,
        rare: Preserving<FuncRef>,
    ) -> Emitter<'r, 'f> {
        let signature = |params: &[Type]| Signature {
            params: params.iter().map(|qtype| AbiParam::new(*qtype)).collect(),
            returns: vec![AbiParam::new(types::I32)],
            call_conv: isa.default_call_conv(),
        };
        let of_cells = b.import_signature(signature(&OF_CELLS));
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        // A sealed block without jumps to it is taken for unreachable, unless it is known as the entry.
        b.switch_to_block(entry);
        b.ensure_inserted_block();
        b.seal_block(entry);
        let [run, frame] = *b.block_params(entry) else { unreachable!("an entry has two parameters") };
        let (stopped, stopped_below) = (b.create_block(), b.create_block());
        b.set_cold_block(stopped);
        b.set_cold_block(stopped_below);
        let spilled = Spilled::new(&mut b);
        let fuel = has_jumps.then(|| b.declare_var(types::I64));
        let scalar = |(value, literal): &(ValueId, Literal)| match literal {
            Literal::Scalar(scalar) => Some((*value, scalar.clone())),
            _ => None,
        };
        let mut emitter = Emitter {
            b,
            routine,
            parts,
            abilities: Abilities::of(isa),
            owners: routine.owners(),
            literals: routine.literals.iter().filter_map(scalar).collect(),
            pinned: routine.literals.iter().map(|(value, _)| *value).collect(),
            defined: HashMap::new(),
            spilled,
            redefined: redefined(routine),
            variables: HashMap::new(),
            clean: HashSet::new(),
            run,
            frame,
            fuel,
            places: Places::default(),
            moved: None,
            of_cells,
            rare,
            stopped,
            stopped_below,
        };
        emitter.take_up_fuel();
        emitter.places = Places::of(routine, &mut emitter.b);
        emitter.load_places();
        routine.inputs.iter().for_each(|(_, value)| emitter.load(*value));
        emitter
    }

    /// Ends the code.
    pub(super) fn finish(mut self, isa: &dyn TargetIsa) {
        self.b.switch_to_block(self.stopped);
        self.put_down_fuel();
        self.b.ins().jump(self.stopped_below, &[]);
        self.b.switch_to_block(self.stopped_below);
        self.give(STOPPED);
        self.spilled.finish(&mut self.b);
        self.b.seal_all_blocks();
        self.b.finalize(isa.frontend_config());
    }

    /// Goes on in a block that jumps lead to, some of which may be made later.
    pub(super) fn begin(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.clean.clear();
    }

    /// Goes on in a block to which all jumps have been made, and [seals](crate::jit::sealing) it.
    pub(super) fn enter(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// Ends the routine: results are put down.
    pub(super) fn leave(&mut self) {
        let results: Vec<ValueId> = self.routine.results().collect();
        results.iter().for_each(|value| self.store(*value));
        self.put_down_fuel();
        self.give(DONE);
    }

    fn give(&mut self, status: u32) {
        let status = self.b.ins().iconst(types::I32, i64::from(status));
        self.b.ins().return_(&[status]);
    }

    // Values.

    /// The leaves of a value.
    pub(super) fn leaves(&self, value: ValueId) -> Vec<Leaf> {
        leaves(self.routine.slot(value))
    }

    /// A literal of one scalar.
    pub(super) fn literal(&self, value: ValueId) -> Option<&ScalarValue> {
        self.literals.get(&self.owners.same_bytes(value))
    }

    /// A leaf of a value.
    pub(super) fn leaf(&mut self, value: ValueId, leaf: Leaf) -> Value {
        let literal = self.literals.get(&self.owners.same_bytes(value));
        let ins = self.b.ins();
        match literal {
            Some(ScalarValue::Unit) => ins.iconst(types::I8, 0),
            Some(ScalarValue::Boolean(truth)) => ins.iconst(types::I8, i64::from(*truth)),
            Some(ScalarValue::Int32(x)) => ins.iconst(types::I32, i64::from(*x as u32)),
            Some(ScalarValue::Int64(x)) => ins.iconst(types::I64, *x),
            // A load where it is used, which may be an operand of an instruction.
            _ if self.pinned.contains(&self.owners.owner(value)) => {
                let flags = MemFlagsData::trusted().with_readonly().with_can_move();
                ins.load(leaf.variable, flags, self.frame, leaf.offset as i32)
            }
            _ => {
                let key = self.key(value, leaf);
                if let Some(defined) = self.defined.get(&key) {
                    return *defined;
                }
                if let Some(loaded) = self.spilled.load(&mut self.b, key) {
                    return loaded;
                }
                let variable = self.variable(value, leaf);
                self.b.use_var(variable)
            }
        }
    }

    /// Gives a leaf of a value another value.
    pub(super) fn define(&mut self, value: ValueId, leaf: Leaf, to: Value) {
        let key = self.key(value, leaf);
        self.clean.remove(&key);
        if !self.redefined.contains(&key.0) {
            self.spilled.forget(key);
            self.defined.insert(key, to);
            return;
        }
        let variable = self.variable(value, leaf);
        self.b.def_var(variable, to);
    }

    /// Gives a value the leaves of others, one after the other.
    pub(super) fn assign(&mut self, operands: &[ValueId], result: ValueId) {
        let mut read = Vec::new();
        for operand in operands {
            for leaf in self.leaves(*operand) {
                read.push(self.leaf(*operand, leaf));
            }
        }
        let leaves = self.leaves(result);
        leaves.into_iter().zip(read).for_each(|(leaf, value)| self.define(result, leaf, value));
    }

    /// A value of one leaf.
    pub(super) fn scalar(&mut self, value: ValueId) -> Value {
        let leaf = self.leaves(value)[0];
        self.leaf(value, leaf)
    }

    /// The value whose leaves a value has.
    pub(super) fn owner(&self, value: ValueId) -> ValueId {
        self.owners.owner(value)
    }

    /// True if the leaves of a value have one definition, before every use.
    pub(super) fn is_defined_once(&self, value: ValueId) -> bool {
        !self.redefined.contains(&self.owner(value))
    }

    /// The leaves of values that are floats and have one definition.
    pub(super) fn floats(&self, values: &[ValueId]) -> Vec<Key> {
        let is_defined =
            |value: &&ValueId| self.is_defined_once(**value) && !self.pinned.contains(&self.owner(**value));
        let leaves = |value: &ValueId| {
            let floats = self.leaves(*value).into_iter().filter(|leaf| leaf.variable.is_float());
            floats.map(|leaf| self.key(*value, leaf)).collect::<Vec<_>>()
        };
        values.iter().filter(is_defined).flat_map(leaves).collect()
    }

    fn key(&self, value: ValueId, leaf: Leaf) -> Key {
        (self.owners.owner(value), leaf.offset)
    }

    fn variable(&mut self, value: ValueId, leaf: Leaf) -> Variable {
        let key = self.key(value, leaf);
        let b = &mut self.b;
        *self.variables.entry(key).or_insert_with(|| b.declare_var(leaf.variable))
    }

    /// Loads all leaves of a value from the frame.
    pub(super) fn load(&mut self, value: ValueId) {
        for leaf in self.leaves(value) {
            let loaded = self.load_leaf(leaf);
            self.define(value, leaf, loaded);
            let key = self.key(value, leaf);
            self.clean.insert(key);
        }
    }

    pub(super) fn load_leaf(&mut self, leaf: Leaf) -> Value {
        self.b.ins().load(leaf.variable, MemFlagsData::trusted(), self.frame, leaf.offset as i32)
    }

    /// Stores all leaves of a value to the frame.
    pub(super) fn store(&mut self, value: ValueId) {
        if self.pinned.contains(&self.owners.owner(value)) {
            return;
        }
        for leaf in self.leaves(value) {
            let key = self.key(value, leaf);
            if !self.clean.insert(key) {
                continue;
            }
            let mut stored = self.leaf(value, leaf);
            if let Some(presence) = leaf.presence {
                // A missing value is zero in the frame.
                let presence = Leaf { offset: presence, variable: types::I8, presence: None };
                let (present, zero) = (self.leaf(value, presence), self.zero(leaf.variable));
                stored = self.b.ins().select(present, stored, zero);
            }
            self.b.ins().store(MemFlagsData::trusted(), stored, self.frame, leaf.offset as i32);
        }
    }

    /// The zero of a type.
    pub(super) fn zero(&mut self, variable: Type) -> Value {
        match variable {
            types::F64 => self.b.ins().f64const(0.0),
            types::F32 => self.b.ins().f32const(0.0),
            integer => self.b.ins().iconst(integer, 0),
        }
    }

    // What the machine does.

    /// Has the cell of an instruction do it.
    pub(super) fn run_cell(&mut self, instructed: Instructed<'_>) {
        instructed.operands.iter().for_each(|value| self.store(*value));
        let cell = self.cell(instructed.cell);
        let status = self.ask(self.of_cells, run_cells as *const () as usize, &[self.frame, cell]);
        self.unless_stopped(status, self.stopped);
        instructed.results.iter().for_each(|value| self.load(*value));
    }

    /// Has a cell do it that may change what arrays hold.
    pub(super) fn run_general_cell(&mut self, instructed: Instructed<'_>) {
        self.run_cell(instructed);
        self.load_places();
    }

    /// Has the cell of a trap, which raises.
    pub(super) fn trap(&mut self, cell: usize) {
        let cell = self.cell(cell);
        self.ask(self.of_cells, run_cells as *const () as usize, &[self.frame, cell]);
        self.b.ins().jump(self.stopped, &[]);
    }

    /// Calls a routine.
    pub(super) fn call(&mut self, instructed: Instructed<'_>) {
        instructed.operands.iter().for_each(|value| self.store(*value));
        self.put_down_fuel();
        let cell = self.cell(instructed.cell);
        let status = self.ask(self.of_cells, call as *const () as usize, &[self.frame, cell]);
        self.unless_stopped(status, self.stopped_below);
        self.take_up_fuel();
        instructed.results.iter().for_each(|value| self.load(*value));
        self.load_places();
    }

    /// Charges fuel behind the instruction `at`, and goes to a block, with which the run goes on at the instruction `next`.
    pub(super) fn go(&mut self, at: usize, next: usize, block: Block) {
        self.go_or(at, next, block, block);
    }

    /// The same; goes to another block where a slice of fuel has ended.
    pub(super) fn go_or(&mut self, at: usize, next: usize, block: Block, paused: Block) {
        let (fuel, charged) = (self.fuel, self.parts.fuel[next]);
        let Some(fuel) = fuel.filter(|_| charged > 0) else {
            self.b.ins().jump(block, &[]);
            return;
        };
        let left = self.b.use_var(fuel);
        let left = self.b.ins().iadd_imm_s(left, -i64::from(charged));
        self.b.def_var(fuel, left);
        let is_over = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        let over = self.cold_block();
        self.b.ins().brif(is_over, over, &[], block, &[]);
        self.enter(over);
        self.pause(at, next);
        self.b.ins().jump(paused, &[]);
    }

    /// The same with fuel that is there.
    pub(super) fn go_paid(&mut self, next: usize, block: Block) {
        self.charge(next);
        self.b.ins().jump(block, &[]);
    }

    /// The same if a condition holds; else goes on in a block that nothing else leads to. What is computed on the way there is computed before the condition is
    /// looked at, so that there is one jump.
    pub(super) fn go_paid_if(&mut self, condition: Value, next: usize, block: Block, or: Block) {
        let before = self.fuel.map(|fuel| (fuel, self.b.use_var(fuel)));
        self.charge(next);
        self.b.ins().brif(condition, block, &[], or, &[]);
        self.enter(or);
        if let Some((fuel, before)) = before {
            self.b.def_var(fuel, before);
        }
    }

    fn charge(&mut self, next: usize) {
        let charged = self.parts.fuel[next];
        if let Some(fuel) = self.fuel.filter(|_| charged > 0) {
            let left = self.b.use_var(fuel);
            let left = self.b.ins().iadd_imm_s(left, -i64::from(charged));
            self.b.def_var(fuel, left);
        }
    }

    /// Looks whether a run that is watched has to stop, before an instruction.
    pub(super) fn look(&mut self, ip: usize) {
        let watch = self.b.ins().load(types::I64, MemFlagsData::trusted(), self.run, WATCH as i32);
        let (watched, next) = (self.cold_block(), self.b.create_block());
        self.b.ins().brif(watch, watched, &[], next, &[]);
        self.enter(watched);
        self.pause(ip, ip);
        self.b.ins().jump(next, &[]);
        self.enter(next);
    }

    fn pause(&mut self, at: usize, next: usize) {
        self.put_down_fuel();
        let [at, next] = [at as i64, i64::from(self.parts.resumed[next])];
        let [at, next] = [at, next].map(|ip| self.b.ins().iconst(types::I32, ip));
        let status = self.ask_rarely(self.rare.go_on, &[at, next]);
        self.unless_stopped(status, self.stopped_below);
        self.take_up_fuel();
    }

    /// Calls a function with the run and arguments.
    fn ask(&mut self, signature: SigRef, function: usize, args: &[Value]) -> Value {
        let function = self.b.ins().iconst(types::I64, function as i64);
        let args: Vec<Value> = [self.run].iter().chain(args).copied().collect();
        let call = self.b.ins().call_indirect(signature, function, &args);
        self.b.inst_results(call)[0]
    }

    /// The same, and all registers are kept.
    pub(super) fn ask_rarely(&mut self, function: FuncRef, args: &[Value]) -> Value {
        let args: Vec<Value> = [self.run].iter().chain(args).copied().collect();
        self.b.ins().call(function, &args);
        self.b.ins().load(types::I32, MemFlagsData::trusted(), self.run, STATUS as i32)
    }

    pub(super) fn cell(&mut self, cell: usize) -> Value {
        let address = (&raw const self.parts.cells[cell]).expose_provenance();
        self.b.ins().iconst(types::I64, address as i64)
    }

    /// Goes on unless the run has stopped; in a block that is as cold as this one.
    pub(super) fn unless_stopped(&mut self, status: Value, stopped: Block) {
        let next = self.next_block();
        self.b.ins().brif(status, stopped, &[], next, &[]);
        self.enter(next);
    }

    /// Finds out where the elements of the array in a slot stand, in a cold block.
    pub(super) fn locate(&mut self, slot: u32) {
        let slot = self.b.ins().iconst(types::I64, i64::from(slot));
        let status = self.ask_rarely(self.rare.locate, &[self.frame, slot]);
        self.unless_stopped(status, self.stopped);
    }

    /// A block that is as cold as this one.
    pub(super) fn next_block(&mut self) -> Block {
        let is_cold = self.b.current_block().is_some_and(|block| self.b.func.layout.is_cold(block));
        if is_cold { self.cold_block() } else { self.b.create_block() }
    }

    pub(super) fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    fn put_down_fuel(&mut self) {
        if let Some(fuel) = self.fuel {
            let left = self.b.use_var(fuel);
            self.b.ins().store(MemFlagsData::trusted(), left, self.run, FUEL as i32);
        }
    }

    fn take_up_fuel(&mut self) {
        if let Some(fuel) = self.fuel {
            let left = self.b.ins().load(types::I64, MemFlagsData::trusted(), self.run, FUEL as i32);
            self.b.def_var(fuel, left);
        }
    }
}
