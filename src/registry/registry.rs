//! Registry: all expression operators by name, and the machine operators behind them.

use crate::registry::define::OperatorDef;
use crate::registry::derived::aggregate::OF_TWO_VALUES;
use crate::registry::infer::TypeError;
use crate::registry::register::{RegisterError, check_overloads, check_signature};
use crate::registry::{derived, standard};
use cembra_vm::builtins;
use cembra_vm::builtins::python::NAMESPACE;
use cembra_vm::operator::table::DuplicateOperator;
use cembra_vm::operator::{Family, OperatorTable};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The operators an expression can use. Cheap to clone; extend a copy with operators of your own.
#[derive(Clone, Debug)]
pub struct Registry {
    defs: Arc<BTreeMap<Arc<str>, Arc<OperatorDef>>>,
    table: Arc<OperatorTable>,
}

impl Default for Registry {
    fn default() -> Self {
        Registry::standard()
    }
}

impl Registry {
    /// True of the standard operators, and nothing else.
    pub fn is_standard(&self) -> bool {
        Arc::ptr_eq(&self.defs, &Registry::standard().defs)
    }

    /// The standard operators.
    pub fn standard() -> Registry {
        static STANDARD: LazyLock<Registry> = LazyLock::new(|| {
            let table = builtins::table();
            let own = derived::definitions();
            let mut defs: BTreeMap<Arc<str>, Arc<OperatorDef>> = BTreeMap::new();
            // An expression has values and no places: what changes an operand is for programs.
            for family in table.families().filter(|family| !family.updates()) {
                let def = standard::definition(family);
                defs.insert(def.name.clone(), Arc::new(def));
            }
            // A definition written by hand replaces the one read off the machine's row.
            for mut def in own {
                def.family = table.family(&def.name).cloned();
                defs.insert(def.name.clone(), Arc::new(def));
            }
            Registry { defs: Arc::new(defs), table }
        });
        STANDARD.clone()
    }

    /// Adds an operator of the host: its row becomes usable in expressions and programs with the same
    /// standing as the standard ones.
    ///
    /// # Errors
    /// The name is taken, or no expression could call the operator.
    pub fn register(&mut self, family: Family) -> Result<(), RegisterError> {
        let family = Arc::new(family);
        let def = standard::definition(&family);
        self.check(&def)?;
        check_overloads(&family, &def.params)?;
        Arc::make_mut(&mut self.table).add(Family::clone(&family))?;
        Arc::make_mut(&mut self.defs).insert(def.name.clone(), Arc::new(def));
        Ok(())
    }

    /// Adds an operator that lowers to others.
    ///
    /// # Errors
    /// The name is taken, or no expression could call the operator.
    pub fn define(&mut self, def: OperatorDef) -> Result<(), RegisterError> {
        self.check(&def)?;
        Arc::make_mut(&mut self.defs).insert(def.name.clone(), Arc::new(def));
        Ok(())
    }

    fn check(&self, def: &OperatorDef) -> Result<(), RegisterError> {
        if self.defs.contains_key(&def.name) {
            return Err(DuplicateOperator { name: def.name.clone() }.into());
        }
        check_signature(&def.name, &def.params)
    }

    /// The definition of an operator.
    pub fn get(&self, name: &str) -> Option<&Arc<OperatorDef>> {
        self.defs.get(name)
    }

    /// The definition of an operator, or the error that suggests similar names.
    ///
    /// # Errors
    /// Nobody defined the name.
    pub fn find(&self, name: &str) -> Result<&Arc<OperatorDef>, TypeError> {
        self.get(name)
            .ok_or_else(|| TypeError::UnknownOperator { name: name.into(), near: self.similar(name) })
    }

    /// All definitions by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Arc<OperatorDef>> {
        self.defs.values()
    }

    /// The operators of the machine.
    pub fn table(&self) -> &Arc<OperatorTable> {
        &self.table
    }

    /// Public names that look like a name: the same last part, or few letters apart. Operators of functions are
    /// for names that begin as theirs do: an expression has others.
    fn similar(&self, name: &str) -> Vec<Arc<str>> {
        let is_of_functions = |name: &str| name.starts_with(NAMESPACE);
        let public =
            self.defs.keys().filter(|n| is_public(n) && (!is_of_functions(n) || is_of_functions(name)));
        let mut near = nearest(name, public.cloned());
        // Other languages have one word for both.
        let of_rows = |operator: &str| operator.rsplit('.').next() == Some(name);
        if let Some((_, meant)) = OF_TWO_VALUES.iter().find(|(operator, _)| of_rows(operator)) {
            near.insert(0, (*meant).into());
            near.truncate(SUGGESTIONS);
        }
        near
    }
}

/// Names that are suggested.
const SUGGESTIONS: usize = 3;

/// Names without a part that begins with an underscore are for users.
pub fn is_public(name: &str) -> bool {
    name.split('.').all(|part| !part.starts_with('_'))
}

/// At most three names close to one: those with the same last part, else those within a few edits.
pub fn nearest(name: &str, candidates: impl Iterator<Item = Arc<str>>) -> Vec<Arc<str>> {
    let last = |n: &str| n.rsplit('.').next().unwrap_or(n).to_owned();
    let allowed = (name.chars().count() + 2) / 4;
    let mut scored: Vec<(usize, Arc<str>)> = candidates
        .filter_map(|candidate| {
            let score = match last(&candidate).eq_ignore_ascii_case(&last(name)) {
                true => 0,
                false => strsim::damerau_levenshtein(&candidate, name),
            };
            (score <= allowed).then_some((score, candidate))
        })
        .collect();
    scored.sort();
    let best = scored.first().map(|s| s.0);
    scored.into_iter().filter(|s| Some(s.0) == best).map(|s| s.1).take(SUGGESTIONS).collect()
}
