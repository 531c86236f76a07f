//! `boltwright logs` on directories as labs leave them, whole and broken.

mod command;

use command::{boltwright, err, expect_code, out, run};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

/// A lab's directory with three logs, of which one does not exist and one is not UTF-8.
fn lab() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    furnish(dir.path());
    dir
}

fn furnish(dir: &Path) {
    fs::create_dir(dir.join("alice")).expect("a directory");
    fs::write(
        dir.join("lab.json"),
        r#"{"lab": "a_test", "seed": "0x1", "bitcoind": null,
            "nodes": [{"name": "alice", "implementation": "ldk", "dir": "alice"}],
            "logs": [{"name": "harness", "path": "harness.log"},
                     {"name": "bitcoind", "path": "bitcoind/debug.log"},
                     {"name": "alice", "path": "alice/log"}]}"#,
    )
    .expect("written");
    fs::write(
        dir.join("harness.log"),
        "2026-11-30T19:56:49.100000Z starts alice\n2026-11-30T19:56:49.300000Z pays\n",
    )
    .expect("written");
    fs::write(
        dir.join("alice/log"),
        b"2026-11-30T19:56:49.200000Z INFO up\n  and well\n2026-11-30T19:56:49.400000Z INFO caf\xe9\n",
    )
    .expect("written");
}

fn shown(dir: &Path, options: &[&str]) -> String {
    let dir = dir.to_str().expect("a plain path");
    let output = run(&[&["logs", dir], options].concat());
    expect_code(&output, 0);
    out(&output)
}

#[test]
fn lines_are_merged_by_time_and_continuations_stay() {
    let lab = lab();
    let text = shown(lab.path(), &[]);
    let order: Vec<usize> = ["starts alice", "up", "and well", "pays", "INFO caf"]
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(order.is_sorted(), "{text}");
    assert!(
        !text.contains('\u{1b}'),
        "colours, though not on a terminal: {text}"
    );
}

#[test]
fn nodes_patterns_and_tails_choose_what_is_shown() {
    let lab = lab();
    let alice = shown(lab.path(), &["--node", "alice"]);
    assert!(
        alice.contains("and well") && !alice.contains("pays"),
        "{alice}"
    );
    let two = shown(
        lab.path(),
        &[
            "--node",
            "alice",
            "--node",
            "harness",
            "--grep",
            "^pay|well",
        ],
    );
    assert_eq!(two.lines().count(), 3, "{two}");
    let last = shown(lab.path(), &["--tail", "1"]);
    assert!(
        last.contains("INFO caf") && last.lines().count() == 1,
        "{last}"
    );
    assert_eq!(shown(lab.path(), &["--grep", "nothing like it"]), "");
}

#[test]
fn json_is_one_object_a_line() {
    let lab = lab();
    let text = shown(lab.path(), &["--json"]);
    let objects: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    assert_eq!(objects.len(), 4);
    assert_eq!(objects[1]["source"], "alice");
    assert_eq!(objects[1]["time"], "2026-11-30T19:56:49.200000Z");
    assert_eq!(objects[1]["text"], "INFO up\n  and well");
}

#[test]
fn a_moved_directory_is_as_good_as_before() {
    let lab = lab();
    let elsewhere = tempfile::tempdir().expect("a directory");
    let moved = elsewhere.path().join("moved");
    fs::rename(lab.path(), &moved).expect("moved");
    assert!(shown(&moved, &[]).contains("and well"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let lab = lab();
    let line = "2026-11-30T19:56:49.500000Z again and again\n";
    fs::write(lab.path().join("alice/log"), line.repeat(100_000)).expect("written");
    let mut child = boltwright(&["logs", lab.path().to_str().expect("a plain path")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut first = [0; 10];
    let mut reader = child.stdout.take().expect("its output");
    reader.read_exact(&mut first).expect("some of it");
    drop(reader);
    let output = child.wait_with_output().expect("its end");
    expect_code(&output, 0);
    assert_eq!(err(&output), "");
}

#[test]
fn what_is_no_lab_is_told_with_what_may_be_meant() {
    let parent = tempfile::tempdir().expect("a directory");
    let place = parent.path().to_str().expect("a plain path");
    let output = run(&["logs", place]);
    expect_code(&output, 1);
    assert!(
        err(&output).contains("is not the directory of a lab"),
        "{}",
        err(&output)
    );

    let one = parent.path().join("interop.a_test");
    fs::create_dir(&one).expect("a directory");
    furnish(&one);
    let output = run(&["logs", place]);
    expect_code(&output, 1);
    assert!(err(&output).contains("/interop.a_test"), "{}", err(&output));

    let output = run(&["logs", "/no/such/lab"]);
    expect_code(&output, 1);
    assert!(err(&output).contains("is not there"), "{}", err(&output));
}

#[test]
fn a_broken_description_and_a_name_that_nobody_has_are_told() {
    let lab = lab();
    let dir = lab.path().to_str().expect("a plain path").to_owned();
    let output = run(&["logs", &dir, "--node", "mallory"]);
    expect_code(&output, 2);
    assert!(
        err(&output).contains("harness, bitcoind, alice"),
        "{}",
        err(&output)
    );

    fs::write(lab.path().join("lab.json"), "{\"lab\": ").expect("written");
    let output = run(&["logs", &dir]);
    expect_code(&output, 1);
    assert!(err(&output).contains("lab.json"), "{}", err(&output));
}

#[test]
fn following_shows_what_is_appended_and_ends_with_the_directory() {
    use std::io::{BufRead, BufReader, Write};
    let lab = lab();
    let mut child = boltwright(&[
        "logs",
        lab.path().to_str().expect("a plain path"),
        "--follow",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command runs");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    let first: Vec<String> = (0..5).map(|_| next()).collect();
    assert!(first[4].contains("INFO caf"), "{first:?}");
    let mut log = fs::File::options()
        .append(true)
        .open(lab.path().join("harness.log"))
        .expect("the log");
    log.write_all(b"2026-11-30T19:56:50.000000Z one more\n")
        .expect("written");
    assert!(next().contains("one more"));
    fs::remove_dir_all(lab.path()).expect("removed");
    let output = child.wait_with_output().expect("its end");
    expect_code(&output, 0);
    assert!(
        err(&output).contains("directory was removed"),
        "{}",
        err(&output)
    );
}
