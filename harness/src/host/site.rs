//! A site: the directory, the address block and the keeper that one lab stands on.
use super::{
    Block, Command, Directory, Error, Journal, Process, Result, interrupt,
    keeper::link::Link,
    knobs::settings,
    limits,
    proc::{self, Marker, Stat},
};
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// What one lab needs of the machine.
///
/// When its last handle is dropped, it kills all that it has started, and leaves its directory for whoever wants to know
/// why; [`Site::remove`] and [`Site::keep`] are the ways to end it.
///
/// A cheap handle: clones are the same site.
#[derive(Debug, Clone)]
pub struct Site {
    inner: Arc<Inner>,
}

struct Inner {
    link: Arc<Link>,
    /// There until the end decides over it.
    directory: Mutex<Option<Directory>>,
    dir: PathBuf,
    journal: Arc<Journal>,
    processes: Mutex<Vec<Process>>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("dir", &self.dir)
            .field("block", &self.link.block)
            .field("keeper", &self.link.pid)
            .finish_non_exhaustive()
    }
}

impl Site {
    /// Makes a directory, starts a keeper, leases a block.
    ///
    /// The keeper also ends what labs have left behind whose test and keeper were killed at once.
    pub fn open() -> Result<Site> {
        limits::raise_descriptors()?;
        interrupt::install()?;
        let directory = Directory::create()?;
        let furnished = Journal::open(directory.path(), settings()?.debug)
            .and_then(|journal| Ok((journal, Link::start(&directory.name())?)));
        let (journal, link) = match furnished {
            Ok((journal, link)) => (Arc::new(journal), Arc::new(link)),
            Err(error) => {
                let _ = directory.remove();
                return Err(error);
            }
        };
        interrupt::guard(&link);
        Ok(Site {
            inner: Arc::new(Inner {
                link,
                dir: directory.path().to_owned(),
                directory: Mutex::new(Some(directory)),
                journal,
                processes: Mutex::default(),
            }),
        })
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// What the harness notes down of its own doings here.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.inner.journal
    }

    /// Its address block.
    pub fn block(&self) -> Block {
        self.inner.link.block
    }

    /// The value of the marker that every process of this site carries in its environment.
    pub fn marker(&self) -> &str {
        &self.inner.link.marker
    }

    /// The keeper's pid.
    pub fn keeper_pid(&self) -> u32 {
        self.inner.link.pid
    }

    /// Starts a process.
    ///
    /// A name may come again: a restart appends to the files of the run before.
    ///
    /// # Errors
    /// [`Error::Spawn`] if it could not be executed, in words; [`Error::Keeper`] after
    /// [`kill_all`](Site::kill_all).
    pub fn spawn(&self, command: Command) -> Result<Process> {
        if command.name.is_empty() || command.name.contains(['/', '\0']) {
            return Err(Error::Spawn {
                name: format!("{:?}", command.name),
                problem: "this cannot be a process's name: it is empty, or has a slash".to_owned(),
            });
        }
        let process = Process::start(&self.inner.link, command)?;
        self.lock().push(process.clone());
        Ok(process)
    }

    /// All processes started here, in order.
    pub fn processes(&self) -> Vec<Process> {
        self.lock().clone()
    }

    /// Processes that carry our marker or descend from the keeper, without the keeper: `(pid, command)`.
    pub fn living(&self) -> Vec<(u32, String)> {
        let ours = Marker::parse(self.marker());
        let marked = proc::pids().into_iter().filter(|&pid| {
            Marker::of(pid) == ours && Stat::of(pid).is_some_and(|stat| !stat.is_dead())
        });
        let mut pids: BTreeSet<u32> = marked.collect();
        // Once it is gone, its pid may be a stranger's.
        if !self.inner.link.is_gone() {
            pids.extend(proc::descendants(self.inner.link.pid));
        }
        pids.remove(&self.inner.link.pid);
        pids.into_iter()
            .map(|pid| (pid, proc::command_line(pid)))
            .collect()
    }

    /// Kills and reaps all that is left, and frees the lease; idempotent. Safe from any thread.
    pub fn kill_all(&self) -> Result<()> {
        self.inner.link.end()
    }

    /// Kills what is left and removes the directory. To be called by whoever decides how the lab
    /// ends, once: the directory is kept or removed by the first call of this or [`keep`](Site::keep).
    pub fn remove(&self) -> Result<()> {
        self.kill_all()?;
        match self.take_directory() {
            Some(directory) => directory.remove(),
            None => Ok(()),
        }
    }

    /// Kills what is left and keeps the directory; returns where it is, or where it was collected
    /// (see [`Directory::keep`]).
    pub fn keep(&self, name: &str) -> Result<PathBuf> {
        let ended = self.kill_all();
        let kept = match self.take_directory() {
            Some(directory) => directory.keep(name),
            None => Ok(self.inner.dir.clone()),
        };
        ended.and(kept)
    }

    fn take_directory(&self) -> Option<Directory> {
        self.inner
            .directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.inner
            .processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left to tell; the keeper goes on until it is done in any case.
        let _ = self.link.end();
    }
}
