//! What the harness itself did, line by line, beside the daemons' logs and on the same clock.

use super::{Error, Result, clock};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The harness's log of one lab.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    echo: bool,
    disturbed: AtomicBool,
}

impl Journal {
    /// Opens the journal in a lab's directory; with `echo` its lines also go to stderr.
    pub(crate) fn open(dir: &Path, echo: bool) -> Result<Journal> {
        let path = dir.join("harness.log");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|source| Error::Io {
                action: "creating",
                path: path.clone(),
                source,
            })?;
        Ok(Journal {
            path,
            file: Mutex::new(file),
            echo,
            disturbed: AtomicBool::new(false),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one event. A journal that cannot be written must not fail the test it tells of.
    pub fn note(&self, event: impl AsRef<str>) {
        let line = format!("{} {}\n", clock::stamp(), event.as_ref());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(line.as_bytes());
        if self.echo {
            eprint!("{line}");
        }
    }

    /// Remembers that the test itself broke a connection or a process, so that lost connections
    /// are no news at the end.
    pub fn disturb(&self) {
        self.disturbed.store(true, Ordering::Relaxed);
    }

    /// Whether the test broke something itself.
    pub fn is_disturbed(&self) -> bool {
        self.disturbed.load(Ordering::Relaxed)
    }
}
