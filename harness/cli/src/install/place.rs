//! The folder that installations live in: lock, staging, publication.

use super::{Cause, Error, Installed, Ui};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const STAGING: &str = ".staging-";
const RECEIPT: &str = "install.json";

/// What was installed, from where and how it was checked; written when it has been seen to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// The version as its source calls it; also the name of the folder.
    pub version: String,
    /// The source's word: `official`, `debian`.
    pub source: String,
    /// The same for a person: `Bitcoin Core 29.4, official release`.
    pub from: String,
    /// The archive or mirror it came from.
    pub url: String,
    /// What proved it genuine.
    pub checked: String,
    /// The packages it was put together from, as file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
}

/// A bitcoind in the folder that runs.
#[derive(Debug)]
pub(super) struct Found {
    prefix: PathBuf,
    version: String,
    receipt: Option<Receipt>,
}

impl Found {
    pub(super) fn is_from(&self, source: &str) -> bool {
        self.receipt
            .as_ref()
            .is_some_and(|receipt| receipt.source == source)
    }

    pub(super) fn installed(self) -> Installed {
        Installed {
            bitcoind: self.prefix.join("bin/bitcoind"),
            bitcoin_cli: self.prefix.join("bin/bitcoin-cli"),
            version: self.version,
            from: self
                .receipt
                .map_or_else(|| "put there by hand".to_owned(), |receipt| receipt.from),
            fresh: false,
        }
    }
}

/// The proof that no other installer is at work in the folder; ends with the process at the latest.
pub(super) struct Lock {
    _file: File,
}

/// `<cache>/bitcoind`.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
}

impl Place {
    pub(super) fn below(cache: &Path) -> Self {
        Self {
            root: cache.join("bitcoind"),
        }
    }

    fn current(&self) -> PathBuf {
        self.root.join("current")
    }

    /// The installation in use, if there is one and it runs.
    pub(super) fn working(&self) -> Option<Found> {
        let prefix = self.current();
        let version = version_of(&prefix).ok()?;
        Some(Found {
            receipt: receipt_in(&prefix),
            prefix,
            version,
        })
    }

    /// Waits until no other installer is at work, however long: it has deadlines of its own.
    pub(super) fn lock(&self, ui: &Ui) -> Result<Lock, Error> {
        fs::create_dir_all(&self.root).map_err(folder("create", &self.root))?;
        let path = self.root.join(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(folder("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                ui.step("another installation is at work: waiting for it");
                file.lock().map_err(folder("lock", &path))?;
            }
            Err(TryLockError::Error(error)) => return Err(folder("lock", &path)(error)),
        }
        Ok(Lock { _file: file })
    }

    /// Removes what installers that were cut short have left, and what was superseded.
    pub(super) fn sweep(&self, _lock: &Lock) -> Result<(), Error> {
        let in_use = fs::read_link(self.current()).ok();
        let version_in_use = receipt_in(&self.current()).map(|receipt| receipt.version);
        for entry in fs::read_dir(&self.root).map_err(folder("read", &self.root))? {
            let entry = entry.map_err(folder("read", &self.root))?;
            let (name, path) = (entry.file_name(), entry.path());
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let leftover = if name.as_encoded_bytes().starts_with(b".") {
                name != ".lock"
            } else if !is_dir || in_use.as_deref() == Some(Path::new(&name)) {
                false
            } else {
                match receipt_in(&path) {
                    // Renamed into place, but never seen to run: its installer died in between.
                    None => name != "current",
                    Some(receipt) => Some(receipt.version) == version_in_use,
                }
            };
            if leftover {
                // What cannot be removed now, since a program that a killed installer had started
                // still writes to it, is in nobody's way: the next run tries again.
                let _ = if is_dir {
                    fs::remove_dir_all(&path)
                } else {
                    fs::remove_file(&path)
                };
            }
        }
        Ok(())
    }

    /// A new folder to work in; gone when dropped.
    pub(super) fn stage(&self, _lock: &Lock) -> Result<TempDir, Error> {
        tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(&self.root)
            .map_err(folder("create a folder in", &self.root))
    }

    /// The folder that an installation of this version will be moved to.
    ///
    /// Known beforehand, since an ELF file names its interpreter by absolute path. A version that
    /// is installed once more gets another folder, so that the one in use is never touched: a lab
    /// may be starting a daemon from it. The run after this one sweeps it.
    pub(super) fn vacant(&self, version: &str) -> PathBuf {
        let mut home = self.root.join(version);
        let mut n = 0;
        while home.symlink_metadata().is_ok() {
            n += 1;
            home = self.root.join(format!("{version}_{n}"));
        }
        home
    }

    /// Moves `stage/prefix` to its place, sees that it runs, and puts it in use.
    pub(super) fn publish(
        &self,
        _lock: &Lock,
        stage: &Path,
        receipt: Receipt,
    ) -> Result<Found, Cause> {
        let built = stage.join("prefix");
        let home = self.vacant(&receipt.version);
        fs::rename(&built, &home).map_err(Cause::disk("rename", &built))?;
        let version = match version_of(&home) {
            Ok(version) => version,
            Err(said) => {
                // Not published; if it cannot be removed now, the next run sweeps it.
                let _ = fs::remove_dir_all(&home);
                return Err(Cause::DoesNotRun { said });
            }
        };
        self.write_receipt(stage, &home, &receipt)?;
        self.put_in_use(stage, &home)?;
        Ok(Found {
            prefix: self.current(),
            version,
            receipt: Some(receipt),
        })
    }

    fn write_receipt(&self, stage: &Path, home: &Path, receipt: &Receipt) -> Result<(), Cause> {
        let draft = stage.join(RECEIPT);
        let path = home.join(RECEIPT);
        serde_json::to_vec_pretty(receipt)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&draft, text))
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(Cause::disk("write", &path))
    }

    fn put_in_use(&self, stage: &Path, home: &Path) -> Result<(), Cause> {
        let current = self.current();
        let draft = stage.join("current");
        // Relative, so that the folder can be looked at through another mount.
        let target = home.strip_prefix(&self.root).unwrap_or(home);
        std::os::unix::fs::symlink(target, &draft)
            .and_then(|()| fs::rename(&draft, &current))
            .map_err(Cause::disk("replace", &current))
    }
}

fn receipt_in(prefix: &Path) -> Option<Receipt> {
    let bytes = fs::read(prefix.join(RECEIPT)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What the bitcoind in this prefix calls its version, if both programs run; else what was said.
fn version_of(prefix: &Path) -> Result<String, String> {
    let bin = prefix.join("bin");
    version_line(&bin.join("bitcoin-cli"))?;
    version_line(&bin.join("bitcoind"))
}

/// `v29.4.0` out of `Bitcoin Core daemon version v29.4.0`.
fn version_line(program: &Path) -> Result<String, String> {
    let output = run_for_version(program)
        .map_err(|error| format!("{} --version: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let first = said.lines().next().unwrap_or_default();
    match first.split_once(" version ") {
        Some((_, version)) if output.status.success() => Ok(version.trim().to_owned()),
        _ => Err(format!(
            "{} --version ended with {}: {first}{}",
            program.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

fn run_for_version(program: &Path) -> io::Result<Output> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let result = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        match result {
            // A thread beside us that is just starting a process holds, until it has done so, a
            // copy of the descriptor through which this file was written.
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && Instant::now() < deadline =>
            {
                std::thread::yield_now();
            }
            result => return result,
        }
    }
}

fn folder(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Folder {
        doing,
        path,
        source,
    }
}
