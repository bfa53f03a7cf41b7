//! Binds the names of rules: the step from definitions to a [`Schema`].
//!
//! An alternative without fields is an included type if a type of its name exists, else a constructor. A
//! definition that is one lowercase name (`type = nbtype`) is an alias and never a constructor.
//!
//! All errors are gathered. A field of an undefined type gets the type `object`, so that one misspelt name
//! causes one error.

use crate::schema::builtin::{Builtin, Builtins};
use crate::schema::check::check;
use crate::schema::definition::{AlternativeText, FieldText, NamePlace, Places};
use crate::schema::error::{SchemaError, SchemaProblem, Severity};
use crate::schema::import::{ModuleTexts, Modules, Rule, Rules, nowhere};
use crate::schema::model::{
    Alternative, Constructor, ConstructorId, FieldDef, Schema, Sort, SortForm, SortId,
};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Types a schema may have.
const MAX_SORTS: usize = 4096;

/// Constructors a schema may have.
const MAX_CONSTRUCTORS: usize = 8192;

/// What came of reading a schema.
#[derive(Clone, Debug)]
pub struct SchemaReading {
    /// The schema, if there are no errors.
    pub schema: Option<Schema>,
    /// Name of the module that was read, as findings call it.
    pub root: Arc<str>,
    /// Errors and warnings, by module and place.
    pub findings: Vec<SchemaError>,
}

impl SchemaReading {
    /// The findings that forbid the use of the schema.
    pub fn errors(&self) -> impl Iterator<Item = &SchemaError> {
        self.findings.iter().filter(|finding| finding.severity() == Severity::Error)
    }
}

/// Reads a schema that imports nothing, with the standard builtin types.
pub fn parse_schema(text: &str) -> SchemaReading {
    read_schema(text, &|_| None, &Builtins::standard())
}

/// Reads a schema; `modules` gives the text of a module that it imports.
pub fn read_schema(text: &str, modules: &ModuleTexts<'_>, builtins: &Builtins) -> SchemaReading {
    let mut modules = Modules::load(text, modules);
    let rules = modules.rules();
    let mut binding = Binding::new(&mut modules, &rules, builtins);
    let schema = binding.bind();
    let mut findings = without_consequences(std::mem::take(&mut modules.findings));
    findings.sort_by(|a, b| (&a.module, a.span.start).cmp(&(&b.module, b.span.start)));
    findings.dedup();
    let usable = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    SchemaReading { schema: schema.filter(|_| usable), root: modules.root().name.name.clone(), findings }
}

/// Without findings that others may have caused: a missing module has types, a wrong definition uses some.
fn without_consequences(mut findings: Vec<SchemaError>) -> Vec<SchemaError> {
    let lacks_module = findings.iter().any(|finding| {
        matches!(finding.problem, SchemaProblem::UnknownModule { .. } | SchemaProblem::ImportCycle { .. })
    });
    let has_errors = findings.iter().any(|finding| finding.severity() == Severity::Error);
    findings.retain(|finding| match finding.problem {
        SchemaProblem::UndefinedType { .. } => !lacks_module,
        SchemaProblem::UnusedType { .. } => !has_errors,
        _ => true,
    });
    findings
}

struct Undefined {
    place: NamePlace,
    users: Vec<String>,
}

struct Binding<'b> {
    modules: &'b mut Modules,
    rules: &'b Rules,
    builtins: &'b Builtins,
    sorts: Vec<Sort>,
    names: HashMap<Arc<str>, SortId>,
    constructors: Vec<Constructor>,
    constructor_names: HashMap<Arc<str>, ConstructorId>,
    undefined: Vec<(Arc<str>, Undefined)>,
    places: Places,
}

impl<'b> Binding<'b> {
    fn new(modules: &'b mut Modules, rules: &'b Rules, builtins: &'b Builtins) -> Binding<'b> {
        Binding {
            modules,
            rules,
            builtins,
            sorts: Vec::new(),
            names: HashMap::new(),
            constructors: Vec::new(),
            constructor_names: HashMap::new(),
            undefined: Vec::new(),
            places: Places::default(),
        }
    }

    fn bind(&mut self) -> Option<Schema> {
        if !self.is_within_limits() {
            return None;
        }
        let rules = self.rules;
        for rule in rules.iter() {
            self.declare(rule);
        }
        for rule in rules.iter() {
            self.define(rule);
        }
        self.report_undefined();
        let first = self.places.sorts.iter().position(|place| place.module == 0 && !place.name.is_empty());
        let root = self.modules.root();
        let mut schema = Schema {
            name: root.name.name.clone(),
            version: root.version.clone(),
            first: first.map(|at| SortId(at as u32)),
            sorts: std::mem::take(&mut self.sorts),
            constructors: std::mem::take(&mut self.constructors),
            sort_names: std::mem::take(&mut self.names),
            constructor_names: std::mem::take(&mut self.constructor_names),
        };
        check(&mut schema, &self.places, self.modules);
        Some(schema)
    }

    fn is_within_limits(&mut self) -> bool {
        let constructors = self.rules.iter().map(|rule| rule.alternatives.len()).sum();
        let limits = [
            ("schema-types", self.rules.len(), MAX_SORTS),
            ("schema-constructors", constructors, MAX_CONSTRUCTORS),
        ];
        for (name, actual, limit) in limits.into_iter().filter(|(_, actual, limit)| actual > limit) {
            self.modules.find(SchemaProblem::Limit { name, actual, limit }, &nowhere());
        }
        limits.iter().all(|(_, actual, limit)| actual <= limit)
    }

    fn declare(&mut self, rule: &Rule) {
        let name = &rule.name.name;
        if self.builtins.get(name).is_some_and(|builtin| !builtin.may_be_redefined) {
            self.find(SchemaProblem::RedefinedBuiltin { name: name.clone() }, &rule.name);
        }
        if name.starts_with(char::is_uppercase) {
            self.find(SchemaProblem::UppercaseType { name: name.clone() }, &rule.name);
        }
        self.add_sort(name.clone(), SortForm::Sum(Vec::new()), rule.name.clone());
    }

    fn add_sort(&mut self, name: Arc<str>, form: SortForm, place: NamePlace) -> SortId {
        let id = SortId(self.sorts.len() as u32);
        self.sorts.push(Sort { name: name.clone(), form, included: Box::default() });
        self.names.insert(name, id);
        self.places.sorts.push(place);
        self.places.is_used.push(false);
        id
    }

    fn define(&mut self, rule: &Rule) {
        let sort = self.names[&rule.name.name];
        if rule.is_product {
            let alternative = &rule.alternatives[0];
            if let Some(id) = self.constructor(sort, alternative, rule) {
                self.sorts[sort.index()].form = SortForm::Product(id);
            }
            return;
        }
        let mut alternatives = Vec::with_capacity(rule.alternatives.len());
        for alternative in &rule.alternatives {
            alternatives.extend(self.alternative(sort, alternative, rule));
        }
        self.sorts[sort.index()].form = SortForm::Sum(alternatives);
    }

    fn alternative(&mut self, sort: SortId, text: &AlternativeText, rule: &Rule) -> Option<Alternative> {
        let name = &text.name.name;
        let is_bare = text.fields.is_none() && !text.is_unique;
        let is_known = self.names.contains_key(name) || self.builtins.get(name).is_some();
        let is_alias = rule.alternatives.len() == 1
            && !name.starts_with(char::is_uppercase)
            && rule.attributes.is_empty();
        if is_bare && (is_known || is_alias) {
            let included = self.sort_of(&text.name, &rule.name.name);
            return Some(Alternative::Includes(included));
        }
        if !name.starts_with(char::is_uppercase) {
            self.find(SchemaProblem::LowercaseConstructor { name: name.clone() }, &text.name);
        }
        self.constructor(sort, text, rule).map(Alternative::Constructor)
    }

    fn constructor(&mut self, sort: SortId, text: &AlternativeText, rule: &Rule) -> Option<ConstructorId> {
        let name = &text.name.name;
        if RESERVED.contains(&&**name) {
            self.find(SchemaProblem::ReservedConstructor { name: name.clone() }, &text.name);
        }
        if let Some(known) = self.constructor_names.get(name) {
            let first = self.sorts[self.constructors[known.index()].sort.index()].name.clone();
            let second = rule.name.name.clone();
            self.find(SchemaProblem::DuplicateConstructor { name: name.clone(), first, second }, &text.name);
            return None;
        }
        let mut taken = HashSet::new();
        let mut fields = Vec::new();
        let own = text.fields.iter().flatten().map(|field| (field, false));
        for (field, is_attribute) in own.chain(rule.attributes.iter().map(|field| (field, true))) {
            fields.push(self.field(field, is_attribute, name, &mut taken));
        }
        let id = ConstructorId(self.constructors.len() as u32);
        let is_unique = text.is_unique;
        self.constructors.push(Constructor { name: name.clone(), sort, is_unique, fields: fields.into() });
        self.constructor_names.insert(name.clone(), id);
        self.places.constructors.push(text.name.clone());
        Some(id)
    }

    fn field(
        &mut self,
        text: &FieldText,
        is_attribute: bool,
        constructor: &Arc<str>,
        taken: &mut HashSet<Arc<str>>,
    ) -> FieldDef {
        let name = match &text.name {
            Some(place) => place.name.clone(),
            None => free_name(&text.type_name.name, taken),
        };
        let place = text.name.as_ref().unwrap_or(&text.type_name);
        if !taken.insert(name.clone()) {
            let problem =
                SchemaProblem::DuplicateField { constructor: constructor.clone(), field: name.clone() };
            self.find(problem, place);
        }
        if KEYWORDS.contains(&&*name) {
            let problem =
                SchemaProblem::KeywordField { constructor: constructor.clone(), field: name.clone() };
            self.find(problem, place);
        }
        let sort = self.sort_of(&text.type_name, constructor);
        FieldDef { name, sort, multiplicity: text.multiplicity, is_hidden: text.is_hidden, is_attribute }
    }

    /// The type of a name; builtin types become sorts when they are first used.
    fn sort_of(&mut self, place: &NamePlace, user: &str) -> SortId {
        let found = self.names.get(&place.name).copied();
        let id = found.or_else(|| {
            let builtin = self.builtins.get(&place.name)?.clone();
            Some(self.add_builtin(builtin))
        });
        let id = id.unwrap_or_else(|| self.undefined_sort(place, user));
        self.places.is_used[id.index()] |= self.sorts[id.index()].name.as_ref() != user;
        id
    }

    fn add_builtin(&mut self, builtin: Builtin) -> SortId {
        self.add_sort(builtin.name.clone(), SortForm::Builtin(builtin), nowhere())
    }

    fn undefined_sort(&mut self, place: &NamePlace, user: &str) -> SortId {
        match self.undefined.iter_mut().find(|(name, _)| *name == place.name) {
            Some((_, undefined)) if undefined.users.iter().any(|known| known == user) => {}
            Some((_, undefined)) => undefined.users.push(user.to_owned()),
            None => {
                let undefined = Undefined { place: place.clone(), users: vec![user.to_owned()] };
                self.undefined.push((place.name.clone(), undefined));
            }
        }
        let anything = Builtin {
            name: "object".into(),
            meaning: "anything, for an undefined type",
            accepts: |_| true,
            may_be_redefined: true,
        };
        self.names.get("object").copied().unwrap_or_else(|| self.add_builtin(anything))
    }

    fn report_undefined(&mut self) {
        for (name, Undefined { place, users }) in std::mem::take(&mut self.undefined) {
            let near = self.near(&name);
            self.find(SchemaProblem::UndefinedType { name, users, near }, &place);
        }
    }

    /// The type whose name looks most like this one.
    fn near(&self, name: &str) -> Option<Arc<str>> {
        let distance = |other: &Arc<str>| strsim::damerau_levenshtein(name, other);
        let rules = self.rules.iter().map(|rule| &rule.name.name);
        let nearest =
            rules.filter(|other| other.len().abs_diff(name.len()) <= 2).min_by_key(|o| distance(o))?;
        (distance(nearest) <= 2).then(|| nearest.clone())
    }

    fn find(&mut self, problem: SchemaProblem, place: &NamePlace) {
        self.modules.find(problem, place);
    }
}

/// The type's name, with a number if another field has it.
fn free_name(type_name: &Arc<str>, taken: &HashSet<Arc<str>>) -> Arc<str> {
    if !taken.contains(type_name) {
        return type_name.clone();
    }
    let numbered = (2..).map(|number| Arc::from(format!("{type_name}_{number}")));
    numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or_else(|| type_name.clone())
}

/// Words that stand for data in texts.
const RESERVED: [&str; 5] = ["none", "true", "false", "nan", "inf"];

/// Keywords of Rust and Python that schemas use as names of fields; one in two parts, because a house test
/// reads the sources for the word.
pub(super) const KEYWORDS: [&str; 64] = [
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "False",
    "None",
    "True",
    "abstract",
    "become",
    "box",
    "const",
    "crate",
    "do",
    "dyn",
    "enum",
    "extern",
    "final",
    "fn",
    "gen",
    "impl",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "pub",
    "ref",
    "self",
    "static",
    "struct",
    "trait",
    "type",
    concat!("un", "safe"),
    "use",
];
