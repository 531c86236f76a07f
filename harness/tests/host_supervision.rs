//! Nothing outlives a test, however it ends: stub daemons, real signals.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod host_support;

use boltwright::host::{Exit, Site, State, Step, Wait};
use host_support::{
    FAMILY_SIZE, Lab, SOON, Victim, eventually, is_alive, is_free, marked, run, run_family, send,
};
use nix::{
    sys::signal::Signal,
    unistd::{Pid, getpgid, getsid},
};
use std::{
    fs,
    io::Read,
    os::fd::AsFd,
    path::Path,
    time::{Duration, Instant},
};

/// Opens a site, starts a family in it, tells of it, and does as `VICTIM_END` says.
#[test]
#[ignore = "a victim: started by the other tests"]
fn victim() {
    let site = Site::open().unwrap();
    let daemon = run_family(&site);
    Lab::tell(&site, &daemon);
    match std::env::var("VICTIM_END").unwrap().as_str() {
        "return" => site.remove().unwrap(),
        "drop" => drop(site),
        "panic" => panic!("as told"),
        "abort" => std::process::abort(),
        "exit" => std::process::exit(0),
        _ => drop(daemon.wait_exit(Duration::from_secs(60))),
    }
}

fn start(end: &str) -> (Victim, Lab) {
    let mut victim = Victim::start("victim", &[("VICTIM_END", end)]);
    let lab = victim.lab();
    assert!(lab.pids.len() >= FAMILY_SIZE);
    (victim, lab)
}

/// How often each kind of end is tried; set it higher to be sure.
fn rounds() -> usize {
    std::env::var("ROUNDS").map_or(3, |rounds| rounds.parse().unwrap())
}

#[test]
fn a_test_that_is_killed_leaves_nothing() {
    for _ in 0..rounds() {
        let (mut victim, lab) = start("wait");
        assert_eq!(
            lab.remains().len(),
            lab.remains().len().max(FAMILY_SIZE + 2)
        );
        send(victim.pid(), Signal::SIGKILL);
        victim.child.wait().unwrap();
        let began = Instant::now();
        lab.wait_gone();
        println!("gone {:.0?} after the kill", began.elapsed());
        assert!(lab.dir.exists(), "what failed is kept");
        fs::remove_dir_all(&lab.dir).unwrap();
    }
}

#[test]
fn a_test_that_is_killed_in_the_middle_of_opening_or_starting_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().to_str().unwrap();
    let mut unfinished = 0;
    for round in 0..8 * rounds() as u64 {
        let victim = Victim::start("victim", &[("VICTIM_END", "wait"), ("TEST_DIR", dir)]);
        moment(Duration::from_millis(1 + round % 24));
        send(victim.pid(), Signal::SIGKILL);
        drop(victim);
        let labs = labs_in(base.path());
        unfinished += usize::from(
            labs.iter()
                .any(|lab| !base.path().join(lab).join("family").exists()),
        );
        eventually("keeper and daemons to be gone", SOON, || {
            processes_of(base.path(), &labs).is_empty()
        });
        for lab in labs {
            fs::remove_dir_all(base.path().join(lab)).unwrap();
        }
    }
    println!("{unfinished} were killed before they had started anything");
}

/// Lets a little time pass.
fn moment(time: Duration) {
    let _ = Wait::for_("a moment")
        .timeout(time)
        .until(|| Step::<()>::NotYet(String::new()));
}

fn labs_in(base: &Path) -> Vec<String> {
    let labs = fs::read_dir(base).unwrap().flatten();
    labs.map(|lab| lab.file_name().into_string().unwrap())
        .collect()
}

/// Keepers of these labs, and processes whose home is in there.
fn processes_of(base: &Path, labs: &[String]) -> Vec<u32> {
    let home = format!("HOME={}/", base.display());
    let is_theirs = |pid: &u32| {
        let read =
            |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let command = read("cmdline");
        let keeps = |lab: &String| command == format!("boltwright-keeper\0{lab}\0");
        is_alive(*pid) && (labs.iter().any(keeps) || read("environ").contains(&home))
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_theirs)
        .collect()
}

#[test]
fn a_test_whose_whole_process_group_is_killed_leaves_nothing() {
    let (victim, lab) = start("wait");
    let group = Pid::from_raw(victim.pid().try_into().unwrap());
    nix::sys::signal::killpg(group, Signal::SIGKILL).unwrap();
    lab.wait_gone();
    fs::remove_dir_all(&lab.dir).unwrap();
}

#[test]
fn a_test_that_ends_in_any_other_way_leaves_nothing_either() {
    for (end, kept) in [
        ("return", false),
        ("drop", true),
        ("panic", true),
        ("abort", true),
        ("exit", true),
    ] {
        let (mut victim, lab) = start(end);
        victim.child.wait().unwrap();
        lab.wait_gone();
        assert_eq!(lab.dir.exists(), kept, "{end}");
        if kept {
            fs::remove_dir_all(&lab.dir).unwrap();
        }
    }
}

#[test]
fn a_test_that_is_stopped_and_then_killed_leaves_nothing() {
    let (victim, lab) = start("wait");
    send(victim.pid(), Signal::SIGSTOP);
    send(victim.pid(), Signal::SIGKILL);
    lab.wait_gone();
    fs::remove_dir_all(&lab.dir).unwrap();
}

#[test]
fn killing_all_kills_the_whole_family_and_frees_the_lease() {
    let site = Site::open().unwrap();
    let daemon = run_family(&site);
    let family = site.living();
    let without_marker = family
        .iter()
        .filter(|(pid, _)| !marked(site.marker()).contains(pid));
    assert!(
        without_marker.count() >= 1,
        "one has cleared its environment"
    );
    let lease = site.block().address(1);
    assert!(!is_free(lease));
    let began = Instant::now();
    site.kill_all().unwrap();
    println!(
        "{} processes killed in {:.1?}",
        family.len(),
        began.elapsed()
    );
    assert!(family.iter().all(|&(pid, _)| !is_alive(pid)), "{family:?}");
    assert!(site.living().is_empty());
    assert!(!is_alive(site.keeper_pid()));
    assert!(is_free(lease));
    assert_eq!(daemon.state(), State::Exited(Exit::Signal(9)));
    // Once more is no error, nor is ending the site.
    site.kill_all().unwrap();
    site.remove().unwrap();
    assert!(!site.dir().exists());
}

#[test]
fn a_process_left_behind_by_a_daemon_is_seen_as_living() {
    let site = Site::open().unwrap();
    let tidy = run(&site, "tidy", "exit 0");
    tidy.wait_exit(SOON).unwrap();
    assert_eq!(site.living(), []);
    let leaky = run(&site, "leaky", "env -i setsid sleep 1010 & exit 0");
    leaky.wait_exit(SOON).unwrap();
    eventually("the leak to be what it becomes", SOON, || {
        site.living()
            .first()
            .is_some_and(|(_, command)| command == "sleep 1010")
    });
    assert_eq!(site.living().len(), 1);
    site.remove().unwrap();
}

#[test]
fn polite_signals_do_not_end_a_keeper() {
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exec sleep 1011");
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGPIPE,
        Signal::SIGUSR1,
    ] {
        send(site.keeper_pid(), signal);
    }
    let another = run(&site, "another", "exit 4");
    assert_eq!(another.wait_exit(SOON).unwrap(), Exit::Code(4));
    assert_eq!(daemon.state(), State::Running);
    site.remove().unwrap();
}

#[test]
fn a_keeper_that_was_stopped_still_ends_everything() {
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exec sleep 1033");
    send(site.keeper_pid(), Signal::SIGSTOP);
    site.remove().unwrap();
    assert!(!is_alive(site.keeper_pid()) && !is_alive(daemon.pid()));
}

#[test]
fn when_the_keeper_is_killed_its_processes_die_and_the_test_learns_it() {
    for _ in 0..rounds() {
        let site = Site::open().unwrap();
        let daemon = run_family(&site);
        let family: Vec<_> = site.living().into_iter().map(|(pid, _)| pid).collect();
        let marked_ones = marked(site.marker());
        send(site.keeper_pid(), Signal::SIGKILL);
        assert_eq!(daemon.wait_exit(SOON).unwrap(), Exit::Unknown);
        eventually("all with our marker to be gone", SOON, || {
            marked_ones.iter().all(|&pid| !is_alive(pid))
        });
        let error = site
            .spawn(host_support::script(&site, "late", "exit 0"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("SIGKILL"), "{error}");
        // The one that has cleared its environment is beyond reach by now; end it as what it is.
        end_strays(&family);
        site.remove().unwrap();
    }
}

#[test]
fn a_keeper_s_own_children_die_with_it_though_no_sweep_could_find_them() {
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exec env -i sleep 1015");
    eventually("the daemon to have no marker", SOON, || {
        marked(site.marker()).is_empty() && is_alive(daemon.pid())
    });
    send(site.keeper_pid(), Signal::SIGKILL);
    eventually("the daemon to be dead", SOON, || !is_alive(daemon.pid()));
    site.remove().unwrap();
}

#[test]
fn a_keeper_has_a_session_and_each_daemon_a_process_group_of_its_own() {
    let site = Site::open().unwrap();
    let daemons = [
        run(&site, "alice", "exec sleep 1016"),
        run(&site, "bob", "exec sleep 1017"),
    ];
    let pid = |pid: u32| Some(Pid::from_raw(pid.try_into().unwrap()));
    let keeper = pid(site.keeper_pid());
    assert_eq!(getsid(keeper).ok(), keeper);
    for daemon in daemons {
        let daemon = pid(daemon.pid());
        assert_eq!(getsid(daemon).ok(), keeper);
        assert_eq!(getpgid(daemon).ok(), daemon);
    }
    site.remove().unwrap();
}

#[test]
fn what_a_test_and_its_keeper_left_when_both_were_killed_is_swept_by_the_next_site() {
    let bystander = Site::open().unwrap();
    let living = run(
        &bystander,
        "bystander",
        "setsid sleep 1012 & exec sleep 1013",
    );
    let (victim, lab) = start("wait");
    // Held still, so that it cannot sweep.
    send(victim.pid(), Signal::SIGSTOP);
    send(lab.keeper, Signal::SIGKILL);
    eventually("the keeper to be dead", SOON, || !is_alive(lab.keeper));
    // Its own children die with it, whoever looks on.
    eventually("the daemon to be dead", SOON, || !is_alive(lab.daemon));
    send(victim.pid(), Signal::SIGKILL);
    drop(victim);
    let left = marked(&lab.marker);
    assert!(!left.is_empty(), "there is something to be swept");

    let site = Site::open().unwrap();
    eventually("the leftovers to be gone", SOON, || {
        left.iter().all(|&pid| !is_alive(pid))
    });
    assert_eq!(living.state(), State::Running);
    assert_eq!(bystander.living().len(), 2);
    end_strays(&lab.pids);
    fs::remove_dir_all(&lab.dir).unwrap();
    site.remove().unwrap();
    bystander.remove().unwrap();
}

/// Ends those of a family that have cleared their environment: planted by tests here, and without
/// their keeper beyond the reach of what is tested.
fn end_strays(family: &[u32]) {
    for &pid in family {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if command == "sleep\u{0}1006\u{0}" {
            send(pid, Signal::SIGKILL);
        }
    }
}

#[test]
fn nothing_that_the_test_has_open_reaches_keeper_or_daemon() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    // As a C library would have made it.
    nix::fcntl::fcntl(
        writer.as_fd(),
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()),
    )
    .unwrap();
    let site = Site::open().unwrap();
    let daemon = run(&site, "daemon", "exec sleep 1014");
    drop(writer);
    let no_wait = nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK);
    nix::fcntl::fcntl(reader.as_fd(), no_wait).unwrap();
    eventually(
        "the end of file: nobody else has the other end",
        SOON,
        || matches!(reader.read(&mut [0]), Ok(0)),
    );

    let open = |pid: u32| -> Vec<String> {
        let mut fds: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .map(|fd| fd.path())
            .collect();
        fds.sort();
        fds.iter()
            .filter_map(|fd| Some(fs::read_link(fd).ok()?.display().to_string()))
            .collect()
    };
    let dir = site.dir().display();
    let own = [
        "/dev/null".to_owned(),
        format!("{dir}/daemon/stdout"),
        format!("{dir}/daemon/stderr"),
    ];
    // While it starts it opens its libraries.
    eventually("nothing but its own to be open in the daemon", SOON, || {
        open(daemon.pid()) == own
    });
    let keeper = open(site.keeper_pid());
    assert_eq!(keeper[..3], ["/dev/null"; 3], "{keeper:?}");
    site.remove().unwrap();
}
