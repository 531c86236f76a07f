//! `boltwright up`, and what talks to it: `rpc` and `logs`.

mod command;
#[path = "command/living.rs"]
mod living;

use command::{boltwright, err, expect_code, out};
use living::{entries, expect_nothing_living, living};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A lab held by `boltwright up` in a folder of its own.
struct Lab {
    base: TempDir,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// What it printed until it was ready.
    guide: String,
}

impl Lab {
    fn up(options: &[&str]) -> Lab {
        let base = tempfile::tempdir().expect("a directory");
        let mut child = boltwright(&[&["up"], options].concat())
            .env("TEST_DIR", base.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut guide = String::new();
        while !guide.contains("Ctrl-C ends") {
            guide += &lines.next().expect("it gets ready").expect("text");
            guide.push('\n');
        }
        Lab {
            base,
            child,
            lines,
            guide,
        }
    }

    fn dir(&self) -> PathBuf {
        let names = entries(self.base.path());
        assert_eq!(names.len(), 1, "{names:?}");
        self.base.path().join(&names[0])
    }

    #[track_caller]
    fn rpc(&self, words: &[&str]) -> String {
        let dir = self.dir();
        let lab = ["--lab", dir.to_str().expect("a plain path")];
        let output = boltwright(&[&["rpc"], words, &lab].concat())
            .output()
            .expect("it runs");
        expect_code(&output, 0);
        out(&output)
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.rpc(words)).expect("JSON")
    }

    fn end(&mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("sent");
        let status = self.child.wait().expect("its end");
        for line in self.lines.by_ref() {
            line.expect("text");
        }
        status
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // After a failure; its keeper ends the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_person_can_talk_to_everything_in_it_and_ctrl_c_ends_it() {
    let mut lab = Lab::up(&["--capacity-sat", "500000"]);
    for words in [
        "3 nodes and 2 channels of 500,000 sat",
        "rpc alice getinfo",
        "bitcoin-cli",
    ] {
        assert!(lab.guide.contains(words), "{words}: {}", lab.guide);
    }
    let before = lab.json(&["bitcoind", "getblockcount"]);
    lab.rpc(&["bitcoind", "generatetodescriptor", "1", "raw(51)"]);
    let after = lab.json(&["bitcoind", "getblockcount"]);
    assert_eq!(after.as_u64(), before.as_u64().map(|height| height + 1));
    let named = lab.json(&["bitcoind", "getblockhash", &format!("height={before}")]);
    assert_eq!(
        named,
        lab.json(&["bitcoind", "getblockhash", &before.to_string()])
    );

    let invoice = lab.rpc(&[
        "carol",
        "invoice",
        "amount_msat=25000000",
        "description=a coffee",
        "--get",
        "invoice",
    ]);
    let invoice = invoice.trim_end();
    assert!(invoice.starts_with("lnbcrt"), "{invoice}");
    let paid = lab.json(&["alice", "pay", &format!("invoice={invoice}")]);
    assert_eq!(paid["amount_msat"], 25_000_000);

    let socket = lab.dir().join("bob/rpc.sock");
    let info = lab.json(&[socket.to_str().expect("a plain path"), "getinfo"]);
    assert_eq!(info["alias"], "bob");

    let dir = lab.dir();
    let logs = boltwright(&[
        "logs",
        dir.to_str().expect("a plain path"),
        "--node",
        "alice",
    ]);
    let logs = { logs }.output().expect("it runs");
    expect_code(&logs, 0);
    assert!(out(&logs).contains("INFO"), "{}", out(&logs));

    assert_eq!(lab.end(Signal::SIGINT).code(), Some(0));
    expect_nothing_living(lab.base.path(), Duration::from_secs(2));
    assert_eq!(entries(lab.base.path()), [""; 0]);
}

#[test]
fn a_refused_call_and_an_unknown_name_are_told() {
    let mut lab = Lab::up(&["--nodes", "1"]);
    let dir = lab.dir();
    let lab_option = ["--lab", dir.to_str().expect("a plain path")];
    for (words, said) in [
        (&["alice", "nosuchmethod"][..], "nosuchmethod"),
        (&["bitcoind", "getblockhash", "1000000"], "code -8"),
        (&["mallory", "getinfo"], "there are: bitcoind, alice"),
        (
            &["alice", "getinfo", "--get", "colour"],
            "no field \"colour\"",
        ),
    ] {
        let output = boltwright(&[&["rpc"], words, &lab_option].concat())
            .output()
            .expect("it runs");
        expect_code(&output, 1);
        assert!(err(&output).contains(said), "{}", err(&output));
    }
    assert_eq!(lab.end(Signal::SIGTERM).code(), Some(0));
    expect_nothing_living(lab.base.path(), Duration::from_secs(2));
}

#[test]
fn a_ring_has_as_many_channels_as_nodes_and_blocks_come_by_themselves() {
    let mut lab = Lab::up(&[
        "--nodes",
        "4",
        "--topology",
        "ring",
        "--mine-every",
        "0.2",
        "--keep",
    ]);
    assert!(
        lab.guide.contains("4 nodes and 4 channels"),
        "{}",
        lab.guide
    );
    let height = || {
        lab.json(&["bitcoind", "getblockcount"])
            .as_u64()
            .expect("a height")
    };
    let before = height();
    let wait = lab.json(&[
        "bitcoind",
        "waitforblockheight",
        &(before + 2).to_string(),
        "20000",
    ]);
    assert!(wait["height"].as_u64() >= Some(before + 2), "{wait}");
    let dir = lab.dir();
    assert_eq!(lab.end(Signal::SIGTERM).code(), Some(0));
    expect_nothing_living(lab.base.path(), Duration::from_secs(2));
    assert!(dir.join("dave/log").exists(), "kept");
}

#[test]
fn killed_it_leaves_no_process() {
    let mut lab = Lab::up(&[]);
    assert!(
        living(lab.base.path()).len() >= 4,
        "{:?}",
        living(lab.base.path())
    );
    lab.end(Signal::SIGKILL);
    expect_nothing_living(lab.base.path(), Duration::from_secs(2));
    // Its directory is there, and says so itself.
    assert!(lab.dir().join("lab.json").exists());
}
