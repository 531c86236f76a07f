//! Finding by their marker, and ending, processes that have lost their keeper (Linux 5.3 and newer:
//! only a pidfd makes certain that the process looked at is the process hit).
use crate::host::proc::{self, Marker};
use nix::{errno::Errno, libc};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Kills every process whose marker `ours` accepts; tells how many there were.
pub(crate) fn sweep(ours: impl Fn(&Marker) -> bool) -> usize {
    proc::pids()
        .into_iter()
        .filter(|&pid| sweep_one(pid, &ours))
        .count()
}

/// Kills `pid` if its marker is accepted; tells whether it was.
pub(super) fn sweep_one(pid: u32, ours: impl Fn(&Marker) -> bool) -> bool {
    if !proc::is_own(pid) || !Marker::of(pid).is_some_and(|marker| ours(&marker)) {
        return false;
    }
    // The pid may have come round to a stranger since: hold on to the process, then look again.
    let Ok(process) = open(pid) else {
        return false;
    };
    Marker::of(pid).is_some_and(|marker| ours(&marker)) && kill(&process).is_ok()
}

/// A hold on whichever process has that pid now.
fn open(pid: u32) -> nix::Result<OwnedFd> {
    // SAFETY: `pidfd_open` takes two integers and returns a new descriptor (always close-on-exec)
    // or an error.
    let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) })?;
    let fd = i32::try_from(fd).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just given us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn kill(process: &OwnedFd) -> nix::Result<()> {
    // SAFETY: the descriptor is open as long as `process` is borrowed; a null `siginfo` is allowed
    // and means what `kill` would send.
    Errno::result(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    })
    .map(drop)
}
