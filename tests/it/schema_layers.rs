//! Typed layers: the generated text is the committed one, and its views see what documents hold.

use crate::pyast_layer::{ExprView, ModView, SCHEMA_HASH, StmtView};
use crate::support::test_file;
use cembra::python::{Positions, parse_module, pyast_document, pyast_schema};
use cembra::schema::{Datum, TermValue, rust_layer, schema_id};

#[test]
fn the_rust_layer_is_fresh() {
    let path = test_file("it/pyast_layer.rs");
    let expected = rust_layer(pyast_schema(), "cembra::schema");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &expected).expect("the file can be written");
    }
    let actual = std::fs::read_to_string(&path).expect("the file is readable");
    assert!(actual == expected, "not fresh; UPDATE_EXPECT=1 cargo test --test it layer rewrites it");
    assert_eq!(SCHEMA_HASH, schema_id(pyast_schema()).to_string());
}

#[test]
fn views_see_fields_by_name() {
    let parsed = parse_module("x = a + 1.5\n");
    let document = pyast_document(&parsed.tree, Positions::Statements);
    let TermValue::Term(root) = document.root() else { panic!("the root is a term") };
    let Some(ModView::Module { body: &[TermValue::Term(assign)] }) = ModView::new(&document, root) else {
        panic!("a module with one statement")
    };
    let Some(StmtView::Assign { targets, value, pos }) = StmtView::new(&document, assign) else {
        panic!("an assignment")
    };
    assert_eq!(
        (targets.len(), pos),
        (1, &Datum::Position(cembra::schema::SourcePosition { line: 1, column: 0, end: None }))
    );
    let Some(ExprView::BinOp { left, right, pos: None, .. }) = ExprView::new(&document, value) else {
        panic!("a sum")
    };
    let Some(ExprView::Name { id, .. }) = ExprView::new(&document, left) else { panic!("a name") };
    let Some(ExprView::Num { n, .. }) = ExprView::new(&document, right) else { panic!("a number") };
    assert_eq!((id, n), (&Datum::Text("a".into()), &Datum::Float(1.5)));
    assert_eq!(ExprView::new(&document, assign), None);
}
