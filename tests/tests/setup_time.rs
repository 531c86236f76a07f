//! How long a lab takes from nothing to usable and to its end, beside a bare bitcoind started by hand.
//!
//! Ignored by default: it measures and asserts nothing but order, since seconds on a shared machine
//! are no verdict. The arms take turns in every round, so the ratios are of one and the same load:
//!
//! ```sh
//! TEST_DIR=/dev/shm cargo test -p boltwright-tests --test setup_time -- --ignored --nocapture
//! ```

use boltwright::chain::SEARCH;
use boltwright::host::{Step, Wait};
use boltwright::prelude::*;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 20;
const CAPACITY: Amount = Amount::from_sat(1_000_000);

/// One thing that is measured: from nothing to ready, and from there to the end of everything.
type Arm = (&'static str, fn() -> Result<[Duration; 2]>);

const ARMS: [Arm; 5] = [
    ("bare bitcoind, started by hand", bare),
    ("chain ready", || lab(|_| Ok(()))),
    ("chain and one node", || {
        lab(|lab| Ok(lab.node().map(drop)?))
    }),
    ("two nodes, usable channel", || {
        lab(|lab| Ok(lab.line::<2>(CAPACITY).map(drop)?))
    }),
    ("three in a line, announced, sender can route", || {
        lab(|lab| {
            let [alice, _, carol] = lab.topology().capacity(CAPACITY).announced().line()?;
            assert!(alice.can_route(&carol.id(), Msat::from_sat(10_000))?);
            Ok(())
        })
    }),
];

#[boltwright::test]
#[ignore = "a measurement of some minutes; run it by name with --ignored --nocapture"]
fn how_long_a_lab_takes(_lab: &Lab) -> Result {
    let mut seen: [Vec<[Duration; 2]>; ARMS.len()] = Default::default();
    for round in 0..ROUNDS {
        for turn in 0..ARMS.len() {
            let arm = (round + turn) % ARMS.len();
            seen[arm].push((ARMS[arm].1)()?);
        }
    }
    let bare = median(&seen[0], |[ready, _]| *ready);
    println!("medians of {ROUNDS} interleaved rounds; load {}", load());
    println!(
        "{:46} {:>8} {:>8} {:>8} {:>7}",
        "", "ready", "the end", "whole", "× bare"
    );
    for ((name, _), times) in ARMS.iter().zip(&seen) {
        let ready = median(times, |[ready, _]| *ready);
        let end = median(times, |[_, end]| *end);
        let whole = median(times, |[ready, end]| *ready + *end);
        println!(
            "{name:46} {:6.0}ms {:6.0}ms {:6.0}ms {:7.2}",
            millis(ready),
            millis(end),
            millis(whole),
            ready.as_secs_f64() / bare.as_secs_f64()
        );
    }
    Ok(())
}

fn lab(work: impl FnOnce(&Lab) -> Result) -> Result<[Duration; 2]> {
    let began = Instant::now();
    let lab = Lab::builder().name("measured").start()?;
    work(&lab)?;
    let ready = began.elapsed();
    lab.finish()?;
    Ok([ready, began.elapsed() - ready])
}

/// What a person would type: bitcoind with an empty directory and its default options, ready when
/// an authenticated call is answered.
fn bare() -> Result<[Duration; 2]> {
    const ADDRESS: (Ipv4Addr, u16) = (Ipv4Addr::new(127, 0, 77, 1), 23_443);
    let base = boltwright::host::settings()?.test_dir.clone();
    let dir = tempfile::tempdir_in(base.unwrap_or_else(std::env::temp_dir))?;
    let program = SEARCH.find()?;
    let began = Instant::now();
    let mut child = Command::new(&program.path)
        .arg(format!("-datadir={}", dir.path().display()))
        .args([
            "-regtest",
            "-server",
            "-listen=0",
            "-rpcuser=u",
            "-rpcpassword=p",
        ])
        .args(["-rpcallowip=127.0.0.0/8", "-printtoconsole=0"])
        .arg(format!("-rpcbind={}", ADDRESS.0))
        .arg(format!("-rpcport={}", ADDRESS.1))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let answered = Wait::for_("a bare bitcoind to answer").until(|| match ask(ADDRESS) {
        Ok(answer) if answer.contains("\"chain\":\"regtest\"") => Step::Done(()),
        Ok(answer) => Step::NotYet(answer),
        Err(error) => Step::NotYet(error.to_string()),
    });
    let ready = began.elapsed();
    child.kill()?;
    child.wait()?;
    answered?;
    Ok([ready, began.elapsed() - ready])
}

fn ask(address: (Ipv4Addr, u16)) -> std::io::Result<String> {
    const CALL: &str = r#"{"method":"getblockchaininfo","params":[],"id":1}"#;
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dTpw\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{CALL}",
        CALL.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn median(times: &[[Duration; 2]], of: impl Fn(&[Duration; 2]) -> Duration) -> Duration {
    let mut sorted: Vec<Duration> = times.iter().map(of).collect();
    sorted.sort();
    sorted[sorted.len() / 2]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

boltwright::main!();
