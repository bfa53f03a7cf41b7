//! Schemas and documents as hosts see them: findings, late binding, texts that read back, depth.

use cembra::schema::bind::SchemaReading;
use cembra::schema::definition::Multiplicity;
use cembra::schema::document::{Document, TermId, TermValue};
use cembra::schema::equality::{classes, same_documents};
use cembra::schema::model::{ConstructorId, Schema, SortId};
use cembra::schema::walk::{Reach, children, post_order, references};
use cembra::schema::{
    Builtins, Datum, Edit, SourcePosition, TextError, aterm_text, flat_text, llvm_text, parse_schema,
    read_aterm, read_flat, read_llvm, read_schema, read_table, read_tree, schema_id, schema_text, table_text,
    transform, tree_outline, tree_text,
};
use fastrand::Rng;

/// Expressions with sharing, unique loops with cycles, attributes, every multiplicity and builtin type.
const EVERYTHING: &str = r#"
module everything version "1" {
    item = expr | loop | str
    expr = Num(int n)
         | Bin(expr left, op op, expr right)
         | Call(identifier callee, expr* args, expr? rest)
         | Data(constant value, float? f, bytes* b, bool? flag, singleton s)
         | Of(loop owner)
         | Some(expr? inner)
         | Ref
         attributes (posinfo pos, str? note)
    op = Add | Mul
    loop = @Loop(str name, loop* next, item? \hidden, pair pair)
    pair = (int x, op? op)
}
"#;

fn read(text: &str) -> SchemaReading {
    parse_schema(text)
}

fn schema(text: &str) -> Schema {
    let reading = read(text);
    let found: Vec<String> = reading.errors().map(|e| e.to_string()).collect();
    reading.schema.unwrap_or_else(|| panic!("{found:?}"))
}

/// `rule@line: message` for each finding.
fn findings(text: &str, reading: &SchemaReading) -> Vec<String> {
    let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
    let one = |e: &cembra::schema::SchemaError| {
        format!("{}@{}: {}", e.problem.rule(), line(e.span.start), e.problem)
    };
    reading.findings.iter().map(one).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(findings(text, &read(text)), expected, "{text}");
}

#[test]
fn all_errors_of_a_schema_are_found_in_one_run() {
    let text = "module bad {
    a = A(b x, missing y) | A2(int n, int n)
    b = B(int*? n
    c = C | ... | D
    c = E
    d = A(c c)
    int = Int
    e = f
    f = e
    g = G(g again)
    unused = U
}
";
    check(
        text,
        &[
            "undefined-type@2: Undefined type missing, used in A",
            "duplicate-field@2: Redefinition of field n of A2",
            "two-modifiers@3: a field is a list or an option, not both",
            "unmatched-token@4: Unmatched ) (found TypeId `c`)",
            "ellipsis@4: `...` defines nothing",
            "duplicate-type@5: Redefinition of type c",
            "duplicate-constructor@6: Redefinition of constructor A; Defined in a and d",
            "redefined-builtin@7: Redefinition of the builtin type int",
            "alias-cycle@8: types are defined by each other: e = f = e",
            "uninhabited@10: G has no finite value: its field again needs a g first",
        ],
    );
}

#[test]
fn the_rules_that_the_published_schemas_break_are_named() {
    check(
        "t = char | int_ | Big",
        &[
            "lowercase-constructor@1: constructor `char` should start with an uppercase letter",
            "lowercase-constructor@1: constructor `int_` should start with an uppercase letter",
        ],
    );
    check("type = nbtype\nnbtype = Char | methodtype\nmethodtype = MethodSignature(bool is_jit,)", &[]);
    check("a = A(c c) b = B c = C", &["unused-type@1: type `b` is not used"]);
    check(
        "use = NameReference(str id, use? \\def)",
        &["keyword-field@1: field `def` of NameReference is a keyword; typed layers call it `def_`"],
    );
    check("a = A(nbtyp t) nbtype = B", &["undefined-type@1: Undefined type nbtyp, used in A"]);
    check(
        "a = A(\"",
        &[
            "unterminated-string@1: unterminated string",
            "unmatched-token@1: Unmatched TypeId (found the end)",
        ],
    );
    check(
        "a = A(#) b |= C",
        &[
            "unexpected-character@1: unexpected character '#'",
            "nothing-to-extend@1: there is no type `b` to extend",
        ],
    );
}

#[test]
fn inhabited_types_pass_through_unique_objects_options_and_lists() {
    check("foo = @Foo(str name, foo attr)", &[]);
    check("e = Neg(e e) | Num(int n)", &[]);
    check("e = Block(e* e)", &[]);
    check("e = Opt(e? e)", &[]);
    check(
        "e = Neg(e e) | Pair(f f)\nf = F(e e)",
        &[
            "uninhabited@1: Neg has no finite value: its field e needs a e first",
            "uninhabited@1: Pair has no finite value: its field f needs a f first",
            "uninhabited@2: F has no finite value: its field e needs a e first",
        ],
    );
    check(
        "u = @U(v v)\nv = V(v v)",
        &[
            "uninhabited@1: U has no finite value: its field v needs a v first",
            "uninhabited@2: V has no finite value: its field v needs a v first",
        ],
    );
}

#[test]
fn imports_bind_late() {
    let module = |name: &str| {
        match name {
        "python" => Some(
            "module python { stmt = Return(expr value) | If(expr test, stmt* body)  expr = Name(identifier id) op = Add }"
                .to_owned(),
        ),
        "loop" => Some("module loop { from loop2 import * a = A(b b) }".to_owned()),
        "loop2" => Some("module loop2 { from loop import * b = B(a? a) }".to_owned()),
        _ => None,
    }
    };
    let read = |text: &str| read_schema(text, &module, &Builtins::standard());
    // `stmt` comes with what it refers to; its `expr` is the new one; `op` stays behind.
    let reading =
        read("module typed { from python import stmt  expr = Typed(identifier id, int t)  stmt |= Pass }");
    let schema = reading.schema.as_ref().expect("the schema is right");
    let [stmt, expr] = ["stmt", "expr"].map(|name| schema.find_sort(name).expect("the type exists"));
    assert_eq!(schema.find_sort("op"), None);
    assert_eq!(schema.find_constructor("Name"), None);
    let constructor = |name: &str| schema.find_constructor(name).expect("the constructor exists");
    assert!(schema.admits(stmt, constructor("Pass")) && schema.admits(expr, constructor("Typed")));
    assert_eq!(schema.constructor(constructor("Return")).fields[0].sort, expr);

    let text =
        "module x { from nowhere import *  from python import nothing  from loop import *  c = C(a a) }";
    let reading = read(text);
    let found: Vec<&str> = reading.errors().map(|error| error.problem.rule()).collect();
    assert_eq!(found, ["import-cycle", "unknown-module", "unknown-import"]);
}

#[test]
fn a_printed_schema_reads_back_and_has_the_same_hash() {
    let first = schema(EVERYTHING);
    let text = schema_text(&first);
    let second = schema(&text);
    assert_eq!(schema_text(&second), text);
    assert_eq!(schema_id(&first), schema_id(&second));
    let renamed = schema(&EVERYTHING.replace("Mul", "Mult"));
    assert_ne!(schema_id(&first), schema_id(&renamed));
}

#[test]
fn the_cycle_of_the_document_prints_and_reads() {
    let schema = schema("foo = @Foo(str name, foo attr)");
    let sort = schema.find_sort("foo").expect("the type exists");
    let text = "!0:Foo(\"foo1\", !1:Foo(\"foo2\", !0))\n";
    let document = read_tree(&schema, sort, text).expect("the text is right");
    assert_eq!(tree_text(&schema, &document).expect("it is small"), text);
    assert_eq!(tree_outline(&schema, &document).expect("it is small"), "Foo(\"foo1\", Foo(\"foo2\", ...))\n");
    assert_eq!(
        aterm_text(&schema, &document).expect("it is small"),
        "Foo(\"foo1\",Foo(\"foo2\",Ref(\"Foo\",0)){id(1)}){id(0)}\n"
    );
    let table = table_text(&schema, &document).expect("it is small");
    let rows = "Foo ; name, id, attr
!0 = metadata !{ metadata !\"foo1\", i64 0, i64 1 }
!1 = metadata !{ metadata !\"foo2\", i64 1, i64 0 }
root metadata !0
";
    assert!(table.ends_with(rows), "{table}");
}

/// A document of random terms, with sharing if asked for.
fn random_document(schema: &Schema, rng: &mut Rng, is_shared: bool) -> Document {
    let mut document = Document::new();
    let mut pools: Vec<Vec<TermValue>> = vec![Vec::new(); schema.sorts().len()];
    let uniques: Vec<ConstructorId> = schema.unique_constructors().collect();
    let mut open = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let id = uniques[rng.usize(..uniques.len())];
        let term = document.reserve(schema, id).expect("the constructor is unique");
        pools[schema.constructor(id).sort.index()].push(TermValue::Term(term));
        open.push((term, id));
    }
    let plain: Vec<ConstructorId> =
        schema.constructors().iter().filter_map(|c| schema.find_constructor(&c.name)).collect();
    for _ in 0..rng.usize(5..40) {
        let id = plain[rng.usize(..plain.len())];
        if schema.constructor(id).is_unique {
            continue;
        }
        if let Some(values) = random_values(schema, id, &mut document, &mut pools, rng, is_shared) {
            let term = document.add_term(schema, id, &values).expect("the values are as many as the fields");
            pools[schema.constructor(id).sort.index()].push(TermValue::Term(term));
        }
    }
    for (term, id) in open {
        let values = loop {
            if let Some(values) = random_values(schema, id, &mut document, &mut pools, rng, is_shared) {
                break values;
            }
            let pair = schema.find_constructor("pair").expect("the constructor exists");
            let one = document.add_datum(Datum::Int(1));
            let term = document.add_term(schema, pair, &[one, TermValue::Absent]).expect("two values");
            pools[schema.constructor(pair).sort.index()].push(TermValue::Term(term));
        };
        document.fill(schema, term, &values).expect("the values are as many as the fields");
        document.set_root(TermValue::Term(term));
    }
    document
}

fn random_values(
    schema: &Schema,
    id: ConstructorId,
    document: &mut Document,
    pools: &mut [Vec<TermValue>],
    rng: &mut Rng,
    is_shared: bool,
) -> Option<Vec<TermValue>> {
    let constructor = schema.constructor(id);
    let mut values = Vec::new();
    for field in &constructor.fields {
        let mut one = |rng: &mut Rng, document: &mut Document| {
            random_value(schema, field.sort, document, pools, rng, is_shared)
        };
        values.push(match field.multiplicity {
            Multiplicity::One => one(rng, document)?,
            Multiplicity::Option if rng.bool() => TermValue::Absent,
            Multiplicity::Option => one(rng, document).unwrap_or(TermValue::Absent),
            Multiplicity::List => {
                let elements: Vec<TermValue> =
                    (0..rng.usize(0..4)).filter_map(|_| one(rng, document)).collect();
                document.add_list(&elements)
            }
        });
    }
    Some(values)
}

fn random_value(
    schema: &Schema,
    sort: SortId,
    document: &mut Document,
    pools: &mut [Vec<TermValue>],
    rng: &mut Rng,
    is_shared: bool,
) -> Option<TermValue> {
    for _ in 0..20 {
        if rng.bool() {
            let datum = random_datum(rng);
            if schema.admits_datum(sort, &datum) {
                return Some(document.add_datum(datum));
            }
        }
        let pool = rng.usize(..pools.len());
        if pools[pool].is_empty() {
            continue;
        }
        let at = rng.usize(..pools[pool].len());
        let TermValue::Term(term) = pools[pool][at] else { continue };
        let id = document.constructor(term);
        if schema.admits(sort, id) {
            // Without sharing a plain term is used once.
            let is_spent = !is_shared && !schema.constructor(id).is_unique;
            return Some(if is_spent { pools[pool].swap_remove(at) } else { pools[pool][at] });
        }
    }
    None
}

fn random_datum(rng: &mut Rng) -> Datum {
    const TEXTS: [&str; 8] = ["", "a", "x.y", "\"\\\n\t\u{1f}", "naïve é 𝔘", "\u{202e}", "none", "_"];
    match rng.u32(..9) {
        0 => Datum::None,
        1 => Datum::Bool(rng.bool()),
        2 => Datum::Int(rng.i64(..)),
        3 => Datum::integer("-170141183460469231731687303715884105728").expect("digits"),
        4 => Datum::Float(f64::from_bits(rng.u64(..))),
        5 => Datum::Float(
            [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300][rng.usize(..7)],
        ),
        6 => Datum::Bytes((0..rng.usize(..5)).map(|_| rng.u8(..)).collect()),
        7 => Datum::Position(SourcePosition {
            line: rng.u32(..99),
            column: rng.u32(..),
            end: rng.bool().then(|| (rng.u32(..), rng.u32(..))),
        }),
        _ => Datum::Text(TEXTS[rng.usize(..TEXTS.len())].into()),
    }
}

fn complete(result: Result<Document, Vec<TextError>>, text: &str) -> Document {
    result.unwrap_or_else(|errors| {
        panic!("{:?}\n{text}", errors.iter().map(ToString::to_string).collect::<Vec<_>>())
    })
}

#[test]
fn every_form_reads_back() {
    let schema = schema(EVERYTHING);
    let sort = schema.find_sort("item").expect("the type exists");
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    every_form_of_random_documents(&schema, sort, seed);
}

/// A shared plain term beside a cycle: lines were broken by widths that depended on who shares it.
#[test]
fn trees_break_where_copies_of_shared_terms_do() {
    let schema = schema(EVERYTHING);
    let sort = schema.find_sort("item").expect("the type exists");
    every_form_of_random_documents(&schema, sort, 2_263_210_005_776_513_424);
}

fn every_form_of_random_documents(schema: &Schema, sort: SortId, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    for round in 0..2000 {
        let document = random_document(schema, &mut rng, round % 2 == 0);
        let flat = flat_text(schema, &document);
        let from_flat = complete(read_flat(schema, sort, &flat), &flat);
        assert!(same_documents(schema, &document, &from_flat), "{flat}");
        assert_eq!(flat_text(schema, &from_flat), flat);

        let tree = tree_text(schema, &document).expect("it is small");
        let from_tree = complete(read_tree(schema, sort, &tree), &tree);
        assert!(same_documents(schema, &document, &from_tree), "{tree}");
        assert_eq!(tree_text(schema, &from_tree).expect("it is small"), tree);
        if round % 2 == 1 {
            assert_eq!(flat_text(schema, &from_tree), flat, "{tree}");
        }

        let aterm = aterm_text(schema, &document).expect("it is small");
        let from_aterm = complete(read_aterm(schema, sort, &aterm), &aterm);
        assert!(same_documents(schema, &document, &from_aterm), "{aterm}\n{tree}");
        assert_eq!(aterm_text(schema, &from_aterm).expect("it is small"), aterm);

        let table = table_text(schema, &document).expect("it is small");
        let from_table = complete(read_table(schema, sort, &table), &table);
        assert!(same_documents(schema, &document, &from_table), "{table}\n{tree}");
        assert_eq!(table_text(schema, &from_table).expect("it is small"), table);

        let llvm = llvm_text(schema, &document);
        let from_llvm = complete(read_llvm(schema, sort, &llvm), &llvm);
        assert!(same_documents(schema, &document, &from_llvm), "{llvm}\n{tree}");
        assert_eq!(llvm_text(schema, &from_llvm), llvm);
    }
}

#[test]
fn changed_texts_are_refused_without_a_panic() {
    let schema = schema(EVERYTHING);
    let sort = schema.find_sort("item").expect("the type exists");
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let mut refused = 0;
    for _ in 0..1000 {
        let document = random_document(&schema, &mut rng, false);
        let texts = [
            flat_text(&schema, &document),
            tree_text(&schema, &document).expect("it is small"),
            aterm_text(&schema, &document).expect("it is small"),
            table_text(&schema, &document).expect("it is small"),
            llvm_text(&schema, &document),
        ];
        for (form, text) in texts.into_iter().enumerate() {
            let text = mutated(text, &mut rng);
            let result = match form {
                0 => read_flat(&schema, sort, &text),
                1 => read_tree(&schema, sort, &text),
                2 => read_aterm(&schema, sort, &text),
                3 => read_table(&schema, sort, &text),
                _ => read_llvm(&schema, sort, &text),
            };
            for error in result.err().into_iter().flatten() {
                assert!(
                    error.span.start <= error.span.end && error.span.end as usize <= text.len(),
                    "{error:?}\n{text}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

fn mutated(mut text: String, rng: &mut Rng) -> String {
    for _ in 0..rng.usize(1..4) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let (a, b) = (places[rng.usize(..places.len())], places[rng.usize(..places.len())]);
        match rng.u32(..3) {
            0 => {
                text.remove(a);
            }
            1 => text.insert_str(a, ["(", "]", "\"", "!0", "%9", "_", "é", "@", "1e", ":"][rng.usize(..10)]),
            _ => {
                let piece = text[a.min(b)..a.max(b)].chars().take(9).collect::<String>();
                text.insert_str(a, &piece);
            }
        }
    }
    text
}

#[test]
fn a_text_edited_by_hand_is_refused_with_paths_and_places() {
    let schema = schema(
        "mod = Module(stat* body)\nstat = Assign(identifier name, expr value) | Raise attributes (posinfo pos)
         expr = Num(int n) | Bin(expr left, op op, expr right)\nop = Add",
    );
    let sort = schema.find_sort("mod").expect("the type exists");
    let check = |text: &str, expected: &[(&str, &str)]| {
        let errors = read_tree(&schema, sort, text).err().unwrap_or_default();
        let found: Vec<(String, &str)> = errors
            .iter()
            .map(|e| (e.problem.to_string(), &text[e.span.start as usize..e.span.end as usize]))
            .collect();
        let expected: Vec<(String, &str)> = expected.iter().map(|(m, s)| ((*m).to_owned(), *s)).collect();
        assert_eq!(found, expected, "{text}");
        errors
    };
    check("Module([Assign(\"a\", Num(1)) @1:0])", &[]);
    let errors = check(
        "Module([Assign(\"a b\", Raise @1:2) @1:0, Num(2), Assign(\"c\") @3:0, Assing(1), Raise])",
        &[
            ("At Assign.name: Expecting identifier but got \"a b\"", "Assign(\"a b\", Raise @1:2)"),
            ("At Assign.value: Cannot be a Raise", "Raise"),
            ("At Module.body[1]: Cannot be a Num", "Num(2)"),
            ("At Assign.value: Missing field", "Assign(\"c\")"),
            ("Unknown constructor Assing", "Assing"),
            ("At Raise.pos: Missing field", "Raise"),
        ],
    );
    assert_eq!(errors[1].hint().as_deref(), Some("path: Module.body[0].value"));
    assert_eq!(errors[4].hint().as_deref(), Some("did you mean `Assign`?"));
    check("Module(Raise @1:0)", &[("At Module.body: Field must be iterable", "Raise")]);
    check("Module([[]])", &[("lists do not nest", "[")]);
    check("Module([], 1)", &[("Module has 1 fields, not 2", "Module([], 1)")]);
    check("Module([Assign(", &[("expected a value, found the end of the text", "")]);
    check("Module([!0])", &[("nothing before defines !0", "!")]);
    check(
        "Module([!0:Raise])",
        &[
            ("Raise is not unique, so it cannot be written with `!`", "Raise"),
            ("At Raise.pos: Missing field", "Raise"),
        ],
    );
    check("", &[("expected a value, found the end of the text", "")]);
}

#[test]
fn documents_are_100_000_deep_on_a_small_stack() {
    let work = || {
        let schema = schema(EVERYTHING);
        let sort = schema.find_sort("item").expect("the type exists");
        let [num, bin, add] = ["Num", "Bin", "Add"].map(|n| schema.find_constructor(n).expect("it exists"));
        let mut document = Document::new();
        let one = document.add_datum(Datum::Int(1));
        let pos = document.add_datum(Datum::Position(SourcePosition { line: 1, column: 0, end: None }));
        let op = TermValue::Term(document.add_term(&schema, add, &[]).expect("no values"));
        let leaf = document.add_term(&schema, num, &[one, pos, TermValue::Absent]).expect("three values");
        let mut sum = TermValue::Term(leaf);
        for _ in 0..100_000 {
            let values = [sum, op, TermValue::Term(leaf), pos, TermValue::Absent];
            sum = TermValue::Term(document.add_term(&schema, bin, &values).expect("five values"));
        }
        document.set_root(sum);
        let tree = tree_text(&schema, &document).expect("it is small");
        let aterm = aterm_text(&schema, &document).expect("it is small");
        let flat = flat_text(&schema, &document);
        for read in [
            complete(read_tree(&schema, sort, &tree), "tree"),
            complete(read_aterm(&schema, sort, &aterm), "aterm"),
            complete(read_flat(&schema, sort, &flat), "flat"),
            complete(
                read_table(&schema, sort, &table_text(&schema, &document).expect("it is small")),
                "table",
            ),
            complete(read_llvm(&schema, sort, &llvm_text(&schema, &document)), "llvm"),
        ] {
            assert!(same_documents(&schema, &document, &read));
            let bins = classes(&schema, &read);
            assert_eq!(bins.iter().max(), Some(&100_001), "a number, an operator and the sums");
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(work).expect("a thread starts");
    thread.join().expect("nothing recurses");
}

#[test]
fn a_rewriter_replaces_deletes_and_splices() {
    let schema = schema(
        "mod = Module(stat* body, stat? last, stat first)
         stat = Pass | Twice(stat stat) | Do(int n) | Use(loop loop)
         loop = @Loop(loop* others, stat? stat)",
    );
    let sort = schema.find_sort("mod").expect("the type exists");
    let rewrite = |text: &str, edit: &mut dyn FnMut(&mut Document, TermId, &str) -> Edit| {
        let document = complete(read_tree(&schema, sort, text), text);
        let result = transform(&schema, &document, &mut |new, term| {
            let name = schema.constructor(new.constructor(term)).name.clone();
            edit(new, term, &name)
        });
        result.map(|new| tree_text(&schema, &new).expect("it is small")).map_err(|error| error.to_string())
    };
    let mut delete = |new: &mut Document, term: TermId, name: &str| match name {
        "Pass" => Edit::Delete,
        "Twice" => Edit::Splice(vec![new.values(term)[0]; 2]),
        _ => Edit::Keep,
    };
    let text = "Module([Pass, Twice(Do(1)), Use(!0:Loop([!1:Loop([!0])], Pass))], Pass, Do(2))";
    assert_eq!(
        rewrite(text, &mut delete).as_deref(),
        Ok("Module([Do(1), Do(1), Use(!0:Loop([!1:Loop([!0])]))], _, Do(2))\n")
    );
    assert_eq!(
        rewrite("Module([], _, Pass)", &mut delete),
        Err("Module.first needs one value, not 0".to_owned())
    );
    assert_eq!(
        rewrite("Module([], Twice(Do(1)), Do(1))", &mut delete),
        Err("Module.last needs one value, not 2".to_owned())
    );
    let mut replace = |new: &mut Document, _: TermId, name: &str| match name {
        "Loop" => Edit::Delete,
        "Pass" => {
            let (seven, id) =
                (new.add_datum(Datum::Int(7)), schema.find_constructor("Do").expect("it exists"));
            Edit::Replace(TermValue::Term(new.add_term(&schema, id, &[seven]).expect("one value")))
        }
        _ => Edit::Keep,
    };
    assert_eq!(rewrite("Module([], _, Pass)", &mut replace).as_deref(), Ok("Module([], _, Do(7))\n"));
    assert_eq!(
        rewrite("Module([], _, Use(!0:Loop([])))", &mut replace),
        Err("Loop is unique; it can be refilled, not replaced".to_owned())
    );
}

#[test]
fn visitors_see_children_but_no_hidden_fields_and_attributes() {
    let schema = schema("a = A(a? left, b \\hidden, a* rest) attributes (b note)  b = B(int n)");
    let sort = schema.find_sort("a").expect("the type exists");
    let text = "A(A(_, B(1), []) @{B(2)}, B(3), [A(_, B(4), []) @{B(5)}]) @{B(6)}";
    let document = complete(read_tree(&schema, sort, text), text);
    let count = |reach| post_order(&schema, &document, reach).len();
    assert_eq!((count(Reach::Visible), count(Reach::Everything)), (3, 9));
    let root = post_order(&schema, &document, Reach::Visible)[2];
    assert_eq!(children(&schema, &document, root).count(), 2);
    assert_eq!(references(&schema, &document, root).count(), 4);
    let numbers = classes(&schema, &document);
    let plain = post_order(&schema, &document, Reach::Visible);
    assert_eq!(
        numbers[plain[0].index()],
        numbers[plain[1].index()],
        "hidden fields and attributes do not count"
    );
}

#[test]
fn paths_of_deep_offenders_are_short() {
    let schema = schema("e = Neg(e value) | Num(int n)");
    let sort = schema.find_sort("e").expect("the type exists");
    let text = format!("{}Num(true){}", "Neg(".repeat(50_000), ")".repeat(50_000));
    let errors = read_tree(&schema, sort, &text).err().unwrap_or_default();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].problem.to_string(), "At Num.n: Expecting int but got true");
    let hint = errors[0].hint().unwrap_or_default();
    assert!(hint.starts_with("path: Neg.value.value") && hint.ends_with("value.value.n"), "{hint}");
    assert!(hint.contains("(49961 more)") && hint.len() < 400, "{hint}");
}
