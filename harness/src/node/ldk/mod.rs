//! The embedded LDK node: this very test binary in another role, or `boltwright-ldk`.
//!
//! The daemon is the crate `boltwright-ldk` (in `node-fixtures/ldk`), a real node on the raw LDK
//! crates. It is looked for as `BOLTWRIGHT_LDK_EXE`, then as this binary started again under the
//! name `boltwright-ldk` (with the feature `ldk`, on by default), then in Boltwright's folder and
//! on `PATH`.

mod client;
mod closings;
mod rpc;

use super::{Capabilities, Capability, Client, Failure, Implementation, Launch, LogLine, Result};
use crate::host::{Command, Program, Search, program::NotFound};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Its name: the default implementation's.
pub const NAME: &str = "ldk";

/// The name under which a binary that embeds the node becomes it.
pub const ROLE: &str = "boltwright-ldk";

/// The name of the daemon's RPC socket in its directory.
const SOCKET: &str = "rpc.sock";

/// LDK, the embedded default.
#[derive(Debug, Clone, Copy)]
pub struct Ldk;

impl Implementation for Ldk {
    fn name(&self) -> &'static str {
        NAME
    }

    fn find(&self) -> std::result::Result<Program, NotFound> {
        Search {
            name: "boltwright-ldk",
            variable: "BOLTWRIGHT_LDK_EXE",
            role: cfg!(feature = "ldk").then_some(ROLE),
            install: "build with Boltwright's feature `ldk` (it is on by default), \
                      or set BOLTWRIGHT_LDK_EXE to a boltwright-ldk binary",
        }
        .find()
    }

    fn capabilities(&self, _program: &Program) -> Capabilities {
        Capabilities::of(&[Capability::Keysend, Capability::MultiPart])
    }

    fn command(&self, launch: &Launch) -> Result<Command> {
        let dir = &launch.dir;
        let chain = &launch.chain;
        let mut args: Vec<OsString> = vec![
            pair("data-dir", dir.join("data").as_os_str()),
            pair("alias", &launch.name),
            pair("seed", hex(&launch.seed)),
            pair("listen", launch.listen.to_string()),
            pair("rpc-socket", socket(launch).as_os_str()),
            pair("log-file", self.log_path(launch).as_os_str()),
            pair("log-level", launch.options.level().name()),
            pair("network", "regtest"),
            pair("bitcoind-url", format!("http://{}", chain.rpc)),
            pair("bitcoind-cookie", chain.cookie.as_os_str()),
            pair("bitcoind-wallet", format!("node-{}", launch.name)),
        ];
        args.extend(launch.options.args().iter().map(OsString::from));
        Ok(Command {
            name: launch.name.clone(),
            program: launch.program.clone(),
            args,
            env: Default::default(),
            dir: dir.clone(),
            log: Some(self.log_path(launch)),
        })
    }

    fn log_path(&self, launch: &Launch) -> PathBuf {
        launch.dir.join("log")
    }

    fn client(&self, launch: &Launch) -> std::result::Result<Box<dyn Client>, Failure> {
        self.reach(&launch.dir)
    }

    fn reach(&self, dir: &Path) -> std::result::Result<Box<dyn Client>, Failure> {
        connect(&dir.join(SOCKET))
    }

    fn command_line(&self, launch: &Launch) -> String {
        format!("boltwright rpc {} getinfo", socket(launch).display())
    }

    fn classify(&self, line: &str) -> LogLine {
        // `2026-11-30T19:56:49.123456Z ERROR target: message`
        match line.split_ascii_whitespace().nth(1) {
            Some("ERROR") => LogLine::Error,
            Some("INFO") if closings::is_unasked(line) => LogLine::Error,
            Some("INFO") if line.ends_with(" disconnected") => LogLine::Disconnect,
            _ => LogLine::Ordinary,
        }
    }
}

fn pair(name: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut arg = OsString::from(format!("--{name}="));
    arg.push(value);
    arg
}

fn hex(bytes: &[u8]) -> String {
    use bitcoin::hex::DisplayHex;
    bytes.to_lower_hex_string()
}

fn socket(launch: &Launch) -> PathBuf {
    launch.dir.join(SOCKET)
}

/// Whether the embedded node was compiled with optimisation: without, it is several times slower.
#[cfg(feature = "ldk")]
pub const fn is_optimised() -> bool {
    boltwright_ldk::is_optimised()
}

/// A connection to the daemon that answers at this socket, whoever started it.
pub fn connect(socket: &Path) -> std::result::Result<Box<dyn Client>, Failure> {
    Ok(Box::new(client::LdkClient::connect(socket)?))
}
