//! The `cembra` command.

#[cfg(feature = "cli")]
fn main() -> std::process::ExitCode {
    cembra::cli::main()
}

#[cfg(not(feature = "cli"))]
fn main() {
    eprintln!("this build has no command line; build with the feature `cli`");
}
