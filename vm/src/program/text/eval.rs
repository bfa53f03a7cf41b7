//! Reads the operators and instructions of a routine.
//!
//! An operator is looked up by its exact name and argument types. It must be there, with the result
//! type and effects that the text states; all that are not so are reported together.

use crate::operator::{Effects, Overload};
use crate::program::body::Body;
use crate::program::catch::Catch;
use crate::program::instruction::{Instruction, Span, Trap, ValueId};
use crate::program::program::Routine;
use crate::program::text::cursor::{Cursor, Read};
use crate::program::text::error::OperatorProblem;
use crate::program::text::parse::{Parser, read_id};
use crate::program::text::print::write_signature;
use crate::program::text::quoted::{read_name, read_text};
use crate::program::text::types::read_type;
use crate::value::{Category, QType};
use std::sync::Arc;

/// What the body of a routine may refer to.
#[derive(Clone, Copy)]
struct Scope {
    values: usize,
    operators: u32,
}

/// A line of the operator list.
struct Declaration {
    line: u32,
    name: String,
    args: Vec<QType>,
    result: QType,
    effects: Effects,
}

impl Parser<'_> {
    /// Reads the operator list into the body; gives the number of its lines.
    pub(super) fn operators(&mut self, body: &mut Body) -> Read<u32> {
        self.heading("operators")?;
        let mut count = 0;
        while !self.lines.at_word("eval") {
            let declaration = read_declaration(self.lines.take(), count as usize)?;
            count += 1;
            match self.resolve(declaration) {
                Ok(overload) => {
                    body.add_operator(overload);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        Ok(count)
    }

    fn resolve(&self, declared: Declaration) -> Result<Arc<Overload>, OperatorProblem> {
        let Declaration { line, name, args, result, effects } = declared;
        let mut signature = String::new();
        write_signature(&mut signature, &name, &args);
        if self.table.family(&name).is_none() {
            return Err(OperatorProblem::Unknown { line, signature });
        }
        let found = self.table.overload(&name, &args).filter(|o| *o.args() == *args && **o.name() == *name);
        let Some(found) = found else {
            return Err(OperatorProblem::Overload { line, signature });
        };
        if *found.result() != result {
            let (stated, actual) = (result, found.result().clone());
            return Err(OperatorProblem::Result { line, signature, stated, actual });
        }
        match found.effects() == effects {
            true => Ok(found),
            false => {
                Err(OperatorProblem::Effects { line, signature, stated: effects, actual: found.effects() })
            }
        }
    }

    /// Reads the instructions into the routine's body.
    pub(super) fn eval(&mut self, routine: &mut Routine, operators: u32) -> Read<()> {
        self.heading("eval")?;
        let scope = Scope { values: routine.values.len(), operators };
        while !self.lines.at_word("routine") && !self.lines.at_word("end") {
            let mut line = self.lines.take();
            let instruction = self.instruction(&mut line, &mut routine.body, scope)?;
            let span = read_span(&mut line)?;
            line.done()?;
            routine.body.push(instruction, span);
        }
        Ok(())
    }

    fn instruction(&mut self, line: &mut Cursor<'_>, body: &mut Body, scope: Scope) -> Read<Instruction> {
        let start = *line;
        match line.word() {
            "jump" => {
                let offset = read_distance(line)?;
                line.expect("(")?;
                line.expect(")")?;
                Ok(Instruction::Jump { offset })
            }
            "jump_if" => {
                let (offset, condition) = read_conditional(line, scope)?;
                Ok(Instruction::JumpIf { condition, offset })
            }
            "jump_if_not" => {
                let (offset, condition) = read_conditional(line, scope)?;
                Ok(Instruction::JumpIfNot { condition, offset })
            }
            "trap" => {
                let trap = read_trap(line)?;
                Ok(Instruction::Trap { trap: self.trap(body, trap)? })
            }
            "guard" => {
                let offset = read_distance(line)?;
                let catch = read_catch(line)?;
                Ok(Instruction::Guard { catch: body.add_catch(catch), offset })
            }
            "again" => {
                line.expect("<")?;
                let number = line.number("a number under which a fault is kept")?;
                for bracket in [">", "(", ")"] {
                    line.expect(bracket)?;
                }
                Ok(Instruction::Again { number })
            }
            word if word.starts_with('v') => {
                *line = start;
                read_assignment(line, body, scope)
            }
            _ => Err(start.expected("an instruction, `routine` or `end`")),
        }
    }
}

/// Reads `o3: math.add(FLOAT64, FLOAT64) -> FLOAT64 total`.
fn read_declaration(mut line: Cursor<'_>, number: usize) -> Read<Declaration> {
    line.numbered('o', number)?;
    let name = read_name(&mut line)?;
    let args = read_list(&mut line, read_type)?;
    line.expect("->")?;
    let result = read_type(&mut line)?;
    let effects = read_effects(&mut line)?;
    line.done()?;
    Ok(Declaration { line: line.line(), name, args, result, effects })
}

fn read_effects(line: &mut Cursor<'_>) -> Read<Effects> {
    let start = *line;
    let word = line.word();
    let effects = Effects::ALL.into_iter().find(|e| e.name() == word);
    effects.ok_or_else(|| start.expected("`total`, `raises`, `host` or `updates`"))
}

/// Reads `(item, item, …)`.
fn read_list<T>(line: &mut Cursor<'_>, item: impl Fn(&mut Cursor<'_>) -> Read<T>) -> Read<Vec<T>> {
    let mut items = Vec::new();
    line.expect("(")?;
    while !line.eat(")") {
        if !items.is_empty() && !line.eat(",") {
            return Err(line.expected("`,` or `)`"));
        }
        items.push(item(line)?);
    }
    Ok(items)
}

/// Reads `v2 = o0(v0, v1)` or `v2, v3 = call<1>(v0, v1)`.
fn read_assignment(line: &mut Cursor<'_>, body: &mut Body, scope: Scope) -> Read<Instruction> {
    let mut results = vec![read_id(line, scope.values)?];
    while line.eat(",") {
        results.push(read_id(line, scope.values)?);
    }
    line.expect("=")?;
    let start = *line;
    if line.word() == "call" {
        line.expect("<")?;
        let routine = line.number("a routine number")?;
        line.expect(">")?;
        let operands = body.add_list(read_list(line, |line| read_id(line, scope.values))?);
        return Ok(Instruction::Call { routine, operands, results: body.add_list(results) });
    }
    *line = start;
    let operator = read_operator(line, scope)?;
    let operands = body.add_list(read_list(line, |line| read_id(line, scope.values))?);
    match results[..] {
        [result] => Ok(Instruction::Operator { operator, operands, result }),
        _ => Err(start.expected("`call`, as there are several results")),
    }
}

fn read_operator(line: &mut Cursor<'_>, scope: Scope) -> Read<u32> {
    let start = *line;
    if !line.peek().starts_with('o') {
        return Err(start.expected("an operator such as `o0`, or `call`"));
    }
    match line.id('o')? {
        operator if operator < scope.operators => Ok(operator),
        _ => Err(start.expected(format!("an operator before o{}", scope.operators))),
    }
}

/// Reads `<+2>`.
fn read_distance(line: &mut Cursor<'_>) -> Read<i32> {
    line.expect("<")?;
    let start = *line;
    let digits = line.take_while(|c| c.is_ascii_digit() || c == '+' || c == '-');
    let signed = digits.starts_with(['+', '-']);
    let distance = digits.parse().ok().filter(|_| signed);
    let distance = distance.ok_or_else(|| start.expected("a distance such as `+2` or `-3`"))?;
    line.expect(">")?;
    Ok(distance)
}

/// Reads `<+2>(v4)`.
fn read_conditional(line: &mut Cursor<'_>, scope: Scope) -> Read<(i32, ValueId)> {
    let distance = read_distance(line)?;
    line.expect("(")?;
    let condition = read_id(line, scope.values)?;
    line.expect(")")?;
    Ok((distance, condition))
}

/// Reads `<CATEGORY>('message')`.
fn read_trap(line: &mut Cursor<'_>) -> Read<Trap> {
    line.expect("<")?;
    let start = *line;
    let word = line.word();
    let category = Category::from_name(word);
    let category = category.ok_or_else(|| start.expected("a category such as `DIVISION_BY_ZERO`"))?;
    line.expect(">")?;
    line.expect("(")?;
    let message = read_text(line)?.into();
    line.expect(")")?;
    Ok(Trap { category, message })
}

/// Reads `(DIVISION_BY_ZERO, 'KeyError') keep 0`.
fn read_catch(line: &mut Cursor<'_>) -> Read<Catch> {
    let mut catch = Catch::default();
    line.expect("(")?;
    let mut is_first = true;
    while !line.eat(")") {
        if !std::mem::take(&mut is_first) {
            line.expect(",")?;
        }
        let start = *line;
        if line.eat("'") {
            *line = start;
            catch.classes.push(read_text(line)?.into());
            continue;
        }
        let category = Category::from_name(line.word());
        match category.filter(|_| catch.classes.is_empty()) {
            Some(category) => catch.categories.push(category),
            None => return Err(start.expected("a category such as `DIVISION_BY_ZERO`, or a class in quotes")),
        }
    }
    if line.eat("keep") {
        catch.keep = Some(line.number("a number to keep the fault under")?);
    }
    Ok(catch)
}

/// Reads `@12..17`, or nothing.
fn read_span(line: &mut Cursor<'_>) -> Read<Span> {
    if !line.eat("@") {
        return Ok(Span::default());
    }
    let what = "a span such as `12..17`";
    let start_of_span = *line;
    let start = line.number(what)?;
    line.expect("..")?;
    let end = line.number(what)?;
    match start <= end {
        true => Ok(Span { start, end }),
        false => Err(start_of_span.expected("a span that ends after its start")),
    }
}
