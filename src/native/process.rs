//! Processes of compilers: run within limits of time and of what they print, and stopped with all that they have begun.
//!
//! 1. A compiler has a process group of its own. What it has begun and left running is stopped when it ends, well or not: it might
//!    still write to the build. A daemon, which has a session of its own, stays.
//! 2. A group is signalled before anybody asks how its first process has ended: until then no other group has its number.
//! 3. Signals of a terminal do not reach that group: who ends this process for one calls [`stop_all`] before.

use std::fs::File;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Compilers that run.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Bytes that a compiler may print.
pub(super) const MOST_PRINTED: u64 = 64 << 20;

/// How a command has ended.
pub(super) enum Ended {
    /// By itself.
    With(ExitStatus),
    /// It was stopped: it took too long.
    OutOfTime,
    /// It was stopped: it printed more than anybody keeps.
    TooMuchPrinted,
}

/// Runs a command that prints to files, to its end or its limits.
pub(super) fn finished(mut command: Command, printed: &[&File], limit: Duration) -> std::io::Result<Ended> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = Running::spawn(command)?;
    let begin = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if child.has_ended()? {
            return Ok(Ended::With(child.end()?));
        }
        let length = |file: &&File| file.metadata().map_or(0, |data| data.len());
        let prints_too_much = printed.iter().any(|file| length(file) > MOST_PRINTED);
        if prints_too_much || begin.elapsed() > limit {
            child.end()?;
            return Ok(if prints_too_much { Ended::TooMuchPrinted } else { Ended::OutOfTime });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Stops all compilers that run in this process, and what they have begun: for a process that is about to end.
pub fn stop_all() {
    // Nobody forgets his compiler meanwhile, so that the numbers are those of compilers.
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter().for_each(|id| stop_group(*id));
}

/// A compiler that runs, and is known to [`stop_all`] until somebody has asked how it ended.
struct Running {
    child: Child,
    status: Option<ExitStatus>,
}

impl Running {
    fn spawn(mut command: Command) -> std::io::Result<Running> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        running.push(child.id());
        Ok(Running { child, status: None })
    }

    /// True if the compiler has ended; what it has begun may run.
    fn has_ended(&mut self) -> std::io::Result<bool> {
        #[cfg(all(unix, not(target_os = "openbsd")))]
        {
            use rustix::process::{WaitId, WaitIdOptions, waitid};
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            Ok(waitid(WaitId::Pid(rustix::process::Pid::from_child(&self.child)), options)?.is_some())
        }
        #[cfg(not(all(unix, not(target_os = "openbsd"))))]
        {
            self.status = self.child.try_wait()?;
            Ok(self.status.is_some())
        }
    }

    /// Stops what runs of it, and gives how it ended.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let id = self.child.id();
        stop_group(id);
        let _ = self.child.kill();
        let status = self.child.wait()?;
        running.retain(|known| *known != id);
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where asking failed, nobody has ended it.
        let _ = self.end();
    }
}

/// Stops a process group; it may have ended by itself.
fn stop_group(id: u32) {
    #[cfg(unix)]
    if let Some(group) = rustix::process::Pid::from_raw(id as i32) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = id;
}
