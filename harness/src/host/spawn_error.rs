//! Why a process could not be started, in words that say what to do.
//!
//! The kernel's answer is one number, the same for a missing program, a missing interpreter and a
//! missing working directory; the difference is found by looking.
use super::{Program, keeper::wire::Step};
use nix::libc;
use std::{fs, io, path::Path};

/// Explains the error number that `step` came back with.
pub(crate) fn explain(step: Step, errno: i32, program: &Program, dir: &Path) -> String {
    let path = program.path.display();
    let error = io::Error::from_raw_os_error(errno);
    match step {
        Step::Stdout => return format!("creating {}/stdout: {error}", dir.display()),
        Step::Stderr => return format!("creating {}/stderr: {error}", dir.display()),
        Step::Start => {}
    }
    if !dir.is_dir() {
        return format!("its working directory {} does not exist", dir.display());
    }
    let head = Head::of(&program.path);
    match errno {
        libc::ENOENT if !program.path.exists() => format!("{path} does not exist"),
        libc::ENOENT | libc::ENOTDIR => match head {
            Head::Script(interpreter) => {
                format!("{path} is a script for {interpreter}, which does not exist")
            }
            Head::Elf {
                loader: Some(loader),
                ..
            } => format!(
                "{path} needs the loader {loader}, which does not exist: it was built for another \
                 system or C library"
            ),
            _ => format!("executing {path}: {error}"),
        },
        libc::EACCES if program.path.is_dir() => format!("{path} is a directory"),
        libc::EACCES | libc::EPERM => format!(
            "{path} may not be executed: {error}; try `chmod +x`, or it lies on a file system \
             mounted noexec"
        ),
        libc::ENOEXEC => match head {
            Head::Elf { machine, .. } if machine != OWN_MACHINE => format!(
                "{path} is for another processor ({}; this one is {}): {error}",
                machine_name(machine),
                std::env::consts::ARCH
            ),
            Head::Empty => format!("{path} is an empty file: {error}"),
            Head::Elf { .. } => format!("{path} is a damaged program: {error}"),
            _ => format!("{path} is no program, nor a script that begins with #!: {error}"),
        },
        libc::ETXTBSY => format!("{path} is being written at this moment: {error}"),
        libc::EAGAIN => format!("no more processes are allowed (`ulimit -u`): {error}"),
        libc::E2BIG => format!("its arguments and environment are too long: {error}"),
        _ => format!("executing {path}: {error}"),
    }
}

#[cfg(target_arch = "x86_64")]
const OWN_MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const OWN_MACHINE: u16 = 183;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OWN_MACHINE: u16 = 0;

fn machine_name(machine: u16) -> String {
    match machine {
        3 => "x86".to_owned(),
        40 => "arm".to_owned(),
        62 => "x86_64".to_owned(),
        183 => "aarch64".to_owned(),
        243 => "riscv".to_owned(),
        other => format!("ELF machine {other}"),
    }
}

/// What a file begins with.
enum Head {
    Empty,
    Script(String),
    Elf {
        machine: u16,
        loader: Option<String>,
    },
    Other,
}

impl Head {
    fn of(path: &Path) -> Head {
        let Ok(bytes) = fs::read(path) else {
            return Head::Other;
        };
        if bytes.is_empty() {
            Head::Empty
        } else if let Some(line) = bytes.strip_prefix(b"#!") {
            let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line);
            Head::Script(line.split_whitespace().next().unwrap_or("").to_owned())
        } else if bytes.starts_with(b"\x7fELF") {
            Head::Elf {
                machine: number(&bytes, 18, 2).map_or(0, |machine| machine as u16),
                loader: loader(&bytes),
            }
        } else {
            Head::Other
        }
    }
}

/// The loader (`PT_INTERP`) that a 64-bit little-endian ELF file names.
fn loader(bytes: &[u8]) -> Option<String> {
    const LITTLE_ENDIAN_64: &[u8] = &[2, 1];
    const INTERPRETER: usize = 3;
    if bytes.get(4..6)? != LITTLE_ENDIAN_64 {
        return None;
    }
    let (table, size, count) = (
        number(bytes, 32, 8)?,
        number(bytes, 54, 2)?,
        number(bytes, 56, 2)?,
    );
    let entry = (0..count)
        .map(|index| table + index * size)
        .find(|&entry| number(bytes, entry, 4) == Some(INTERPRETER))?;
    let (at, length) = (number(bytes, entry + 8, 8)?, number(bytes, entry + 32, 8)?);
    let name = bytes.get(at..at.checked_add(length)?)?;
    let name = name.strip_suffix(b"\0").unwrap_or(name);
    Some(String::from_utf8_lossy(name).into_owned())
}

/// The little-endian number of `width` bytes at `offset`.
fn number(bytes: &[u8], offset: usize, width: usize) -> Option<usize> {
    let digits = bytes.get(offset..offset.checked_add(width)?)?;
    let number = digits
        .iter()
        .rev()
        .fold(0u64, |sum, &digit| (sum << 8) | u64::from(digit));
    // Nothing in a file of ours is beyond this; a damaged one must not overflow the sums above.
    usize::try_from(number)
        .ok()
        .filter(|&number| number < 1 << 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_of_our_own_binary_is_read() {
        let bytes = fs::read("/proc/self/exe").unwrap();
        let loader = loader(&bytes).unwrap();
        assert!(Path::new(&loader).exists(), "{loader}");
    }

    #[test]
    fn a_damaged_header_is_no_panic() {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0xff);
        assert_eq!(loader(&bytes), None);
    }
}
