//! Random functions: a tree of statements over integers, floats, truth values and one array of floats.
//!
//! ```text
//! def g(a, p, q): …           a helper: int and float to float, may write the array
//! def r(a, n, x): …           calls itself with n - 1 until n <= 0
//! def f(a, n, x, t): …        the function that is called; returns a tuple of its variables
//! ```
//!
//! Every variable has one kind, so that static types and CPython's agree. A variable is read where some
//! path gives it a value; whether the path that is taken does is part of the test, as are indices that are
//! out of range, divisors that are zero, and integers that do not fit. Loops end after a few turns.

use fastrand::Rng;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit integer.
    Int,
    /// A float.
    Float,
    /// A truth value.
    Bool,
    /// The array of floats.
    Array,
}

/// A variable, by its number in the function.
pub type Variable = usize;

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// An integer literal.
    Int(i64),
    /// A float literal, finite.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A variable.
    Read(Variable),
    /// `-`, `~` or `not`.
    Unary(&'static str, Box<Expr>),
    /// An operator between two operands.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A comparison, chained if it has more than two operands.
    Compare(Vec<Expr>, Vec<&'static str>),
    /// `and` or `or`.
    Logic(&'static str, Box<Expr>, Box<Expr>),
    /// `body if test else orelse`: test, body, orelse.
    IfElse(Box<[Expr; 3]>),
    /// `a[index]`.
    Element(Variable, Box<Expr>),
    /// `len(a)`.
    Len(Variable),
    /// A builtin.
    Builtin(&'static str, Vec<Expr>),
    /// A function of the module, by its number; the array comes first.
    Call(usize, Vec<Expr>),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `x, y = …, …`: all values first.
    Assign(Vec<Variable>, Vec<Expr>),
    /// `x += …`.
    Augment(Variable, &'static str, Expr),
    /// `a[index] = value`.
    Store(Variable, Expr, Expr),
    /// `a[index] += value`.
    AugmentElement(Variable, Expr, &'static str, Expr),
    /// `if`.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for x in range(…)`, with `else` if the last list is not empty.
    For(Variable, Vec<Expr>, Vec<Stmt>, Vec<Stmt>),
    /// `while test and turns < most: turns += 1; …`, with `else`.
    While { turns: Variable, most: i64, test: Expr, body: Vec<Stmt>, orelse: Vec<Stmt> },
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `return` of one value, or of a tuple.
    Return(Vec<Expr>),
}

/// A function; parameters are its first variables.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Number of parameters.
    pub parameters: usize,
    /// Names and kinds.
    pub variables: Vec<(String, Kind)>,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// The arguments of a call of `f`.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// `a`.
    pub array: Vec<f64>,
    /// `n`.
    pub int: i64,
    /// `x`.
    pub float: f64,
    /// `t`.
    pub truth: bool,
}

/// Functions `g`, `r` and `f`; a function calls those before it, and itself.
pub fn module(random: &mut Rng) -> Vec<Function> {
    let helper = Generator::new(random, "g", &[("p", Kind::Int), ("q", Kind::Float)], 0).helper();
    let recursive = Generator::new(random, "r", &[("n", Kind::Int), ("x", Kind::Float)], 0).recursive();
    let main = [("n", Kind::Int), ("x", Kind::Float), ("t", Kind::Bool)];
    let main = Generator::new(random, "f", &main, 3).main();
    vec![helper, recursive, main]
}

/// Arguments for `f`.
pub fn arguments(random: &mut Rng) -> Arguments {
    let length = random.usize(..6);
    Arguments {
        array: (0..length).map(|_| some_float(random)).collect(),
        int: some_int(random),
        float: match random.u32(..12) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            _ => some_float(random),
        },
        truth: random.bool(),
    }
}

fn some_int(random: &mut Rng) -> i64 {
    const EDGES: [i64; 8] =
        [i64::MAX, i64::MIN, i64::MAX - 1, 1 << 53, (1 << 53) + 1, -(1 << 31), 1 << 62, 0];
    match random.u32(..16) {
        0 => EDGES[random.usize(..EDGES.len())],
        1 | 2 => random.i64(-1_000_000..1_000_000),
        _ => random.i64(-6..10),
    }
}

fn some_float(random: &mut Rng) -> f64 {
    const EDGES: [f64; 8] = [0.0, -0.0, 1e300, -1e-300, 9007199254740993.0, 9.3e18, 0.1, 1e16];
    match random.u32(..8) {
        0 => EDGES[random.usize(..EDGES.len())],
        1 | 2 => random.i32(-5..6).into(),
        _ => f64::from(random.i32(-4000..4000)) / 128.0,
    }
}

struct Generator<'r> {
    random: &'r mut Rng,
    name: &'static str,
    parameters: usize,
    variables: Vec<(String, Kind)>,
    /// Variables that some path to this place gives a value.
    readable: Vec<Variable>,
    /// Variables that statements may assign.
    assignable: Vec<Variable>,
    /// Loops around this place.
    loops: usize,
    /// Calls of helpers that may still be written.
    calls: usize,
}

impl<'r> Generator<'r> {
    fn new(
        random: &'r mut Rng,
        name: &'static str,
        parameters: &[(&str, Kind)],
        calls: usize,
    ) -> Generator<'r> {
        let all = [&[("a", Kind::Array)], parameters].concat();
        let variables: Vec<(String, Kind)> = all.iter().map(|(name, kind)| ((*name).into(), *kind)).collect();
        let readable = (1..variables.len()).collect::<Vec<_>>();
        let (assignable, parameters) = (readable.clone(), variables.len());
        Generator { random, name, parameters, variables, readable, assignable, loops: 0, calls }
    }

    fn helper(mut self) -> Function {
        let mut body = self.locals(&[("s", Kind::Float), ("j", Kind::Int)]);
        body.extend(self.block(3, 2));
        body.push(Stmt::Return(vec![self.expr(Kind::Float, 2)]));
        self.finish(body)
    }

    fn recursive(mut self) -> Function {
        let (a, n, x) = (0, 1, 2);
        let ends = Expr::Compare(vec![Expr::Read(n), Expr::Int(0)], vec!["<="]);
        let mut body = vec![Stmt::If(ends, vec![Stmt::Return(vec![Expr::Read(x)])], vec![])];
        self.assignable = vec![x];
        body.extend(self.block(2, 1));
        let less = Expr::Binary("-", Box::new(Expr::Read(n)), Box::new(Expr::Int(1)));
        let again = Expr::Call(1, vec![Expr::Read(a), less, self.expr(Kind::Float, 1)]);
        let rest = self.expr(Kind::Float, 1);
        let op = ["+", "-", "*"][self.random.usize(..3)];
        body.push(Stmt::Return(vec![Expr::Binary(op, Box::new(again), Box::new(rest))]));
        self.finish(body)
    }

    fn main(mut self) -> Function {
        let locals =
            [("i", Kind::Int), ("j", Kind::Int), ("s", Kind::Float), ("y", Kind::Float), ("b", Kind::Bool)];
        let mut body = self.locals(&locals);
        if self.random.bool() {
            // Perhaps without a value.
            let maybe = self.variable("m", Kind::Int);
            let test = self.expr(Kind::Bool, 1);
            let value = self.expr(Kind::Int, 1);
            body.push(Stmt::If(test, vec![Stmt::Assign(vec![maybe], vec![value])], vec![]));
            self.readable.push(maybe);
        }
        let length = self.random.usize(2..6);
        body.extend(self.block(length, 3));
        body.push(self.result());
        self.finish(body)
    }

    fn finish(self, body: Vec<Stmt>) -> Function {
        let Generator { name, parameters, variables, .. } = self;
        Function { name, parameters, variables, body }
    }

    fn variable(&mut self, name: &str, kind: Kind) -> Variable {
        self.variables.push((name.to_owned(), kind));
        self.variables.len() - 1
    }

    /// Variables with their first values.
    fn locals(&mut self, locals: &[(&str, Kind)]) -> Vec<Stmt> {
        let mut statements = Vec::new();
        for (name, kind) in locals {
            let value = self.expr(*kind, 1);
            let variable = self.variable(name, *kind);
            statements.push(Stmt::Assign(vec![variable], vec![value]));
            self.readable.push(variable);
            self.assignable.push(variable);
        }
        statements
    }

    /// The tuple that `f` returns.
    fn result(&mut self) -> Stmt {
        let kinds = [Kind::Int, Kind::Int, Kind::Float, Kind::Float, Kind::Bool];
        let local = |at: usize| Expr::Read(self.parameters + at);
        let mut parts: Vec<Expr> = (0..kinds.len()).map(local).collect();
        if self.random.u32(..4) == 0 {
            let at = self.random.usize(..kinds.len());
            parts[at] = self.expr(kinds[at], 2);
        }
        Stmt::Return(parts)
    }

    fn block(&mut self, length: usize, depth: usize) -> Vec<Stmt> {
        let readable = self.readable.len();
        let mut statements = Vec::new();
        for _ in 0..length {
            let statement = self.statement(depth);
            let is_end = matches!(statement, Stmt::Break | Stmt::Continue | Stmt::Return(_));
            statements.push(statement);
            if is_end {
                break;
            }
        }
        self.readable.truncate(readable);
        statements
    }

    fn statement(&mut self, depth: usize) -> Stmt {
        match self.random.u32(..20) {
            0..5 => self.assign(),
            5..8 => self.augment(),
            8..10 => {
                let (index, value) = (self.index(), self.expr(Kind::Float, 2));
                Stmt::Store(0, index, value)
            }
            10 => {
                let (index, op) = (self.index(), self.float_operator());
                Stmt::AugmentElement(0, index, op, self.expr(Kind::Float, 1))
            }
            11..15 if depth > 0 => {
                let test = self.condition();
                let (then, orelse) = (self.length(1), self.length(0));
                Stmt::If(test, self.block(then, depth - 1), self.block(orelse, depth - 1))
            }
            15..17 if depth > 0 => self.for_loop(depth - 1),
            17 if depth > 0 => self.while_loop(depth - 1),
            18 if self.loops > 0 => {
                if self.random.bool() {
                    Stmt::Break
                } else {
                    Stmt::Continue
                }
            }
            19 if self.name == "f" && depth < 3 && self.random.bool() => self.result(),
            _ => self.assign(),
        }
    }

    fn length(&mut self, least: usize) -> usize {
        self.random.usize(least..4)
    }

    fn assign(&mut self) -> Stmt {
        let count = if self.random.u32(..4) == 0 { self.random.usize(2..4) } else { 1 };
        let mut targets = self.assignable.clone();
        self.random.shuffle(&mut targets);
        targets.truncate(count);
        let is_swap = self.random.bool();
        let value = |generator: &mut Self, target: &Variable| {
            let kind = generator.variables[*target].1;
            match is_swap {
                true => generator.read(kind),
                false => generator.expr(kind, 2),
            }
        };
        let values = targets.iter().map(|target| value(self, target)).collect();
        Stmt::Assign(targets, values)
    }

    fn augment(&mut self) -> Stmt {
        let target = self.assignable[self.random.usize(..self.assignable.len())];
        let (op, kind) = match self.variables[target].1 {
            Kind::Int => (["+", "-", "*", "//", "%", "&", "^"][self.random.usize(..7)], Kind::Int),
            Kind::Float => (self.float_operator(), [Kind::Int, Kind::Float][self.random.usize(..2)]),
            _ => (["&", "|", "^"][self.random.usize(..3)], Kind::Bool),
        };
        Stmt::Augment(target, op, self.expr(kind, 2))
    }

    fn for_loop(&mut self, depth: usize) -> Stmt {
        let range = self.range();
        let ints: Vec<Variable> =
            self.assignable.iter().copied().filter(|v| self.variables[*v].1 == Kind::Int).collect();
        let is_new = ints.is_empty() || self.random.u32(..3) > 0;
        let target = match is_new {
            true => self.variable(&format!("k{}", self.variables.len()), Kind::Int),
            false => ints[self.random.usize(..ints.len())],
        };
        let readable = self.readable.len();
        self.readable.push(target);
        let (body, orelse) = self.body(depth);
        // Behind the loop the target may be without a value.
        if !is_new || self.random.u32(..3) > 0 {
            self.readable.truncate(readable);
        }
        Stmt::For(target, range, body, orelse)
    }

    fn while_loop(&mut self, depth: usize) -> Stmt {
        let turns = self.variable(&format!("w{}", self.variables.len()), Kind::Int);
        let (test, most) = (self.expr(Kind::Bool, 2), self.random.i64(1..6));
        let (body, orelse) = self.body(depth);
        Stmt::While { turns, most, test, body, orelse }
    }

    fn body(&mut self, depth: usize) -> (Vec<Stmt>, Vec<Stmt>) {
        let length = self.length(1);
        self.loops += 1;
        let body = self.block(length, depth);
        self.loops -= 1;
        let orelse = if self.random.u32(..4) == 0 { self.block(1, 0) } else { Vec::new() };
        (body, orelse)
    }

    /// Arguments of `range` that give at most a dozen numbers.
    fn range(&mut self) -> Vec<Expr> {
        let small = |generator: &mut Self| {
            let value = generator.expr(Kind::Int, 1);
            Expr::Binary("%", Box::new(value), Box::new(Expr::Int(7)))
        };
        match self.random.u32(..6) {
            0 | 1 => vec![small(self)],
            2 => vec![Expr::Len(0)],
            3 => vec![Expr::Int(self.random.i64(-3..4)), small(self)],
            4 => {
                let step = [-3, -2, -1, 1, 2, 3][self.random.usize(..6)];
                vec![small(self), small(self), Expr::Int(step)]
            }
            // A step that may be zero.
            _ => {
                let step = Expr::Binary("-", Box::new(small(self)), Box::new(Expr::Int(2)));
                vec![small(self), small(self), step]
            }
        }
    }

    /// An index that is mostly in the array.
    fn index(&mut self) -> Expr {
        let value = self.expr(Kind::Int, 1);
        match self.random.u32(..6) {
            0 => Expr::Int(self.random.i64(-3..4)),
            1 => value,
            2 => Expr::Binary("-", Box::new(Expr::Len(0)), Box::new(Expr::Int(1))),
            _ => Expr::Binary("%", Box::new(value), Box::new(Expr::Len(0))),
        }
    }

    fn float_operator(&mut self) -> &'static str {
        ["+", "-", "*", "/", "//", "%"][self.random.usize(..6)]
    }

    /// What `if` tests: mostly a comparison, else the truth of a value.
    fn condition(&mut self) -> Expr {
        let kind = [Kind::Bool, Kind::Bool, Kind::Int, Kind::Float][self.random.usize(..4)];
        self.expr(kind, 2)
    }

    fn read(&mut self, kind: Kind) -> Expr {
        let known: Vec<Variable> =
            self.readable.iter().copied().filter(|v| self.variables[*v].1 == kind).collect();
        match known.is_empty() || self.random.u32(..5) == 0 {
            true => self.literal(kind),
            false => Expr::Read(known[self.random.usize(..known.len())]),
        }
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        match kind {
            Kind::Int => Expr::Int(some_int(self.random)),
            Kind::Float => Expr::Float(some_float(self.random)),
            _ => Expr::Bool(self.random.bool()),
        }
    }

    fn expr(&mut self, kind: Kind, depth: usize) -> Expr {
        if depth == 0 || self.random.u32(..5) == 0 {
            return self.read(kind);
        }
        if self.random.u32(..10) == 0 {
            let parts =
                [self.expr(Kind::Bool, depth - 1), self.expr(kind, depth - 1), self.expr(kind, depth - 1)];
            return Expr::IfElse(Box::new(parts));
        }
        if self.random.u32(..12) == 0 {
            let op = ["and", "or"][self.random.usize(..2)];
            let (left, right) = (self.expr(kind, depth - 1), self.expr(kind, depth - 1));
            return Expr::Logic(op, Box::new(left), Box::new(right));
        }
        match kind {
            Kind::Int => self.int(depth - 1),
            Kind::Float => self.float(depth - 1),
            _ => self.truth(depth - 1),
        }
    }

    fn binary(&mut self, op: &'static str, left: Kind, right: Kind, depth: usize) -> Expr {
        let (left, right) = (self.expr(left, depth), self.expr(right, depth));
        Expr::Binary(op, Box::new(left), Box::new(right))
    }

    fn number(&mut self) -> Kind {
        [Kind::Int, Kind::Int, Kind::Float, Kind::Float, Kind::Bool][self.random.usize(..5)]
    }

    fn int(&mut self, depth: usize) -> Expr {
        use Kind::{Bool, Float, Int};
        match self.random.u32(..16) {
            0..3 => self.binary("+", Int, Int, depth),
            3 => self.binary("-", Int, Int, depth),
            4 => self.binary("*", Int, Int, depth),
            5 => self.binary("//", Int, Int, depth),
            6 => self.binary("%", Int, Int, depth),
            7 => {
                let op = ["&", "|", "^"][self.random.usize(..3)];
                self.binary(op, Int, Int, depth)
            }
            8 => {
                // A count that may be negative or large.
                let by = self.expr(Int, depth);
                let by = Expr::Binary("%", Box::new(by), Box::new(Expr::Int(70)));
                let by = Expr::Binary("-", Box::new(by), Box::new(Expr::Int(2)));
                let op = ["<<", ">>"][self.random.usize(..2)];
                Expr::Binary(op, Box::new(self.expr(Int, depth)), Box::new(by))
            }
            9 => {
                let exponent = Expr::Int(self.random.i64(0..5));
                Expr::Binary("**", Box::new(self.expr(Int, depth)), Box::new(exponent))
            }
            10 => {
                let op = ["-", "~"][self.random.usize(..2)];
                let kind = [Int, Bool][self.random.usize(..2)];
                Expr::Unary(op, Box::new(self.expr(kind, depth)))
            }
            11 => Expr::Builtin("abs", vec![self.expr(Int, depth)]),
            12 => {
                let name = ["min", "max"][self.random.usize(..2)];
                let count = self.random.usize(2..4);
                Expr::Builtin(name, (0..count).map(|_| self.expr(Int, depth)).collect())
            }
            13 => {
                let kind = [Float, Bool][self.random.usize(..2)];
                Expr::Builtin("int", vec![self.expr(kind, depth)])
            }
            14 => self.binary("+", Bool, Int, depth),
            _ => Expr::Len(0),
        }
    }

    fn float(&mut self, depth: usize) -> Expr {
        use Kind::{Float, Int};
        match self.random.u32(..14) {
            0..4 => {
                let op = self.float_operator();
                let (left, right) = [(Float, Float), (Float, Int), (Int, Float)][self.random.usize(..3)];
                self.binary(op, left, right, depth)
            }
            4 => self.binary("/", Int, Int, depth),
            5 => Expr::Unary("-", Box::new(self.expr(Float, depth))),
            6 => Expr::Builtin("abs", vec![self.expr(Float, depth)]),
            7 => {
                let name = ["min", "max"][self.random.usize(..2)];
                Expr::Builtin(name, vec![self.expr(Float, depth), self.expr(Float, depth)])
            }
            8 => {
                let kind = self.number();
                Expr::Builtin("float", vec![self.expr(kind, depth)])
            }
            9..12 => Expr::Element(0, Box::new(self.index())),
            12 | 13 if self.calls > 0 => {
                self.calls -= 1;
                let called = self.random.usize(..2);
                let mut first = self.expr(Int, depth);
                if called == 1 {
                    first = Expr::Binary("%", Box::new(first), Box::new(Expr::Int(5)));
                }
                Expr::Call(called, vec![Expr::Read(0), first, self.expr(Float, depth)])
            }
            _ => self.read(Float),
        }
    }

    fn truth(&mut self, depth: usize) -> Expr {
        let kind = self.number();
        match self.random.u32(..10) {
            0..6 => {
                let count = if self.random.u32(..4) == 0 { 3 } else { 2 };
                let operands = (0..count).map(|_| (self.number(), depth));
                let kinds: Vec<(Kind, usize)> = operands.collect();
                let operands = kinds.into_iter().map(|(kind, depth)| self.expr(kind, depth)).collect();
                let op = |random: &mut Rng| ["<", "<=", ">", ">=", "==", "!="][random.usize(..6)];
                let ops = (1..count).map(|_| op(self.random)).collect();
                Expr::Compare(operands, ops)
            }
            6 => Expr::Unary("not", Box::new(self.expr(kind, depth))),
            7 => Expr::Builtin("bool", vec![self.expr(kind, depth)]),
            8 => {
                let op = ["&", "|", "^"][self.random.usize(..3)];
                self.binary(op, Kind::Bool, Kind::Bool, depth)
            }
            _ => self.read(Kind::Bool),
        }
    }
}
