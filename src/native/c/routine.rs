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

use crate::native::c::calls::{Through, called, is_recursive, parameters, results, returns};
use crate::native::c::constants::{category_name, constants_of, quoted};
use crate::native::c::locals::{Locals, leaves};
use crate::native::c::loops::{Unchecked, unchecked};
use crate::native::c::makes::{made, made_results};
use crate::native::c::parts::seen_through;
use crate::native::c::regions::{Region, regions};
use crate::native::c::speculation::{RARE, Speculation};
use crate::native::c::writer::{LineOf, Writer};
use crate::native::error::NotTranslated;
use crate::native::operation::Operation;
use crate::native::stage::{ArrayLayout, C, Language};
use cembra_vm::library::BoundaryArray;
use cembra_vm::program::{Instruction, Program, ValueId, dump};
use cembra_vm::value::{QType, ScalarValue, Value};
use hashbrown::{HashMap, HashSet};
use std::fmt::Write;

/// Bytes of stack that a call is taken to need: calls as deep as they may be take 1 MiB.
const BYTES_OF_A_CALL: usize = 1048;

/// The function of a routine; one that `is_explained` has the instructions as comments.
///
/// # Errors
/// Something has no form in C.
pub(super) fn function(
    number: usize,
    program: &Program,
    layout: ArrayLayout,
    line: LineOf<'_>,
    is_explained: bool,
) -> Result<String, NotTranslated> {
    let mut writer = writer(number, program, layout, line);
    writer.is_explained = is_explained;
    writer.function()
}

/// The writer of a routine.
pub(super) fn writer<'p>(
    number: usize,
    program: &'p Program,
    layout: ArrayLayout,
    line: LineOf<'p>,
) -> Writer<'p> {
    let routine = &program.routines()[number];
    let literals = routine.literals.iter();
    let scalars = literals.filter_map(|(value, literal)| match literal {
        Value::Scalar(scalar) => Some((*value, scalar.clone())),
        _ => None,
    });
    let scalars: HashMap<ValueId, ScalarValue> = scalars.collect();
    let locals = Locals::new(routine);
    Writer {
        regions: regions(routine, &locals, &scalars),
        number,
        program,
        routine,
        line,
        locals,
        literals: scalars,
        is_called: program.routines().iter().any(|routine| called(routine).any(|callee| callee == number)),
        layout,
        without_checks: None,
        speculates: false,
        made: made(routine),
        seen_through: seen_through(routine),
        lent: made_results(routine),
        edges: Vec::new(),
        written: HashSet::new(),
        functions: String::new(),
        is_explained: false,
        text: String::new(),
    }
}

impl Writer<'_> {
    fn function(mut self) -> Result<String, NotTranslated> {
        self.text = format!("{}\n{{\n", parameters(self.number, self.routine)?);
        let loops = self.prologue()?;
        for (position, result) in results(self.routine)? {
            match result {
                Through::Array(_) => {
                    let _ = writeln!(self.text, "    void *lent{position} = q{position}->data;");
                }
                Through::Edge => {
                    let _ = writeln!(self.text, "    *q{position} = (cembra_edge){{ 0 }};");
                }
                Through::Leaf(_) => {}
            }
        }
        self.body(&loops)?;
        let values: Vec<ValueId> = self.routine.results().collect();
        let through_pointers = results(self.routine)?;
        let mut arrays = String::new();
        for (position, result) in &through_pointers {
            let text = match result {
                Through::Leaf(leaf) => {
                    format!("*q{position}_{} = {};", leaf.at, self.locals.name(values[*position], *leaf))
                }
                Through::Array(_) => {
                    let _ = write!(
                        arrays,
                        " if (q{position}->data != lent{position}) free(q{position}->data); q{position}->data = lent{position};"
                    );
                    self.given(values[*position], *position)
                }
                Through::Edge => {
                    let _ =
                        write!(arrays, " free(q{position}->numbers.data); q{position}->numbers.data = NULL;");
                    let (edge, number) = (self.locals.owner(values[*position]), self.number);
                    let message = quoted("there is no memory for the edge");
                    format!(
                        "{{ int32_t k = put_edge(&{edge}, q{position}); if (CEMBRA_RARE(k)) \
                         {{ status = cembra_raise(run, k, {number}, 0, 0, {message}, CEMBRA_OPERANDS(0)); goto out; }} }}"
                    )
                }
            };
            let _ = writeln!(self.text, "    {text}");
        }
        let returns = returns(self.routine)?;
        let value: String = match through_pointers.is_empty() {
            true => values
                .iter()
                .flat_map(|value| self.locals.all(*value))
                .map(|(local, _)| format!(", {local}"))
                .collect(),
            false => String::new(),
        };
        self.text.push_str("out: __attribute__((unused));\n");
        for edge in &self.edges {
            let _ = writeln!(self.text, "    free_grouping(&{edge});");
        }
        let mut made: Vec<&ValueId> = self.made.iter().collect();
        made.sort();
        for value in made {
            let _ = writeln!(self.text, "    free({value}_own);");
        }
        if !arrays.is_empty() {
            let _ = writeln!(self.text, "    if (status != 0) {{{arrays} }}");
        }
        let _ = writeln!(self.text, "    return ({returns}){{ status{value} }};");
        for again in loops {
            self.again(again)?;
        }
        self.text.push_str("}\n");
        Ok(self.functions + &self.text)
    }

    /// Declares the locals and counts the call, if it is one; gives the loops that are written twice.
    fn prologue(&mut self) -> Result<Vec<Unchecked>, NotTranslated> {
        // A recursion goes as deep as the stack is, of which stretches take more.
        let speculates = !is_recursive(self.program, self.number);
        let loops = unchecked(self.routine, &self.locals, speculates);
        let in_stretches: Vec<_> =
            loops.iter().filter_map(|again| Some((again.condition, again.speculation.as_ref()?))).collect();
        let bytes = self.declare()? + in_stretches.iter().map(|(_, of)| of.bytes()).sum::<usize>();
        self.text.push_str("    int32_t status = 0;\n");
        for (condition, speculation) in in_stretches {
            self.text += &speculation.declared(condition);
        }
        match self.is_called {
            true => self.enter(bytes),
            false => self.text.push_str("    (void)depth;\n"),
        }
        Ok(loops)
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
            // The axes are in the names of operators.
            if let QType::Axes(_) = info.slot.qtype() {
                continue;
            }
            let literal = literals.get(&value).copied();
            if let Some(array) = self.locals.array(value) {
                bytes += 8 + 16 * array.rank();
                match literal {
                    Some(literal) => self.declare_literal(value, literal)?,
                    None => self.declare_array(value, array),
                }
                continue;
            }
            if info.slot.qtype().is_edge() {
                bytes += 40;
                match literal {
                    Some(literal) => self.declare_literal(value, literal)?,
                    None => self.declare_edge(value)?,
                }
                continue;
            }
            if leaves(info.slot.qtype()).is_none() {
                return Err(self.no_form(value));
            }
            bytes += 8 * self.declare_plain(value, literal);
        }
        for number in 0..self.kept() {
            let _ = writeln!(self.text, "    cembra_error kept{number} = *run->error;");
            bytes += 104;
        }
        for (position, (_, value)) in self.routine.inputs.iter().enumerate() {
            if self.routine.slot(*value).qtype().is_edge() {
                let _ = writeln!(self.text, "    {value} = *p{position};");
                continue;
            }
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

    /// Declares an edge. One that is made here is freed here; arguments are not.
    fn declare_edge(&mut self, value: ValueId) -> Result<(), NotTranslated> {
        let _ = writeln!(self.text, "    cembra_grouping {value} = {{ 0 }};");
        let body = &self.routine.body;
        let mut written = body.instructions().iter().flat_map(|instruction| body.writes(instruction));
        let is_made = written.any(|written| self.locals.owner(*written) == value);
        let is_taken = self.routine.inputs.iter().any(|(_, input)| self.locals.owner(*input) == value);
        match (is_made, is_taken) {
            (true, true) => Err(self.no_form(value)),
            (is_made, _) => {
                self.edges.extend(is_made.then_some(value));
                Ok(())
            }
        }
    }

    /// The refusal of a value.
    pub(super) fn no_form(&self, value: ValueId) -> NotTranslated {
        let qtype = self.routine.slot(value).qtype().to_string();
        NotTranslated::Value { language: C::NAME, routine: self.number, value, qtype }
    }

    /// Declares the locals of a plain value, which may be a literal; gives how many there are.
    pub(super) fn declare_plain(&mut self, value: ValueId, literal: Option<&Value>) -> usize {
        let mut constants = Vec::new();
        literal.into_iter().for_each(|literal| constants_of(literal, &mut constants));
        let all = self.locals.all(value);
        for (position, (local, ctype)) in all.iter().enumerate() {
            let constant = constants.get(position).map_or("0", String::as_str);
            let _ = writeln!(self.text, "    {} {local} = {constant};", ctype.name());
        }
        all.len()
    }

    fn declare_array(&mut self, value: ValueId, array: BoundaryArray) {
        let axes: Vec<String> =
            (0..array.rank()).map(|axis| format!("{value}_n{axis} = 0, {value}_s{axis} = 0")).collect();
        let own = match self.made.contains(&value) {
            true => format!(" void *{value}_own = NULL; int64_t {value}_room = 0;"),
            false => String::new(),
        };
        let rows = match array.has_rows() {
            true => format!(" const uint8_t *{value}_valid = NULL; int64_t {value}_bit = 0;"),
            false => String::new(),
        };
        let _ = writeln!(self.text, "    char *{value} = NULL; int64_t {};{rows}{own}", axes.join(", "));
    }

    /// Takes an array argument apart. One of the main routine stands as the call says.
    fn take_array(&mut self, position: usize, value: ValueId, array: BoundaryArray) {
        let _ = writeln!(self.text, "    {value} = p{position}->data;");
        if array.has_rows() {
            let _ = writeln!(
                self.text,
                "    {value}_valid = p{position}->validity; {value}_bit = p{position}->offset;"
            );
        }
        for axis in 0..array.rank() {
            let _ = writeln!(self.text, "    {value}_n{axis} = p{position}->shape[{axis}];");
        }
        let is_given = self.layout == ArrayLayout::Contiguous && self.number == 0 && !self.is_called;
        for axis in (0..array.rank()).rev() {
            let stride = match is_given {
                true if axis + 1 == array.rank() => array.size().to_string(),
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

    /// Refuses calls that are nested too deeply. One with a large frame counts as several.
    fn enter(&mut self, bytes: usize) {
        let _ = writeln!(
            self.text,
            "    depth += {};\n    if (CEMBRA_RARE(depth > CEMBRA_DEPTH)) {{\n        \
             status = cembra_raise(run, CEMBRA_LIMIT, {}, 0, 0, \"calls are nested too deeply\", CEMBRA_OPERANDS(0));\n        \
             goto out;\n    }}",
            bytes.div_ceil(BYTES_OF_A_CALL),
            self.number
        );
    }

    fn body(&mut self, loops: &[Unchecked]) -> Result<(), NotTranslated> {
        let body = &self.routine.body;
        let count = body.instructions().len();
        let targets =
            (0..count).filter_map(|ip| body.target(ip)).chain(loops.iter().map(|again| again.last + 1));
        let targets: HashSet<usize> = targets.collect();
        let entries: HashMap<usize, &Unchecked> = loops.iter().map(|again| (again.entry, again)).collect();
        let choices = self.choices(0..count, &targets);
        for ip in 0..count {
            if targets.contains(&ip) {
                let _ = writeln!(self.text, "L{ip}:;");
            }
            if let Some(again) = entries.get(&ip) {
                let enter = match again.speculation {
                    Some(_) => Speculation::enter(again.condition),
                    None => format!("goto L{}u;", again.condition),
                };
                let test = again.test.statements(&enter);
                let _ = writeln!(self.text, "    {test}");
            }
            self.write_instruction(ip, &choices)?;
        }
        if targets.contains(&count) {
            let _ = writeln!(self.text, "L{count}:;");
        }
        Ok(())
    }

    /// Writes a loop once more, without the checks that its test makes needless.
    fn again(&mut self, again: Unchecked) -> Result<(), NotTranslated> {
        let body = &self.routine.body;
        let range = again.entry + 1..=again.last;
        let targets: HashSet<usize> =
            range.clone().filter_map(|ip| body.target(ip)).chain([again.condition]).collect();
        let behind = again.last + 1;
        let has_stretches = again.speculation.is_some();
        self.without_checks = Some(again);
        let choices = self.choices(*range.start()..*range.end() + 1, &targets);
        for ip in range.clone() {
            if targets.contains(&ip) {
                let _ = writeln!(self.text, "{}:;", self.label(ip));
            }
            match self.back(ip) {
                Some(back) => {
                    let _ = writeln!(self.text, "    {back}");
                }
                None => self.write_instruction(ip, &choices)?,
            }
        }
        let _ = writeln!(self.text, "    goto L{behind};");
        if has_stretches {
            self.stretches(*range.start()..*range.end())?;
        }
        self.without_checks = None;
        Ok(())
    }

    /// Writes an instruction; of a branch and an operation that are a choice, the branch has the text.
    pub(super) fn write_instruction(
        &mut self,
        ip: usize,
        choices: &HashMap<usize, String>,
    ) -> Result<(), NotTranslated> {
        if self.is_explained {
            let _ = writeln!(
                self.text,
                "    {}",
                C::comment(&format!("{ip}: {}", dump::instruction(self.routine, ip)))
            );
        }
        let is_chosen = ip.checked_sub(1).is_some_and(|branch| choices.contains_key(&branch));
        if is_chosen {
            return Ok(());
        }
        if let Some(choice) = choices.get(&ip) {
            let _ = writeln!(self.text, "    {choice}");
            return Ok(());
        }
        let statements = match self.regions.remove(&ip) {
            Some(region) => self.whole_region(region)?,
            None if self.regions.values().any(|region| region.first < ip && ip < region.end) => String::new(),
            None => self.instruction(ip)?,
        };
        if !statements.is_empty() {
            let _ = writeln!(self.text, "    {statements}");
        }
        Ok(())
    }

    /// The statements of a region: its scalars first.
    fn whole_region(&mut self, region: Region) -> Result<String, NotTranslated> {
        let mut text = String::new();
        for scalar in &region.scalars {
            let _ = write!(text, "{} ", self.instruction(*scalar)?);
        }
        text += &self.region(&region);
        self.regions.insert(region.first, region);
        Ok(text)
    }

    pub(super) fn instruction(&mut self, ip: usize) -> Result<String, NotTranslated> {
        let body = &self.routine.body;
        match body.instructions()[ip] {
            Instruction::Jump { .. } => Ok(self.go(ip)),
            Instruction::JumpIf { condition, .. } => {
                Ok(format!("if ({}) {}", self.locals.only(condition), self.go(ip)))
            }
            Instruction::JumpIfNot { condition, .. } => {
                Ok(format!("if (!{}) {}", self.locals.only(condition), self.go(ip)))
            }
            Instruction::Guard { .. } => Ok(String::new()),
            Instruction::Trap { .. } if self.speculates => Ok(RARE.to_owned()),
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
                let (number, operands, results) = (routine as usize, body.list(operands), body.list(results));
                Ok(match &self.program.routines()[number].parallel {
                    Some(parallel) => self.call_in_pieces(ip, (number, parallel), operands, results[0]),
                    None => self.call(ip, number, operands, results),
                })
            }
            Instruction::Operator { operator, operands, result } => {
                let overload = &body.operators()[operator as usize];
                let operation = Operation { ip, overload, operands: body.list(operands), result };
                self.operator(operation).ok_or_else(|| NotTranslated::Operator {
                    language: C::NAME,
                    routine: self.number,
                    instruction: ip,
                    operator: overload.to_string(),
                })
            }
        }
    }
}
