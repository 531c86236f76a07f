//! What a site is and what it starts: stub daemons.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod host_support;

use boltwright::host::{Error, Exit, Mark, Origin, Program, Site, State, address::LEASE_PORT};
use host_support::{SOON, is_alive, is_free, run, script};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

const LONG: Duration = Duration::from_secs(60);

/// The words of a spawn that fails for this file.
fn refusal(site: &Site, path: &Path) -> String {
    let program = Program {
        name: "daemon".to_owned(),
        path: path.to_owned(),
        origin: Origin::Given,
        argv0: None,
    };
    let command = boltwright::host::Command::new("daemon", program, site.dir().join("daemon"));
    match site.spawn(command) {
        Err(error @ Error::Spawn { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn executable(site: &Site, name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = site.dir().join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_program_that_cannot_be_executed_says_why() {
    let site = Site::open().unwrap();
    // The header of a program for a 64-bit ARM, or for x86-64 if this is one.
    let mut foreign = b"\x7fELF\x02\x01\x01".to_vec();
    foreign.resize(64, 0);
    foreign[16] = 2;
    foreign[18] = if cfg!(target_arch = "aarch64") {
        62
    } else {
        183
    };
    for (file, why) in [
        (site.dir().join("absent"), "does not exist"),
        (executable(&site, "empty", b""), "empty file"),
        (
            executable(&site, "text", b"hello\n"),
            "nor a script that begins with #!",
        ),
        (
            executable(&site, "orphan", b"#!/no/such/shell\n"),
            "script for /no/such/shell, which does not exist",
        ),
        (executable(&site, "foreign", &foreign), "another processor"),
        (site.dir().to_owned(), "is a directory"),
        ("/etc/passwd".into(), "chmod +x"),
    ] {
        let words = refusal(&site, &file);
        assert!(words.starts_with("daemon did not start: "), "{words}");
        assert!(words.contains(why), "{why}: {words}");
    }
    assert!(refusal(&site, &site.dir().join("foreign")).contains("Exec format error"));
    // The site is none the worse for it.
    assert_eq!(
        run(&site, "well", "exit 0").wait_exit(SOON).unwrap(),
        Exit::Code(0)
    );
    site.remove().unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_says_why() {
    let site = Site::open().unwrap();
    fs::write(site.dir().join("daemon"), "a file in its place").unwrap();
    let error = site
        .spawn(script(&site, "daemon", "exit 0"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("creating") && error.contains("/daemon"),
        "{error}"
    );
    site.remove().unwrap();
}

#[test]
fn a_daemon_gets_a_home_of_its_own_and_a_scrubbed_environment() {
    let site = Site::open().unwrap();
    let mut command = script(&site, "alice", "env; pwd; echo done");
    command.env.insert("COLOUR".into(), "orange".into());
    let alice = site.spawn(command).unwrap();
    alice
        .log()
        .wait_for(Mark::START, "^done$", LONG, &alice)
        .unwrap();
    let lines = alice.log().lines_from(Mark::START).unwrap();
    let dir = site.dir().join("alice").display().to_string();
    for expected in [
        format!("HOME={dir}"),
        format!("TMPDIR={dir}/tmp"),
        "COLOUR=orange".to_owned(),
        format!("BOLTWRIGHT_LAB={}", site.marker()),
        dir,
    ] {
        assert!(lines.contains(&expected), "{expected}: {lines:?}");
    }
    // Cargo gives every test dozens of these.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(
        !lines.iter().any(|line| line.starts_with("CARGO_")),
        "{lines:?}"
    );
    site.remove().unwrap();
}

#[test]
fn sites_that_open_at_once_never_share_a_block() {
    const THREADS: usize = 8;
    const EACH: usize = 4;
    let barrier = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                barrier.wait();
                (0..EACH).map(|_| Site::open().unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    let sites: Vec<Site> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    let leases: BTreeSet<_> = sites.iter().map(|site| site.block().address(1)).collect();
    assert_eq!(leases.len(), THREADS * EACH);
    let listed = fs::read_to_string("/proc/net/udp").unwrap();
    for lease in &leases {
        assert!(!is_free(*lease));
        let line = format!(
            "{:08X}:{LEASE_PORT:04X}",
            u32::from_ne_bytes(lease.octets())
        );
        assert_eq!(listed.matches(&line).count(), 1, "{line}");
    }
    for site in sites {
        site.remove().unwrap();
    }
    assert!(leases.into_iter().all(is_free));
}

#[test]
fn one_site_s_end_is_nothing_to_another() {
    let (one, other) = (Site::open().unwrap(), Site::open().unwrap());
    let daemon = run(&other, "daemon", "exec sleep 1038");
    run(&one, "daemon", "exec sleep 1039");
    one.remove().unwrap();
    assert_eq!(daemon.state(), State::Running);
    assert!(is_alive(daemon.pid()));
    other.remove().unwrap();
    assert_eq!(daemon.state(), State::Exited(Exit::Signal(9)));
}

#[test]
fn many_threads_may_start_and_end_processes_of_one_site_at_once() {
    let site = Site::open().unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let site = &site;
            scope.spawn(move || {
                for round in 0..5 {
                    let name = format!("p{number}-{round}");
                    let daemon = run(site, &name, &format!("echo {name}; exec sleep 1040"));
                    daemon
                        .log()
                        .wait_for(Mark::START, &name, LONG, &daemon)
                        .unwrap();
                    assert_eq!(daemon.kill().unwrap(), Exit::Signal(9));
                }
            });
        }
    });
    assert_eq!(site.processes().len(), 40);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| site.kill_all().unwrap());
        }
    });
    site.remove().unwrap();
}

#[test]
fn opening_and_ending_a_site_is_quick() {
    let mut times: Vec<_> = (0..11)
        .map(|_| {
            let began = Instant::now();
            let site = Site::open().unwrap();
            let opened = began.elapsed();
            let daemon = run(&site, "daemon", "exec sleep 1042");
            let spawned = began.elapsed();
            assert!(is_alive(daemon.pid()));
            site.remove().unwrap();
            (opened, spawned - opened, began.elapsed() - spawned)
        })
        .collect();
    times.sort();
    let (opened, spawned, removed) = times[5];
    println!("median: open {opened:.1?}, spawn {spawned:.1?}, remove {removed:.1?}");
    assert!(opened < Duration::from_secs(1), "even on a busy machine");
}
