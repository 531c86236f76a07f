//! Roles: this very binary, started again to be something else.
//!
//! A lab needs helpers that outlive its test (the keeper) and daemons that nobody has installed
//! (the embedded node). Both are in the test binary already, so it is started again with `argv[0]`
//! set to the name of a role, and plays that role instead of running tests. The choice is made
//! before `main`, since what parses the arguments there differs (libtest, libtest-mimic, a CLI).
//!
//! Started again means the same file, even if a rebuild has put another in its place meanwhile:
//! [`executable`] opens `/proc/self/exe` once and keeps it open.
//!
//! Roles never recurse: a process starts one only if its own constructor has registered it, and
//! the same file then does the same.
use super::{Error, Result};
use std::{
    env,
    ffi::{CString, OsString},
    fs::{self, File},
    os::{
        fd::{AsRawFd, IntoRawFd},
        unix::ffi::OsStringExt,
    },
    panic,
    path::PathBuf,
    process,
    sync::{Mutex, OnceLock, PoisonError},
};

/// A role that this binary can play when started with `argv[0]` equal to its name.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// The `argv[0]` that selects it.
    pub name: &'static str,
    /// What it does with the remaining arguments; the result is the exit code.
    pub run: fn(Vec<OsString>) -> i32,
}

/// Those that a dispatch has seen in this process, so that a program search knows what we can play.
static KNOWN: Mutex<Vec<Role>> = Mutex::new(Vec::new());

/// Plays the role that `argv[0]` names, and never returns, or returns at once if it names none.
///
/// A binary with roles of its own calls this first thing in its `main`.
pub fn dispatch(roles: &[Role]) {
    let played = argv0().and_then(|argv0| roles.iter().find(|role| argv0 == role.name));
    KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .extend_from_slice(roles);
    if let Some(role) = played {
        process::exit(play(role));
    }
}

/// Whether this binary can play that role.
pub fn known(name: &str) -> bool {
    KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .any(|role| role.name == name)
}

/// This very program, to be executed again by any process on the machine while this one lives.
///
/// # Errors
/// When `/proc` is not mounted or no descriptor is left.
pub fn executable() -> Result<PathBuf> {
    static EXECUTABLE: OnceLock<File> = OnceLock::new();
    let file = match EXECUTABLE.get() {
        Some(file) => file,
        None => {
            let path = "/proc/self/exe";
            let opened = File::open(path).map_err(|source| Error::Io {
                action: "opening",
                path: path.into(),
                source,
            })?;
            EXECUTABLE.get_or_init(|| opened)
        }
    };
    Ok(PathBuf::from(format!(
        "/proc/{}/fd/{}",
        process::id(),
        file.as_raw_fd()
    )))
}

/// The name that this process was started by.
fn argv0() -> Option<OsString> {
    arguments().into_iter().next()
}

/// The arguments, also before `main`: with glibc std has them by then, elsewhere the kernel does.
fn arguments() -> Vec<OsString> {
    let arguments: Vec<OsString> = env::args_os().collect();
    if !arguments.is_empty() {
        return arguments;
    }
    let mut line = fs::read("/proc/self/cmdline").unwrap_or_default();
    if line.last() == Some(&0) {
        line.pop();
    }
    line.split(|&byte| byte == 0)
        .map(|argument| OsString::from_vec(argument.to_vec()))
        .collect()
}

fn play(role: &Role) -> i32 {
    stand_in_for_the_runtime();
    // Executed through a descriptor, the process would show as that descriptor's number.
    if let Ok(name) = CString::new(role.name) {
        let _ = nix::sys::prctl::set_name(&name);
    }
    let arguments = arguments().into_iter().skip(1).collect();
    // 101 is what a panic in an ordinary `main` exits with.
    panic::catch_unwind(|| (role.run)(arguments)).unwrap_or(101)
}

/// Does what Rust's runtime would do before `main`.
fn stand_in_for_the_runtime() {
    // Open 0, 1 and 2, so that no file of ours is ever taken for a standard stream.
    while let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        if null.as_raw_fd() > 2 {
            break;
        }
        let _ = null.into_raw_fd();
    }
    // SAFETY: sets a disposition to "ignore", which involves no handler that could run. Writing to a
    // closed pipe must be an error, as everywhere in Rust, and not a silent death.
    let _ = unsafe {
        nix::sys::signal::signal(
            nix::sys::signal::Signal::SIGPIPE,
            nix::sys::signal::SigHandler::SigIgn,
        )
    };
}

/// Has a function called before `main`, in every binary that this crate is linked into.
macro_rules! before_main {
    ($function:path) => {
        const _: () = {
            extern "C" fn constructor() {
                $function();
            }
            // SAFETY: the loader calls every pointer in this section once, before `main`, with C's
            // calling convention; ours takes none of the arguments offered and cannot unwind out of
            // the call (`extern "C"` aborts). libc and std's arguments are ready by then.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static CONSTRUCTOR: extern "C" fn() = constructor;
        };
    };
}
pub(crate) use before_main;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_binary_knows_the_keeper_and_not_just_anything() {
        assert!(known(super::super::keeper::ROLE));
        assert!(!known("boltwright-unheard-of"));
    }

    #[test]
    fn the_executable_is_this_very_file() {
        let ours = fs::read_link("/proc/self/exe").unwrap();
        assert_eq!(fs::read_link(executable().unwrap()).unwrap(), ours);
    }
}
