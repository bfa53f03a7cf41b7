//! Lines of the text: declarations and statements.

use crate::field::check::{check_counts, check_program};
use crate::field::dimension::{Dimension, DimensionId, DimensionKind};
use crate::field::element::dtype_from_name;
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::{FieldNode, FieldNodeId};
use crate::field::program::{
    FieldDeclaration, FieldProgram, FieldRange, FieldRole, FieldScan, FieldStatement, FieldTarget,
    FieldValue, ScalarDeclaration, ScanCarry, ScanDirection, TableDeclaration,
};
use crate::field::text::expression::{no_number, number};
use crate::field::text::lexer::{Token, tokens};
use crate::field::text::parser::{DECLARING, Definition, Parsed, Parser};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{ScalarType, ScalarValue};

/// Bytes that a text may have.
const LONGEST: usize = 1 << 20;

/// Errors that are reported of one text.
const MOST_ERRORS: usize = 50;

/// Reads a text, and checks the program.
///
/// # Errors
/// Everything that is wrong, at most one error a line if the text is not well formed.
pub fn parse_field_program(text: &str) -> Result<FieldProgram, Vec<FieldError>> {
    if text.len() > LONGEST {
        let what = format!("the text has {} bytes; at most {LONGEST} are allowed", text.len());
        return Err(vec![FieldProblem::Limit { limit: "field-text", what }.into()]);
    }
    let mut parser = Parser::new(text, tokens(text)?);
    let mut errors = Vec::new();
    while parser.at + 1 < parser.tokens.len() {
        if let Err(error) = parser.line() {
            errors.push(error);
            if errors.len() == MOST_ERRORS {
                break;
            }
            parser.depth = 0;
            while !matches!(parser.peek(), Token::End) {
                parser.advance();
            }
        }
        if parser.at + 1 < parser.tokens.len() {
            parser.advance();
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    check_program(&parser.program)?;
    Ok(parser.program)
}

impl<'t> Parser<'t> {
    /// A line, up to its end.
    fn line(&mut self) -> Parsed<()> {
        check_counts(&self.program).map_err(|problem| FieldError::at(problem, self.span()))?;
        let Token::Name(word) = self.peek() else {
            return match self.peek() {
                Token::End => Ok(()),
                _ => self.statement(),
            };
        };
        match word {
            "horizontal" => self.dimensions(DimensionKind::Horizontal)?,
            "vertical" => self.dimensions(DimensionKind::Vertical)?,
            "local" => self.dimensions(DimensionKind::Local)?,
            "table" => self.table_line()?,
            "input" => self.fields(FieldRole::Input)?,
            "output" => self.fields(FieldRole::Output)?,
            "scalar" => self.scalars(false)?,
            "static" => self.scalars(true)?,
            _ => self.statement()?,
        }
        match self.peek() {
            Token::End => Ok(()),
            _ => Err(self.wrong("the end of the line is expected")),
        }
    }

    /// A name that no field, no scalar and no definition has yet; dimensions and tables stand elsewhere.
    fn new_name(&mut self, what: &str) -> Parsed<&'t str> {
        let span = self.span();
        let name = self.name(what)?;
        let program = &self.program;
        let is_taken = program.field(name).is_some()
            || program.scalar(name).is_some()
            || self.definitions.contains_key(name);
        self.declared(name, is_taken, span)
    }

    /// A new name, if the program has not too much of everything.
    fn declared(&self, name: &'t str, is_taken: bool, span: Span) -> Parsed<&'t str> {
        let result = match is_taken {
            true => Err(FieldProblem::DeclaredTwice { name: name.to_owned() }),
            false => check_counts(&self.program),
        };
        result.map(|()| name).map_err(|problem| FieldError::at(problem, span))
    }

    fn dimensions(&mut self, kind: DimensionKind) -> Parsed<()> {
        self.advance();
        loop {
            let span = self.span();
            let name = self.name("a name for a dimension")?;
            let is_taken = self.program.dimension(name).is_some() || self.program.table(name).is_some();
            self.declared(name, is_taken, span)?;
            self.program.dims.push(Dimension { name: name.into(), kind });
            if !self.takes(",") {
                return Ok(());
            }
        }
    }

    fn table_line(&mut self) -> Parsed<()> {
        self.advance();
        let span = self.span();
        let name = self.name("a name for a table")?;
        self.expect(":", "behind the name of a table")?;
        let from = self.dimension()?;
        self.expect("->", "behind the dimension of the rows")?;
        let to = self.dimension()?;
        let (mut local, mut width, mut skip, mut origin) = (None, None, None, 0);
        loop {
            if self.takes_word("along") {
                local = Some(self.dimension()?);
            } else if self.takes_word("width") {
                width = usize::try_from(self.integer()?).ok().filter(|width| (1..=1024).contains(width));
            } else if self.takes_word("skip") {
                skip = Some(self.integer()?);
            } else if self.takes_word("origin") {
                origin = self.integer()?;
            } else {
                break;
            }
        }
        let width = width.ok_or_else(|| self.wrong("`width` and 1 to 1024 columns are expected"))?;
        let local = local.or_else(|| self.program.dimension(name)).unwrap_or_else(|| {
            self.program.dims.push(Dimension { name: name.into(), kind: DimensionKind::Local });
            DimensionId(self.program.dims.len() - 1)
        });
        if self.program.table(name).is_some() {
            return Err(FieldError::at(FieldProblem::DeclaredTwice { name: name.to_owned() }, span));
        }
        let name = name.into();
        self.program.tables.push(TableDeclaration { name, from, to, local, width, skip, origin });
        Ok(())
    }

    fn dtype_behind_colon(&mut self) -> Parsed<ScalarType> {
        if !self.takes(":") {
            return Ok(ScalarType::Float64);
        }
        let span = self.span();
        let name = self.name("an element type")?;
        dtype_from_name(name).ok_or_else(|| self.unknown("element type", name, span))
    }

    /// A number or truth value of an element type, with a sign.
    fn value(&mut self, dtype: ScalarType) -> Parsed<ScalarValue> {
        let start = self.span();
        let sign = if self.takes("-") { "-" } else { "" };
        match self.peek() {
            Token::Name(word @ ("true" | "false")) if dtype == ScalarType::Boolean && sign.is_empty() => {
                self.advance();
                Ok(ScalarValue::Boolean(word == "true"))
            }
            Token::Number(text) | Token::Name(text @ ("nan" | "inf")) => {
                self.advance();
                let text = format!("{sign}{text}");
                number(&text, dtype).ok_or_else(|| no_number(&text, dtype, self.since(start)))
            }
            _ => Err(self.wrong("a number is expected")),
        }
    }

    fn fields(&mut self, role: FieldRole) -> Parsed<()> {
        self.advance();
        loop {
            let name = self.new_name("a name for a field")?;
            self.expect("[", "behind the name of a field")?;
            let (mut dims, mut origin, mut shape) = (Vec::new(), Vec::new(), Vec::new());
            loop {
                dims.push(self.dimension()?);
                if self.takes("=") {
                    let span = self.span();
                    let first = self.integer()?;
                    self.expect(":", "behind the first point")?;
                    origin.push(first);
                    if !matches!(self.peek(), Token::Symbol("," | "]")) {
                        let size = usize::try_from(self.integer()? - first);
                        let size = size.map_err(|_| {
                            let what = "the end of a range lies before its first point".to_owned();
                            FieldError::at(FieldProblem::Syntax { what }, span)
                        })?;
                        shape.push(size);
                    }
                }
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("]", "behind the dimensions of a field")?;
            let axes = dims.len();
            let partly = |count: usize| count != 0 && count != axes;
            if partly(origin.len()) || partly(shape.len()) {
                return Err(self.wrong("either all dimensions have a range or none"));
            }
            let dtype = self.dtype_behind_colon()?;
            let fill = match role == FieldRole::Output && self.takes_word("fill") {
                true => Some(self.value(dtype)?),
                false => None,
            };
            let origin = Some(origin).filter(|origin| !origin.is_empty());
            let shape = Some(shape).filter(|shape| !shape.is_empty());
            let name = name.into();
            self.program.fields.push(FieldDeclaration { name, role, dtype, dims, origin, shape, fill });
            if !self.takes(",") {
                return Ok(());
            }
        }
    }

    fn scalars(&mut self, is_static: bool) -> Parsed<()> {
        self.advance();
        loop {
            let name = self.new_name("a name for a scalar")?;
            let dtype = self.dtype_behind_colon()?;
            let value = if self.takes("=") { Some(self.value(dtype)?) } else { None };
            self.program.scalars.push(ScalarDeclaration { name: name.into(), dtype, value, is_static });
            if !self.takes(",") {
                return Ok(());
            }
        }
    }

    /// A statement, or the definition of a name that is not declared.
    fn statement(&mut self) -> Parsed<()> {
        let start = self.span();
        self.reads.clear();
        self.scan_scope.clear();
        let mut targets = Vec::new();
        loop {
            let span = self.span();
            let name = self.name("a name or a declaration")?;
            match self.program.field(name) {
                Some(field) => {
                    let domain = if self.takes("[") { Some(self.domain()?) } else { None };
                    targets.push(FieldTarget { field, domain });
                }
                None if targets.is_empty() && self.peek() == Token::Symbol("=") => {
                    return self.definition(name, span);
                }
                None if matches!(self.peek(), Token::Name(_)) => {
                    let what = format!(
                        "`{name}` begins no line; these do: {}, an output, or a new name and `=`, which need no declaration",
                        DECLARING.join(", ")
                    );
                    return Err(FieldError::at(FieldProblem::Syntax { what }, span));
                }
                None => return Err(self.unknown("output", name, span)),
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect("=", "behind what is written")?;
        let value = match (self.peek(), self.peek_after(1)) {
            (Token::Name("scan"), Token::Symbol("(")) => FieldValue::Scan(self.scan()?),
            _ => {
                let dtypes: Vec<ScalarType> =
                    targets.iter().map(|target| self.program.fields[target.field.0].dtype).collect();
                FieldValue::Pointwise(self.values(&dtypes)?)
            }
        };
        for target in &targets {
            self.written_at.insert(target.field, self.program.statements.len() + 1);
        }
        let span = self.since(start);
        self.program.statements.push(FieldStatement { targets, value, span });
        Ok(())
    }

    fn definition(&mut self, name: &'t str, span: Span) -> Parsed<()> {
        let is_taken = self.program.dimension(name).is_some()
            || self.program.table(name).is_some()
            || self.program.scalar(name).is_some();
        if is_taken {
            let what = format!("`{name}` is no output; only outputs and new names are written");
            return Err(FieldError::at(FieldProblem::Syntax { what }, span));
        }
        self.expect("=", "behind a name")?;
        let operand = self.expression()?;
        let node = self.fixed(operand, None)?;
        if !self.program.nodes.get(node).is_leaf() {
            self.program.nodes.set_name(node, name);
        }
        let mut reads = std::mem::take(&mut self.reads);
        reads.sort_unstable();
        reads.dedup();
        let made_at = self.program.statements.len();
        self.definitions.insert(name.to_owned(), Definition { node, reads, made_at });
        Ok(())
    }

    fn domain(&mut self) -> Parsed<Vec<FieldRange>> {
        let mut ranges = Vec::new();
        loop {
            let dimension = self.dimension()?;
            self.expect("=", "behind a dimension of a domain, as in I=0:n")?;
            let first = self.bound()?;
            self.expect(":", "behind the first point")?;
            ranges.push(FieldRange { dimension, first, end: self.bound()? });
            if !self.takes(",") {
                break;
            }
        }
        self.expect("]", "behind a domain")?;
        Ok(ranges)
    }

    /// Values separated by commas; a number as the element type of its target.
    fn values(&mut self, dtypes: &[ScalarType]) -> Parsed<Vec<FieldNodeId>> {
        let mut values = Vec::new();
        loop {
            let dtype = dtypes.get(values.len()).copied().unwrap_or(ScalarType::Float64);
            values.push(self.expression_as(dtype)?);
            if !self.takes(",") {
                return Ok(values);
            }
        }
    }

    /// `scan(K forward; carries; definitions; values)`; the definitions may be left out.
    fn scan(&mut self) -> Parsed<FieldScan> {
        self.advance();
        self.advance();
        let axis = self.dimension()?;
        let direction = match (self.takes_word("forward"), self.takes_word("backward")) {
            (true, false) => ScanDirection::Forward,
            (false, true) => ScanDirection::Backward,
            _ => return Err(self.wrong("`forward` or `backward` is expected behind the dimension of a scan")),
        };
        self.expect(";", "behind the direction of a scan")?;
        let mut carry: Vec<ScanCarry> = Vec::new();
        let mut scope = Vec::new();
        loop {
            let span = self.span();
            let name = self.name("what the scan hands on")?;
            self.expect("=", "behind what the scan hands on")?;
            let value = self.expression_as(ScalarType::Float64)?;
            let FieldNode::Literal(init) = self.program.nodes.get(value).clone() else {
                let what = format!("a scan begins with numbers; `{name}` does not");
                return Err(FieldError::at(FieldProblem::Syntax { what }, self.since(span)));
            };
            let node = self.add(FieldNode::Carry(carry.len(), init.dtype()), span)?;
            scope.push((name.to_owned(), node));
            carry.push(ScanCarry { name: name.into(), init });
            if !self.takes(",") {
                break;
            }
        }
        self.scan_scope.extend(scope);
        self.expect(";", "behind what the scan hands on")?;
        if self.begins_definition() {
            loop {
                let name = self.name("a name")?;
                self.expect("=", "behind a name")?;
                let operand = self.expression()?;
                let node = self.fixed(operand, None)?;
                if !self.program.nodes.get(node).is_leaf() {
                    self.program.nodes.set_name(node, name);
                }
                self.scan_scope.insert(name.to_owned(), node);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(";", "behind the definitions of a scan")?;
        }
        let dtypes: Vec<ScalarType> = carry.iter().map(|carry| carry.init.dtype()).collect();
        let body = self.values(&dtypes)?;
        self.expect(")", "behind the values of a scan")?;
        self.scan_scope.clear();
        Ok(FieldScan { axis, direction, carry, body })
    }

    fn begins_definition(&self) -> bool {
        matches!(self.peek(), Token::Name(_) | Token::Quoted(_)) && self.peek_after(1) == Token::Symbol("=")
    }
}
