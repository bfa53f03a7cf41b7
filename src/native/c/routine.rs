//! Routines as functions of C: locals, instructions, what happens where one raises.
//!
//! ```text
//! static int32_t r0(cembra_run *run, const cembra_array *p0, int64_t p1, double *q0)
//! {
//!     locals, all zero; literals; parameters
//! L3:;                                  where a jump leads, or a guard
//!     v5 = add_i64(v3, v4);
//!     { double z; int32_t k = python_sqrt(v5, &z); if (rare k) { raise; to the guard's target, or out } v6 = z; }
//!     results
//! out:
//!     return status;
//! }
//! ```

use crate::native::c::locals::{CType, Locals, element_name, leaves};
use crate::native::c::recipes::{self, float, integer, narrow, single};
use crate::native::c::rules::{Gives, rule};
use crate::native::error::NotTranslated;
use crate::native::stage::{ArrayLayout, is_plain};
use cembra_vm::operator::Overload;
use cembra_vm::operator::primitive::Primitive;
use cembra_vm::program::{Catch, Instruction, Program, Routine, ValueId};
use cembra_vm::value::{Category, NdType, QType, ScalarType, ScalarValue, Value};
use hashbrown::HashMap;
use std::fmt::Write;

/// Operands that an error keeps.
const OPERANDS_OF_AN_ERROR: usize = 4;

/// Finds the line of an instruction by the place of its text; 0 if it is unknown.
pub(super) type LineOf<'l> = &'l dyn Fn(cembra_vm::program::instruction::Span) -> u32;

/// The parameters of a routine's function, in C.
pub(super) fn parameters(number: usize, routine: &Routine) -> Result<String, NotTranslated> {
    let mut text = format!("static int32_t r{number}(cembra_run *run");
    for (position, (name, value)) in routine.inputs.iter().enumerate() {
        let qtype = routine.slot(*value).qtype();
        if qtype.nd().is_some() {
            let _ = write!(text, ", const cembra_array *p{position}");
            continue;
        }
        for leaf in plain_leaves(qtype, || format!("argument {name}"))? {
            let _ = write!(text, ", {} p{position}_{}", leaf.ctype.name(), leaf.at);
        }
    }
    for (position, value) in routine.results().enumerate() {
        let qtype = routine.slot(value).qtype();
        for leaf in plain_leaves(qtype, || format!("result {position}"))? {
            let _ = write!(text, ", {} *q{position}_{}", leaf.ctype.name(), leaf.at);
        }
    }
    text.push(')');
    Ok(text)
}

fn plain_leaves(
    qtype: &QType,
    what: impl FnOnce() -> String,
) -> Result<Vec<crate::native::c::locals::Leaf>, NotTranslated> {
    let found = leaves(qtype).filter(|_| is_plain(qtype));
    found.ok_or_else(|| NotTranslated::Type { what: what(), qtype: qtype.to_string() })
}

/// The function of a routine.
///
/// # Errors
/// Something has no form in C.
pub(super) fn function(
    number: usize,
    program: &Program,
    layout: ArrayLayout,
    line: LineOf<'_>,
) -> Result<String, NotTranslated> {
    let routine = &program.routines()[number];
    if routine.parallel.is_some() {
        return Err(NotTranslated::Parallel { routine: number });
    }
    let literals = routine.literals.iter();
    let scalars = literals.filter_map(|(value, literal)| match literal {
        Value::Scalar(scalar) => Some((*value, scalar.clone())),
        _ => None,
    });
    let writer = Writer {
        number,
        program,
        routine,
        line,
        locals: Locals::new(routine),
        literals: scalars.collect(),
        is_called: calls(program).any(|callee| callee == number),
        layout,
        text: String::new(),
    };
    writer.function()
}

/// The routines that are called, once for each call.
fn calls(program: &Program) -> impl Iterator<Item = usize> + '_ {
    let instructions = program.routines().iter().flat_map(|routine| routine.body.instructions());
    instructions.filter_map(|instruction| match instruction {
        Instruction::Call { routine, .. } => Some(*routine as usize),
        _ => None,
    })
}

struct Writer<'p> {
    number: usize,
    program: &'p Program,
    routine: &'p Routine,
    line: LineOf<'p>,
    locals: Locals<'p>,
    /// Literals of one scalar.
    literals: HashMap<ValueId, ScalarValue>,
    /// True if routines call this one.
    is_called: bool,
    layout: ArrayLayout,
    text: String,
}

impl Writer<'_> {
    fn function(mut self) -> Result<String, NotTranslated> {
        self.text = format!("{}\n{{\n", parameters(self.number, self.routine)?);
        let bytes = self.declare()?;
        self.text.push_str("    int32_t status = 0;\n");
        if self.is_called {
            self.enter(bytes);
        }
        self.body()?;
        for (position, value) in self.routine.results().enumerate() {
            for leaf in leaves(self.routine.slot(value).qtype()).unwrap_or_default() {
                let local = self.locals.name(value, leaf);
                let _ = writeln!(self.text, "    *q{position}_{} = {local};", leaf.at);
            }
        }
        self.text.push_str("out: __attribute__((unused));\n");
        if self.is_called {
            let _ = writeln!(self.text, "    run->calls += 1;\n    run->stack += {bytes};");
        }
        self.text.push_str("    return status;\n}\n");
        Ok(self.text)
    }

    /// Declares the locals; gives the bytes of stack that they take at most.
    fn declare(&mut self) -> Result<usize, NotTranslated> {
        let mut bytes = 256;
        let literals: HashMap<ValueId, &Value> =
            self.routine.literals.iter().map(|(value, literal)| (*value, literal)).collect();
        for (value, info) in (0..).map(ValueId).zip(&self.routine.values) {
            if self.locals.owner(value) != value {
                continue;
            }
            if let Some(array) = info.slot.qtype().nd() {
                self.declare_array(value, array);
                bytes += 8 + 16 * array.rank();
                continue;
            }
            if leaves(info.slot.qtype()).is_none() {
                let (routine, qtype) = (self.number, info.slot.qtype().to_string());
                return Err(NotTranslated::Value { routine, value, qtype });
            }
            let mut constants = Vec::new();
            literals.get(&value).into_iter().for_each(|literal| constants_of(literal, &mut constants));
            for (position, (local, ctype)) in self.locals.all(value).into_iter().enumerate() {
                let constant = constants.get(position).cloned().unwrap_or_else(|| "0".to_owned());
                let _ = writeln!(self.text, "    {} {local} = {constant};", ctype.name());
                bytes += 8;
            }
        }
        for number in 0..self.kept() {
            let _ = writeln!(self.text, "    cembra_error kept{number} = *run->error;");
            bytes += 64;
        }
        for (position, (_, value)) in self.routine.inputs.iter().enumerate() {
            match self.locals.array(*value) {
                Some(array) => self.take_array(position, *value, array),
                None => {
                    for leaf in leaves(self.routine.slot(*value).qtype()).unwrap_or_default() {
                        let local = self.locals.name(*value, leaf);
                        let _ = writeln!(self.text, "    {local} = p{position}_{};", leaf.at);
                    }
                }
            }
        }
        Ok(bytes)
    }

    fn declare_array(&mut self, value: ValueId, array: NdType) {
        let axes: Vec<String> = (0..array.rank()).map(|axis| format!("{value}_n{axis} = 0, {value}_s{axis} = 0")).collect();
        let _ = writeln!(self.text, "    char *{value} = NULL; int64_t {};", axes.join(", "));
    }

    /// Takes an array argument apart. One of the main routine stands as the call says.
    fn take_array(&mut self, position: usize, value: ValueId, array: NdType) {
        let _ = writeln!(self.text, "    {value} = p{position}->data;");
        for axis in 0..array.rank() {
            let _ = writeln!(self.text, "    {value}_n{axis} = p{position}->shape[{axis}];");
        }
        let is_given = self.layout == ArrayLayout::Contiguous && self.number == 0 && !self.is_called;
        for axis in (0..array.rank()).rev() {
            let stride = match is_given {
                true if axis + 1 == array.rank() => format!("sizeof({})", element_name(array.element())),
                true => format!("{value}_s{0} * {value}_n{0}", axis + 1),
                false => format!("p{position}->strides[{axis}]"),
            };
            let _ = writeln!(self.text, "    {value}_s{axis} = {stride};");
        }
    }

    /// How many faults guards keep.
    fn kept(&self) -> u32 {
        let kept = self.routine.body.catches().iter().filter_map(|catch| catch.keep);
        kept.max().map_or(0, |most| most + 1)
    }

    fn enter(&mut self, bytes: usize) {
        let _ = writeln!(
            self.text,
            "    run->calls -= 1;\n    run->stack -= {bytes};\n    if (CEMBRA_RARE(run->calls < 0 || run->stack < 0)) {{\n        \
             status = cembra_raise(run, CEMBRA_LIMIT, {}, 0, 0, \"calls are nested too deeply\", CEMBRA_OPERANDS(0));\n        \
             goto out;\n    }}",
            self.number
        );
    }

    fn body(&mut self) -> Result<(), NotTranslated> {
        let body = &self.routine.body;
        let count = body.instructions().len();
        let mut is_target = vec![false; count + 1];
        (0..count).filter_map(|ip| body.target(ip)).for_each(|target| is_target[target] = true);
        for ip in 0..count {
            if is_target[ip] {
                let _ = writeln!(self.text, "L{ip}:;");
            }
            let statements = self.instruction(ip)?;
            if !statements.is_empty() {
                let _ = writeln!(self.text, "    {statements}");
            }
        }
        if is_target[count] {
            let _ = writeln!(self.text, "L{count}:;");
        }
        Ok(())
    }

    fn instruction(&mut self, ip: usize) -> Result<String, NotTranslated> {
        let body = &self.routine.body;
        let target = || body.target(ip).unwrap_or_default();
        match body.instructions()[ip] {
            Instruction::Jump { .. } => Ok(format!("goto L{};", target())),
            Instruction::JumpIf { condition, .. } => {
                Ok(format!("if ({}) goto L{};", self.locals.only(condition), target()))
            }
            Instruction::JumpIfNot { condition, .. } => {
                Ok(format!("if (!{}) goto L{};", self.locals.only(condition), target()))
            }
            Instruction::Guard { .. } => Ok(String::new()),
            Instruction::Trap { trap } => {
                let trap = &body.traps()[trap as usize];
                let message = quoted(&trap.message);
                let category = category_name(trap.category);
                Ok(format!("{{ int32_t k = {category}; {} }}", self.raise(ip, &message, &[])))
            }
            Instruction::Again { number } => {
                let kept = format!("int32_t k = kept{number}.category; *run->error = kept{number};");
                Ok(format!("{{ {kept} {} }}", self.leave(ip)))
            }
            Instruction::Call { routine, operands, results } => {
                Ok(self.call(ip, routine as usize, body.list(operands), body.list(results)))
            }
            Instruction::Operator { operator, operands, result } => {
                let overload = &body.operators()[operator as usize];
                let operands = body.list(operands);
                self.operator(ip, overload, operands, result).ok_or_else(|| NotTranslated::Operator {
                    routine: self.number,
                    instruction: ip,
                    operator: overload.to_string(),
                })
            }
        }
    }

    /// What happens where an instruction has raised `k`; the text behind it is not reached.
    fn raise(&self, ip: usize, message: &str, operands: &[(String, CType)]) -> String {
        let bits = operands.iter().take(OPERANDS_OF_AN_ERROR).map(|(local, ctype)| ctype.bits(local));
        let bits: Vec<String> = bits.collect();
        let bits = if bits.is_empty() { "0".to_owned() } else { bits.join(", ") };
        let line = (self.line)(self.routine.body.span(ip));
        let number = self.number;
        format!(
            "k = cembra_raise(run, k, {number}, {ip}, {line}, {message}, CEMBRA_OPERANDS({bits})); {}",
            self.leave(ip)
        )
    }

    /// Goes to the guard that takes what was raised as `k`, or out.
    fn leave(&self, ip: usize) -> String {
        let body = &self.routine.body;
        let mut text = String::new();
        let guards: Vec<usize> = body.guards(ip).collect();
        for guard in guards {
            let Instruction::Guard { catch, .. } = body.instructions()[guard] else { continue };
            let catch = &body.catches()[catch as usize];
            let keep = catch.keep.map_or(String::new(), |number| format!("kept{number} = *run->error; "));
            let target = body.target(guard).unwrap_or_default();
            let _ = write!(text, "if ({}) {{ {keep}goto L{target}; }} ", takes(catch));
        }
        text + "status = k; goto out;"
    }

    fn operator(
        &self,
        ip: usize,
        overload: &Overload,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<String> {
        if overload.assembles() {
            return self.assemble(operands, result);
        }
        if let Some((function, gives)) = rule(overload) {
            return Some(self.helper(ip, function, gives, operands, result));
        }
        match overload.primitive() {
            Some(Primitive::Get(element, _)) => return Some(self.get(ip, element, operands, result)),
            Some(Primitive::Set(element, _)) => return Some(self.set(ip, element, operands)),
            Some(Primitive::Length) => return self.length(operands, result),
            _ => {}
        }
        recipes::statements(overload, operands, result, &self.locals, |value| self.literals.get(&value).cloned())
    }

    fn assemble(&self, operands: &[ValueId], result: ValueId) -> Option<String> {
        leaves(self.routine.slot(result).qtype())?;
        let sources = operands.iter().flat_map(|operand| self.locals.all(*operand));
        let moved = self.locals.all(result).into_iter().zip(sources);
        Some(moved.filter(|((to, _), (from, _))| to != from).map(|((to, _), (from, _))| format!("{to} = {from}; ")).collect())
    }

    fn helper(
        &self,
        ip: usize,
        function: &str,
        gives: Gives,
        operands: &[ValueId],
        result: ValueId,
    ) -> String {
        let from: Vec<(String, CType)> = operands.iter().flat_map(|value| self.locals.all(*value)).collect();
        let args: Vec<&str> = from.iter().map(|(name, _)| name.as_str()).collect();
        let (args, to) = (args.join(", "), self.locals.all(result));
        let Some((to, ctype)) = to.first() else { return String::new() };
        match gives {
            Gives::Value => format!("{to} = {function}({args});"),
            Gives::ValueOrCategory => format!(
                "{{ {} z; int32_t k = {function}({args}, &z); if (CEMBRA_RARE(k)) {{ {} }} {to} = z; }}",
                ctype.name(),
                self.raise(ip, "NULL", &from)
            ),
        }
    }

    /// Statements that compute `a`, the place of an element; they raise outside.
    fn place(&self, ip: usize, array: ValueId, indices: &[ValueId]) -> String {
        let array = self.locals.owner(array);
        let (mut text, mut place) = (String::new(), array.to_string());
        for (axis, index) in indices.iter().enumerate() {
            let (index, size) = (self.locals.only(*index), format!("{array}_n{axis}"));
            let axis_number = ("INT64_C(".to_owned() + &axis.to_string() + ")", CType::I64);
            let operands = [(index.clone(), CType::I64), axis_number, (size.clone(), CType::I64)];
            let _ = write!(
                text,
                "int64_t i{axis} = place_along({index}, {size}); if (CEMBRA_RARE((uint64_t)i{axis} >= (uint64_t){size})) \
                 {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {} }} ",
                self.raise(ip, "NULL", &operands)
            );
            let _ = write!(place, " + i{axis} * {array}_s{axis}");
        }
        text + "char *a = " + &place + ";"
    }

    fn get(&self, ip: usize, element: ScalarType, operands: &[ValueId], result: ValueId) -> String {
        let (name, to) = (element_name(element), self.locals.only(result));
        let value = match element {
            ScalarType::Boolean => "e != 0".to_owned(),
            _ => "e".to_owned(),
        };
        let beyond = match element {
            ScalarType::Uint64 => {
                let message = quoted("an element of UINT64 is larger than any INT64");
                format!(" if (CEMBRA_RARE(e > INT64_MAX)) {{ int32_t k = CEMBRA_CAST; {} }}", self.raise(ip, &message, &[]))
            }
            _ => String::new(),
        };
        let place = self.place(ip, operands[0], &operands[1..]);
        format!("{{ {place} {name} e; memcpy(&e, a, sizeof e);{beyond} {to} = {value}; }}")
    }

    fn set(&self, ip: usize, element: ScalarType, operands: &[ValueId]) -> String {
        let (name, value) = (element_name(element), self.locals.only(operands[1]));
        let place = self.place(ip, operands[0], &operands[2..]);
        format!("{{ {place} {name} e = ({name}){value}; memcpy(a, &e, sizeof e); }}")
    }

    /// The size of an axis that the program names.
    fn length(&self, operands: &[ValueId], result: ValueId) -> Option<String> {
        let Some(ScalarValue::Int64(axis)) = self.literals.get(&operands[1]) else { return None };
        let rank = self.locals.array(operands[0])?.rank();
        let axis = usize::try_from(*axis).ok().filter(|axis| *axis < rank)?;
        Some(format!("{} = {}_n{axis};", self.locals.only(result), self.locals.owner(operands[0])))
    }

    fn call(&self, ip: usize, callee: usize, operands: &[ValueId], results: &[ValueId]) -> String {
        let (mut text, mut args) = (String::from("{ "), String::from("run"));
        for (position, operand) in operands.iter().enumerate() {
            match self.locals.array(*operand) {
                Some(array) => {
                    let (value, rank) = (self.locals.owner(*operand), array.rank());
                    let list = |what: &str| {
                        let all: Vec<String> = (0..rank).map(|axis| format!("{value}_{what}{axis}")).collect();
                        all.join(", ")
                    };
                    let _ = write!(
                        text,
                        "cembra_array a{position} = {{ {value}, {{ {} }}, {{ {} }} }}; ",
                        list("n"),
                        list("s")
                    );
                    let _ = write!(args, ", &a{position}");
                }
                None => self.locals.all(*operand).iter().for_each(|(local, _)| args += &format!(", {local}")),
            }
        }
        let mut moved = String::new();
        for (position, result) in results.iter().enumerate() {
            for (number, (local, ctype)) in self.locals.all(*result).into_iter().enumerate() {
                let _ = write!(text, "{} z{position}_{number} = 0; ", ctype.name());
                let _ = write!(args, ", &z{position}_{number}");
                let _ = write!(moved, " {local} = z{position}_{number};");
            }
        }
        let _ = write!(
            text,
            "int32_t k = r{callee}({args}); if (CEMBRA_RARE(k)) {{ {} }}{moved} }}",
            self.leave(ip)
        );
        debug_assert!(callee < self.program.routines().len());
        text
    }
}

/// The condition under which a guard takes `k`.
fn takes(catch: &Catch) -> String {
    let categories = catch.categories.iter().map(|category| format!("k == {}", category_name(*category)));
    let classes = catch.classes.iter().map(|class| {
        format!("(k == CEMBRA_RAISED && cembra_is_class(run->error->message, {}))", quoted(class))
    });
    let all: Vec<String> = categories.chain(classes).collect();
    if all.is_empty() { "0".to_owned() } else { all.join(" || ") }
}

/// The name in C of a category.
pub(super) fn category_name(category: Category) -> String {
    format!("CEMBRA_{}", category.name())
}

/// The constants of the leaves of a literal.
fn constants_of(value: &Value, constants: &mut Vec<String>) {
    match value {
        Value::Scalar(scalar) => constants.extend(constant(scalar)),
        Value::Present(scalar) => {
            constants.push("1".to_owned());
            constants.extend(constant(scalar).filter(|_| *scalar != ScalarValue::Unit));
        }
        Value::Missing(scalar) => {
            let count = if *scalar == ScalarType::Unit { 1 } else { 2 };
            constants.extend(std::iter::repeat_n("0".to_owned(), count));
        }
        Value::Tuple(tuple) => tuple.fields().iter().for_each(|field| constants_of(field, constants)),
        _ => {}
    }
}

fn constant(scalar: &ScalarValue) -> Option<String> {
    match scalar {
        ScalarValue::Boolean(x) => Some(u8::from(*x).to_string()),
        ScalarValue::Int32(x) => Some(narrow(*x)),
        ScalarValue::Int64(x) => Some(integer(*x)),
        ScalarValue::Float32(x) => Some(single(*x)),
        ScalarValue::Float64(x) => Some(float(*x)),
        ScalarValue::WeakFloat(x) => Some(float(*x)),
        ScalarValue::Unit => Some("0".to_owned()),
        _ => None,
    }
}

/// A string of C.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => drop(write!(out, "\\{}", byte as char)),
            0x20..0x7f => out.push(byte as char),
            // Three digits always: a fourth one would not belong to it.
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out + "\""
}
