//! Random functions as text.

use crate::function::generate::{Expr, Function, Stmt};
use cembra::cli::function_value::python_float;
use std::fmt::Write;

/// The text of a module.
pub fn text(functions: &[Function]) -> String {
    let mut printer = Printer { functions, function: &functions[0], text: String::new() };
    for function in functions {
        printer.function = function;
        let parameters: Vec<&str> =
            function.variables[..function.parameters].iter().map(|(name, _)| &**name).collect();
        printer.line(0, &format!("def {}({}):", function.name, parameters.join(", ")));
        printer.block(1, &function.body);
    }
    printer.text
}

struct Printer<'f> {
    functions: &'f [Function],
    function: &'f Function,
    text: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        writeln!(self.text, "{}{line}", "    ".repeat(depth)).expect("text takes any text");
    }

    fn block(&mut self, depth: usize, body: &[Stmt]) {
        if body.is_empty() {
            self.line(depth, "pass");
        }
        body.iter().for_each(|statement| self.statement(depth, statement));
    }

    fn orelse(&mut self, depth: usize, orelse: &[Stmt]) {
        if !orelse.is_empty() {
            self.line(depth, "else:");
            self.block(depth + 1, orelse);
        }
    }

    fn statement(&mut self, depth: usize, statement: &Stmt) {
        match statement {
            Stmt::Assign(targets, values) => {
                let targets: Vec<&str> = targets.iter().map(|target| self.name(*target)).collect();
                let line = format!("{} = {}", targets.join(", "), self.list(values));
                self.line(depth, &line);
            }
            Stmt::Augment(target, op, value) => {
                let line = format!("{} {op}= {}", self.name(*target), self.expr(value));
                self.line(depth, &line);
            }
            Stmt::Store(array, index, value) => {
                let line = format!("{}[{}] = {}", self.name(*array), self.expr(index), self.expr(value));
                self.line(depth, &line);
            }
            Stmt::AugmentElement(array, index, op, value) => {
                let line = format!("{}[{}] {op}= {}", self.name(*array), self.expr(index), self.expr(value));
                self.line(depth, &line);
            }
            Stmt::If(test, then, orelse) => {
                let line = format!("if {}:", self.expr(test));
                self.line(depth, &line);
                self.block(depth + 1, then);
                self.orelse(depth, orelse);
            }
            Stmt::For(target, range, body, orelse) => {
                let line = format!("for {} in range({}):", self.name(*target), self.list(range));
                self.line(depth, &line);
                self.block(depth + 1, body);
                self.orelse(depth, orelse);
            }
            Stmt::While { turns, most, test, body, orelse } => {
                let turns = self.name(*turns).to_owned();
                self.line(depth, &format!("{turns} = 0"));
                let line = format!("while {} and {turns} < {most}:", self.expr(test));
                self.line(depth, &line);
                self.line(depth + 1, &format!("{turns} += 1"));
                self.block(depth + 1, body);
                self.orelse(depth, orelse);
            }
            Stmt::Break => self.line(depth, "break"),
            Stmt::Continue => self.line(depth, "continue"),
            Stmt::Return(values) => {
                let line = format!("return {}", self.list(values));
                self.line(depth, &line);
            }
        }
    }

    fn name(&self, variable: usize) -> &str {
        &self.function.variables[variable].0
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Int(value) if *value < 0 => format!("({value})"),
            Expr::Int(value) => value.to_string(),
            Expr::Float(value) if value.is_sign_negative() => format!("({})", python_float(*value)),
            Expr::Float(value) => python_float(*value),
            Expr::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Expr::Read(variable) => self.name(*variable).to_owned(),
            Expr::Unary(op, operand) => format!("({op} {})", self.expr(operand)),
            Expr::Binary(op, left, right) | Expr::Logic(op, left, right) => {
                format!("({} {op} {})", self.expr(left), self.expr(right))
            }
            Expr::Compare(operands, ops) => {
                let mut text = format!("({}", self.expr(&operands[0]));
                for (op, operand) in ops.iter().zip(&operands[1..]) {
                    write!(text, " {op} {}", self.expr(operand)).expect("text takes any text");
                }
                text + ")"
            }
            Expr::IfElse(parts) => {
                let [test, body, orelse] = &**parts;
                format!("({} if {} else {})", self.expr(body), self.expr(test), self.expr(orelse))
            }
            Expr::Element(array, index) => format!("{}[{}]", self.name(*array), self.expr(index)),
            Expr::Len(array) => format!("len({})", self.name(*array)),
            Expr::Builtin(name, args) => format!("{name}({})", self.list(args)),
            Expr::Call(called, args) => format!("{}({})", self.functions[*called].name, self.list(args)),
        }
    }
}
