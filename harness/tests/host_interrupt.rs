//! Ctrl-C and SIGTERM: the report comes, all ends, and the process dies by that very signal.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod host_support;

use boltwright::host::{Site, interrupt};
use host_support::{Lab, SOON, Victim, eventually, run_family, send};
use nix::sys::signal::Signal;
use std::{
    fs,
    io::{self, Read, Write},
    os::unix::process::ExitStatusExt,
    time::{Duration, Instant},
};

#[test]
#[ignore = "a victim: started by the other tests"]
fn victim() {
    let report = std::env::var("VICTIM_REPORT").unwrap();
    let site = Site::open().unwrap();
    let daemon = run_family(&site);
    let watched = daemon.clone();
    let _interrupt = interrupt::on_interrupt(move |signal| {
        // Not by `println!`, whose lock the test may hold.
        let _ = writeln!(io::stderr(), "REPORT {signal}: {:?}", watched.state());
        println!("\nREPORTING");
        match report.as_str() {
            "hang" => drop(watched.wait_exit(Duration::from_secs(60))),
            "panic" => panic!("in the report"),
            _ => {}
        }
    })
    .unwrap();
    let forgotten = interrupt::on_interrupt(|_| eprintln!("REPORT of what is over")).unwrap();
    drop(forgotten);
    Lab::tell(&site, &daemon);
    if std::env::var("VICTIM_REPORT").unwrap() == "held" {
        interrupt::wait();
        println!("\nHELD NO LONGER");
        site.remove().unwrap();
        return;
    }
    drop(daemon.wait_exit(Duration::from_secs(60)));
    // The keeper has ended it, and the signal is about to end us; an exit would overtake it.
    assert!(interrupt::is_ending());
    interrupt::step_aside();
    unreachable!("the process has died by then");
}

struct End {
    died_by: Option<i32>,
    stderr: String,
}

fn end(mut victim: Victim) -> End {
    let mut stderr = String::new();
    victim
        .child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    End {
        died_by: victim.child.wait().unwrap().signal(),
        stderr,
    }
}

fn start(report: &str) -> (Victim, Lab) {
    let mut victim = Victim::start("victim", &[("VICTIM_REPORT", report)]);
    let lab = victim.lab();
    (victim, lab)
}

#[test]
fn a_signal_brings_the_report_then_the_end_and_is_what_the_process_dies_of() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let (victim, lab) = start("short");
        send(victim.pid(), signal);
        let end = end(victim);
        assert_eq!(end.died_by, Some(signal as i32));
        let report = format!("REPORT {}: Running", signal.as_str());
        assert!(end.stderr.contains(&report), "{}", end.stderr);
        assert!(!end.stderr.contains("what is over"), "{}", end.stderr);
        // The keeper had finished before it died.
        assert_eq!(lab.remains(), [""; 0]);
        fs::remove_dir_all(&lab.dir).unwrap();
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_report() {
    let (mut victim, lab) = start("hang");
    send(victim.pid(), Signal::SIGINT);
    victim.line("REPORTING");
    let began = Instant::now();
    send(victim.pid(), Signal::SIGINT);
    assert_eq!(end(victim).died_by, Some(2));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    lab.wait_gone();
    fs::remove_dir_all(&lab.dir).unwrap();
}

#[test]
fn a_report_that_panics_does_not_keep_the_process_from_ending() {
    let (victim, lab) = start("panic");
    send(victim.pid(), Signal::SIGTERM);
    assert_eq!(end(victim).died_by, Some(15));
    assert_eq!(lab.remains(), [""; 0]);
    fs::remove_dir_all(&lab.dir).unwrap();
}

#[test]
fn a_report_that_hangs_is_given_up() {
    let (victim, lab) = start("hang");
    send(victim.pid(), Signal::SIGTERM);
    assert_eq!(end(victim).died_by, Some(15));
    assert_eq!(lab.remains(), [""; 0]);
    fs::remove_dir_all(&lab.dir).unwrap();
}

#[test]
fn who_waits_for_a_signal_takes_it_and_lives_on() {
    let (mut victim, lab) = start("held");
    // It tells of its lab just before it waits.
    eventually("the victim to wait", SOON, || {
        let threads = fs::read_dir(format!("/proc/{}/task", victim.pid())).unwrap();
        threads.flatten().all(|thread| {
            let state = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            state.contains(") S ")
        })
    });
    send(victim.pid(), Signal::SIGINT);
    victim.line("HELD NO LONGER");
    let end = end(victim);
    assert_eq!(end.died_by, None);
    assert!(!end.stderr.contains("REPORT"), "{}", end.stderr);
    lab.wait_gone();
    assert!(!lab.dir.exists());
}
