//! `boltwright install bitcoind`: a bitcoind on a machine that has none, without root.
//!
//! Called by the command of that name, by `boltwright demo` when bitcoind is missing, and by
//! `ci/test`; never by a test or a build script, which must not need a network. Two sources are
//! asked in order: the official Bitcoin Core archive, whose SHA-256 is pinned in
//! `node-fixtures/bitcoind/core.json`, then Debian's package, whose signature apt checks. Which
//! versions, from where and how checked: `node-fixtures/bitcoind/README.md`.
//!
//! Everything lands below one folder, where the harness looks for it:
//!
//! ```text
//! <cache>/bitcoind/current           symbolic link to the installation in use
//! <cache>/bitcoind/29.4/bin/         bitcoind and bitcoin-cli
//! <cache>/bitcoind/29.4/install.json what it is and how it was checked, written last
//! <cache>/bitcoind/.staging-…        work in progress, swept by the next run
//! ```
//!
//! Nothing is in use before it has been run with `--version`; what puts it in use is the rename of
//! one symbolic link. One installer works at a time (a lock on a file, which the kernel releases
//! however the process ends); the second waits and finds the work done.

mod command;
mod debian;
mod error;
mod fetch;
mod official;
mod place;
mod ui;
mod unpack;

#[cfg(test)]
mod tests;

pub use command::Install;
pub use error::{Attempt, Cause, Error};

use place::{Place, Receipt};
use std::path::{Path, PathBuf};
use ui::Ui;

/// Where bitcoind may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Source {
    /// The official release if it can be reached, else Debian's package.
    #[default]
    Any,
    /// The official Bitcoin Core release archive, by pinned checksum.
    Official,
    /// Debian's package `bitcoin-knots` with the libraries it needs.
    Debian,
}

/// What to install and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Boltwright's own folder.
    pub cache: PathBuf,
    /// Where bitcoind may come from.
    pub source: Source,
    /// Install anew even if a working bitcoind is there.
    pub force: bool,
    /// Say nothing but errors.
    pub quiet: bool,
    /// Another place that serves the official archive; the checksum stays pinned.
    pub core_mirror: Option<String>,
}

impl Options {
    /// The defaults for this user: any source, into Boltwright's own folder.
    pub fn new() -> Result<Self, Error> {
        Ok(Self {
            cache: boltwright::host::program::cache_dir()?,
            source: Source::Any,
            force: false,
            quiet: false,
            core_mirror: std::env::var("BOLTWRIGHT_CORE_MIRROR")
                .ok()
                .filter(|base| !base.is_empty()),
        })
    }
}

/// A bitcoind in Boltwright's folder that has answered `--version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The daemon, by the path that stays the same over versions.
    pub bitcoind: PathBuf,
    /// Its client, beside it.
    pub bitcoin_cli: PathBuf,
    /// What the daemon calls its version: `v29.4.0`.
    pub version: String,
    /// Where it came from, for a person.
    pub from: String,
    /// Whether this call installed it.
    pub fresh: bool,
}

/// Sees to it that there is a bitcoind in Boltwright's folder.
///
/// Returns at once, without touching disk or network, if there is one already that runs.
pub fn bitcoind(options: &Options) -> Result<Installed, Error> {
    let official = official::Official::pinned(options.core_mirror.as_deref());
    let debian = debian::Debian::default();
    let sources: &[&dyn Provider] = match options.source {
        Source::Any => &[&official, &debian],
        Source::Official => &[&official],
        Source::Debian => &[&debian],
    };
    from_sources(options, sources)
}

/// One way to get a bitcoind.
trait Provider {
    /// Its name, for a person: it stands before the error in the list of what was tried.
    fn name(&self) -> String;

    /// The word that [`Receipt::source`] carries if this is where an installation came from.
    fn word(&self) -> &'static str;

    /// Lays `bin/bitcoind` and `bin/bitcoin-cli` out in `stage/prefix`, ready to be moved to
    /// [`Place::vacant`] of the version that it returns.
    fn build(&self, stage: &Path, place: &Place, ui: &Ui) -> Result<Receipt, Cause>;
}

fn from_sources(options: &Options, sources: &[&dyn Provider]) -> Result<Installed, Error> {
    let place = Place::below(&options.cache);
    let wanted = |found: &place::Found| {
        !options.force
            && (options.source == Source::Any
                || sources.iter().any(|source| found.is_from(source.word())))
    };
    if let Some(found) = place.working().filter(wanted) {
        return Ok(found.installed());
    }
    let ui = Ui::new(options.quiet);
    let lock = place.lock(&ui)?;
    // Whoever held the lock may have done the work; a forced run wants its own all the same.
    if let Some(found) = place.working().filter(wanted) {
        return Ok(found.installed());
    }
    place.sweep(&lock)?;

    let mut attempts = Vec::new();
    for source in sources {
        let stage = place.stage(&lock)?;
        ui.step(&format!("bitcoind from {}", source.name()));
        let result = source
            .build(stage.path(), &place, &ui)
            .and_then(|receipt| place.publish(&lock, stage.path(), receipt));
        match result {
            Ok(found) => {
                ui.finish();
                return Ok(Installed {
                    fresh: true,
                    ..found.installed()
                });
            }
            Err(cause) => {
                ui.step(&format!("{}: {cause}", source.name()));
                let local = cause.is_local();
                attempts.push(Attempt {
                    source: source.name(),
                    cause,
                });
                // Another source would meet the same full or read-only disk.
                if local {
                    break;
                }
            }
        }
    }
    ui.finish();
    Err(Error::Exhausted { attempts })
}
