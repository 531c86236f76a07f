//! Crates to run `boltwright init` on.
#![allow(dead_code, reason = "each test target uses its own part of this")]

use crate::command::{err, expect_code, out, run_in};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use toml_edit::DocumentMut;

/// The least Cargo.toml of a crate.
pub const PACKAGE: &str = "[package]\nname = \"wallet\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// A crate with this Cargo.toml.
pub fn crate_with(manifest: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "Cargo.toml", manifest);
    put(dir.path(), "src/lib.rs", "");
    dir
}

/// Writes a file and the folders above it.
pub fn put(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("written");
}

/// The text of a file.
pub fn text(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A TOML file.
pub fn toml(dir: &Path, name: &str) -> DocumentMut {
    text(dir, name).parse().expect("TOML")
}

/// All files below, with their contents.
pub fn snapshot(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("text");
                files.insert(path, text);
            }
        }
    }
    files
}

/// What `boltwright init` says where it does its work.
#[track_caller]
pub fn init(dir: &Path, options: &[&str]) -> String {
    let output = run_in(dir, &[&["init"], options].concat());
    expect_code(&output, 0);
    out(&output)
}

/// What `boltwright init` says where it refuses, and writes nothing.
#[track_caller]
pub fn refused(dir: &Path, options: &[&str]) -> String {
    let before = snapshot(dir);
    let output = run_in(dir, &[&["init"], options].concat());
    expect_code(&output, 1);
    assert_eq!(snapshot(dir), before, "something was written");
    err(&output)
}

/// That cargo itself can read what was written.
#[track_caller]
pub fn cargo_reads(dir: &Path) {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(dir)
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
