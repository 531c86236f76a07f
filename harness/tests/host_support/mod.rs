//! What the host floor's own tests share: stub daemons, and victims.
//!
//! A victim is this very test binary started again to run one ignored test, so that what happens
//! to a whole test process can be watched from outside.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "all of this is part of tests")]

use boltwright::host::{Command, Process, Program, Site, Step, Wait, role};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    net::{Ipv4Addr, UdpSocket},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Stdio},
    time::Duration,
};

/// How soon nothing may be left of a lab.
pub const SOON: Duration = Duration::from_secs(2);

/// A command that runs a shell script in a directory of the site.
pub fn script(site: &Site, name: &str, script: &str) -> Command {
    let shell = Program::given("sh", Path::new("/bin/sh")).unwrap();
    Command {
        args: vec!["-c".into(), script.into()],
        ..Command::new(name, shell, site.dir().join(name))
    }
}

/// A running shell script.
pub fn run(site: &Site, name: &str, text: &str) -> Process {
    site.spawn(script(site, name, text)).unwrap()
}

/// Whether a process is there and not a mere zombie.
pub fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    !stat.is_empty() && !state.starts_with(['Z', 'X'])
}

/// Waits until a condition holds.
pub fn eventually(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    Wait::for_(what)
        .timeout(within)
        .until(|| match holds() {
            true => Step::Done(()),
            false => Step::NotYet("not so".to_owned()),
        })
        .unwrap();
}

/// Whether nobody holds the lease of the block that has this first address.
pub fn is_free(lease: Ipv4Addr) -> bool {
    UdpSocket::bind((lease, boltwright::host::address::LEASE_PORT)).is_ok()
}

pub fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

/// All processes that carry this marker, or any of the lab if only its name is given.
pub fn marked(marker: &str) -> Vec<u32> {
    let wanted = format!("BOLTWRIGHT_LAB={marker}");
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut entries = environment.split(|&byte| byte == 0);
            entries.any(|entry| entry == wanted.as_bytes()) && is_alive(pid)
        })
        .collect()
}

/// What a victim tells of its lab.
#[derive(Debug, Clone)]
pub struct Lab {
    pub keeper: u32,
    pub lease: Ipv4Addr,
    pub marker: String,
    pub dir: PathBuf,
    /// The process that the keeper itself has started.
    pub daemon: u32,
    /// It and all of its family.
    pub pids: Vec<u32>,
}

impl Lab {
    /// Prints what [`Victim::lab`] reads.
    pub fn tell(site: &Site, daemon: &Process) {
        let pids: Vec<_> = site
            .living()
            .iter()
            .map(|(pid, _)| pid.to_string())
            .collect();
        println!(
            "\nVICTIM {} {} {} {} {} {}",
            site.keeper_pid(),
            site.block().address(1),
            site.marker(),
            site.dir().display(),
            daemon.pid(),
            pids.join(",")
        );
    }

    fn read(line: &str) -> Lab {
        let mut words = line.split(' ').skip(1);
        let mut word = || words.next().unwrap();
        Lab {
            keeper: word().parse().unwrap(),
            lease: word().parse().unwrap(),
            marker: word().to_owned(),
            dir: word().into(),
            daemon: word().parse().unwrap(),
            pids: word().split(',').map(|pid| pid.parse().unwrap()).collect(),
        }
    }

    /// What is left of it, in words; nothing if nothing is.
    pub fn remains(&self) -> Vec<String> {
        let mut remains: Vec<_> = self
            .pids
            .iter()
            .chain(&marked(&self.marker))
            .filter(|&&pid| is_alive(pid))
            .map(|pid| format!("process {pid}"))
            .collect();
        if is_alive(self.keeper) {
            remains.push(format!("keeper {}", self.keeper));
        }
        if !is_free(self.lease) {
            remains.push(format!("lease {}", self.lease));
        }
        remains
    }

    /// Waits until nothing is left.
    pub fn wait_gone(&self) {
        Wait::for_("nothing to be left of a lab")
            .timeout(SOON)
            .until(|| match self.remains() {
                remains if remains.is_empty() => Step::Done(()),
                remains => Step::NotYet(format!("{remains:?}")),
            })
            .unwrap();
    }
}

/// A test process to be watched from outside.
pub struct Victim {
    pub child: Child,
    pub stdout: BufReader<ChildStdout>,
}

impl Victim {
    /// Starts the ignored test `name` of this binary in a process (and a process group) of its own.
    pub fn start(name: &str, env: &[(&str, &str)]) -> Victim {
        // Not by its path: a rebuild may have put another file there.
        Victim::start_file(&role::executable().unwrap(), name, env)
    }

    pub fn start_file(file: &Path, name: &str, env: &[(&str, &str)]) -> Victim {
        let mut child = std::process::Command::new(file)
            .args(["--ignored", "--exact", name, "--nocapture"])
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Victim { child, stdout }
    }

    /// Waits until it has told of its lab.
    pub fn lab(&mut self) -> Lab {
        let line = self.line("VICTIM ");
        Lab::read(&line)
    }

    /// The next line that begins so.
    pub fn line(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.stdout.read_line(&mut line).unwrap();
            assert!(length > 0, "the victim ended without a word");
            if line.starts_with(start) {
                return line.trim_end().to_owned();
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A daemon as nasty as they come: children in the background, in sessions of their own, deaf to
/// polite signals, orphaned twice over, without the lab's marker, stopped.
pub const FAMILY: &str = "
    sleep 1001 &
    setsid sh -c 'sleep 1002 & sleep 1003' &
    (setsid sh -c \"trap '' TERM HUP INT; (setsid sleep 1004 &); sleep 1005\" &)
    env -i setsid sleep 1006 &
    (sh -c 'kill -STOP $$; sleep 1007' &)
    exec sleep 1008";

/// How many processes that makes for good.
pub const FAMILY_SIZE: usize = 10;

/// A daemon with its family, complete.
pub fn run_family(site: &Site) -> Process {
    let daemon = run(site, "family", FAMILY);
    let members = [
        "sleep 1001",
        "sleep 1002",
        "sleep 1003",
        "sleep 1004",
        "sleep 1005",
        "sleep 1006",
        "sleep 1008",
        "sh -c kill -STOP $$; sleep 1007",
    ];
    eventually("the family to be complete", SOON, || {
        let living = site.living();
        members
            .iter()
            .all(|member| living.iter().any(|(_, command)| command == member))
    });
    daemon
}
