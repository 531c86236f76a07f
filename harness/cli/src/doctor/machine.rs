//! The machine: disks, limits, loopback addresses, Boltwright's own folder.

use super::{Finding, Verdict};
use crate::screen;
use boltwright::host::{disk, limits, program, settings};
use serde_json::json;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Below this, labs run into a full disk.
const ROOM: u64 = 512 << 20;
/// What a lab of a few nodes needs.
const DESCRIPTORS: u64 = 512;

/// Looks at all of it.
pub(super) fn look() -> Vec<Finding> {
    vec![
        temporary(),
        ram_disk(),
        descriptors(),
        loopback(),
        cores(),
        folder(),
    ]
}

fn temporary() -> Finding {
    let subject = "lab directories";
    let base = super::labs::base();
    let rule = match settings() {
        Ok(settings) if settings.test_dir.is_some() => "TEST_DIR",
        _ => "the system's temporary directory",
    };
    if let Err(error) = tempfile::Builder::new()
        .prefix("bw-doctor-")
        .tempdir_in(&base)
    {
        return Finding::new(
            subject,
            Verdict::Bad,
            format!("{} ({rule}): {error}", base.display()),
        )
        .cure("let TEST_DIR name a directory where you may write");
    }
    room(subject, &base, &format!("{} ({rule})", base.display()))
}

fn ram_disk() -> Finding {
    let place = Path::new("/dev/shm");
    match disk::kind(place) {
        Ok(disk::Kind::Ram) => room(
            "RAM disk",
            place,
            "/dev/shm; TEST_DIR=/dev/shm puts labs there",
        ),
        Ok(kind) => Finding::new(
            "RAM disk",
            Verdict::Note,
            format!("/dev/shm is {kind}, no RAM disk"),
        ),
        Err(error) => Finding::new("RAM disk", Verdict::Note, format!("none: {error}")),
    }
}

fn room(subject: &str, place: &Path, words: &str) -> Finding {
    let (kind, free) = match disk::kind(place).and_then(|kind| Ok((kind, disk::free(place)?))) {
        Ok(found) => found,
        Err(error) => return Finding::new(subject, Verdict::Note, error.to_string()),
    };
    let words = format!("{words}: {kind}, {} free", screen::bytes(free));
    let finding = if free < ROOM {
        Finding::new(subject, Verdict::Note, words).cure(format!(
            "a lab takes some 50 MiB; {} is little",
            screen::bytes(free)
        ))
    } else {
        Finding::new(subject, Verdict::Good, words)
    };
    finding.data(json!({"path": place, "disk": kind.to_string(), "free_bytes": free}))
}

fn descriptors() -> Finding {
    let subject = "open files";
    match limits::descriptors() {
        Ok((soft, hard)) => {
            let words = format!("{soft} now, at most {hard}; a lab raises its own limit");
            let finding = if hard < DESCRIPTORS {
                Finding::new(subject, Verdict::Bad, words).cure(format!(
                    "raise the hard limit to {DESCRIPTORS} at least: `ulimit -Hn`"
                ))
            } else {
                Finding::new(subject, Verdict::Good, words)
            };
            finding.data(json!({"soft": soft, "hard": hard}))
        }
        Err(error) => Finding::new(subject, Verdict::Bad, error.to_string()),
    }
}

/// A connection between two addresses of 127.0.0.0/8, as daemons of one lab make them.
fn loopback() -> Finding {
    let subject = "loopback";
    // Two of a block's, far from those that anybody uses.
    let connect = || {
        let listener = TcpListener::bind((Ipv4Addr::new(127, 254, 254, 253), 0))?;
        TcpStream::connect(listener.local_addr()?)
    };
    match connect() {
        Ok(_) => Finding::new(subject, Verdict::Good, "127.0.0.0/8 is usable: every daemon gets an address of its own"),
        Err(error) => Finding::new(subject, Verdict::Bad, format!("127.254.254.253 cannot be used: {error}"))
            .cure("bring the loopback interface up (`ip link set lo up`); labs need Linux, where all of 127.0.0.0/8 is loopback"),
    }
}

fn cores() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Finding::new("cores", Verdict::Good, cores.to_string()).data(json!({"count": cores}))
}

/// Boltwright's own folder, and the prepared chains in it.
fn folder() -> Finding {
    let subject = "own folder";
    let cache = match program::cache_dir() {
        Ok(cache) => cache,
        Err(error) => {
            return Finding::new(subject, Verdict::Bad, error.to_string())
                .cure("set HOME or XDG_CACHE_HOME");
        }
    };
    let (chains, size) = chains(&cache);
    let words = match (cache.is_dir(), chains) {
        (false, _) => format!("{}: not there yet, the first lab makes it", cache.display()),
        (true, 0) => format!(
            "{}: no prepared chain yet, the first lab makes one",
            cache.display()
        ),
        (true, chains) => format!(
            "{}: prepared chains: {chains}, {}",
            cache.display(),
            screen::bytes(size)
        ),
    };
    Finding::new(subject, Verdict::Good, words).data(json!({
        "path": cache,
        "prepared_chains": chains,
        "prepared_chains_bytes": size,
    }))
}

fn chains(cache: &Path) -> (usize, u64) {
    let Ok(entries) = std::fs::read_dir(cache.join("chains")) else {
        return (0, 0);
    };
    let hidden = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let chains: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !hidden(path))
        .collect();
    (
        chains.len(),
        chains.iter().map(|chain| super::labs::size(chain)).sum(),
    )
}
