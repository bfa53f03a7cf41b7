//! Emission: instructions over values that have no slots yet.

use crate::prepare::{PrepareError, Prepared};
use cembra_vm::operator::{OperatorTable, Overload};
use cembra_vm::program::instruction::Span;
use cembra_vm::program::{Body, Instruction, Program, Routine, ValueId};
use cembra_vm::value::{QType, Value};
use hashbrown::HashMap;
use std::sync::Arc;

/// What a value is, before it has a slot.
#[derive(Clone, Debug)]
pub enum Role {
    /// An input, by position.
    Input(usize),
    /// The main output.
    Output,
    /// A literal, met before this instruction.
    Literal(Value, usize),
    /// A result.
    Temporary,
    /// Bytes of another value: at an offset from its start.
    View(ValueId, u32),
    /// A result that lies in a field of a tuple from the start.
    Field(ValueId, usize),
}

/// A value of a body under construction.
#[derive(Clone, Debug)]
pub struct VirtualValue {
    /// Its type.
    pub qtype: QType,
    /// What it is.
    pub role: Role,
}

/// Instructions over values without slots.
#[derive(Debug)]
pub struct Emission {
    /// The instructions.
    pub body: Body,
    /// The values.
    pub values: Vec<VirtualValue>,
    /// Values of the inputs, in order.
    pub inputs: Vec<ValueId>,
    /// Value of the output.
    pub output: ValueId,
    /// True if a value may be defined on several ways that meet, other than as the result of a choice.
    pub redefines: bool,
    /// Values of the side outputs, in order.
    pub side_outputs: Vec<ValueId>,
    /// Routines that are called: they follow the one of the body in the program.
    pub routines: Vec<Routine>,
    /// Instructions of those.
    called_instructions: usize,
    instruction_limit: usize,
    table: Arc<OperatorTable>,
    /// First routine of each program that was added, by its address and the place of the call.
    programs: HashMap<(usize, Span), u32>,
    /// Operators of the body by the address of their overload, which the body keeps alive.
    operators: HashMap<usize, u32>,
    literals: HashMap<Value, ValueId>,
    /// Overloads found by name, by types.
    named: HashMap<Vec<QType>, Vec<Arc<Overload>>>,
}

impl Emission {
    /// Inputs and the output of a prepared expression, and no instructions yet.
    pub fn new(prepared: &Prepared, instruction_limit: usize) -> Emission {
        let inputs = prepared.inputs().iter().map(|(_, qtype)| qtype.clone());
        let output = prepared.qtype(prepared.outputs()[0]).clone();
        let table = prepared.draft().registry.table().clone();
        Emission::with_interface(inputs, output, table, instruction_limit)
    }

    /// Inputs and an output of these types, and no instructions yet.
    pub fn with_interface(
        inputs: impl IntoIterator<Item = QType>,
        output: QType,
        table: Arc<OperatorTable>,
        instruction_limit: usize,
    ) -> Emission {
        let mut emission = Emission {
            body: Body::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            output: ValueId(0),
            redefines: false,
            side_outputs: Vec::new(),
            routines: Vec::new(),
            called_instructions: 0,
            programs: HashMap::new(),
            instruction_limit,
            table,
            operators: HashMap::new(),
            literals: HashMap::new(),
            named: HashMap::new(),
        };
        for (position, qtype) in inputs.into_iter().enumerate() {
            let input = emission.value(qtype, Role::Input(position));
            emission.inputs.push(input);
        }
        emission.output = emission.value(output, Role::Output);
        emission
    }

    /// # Errors
    /// There are more instructions than the limit allows: work that several branches may need is
    /// emitted in each of them.
    pub fn check_length(&self) -> Result<(), PrepareError> {
        match self.body.instructions().len() + self.called_instructions <= self.instruction_limit {
            true => Ok(()),
            false => Err(PrepareError::TooManyInstructions { limit: self.instruction_limit }),
        }
    }

    /// `result` = the main routine of a program, called. Its routines become routines of this one, once for each place of
    /// the source, where their instructions stand then.
    pub fn push_call(&mut self, program: &Arc<Program>, operands: &[ValueId], result: ValueId, span: Span) {
        // Behind the routine of the body.
        let next = self.routines.len() as u32 + 1;
        let routine = *self.programs.entry((Arc::as_ptr(program).addr(), span)).or_insert(next);
        if routine == next {
            for called in program.routines() {
                let mut called = called.clone();
                called.body.offset_calls(next);
                called.parallel.iter_mut().for_each(|parallel| parallel.combine += next);
                called.body.replace_spans(span);
                self.called_instructions += called.body.instructions().len();
                self.routines.push(called);
            }
        }
        let body = &mut self.body;
        let (operands, results) = (body.add_list(operands.iter().copied()), body.add_list([result]));
        body.push(Instruction::Call { routine, operands, results }, span);
    }

    /// The value that a view shows, to the end.
    pub fn owner(&self, value: ValueId) -> ValueId {
        let mut owner = value;
        while let Role::View(of, _) = self.values[owner.index()].role {
            owner = of;
        }
        owner
    }

    /// The value whose slot holds the bytes.
    pub fn holder(&self, value: ValueId) -> ValueId {
        let mut holder = value;
        loop {
            match self.values[holder.index()].role {
                Role::View(of, _) => holder = of,
                Role::Field(tuple, _) => holder = tuple,
                _ => return holder,
            }
        }
    }

    /// A new value.
    pub fn value(&mut self, qtype: QType, role: Role) -> ValueId {
        self.values.push(VirtualValue { qtype, role });
        ValueId(self.values.len() as u32 - 1)
    }

    /// The value of a literal, one for equal literals.
    pub fn literal_value(&mut self, literal: &Value) -> ValueId {
        if let Some(known) = self.literals.get(literal) {
            return *known;
        }
        let role = Role::Literal(literal.clone(), self.body.instructions().len());
        let value = self.value(literal.qtype(), role);
        self.literals.insert(literal.clone(), value);
        value
    }

    /// `result = overload(operands)`.
    pub fn push(&mut self, overload: &Arc<Overload>, operands: &[ValueId], result: ValueId, span: Span) {
        let body = &mut self.body;
        let operator = *self
            .operators
            .entry(Arc::as_ptr(overload).addr())
            .or_insert_with(|| body.add_operator(overload.clone()));
        self.body.push_operator(operator, operands, result, span);
    }

    /// `result = operator(operands)`, the overload found by types.
    ///
    /// # Errors
    /// The operator has no such overload.
    pub fn push_named(
        &mut self,
        name: &str,
        operands: &[ValueId],
        result: ValueId,
        span: Span,
    ) -> Result<(), PrepareError> {
        let types: Vec<QType> = operands.iter().map(|v| self.values[v.index()].qtype.clone()).collect();
        match self.find(name, &types) {
            Some(overload) => {
                self.push(&overload, operands, result, span);
                Ok(())
            }
            None => Err(PrepareError::NoOverload { operator: name.into(), types, span }),
        }
    }

    /// The overload of an operator; the same object for the same types.
    fn find(&mut self, name: &str, types: &[QType]) -> Option<Arc<Overload>> {
        let known = self.named.get(types).and_then(|all| all.iter().find(|o| &**o.name() == name));
        if known.is_some() {
            return known.cloned();
        }
        let found = self.table.overload(name, types)?;
        self.named.entry(types.to_vec()).or_default().push(found.clone());
        Some(found)
    }
}
