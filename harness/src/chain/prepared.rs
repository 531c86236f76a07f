//! Prepared chains: mined once, stored, copied by every lab.
//!
//! A prepared chain is a folder named after everything that shapes it: the program, its version,
//! its indexes, and our own [`FORMAT`]. It holds bitcoind's data directory, as bitcoind left it
//! when it stopped, and a manifest with each file's size and SHA-256. It appears by one rename,
//! made by whoever holds its lock, and is never changed. Who copies it needs no lock, since what
//! was copied is checked against the manifest: a chain that was cut short or damaged is thrown
//! away and made again.
use super::{
    Error,
    daemon::{Daemon, io_error},
    launch::Launch,
    mine::Tip,
    starting::{self, FORMAT},
};
use crate::host::{Step, Wait, program::cache_dir};
use bitcoin::{
    BlockHash,
    hashes::{Hash, sha256},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

const MANIFEST: &str = "manifest.json";

/// What bitcoind makes anew, or must not find: files of one run, locks, and what it has learnt.
const LEFT_OUT: &[&str] = &[
    ".cookie",
    ".lock",
    "LOCK",
    "anchors.dat",
    "banlist.json",
    "bitcoind.pid",
    "fee_estimates.dat",
    "mempool.dat",
    "peers.dat",
];

/// What a prepared chain holds.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// The version line of the bitcoind that mined it.
    version: String,
    height: u32,
    tip: BlockHash,
    /// By path below the data directory.
    files: BTreeMap<PathBuf, Entry>,
}

/// One of its files. Bitcoind allots space in advance: the zeros at a file's end are not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// With the zeros at its end.
    size: u64,
    /// Without them.
    stored: u64,
    /// Of what is stored.
    sha256: sha256::Hash,
}

/// Puts a prepared chain into the daemon's directory; prepares it first, if nobody has yet. Tells
/// what was out of the ordinary.
pub(super) fn provide(daemon: &Daemon, launch: &Launch) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    if daemon.dir().join("regtest").exists() {
        return Err(Error::Prepare {
            problem: "this site has a chain already".to_owned(),
            log: daemon.log().path().to_owned(),
        });
    }
    let home = match &launch.options.prepared {
        Some(home) => home.clone(),
        None => cache_dir()?.join("chains"),
    };
    let store = Store {
        folder: home.join(key(launch)?),
        home,
    };
    if store.copy_to(daemon.dir()).is_ok() {
        return Ok(notes);
    }
    let lock = match store.lock() {
        Ok(lock) => lock,
        Err(Refused::Wait(error)) => return Err(error),
        // Nowhere to keep it: this lab makes do with one of its own.
        Err(Refused::Io(problem)) => {
            notes.push(format!(
                "no place for prepared chains, so this lab mines its own: {}: {problem}",
                store.home.display()
            ));
            starting::mine(daemon, launch)?;
            return Ok(notes);
        }
    };
    // Somebody else may have made it while we waited for the lock.
    if let Err(problem) = store.copy_to(daemon.dir()) {
        notes.push(format!(
            "preparing a chain: {}: {problem}",
            store.folder.display()
        ));
        let tip = starting::mine(daemon, launch)?;
        if let Err(problem) = store.publish(daemon.dir(), &launch.version.line, tip) {
            notes.push(format!(
                "the prepared chain could not be kept for the next lab: {}: {problem}",
                store.folder.display()
            ));
        }
    }
    drop(lock);
    Ok(notes)
}

/// Everything that shapes a prepared chain, as the name of a folder.
fn key(launch: &Launch) -> Result<String, Error> {
    let program = &launch.program.path;
    let about = fs::metadata(program).map_err(|source| io_error("reading", program, source))?;
    let modified = about
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    let shape = format!(
        "{FORMAT}\n{}\n{}\n{}\n{} {}",
        launch.version.line,
        about.len(),
        modified.as_nanos(),
        launch.options.txindex,
        launch.options.block_filters,
    );
    let hash = sha256::Hash::hash(shape.as_bytes()).to_string();
    Ok(format!("v{FORMAT}-{}", &hash[..16]))
}

/// Where one prepared chain is kept.
struct Store {
    home: PathBuf,
    folder: PathBuf,
}

/// Why a lock was not to be had.
enum Refused {
    Io(io::Error),
    Wait(Error),
}

impl Store {
    /// Copies the chain into `dir`, if it is there and whole; if not, leaves nothing behind.
    fn copy_to(&self, dir: &Path) -> io::Result<()> {
        let copied = self.copy_all(dir);
        if copied.is_err() {
            let _ = fs::remove_dir_all(dir.join("regtest"));
        }
        copied
    }

    fn copy_all(&self, dir: &Path) -> io::Result<()> {
        let text = match fs::read(self.folder.join(MANIFEST)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(io::Error::new(error.kind(), "not there yet"));
            }
            text => text?,
        };
        let manifest: Manifest = serde_json::from_slice(&text)?;
        for (path, entry) in &manifest.files {
            let stored = fs::read(self.folder.join(path))
                .map_err(|error| damaged(path, &error.to_string()))?;
            if stored.len() as u64 != entry.stored {
                return Err(damaged(path, "wrong size"));
            }
            if sha256::Hash::hash(&stored) != entry.sha256 {
                return Err(damaged(path, "wrong content"));
            }
            write(&dir.join(path), &stored, entry.size)?;
        }
        Ok(())
    }

    /// Stores what bitcoind left in `dir`. The caller holds the lock.
    fn publish(&self, dir: &Path, version: &str, tip: Tip) -> io::Result<()> {
        let draft = self.beside("new");
        // Left by one that was killed in the middle.
        remove_folder(&draft)?;
        let mut files = BTreeMap::new();
        for path in listing(dir, Path::new("regtest"))? {
            let mut content = fs::read(dir.join(&path))?;
            let size = content.len() as u64;
            let end = content.iter().rposition(|&byte| byte != 0);
            content.truncate(end.map_or(0, |last| last + 1));
            write(&draft.join(&path), &content, content.len() as u64)?;
            let entry = Entry {
                size,
                stored: content.len() as u64,
                sha256: sha256::Hash::hash(&content),
            };
            files.insert(path, entry);
        }
        let manifest = Manifest {
            version: version.to_owned(),
            height: tip.height,
            tip: tip.hash,
            files,
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        write(&draft.join(MANIFEST), &text, text.len() as u64)?;
        // What is there is damaged, else we would not be here.
        let discarded = self.beside("old");
        remove_folder(&discarded)?;
        if self.folder.exists() {
            fs::rename(&self.folder, &discarded)?;
        }
        fs::rename(&draft, &self.folder)?;
        remove_folder(&discarded)
    }

    /// The one who holds it makes the chain. The kernel frees it, however its holder ends.
    fn lock(&self) -> Result<File, Refused> {
        fs::create_dir_all(&self.home).map_err(Refused::Io)?;
        let path = self.beside("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(Refused::Io)?;
        let mut failed = None;
        let waited =
            Wait::for_("another lab to prepare the chain").until(|| match file.try_lock() {
                Ok(()) => Step::Done(()),
                Err(TryLockError::WouldBlock) => Step::NotYet("it holds the lock".to_owned()),
                Err(TryLockError::Error(error)) => {
                    failed = Some(error);
                    Step::Never("no locks here".to_owned())
                }
            });
        match (waited, failed) {
            (Ok(()), _) => Ok(file),
            (Err(_), Some(error)) => Err(Refused::Io(error)),
            (Err(failure), None) => Err(Refused::Wait(Error::Host(failure.into()))),
        }
    }

    /// A path for the same chain in the same folder.
    fn beside(&self, what: &str) -> PathBuf {
        let mut path = self.folder.clone().into_os_string();
        path.push(".");
        path.push(what);
        PathBuf::from(path)
    }
}

/// Writes a new file of `size`, of which all beyond `content` is zeros.
fn write(path: &Path, content: &[u8], size: u64) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.set_len(size)
}

/// The files below `dir/from` that are worth keeping, by path below `dir`.
fn listing(dir: &Path, from: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir.join(from))? {
        let entry = entry?;
        let path = from.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(listing(dir, &path)?);
        } else if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            found.push(path);
        }
    }
    Ok(found)
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn damaged(path: &Path, problem: &str) -> io::Error {
    let problem = format!("damaged: {}: {problem}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
