//! What is refused of an archive whose sum is right.

use super::*;

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
