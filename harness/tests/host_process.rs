//! How a process lives, speaks, is stopped, and dies: stub daemons.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod host_support;

use boltwright::host::{Error, Exit, Mark, Process, Site, Step, StoppedBy, Wait, wait::Failure};
use host_support::{SOON, eventually, run};
use std::{
    fs,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_wait_fails_at_once_and_with_its_words_when_the_daemon_dies() {
    let site = Site::open().unwrap();
    let daemon = run(
        &site,
        "bitcoind",
        "echo loading; echo 'Error: no such option' >&2; exit 3",
    );
    let began = Instant::now();
    let failure = Wait::for_("bitcoind to answer")
        .timeout(LONG)
        .watching(&daemon)
        .until(|| Step::<()>::NotYet("connection refused".to_owned()))
        .unwrap_err();
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    let story = failure.to_string();
    for part in [
        "bitcoind to answer",
        "exit code 3",
        "Error: no such option",
        "loading",
        "/bitcoind/stdout",
    ] {
        assert!(story.contains(part), "{part}: {story}");
    }
    let Failure::Died { death, last, .. } = failure else {
        panic!("{failure:?}")
    };
    assert_eq!((death.exit, death.pid), (Exit::Code(3), daemon.pid()));
    assert_eq!(last, "connection refused");
    site.remove().unwrap();
}

#[test]
fn a_wait_that_runs_out_of_time_shows_the_log_of_what_it_watched() {
    let site = Site::open().unwrap();
    let daemon = run(&site, "alice", "echo syncing headers; exec sleep 1030");
    daemon
        .log()
        .wait_for(Mark::START, "syncing", LONG, &daemon)
        .unwrap();
    let story = Wait::for_("alice to be synced")
        .timeout(Duration::from_millis(50))
        .watching(&daemon)
        .until(|| Step::<()>::NotYet("height 101".to_owned()))
        .unwrap_err()
        .to_string();
    assert!(
        story.contains("height 101") && story.contains("\n    syncing headers"),
        "{story}"
    );
    site.remove().unwrap();
}

#[test]
fn what_a_daemon_writes_while_it_exits_is_still_read() {
    let site = Site::open().unwrap();
    let daemon = run(
        &site,
        "daemon",
        r"printf '\377 first\nlast \360 words'; exit 1",
    );
    let line = daemon
        .log()
        .wait_for(Mark::START, "last .* words$", LONG, &daemon)
        .unwrap();
    assert!(line.starts_with("last "), "{line}");
    // But what is not there will not come either.
    let began = Instant::now();
    let error = daemon
        .log()
        .wait_for(Mark::START, "more", LONG, &daemon)
        .unwrap_err();
    assert!(began.elapsed() < SOON);
    assert!(
        matches!(error, Error::Wait(Failure::Died { .. })),
        "{error}"
    );
    site.remove().unwrap();
}

#[test]
fn a_daemon_that_cannot_have_its_address_tells_who_has_it() {
    let site = Site::open().unwrap();
    let address = site.block().address(2);
    let thief = TcpListener::bind((address, 0)).unwrap();
    let port = thief.local_addr().unwrap().port();
    let daemon = run(
        &site,
        "bitcoind",
        &format!("echo 'Error: Unable to bind to {address}:{port} on this computer.' >&2; exit 1"),
    );
    daemon.wait_exit(SOON).unwrap();
    let story = daemon.alive().unwrap_err().to_string();
    let holder = format!(
        "{address}:{port}, which it needs, is held by pid {}",
        std::process::id()
    );
    assert!(story.contains(&holder), "{story}");
    site.remove().unwrap();
}

#[test]
fn a_death_by_any_signal_is_told() {
    let site = Site::open().unwrap();
    for signal in [6, 11, 15, 40] {
        let daemon = run(
            &site,
            &format!("by-{signal}"),
            &format!("ulimit -c 0; kill -{signal} $$"),
        );
        assert_eq!(daemon.wait_exit(SOON).unwrap(), Exit::Signal(signal));
    }
    let story = site.processes()[1].alive().unwrap_err().to_string();
    assert!(
        story.contains("SIGSEGV (signal 11)") && story.contains("left no words"),
        "{story}"
    );
    site.remove().unwrap();
}

/// A daemon that answers `ask` by `reply`, a shell command for the trap of SIGUSR1.
fn stoppable(site: &Site, name: &str, traps: &str) -> Process {
    let text = format!("{traps}\necho ready\nwhile :; do sleep 1031 & wait $!; done");
    let daemon = run(site, name, &text);
    daemon
        .log()
        .wait_for(Mark::START, "ready", LONG, &daemon)
        .unwrap();
    daemon
}

#[test]
fn stopping_goes_from_asking_to_killing_and_tells_which_it_took() {
    let site = Site::open().unwrap();
    let timeout = Duration::from_secs(2);
    for (name, traps, expected) in [
        (
            "polite",
            "trap 'exit 5' USR1",
            (Exit::Code(5), StoppedBy::Request),
        ),
        (
            "busy",
            "trap '' USR1; trap 'exit 7' TERM",
            (Exit::Code(7), StoppedBy::Term),
        ),
        (
            "hung",
            "ulimit -c 0; trap '' USR1 TERM",
            (Exit::Signal(6), StoppedBy::Abort),
        ),
        (
            "deaf",
            "trap '' USR1 TERM ABRT",
            (Exit::Signal(9), StoppedBy::Kill),
        ),
    ] {
        let daemon = stoppable(&site, name, traps);
        let began = Instant::now();
        let stopped = daemon
            .stop(timeout, {
                let daemon = daemon.clone();
                move || daemon.signal(10).unwrap()
            })
            .unwrap();
        assert_eq!(stopped, expected, "{name}");
        assert!(began.elapsed() < timeout + SOON, "{name}");
        let again = daemon
            .stop(timeout, || panic!("asked though dead"))
            .unwrap();
        assert_eq!(again, (expected.0, StoppedBy::Already));
    }
    // Their `sleep`s were in their process groups.
    assert_eq!(site.living(), []);
    site.remove().unwrap();
}

#[test]
fn a_suspended_daemon_stands_still_with_its_family_and_can_be_stopped_all_the_same() {
    let site = Site::open().unwrap();
    let daemon = stoppable(&site, "alice", "trap 'exit 7' TERM");
    eventually("alice to have a child", SOON, || site.living().len() == 2);
    let all = |state: &str| {
        site.living().iter().all(|(pid, _)| {
            fs::read_to_string(format!("/proc/{pid}/stat"))
                .unwrap()
                .contains(state)
        })
    };
    daemon.suspend().unwrap();
    eventually("alice to stand still", SOON, || all(") T "));
    daemon.resume().unwrap();
    eventually("alice to go on", SOON, || all(") S "));
    daemon.suspend().unwrap();
    let stopped = daemon.stop(Duration::from_secs(4), || ()).unwrap();
    assert_eq!(stopped, (Exit::Code(7), StoppedBy::Term));
    site.remove().unwrap();
}

#[test]
fn a_kill_takes_the_whole_process_group_also_when_its_leader_is_gone() {
    let site = Site::open().unwrap();
    let daemon = run(
        &site,
        "daemon",
        "sleep 1032 & sleep 1033 & echo ready; exec sleep 1034",
    );
    daemon
        .log()
        .wait_for(Mark::START, "ready", LONG, &daemon)
        .unwrap();
    assert_eq!(daemon.kill().unwrap(), Exit::Signal(9));
    assert_eq!(site.living(), []);
    let leader = run(&site, "leader", "sleep 1035 & sleep 1036 & exit 0");
    leader.wait_exit(SOON).unwrap();
    assert_eq!(site.living().len(), 2);
    assert_eq!(leader.kill().unwrap(), Exit::Code(0));
    assert_eq!(site.living(), []);
    site.remove().unwrap();
}

#[test]
fn a_signal_to_a_dead_process_is_an_error_that_tells_of_its_death() {
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exit 2");
    daemon.wait_exit(SOON).unwrap();
    assert!(matches!(daemon.signal(15), Err(Error::Death(_))));
    let living = run(&site, "living", "exec sleep 1037");
    let error = living.signal(12_345).unwrap_err().to_string();
    assert!(error.contains("12345"), "{error}");
    site.remove().unwrap();
}

#[test]
fn a_restart_appends_to_its_files_and_its_death_is_told_from_its_own_run() {
    let site = Site::open().unwrap();
    let first = run(
        &site,
        "alice",
        "echo first run; echo first complaint >&2; exit 1",
    );
    first.wait_exit(SOON).unwrap();
    let second = run(
        &site,
        "alice",
        "echo second run; echo second complaint >&2; exit 1",
    );
    second.wait_exit(SOON).unwrap();
    let all = second.log().lines_from(Mark::START).unwrap();
    assert_eq!(all, ["first run", "second run"]);
    assert_eq!(
        second.log().lines_from(second.log_start()).unwrap(),
        ["second run"]
    );
    let death = second.alive().unwrap_err();
    assert_eq!(
        (death.stderr, death.log),
        (
            vec!["second complaint".to_owned()],
            vec!["second run".to_owned()]
        )
    );
    site.remove().unwrap();
}

#[test]
fn a_wait_notices_a_death_sooner_than_its_pauses_are_long() {
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exec sleep 1041");
    let handle = daemon.clone();
    let (mut looks, mut killed) = (0, None);
    let failure = Wait::for_("the end")
        .timeout(LONG)
        .watching(&daemon)
        .until(|| {
            looks += 1;
            // By now the pauses have grown to their longest.
            if looks == 20 {
                let handle = handle.clone();
                killed = Some((
                    Instant::now(),
                    thread::spawn(move || handle.kill().unwrap()),
                ));
            }
            Step::<()>::NotYet(String::new())
        });
    let (killed, thread) = killed.unwrap();
    assert!(matches!(failure, Err(Failure::Died { .. })));
    println!("noticed {:.1?} after the kill was sent", killed.elapsed());
    assert!(killed.elapsed() < Duration::from_millis(500));
    thread.join().unwrap();
    site.remove().unwrap();
}
