//! Prints programs as calls of the [builder](crate::field::builder): a function in Rust.
//!
//! ```text
//! lap = u[I-1] + u[I+1]          let lap = (u.shift(i, -1) + u.shift(i, 1)).named("lap");
//! v[I=1:n - 1] = u + k*lap       b.store(v, &[(i, b.bound(1).to(n.bound() - 1))], u + k * lap);
//! ```
//!
//! What a statement uses more than once, or had a name for, becomes a variable; see [`definitions`]. The function makes
//! a program of the same text. Names of variables are those of the program as Rust has them: `Edge` is `edge`, `type` is `type_`.

use crate::field::dimension::{DimensionId, DimensionKind};
use crate::field::expression::{FieldNode, FieldNodeId};
use crate::field::program::{
    FieldDeclaration, FieldProgram, FieldRole, FieldScan, FieldStatement, FieldTarget, FieldValue,
    TableDeclaration,
};
use crate::field::rust::expression::plain;
use crate::field::rust::words::{CALL, Printer, Variables, literal_text, number};
use crate::field::sharing::DeclaredNames;
use hashbrown::{HashMap, HashSet};
use std::cell::RefCell;
use std::fmt::Write;

/// Prints a program that was checked as a function of this name, behind the lines that import what it uses. Data does not stand
/// in it.
///
/// ```
/// use cembra::field::{parse_field_program, print_field_builder};
/// # fn main() -> Result<(), cembra::field::FieldError> {
/// let text = "horizontal I\ninput u[I]\noutput v[I]\nv = 2*u\n";
/// let program = parse_field_program(text).map_err(|mut errors| errors.remove(0))?;
/// assert_eq!(print_field_builder(&program, "twice"), "\
/// use cembra::field::{FieldBuilder, FieldError, FieldProgram};
/// use cembra::vm::value::ScalarType;
///
/// pub fn twice() -> Result<FieldProgram, Vec<FieldError>> {
///     let b = FieldBuilder::new();
///     let i = b.horizontal(\"I\");
///     let u = b.input(\"u\", &[i], ScalarType::Float64);
///     let v = b.output(\"v\", &[i], ScalarType::Float64);
///     b.store(v, &[], 2.0 * u);
///     b.build()
/// }
/// ");
/// # Ok(())
/// # }
/// ```
pub fn print_field_builder(program: &FieldProgram, function: &str) -> String {
    let mut variables = Variables::default();
    let dims = program.dims.iter().map(|dim| variables.new_name(&dim.name)).collect();
    let tables =
        program.tables.iter().map(|table| variables.new_name(&format!("table_{}", table.name))).collect();
    let fields = program.fields.iter().map(|field| variables.new_name(&field.name)).collect();
    let scalars = program.scalars.iter().map(|scalar| variables.new_name(&scalar.name)).collect();
    let used = RefCell::new(HashSet::new());
    let imported = RefCell::new(HashSet::from(["FieldBuilder", "FieldError", "FieldProgram"]));
    let nodes = HashMap::new();
    let mut printer = Printer { program, variables, dims, tables, fields, scalars, used, imported, nodes };
    // Declarations are made last, when it is known which of them have a variable.
    let names = DeclaredNames::of(program);
    let statements: String =
        program.statements.iter().map(|statement| printer.statement(statement, &names)).collect();
    let fields = printer.fields_and_scalars();
    let tables = printer.tables();
    let dims = printer.dimensions();
    let imports = printer.imports();
    format!(
        "{imports}\npub fn {function}() -> Result<FieldProgram, Vec<FieldError>> {{\n    let b = FieldBuilder::new();\n\
         {dims}{tables}{fields}{statements}    b.build()\n}}\n"
    )
}

impl Printer<'_> {
    /// The beginning of a declaration: the variable, if something reads it.
    fn declared(&self, variable: &str) -> String {
        if self.used.borrow().contains(variable) {
            format!("    let {variable} = ")
        } else {
            "    ".to_owned()
        }
    }

    fn fields_and_scalars(&self) -> String {
        let mut out = String::new();
        for (field, variable) in self.program.fields.iter().zip(&self.fields) {
            let _ = writeln!(out, "{}{};", self.declared(variable), self.field_declaration(field));
        }
        for (scalar, variable) in self.program.scalars.iter().zip(&self.scalars) {
            let _ = write!(out, "{}b.scalar({:?}, ", self.declared(variable), scalar.name);
            let _ = write!(out, "{})", self.dtype(scalar.dtype));
            if let Some(value) = &scalar.value {
                let _ = write!(out, ".starting_as({})", number(value, scalar.dtype));
            }
            out += if scalar.is_static { ".fixed();\n" } else { ";\n" };
        }
        out
    }

    fn field_declaration(&self, field: &FieldDeclaration) -> String {
        let function = if field.role == FieldRole::Input { "input" } else { "output" };
        let dims = self.dims(&field.dims);
        let mut out = format!("b.{function}({:?}, {dims}, {})", field.name, self.dtype(field.dtype));
        let zeros = vec![0; field.dims.len()];
        match (&field.origin, &field.shape) {
            (origin, Some(shape)) => {
                let ranges = origin.as_ref().unwrap_or(&zeros).iter().zip(shape);
                let ranges: Vec<String> =
                    ranges.map(|(first, size)| format!("({first}, {})", first + *size as i64)).collect();
                let _ = write!(out, ".extent(&[{}])", ranges.join(", "));
            }
            (Some(origin), None) => {
                let first: Vec<String> = origin.iter().map(i64::to_string).collect();
                let _ = write!(out, ".origin(&[{}])", first.join(", "));
            }
            (None, None) => {}
        }
        if let (Some(fill), FieldRole::Output) = (&field.fill, field.role) {
            let _ = write!(out, ".starting_as({})", number(fill, field.dtype));
        }
        out
    }

    fn tables(&self) -> String {
        let tables = self.program.tables.iter().zip(&self.tables);
        tables.map(|(table, variable)| self.table_declaration(table, variable)).collect()
    }

    fn table_declaration(&self, table: &TableDeclaration, variable: &str) -> String {
        let (from, to) = (self.dim(table.from), self.dim(table.to));
        let TableDeclaration { name, width, skip, origin, .. } = table;
        if self.is_simple(table) {
            let local = &self.dims[table.local.0];
            let shown =
                |name: &str| if self.used.borrow().contains(name) { name.to_owned() } else { "_".to_owned() };
            let variables = match (&*shown(variable), &*shown(local)) {
                ("_", "_") => String::new(),
                (table, local) => format!("let ({table}, {local}) = "),
            };
            return format!("    {variables}b.table({name:?}, {from}, {to}, {width}, {skip:?});\n");
        }
        let local = self.dim(table.local);
        let name = format!("{name:?}.into()");
        format!(
            "    {}b.declare_table({} {{ name: {name}, from: {from}, to: {to}, local: {local}, width: {width}, \
             skip: {skip:?}, origin: {origin} }});\n",
            self.declared(variable),
            self.import("TableDeclaration"),
        )
    }

    /// True if a table has a local dimension of its own, and begins at 0.
    fn is_simple(&self, table: &TableDeclaration) -> bool {
        let others = self.program.tables.iter().filter(|other| other.local == table.local).count();
        self.program.dim_name(table.local) == &*table.name && table.origin == 0 && others == 1
    }

    fn dimensions(&self) -> String {
        let is_of_table = |id: usize| {
            self.program.tables.iter().any(|table| table.local == DimensionId(id) && self.is_simple(table))
        };
        let mut out = String::new();
        for (id, dim) in self.program.dims.iter().enumerate().filter(|(id, _)| !is_of_table(*id)) {
            let function = match dim.kind {
                DimensionKind::Horizontal => "horizontal",
                DimensionKind::Vertical => "vertical",
                DimensionKind::Local => "local",
            };
            let _ = writeln!(out, "{}b.{function}({:?});", self.declared(&self.dims[id]), dim.name);
        }
        out
    }

    fn statement(&mut self, statement: &FieldStatement, names: &DeclaredNames<'_>) -> String {
        let definitions = names.definitions(statement);
        let roots = match &statement.value {
            FieldValue::Scan(scan) => return self.scan(statement, scan, definitions),
            FieldValue::Pointwise(roots) => roots,
        };
        let mut out = self.definitions(definitions, "    ");
        let value = |id: &FieldNodeId| self.expression(*id, 0);
        let stores: Vec<(String, String, String)> = statement
            .targets
            .iter()
            .zip(roots)
            .map(|(target, root)| (self.field(target.field), self.domain(target), value(root)))
            .collect();
        match &stores[..] {
            [(field, domain, value)] => {
                let _ = writeln!(out, "    b.store({field}, {domain}, {value});");
            }
            _ => {
                out += "    b.store_all(&[\n";
                for (field, domain, value) in &stores {
                    let _ = writeln!(out, "        ({field}, {domain}, {value}),");
                }
                out += "    ]);\n";
            }
        }
        out
    }

    /// Variables for operations that have none yet.
    fn definitions(&mut self, definitions: Vec<(FieldNodeId, String)>, margin: &str) -> String {
        let mut out = String::new();
        for (id, wanted) in definitions {
            if self.nodes.contains_key(&id) {
                continue;
            }
            let variable = self.variables.new_name(&wanted);
            let _ = match self.program.nodes.name(id) {
                Some(name) => {
                    writeln!(out, "{margin}let {variable} = {}.named({name:?});", self.node(id, CALL))
                }
                None => writeln!(out, "{margin}let {variable} = {};", self.node(id, 0)),
            };
            self.nodes.insert(id, variable);
        }
        out
    }

    fn scan(
        &mut self,
        statement: &FieldStatement,
        scan: &FieldScan,
        definitions: Vec<(FieldNodeId, String)>,
    ) -> String {
        let inside: Vec<FieldNodeId> = definitions.iter().map(|(id, _)| *id).collect();
        let inside: Vec<FieldNodeId> = inside.into_iter().filter(|id| !self.nodes.contains_key(id)).collect();
        let lines = self.definitions(definitions, "        ");
        let values: Vec<String> = scan.body.iter().map(|id| self.expression(*id, 0)).collect();
        // They are variables of the closure.
        inside.iter().for_each(|id| drop(self.nodes.remove(id)));
        let domains: Vec<String> = statement.targets.iter().map(|target| self.domain(target)).collect();
        let fields: Vec<String> = statement.targets.iter().map(|target| self.field(target.field)).collect();
        let (function, targets) = match domains.iter().all(|domain| *domain == domains[0]) {
            true => ("scan", format!("&[{}], {}", fields.join(", "), domains[0])),
            false => {
                let each = fields.iter().zip(&domains).map(|(field, domain)| format!("({field}, {domain})"));
                ("scan_all", format!("&[{}]", each.collect::<Vec<_>>().join(", ")))
            }
        };
        let literal = self.import("FieldLiteral");
        let init = scan.carry.iter();
        let init =
            init.map(|carry| format!("({:?}, {literal}::from({}))", carry.name, literal_text(&carry.init)));
        let init: Vec<String> = init.collect();
        let needed = self.program.nodes.needed(&scan.body);
        let is_carry = |id: &FieldNodeId| matches!(self.program.nodes.get(*id), FieldNode::Carry(..));
        let carry = if needed.iter().any(is_carry) { "carry" } else { "_" };
        format!(
            "    b.{function}({targets}, {}, {}::{:?}, &[{}], |{carry}| {{\n{lines}        vec![{}]\n    }});\n",
            self.dim(scan.axis),
            self.import("ScanDirection"),
            scan.direction,
            init.join(", "),
            values.join(", "),
        )
    }

    fn domain(&self, target: &FieldTarget) -> String {
        let ranges = target.domain.iter().flatten().map(|range| {
            let (first, end) = (self.bound(&range.first, CALL), self.bound(&range.end, 0));
            let end = plain(&end).unwrap_or(end);
            format!("({}, {first}.to({end}))", self.dim(range.dimension))
        });
        format!("&[{}]", ranges.collect::<Vec<_>>().join(", "))
    }
}
