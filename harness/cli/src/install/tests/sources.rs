//! What the sources do about servers that refuse, stall, lie or are not there.

use super::*;

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
