//! The socket file.
//!
//! It appears when the node is ready, at once and complete: it is bound under another name
//! and renamed. A file that a crash has left behind is replaced; one behind which somebody
//! answers is not.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::node::StartError;

/// Appended to the path while the socket is made.
pub(crate) const TEMPORARY_SUFFIX: &str = ".new";

/// A listening socket and the file that leads to it.
pub(crate) struct Listener {
    pub(super) socket: UnixListener,
    path: PathBuf,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Fails if somebody answers at `path`, or if something else than a socket is there. A
/// socket that nobody serves goes now, so that the file's presence means that a node is
/// ready.
pub(crate) fn check_free(path: &Path) -> Result<(), StartError> {
    match UnixStream::connect(path) {
        Ok(_) => Err(fail(path, "another process answers there")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) if is_socket(path) => {
            std::fs::remove_file(path).map_err(|error| fail(path, &error.to_string()))
        }
        Err(error) => Err(fail(
            path,
            &format!("something else is in the way ({error})"),
        )),
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

/// Makes the socket.
pub(crate) fn listen(path: &Path) -> Result<Listener, StartError> {
    check_free(path)?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(TEMPORARY_SUFFIX);
    let draft = PathBuf::from(draft);
    let bind = || {
        if is_socket(&draft) {
            std::fs::remove_file(&draft)?;
        }
        let socket = UnixListener::bind(&draft)?;
        std::fs::rename(&draft, path)?;
        Ok(socket)
    };
    let socket = bind().map_err(|error: io::Error| fail(path, &error.to_string()))?;
    Ok(Listener {
        socket,
        path: path.to_owned(),
    })
}

fn fail(path: &Path, why: &str) -> StartError {
    StartError::Rpc {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("rpc");
        // Dropping a std listener leaves its file, as a crash does.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("binds"));
        assert!(path.exists());
        let live = listen(&path).expect("replaces the stale file");
        assert!(matches!(listen(&path), Err(StartError::Rpc { .. })));
        drop(live);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("rpc");
        std::fs::write(&path, "precious").expect("writes");
        assert!(listen(&path).is_err());
        assert_eq!(std::fs::read(&path).expect("reads"), b"precious");
    }
}
