//! The `cembra` command.

#[cfg(feature = "cli")]
fn main() -> std::process::ExitCode {
    #[cfg(all(unix, feature = "cli"))]
    if before_main::standard_output_was_closed() {
        cembra::columns::replace::note_closed_standard_output();
    }
    cembra::cli::main()
}

#[cfg(not(feature = "cli"))]
fn main() {
    eprintln!("this build has no command line; build with the feature `cli`");
}

/// What the process was given, as it was before Rust's runtime started.
///
/// The runtime opens `/dev/null` in the place of a closed standard output, and results would vanish there without an
/// error. So the question is asked before, by a function in the table of those that the system calls ahead of `main`.
#[cfg(all(unix, feature = "cli"))]
mod before_main {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    // SAFETY: the section is a table of functions of this type that the C library calls before `main`. This one
    // needs nothing of Rust's runtime: it asks the system for a flag and stores it.
    #[used]
    #[cfg_attr(any(target_os = "linux", target_os = "android"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    }

    /// True if there was no standard output.
    pub fn standard_output_was_closed() -> bool {
        CLOSED.load(Ordering::Relaxed)
    }
}
