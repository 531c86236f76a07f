//! Killing and collecting processes.
use crate::host::proc;
use nix::{
    errno::Errno,
    libc,
    sys::signal::{self, Signal},
    unistd::Pid,
};
use std::process;

/// One dead child collected.
pub(super) struct Reaped {
    pub pid: u32,
    /// The wait status, as the kernel gives it.
    pub status: i32,
}

/// Whether there is somebody to collect.
pub(super) enum Reaping {
    Collected(Reaped),
    /// Children there are, but none has ended.
    NoneEnded,
    NoChildren,
}

/// Collects one dead child, whoever it is, without waiting.
pub(super) fn reap() -> Reaping {
    let mut status = 0;
    // SAFETY: the pointer is to a live integer of the right type. nix's own `waitpid` refuses the
    // status of a process that died by a real-time signal, after having reaped it.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match u32::try_from(pid) {
        Ok(0) => Reaping::NoneEnded,
        Ok(pid) => Reaping::Collected(Reaped { pid, status }),
        // ECHILD; nothing else can come of these arguments.
        Err(_) => Reaping::NoChildren,
    }
}

/// Sends SIGKILL to every child. Their own children come to us next, until none is left.
///
/// A child that was not reaped keeps its pid, so no stranger can be hit.
pub(super) fn kill_children() {
    for child in proc::children(process::id()) {
        let _ = signal::kill(to_pid(child), Signal::SIGKILL);
    }
}

/// Sends a signal by number, real-time ones included.
pub(super) fn kill(pid: i32, signal: i32) -> nix::Result<()> {
    // SAFETY: `kill` takes two integers and touches no memory of ours. nix's own knows no
    // real-time signals.
    Errno::result(unsafe { libc::kill(pid, signal) }).map(drop)
}

fn to_pid(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX))
}
