//! The command `boltwright install` as a process: killed in the middle, and with nothing to go by.

#[path = "../src/install/tests/server.rs"]
mod server;

use server::{Manner, Server, nobody};
use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

fn boltwright(cache: &Path, mirror: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boltwright"));
    command
        .args(["install", "bitcoind"])
        .env("XDG_CACHE_HOME", cache)
        .env("BOLTWRIGHT_CORE_MIRROR", mirror)
        .stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn entries(cache: &Path) -> Vec<String> {
    fs::read_dir(cache.join("boltwright/bitcoind"))
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .filter(|name| name != ".lock")
        .collect()
}

#[test]
fn an_installer_killed_in_mid_download_leaves_nothing_in_use_and_the_next_one_sweeps() {
    let cache = tempfile::tempdir().expect("a folder");
    let server = Server::start(vec![7; 1 << 20], Manner::Stalls);
    let mut killed = boltwright(cache.path(), &server.base())
        .args(["--source", "official", "--quiet"])
        .spawn()
        .expect("the installer");
    server.wait_until_sent();
    killed.kill().expect("killed");
    killed.wait().expect("its end");
    let left = entries(cache.path());
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with(".staging-"), "{left:?}");

    let next = boltwright(cache.path(), &nobody())
        .args(["--source", "official"])
        .output()
        .expect("the installer");
    assert_eq!(next.status.code(), Some(1), "{}", said(&next));
    assert_eq!(entries(cache.path()), [""; 0]);
}

#[test]
fn without_internet_and_without_apt_the_error_says_what_was_tried_and_what_helps() {
    let cache = tempfile::tempdir().expect("a folder");
    let output = boltwright(cache.path(), &nobody())
        .env("PATH", "/nonexistent")
        .output()
        .expect("the installer");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for words in [
        "the official release",
        "apt-get (part of apt and dpkg) is missing",
        "BITCOIND_EXE",
    ] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
}
