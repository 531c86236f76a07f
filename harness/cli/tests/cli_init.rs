//! `boltwright init` on crates of every kind: what it adds, and what it leaves alone.

mod command;

use command::{err, expect_code, out, run_in};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use toml_edit::DocumentMut;

const PACKAGE: &str = "[package]\nname = \"wallet\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// A crate with this Cargo.toml.
fn crate_with(manifest: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "Cargo.toml", manifest);
    put(dir.path(), "src/lib.rs", "");
    dir
}

fn put(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("written");
}

fn text(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn toml(dir: &Path, name: &str) -> DocumentMut {
    text(dir, name).parse().expect("TOML")
}

/// All files below, with their contents.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, String> {
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

#[track_caller]
fn init(dir: &Path, options: &[&str]) -> String {
    let output = run_in(dir, &[&["init"], options].concat());
    expect_code(&output, 0);
    out(&output)
}

#[track_caller]
fn refused(dir: &Path, options: &[&str]) -> String {
    let before = snapshot(dir);
    let output = run_in(dir, &[&["init"], options].concat());
    expect_code(&output, 1);
    assert_eq!(snapshot(dir), before, "something was written");
    err(&output)
}

/// That cargo itself can read what was written.
#[track_caller]
fn cargo_reads(dir: &Path) {
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
fn what_is_there_keeps_its_form_and_its_comments() {
    let manifest = "\
# A comment at the head.
[package]
name    = \"wallet\"   # spaced on purpose
version = '0.1.0'
edition = \"2024\"

[dev-dependencies]
serde = \"1\" # for something

[profile.dev]
debug = 1
";
    let dir = crate_with(manifest);
    init(dir.path(), &[]);
    let after = text(dir.path(), "Cargo.toml");
    for line in manifest.lines() {
        assert!(
            after.lines().any(|other| other == line),
            "{line:?} is gone: {after}"
        );
    }
    cargo_reads(dir.path());
}

#[test]
fn settings_of_ones_own_are_never_overwritten() {
    let manifest = format!(
        "{PACKAGE}\n[dev-dependencies]\nboltwright = {{ version = \"9\", default-features = false }}\n\
         \n[profile.dev.package.\"*\"]\nopt-level = 1\n\
         \n[[test]]\nname = \"lightning\"\nharness = false\nrequired-features = []\n"
    );
    let dir = crate_with(&manifest);
    let config = "[profile.default]\nslow-timeout = { period = \"90s\", terminate-after = 5 }\n\n\
                  [profile.ci]\nretries = 3\n\n[profile.ci.junit]\npath = \"own.xml\"\n";
    put(dir.path(), ".config/nextest.toml", config);
    put(
        dir.path(),
        "tests/lightning.rs",
        "// uses boltwright already\nfn main() {}\n",
    );
    let before = snapshot(dir.path());
    let said = init(dir.path(), &[]);
    assert_eq!(snapshot(dir.path()), before);
    assert!(
        said.contains("left as it is") && said.contains("nodes will be slow"),
        "{said}"
    );
}

#[test]
fn a_whole_crate_that_is_optimised_is_left_as_it_is() {
    let dir = crate_with(&format!("{PACKAGE}\n[profile.dev]\nopt-level = 3\n"));
    init(dir.path(), &[]);
    let manifest = toml(dir.path(), "Cargo.toml");
    assert!(manifest["profile"]["dev"].get("package").is_none());
}

#[test]
fn a_short_limit_of_nextests_is_kept_and_our_tests_get_a_longer_one() {
    let dir = crate_with(PACKAGE);
    let config = "# ours\n[profile.default]\nslow-timeout = { period = \"10s\", terminate-after = 2 }\nretries = 1\n";
    put(dir.path(), ".config/nextest.toml", config);
    let said = init(dir.path(), &[]);
    assert!(said.contains("ends a test after 20 s"), "{said}");
    let after = text(dir.path(), ".config/nextest.toml");
    assert!(after.starts_with(config), "{after}");
    let config = toml(dir.path(), ".config/nextest.toml");
    let exempted = config["profile"]["default"]["overrides"]
        .get(0)
        .expect("an override");
    assert_eq!(exempted["filter"].as_str(), Some("binary(=lightning)"));
    assert_eq!(
        exempted["slow-timeout"]["terminate-after"].as_integer(),
        Some(11)
    );
    assert!(init(dir.path(), &["--dry-run"]).is_empty());
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

#[test]
fn without_a_crate_it_says_how_to_get_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = refused(dir.path(), &[]);
    assert!(
        said.contains("no Cargo.toml") && said.contains("cargo init"),
        "{said}"
    );
    let output = run_in(dir.path(), &["init", "nowhere"]);
    expect_code(&output, 2);
}

#[test]
fn a_workspace_without_a_package_names_its_members() {
    let dir = tempfile::tempdir().expect("a directory");
    put(
        dir.path(),
        "Cargo.toml",
        "[workspace]\nmembers = [\"wallet\"]\nresolver = \"3\"\n",
    );
    put(dir.path(), "wallet/Cargo.toml", PACKAGE);
    put(dir.path(), "wallet/src/lib.rs", "");
    let said = refused(dir.path(), &[]);
    assert!(
        said.contains("boltwright init MEMBER") && said.contains("wallet"),
        "{said}"
    );
}

#[test]
fn a_target_of_that_name_with_another_purpose_is_a_conflict() {
    for target in [
        "",
        "harness = true\n",
        "harness = false\npath = \"tests/other.rs\"\n",
    ] {
        let manifest = format!("{PACKAGE}\n[[test]]\nname = \"lightning\"\n{target}");
        let dir = crate_with(&manifest);
        put(dir.path(), "tests/lightning.rs", "// boltwright\n");
        put(dir.path(), "tests/other.rs", "");
        let said = refused(dir.path(), &[]);
        assert!(said.contains("--name"), "{said}");
    }
}

#[test]
fn a_file_of_that_name_with_another_purpose_is_a_conflict_that_another_name_avoids() {
    let dir = crate_with(PACKAGE);
    put(
        dir.path(),
        "tests/lightning.rs",
        "#[test]\nfn strikes() {}\n",
    );
    let said = refused(dir.path(), &[]);
    assert!(
        said.contains("tests/lightning.rs") && said.contains("--name"),
        "{said}"
    );
    init(dir.path(), &["--name", "nodes"]);
    assert!(dir.path().join("tests/nodes.rs").exists());
    assert_eq!(
        text(dir.path(), "tests/lightning.rs"),
        "#[test]\nfn strikes() {}\n"
    );
}

#[test]
fn an_old_edition_and_broken_files_are_refused_before_anything_is_written() {
    let dir = crate_with("[package]\nname = \"wallet\"\nversion = \"0.1.0\"\n");
    let said = refused(dir.path(), &[]);
    assert!(said.contains("edition 2015"), "{said}");

    let dir = crate_with("[package\nname = \"wallet\"\n");
    let said = refused(dir.path(), &[]);
    assert!(said.contains("Cargo.toml"), "{said}");

    let dir = crate_with(PACKAGE);
    put(dir.path(), ".config/nextest.toml", "[profile.default\n");
    let said = refused(dir.path(), &[]);
    assert!(said.contains("nextest.toml is not valid TOML"), "{said}");

    let dir = crate_with(PACKAGE);
    put(dir.path(), ".config/nextest.toml", "profile = 7\n");
    let said = refused(dir.path(), &[]);
    assert!(
        said.contains("nextest.toml") && said.contains("no table"),
        "{said}"
    );
}

#[test]
fn a_symbolic_link_stays_one_and_rights_stay_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let dir = crate_with(PACKAGE);
    let real = dir.path().join("real.toml");
    let link = dir.path().join("Cargo.toml");
    fs::rename(&link, &real).expect("renamed");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("set");
    std::os::unix::fs::symlink("real.toml", &link).expect("a link");
    init(dir.path(), &[]);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    let mode = fs::metadata(&real).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(text(dir.path(), "real.toml").contains("boltwright"));
}
