//! Routines written by hand, for tests: every slot is placed where the test says.

#![allow(dead_code, reason = "each test binary uses a part")]

use cembra_vm::builtins;
use cembra_vm::layout::{FrameLayout, LayoutBuilder, TypedSlot};
use cembra_vm::program::instruction::Span;
use cembra_vm::program::parallel::Parallel;
use cembra_vm::program::program::ValueInfo;
use cembra_vm::program::{Body, Instruction, Routine, ValueId};
use cembra_vm::value::{QType, Value};

/// A routine while it is built. Values are numbered in the order in which they are added.
pub struct Draft {
    pub layout: LayoutBuilder,
    pub values: Vec<ValueInfo>,
    literals: Vec<(ValueId, Value)>,
    pub body: Body,
    /// Inputs that the routine changes in place.
    pub updated: Vec<ValueId>,
    /// What makes the routine parallel.
    pub parallel: Option<Parallel>,
}

impl Draft {
    pub fn new() -> Draft {
        Draft {
            layout: FrameLayout::builder(),
            values: Vec::new(),
            literals: Vec::new(),
            body: Body::new(),
            updated: Vec::new(),
            parallel: None,
        }
    }

    pub fn value(&mut self, slot: TypedSlot) -> ValueId {
        self.values.push(ValueInfo { slot, view_of: None });
        ValueId(self.values.len() as u32 - 1)
    }

    pub fn input(&mut self, offset: u32, qtype: QType) -> ValueId {
        let slot = TypedSlot::new(offset, qtype);
        self.layout.place_input(&slot);
        self.value(slot)
    }

    pub fn output(&mut self, offset: u32, qtype: QType) -> ValueId {
        let slot = TypedSlot::new(offset, qtype);
        self.layout.place_output(&slot);
        self.value(slot)
    }

    pub fn temporary(&mut self, offset: u32, qtype: QType) -> ValueId {
        let slot = TypedSlot::new(offset, qtype);
        self.layout.place(&slot);
        self.value(slot)
    }

    pub fn literal(&mut self, offset: u32, value: impl Into<Value>) -> ValueId {
        let value = value.into();
        self.layout.place_literal(offset, value.clone());
        let id = self.value(TypedSlot::new(offset, value.qtype()));
        self.literals.push((id, value));
        id
    }

    /// Appends a literal.
    pub fn next_literal(&mut self, value: Value) -> ValueId {
        let slot = self.layout.literal(value.clone());
        let id = self.value(slot);
        self.literals.push((id, value));
        id
    }

    /// Appends a temporary.
    pub fn next_temporary(&mut self, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.value(slot)
    }

    /// Appends an input.
    pub fn next_input(&mut self, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.layout.place_input(&slot);
        self.value(slot)
    }

    /// Appends an output.
    pub fn next_output(&mut self, qtype: QType) -> ValueId {
        let slot = self.layout.typed(qtype);
        self.layout.place_output(&slot);
        self.value(slot)
    }

    pub fn view(&mut self, owner: ValueId, slot: TypedSlot) -> ValueId {
        self.values.push(ValueInfo { slot, view_of: Some(owner) });
        ValueId(self.values.len() as u32 - 1)
    }

    /// Appends an operator of the standard table, for the types of its operands.
    pub fn run(&mut self, name: &str, operands: &[ValueId], result: ValueId) {
        self.run_at(name, operands, result, Span::default());
    }

    pub fn run_at(&mut self, name: &str, operands: &[ValueId], result: ValueId, span: Span) {
        let args: Vec<QType> = operands.iter().map(|v| self.slot(*v).qtype().storage()).collect();
        let overload = builtins::table().overload(name, &args).expect("a standard operator");
        let operator = self.body.add_operator(overload);
        self.body.push_operator(operator, operands, result, span);
    }

    pub fn push(&mut self, instruction: Instruction) -> usize {
        self.body.push(instruction, Span::default())
    }

    pub fn call(&mut self, routine: u32, operands: &[ValueId], results: &[ValueId]) {
        let operands = self.body.add_list(operands.iter().copied());
        let results = self.body.add_list(results.iter().copied());
        self.push(Instruction::Call { routine, operands, results });
    }

    pub fn slot(&self, value: ValueId) -> TypedSlot {
        self.values[value.index()].slot.clone()
    }

    pub fn finish(self, inputs: &[(&str, ValueId)], output: ValueId) -> Routine {
        Routine {
            literals: self.literals,
            updated_inputs: self.updated,
            parallel: self.parallel,
            ..Routine::new(
                self.layout.build().expect("the slots fit"),
                self.values,
                inputs.iter().map(|(name, v)| ((*name).into(), *v)).collect(),
                output,
                self.body,
            )
        }
    }
}
