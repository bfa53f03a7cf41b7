//! Schema text to definitions.
//!
//! ```text
//! module     ::= "module" Id ["version" String] "{" {import} {definition} "}"  | {import} {definition}
//! import     ::= "from" Id "import" ("*" | TypeId {"," TypeId})
//! definition ::= TypeId ("=" | "|=") (["@"] fields | alternative {"|" alternative}) ["attributes" fields]
//! alternative::= ["@"] Id [fields]
//! fields     ::= "(" [field {"," field} [","]] ")"
//! field      ::= TypeId ["*" | "?"] ["\"] [Id]
//! ```
//!
//! An error skips to the next `name =` or `name |=`, so that one run finds the errors of all definitions.

use crate::schema::definition::{
    AlternativeText, Definition, FieldText, Import, ModuleText, Multiplicity, NamePlace,
};
use crate::schema::error::SchemaProblem;
use crate::schema::lexer::{SchemaToken, tokens};
use cembra_vm::program::instruction::Span;

/// Bytes of a schema's text.
pub(super) const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// Reads the text of one module; `module` is its number.
pub(super) fn parse_module(text: &str, module: u32) -> (ModuleText, Vec<(SchemaProblem, Span)>) {
    if text.len() > MAX_SCHEMA_BYTES {
        let limit =
            SchemaProblem::Limit { name: "schema-text-bytes", actual: text.len(), limit: MAX_SCHEMA_BYTES };
        let mut parser = SchemaParser { tokens: Vec::new(), at: 0, module, problems: Vec::new() };
        return (parser.anonymous(), vec![(limit, Span::default())]);
    }
    let (tokens, problems) = tokens(text);
    let mut parser = SchemaParser { tokens, at: 0, module, problems };
    let parsed = parser.module();
    parser.problems.sort_by_key(|(_, span)| span.start);
    (parsed, parser.problems)
}

struct SchemaParser<'t> {
    tokens: Vec<(SchemaToken<'t>, Span)>,
    at: usize,
    module: u32,
    problems: Vec<(SchemaProblem, Span)>,
}

/// A definition that is given up; its problem is in the list.
struct GivenUp;

impl<'t> SchemaParser<'t> {
    fn anonymous(&mut self) -> ModuleText {
        let name = NamePlace { name: "".into(), module: self.module, span: Span::default() };
        ModuleText { name, version: None, imports: Vec::new(), definitions: Vec::new() }
    }

    fn module(&mut self) -> ModuleText {
        let mut module = self.anonymous();
        let is_named =
            self.peek() == SchemaToken::Id("module") && matches!(self.peek_at(1), SchemaToken::Id(_));
        if is_named && self.head(&mut module).is_err() {
            self.skip();
        }
        while self.peek() != SchemaToken::End {
            if is_named && self.peek() == SchemaToken::Sign("}") {
                self.at += 1;
                if self.peek() != SchemaToken::End {
                    let _ = self.unmatched::<()>("the end");
                }
                return module;
            }
            let from = self.at;
            if self.item(&mut module).is_err() {
                self.at = self.at.max(from + 1).min(self.tokens.len() - 1);
                self.skip();
            }
        }
        if is_named {
            let _ = self.unmatched::<()>("`}`");
        }
        module
    }

    fn head(&mut self, module: &mut ModuleText) -> Result<(), GivenUp> {
        self.at += 1;
        module.name = self.name("Id")?;
        if self.take(SchemaToken::Id("version")) {
            let SchemaToken::Text(version) = self.peek() else { return self.unmatched("String") };
            self.at += 1;
            module.version = Some(version.into());
        }
        self.expect("{")
    }

    fn item(&mut self, module: &mut ModuleText) -> Result<(), GivenUp> {
        let is_import =
            self.peek() == SchemaToken::Id("from") && matches!(self.peek_at(1), SchemaToken::Id(_));
        if is_import {
            let import = self.import()?;
            module.imports.push(import);
        } else {
            let name = self.name("TypeId")?;
            let mut definition = Definition {
                name,
                extends: false,
                is_product: false,
                alternatives: Vec::new(),
                attributes: Vec::new(),
            };
            let result = self.definition(&mut definition);
            // A type whose definition is wrong exists all the same.
            module.definitions.push(definition);
            result?;
        }
        Ok(())
    }

    fn import(&mut self) -> Result<Import, GivenUp> {
        self.at += 1;
        let module = self.name("Id")?;
        if !self.take(SchemaToken::Id("import")) {
            return self.unmatched("`import`");
        }
        if self.take(SchemaToken::Sign("*")) {
            return Ok(Import { module, names: None });
        }
        let mut names = vec![self.name("TypeId")?];
        while self.take(SchemaToken::Sign(",")) {
            names.push(self.name("TypeId")?);
        }
        Ok(Import { module, names: Some(names) })
    }

    fn definition(&mut self, definition: &mut Definition) -> Result<(), GivenUp> {
        definition.extends = self.take(SchemaToken::Sign("|="));
        if !definition.extends {
            self.expect("=")?;
        }
        if self.begins_product() {
            let is_unique = self.take(SchemaToken::Sign("@"));
            let fields = Some(self.fields()?);
            let name = definition.name.clone();
            definition.alternatives.push(AlternativeText { name, is_unique, fields });
            definition.is_product = true;
        } else {
            self.alternative(&mut definition.alternatives)?;
            while self.take(SchemaToken::Sign("|")) {
                self.alternative(&mut definition.alternatives)?;
            }
        }
        let has_attributes =
            self.peek() == SchemaToken::Id("attributes") && self.peek_at(1) == SchemaToken::Sign("(");
        if has_attributes {
            self.at += 1;
            definition.attributes = self.fields()?;
        }
        Ok(())
    }

    fn begins_product(&self) -> bool {
        let open = SchemaToken::Sign("(");
        self.peek() == open || (self.peek() == SchemaToken::Sign("@") && self.peek_at(1) == open)
    }

    fn alternative(&mut self, alternatives: &mut Vec<AlternativeText>) -> Result<(), GivenUp> {
        if self.ellipsis() {
            return Ok(());
        }
        let is_unique = self.take(SchemaToken::Sign("@"));
        let name = self.name("ConstructorId")?;
        let fields = match self.peek() {
            SchemaToken::Sign("(") => Some(self.fields()?),
            _ => None,
        };
        alternatives.push(AlternativeText { name, is_unique, fields });
        Ok(())
    }

    fn fields(&mut self) -> Result<Vec<FieldText>, GivenUp> {
        self.expect("(")?;
        let mut fields = Vec::new();
        while !self.take(SchemaToken::Sign(")")) {
            if !self.ellipsis() {
                fields.push(self.field()?);
            }
            if !self.take(SchemaToken::Sign(",")) {
                self.expect(")")?;
                break;
            }
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<FieldText, GivenUp> {
        let type_name = self.name("TypeId")?;
        let multiplicity = self.multiplicity();
        let is_hidden = self.take(SchemaToken::Sign("\\"));
        let name = match self.peek() {
            SchemaToken::Id(_) => Some(self.name("Id")?),
            _ if is_hidden => return self.unmatched("Id"),
            _ => None,
        };
        Ok(FieldText { type_name, multiplicity, is_hidden, name })
    }

    fn multiplicity(&mut self) -> Multiplicity {
        let mut found = Multiplicity::One;
        loop {
            let next = match self.peek() {
                SchemaToken::Sign("*") => Multiplicity::List,
                SchemaToken::Sign("?") => Multiplicity::Option,
                _ => return found,
            };
            if found != Multiplicity::One {
                self.problem(SchemaProblem::TwoModifiers);
            }
            found = next;
            self.at += 1;
        }
    }

    /// Takes `...` and says that it means nothing.
    fn ellipsis(&mut self) -> bool {
        let found = self.peek() == SchemaToken::Sign("...");
        if found {
            self.problem(SchemaProblem::Ellipsis);
            self.at += 1;
        }
        found
    }

    /// To the next definition, import or `}`.
    fn skip(&mut self) {
        loop {
            let begins = match (self.peek(), self.peek_at(1)) {
                (SchemaToken::End | SchemaToken::Sign("}"), _)
                | (SchemaToken::Id("from"), SchemaToken::Id(_)) => true,
                (SchemaToken::Id(_), SchemaToken::Sign(sign)) => matches!(sign, "=" | "|="),
                _ => false,
            };
            if begins {
                return;
            }
            self.at += 1;
        }
    }

    fn peek(&self) -> SchemaToken<'t> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> SchemaToken<'t> {
        self.tokens.get(self.at + ahead).map_or(SchemaToken::End, |(token, _)| *token)
    }

    fn take(&mut self, token: SchemaToken<'_>) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), GivenUp> {
        match self.take(SchemaToken::Sign(sign)) {
            true => Ok(()),
            false => self.unmatched(sign),
        }
    }

    fn name(&mut self, kind: &'static str) -> Result<NamePlace, GivenUp> {
        let SchemaToken::Id(name) = self.peek() else { return self.unmatched(kind) };
        let place = NamePlace { name: name.into(), module: self.module, span: self.tokens[self.at].1 };
        self.at += 1;
        Ok(place)
    }

    fn problem(&mut self, problem: SchemaProblem) {
        let span = self.tokens.get(self.at).map_or(Span::default(), |(_, span)| *span);
        self.problems.push((problem, span));
    }

    fn unmatched<T>(&mut self, expected: &'static str) -> Result<T, GivenUp> {
        let found = self.peek().describe();
        self.problem(SchemaProblem::Unmatched { expected, found });
        Err(GivenUp)
    }
}
