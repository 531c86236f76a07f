//! `boltwright init`: what it leaves alone, and what it refuses before anything is written.

mod command;
#[path = "command/crates.rs"]
mod crates;

use command::{expect_code, run_in};
use crates::{PACKAGE, cargo_reads, crate_with, init, put, refused, snapshot, text, toml};
use std::fs;

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
