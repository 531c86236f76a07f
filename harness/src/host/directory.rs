//! A lab's directory.
use super::{Error, Result, disk, knobs::settings};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{self, Path, PathBuf},
};

/// The longest path that a Unix socket can have.
const SOCKET_PATH: usize = 107;
/// Room for `/<name of a process>/<name of its socket>` below a lab's directory.
const SOCKET_ROOM: usize = 1 + 20 + 1 + 24;
/// Less room than this on the file system, and a chain would fail in the middle of something:
/// bitcoind ends itself when less than 50 MiB are free.
const BYTES_NEEDED: u64 = 60 * 1024 * 1024;

/// One lab's directory, removed or kept when the lab ends.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Creates a fresh directory under `TEST_DIR` or the system's temporary folder, after checking
    /// that Unix sockets in it fit their 107 bytes and that it can be written.
    pub fn create() -> Result<Directory> {
        match &settings()?.test_dir {
            Some(base) => Directory::create_in(base, "TEST_DIR"),
            None => Directory::create_in(&env::temp_dir(), "the system's temporary directory"),
        }
    }

    fn create_in(base: &Path, what: &str) -> Result<Directory> {
        let unfit = |problem: String| Error::Directory {
            path: base.to_owned(),
            problem,
        };
        let base = path::absolute(base).map_err(|error| unfit(error.to_string()))?;
        match fs::metadata(&base) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(unfit(format!("{what} is not a directory"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(unfit(format!(
                    "{what} does not exist; create it, or set TEST_DIR to another"
                )));
            }
            Err(error) => return Err(unfit(format!("{what} cannot be used: {error}"))),
        }
        if base.to_str().is_none() {
            // It goes into JSON and onto command lines.
            return Err(unfit(format!(
                "{what} is not valid UTF-8; set TEST_DIR to another"
            )));
        }
        let length = base.as_os_str().as_bytes().len() + "/bw-123456".len();
        if length + SOCKET_ROOM > SOCKET_PATH {
            return Err(unfit(format!(
                "{what} is {} bytes too long: the path of a Unix socket in a lab may have \
                 {SOCKET_PATH} bytes; set TEST_DIR to a short directory, like /tmp",
                length + SOCKET_ROOM - SOCKET_PATH
            )));
        }
        let free = disk::free(&base)?;
        if free < BYTES_NEEDED {
            return Err(unfit(format!(
                "{what} is full: {} KiB are free, and a lab needs {} MiB; make room, or set \
                 TEST_DIR to another",
                free / 1024,
                BYTES_NEEDED / 1024 / 1024
            )));
        }
        let made = tempfile::Builder::new()
            .prefix("bw-")
            .rand_bytes(6)
            // Wallets and cookies are in it.
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&base)
            .map_err(|error| unfit(format!("no directory can be made in {what}: {error}")))?;
        // Whether it is removed at the end depends on how the lab ends, so it does not go by itself.
        Ok(Directory { path: made.keep() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, which names the lab.
    pub(crate) fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Removes it and all it holds.
    pub fn remove(self) -> Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Io {
                action: "removing",
                path: self.path,
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Keeps it, and copies it to `BOLTWRIGHT_ARTIFACTS/<name>` if that is set; returns the copy's
    /// place, else its own. What cannot be copied is told on stderr: this comes after a failure
    /// that must not be hidden by another one.
    pub fn keep(self, name: &str) -> Result<PathBuf> {
        match &settings()?.artifacts {
            Some(artifacts) => Ok(self.collect(artifacts, name).unwrap_or(self.path)),
            None => Ok(self.path),
        }
    }

    fn collect(&self, artifacts: &Path, name: &str) -> Option<PathBuf> {
        let name = name.replace(['/', '\\'], "_").replace("::", ".");
        let place = (1..)
            .map(|count| match count {
                1 => artifacts.join(&name),
                _ => artifacts.join(format!("{name}-{count}")),
            })
            .take(1000)
            .find_map(|place| {
                match fs::create_dir_all(artifacts).and_then(|()| fs::create_dir(&place)) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                    made => Some(made.map(|()| place)),
                }
            })?;
        match place {
            Ok(place) => {
                copy_all(&self.path, &place, &mut |path, error| {
                    complain(path, &error)
                });
                Some(place)
            }
            Err(error) => {
                complain(artifacts, &error);
                None
            }
        }
    }
}

/// Makes sure that a directory is there.
pub(crate) fn ensure(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed("creating", path))
}

/// Copies a directory to a place where nothing is yet; sockets are left out.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).map_err(failed("creating", to))?;
    let mut first = None;
    copy_all(from, to, &mut |path, error| {
        first.get_or_insert_with(|| failed("copying", path)(error));
    });
    first.map_or(Ok(()), Err)
}

/// Puts a copy of what `from` holds in the place of what `dir` holds; entries of the names in `spare`
/// stay as they are in `dir`: a log is not turned back.
pub(crate) fn replace(dir: &Path, from: &Path, spare: &[&OsStr]) -> Result<()> {
    if !from.is_dir() {
        return Err(failed("reading", from)(io::ErrorKind::NotADirectory.into()));
    }
    ensure(dir)?;
    for (path, name) in entries(dir)? {
        if spare.contains(&name.as_os_str()) {
            continue;
        }
        let removed = match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.map_err(failed("removing", &path))?;
    }
    for (path, name) in entries(from)? {
        if spare.contains(&name.as_os_str()) {
            continue;
        }
        let target = dir.join(name);
        if path.is_dir() {
            copy(&path, &target)?;
        } else if path.is_file() {
            fs::copy(&path, &target).map_err(failed("copying", &path))?;
        }
    }
    Ok(())
}

/// What a directory holds: path and name.
fn entries(dir: &Path) -> Result<Vec<(PathBuf, OsString)>> {
    let read = fs::read_dir(dir).map_err(failed("reading", dir))?;
    read.map(|entry| entry.map(|entry| (entry.path(), entry.file_name())))
        .collect::<io::Result<_>>()
        .map_err(failed("reading", dir))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Copies a directory's files, directories and links, as far as it can, and tells what it cannot;
/// sockets and pipes mean nothing in a copy.
fn copy_all(from: &Path, to: &Path, tell: &mut dyn FnMut(&Path, io::Error)) {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) => return tell(from, error),
    };
    for entry in entries.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let copied = match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                fs::create_dir(&target).map(|()| copy_all(&source, &target, tell))
            }
            Ok(kind) if kind.is_file() => fs::copy(&source, &target).map(drop),
            Ok(kind) if kind.is_symlink() => {
                fs::read_link(&source).and_then(|link| std::os::unix::fs::symlink(link, &target))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = copied {
            tell(&source, error);
        }
    }
}

fn complain(path: &Path, error: &io::Error) {
    eprintln!("boltwright: collecting {}: {error}", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{ffi::OsStr, os::unix::net::UnixListener};

    fn refusal(base: &Path) -> String {
        Directory::create_in(base, "TEST_DIR")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_directory_is_short_private_and_removed_with_all_it_holds() {
        let base = tempfile::tempdir().unwrap();
        let directory = Directory::create_in(base.path(), "TEST_DIR").unwrap();
        assert!(directory.name().starts_with("bw-") && directory.name().len() == 9);
        let mode = fs::metadata(directory.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o77, 0);
        fs::create_dir_all(directory.path().join("alice/regtest")).unwrap();
        directory.remove().unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_too_long_for_a_socket_is_refused_before_a_daemon_fails_on_it() {
        let base = tempfile::tempdir().unwrap();
        let long = base.path().join("x".repeat(70));
        fs::create_dir(&long).unwrap();
        let error = refusal(&long);
        assert!(
            error.contains("bytes too long") && error.contains("107"),
            "{error}"
        );
        assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_a_directory_of_labs_is_told() {
        let base = tempfile::tempdir().unwrap();
        assert!(refusal(Path::new("/no/such")).contains("does not exist"));
        assert!(refusal(Path::new("/etc/passwd")).contains("is not a directory"));
        let bytes = base.path().join(OsStr::from_bytes(b"\xff"));
        fs::create_dir(&bytes).unwrap();
        assert!(refusal(&bytes).contains("not valid UTF-8"));
        let error = refusal(Path::new("/proc"));
        assert!(error.contains("/proc"), "{error}");
    }

    #[test]
    fn what_is_collected_leaves_out_sockets_and_never_overwrites() {
        let base = tempfile::tempdir().unwrap();
        let artifacts = base.path().join("artifacts");
        let directory = Directory::create_in(base.path(), "TEST_DIR").unwrap();
        fs::create_dir(directory.path().join("alice")).unwrap();
        fs::write(directory.path().join("alice/log"), "ready\n").unwrap();
        let _socket = UnixListener::bind(directory.path().join("alice/rpc")).unwrap();
        let first = directory.collect(&artifacts, "mod::a_test").unwrap();
        let second = directory.collect(&artifacts, "mod::a_test").unwrap();
        assert_eq!(first, artifacts.join("mod.a_test"));
        assert_eq!(second, artifacts.join("mod.a_test-2"));
        assert_eq!(
            fs::read_to_string(second.join("alice/log")).unwrap(),
            "ready\n"
        );
        assert!(!second.join("alice/rpc").exists());
    }
}
