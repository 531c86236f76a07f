//! The daemon as a process, as far as it goes without a bitcoind: its command line, its exit
//! codes, and the words in which it gives up.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn daemon() -> Command {
    Command::new(env!("CARGO_BIN_EXE_boltwright-ldk"))
}

/// A command line that is complete; nobody listens at its bitcoind address.
fn complete(dir: &Path) -> Command {
    let path = |name: &str| dir.join(name).display().to_string();
    std::fs::write(dir.join("cookie"), "__cookie__:secret").expect("writes the cookie");
    let mut command = daemon();
    command.args(["--data-dir", &path("data"), "--rpc-socket", &path("rpc")]);
    command.args(["--listen", "127.0.0.1:0", "--bitcoind-wallet", "w"]);
    command.args(["--bitcoind-cookie", &path("cookie")]);
    command.args(["--bitcoind-url", &format!("http://{}", vacant())]);
    command.args(["--bitcoind-timeout", "0"]);
    command
}

/// An address of ours at which nobody listens any more.
fn vacant() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    listener.local_addr().expect("has an address")
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("runs");
    let text = |bytes| String::from_utf8(bytes).expect("is UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn help_and_version_are_answered() {
    let mut help = daemon();
    help.arg("--help");
    let (code, stdout, _) = run(help);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("--bitcoind-cookie PATH"), "{stdout}");

    let mut version = daemon();
    version.arg("--version");
    let (code, stdout, _) = run(version);
    assert_eq!(code, Some(0));
    assert_eq!(
        stdout,
        format!("boltwright-ldk {}\n", boltwright_ldk::VERSION)
    );
}

#[test]
fn a_wrong_command_line_is_exit_code_two() {
    for (args, words) in [
        (&[][..], "--data-dir is missing"),
        (&["--bogus"][..], "unknown option --bogus"),
        (&["--store"][..], "--store needs a value"),
        (&["--data-dir=x", "--seed=zz"][..], "64 hexadecimal digits"),
    ] {
        let mut command = daemon();
        command.args(args);
        let (code, _, stderr) = run(command);
        assert_eq!(code, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
}

#[test]
fn a_bitcoind_that_is_not_there_is_exit_code_one_after_the_timeout() {
    let dir = tempfile::tempdir().expect("a directory");
    let start = Instant::now();
    let (code, _, stderr) = run(complete(dir.path()));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("cannot connect to 127.0.0.1:"), "{stderr}");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(!dir.path().join("rpc").exists());
}

#[test]
fn a_peer_port_that_is_taken_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let taken = TcpListener::bind("127.0.0.2:0").expect("binds");
    let address = taken.local_addr().expect("has an address").to_string();
    let mut command = daemon();
    command.args(complete(dir.path()).get_args().map(|arg| {
        if arg == "127.0.0.1:0" {
            address.as_ref()
        } else {
            arg
        }
    }));
    let (code, _, stderr) = run(command);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains(&format!("on {address}: address in use")),
        "{stderr}"
    );
}

#[test]
fn another_seed_than_the_saved_one_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let with_seed = |seed: &str| {
        let mut command = complete(dir.path());
        command.args(["--seed", &seed.repeat(32)]);
        run(command).2
    };
    assert!(with_seed("01").contains("cannot connect"));
    assert!(with_seed("02").contains("--seed differs"));
}

#[test]
fn a_damaged_store_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(run(complete(dir.path())).2.contains("cannot connect"));
    let database = dir.path().join("data/node.sqlite");
    std::fs::write(&database, "scribble".repeat(1000)).expect("writes");
    let (code, _, stderr) = run(complete(dir.path()));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("node.sqlite is damaged"), "{stderr}");
}

#[test]
fn a_log_file_gets_the_version_the_options_and_the_node_id_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    let mut command = complete(dir.path());
    command.arg("--log-file").arg(&log);
    run(command);
    let text = std::fs::read_to_string(log).expect("there is a log");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("INFO  boltwright_ldk::daemon: boltwright-ldk 0."),
        "{text}"
    );
    assert!(lines[1].contains("options: "), "{text}");
    assert!(lines[2].contains("this node is 0"), "{text}");
    assert!(lines.iter().any(|line| line.contains(" ERROR ")), "{text}");
    for line in lines {
        // 2026-11-30T19:56:49.123456Z
        assert_eq!(line.find('Z'), Some(26), "{line}");
    }
}
