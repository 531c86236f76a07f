//! What is known of a lab from its directory alone: `lab.json`, for those who come from outside or
//! afterwards (`boltwright logs`, `boltwright rpc`, a directory that CI has collected).

use super::{Result, Seed};
use crate::chain::Endpoint;
use crate::host;
use crate::node::Node;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

/// A lab as `lab.json` in its directory tells of it. Paths are relative to that directory, so that
/// it can be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// What the lab was called.
    pub lab: String,
    /// Its seed.
    pub seed: String,
    /// Where its bitcoind answers, once that was ready.
    pub bitcoind: Option<Bitcoind>,
    /// Its nodes, in the order of their making.
    pub nodes: Vec<Described>,
    /// All logs, of the harness and of every daemon.
    pub logs: Vec<Log>,
}

/// Where a lab's bitcoind answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bitcoind {
    /// RPC over HTTP.
    pub rpc: SocketAddrV4,
    /// Its cookie file.
    pub cookie: PathBuf,
}

/// A node of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Described {
    /// Its name: `alice`.
    pub name: String,
    /// Its implementation's name: `ldk`.
    pub implementation: String,
    /// Its own directory.
    pub dir: PathBuf,
}

/// A log of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Log {
    /// Who writes it.
    pub name: String,
    /// Where.
    pub path: PathBuf,
}

const FILE: &str = "lab.json";

impl Description {
    /// Reads that of the lab in this directory.
    pub fn read(dir: &Path) -> Result<Description> {
        let path = dir.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|source| host::Error::Io {
            action: "reading (is this the directory of a lab?)",
            path: path.clone(),
            source,
        })?;
        let description = serde_json::from_str(&text).map_err(|error| host::Error::Directory {
            path,
            problem: format!("not the description of a lab: {error}"),
        })?;
        Ok(description)
    }
}

/// Writes `lab.json`.
pub(super) fn write(
    dir: &Path,
    lab: &str,
    seed: Seed,
    chain: Option<&Endpoint>,
    nodes: &[Node],
) -> Result<()> {
    let relative = |path: &Path| path.strip_prefix(dir).unwrap_or(path).to_owned();
    let log = |name: &str, path: PathBuf| Log {
        name: name.to_owned(),
        path: relative(&path),
    };
    let mut logs = vec![
        log("harness", dir.join("harness.log")),
        log("bitcoind", crate::chain::log_path(dir)),
    ];
    logs.extend(nodes.iter().map(|node| log(&node.name(), node.log_path())));
    let description = Description {
        lab: lab.to_owned(),
        seed: seed.to_string(),
        bitcoind: chain.map(|chain| Bitcoind {
            rpc: chain.rpc,
            cookie: relative(&chain.cookie),
        }),
        nodes: nodes
            .iter()
            .map(|node| Described {
                name: node.name(),
                implementation: node.kind().name().to_owned(),
                dir: relative(&node.dir()),
            })
            .collect(),
        logs,
    };
    let text = serde_json::to_string_pretty(&description).unwrap_or_default();
    let path = dir.join(FILE);
    // Renamed into place: whoever reads it meanwhile gets the old one or the new one.
    let draft = dir.join(".lab.json");
    std::fs::write(&draft, text)
        .and_then(|()| std::fs::rename(&draft, &path))
        .map_err(|source| host::Error::Io {
            action: "writing",
            path,
            source,
        })?;
    Ok(())
}
