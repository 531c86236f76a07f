//! A Lightning node on the raw LDK crates, for regtest: the node that Boltwright embeds.
//!
//! [`run`] is the whole public face: it takes a command line and returns an exit code, so
//! that the `boltwright-ldk` binary and a test binary that plays this role share one door.
//! It is not generic, so all of LDK is compiled here and never again for a caller.
//!
//! How the rooms hang together:
//!
//! - `options`, `log`, `daemon`: the command line, the log, the life of the process;
//! - `store`: where state is kept, and the rule that channel monitors and the channel
//!   manager reach the disk in one commit;
//! - `chain`: everything that speaks to bitcoind;
//! - `node`: LDK's parts put together, and the loop that drives them;
//! - `peers`, `channels`, `payments`, `gossip`: what the node does for its owner;
//! - `events`: what LDK reports, turned into state and into a feed for callers;
//! - `rpc`: JSON-RPC 2.0 over a Unix socket.
//!
//! Known limitations stand in this crate's README.

use std::ffi::OsString;
use std::io::Write as _;

mod chain;
mod channels;
mod daemon;
mod events;
mod gossip;
mod log;
mod node;
mod options;
mod payments;
mod peers;
mod rpc;
mod store;
mod time;

/// The version of this daemon, as `--version` and the RPC `getinfo` report it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether this crate was compiled with optimisation.
///
/// An unoptimised node is several times slower than an optimised one, so a caller that
/// embeds it may want to say so before it measures anything.
pub const fn is_optimised() -> bool {
    cfg!(optimised)
}

/// Runs the daemon with `args` (without the program's own name) and returns its exit code.
///
/// Returns when the RPC `stop`, SIGTERM or SIGINT has ended the node: 0 after a clean stop,
/// 1 when the node could not start or had to give up, 2 when the command line is wrong.
/// Call it once, and exit with what it returns: threads that wait for bitcoind may outlive
/// it, and the signals and panics of the process are its own from then on.
/// It needs nothing from the Rust runtime's start-up, so it may be called before `main`.
pub fn run(args: Vec<OsString>) -> i32 {
    match options::parse(args) {
        Ok(options::Request::Help) => {
            say(&options::help());
            0
        }
        Ok(options::Request::Version) => {
            say(&format!("boltwright-ldk {VERSION}\n"));
            0
        }
        Ok(options::Request::Run(options)) => daemon::run(*options),
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "boltwright-ldk: {error}\nTry `boltwright-ldk --help`."
            );
            2
        }
    }
}

/// Writes to standard output; a reader that has gone away is not an error of ours.
fn say(text: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}
