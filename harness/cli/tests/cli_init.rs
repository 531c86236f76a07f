//! `boltwright init` on crates of every kind: what it adds, and where.

mod command;
#[path = "command/crates.rs"]
mod crates;

use command::{err, expect_code, out, run_in};
use crates::{PACKAGE, cargo_reads, crate_with, init, put, snapshot, text, toml};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_fresh_crate_gets_everything() {
    let dir = crate_with(PACKAGE);
    let said = init(dir.path(), &[]);
    assert!(said.contains("cargo test --test lightning"), "{said}");
    let manifest = toml(dir.path(), "Cargo.toml");
    assert!(manifest["dev-dependencies"]["boltwright"].is_value());
    let target = manifest["test"].get(0).expect("a test target");
    assert_eq!(target["name"].as_str(), Some("lightning"));
    assert_eq!(target["harness"].as_bool(), Some(false));
    assert_eq!(
        manifest["profile"]["dev"]["package"]["*"]["opt-level"].as_integer(),
        Some(2)
    );
    let config = toml(dir.path(), ".config/nextest.toml");
    let limit = &config["profile"]["default"]["slow-timeout"];
    assert_eq!(limit["terminate-after"].as_integer(), Some(11));
    assert_eq!(
        config["profile"]["ci"]["junit"]["path"].as_str(),
        Some("junit.xml")
    );
    assert!(text(dir.path(), "tests/lightning.rs").contains("boltwright::main!();"));
    cargo_reads(dir.path());
}

/// The whole way of a newcomer, but for the debug information of dependencies: without it their
/// settings are this workspace's, and what was built here in its target directory serves there.
#[test]
#[ignore = "builds the embedded node once more: minutes"]
fn in_a_crate_outside_the_workspace_the_example_test_passes() {
    let dir = crate_with(PACKAGE);
    init(dir.path(), &[]);
    let manifest = text(dir.path(), "Cargo.toml");
    let manifest = manifest.replace("debug = \"line-tables-only\"", "debug = false");
    put(dir.path(), "Cargo.toml", &manifest);
    let profile = Path::new(env!("CARGO_BIN_EXE_boltwright")).parent();
    let target = profile
        .and_then(Path::parent)
        .expect("the target directory");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--test", "lightning"])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(dir.path())
        .output()
        .expect("cargo");
    expect_code(&output, 0);
    assert!(out(&output).contains("1 passed"), "{}", out(&output));
}

#[test]
fn a_second_run_changes_nothing() {
    let dir = crate_with(PACKAGE);
    init(dir.path(), &[]);
    let before = snapshot(dir.path());
    let said = init(dir.path(), &[]);
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(snapshot(dir.path()), before);
    assert_eq!(init(dir.path(), &["--dry-run"]), "");
}

#[test]
fn a_dry_run_shows_a_diff_that_patch_takes_and_writes_nothing() {
    let manifest = format!("# my crate\n{PACKAGE}\n[dependencies]\n# none yet\n");
    let dir = crate_with(&manifest);
    let before = snapshot(dir.path());
    let diff = init(dir.path(), &["--dry-run"]);
    assert_eq!(snapshot(dir.path()), before);
    assert!(
        diff.contains("--- a/Cargo.toml\n+++ b/Cargo.toml\n"),
        "{diff}"
    );
    assert!(
        diff.contains("--- /dev/null\n+++ b/tests/lightning.rs\n"),
        "{diff}"
    );
    assert!(
        !diff
            .lines()
            .any(|line| line.starts_with('-') && !line.starts_with("---")),
        "{diff}"
    );

    init(dir.path(), &[]);
    let written = snapshot(dir.path());
    let patched = crate_with(&manifest);
    put(patched.path(), "change.diff", &diff);
    let patch = Command::new("patch")
        .args(["-p1", "--quiet", "-i", "change.diff"])
        .current_dir(patched.path())
        .status();
    // Not every machine has `patch`.
    if let Ok(status) = patch {
        assert!(status.success());
        fs::remove_file(patched.path().join("change.diff")).expect("removed");
        let names = |files: &BTreeMap<PathBuf, String>| files.values().cloned().collect::<Vec<_>>();
        assert_eq!(names(&snapshot(patched.path())), names(&written));
    }
}

#[test]
fn in_a_workspace_profiles_and_nextest_settings_go_to_its_root() {
    let dir = tempfile::tempdir().expect("a directory");
    put(
        dir.path(),
        "Cargo.toml",
        "[workspace]\nmembers = [\"wallet\"]\nresolver = \"3\"\n",
    );
    put(dir.path(), "wallet/Cargo.toml", PACKAGE);
    put(dir.path(), "wallet/src/lib.rs", "");
    init(dir.path(), &["wallet"]);
    let root = toml(dir.path(), "Cargo.toml");
    assert_eq!(
        root["profile"]["dev"]["package"]["*"]["opt-level"].as_integer(),
        Some(2)
    );
    assert!(root.get("dev-dependencies").is_none());
    let member = toml(dir.path(), "wallet/Cargo.toml");
    assert!(member.get("profile").is_none());
    assert!(member["dev-dependencies"]["boltwright"].is_value());
    assert!(dir.path().join(".config/nextest.toml").exists());
    assert!(dir.path().join("wallet/tests/lightning.rs").exists());
    cargo_reads(dir.path());
}

#[test]
fn a_workspaces_own_entry_for_boltwright_is_inherited() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = "[workspace]\nmembers = [\"wallet\"]\nresolver = \"3\"\n\n[workspace.dependencies]\nboltwright = \"0.1\"\n";
    put(dir.path(), "Cargo.toml", root);
    put(dir.path(), "wallet/Cargo.toml", PACKAGE);
    put(dir.path(), "wallet/src/lib.rs", "");
    init(dir.path(), &["wallet"]);
    let member = toml(dir.path(), "wallet/Cargo.toml");
    assert_eq!(
        member["dev-dependencies"]["boltwright"]["workspace"].as_bool(),
        Some(true)
    );
    cargo_reads(dir.path());
}

#[test]
fn the_source_can_be_a_checkout_or_a_repository() {
    let base = tempfile::tempdir().expect("a directory");
    put(
        base.path(),
        "checkout/harness/Cargo.toml",
        "[package]\nname = \"boltwright\"\n",
    );
    put(base.path(), "wallet/Cargo.toml", PACKAGE);
    put(base.path(), "wallet/src/lib.rs", "");
    let wallet = base.path().join("wallet");
    let said = init(&wallet, &["--path", "../checkout"]);
    assert!(!said.contains("comes from"), "{said}");
    let manifest = toml(&wallet, "Cargo.toml");
    assert_eq!(
        manifest["dev-dependencies"]["boltwright"]["path"].as_str(),
        Some("../checkout/harness")
    );

    let other = crate_with(PACKAGE);
    init(other.path(), &["--git", "https://example.org/boltwright"]);
    let manifest = toml(other.path(), "Cargo.toml");
    assert_eq!(
        manifest["dev-dependencies"]["boltwright"]["git"].as_str(),
        Some("https://example.org/boltwright")
    );

    let output = run_in(other.path(), &["init", "--path", "/usr"]);
    expect_code(&output, 2);
    assert!(
        err(&output).contains("no crate `boltwright`"),
        "{}",
        err(&output)
    );
}

#[test]
fn boltwrights_own_crates_are_named_where_they_are_members() {
    let base = tempfile::tempdir().expect("a directory");
    put(
        base.path(),
        "Cargo.toml",
        "[workspace]\nmembers = [\"wallet\"]\nresolver = \"3\"\n",
    );
    put(base.path(), "wallet/Cargo.toml", PACKAGE);
    put(base.path(), "wallet/src/lib.rs", "");
    put(
        base.path(),
        "vendor/boltwright/harness/Cargo.toml",
        "[package]\nname = \"boltwright\"\n",
    );
    init(base.path(), &["wallet", "--path", "vendor/boltwright"]);
    let root = toml(base.path(), "Cargo.toml");
    let packages = &root["profile"]["dev"]["package"];
    assert_eq!(
        packages["boltwright-ldk"]["opt-level"].as_integer(),
        Some(2)
    );
    let member = toml(&base.path().join("wallet"), "Cargo.toml");
    assert_eq!(
        member["dev-dependencies"]["boltwright"]["path"].as_str(),
        Some("../vendor/boltwright/harness")
    );
}
