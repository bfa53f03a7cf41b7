//! Checks of a bound schema: what types admit, circles of aliases, values that cannot exist, unused types.
//!
//! **Inhabited types.** A constructor can be built once each of its fields without `?` and `*` has a type
//! with a value. A unique object is allocated before its fields are filled, so `foo = @Foo(foo next)` has
//! values, and `foo = Foo(foo next)` has none. Unique constructors are assumed to have values; those that
//! still lack a field are given up, until nothing changes.

use crate::schema::definition::{Multiplicity, Places};
use crate::schema::error::SchemaProblem;
use crate::schema::import::Modules;
use crate::schema::model::{Alternative, Constructor, FieldDef, Schema, SortForm, SortId};
use petgraph::graph::{DiGraph, NodeIndex};

/// Checks a schema, and computes what its types admit.
pub(super) fn check(schema: &mut Schema, places: &Places, modules: &mut Modules) {
    debug_assert!(builtins_are_last(schema));
    include(schema, places, modules);
    report_uninhabited(schema, places, modules);
    report_unused(schema, places, modules);
}

/// Rules are declared before the first builtin type is met.
fn builtins_are_last(schema: &Schema) -> bool {
    schema.sorts.is_sorted_by_key(|sort| matches!(sort.form, SortForm::Builtin(_)))
}

/// The types that an alternative includes.
fn included_sorts(form: &SortForm) -> impl Iterator<Item = SortId> + '_ {
    let alternatives = match form {
        SortForm::Sum(alternatives) => &alternatives[..],
        _ => &[],
    };
    alternatives.iter().filter_map(|alternative| match alternative {
        Alternative::Includes(sort) => Some(*sort),
        Alternative::Constructor(_) => None,
    })
}

/// Computes the set of types that each type includes, and reports circles.
fn include(schema: &mut Schema, places: &Places, modules: &mut Modules) {
    let mut graph = DiGraph::<(), ()>::new();
    schema.sorts.iter().for_each(|_| {
        graph.add_node(());
    });
    for (at, sort) in schema.sorts.iter().enumerate() {
        for other in included_sorts(&sort.form) {
            graph.add_edge(NodeIndex::new(at), NodeIndex::new(other.index()), ());
        }
    }
    let words = schema.sorts.len().div_ceil(64);
    // Strongly connected components come with those they point to first.
    for group in petgraph::algo::kosaraju_scc(&graph) {
        let mut group: Vec<usize> = group.into_iter().map(NodeIndex::index).collect();
        group.sort_unstable();
        let is_own = |at: usize| included_sorts(&schema.sorts[at].form).any(|other| other.index() == at);
        if group.len() > 1 || is_own(group[0]) {
            let names = group.iter().chain(&group[..1]).map(|at| schema.sorts[*at].name.to_string());
            modules.find(SchemaProblem::AliasCycle { types: names.collect() }, &places.sorts[group[0]]);
        }
        let mut set = vec![0_u64; words];
        for at in &group {
            set[at / 64] |= 1 << (at % 64);
            for other in included_sorts(&schema.sorts[*at].form) {
                let other = &schema.sorts[other.index()].included;
                set.iter_mut().zip(other.iter()).for_each(|(word, more)| *word |= more);
            }
        }
        for at in group {
            schema.sorts[at].included = set.clone().into();
        }
    }
}

fn report_uninhabited(schema: &Schema, places: &Places, modules: &mut Modules) {
    let mut is_assumed: Vec<bool> = schema.constructors.iter().map(|c| c.is_unique).collect();
    let has_value = loop {
        let has_value = sorts_with_values(schema, &is_assumed);
        let given_up =
            |at: &usize| is_assumed[*at] && lacking(&schema.constructors[*at], &has_value).is_some();
        let given_up: Vec<usize> = (0..is_assumed.len()).filter(given_up).collect();
        if given_up.is_empty() {
            break has_value;
        }
        given_up.into_iter().for_each(|at| is_assumed[at] = false);
    };
    for (constructor, place) in schema.constructors.iter().zip(&places.constructors) {
        let Some(field) = lacking(constructor, &has_value) else { continue };
        let problem = SchemaProblem::Uninhabited {
            constructor: constructor.name.clone(),
            field: constructor.fields[field].name.clone(),
            field_type: schema.sort(constructor.fields[field].sort).name.clone(),
        };
        modules.find(problem, place);
    }
}

/// The first field of a constructor that no value fits.
fn lacking(constructor: &Constructor, has_value: &[bool]) -> Option<usize> {
    let lacks = |field: &FieldDef| field.multiplicity == Multiplicity::One && !has_value[field.sort.index()];
    constructor.fields.iter().position(lacks)
}

/// The types that have a value, if the assumed constructors have one: a least fixpoint by a worklist.
fn sorts_with_values(schema: &Schema, is_assumed: &[bool]) -> Vec<bool> {
    let mut has_value = vec![false; schema.sorts.len()];
    let mut work: Vec<usize> = Vec::new();
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); schema.sorts.len()];
    let mut including: Vec<Vec<usize>> = vec![Vec::new(); schema.sorts.len()];
    let mut missing = vec![0_usize; schema.constructors.len()];
    for (at, sort) in schema.sorts.iter().enumerate() {
        included_sorts(&sort.form).for_each(|other| including[other.index()].push(at));
        // A circle of aliases, or a sum whose alternatives were wrong, is reported elsewhere.
        let is_empty = matches!(&sort.form, SortForm::Sum(alternatives) if alternatives.is_empty());
        if matches!(sort.form, SortForm::Builtin(_)) || is_empty {
            work.push(at);
        }
    }
    for (at, constructor) in schema.constructors.iter().enumerate() {
        for field in constructor.fields.iter().filter(|field| field.multiplicity == Multiplicity::One) {
            missing[at] += 1;
            waiting[field.sort.index()].push(at);
        }
        if missing[at] == 0 || is_assumed[at] {
            work.push(constructor.sort.index());
        }
    }
    while let Some(sort) = work.pop() {
        if std::mem::replace(&mut has_value[sort], true) {
            continue;
        }
        work.extend(&including[sort]);
        for &at in &waiting[sort] {
            missing[at] -= 1;
            if missing[at] == 0 {
                work.push(schema.constructors[at].sort.index());
            }
        }
    }
    has_value
}

/// The first type is what the schema is for; the others should be used by some type.
fn report_unused(schema: &Schema, places: &Places, modules: &mut Modules) {
    let of_this_module =
        |at: &usize| places.sorts[*at].module == 0 && !matches!(schema.sorts[*at].form, SortForm::Builtin(_));
    let first = (0..schema.sorts.len()).find(of_this_module);
    let unused = (0..schema.sorts.len()).filter(|at| !places.is_used[*at] && Some(*at) != first);
    for at in unused.filter(of_this_module) {
        let name = schema.sorts[at].name.clone();
        modules.find(SchemaProblem::UnusedType { name }, &places.sorts[at]);
    }
}
