//! Signals that ask the process to end: SIGINT and SIGTERM.
//!
//! Files that are being written have another name until they are finished. A thread waits for the signals, removes
//! those files, stops compilers that run, removes the caches of the process, and then lets the signal do what it does by
//! default, so that the shell sees how the process ended.

/// From now on, unfinished files and caches of the process are removed, and compilers are stopped, when a signal ends the process.
#[cfg(unix)]
pub fn remove_unfinished_files_at_the_end() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    // Without it, files would be left behind; that is no reason not to run.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for signal in signals.forever() {
            crate::columns::replace::remove_unfinished();
            crate::native::process::stop_all();
            crate::native::own_folder::remove_all();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).stack_size(64 << 10).spawn(wait);
}

/// From now on, unfinished files are removed when a signal ends the process: not on this system.
#[cfg(not(unix))]
pub fn remove_unfinished_files_at_the_end() {}
