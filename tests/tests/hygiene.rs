//! Nothing outlives a test, however it ends.
//!
//! A victim is this very binary started again to run one ignored test, which stands in a lab with
//! a bitcoind and two nodes with a channel and then ends in some way, or is ended. What it left is
//! looked for from outside: processes by the marker in their environment, the lease by binding it.

use boltwright::host::address::LEASE_PORT;
use boltwright::host::{Step, Wait};
use boltwright::prelude::*;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How soon nothing may be left.
const SOON: Duration = Duration::from_secs(2);

/// The victims, in a module of their own so that they can be named together.
mod victims {
    use super::*;

    /// Sets up, says where everything is, and stands in the middle of a payment loop.
    fn set_up(lab: &Lab) -> Result<[Node; 2]> {
        let [alice, bob] = lab.line(Amount::from_sat(1_000_000))?;
        let lease = SocketAddrV4::new(lab.site().block().address(1), LEASE_PORT);
        println!("marker {}", lab.site().marker());
        println!("keeper {}", lab.site().keeper_pid());
        println!("lease {lease}");
        println!("dir {}", lab.dir().display());
        Ok([alice, bob])
    }

    /// Now it may be ended.
    fn ready() {
        println!("ready");
    }

    #[boltwright::test]
    #[ignore = "a victim of this suite: it pays until it is ended from outside"]
    fn pays_for_ever(lab: &Lab) -> Result {
        let [alice, bob] = set_up(lab)?;
        ready();
        loop {
            alice.pay(&bob.invoice(Msat::from_sat(1_000), "again")?)?;
        }
    }

    #[boltwright::test]
    #[ignore = "a victim of this suite: it waits for what never comes"]
    fn waits_for_ever(lab: &Lab) -> Result {
        let [alice, _bob] = set_up(lab)?;
        let mut looks = 0;
        alice.wait_until("a third peer", |node| {
            let peers = node.peers()?.len();
            looks += 1;
            if looks == 3 {
                ready(); // what the first looks saw is in the report
            }
            Ok(match peers {
                3.. => Step::Done(()),
                _ => Step::NotYet(format!("{peers} peers")),
            })
        })?;
        Ok(())
    }

    #[boltwright::test]
    #[ignore = "a victim of this suite: it panics"]
    fn panics(lab: &Lab) -> Result {
        let [alice, _bob] = set_up(lab)?;
        ready();
        panic!("as planned, with {} running", alice.title());
    }

    #[boltwright::test]
    #[ignore = "a victim of this suite: it aborts"]
    fn aborts(lab: &Lab) -> Result {
        set_up(lab)?;
        ready();
        std::process::abort();
    }

    #[boltwright::test]
    #[ignore = "a victim of this suite: it passes"]
    fn passes(lab: &Lab) -> Result {
        set_up(lab)?;
        ready();
        Ok(())
    }

    #[boltwright::test]
    #[ignore = "a victim of this suite: it fails"]
    fn fails(lab: &Lab) -> Result {
        let [alice, bob] = set_up(lab)?;
        ready();
        alice.pay(&bob.invoice(Msat::from_sat(5_000_000), "more than there is")?)?;
        Ok(())
    }
}

/// A victim that stands in the middle of its test.
struct Victim {
    child: Child,
    out: BufReader<ChildStdout>,
    marker: String,
    keeper: i32,
    lease: SocketAddrV4,
    dir: PathBuf,
    /// Where its lab's directory was made; removed with this.
    base: tempfile::TempDir,
}

impl Victim {
    /// Starts a victim in a process group of its own, as nextest does, and waits until it is ready.
    fn start(name: &str, env: &[(&str, &str)]) -> Result<Victim> {
        let base = tempfile::tempdir()?;
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "--exact",
                &format!("victims::{name}"),
                "--ignored",
                "--nocapture",
            ])
            .env("TEST_DIR", base.path())
            .env_remove("BOLTWRIGHT_KEEP")
            .env_remove("BOLTWRIGHT_ARTIFACTS")
            .env_remove("BOLTWRIGHT_PAUSE")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let mut out = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut told = std::collections::BTreeMap::new();
        loop {
            let mut line = String::new();
            if out.read_line(&mut line)? == 0 {
                let mut words = String::new();
                if let Some(mut stderr) = child.stderr.take() {
                    stderr.read_to_string(&mut words)?;
                }
                child.wait()?;
                return Err(format!("the victim ended before it was ready:\n{words}").into());
            }
            match line.trim().split_once(' ') {
                Some((key, value)) => drop(told.insert(key.to_owned(), value.to_owned())),
                None if line.trim() == "ready" => break,
                None => {}
            }
        }
        let get = |key: &str| told.get(key).cloned().ok_or(format!("no {key}"));
        Ok(Victim {
            marker: get("marker")?,
            keeper: get("keeper")?.parse()?,
            lease: get("lease")?.parse()?,
            dir: get("dir")?.into(),
            child,
            out,
            base,
        })
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Waits for its end; what it wrote on stderr.
    fn end(&mut self) -> Result<(ExitStatus, String)> {
        let mut words = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut words)?;
        }
        self.out.read_to_string(&mut String::new())?;
        Ok((self.child.wait()?, words))
    }

    /// Nothing of it is left, soon: no process, no keeper, no lease.
    fn leaves_nothing(&self) -> Result {
        Wait::for_("everything of the victim's to be gone")
            .timeout(SOON)
            .until(
                || match left_of(&self.marker, self.keeper, self.lease).as_slice() {
                    [] => Step::Done(()),
                    left => Step::NotYet(left.join(", ")),
                },
            )?;
        Ok(())
    }

    /// Its keeper ends, which is the last thing that a lab does.
    fn keeper_ends(&self) -> Result {
        Wait::for_("the victim's keeper to end").until(|| match is_alive(self.keeper) {
            true => Step::NotYet("it lives".to_owned()),
            false => Step::Done(()),
        })?;
        Ok(())
    }

    fn dirs_left(&self) -> Result<usize> {
        let entries = std::fs::read_dir(self.base.path())?;
        Ok(entries.count())
    }
}

impl Drop for Victim {
    /// A test of this suite that fails must not leave its victim.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is left of a lab: processes with its marker, its keeper, its lease.
fn left_of(marker: &str, keeper: i32, lease: SocketAddrV4) -> Vec<String> {
    let mut left = marked(marker);
    if is_alive(keeper) {
        left.push(format!("keeper {keeper}"));
    }
    if let Err(error) = UdpSocket::bind(lease) {
        left.push(format!("lease {lease}: {error}"));
    }
    left
}

/// Whether a process runs. One that has ended and waits for init to reap it, which inherits the
/// keeper of a killed test, is nothing of ours any more.
fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default();
    !matches!(state.trim_start().chars().next(), None | Some('Z' | 'X'))
}

/// All living processes that carry this marker in their environment.
fn marked(marker: &str) -> Vec<String> {
    let wanted = format!("BOLTWRIGHT_LAB={marker}").into_bytes();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return vec!["/proc cannot be read".to_owned()];
    };
    let carries = |dir: &Path| {
        let environ = std::fs::read(dir.join("environ")).unwrap_or_default();
        environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted)
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|dir| carries(dir))
        .map(|dir| {
            let command = std::fs::read_to_string(dir.join("cmdline")).unwrap_or_default();
            format!("{} {}", dir.display(), command.replace('\0', " "))
        })
        .collect()
}

#[boltwright::test]
fn sigkill_of_a_test_leaves_nothing_and_keeps_its_directory(_lab: &Lab) -> Result {
    let mut victim = Victim::start("pays_for_ever", &[])?;
    assert!(
        marked(&victim.marker).len() >= 3,
        "bitcoind and two nodes run"
    );
    victim.child.kill()?;
    victim.leaves_nothing()?;
    victim.end()?;
    assert!(
        victim.dir.join("harness.log").exists(),
        "its directory is gone"
    );
    Ok(())
}

#[boltwright::test(each = ["SIGTERM", "SIGINT"])]
fn a_signal_brings_the_report_and_leaves_nothing(_lab: &Lab, signal: &str) -> Result {
    let mut victim = Victim::start("waits_for_ever", &[])?;
    kill(victim.pid(), signal.parse::<Signal>()?)?;
    let (status, words) = victim.end()?;
    victim.leaves_nothing()?;
    let expected = signal.parse::<Signal>()? as i32;
    let died_of = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(died_of, Some(expected), "{status}\n{words}");
    for told in [
        signal,
        "a third peer",
        "1 peers",
        "timeline",
        "alice (ldk)",
        "boltwright logs",
        "BOLTWRIGHT_SEED=",
    ] {
        assert!(
            words.contains(told),
            "the report does not tell {told:?}:\n{words}"
        );
    }
    assert!(
        victim.dir.join("harness.log").exists(),
        "its directory is gone"
    );
    Ok(())
}

/// What nextest does: SIGTERM to the group, and SIGKILL to it after a grace period.
#[boltwright::test]
fn a_runners_timeout_leaves_nothing(_lab: &Lab) -> Result {
    let mut victim = Victim::start("pays_for_ever", &[])?;
    killpg(victim.pid(), Signal::SIGTERM)?;
    victim.keeper_ends()?;
    // Whatever the test is still at: the grace period is over.
    let _ = killpg(victim.pid(), Signal::SIGKILL);
    victim.end()?;
    victim.leaves_nothing()
}

#[boltwright::test(each = ["panics", "aborts", "fails"])]
fn a_test_that_goes_wrong_leaves_only_its_directory(_lab: &Lab, how: &str) -> Result {
    let mut victim = Victim::start(how, &[])?;
    let (status, words) = victim.end()?;
    victim.leaves_nothing()?;
    assert!(!status.success(), "{status}\n{words}");
    assert!(
        victim.dir.join("harness.log").exists(),
        "its directory is gone"
    );
    Ok(())
}

#[boltwright::test]
fn a_test_that_passes_leaves_no_directory_either(_lab: &Lab) -> Result {
    let mut victim = Victim::start("passes", &[])?;
    let (status, words) = victim.end()?;
    victim.leaves_nothing()?;
    assert!(status.success(), "{status}\n{words}");
    assert_eq!(victim.dirs_left()?, 0, "{}", victim.dir.display());
    Ok(())
}

#[boltwright::test]
fn a_passed_lab_is_kept_when_that_is_asked_for(_lab: &Lab) -> Result {
    let mut victim = Victim::start("passes", &[("BOLTWRIGHT_KEEP", "1")])?;
    let (status, words) = victim.end()?;
    victim.leaves_nothing()?;
    assert!(status.success(), "{status}\n{words}");
    assert!(words.contains(&victim.dir.display().to_string()), "{words}");
    assert!(victim.dir.join("alice/log").exists());
    Ok(())
}

#[boltwright::test]
fn a_failed_lab_is_collected_where_ci_wants_it(_lab: &Lab) -> Result {
    let artifacts = tempfile::tempdir()?;
    let place = artifacts.path().display().to_string();
    let mut victim = Victim::start("fails", &[("BOLTWRIGHT_ARTIFACTS", &place)])?;
    victim.end()?;
    victim.leaves_nothing()?;
    let collected: Vec<_> = std::fs::read_dir(&place)?.flatten().collect();
    assert_eq!(collected.len(), 1, "{collected:?}");
    assert!(collected[0].path().join("alice/log").exists());
    Ok(())
}

#[boltwright::test]
fn a_keeper_that_is_killed_takes_everything_with_it(_lab: &Lab) -> Result {
    let mut victim = Victim::start("pays_for_ever", &[])?;
    kill(Pid::from_raw(victim.keeper), Signal::SIGKILL)?;
    let (status, words) = victim.end()?;
    victim.leaves_nothing()?;
    assert!(!status.success(), "{status}\n{words}");
    assert!(words.contains("FAILED victims::pays_for_ever"), "{words}");
    Ok(())
}

#[boltwright::test]
fn a_labs_own_deadline_ends_it_with_its_report(_lab: &Lab) -> Result {
    let mut victim = Victim::start("waits_for_ever", &[("BOLTWRIGHT_DEADLINE", "3")])?;
    let (status, words) = victim.end()?;
    victim.leaves_nothing()?;
    assert!(!status.success(), "{status}\n{words}");
    assert!(
        words.contains("deadline of 3 s") && words.contains("a third peer"),
        "{words}"
    );
    Ok(())
}

/// The check itself: a process that carries a living lab's marker is seen, and so is its end.
#[boltwright::test]
fn a_planted_leak_is_found(lab: &Lab) -> Result {
    let marker = lab.site().marker();
    let is_planted = || {
        marked(marker)
            .iter()
            .any(|process| process.contains("sleep 600"))
    };
    assert!(!is_planted());
    let mut planted = plant(marker)?;
    assert!(is_planted(), "the leak was not seen");
    planted.kill()?;
    planted.wait()?;
    assert!(!is_planted());
    Ok(())
}

/// The lab's own end check sees it too.
#[boltwright::test]
fn a_daemons_helper_that_outlives_it_fails_the_lab(_lab: &Lab) -> Result {
    let inner = Lab::builder().name("a lab with a planted leak").start()?;
    let dir = inner.dir().to_owned();
    let mut planted = plant(inner.site().marker())?;
    let finished = inner.finish();
    planted.kill()?;
    planted.wait()?;
    std::fs::remove_dir_all(dir)?;
    let words = finished.expect_err("the leak was not seen").to_string();
    assert!(
        words.contains("leaked processes") && words.contains("sleep 600"),
        "{words}"
    );
    Ok(())
}

fn plant(marker: &str) -> Result<Child> {
    let mut command = Command::new("sleep");
    command.arg("600").env("BOLTWRIGHT_LAB", marker);
    let child = command.spawn()?;
    // The kernel shows an environment only some moments after the exec that `spawn` waits for.
    let environment = format!("/proc/{}/environ", child.id());
    Wait::for_("the planted process to show its environment").until(|| {
        match std::fs::read(&environment).unwrap_or_default().len() {
            0 => Step::NotYet("empty".to_owned()),
            _ => Step::Done(()),
        }
    })?;
    Ok(child)
}

boltwright::main!();
