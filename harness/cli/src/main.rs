//! The `boltwright` command: a Lightning lab on one machine, in one line.
//!
//! One folder for each command. All of them do their work through the library's public face; what
//! is here is what a person types and sees. `install` is the only one that uses a network.

mod attended;
mod demo;
mod doctor;
mod error;
mod init;
mod install;
mod labs;
mod logs;
mod rpc;
mod screen;
mod up;

use clap::Parser;
use std::process::ExitCode;

/// A Lightning lab on one machine: real bitcoind on regtest, real nodes, funded channels.
#[derive(Debug, Parser)]
#[command(version, after_help = FIRST, max_term_width = 100)]
enum Boltwright {
    Demo(demo::Demo),
    Up(up::Up),
    Rpc(rpc::Rpc),
    Logs(logs::Logs),
    Init(init::Init),
    Doctor(doctor::Doctor),
    #[command(after_help = INSTALL)]
    Install(install::Install),
}

const FIRST: &str = "\
New here? `boltwright demo` sets up what is missing and shows everything at work;
`boltwright up` gives you a network to play with; `boltwright init` adds Boltwright to your crate.

`boltwright COMMAND --help` has examples. Exit codes: 0 done, 1 failed, 2 bad usage.";

const INSTALL: &str = "\
Examples:
  boltwright install bitcoind                    returns at once if one is there that runs
  boltwright install bitcoind --source debian    not the official release, Debian's package
  boltwright install bitcoind --force            once more, beside the one in use

It lands in Boltwright's own folder ($XDG_CACHE_HOME/boltwright, else ~/.cache/boltwright), where labs
find it. BITCOIND_EXE=/path/to/bitcoind has them use another one.

Exit codes: 0 it is there, 1 failed and nothing was left behind, 2 bad usage.";

fn main() -> ExitCode {
    let done = match Boltwright::parse() {
        Boltwright::Demo(demo) => demo.run(),
        Boltwright::Up(up) => up.run(),
        Boltwright::Rpc(rpc) => rpc.run(),
        Boltwright::Logs(logs) => logs.run(),
        Boltwright::Init(init) => init.run(),
        Boltwright::Doctor(doctor) => doctor.run(),
        Boltwright::Install(install) => install.run().map_err(error::Error::from),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.tell(),
    }
}
