//! The installer against servers and archives of our own, on loopback.

mod archive;
mod archives;
mod publication;
mod server;
mod sources;

use super::{
    Cause, Error, Installed, Options, Provider, Source,
    debian::Debian,
    fetch::Patience,
    from_sources,
    official::{self, Official},
};
use archive::{Archive, release, sha256, stub};
use server::{Manner, Server, nobody};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A cache folder of this test's own.
struct Cache(TempDir);

impl Cache {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn options(&self) -> Options {
        Options {
            cache: self.0.path().to_owned(),
            source: Source::Any,
            force: false,
            quiet: true,
            core_mirror: None,
        }
    }

    fn install(&self, source: &dyn Provider) -> Result<Installed, Error> {
        from_sources(&self.options(), &[source])
    }

    fn install_anew(&self, source: &dyn Provider) -> Result<Installed, Error> {
        let options = Options {
            force: true,
            ..self.options()
        };
        from_sources(&options, &[source])
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("bitcoind")
    }

    fn bitcoind(&self) -> PathBuf {
        self.root().join("current/bin/bitcoind")
    }

    /// What lies in the folder, but for the lock.
    fn entries(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root())
            .expect("the folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .filter(|name| name != ".lock")
            .collect();
        names.sort();
        names
    }
}

/// The official source, but for the release 9.9 with this sum on this server.
fn official(base: &str, sha256: String) -> Official {
    Official {
        version: "9.9".to_owned(),
        base: base.to_owned(),
        archives: [(
            official::platform(),
            official::Archive {
                file: "bitcoin-9.9.tar.gz".to_owned(),
                sha256,
            },
        )]
        .into(),
        patience: Patience {
            answer: Duration::from_millis(300),
            piece: Duration::from_millis(300),
            ..Patience::default()
        },
    }
}

fn served(file: &[u8], manner: Manner) -> (Server, Official) {
    let server = Server::start(file.to_owned(), manner);
    let source = official(&server.base(), sha256(file));
    (server, source)
}

/// The cause of the only attempt.
#[track_caller]
fn cause(result: Result<Installed, Error>) -> Cause {
    match result {
        Err(Error::Exhausted { mut attempts }) if attempts.len() == 1 => attempts.remove(0).cause,
        other => panic!("one failed attempt expected: {other:?}"),
    }
}
