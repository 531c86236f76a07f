//! `boltwright rpc`: a call to bitcoind or to a node of a running lab, from outside.

mod bitcoind;
mod params;

use crate::error::{Error, Result};
use crate::{labs, screen};
use boltwright::lab::Description;
use boltwright::node::{self, Client};
use serde_json::Value;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples, with `boltwright up` running in another terminal:
  boltwright rpc alice getinfo
  boltwright rpc alice help                            the methods there are
  boltwright rpc carol invoice amount_msat=25000000 description=coffee
  boltwright rpc alice pay invoice=lnbcrt250u1…
  boltwright rpc alice pay '{\"invoice\": \"lnbcrt250u1…\"}'
  boltwright rpc alice pay invoice=$(boltwright rpc carol invoice amount_msat=25000000 \\
      description=coffee --get invoice)
  boltwright rpc bitcoind getblockhash 100             bitcoind takes values by position, too
  boltwright rpc bitcoind generatetodescriptor 1 'raw(51)'      mines a block
  boltwright rpc bitcoind getbalance --wallet node-alice
  boltwright rpc /tmp/bw-1a2b3c/alice/rpc.sock getinfo

A value that reads as JSON (a number, true, null, an array, an object) is sent as that, anything
else as text.

Exit codes: 0 answered, 1 refused (the words on standard error) or not reached, 2 bad usage.";

/// Calls a method of bitcoind or of a node in a running lab, and prints the answer as JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Rpc {
    /// Whom to call: `bitcoind`, a node's name, or the path of a node's RPC socket.
    target: String,

    /// The method, by the daemon's own name for it.
    method: String,

    /// Its parameters: key=value pairs, a JSON object, or (for bitcoind) values by position.
    #[arg(value_name = "PARAMS", allow_negative_numbers = true)]
    params: Vec<String>,

    /// The lab's directory; the newest running lab of yours if not given.
    #[arg(long, value_name = "DIR")]
    lab: Option<PathBuf>,

    /// Which of bitcoind's wallets a wallet call is for: `lab`, or `node-` and a node's name.
    #[arg(long, value_name = "NAME", default_value = "lab")]
    wallet: String,

    /// Print only this field of the answer, text without quotes.
    #[arg(long, value_name = "FIELD")]
    get: Option<String>,
}

impl Rpc {
    /// Calls and prints.
    pub fn run(&self) -> Result<()> {
        let params = params::read(&self.params)?;
        let answer = if self.target.contains('/') {
            let socket = Path::new(&self.target);
            self.ask(node::ldk::connect(socket), params)?
        } else {
            let dir = labs::dir_or_newest(self.lab.as_ref())?;
            let lab = Description::read(&dir)?;
            if self.target == "bitcoind" {
                bitcoind::call(&dir, &lab, &self.wallet, &self.method, params)?
            } else {
                self.ask(reach(&dir, &lab, &self.target)?, params)?
            }
        };
        match &self.get {
            None => screen::print_json(&answer),
            Some(field) => match answer.get(field) {
                None => Err(Error::Failed(format!(
                    "there is no field {field:?} in the answer: {answer}"
                ))),
                Some(Value::String(text)) => screen::print(&format!("{text}\n")),
                Some(value) => screen::print_json(value),
            },
        }
    }

    fn ask(
        &self,
        client: std::result::Result<Box<dyn Client>, node::Failure>,
        params: Value,
    ) -> Result<Value> {
        let failed = |failure: node::Failure| {
            Error::Failed(if failure.unreachable {
                format!(
                    "{}: {}; is the lab still running?",
                    self.target, failure.message
                )
            } else {
                format!("{}: {failure}", self.target)
            })
        };
        client
            .map_err(failed)?
            .call(&self.method, params)
            .map_err(failed)
    }
}

/// The node of this name in the lab.
fn reach(
    dir: &Path,
    lab: &Description,
    name: &str,
) -> Result<std::result::Result<Box<dyn Client>, node::Failure>> {
    let Some(found) = lab.nodes.iter().find(|node| node.name == name) else {
        let names = lab.nodes.iter().map(|node| node.name.as_str());
        let known: Vec<&str> = ["bitcoind"].into_iter().chain(names).collect();
        return Err(Error::Failed(format!(
            "there is no {name:?} in the lab {}; there are: {}",
            dir.display(),
            known.join(", ")
        )));
    };
    let kind = node::kind(&found.implementation).ok_or_else(|| {
        Error::Failed(format!(
            "{name} is of the implementation {:?}, which this version of the command does not know",
            found.implementation
        ))
    })?;
    Ok(kind.reach(&dir.join(&found.dir)))
}
