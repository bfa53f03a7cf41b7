//! Names of files that a command writes: their endings say what is written, and no two are one file.

use crate::cli::report::{Phase, Report};
use cembra_vm::value::Category;
use std::path::{Path, PathBuf};

/// A file that is read or written, with the option that names it.
pub type NamedFile<'a> = (&'static str, &'a Path);

/// Checks that files to be written are neither one another nor files that are read.
///
/// # Errors
/// Two options name one file.
pub fn check_distinct(written: &[NamedFile<'_>], read: &[NamedFile<'_>]) -> Result<(), Report> {
    let all: Vec<(NamedFile<'_>, PathBuf)> = written
        .iter()
        .chain(read)
        .filter(|(_, f)| f.as_os_str() != "-")
        .map(|f| (*f, identity(f.1)))
        .collect();
    for (at, ((option, file), path)) in all.iter().enumerate().take(written.len()) {
        if let Some(((other, _), _)) = all[at + 1..].iter().find(|(_, second)| second == path) {
            let what =
                format!("{option} and {other} are one file, {}: it would be overwritten", file.display());
            return Err(Report::new(Category::Io, Phase::Compile, what));
        }
    }
    Ok(())
}

/// The path that all names of a file share. A file that is not there yet has that of its directory.
fn identity(file: &Path) -> PathBuf {
    let directory = file.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let absent = || Some(directory.canonicalize().ok()?.join(file.file_name()?));
    file.canonicalize().ok().or_else(absent).unwrap_or_else(|| file.to_owned())
}

/// Checks that the name of a file to be written has one of these endings; `-` has none.
///
/// # Errors
/// It has another one.
pub fn check_ending((option, file): NamedFile<'_>, what: &str, endings: &[&str]) -> Result<(), Report> {
    let is_it = |ending: &&str| file.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
    if file.as_os_str() == "-" || endings.iter().any(is_it) {
        return Ok(());
    }
    let known = endings.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" or ");
    let what = format!("{option} {}: {what} goes to a file named {known}", file.display());
    Err(Report::new(Category::Io, Phase::Compile, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_many_names() {
        let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("a.csv"), "x\n").expect("a file");
        let dotted = directory.path().join("./a.csv");
        let is_one = |a: &Path, b: &Path| check_distinct(&[("--out", a)], &[("--data", b)]).is_err();
        assert!(is_one(&path("a.csv"), &dotted));
        assert!(is_one(&path("new.csv"), &directory.path().join("./new.csv")));
        assert!(!is_one(&path("a.csv"), &path("b.csv")));
        assert!(!is_one(Path::new("-"), Path::new("-")));
        let twice = [("--out", &*dotted), ("--plot", &*dotted)];
        assert!(check_distinct(&twice, &[]).is_err());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a.csv", path("link.csv")).expect("the directory takes links");
            assert!(is_one(&path("link.csv"), &dotted));
        }
    }

    #[test]
    fn endings_say_what_is_written() {
        let check = |name: &str| check_ending(("--plot", Path::new(name)), "a picture", &["svg", "png"]);
        assert!(check("a.svg").is_ok() && check("a.PNG").is_ok() && check("-").is_ok());
        let error = check("a.pdf").expect_err("another ending");
        assert_eq!(error.message, "--plot a.pdf: a picture goes to a file named .svg or .png");
    }
}
