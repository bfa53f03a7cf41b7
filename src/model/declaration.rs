//! One model of a file: its components and their parameters, checked one by one.
//!
//! ```yaml
//! m:                                  # a model
//!   Offset:                           # a background: keeps its name
//!     y0: [2.0, True, 0.0, 5.0]       # [value, vary, min, max]
//!   GLP:                              # becomes GLP_01
//!     A: [20.0, True, 0.0, 60.0]
//!     x0: ["Offset_y0 + 80"]          # an expression
//! ```
//!
//! All mistakes of a model are gathered; a component with a mistake is left out.

use crate::model::component::{Function, Package, Role, Semantics};
use crate::model::error::{Findings, ModelErrorKind, Subject, WarningKind};
use crate::model::place::Place;
use crate::model::quantity::{self, Quantity};
use crate::model::yaml::Node;
use std::collections::HashMap;

/// A component as a file declares it.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Name with its number.
    pub name: String,
    /// What it computes.
    pub function: Function,
    /// Its key in the file.
    pub place: Place,
    /// Parameters in the order of the file.
    pub parameters: Vec<DeclaredParameter>,
}

/// A parameter as a file declares it.
#[derive(Clone, Debug)]
pub struct DeclaredParameter {
    /// Its name in the formula.
    pub name: String,
    /// Its value or expression.
    pub quantity: Quantity,
    /// Its key in the file.
    pub place: Place,
}

/// Names that components of a model have taken.
#[derive(Clone, Debug, Default)]
struct Numbering {
    taken: HashMap<String, Place>,
    /// For each function the first number that may be free.
    next: HashMap<Function, usize>,
}

impl Numbering {
    /// The name of a component: numbered functions take the next free number.
    fn name(&mut self, key: &str, function: Function, place: &Place) -> Result<String, (String, Place)> {
        let is_bare = key == function.name();
        let name = match is_bare && function.is_numbered() {
            true => {
                let next = self.next.entry(function).or_insert(1);
                let numbered = (*next..).map(|number| (number, format!("{key}_{number:02}")));
                let mut free = numbered.filter(|(_, name)| !self.taken.contains_key(name));
                let (number, name) = free.next().expect("numbers do not end");
                *next = number + 1;
                name
            }
            false => key.to_owned(),
        };
        match self.taken.insert(name.clone(), place.clone()) {
            None => Ok(name),
            Some(first) => Err((name, first)),
        }
    }
}

/// Reads the models of one use: all are evaluated on the axis of one package.
#[derive(Debug)]
pub struct DeclarationReader<'a> {
    /// The formulas that are meant.
    pub semantics: Semantics,
    /// The axis that the model is used on.
    pub package: Package,
    /// What was found wrong or odd.
    pub findings: &'a mut Findings,
    /// What was found wrong.
    pub broken: Broken,
}

/// What the model would have if it could be read; nothing is said of what is missing for that.
#[derive(Debug, Default)]
pub struct Broken {
    /// Names of components that are wrong.
    pub components: Vec<String>,
    /// True if components cannot even be named, so that others may have wrong numbers.
    pub is_unnamed: bool,
}

impl Broken {
    /// True if a parameter of this name might be there.
    pub fn may_have(&self, parameter: &str) -> bool {
        let is_of = |name: &String| parameter.strip_prefix(name.as_str()).is_some_and(|r| r.starts_with('_'));
        self.is_unnamed || self.components.iter().any(is_of)
    }
}

impl DeclarationReader<'_> {
    /// Reads a model.
    pub fn read(&mut self, model: &str, place: &Place, node: &Node) -> Vec<Declaration> {
        let Some(entries) = node.map() else {
            let kind = ModelErrorKind::ModelForm { model: model.to_owned(), found: node.describe() };
            self.broken.is_unnamed = true;
            self.findings.error(kind, place);
            return Vec::new();
        };
        if entries.is_empty() {
            self.findings.error(ModelErrorKind::EmptyModel { model: model.to_owned() }, place);
        }
        let mut numbering = Numbering::default();
        let declarations: Vec<Option<Declaration>> =
            entries.iter().map(|(key, value)| self.component(model, key, value, &mut numbering)).collect();
        if let Some(Some(last)) = declarations.last() {
            self.check_last(model, last, entries.len());
        }
        declarations.into_iter().flatten().collect()
    }

    fn check_last(&mut self, model: &str, last: &Declaration, count: usize) {
        let subject = subject(model, &last.name, "");
        let kind = match last.function.role() {
            // What needs other components below it in the file.
            Role::Background | Role::SpectrumFed => ModelErrorKind::BackgroundLast { subject },
            Role::Kernel if count > 1 => ModelErrorKind::KernelLast { subject },
            _ => return,
        };
        self.findings.error(kind, &last.place);
    }

    fn component(
        &mut self,
        model: &str,
        key: &Node,
        value: &Node,
        numbering: &mut Numbering,
    ) -> Option<Declaration> {
        let Some(written) = key.text() else {
            self.broken.is_unnamed = true;
            return self.findings.refuse(ModelErrorKind::Name { found: key.describe() }, &key.place);
        };
        let Some(function) = self.function(model, written, &key.place) else {
            self.broken.is_unnamed = true;
            return None;
        };
        let name = match numbering.name(written, function, &key.place) {
            Ok(name) => name,
            Err((name, first)) => {
                let kind = ModelErrorKind::DuplicateComponent { subject: subject(model, &name, ""), first };
                return self.findings.refuse(kind, &key.place);
            }
        };
        let subject = subject(model, &name, "");
        let Some(entries) = value.map() else {
            let kind = ModelErrorKind::ComponentForm { subject, found: value.describe() };
            self.broken.components.push(name);
            return self.findings.refuse(kind, &key.place);
        };
        let Some(parameters) = self.parameters(&subject, function, &key.place, entries) else {
            self.broken.components.push(name);
            return None;
        };
        Some(Declaration { name, function, place: key.place.clone(), parameters })
    }

    /// The function of a key such as `GLP` or `GLP_03`.
    fn function(&mut self, model: &str, written: &str, place: &Place) -> Option<Function> {
        let subject = subject(model, written, "");
        let Some(function) = Function::from_name(without_number(written), self.semantics) else {
            let all = Function::ALL.iter().filter(|f| f.exists_in(self.semantics));
            let names: Vec<&str> = all.filter(|f| f.package() == self.package).map(|f| f.name()).collect();
            let kind = ModelErrorKind::UnknownComponent { subject, available: names.join(", ") };
            return self.findings.refuse(kind, place);
        };
        let kind = match function.role() {
            _ if function.package() == self.package => return Some(function),
            Role::Kernel => ModelErrorKind::KernelInEnergyModel { subject },
            _ => {
                let (package, expected) = (function.package().name(), self.package.name());
                ModelErrorKind::WrongPackage { subject, package, expected }
            }
        };
        self.findings.refuse(kind, place)
    }

    /// The parameters, if they are exactly those of the function.
    fn parameters(
        &mut self,
        subject: &Subject,
        function: Function,
        place: &Place,
        entries: &[(Node, Node)],
    ) -> Option<Vec<DeclaredParameter>> {
        let expected: Vec<String> =
            function.parameters(self.semantics).into_iter().map(str::to_owned).collect();
        let before = self.findings.errors.len();
        let mut names: Vec<String> = Vec::new();
        for (key, _) in entries {
            let name = key.text().map_or_else(|| key.describe(), str::to_owned);
            if names.contains(&name) {
                let subject = Subject { parameter: name.clone(), ..subject.clone() };
                self.findings.error(ModelErrorKind::DuplicateParameter { subject }, &key.place);
            }
            names.push(name);
        }
        if names.len() != expected.len() && self.findings.errors.len() == before {
            let (subject, found) = (subject.clone(), names.clone());
            let kind = ModelErrorKind::ParameterCount { subject, expected: expected.clone(), found };
            return self.findings.refuse(kind, place);
        }
        let mut parameters = Vec::new();
        for ((key, value), name) in entries.iter().zip(&names) {
            let subject = Subject { parameter: name.clone(), ..subject.clone() };
            if !expected.contains(name) {
                let kind = ModelErrorKind::UnknownParameter { subject, expected: expected.clone() };
                self.findings.error(kind, &key.place);
                continue;
            }
            if let Some(quantity) = quantity::read(&subject, value, self.findings) {
                if let Err(kind) = check_width(&subject, function, &quantity) {
                    self.findings.error(kind, &value.place);
                }
                parameters.push(DeclaredParameter { name: name.clone(), quantity, place: key.place.clone() });
            }
        }
        if self.findings.errors.len() > before {
            return None;
        }
        if names != expected {
            let subject = subject.clone();
            self.findings.warning(WarningKind::ParameterOrder { subject, expected }, place);
        }
        Some(parameters)
    }
}

/// Kernel widths stay positive; those of expressions are only known later.
fn check_width(subject: &Subject, function: Function, quantity: &Quantity) -> Result<(), ModelErrorKind> {
    let Quantity::Number(number) = quantity else { return Ok(()) };
    let may_vanish = number.value <= 0.0 || (number.vary.is_free() && number.min <= 0.0);
    match function.role() == Role::Kernel && may_vanish {
        true => {
            let (subject, value, min) = (subject.clone(), number.value, number.min);
            Err(ModelErrorKind::KernelWidth { subject, value, min })
        }
        false => Ok(()),
    }
}

/// What a message is about.
pub fn subject(model: &str, component: &str, parameter: &str) -> Subject {
    Subject { model: model.to_owned(), component: component.to_owned(), parameter: parameter.to_owned() }
}

/// Gives the components of several models that are used together names of their own; expressions mean these names.
///
/// ```text
/// a: expFun              expFun_01     keeps its number
/// b: expFun, expFun      expFun_03     of two with one number the later takes one beyond all numbers of the models
///                        expFun_02     keeps its number
/// ```
///
/// Gives those that have no numbers, and a name that another one has: the place of their model in the list, and of the
/// other one in its file.
pub fn name_apart(models: &mut [Vec<Declaration>]) -> Vec<(usize, Declaration, Place)> {
    let mut next: HashMap<Function, usize> = HashMap::new();
    for declaration in models.iter().flatten() {
        let beyond = next.entry(declaration.function).or_default();
        *beyond = (*beyond).max(number(&declaration.name) + 1);
    }
    let (mut taken, mut twice) = (HashMap::new(), Vec::new());
    let declarations =
        models.iter_mut().enumerate().flat_map(|(model, of)| of.iter_mut().map(move |d| (model, d)));
    for (model, declaration) in declarations {
        let place = declaration.place.clone();
        let Some(first) = taken.get(&declaration.name) else {
            taken.insert(declaration.name.clone(), place);
            continue;
        };
        match next.get_mut(&declaration.function).filter(|_| declaration.function.is_numbered()) {
            Some(next) => {
                declaration.name = format!("{}_{next:02}", declaration.function.name());
                *next += 1;
                taken.insert(declaration.name.clone(), place);
            }
            None => twice.push((model, declaration.clone(), first.clone())),
        }
    }
    twice
}

/// 3 of `GLP_03`; 0 of what has no number.
fn number(name: &str) -> usize {
    name[without_number(name).len()..].trim_start_matches('_').parse().unwrap_or(0)
}

/// `GLP` of `GLP_03`.
pub fn without_number(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((function, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            function
        }
        _ => name,
    }
}
