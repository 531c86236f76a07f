//! What the environment decides, seen in processes that were started with another one: where
//! programs are found, where labs are, and what a bad value says.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod host_support;

use boltwright::host::{Search, Site, role, settings};
use host_support::Victim;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

const SEARCH: Search = Search {
    name: "boltwright-nowhere",
    variable: "BOLTWRIGHT_NOWHERE_EXE",
    role: None,
    install: "run `boltwright install nowhere`",
};

#[test]
#[ignore = "a victim: started by the other tests"]
fn searching() {
    match SEARCH.find() {
        Ok(program) => println!("\nANSWER {:?} {}", program.origin, program.path.display()),
        Err(error) => println!("\nANSWER {error}"),
    }
}

#[test]
#[ignore = "a victim: started by the other tests"]
fn opening() {
    match Site::open() {
        Ok(site) => {
            // First, since who asks ends us as soon as it has its answer.
            site.remove().unwrap();
            println!("\nANSWER {}", site.dir().display());
        }
        Err(error) => println!("\nANSWER {error}"),
    }
}

#[test]
#[ignore = "a victim: started by the other tests"]
fn keeping() {
    let site = Site::open().unwrap();
    fs::write(site.dir().join("a-log"), "words\n").unwrap();
    let kept = site.keep("area::a_test").unwrap();
    println!("\nANSWER {} {}", kept.display(), site.dir().display());
}

#[test]
#[ignore = "a victim: started by the other tests"]
fn limiting() {
    drop(Site::open().unwrap().remove());
    let (soft, hard) = boltwright::host::limits::descriptors().unwrap();
    println!("\nANSWER {soft} {hard}");
}

fn ask(name: &str, env: &[(&str, &str)]) -> String {
    let line = Victim::start(name, env).line("ANSWER ");
    line.trim_start_matches("ANSWER ").to_owned()
}

fn program(dir: &Path) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    let path = dir.join(SEARCH.name);
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_program_is_looked_for_in_its_variable_then_our_folder_then_path() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let named = program(&dir.path().join("named"));
    let installed = program(&cache.join("boltwright/boltwright-nowhere/current/bin"));
    let on_path = program(&dir.path().join("bin"));
    let path = on_path.parent().unwrap().to_str().unwrap();
    let all = [
        ("PATH", path),
        ("XDG_CACHE_HOME", cache.to_str().unwrap()),
        (SEARCH.variable, named.to_str().unwrap()),
    ];
    let by_variable = format!("Variable(\"{}\") {}", SEARCH.variable, named.display());
    assert_eq!(ask("searching", &all), by_variable);
    let installed = format!("Installed {}", installed.display());
    assert_eq!(ask("searching", &all[..2]), installed);
    let elsewhere = [all[0], ("XDG_CACHE_HOME", "/nowhere")];
    assert_eq!(
        ask("searching", &elsewhere),
        format!("Path {}", on_path.display())
    );
    // An empty variable is none.
    assert_eq!(
        ask("searching", &[all[0], all[1], (SEARCH.variable, "")]),
        installed
    );
}

#[test]
fn a_variable_that_names_no_program_is_an_error_though_there_is_one_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let on_path = program(dir.path());
    let env = [
        ("PATH", on_path.parent().unwrap().to_str().unwrap()),
        (SEARCH.variable, "/no/such/file"),
    ];
    let answer = ask("searching", &env);
    assert!(
        answer.contains("BOLTWRIGHT_NOWHERE_EXE=/no/such/file: not there"),
        "{answer}"
    );
}

#[test]
fn a_lab_is_where_test_dir_says() {
    let base = tempfile::tempdir().unwrap();
    let answer = ask("opening", &[("TEST_DIR", base.path().to_str().unwrap())]);
    assert!(Path::new(&answer).starts_with(base.path()), "{answer}");
    assert_eq!(
        fs::read_dir(base.path()).unwrap().count(),
        0,
        "it was removed"
    );
}

#[test]
fn a_test_dir_that_cannot_be_used_says_why() {
    let base = tempfile::tempdir().unwrap();
    let long = base.path().join("x".repeat(60));
    fs::create_dir(&long).unwrap();
    for (dir, why) in [
        ("/no/such", "TEST_DIR does not exist"),
        ("/etc/passwd", "TEST_DIR is not a directory"),
        ("/proc", "/proc: "),
        (long.to_str().unwrap(), "bytes too long"),
    ] {
        let answer = ask("opening", &[("TEST_DIR", dir)]);
        assert!(answer.contains(why), "{answer}");
    }
}

#[test]
fn a_bad_value_is_told_before_anything_is_started() {
    let answer = ask("opening", &[("TIMEOUT", "a minute")]);
    assert_eq!(
        answer,
        "TIMEOUT=a minute: takes a number of seconds above 0 and of a year at most, like 60"
    );
    settings().unwrap();
}

#[test]
fn a_kept_lab_is_collected_where_artifacts_are() {
    let base = tempfile::tempdir().unwrap();
    let artifacts = base.path().join("artifacts");
    let answer = ask(
        "keeping",
        &[
            ("TEST_DIR", base.path().to_str().unwrap()),
            ("BOLTWRIGHT_ARTIFACTS", artifacts.to_str().unwrap()),
        ],
    );
    let (collected, own) = answer.split_once(' ').unwrap();
    assert_eq!(Path::new(collected), artifacts.join("area.a_test"));
    for place in [collected, own] {
        let words = fs::read_to_string(Path::new(place).join("a-log")).unwrap();
        assert_eq!(words, "words\n");
    }
    // What cannot be collected is told, and what was to be kept is still there.
    let answer = ask(
        "keeping",
        &[
            ("TEST_DIR", base.path().to_str().unwrap()),
            ("BOLTWRIGHT_ARTIFACTS", "/proc/nowhere"),
        ],
    );
    let (kept, own) = answer.split_once(' ').unwrap();
    assert_eq!(kept, own);
    assert!(Path::new(own).join("a-log").exists());
}

#[test]
fn the_limit_on_open_files_is_raised_for_all_of_a_lab() {
    let output = Command::new("/bin/sh")
        .args([
            "-c",
            "ulimit -Sn 256; exec \"$0\" --ignored --exact limiting --nocapture",
        ])
        .arg(role::executable().unwrap())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    let answer = words
        .lines()
        .find_map(|line| line.strip_prefix("ANSWER "))
        .unwrap();
    let (soft, hard) = answer.split_once(' ').unwrap();
    let (soft, hard): (u64, u64) = (soft.parse().unwrap(), hard.parse().unwrap());
    assert_eq!(soft, hard.min(65_536));
}

#[test]
fn too_low_a_limit_on_open_files_is_told() {
    let output = Command::new("/bin/sh")
        .args([
            "-c",
            "ulimit -n 200; exec \"$0\" --ignored --exact opening --nocapture",
        ])
        .arg(role::executable().unwrap())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        words.contains("ANSWER only 200 files may be open"),
        "{words}"
    );
}
