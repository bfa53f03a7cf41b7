//! The page of functions names what there is.

use crate::support::test_file;
use cembra::function::library;

#[test]
fn the_page_names_the_library() {
    let page = std::fs::read_to_string(test_file("../docs/functions.md")).expect("the page is readable");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = page.split(|c: char| !is_word(c)).collect();
    // What begins with a line is made by the compiler.
    let public =
        library::names().filter_map(|name| name.rsplit('.').next()).filter(|name| !name.starts_with('_'));
    let missing: Vec<&str> = public.filter(|name| !words.contains(name)).collect();
    assert_eq!(missing, [] as [&str; 0]);
}
