//! Whole directories: made, copied, replaced.

use super::{Error, Result};
use std::fs;
use std::io;
use std::path::Path;

/// Creates a directory and its parents if they are not there yet.
pub fn ensure(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(error("creating", path))
}

/// Copies a directory with all it holds to `to`, which must not exist. Sockets are left out: nobody
/// listens on a copy.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).map_err(error("creating", to))?;
    for entry in fs::read_dir(from).map_err(error("reading", from))? {
        let entry = entry.map_err(error("reading", from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(error("reading", &path))?;
        if kind.is_dir() {
            copy(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target).map_err(error("copying", &path))?;
        }
    }
    Ok(())
}

/// Replaces the directory `path` by a copy of `from`; `path` is gone only once the copy is whole.
pub fn replace(path: &Path, from: &Path) -> Result<()> {
    let new = path.with_extension("restoring");
    if new.exists() {
        fs::remove_dir_all(&new).map_err(error("removing", &new))?;
    }
    copy(from, &new)?;
    if path.exists() {
        fs::remove_dir_all(path).map_err(error("removing", path))?;
    }
    fs::rename(&new, path).map_err(error("renaming to", path))
}

fn error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_copy_holds_everything_but_sockets_and_a_replacement_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("deep/deeper")).expect("directories");
        fs::write(from.join("deep/deeper/file"), "text").expect("a file");
        let _socket = UnixListener::bind(from.join("socket")).expect("a socket");
        copy(&from, &to).expect("a copy");
        assert_eq!(fs::read_to_string(to.join("deep/deeper/file")).expect("file"), "text");
        assert!(!to.join("socket").exists());
        assert!(copy(&from, &to).is_err(), "a copy onto something that exists");
        fs::write(to.join("newer"), "").expect("a file");
        replace(&to, &from).expect("a replacement");
        assert!(!to.join("newer").exists() && to.join("deep/deeper/file").exists());
    }
}
