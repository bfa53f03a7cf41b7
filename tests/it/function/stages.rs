//! Laws of stages, on every call that a test makes.
//!
//! 1. Every stage follows its schema and its rules.
//! 2. Its text reads back to its canonical form, bit for bit, and prints the same.

use cembra::function::compile::{FunctionStages, optimized, stages};
use cembra::function::infer::Instance;
use cembra::function::norm::{NORM, norm_document, norm_root, norm_schema};
use cembra::function::stage::{
    StageError, StageName, canonical_instances, canonical_low, low_document, low_functions, read_stage_text,
    stage_text, tssa_document, tssa_instances, untyped_functions, ussa_document, ussa_functions, verify_low,
    verify_tssa, verify_ussa,
};
use cembra::function::{FunctionModule, FunctionOptions, FunctionType};
use cembra::python::SourceLines;
use cembra::schema::equality::same_documents;
use cembra::schema::{Document, Severity, parse_schema, read_schema, read_tree, tree_text, validate};
use cembra::vm::value::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The stages of a function that compiles.
pub fn stages_of(source: &str, entry: &str, args: &[Value], options: &FunctionOptions) -> FunctionStages {
    let types: Option<Vec<FunctionType>> = args.iter().map(|v| FunctionType::of_qtype(&v.qtype())).collect();
    let module = FunctionModule::parse(source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let stages = stages(&module, entry, &types.expect("types of functions"), options);
    stages.unwrap_or_else(|errors| panic!("{errors:?}\n{source}"))
}

/// The normalised tree follows its schema, and its text reads back.
fn check_norm(source: &str) {
    let module = FunctionModule::parse(source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let (schema, document) = (norm_schema(), norm_document(module.tree()));
    validate(schema, &document, norm_root()).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let text = tree_text(schema, &document).expect("a text of moderate size");
    let again = read_tree(schema, norm_root(), &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    assert!(same_documents(schema, &document, &again), "{text}");
    assert_eq!(tree_text(schema, &again).expect("a text of moderate size"), text);
}

/// Checks the laws.
pub fn check(stages: &FunctionStages, source: &str) {
    check_norm(source);
    let lines = SourceLines::new(source);
    let untyped = untyped_functions(&stages.instances);
    let none = |errors: Vec<StageError>, text: &str| assert_eq!(errors, [], "{source}\n{text}");
    let (read, text) =
        round_trip(StageName::Ussa, &ussa_document(&untyped, Some(&lines)), source, |document| {
            ussa_functions(document, Some(&lines))
        });
    same(&read, &untyped, &text);
    none(verify_ussa(&untyped), &text);

    let (read, text) =
        round_trip(StageName::Tssa, &tssa_document(&stages.instances, Some(&lines)), source, |document| {
            tssa_instances(document, Some(&lines))
        });
    let typed = canonical_instances(&stages.instances);
    same(&instance_facts(&read), &instance_facts(&typed), &text);
    none(verify_tssa(&typed), &text);

    let (after, _) = optimized(&stages.low).unwrap_or_else(|error| panic!("{error}\n{source}"));
    for low in [&stages.low, &after] {
        let (read, text) = round_trip(StageName::Low, &low_document(low, Some(&lines)), source, |document| {
            low_functions(document, Some(&lines))
        });
        let low = canonical_low(low);
        same(&read, &low, &text);
        none(verify_low(&low), &text);
    }
}

/// The stage that the text of a document gives, and the text.
fn round_trip<T>(
    stage: StageName,
    document: &Document,
    source: &str,
    read: impl Fn(&Document) -> Result<Vec<T>, Vec<StageError>>,
) -> (Vec<T>, String) {
    let (schema, root) = (stage.schema(), stage.root());
    validate(schema, document, root).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let text = stage_text(stage, document).expect("a text of moderate size");
    let again = read_stage_text(stage, &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    assert!(same_documents(schema, document, &again), "{text}");
    assert_eq!(stage_text(stage, &again).expect("a text of moderate size"), text);
    (read(&again).unwrap_or_else(|errors| panic!("{errors:?}\n{text}")), text)
}

/// Equal, down to the bits of floats: documents tell those apart.
fn same<T: Debug>(read: &[T], written: &[T], text: &str) {
    assert_eq!(format!("{read:?}"), format!("{written:?}"), "{text}");
}

/// All that there is of instances, in an order.
fn instance_facts(instances: &[Instance]) -> Vec<String> {
    let facts = |instance: &Instance| {
        let Instance { id, args, function, types, result, calls, .. } = instance;
        let calls: BTreeMap<_, _> = calls.iter().collect();
        format!("{id:?} {args:?} {function:?} {types:?} {result:?} {calls:?}")
    };
    instances.iter().map(facts).collect()
}

/// The lines of a normalised function.
fn norm(source: &str) -> String {
    let module = FunctionModule::parse(source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    check_norm(source);
    tree_text(norm_schema(), &norm_document(module.tree())).expect("a text of moderate size")
}

#[test]
fn normalised_statements_do_one_thing() {
    let text = norm("def f(a, i, n):\n    a[i] += n\n    x = y = n\n    x, y = y, x\n    return 0 < x < n\n");
    let expected = r#"Module([
  Assign(Name("f"), Lambda([Parameter("a"), Parameter("i"), Parameter("n")], [
    Assign(Name("%3"), Name("a")) @2:4,
    Assign(Name("%4"), Name("i")) @2:4,
    Assign(Item(Name("%3"), Name("%4")), Binary(Add, Item(Name("%3"), Name("%4")), Name("n"))) @2:4,
    Assign(Name("%5"), Name("n")) @3:4,
    Assign(Name("x"), Name("%5")) @3:4,
    Assign(Name("y"), Name("%5")) @3:4,
    Assign(Name("%6"), Unpack(Tuple([Name("y"), Name("x")]), 2)) @4:4,
    Assign(Name("x"), Field(Name("%6"), 0)) @4:4,
    Assign(Name("y"), Field(Name("%6"), 1)) @4:4,
    Return(Let("%0", Const(0), Let("%1", Name("x"), And([
      Compare(Lt, Name("%0"), Name("%1")),
      Let("%2", Name("n"), Compare(Lt, Name("%1"), Name("%2"))),
    ])))) @5:4,
  ])) @1:0,
])
"#;
    assert_eq!(text, expected);
    let text = norm("def f(a, *r):\n    return [(y := x) for x in a if [z := x for _ in r]]\n");
    assert!(text.contains("Parameter(\"*r\")"), "{text}");
    assert!(text.contains("Nonlocal([\"z\", \"y\"])"), "{text}");
    assert!(text.contains("Nonlocal([\"z\"])"), "{text}");
    // Comprehensions, `match`, `assert`, `del`, lambdas.
    norm("def f(a):\n    return [x * y for x, y in zip(a, a) if x if y]\n");
    norm(
        "def f(n):\n    match n:\n        case 1 | 2: return 1\n        case None: pass\n        case k if k > 3: return k\n        case _: return (m := n) + m\n",
    );
    norm(
        "def f(a):\n    assert a.size, \"empty\"\n    del a\n    f = lambda x, y=1: x if y else -x\n    return f(1, y=2)\n",
    );
}

#[test]
fn schemas_of_stages_are_clean() {
    assert!(parse_schema(NORM).findings.is_empty(), "{:?}", parse_schema(NORM).findings);
    for stage in StageName::ALL {
        let builtins = cembra::function::stage::schemas::stage_builtins();
        let modules = |name: &str| cembra::function::stage::schemas::module_text(name);
        let reading = read_schema(stage.schema_source(), &modules, &builtins);
        let errors: Vec<String> = reading
            .findings
            .iter()
            .filter(|finding| finding.severity() == Severity::Error)
            .map(|finding| format!("{finding:?}"))
            .collect();
        assert!(reading.schema.is_some(), "{stage}: {errors:?}");
        assert!(reading.findings.is_empty(), "{stage}: {:?}", reading.findings);
    }
}
