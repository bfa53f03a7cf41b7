//! Imports: modules to the rules that hold in the first of them.
//!
//! ```text
//! module untyped { from python import *            python:  stmt = … expr …
//!                  expr = Name(…) | … }                     expr = …
//!
//! rules of untyped: stmt (python's), expr (its own): python's `stmt` now means the new `expr`
//! ```
//!
//! Names bind late: a rule is a text until the module that is read binds its names. An import of one rule
//! brings the rules it refers to, as soft ones, which the importing module may define itself.

use crate::schema::definition::{AlternativeText, Definition, FieldText, Import, ModuleText, NamePlace};
use crate::schema::error::{SchemaError, SchemaProblem};
use crate::schema::parser::parse_module;
use cembra_vm::program::instruction::Span;
use hashbrown::{HashMap, HashSet};
use petgraph::graph::{DiGraph, NodeIndex};
use std::sync::Arc;

/// Modules that one schema may consist of.
const MAX_MODULES: usize = 256;

/// The text of a module, by name.
pub type ModuleTexts<'m> = dyn Fn(&str) -> Option<String> + 'm;

/// A type's definition with its extensions.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub name: NamePlace,
    pub is_product: bool,
    pub alternatives: Vec<AlternativeText>,
    pub attributes: Vec<FieldText>,
}

/// The rules of a module in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    order: Vec<Arc<Rule>>,
    positions: HashMap<Arc<str>, usize>,
}

impl Rules {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.order.iter().map(|rule| &**rule)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<Rule>> {
        self.positions.get(name).map(|at| &self.order[*at])
    }

    fn set(&mut self, rule: Arc<Rule>) {
        match self.positions.get(&rule.name.name) {
            Some(at) => self.order[*at] = rule,
            None => {
                self.positions.insert(rule.name.name.clone(), self.order.len());
                self.order.push(rule);
            }
        }
    }
}

/// The modules that a schema consists of.
pub(super) struct Modules {
    texts: Vec<ModuleText>,
    names: HashMap<Arc<str>, usize>,
    pub(super) findings: Vec<SchemaError>,
}

impl Modules {
    /// Loads a module and all that it imports.
    pub(super) fn load(text: &str, lookup: &ModuleTexts<'_>) -> Modules {
        let mut modules = Modules { texts: Vec::new(), names: HashMap::new(), findings: Vec::new() };
        modules.add(text, None);
        let mut next = 0;
        while next < modules.texts.len() {
            for import in modules.texts[next].imports.clone() {
                modules.load_import(&import.module, lookup);
            }
            next += 1;
        }
        modules
    }

    fn load_import(&mut self, place: &NamePlace, lookup: &ModuleTexts<'_>) {
        if self.names.contains_key(&place.name) {
            return;
        }
        if self.texts.len() == MAX_MODULES {
            let limit =
                SchemaProblem::Limit { name: "schema-modules", actual: MAX_MODULES + 1, limit: MAX_MODULES };
            return self.find(limit, place);
        }
        match lookup(&place.name) {
            Some(text) => {
                let at = self.add(&text, Some(&place.name));
                self.names.insert(place.name.clone(), at);
            }
            None => self.find(SchemaProblem::UnknownModule { name: place.name.clone() }, place),
        }
    }

    /// Adds a module. One that does not say its name has the one that it is imported by.
    fn add(&mut self, text: &str, imported_as: Option<&Arc<str>>) -> usize {
        let at = self.texts.len();
        let (mut module, problems) = parse_module(text, at as u32);
        if let Some(name) = imported_as.filter(|_| module.name.name.is_empty()) {
            module.name.name = name.clone();
        }
        let name = module.name.name.clone();
        let found = |(problem, span)| SchemaError { problem, module: name.clone(), span };
        self.findings.extend(problems.into_iter().map(found));
        self.names.entry(name).or_insert(at);
        self.texts.push(module);
        at
    }

    /// Name and version of the module that was asked for.
    pub(super) fn root(&self) -> &ModuleText {
        &self.texts[0]
    }

    pub(super) fn find(&mut self, problem: SchemaProblem, place: &NamePlace) {
        let module = self.texts.get(place.module as usize).map(|m| m.name.name.clone()).unwrap_or_default();
        self.findings.push(SchemaError { problem, module, span: place.span });
    }

    /// The rules that hold in the first module.
    pub(super) fn rules(&mut self) -> Rules {
        let mut done: Vec<Rules> = vec![Rules::default(); self.texts.len()];
        for group in self.import_order() {
            if group.len() > 1 || self.imports_itself(group[0]) {
                self.report_cycle(&group);
            }
            for module in group {
                done[module] = self.rules_of(module, &done);
            }
        }
        std::mem::take(&mut done[0])
    }

    /// Modules in groups that import each other, imported ones first.
    fn import_order(&self) -> Vec<Vec<usize>> {
        let mut graph = DiGraph::<(), ()>::new();
        self.texts.iter().for_each(|_| {
            graph.add_node(());
        });
        for (at, text) in self.texts.iter().enumerate() {
            for other in text.imports.iter().filter_map(|import| self.names.get(&import.module.name)) {
                graph.add_edge(NodeIndex::new(at), NodeIndex::new(*other), ());
            }
        }
        let groups = petgraph::algo::kosaraju_scc(&graph);
        groups.into_iter().map(|group| group.into_iter().map(NodeIndex::index).collect()).collect()
    }

    fn imports_itself(&self, module: usize) -> bool {
        self.texts[module].imports.iter().any(|i| self.names.get(&i.module.name) == Some(&module))
    }

    fn report_cycle(&mut self, group: &[usize]) {
        let mut modules: Vec<String> = group.iter().map(|at| self.texts[*at].name.name.to_string()).collect();
        modules.sort();
        let first = group.iter().min().map_or(0, |at| *at);
        let inside = |i: &&Import| self.names.get(&i.module.name).is_some_and(|at| group.contains(at));
        let place = self.texts[first].imports.iter().find(inside).map(|import| import.module.clone());
        let place = place.unwrap_or_else(|| self.texts[first].name.clone());
        self.find(SchemaProblem::ImportCycle { modules }, &place);
    }

    fn rules_of(&mut self, module: usize, done: &[Rules]) -> Rules {
        let text = self.texts[module].clone();
        let mut rules = Rules::default();
        let defined: HashSet<Arc<str>> =
            text.definitions.iter().filter(|d| !d.extends).map(|d| d.name.name.clone()).collect();
        for import in &text.imports {
            let Some(&from) = self.names.get(&import.module.name) else { continue };
            for (rule, place) in self.imported(import, &done[from]) {
                self.import_rule(rule, place, &defined, &mut rules);
            }
        }
        let mut own: HashSet<Arc<str>> = HashSet::new();
        for definition in text.definitions {
            self.define(definition, &mut own, &mut rules);
        }
        rules
    }

    /// The rules that an import names, and those they refer to, in the order of their module.
    fn imported<'i>(&mut self, import: &'i Import, from: &Rules) -> Vec<(Arc<Rule>, &'i NamePlace)> {
        let Some(names) = &import.names else {
            return from.order.iter().map(|rule| (rule.clone(), &import.module)).collect();
        };
        let mut wanted: HashMap<Arc<str>, &NamePlace> = HashMap::new();
        for name in names {
            let mut work = vec![name.name.clone()];
            if from.get(&name.name).is_none() {
                let (module, name_of) = (import.module.name.clone(), name.name.clone());
                self.find(SchemaProblem::UnknownImport { module, name: name_of }, name);
            }
            while let Some(next) = work.pop() {
                let Some(rule) = from.get(&next).filter(|_| !wanted.contains_key(&next)) else { continue };
                wanted.insert(next, name);
                work.extend(references(rule).cloned());
            }
        }
        let found = from.order.iter().filter_map(|rule| Some((rule.clone(), *wanted.get(&rule.name.name)?)));
        found.collect()
    }

    fn import_rule(
        &mut self,
        rule: Arc<Rule>,
        place: &NamePlace,
        defined: &HashSet<Arc<str>>,
        rules: &mut Rules,
    ) {
        let name = rule.name.name.clone();
        match rules.get(&name) {
            Some(known) if !Arc::ptr_eq(known, &rule) && !defined.contains(&name) => {
                let module = |rule: &Rule| self.texts[rule.name.module as usize].name.name.clone();
                let (first, second) = (module(known), module(&rule));
                self.find(SchemaProblem::ImportConflict { name, first, second }, place);
            }
            _ => rules.set(rule),
        }
    }

    fn define(&mut self, definition: Definition, own: &mut HashSet<Arc<str>>, rules: &mut Rules) {
        let Definition { name, extends, is_product, alternatives, attributes } = definition;
        let type_name = name.name.clone();
        if !extends {
            if !own.insert(type_name.clone()) {
                return self.find(SchemaProblem::DuplicateType { name: type_name }, &name);
            }
            return rules.set(Arc::new(Rule { name, is_product, alternatives, attributes }));
        }
        let Some(known) = rules.get(&type_name) else {
            return self.find(SchemaProblem::NothingToExtend { name: type_name }, &name);
        };
        if known.is_product || is_product {
            return self.find(SchemaProblem::ExtendedProduct { name: type_name }, &name);
        }
        let mut rule = Rule::clone(known);
        rule.alternatives.extend(alternatives);
        rule.attributes.extend(attributes);
        rules.set(Arc::new(rule));
    }
}

/// The names of types that a rule may refer to.
fn references(rule: &Rule) -> impl Iterator<Item = &Arc<str>> {
    let fields = rule.alternatives.iter().filter_map(|a| a.fields.as_ref()).flatten().chain(&rule.attributes);
    let bare = rule.alternatives.iter().filter(|a| a.fields.is_none()).map(|a| &a.name.name);
    fields.map(|field| &field.type_name.name).chain(bare)
}

/// A place that is not in any text.
pub(super) fn nowhere() -> NamePlace {
    NamePlace { name: "".into(), module: 0, span: Span::default() }
}
