//! What is put in use, when, and what is left behind.

use super::*;

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
