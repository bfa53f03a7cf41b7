//! Tutorials: the commands of a page of the documentation, run in order in one directory.
//!
//! A block that begins with three back ticks and `console` holds commands, each a line that begins with
//! `$ `, and below each what it prints; a line that ends in a backslash goes on in the next one.
//! `UPDATE_EXPECT=1` writes what the commands print now.

use crate::cases::{difference, output_of};
use crate::support::test_file;
use std::path::Path;

#[test]
fn commands_of_tutorials_print_what_the_pages_say() {
    check_page("fitting", 5);
}

#[test]
fn commands_on_fields_print_what_the_page_says() {
    check_page("fields", 5);
}

#[test]
fn commands_on_expressions_print_what_the_page_says() {
    check_page("expressions", 10);
}

#[path = "../../docs/examples/heat.rs"]
mod heat;

/// The program of the page from Rust: the same values, and a picture.
#[test]
fn the_plate_from_rust_is_that_of_the_page() {
    use cembra::backend::FieldPlan;
    use cembra::field::{FieldData, parse_field_program};
    use cembra::vm::value::ScalarValue;
    let program = |name: &str| {
        let file = test_file("../docs/examples/fields").join(name);
        let text = std::fs::read_to_string(file).expect("a file of the page");
        parse_field_program(&text).expect("a program")
    };
    let (start, step) = (program("start.field"), program("heat.field"));
    let mut data = FieldData::default();
    data.complete(&start).expect("it has an extent");
    FieldPlan::new(&start, &data).expect("a plan").run(&mut data).expect("values");
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.2));
    data.scalars.insert("n".to_owned(), ScalarValue::Int32(8));
    let mut plan = FieldPlan::new(&step, &data).expect("a plan");
    (0..50).for_each(|_| plan.run(&mut data).expect("values"));
    let values: Vec<f64> = data.fields["u"].view().cells::<f64>().collect();
    assert_eq!(heat::warm_plate(8, 50).expect("values"), values);
    assert!(heat::picture(8, values).expect("a picture").contains("<image"));
    heat::main().expect("it prints");
}

/// Runs the commands of a page with its files, if it has any; there are at least so many commands.
fn check_page(name: &str, least: usize) {
    let docs = test_file("../docs");
    let page = docs.join(format!("{name}.md"));
    let text = std::fs::read_to_string(&page).expect("the page is there");
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    for entry in std::fs::read_dir(docs.join("examples").join(name)).into_iter().flatten() {
        let file = entry.expect("a folder can be listed").path();
        let name = file.file_name().expect("a file has a name");
        std::fs::copy(&file, place.path().join(name)).expect("a file can be copied");
    }
    let written = rewritten(&text, place.path());
    check_pictures(&text, &docs, place.path());
    assert!(text.matches("\n$ cembra").count() >= least, "the commands are gone");
    match std::env::var_os("UPDATE_EXPECT") {
        Some(_) => std::fs::write(&page, written).expect("the page can be written"),
        None => assert!(written == text, "{}", difference(&text, &written)),
    }
}

/// Compares pictures of the page that its commands have drawn.
fn check_pictures(text: &str, docs: &Path, place: &Path) {
    for picture in text.split("](pictures/").skip(1).filter_map(|rest| rest.split(')').next()) {
        let drawn = std::fs::read_to_string(place.join(picture)).expect("a command draws the picture");
        let kept = docs.join("pictures").join(picture);
        match std::env::var_os("UPDATE_EXPECT") {
            Some(_) => std::fs::write(&kept, drawn).expect("the picture can be written"),
            None => {
                let known = std::fs::read_to_string(&kept).expect("the picture is there");
                assert!(known == drawn, "{} is not what the commands draw", kept.display());
            }
        }
    }
}

/// The page with what the commands print now.
fn rewritten(text: &str, directory: &Path) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    let mut in_console = false;
    while let Some(line) = lines.next() {
        match line.strip_prefix("$ ").filter(|_| in_console) {
            None if in_console && line != "```" => {}
            None => {
                in_console = line == "```console";
                out += &format!("{line}\n");
            }
            Some(first) => {
                out += &format!("{line}\n");
                let mut command = first.to_owned();
                while command.ends_with('\\') {
                    command.pop();
                    let more = lines.next().expect("a command goes on");
                    out += &format!("{more}\n");
                    command += more.trim_start();
                }
                out += &output_of(&command, directory, first);
            }
        }
    }
    out
}
