//! The installer against servers and archives of our own, on loopback.

mod archive;
mod server;

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

#[test]
fn the_pinned_release_has_a_sum_for_both_platforms() {
    let pinned = Official::pinned(None);
    assert!(pinned.base.starts_with("https://"));
    for platform in ["x86_64-linux-gnu", "aarch64-linux-gnu"] {
        let archive = &pinned.archives[platform];
        assert_eq!(
            archive.file,
            format!("bitcoin-{}-{platform}.tar.gz", pinned.version)
        );
        assert_eq!(archive.sha256.len(), 64);
        assert!(
            archive
                .sha256
                .bytes()
                .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
        );
    }
}

#[test]
fn an_archive_with_the_pinned_sum_is_installed_and_put_in_use() {
    let cache = Cache::new();
    let (_server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    let installed = cache.install(&source).expect("installed");
    assert_eq!(
        installed,
        Installed {
            bitcoind: cache.bitcoind(),
            bitcoin_cli: cache.root().join("current/bin/bitcoin-cli"),
            version: "v9.9.0".to_owned(),
            from: "Bitcoin Core 9.9, official release".to_owned(),
            fresh: true,
        }
    );
    assert_eq!(cache.entries(), ["9.9", "current"]);
    assert_eq!(
        fs::read_link(cache.root().join("current")).expect("a link"),
        Path::new("9.9")
    );
    let mode = fs::metadata(cache.bitcoind())
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o700, 0o700);
    let receipt = fs::read_to_string(cache.root().join("9.9/install.json")).expect("a receipt");
    assert!(receipt.contains("\"checked\": \"SHA-256 "), "{receipt}");
}

#[test]
fn what_is_installed_is_not_fetched_again() {
    let cache = Cache::new();
    let (server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    cache.install(&source).expect("installed");
    let second = cache.install(&source).expect("still there");
    assert!(!second.fresh);
    assert_eq!(second.from, "Bitcoin Core 9.9, official release");
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_source_asked_for_by_name_is_not_satisfied_by_another() {
    let cache = Cache::new();
    let (server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    cache.install(&source).expect("installed");
    let debian = Debian { keyrings: vec![] };
    let options = Options {
        source: Source::Debian,
        ..cache.options()
    };
    from_sources(&options, &[&debian]).expect_err("not from Debian, and no keyring to get it");
    assert_eq!(server.requests(), 1);
    assert!(
        cache.bitcoind().exists(),
        "the failure took away what was there"
    );
}

#[test]
fn a_wrong_sum_leaves_nothing_behind() {
    let cache = Cache::new();
    let (server, _) = served(&release(&stub("v9.9.0")), Manner::Whole);
    let source = official(&server.base(), sha256(b"another file"));
    let cause = cause(cache.install(&source));
    assert!(matches!(cause, Cause::Checksum { .. }), "{cause}");
    assert_eq!(cache.entries(), [""; 0]);
}

#[test]
fn a_transfer_that_breaks_off_leaves_nothing_behind() {
    let cache = Cache::new();
    let (_server, source) = served(&release(&stub("v9.9.0")), Manner::BreaksOff);
    let cause = cause(cache.install(&source));
    assert!(matches!(cause, Cause::Transfer { .. }), "{cause}");
    assert_eq!(cache.entries(), [""; 0]);
}

#[test]
fn a_transfer_that_stalls_is_given_up_after_the_patience_for_one_piece() {
    let cache = Cache::new();
    let (_server, source) = served(&release(&stub("v9.9.0")), Manner::Stalls);
    let started = Instant::now();
    let cause = cause(cache.install(&source));
    assert!(
        cause.to_string().contains("nothing came for 0.3 s"),
        "{cause}"
    );
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(cache.entries(), [""; 0]);
}

#[test]
fn an_unreachable_or_silent_host_falls_through_to_the_next_source_within_seconds() {
    let cache = Cache::new();
    let file = release(&stub("v9.9.0"));
    let sum = sha256(&file);
    let (_silent, silent) = served(&file, Manner::Silent);
    let (_server, good) = served(&file, Manner::Whole);
    let refused = official(&nobody(), sum.clone());
    let unresolvable = official("http://no-such-host.invalid/", sum);
    let started = Instant::now();
    let installed = from_sources(&cache.options(), &[&refused, &unresolvable, &silent, &good])
        .expect("installed from the last one");
    assert!(installed.fresh);
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "took {:?}",
        started.elapsed()
    );
}

#[test]
fn a_host_that_accepts_but_never_speaks_tls_is_given_up_within_the_patience_to_connect() {
    let cache = Cache::new();
    let server = Server::start(Vec::new(), Manner::Silent);
    let mut source = official(&server.base().replace("http:", "https:"), sha256(b""));
    source.patience.connect = Duration::from_millis(500);
    let started = Instant::now();
    let cause = cause(cache.install(&source));
    assert!(matches!(cause, Cause::Http { .. }), "{cause}");
    assert!(started.elapsed() < Duration::from_secs(5), "{cause}");
}

#[test]
fn installers_at_work_at_once_do_the_work_once() {
    let cache = Cache::new();
    let (server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    let installed: Vec<Installed> = thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| cache.install(&source).expect("installed")))
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("no panic"))
            .collect()
    });
    assert_eq!(installed.iter().filter(|one| one.fresh).count(), 1);
    assert_eq!(server.requests(), 1);
    assert_eq!(cache.entries(), ["9.9", "current"]);
}

#[test]
fn what_is_in_use_is_never_missing_while_it_is_installed_anew() {
    let cache = Cache::new();
    let (server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    cache.install(&source).expect("installed");
    let looked = thread::scope(|scope| {
        let anew = scope.spawn(|| {
            for _ in 0..5 {
                assert!(cache.install_anew(&source).expect("installed anew").fresh);
            }
        });
        let mut looked = 0;
        while !anew.is_finished() {
            assert!(cache.bitcoind().exists(), "gone after {looked} looks");
            looked += 1;
        }
        anew.join().expect("no panic");
        looked
    });
    assert!(looked > 5);
    assert_eq!(server.requests(), 6);
    // One in use, and the one before it, which the next run sweeps.
    assert_eq!(cache.entries().len(), 3, "{:?}", cache.entries());
}

#[test]
fn leftovers_of_an_installer_that_was_cut_short_are_swept() {
    let cache = Cache::new();
    let root = cache.root();
    for leftover in [".staging-1234/apt/lists", "8.8/bin", "9.9/bin"] {
        fs::create_dir_all(root.join(leftover)).expect("a leftover");
    }
    fs::write(root.join("9.9/bin/bitcoind"), "half a file").expect("a leftover");
    let (_server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    cache.install(&source).expect("installed");
    assert_eq!(cache.entries(), ["9.9", "current"]);
}

#[test]
fn a_program_that_does_not_run_is_not_put_in_use() {
    let cache = Cache::new();
    let (_server, good) = served(&release(&stub("v9.9.0")), Manner::Whole);
    cache.install(&good).expect("installed");
    let broken = release("#!/bin/sh\necho 'libc.so.6: version not found' >&2\nexit 127\n");
    let (_server, broken) = served(&broken, Manner::Whole);
    let cause = cause(cache.install_anew(&broken));
    assert!(
        cause.to_string().contains("libc.so.6: version not found"),
        "{cause}"
    );
    assert_eq!(cache.entries(), ["9.9", "current"]);
    let still = cache.install(&good).expect("still there");
    assert_eq!((still.version.as_str(), still.fresh), ("v9.9.0", false));
}

#[test]
fn an_installation_that_has_stopped_running_is_replaced() {
    let cache = Cache::new();
    let (_server, source) = served(&release(&stub("v9.9.0")), Manner::Whole);
    cache.install(&source).expect("installed");
    fs::write(cache.bitcoind(), "").expect("broken on purpose");
    assert!(cache.install(&source).expect("installed again").fresh);
}

#[test]
fn an_archive_with_a_name_that_leads_out_of_it_is_refused() {
    for name in [
        &b"bitcoin-9.9/bin/../../../bitcoind"[..],
        b"/tmp/boltwright-should-not-exist/bin/bitcoind",
    ] {
        let mut archive = Archive::new();
        archive.add(name, b'0', "", "wicked");
        let cache = Cache::new();
        let (_server, source) = served(&archive.finish(), Manner::Whole);
        let cause = cause(cache.install(&source));
        assert!(cause.to_string().contains("leads out of it"), "{cause}");
        assert_eq!(cache.entries(), [""; 0]);
    }
    assert!(!Path::new("/tmp/boltwright-should-not-exist").exists());
}

#[test]
fn an_archive_with_a_link_for_a_program_is_refused() {
    for kind in [b'1', b'2'] {
        let mut archive = Archive::new();
        archive.add(b"bitcoin-9.9/bin/bitcoind", kind, "/bin/sh", "");
        let cache = Cache::new();
        let (_server, source) = served(&archive.finish(), Manner::Whole);
        let cause = cause(cache.install(&source));
        assert!(cause.to_string().contains("is not a plain file"), "{cause}");
        assert_eq!(cache.entries(), [""; 0]);
    }
}

#[test]
fn a_file_that_is_no_archive_or_holds_no_bitcoind_is_refused() {
    for (file, words) in [
        (b"<html>not found</html>".to_vec(), "the archive is refused"),
        (Archive::new().finish(), "it holds no bin/bitcoind"),
    ] {
        let cache = Cache::new();
        let (_server, source) = served(&file, Manner::Whole);
        let cause = cause(cache.install(&source));
        assert!(cause.to_string().contains(words), "{cause}");
    }
}

#[test]
fn the_error_names_all_that_was_tried_and_what_helps() {
    let cache = Cache::new();
    let refused = official(&nobody(), sha256(b""));
    let debian = Debian {
        keyrings: vec![PathBuf::from("/nonexistent/keyring.gpg")],
    };
    let error = from_sources(&cache.options(), &[&refused, &debian]).expect_err("nothing works");
    let text = error.to_string();
    for words in [
        "the official release 9.9: failed to download http://127.0.0.1:",
        "Debian's package bitcoin-knots: ",
        " is missing",
        "export BITCOIND_EXE=",
    ] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named_with_the_variable_that_moves_it() {
    let cache = Cache::new();
    let file = cache.0.path().join("file");
    fs::write(&file, "").expect("a file");
    let options = Options {
        cache: file.join("boltwright"),
        ..cache.options()
    };
    let refused = official(&nobody(), sha256(b""));
    let text = from_sources(&options, &[&refused])
        .expect_err("no folder")
        .to_string();
    assert!(text.contains("file/boltwright/bitcoind"), "{text}");
    assert!(text.contains("XDG_CACHE_HOME"), "{text}");
}
