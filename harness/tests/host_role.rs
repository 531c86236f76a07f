//! This very binary in another role, with libtest's own `main` and nothing but the library linked.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod host_support;

use boltwright::host::{
    Site, keeper,
    role::{self, Role},
};
use host_support::{Lab, Victim, run};
use std::{
    fs,
    io::{BufRead, Write},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

#[test]
fn started_as_a_keeper_it_runs_no_test() {
    let output = Command::new(role::executable().unwrap())
        .arg0(keeper::ROLE)
        .arg("--list")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = [output.stdout, output.stderr].concat();
    assert_eq!(String::from_utf8_lossy(&words), "");
}

#[test]
fn started_by_any_other_name_it_lists_its_tests() {
    let output = Command::new(role::executable().unwrap())
        .arg0("/somewhere/boltwright-keeper")
        .arg("--list")
        .output()
        .unwrap();
    let list = String::from_utf8_lossy(&output.stdout);
    assert!(list.contains("started_by_any_other_name"), "{list}");
}

#[test]
fn a_keeper_shows_by_its_own_name_and_its_lab_s() {
    let site = Site::open().unwrap();
    let of_keeper =
        |file: &str| fs::read_to_string(format!("/proc/{}/{file}", site.keeper_pid())).unwrap();
    // The kernel has room for 15 bytes.
    assert_eq!(of_keeper("comm"), "boltwright-keep\n");
    let lab = site.dir().file_name().unwrap().to_str().unwrap();
    assert_eq!(of_keeper("cmdline"), format!("boltwright-keeper\0{lab}\0"));
    site.remove().unwrap();
}

#[test]
#[ignore = "a victim: started by another test"]
fn with_a_role_of_its_own() {
    role::dispatch(&[Role {
        name: "a-role-of-its-own",
        run: |arguments| {
            // Standard streams are open, and a closed pipe is an error rather than a death.
            let (reader, mut writer) = std::io::pipe().unwrap();
            drop(reader);
            assert!(writer.write_all(b"x").is_err());
            println!("\n{} arguments", arguments.len());
            42
        },
    }]);
    println!("not in a role");
}

#[test]
fn a_binary_can_have_roles_of_its_own() {
    let start = |argv0: &str| {
        Command::new(role::executable().unwrap())
            .arg0(argv0)
            .args([
                "--ignored",
                "--exact",
                "with_a_role_of_its_own",
                "--nocapture",
            ])
            .output()
            .unwrap()
    };
    let played = start("a-role-of-its-own");
    assert_eq!(played.status.code(), Some(42));
    assert!(String::from_utf8_lossy(&played.stdout).contains("\n4 arguments\n"));
    let ordinary = start("another-name");
    assert_eq!(ordinary.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&ordinary.stdout).contains("not in a role"));
}

#[test]
#[ignore = "a victim: started by another test"]
fn after_a_rebuild() {
    println!("\nREADY");
    std::io::stdin()
        .lock()
        .read_line(&mut String::new())
        .unwrap();
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exec sleep 1020");
    Lab::tell(&site, &daemon);
    site.remove().unwrap();
}

#[test]
fn a_rebuild_in_mid_run_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let binary = dir.path().join("test-binary");
    fs::copy(role::executable().unwrap(), &binary).unwrap();
    let mut victim = Victim::start_file(&binary, "after_a_rebuild", &[]);
    victim.line("READY");
    // As a linker does it: another file in the place of the old one, which is gone from the disk.
    let newer = dir.path().join("newer");
    fs::write(&newer, "#!/bin/false\n").unwrap();
    fs::rename(&newer, &binary).unwrap();
    victim
        .child
        .stdin
        .take()
        .unwrap()
        .write_all(b"go\n")
        .unwrap();
    let lab = victim.lab();
    assert!(victim.child.wait().unwrap().success());
    lab.wait_gone();
}
