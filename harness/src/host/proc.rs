//! What `/proc` tells of processes: families, commands, and whose lab they belong to.
use nix::libc;
use std::{
    fmt, fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
};

/// The environment variable that every process of a lab carries; its value is a [`Marker`].
pub(crate) const MARKER: &str = "BOLTWRIGHT_LAB";

/// Which lab a process belongs to, in a form that cannot be mistaken for another lab's.
///
/// A pid alone comes round again, so the keeper's start time goes with it; and in another pid
/// namespace it is another process, so that goes with it, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub lab: String,
    pub keeper: u32,
    pub start: u64,
    pub namespace: u64,
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Marker {
            lab,
            keeper,
            start,
            namespace,
        } = self;
        write!(f, "{lab}:{keeper}:{start}:{namespace}")
    }
}

impl Marker {
    pub(crate) fn parse(text: &str) -> Option<Marker> {
        let mut parts = text.split(':');
        let marker = Marker {
            lab: parts.next()?.to_owned(),
            keeper: parts.next()?.parse().ok()?,
            start: parts.next()?.parse().ok()?,
            namespace: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(marker)
    }

    /// The marker that `pid` was started with.
    pub(crate) fn of(pid: u32) -> Option<Marker> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        environment
            .split(|&byte| byte == 0)
            .find_map(|entry| entry.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"="))
            .and_then(|value| Marker::parse(std::str::from_utf8(value).ok()?))
    }

    /// Whether the keeper that gave out this marker is known to be dead: seen from its own pid
    /// namespace, and gone (or a mere zombie, or another process by now).
    pub(crate) fn is_orphaned(&self, our_namespace: u64) -> bool {
        self.namespace == our_namespace
            && match fs::read(format!("/proc/{}/stat", self.keeper)) {
                Ok(line) => Stat::parse(&line)
                    .is_some_and(|stat| stat.start != self.start || stat.is_dead()),
                // Anything else (too many open files, no permission) says nothing of the keeper.
                Err(error) => {
                    error.kind() == io::ErrorKind::NotFound
                        || error.raw_os_error() == Some(libc::ESRCH)
                }
            }
    }
}

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone)]
pub(crate) struct Stat {
    pub name: String,
    pub state: char,
    pub parent: u32,
    pub group: u32,
    /// When it started, in clock ticks since the machine did.
    pub start: u64,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(line: &[u8]) -> Option<Stat> {
        let line = String::from_utf8_lossy(line);
        // The name may hold anything, parentheses and blanks included; the last one closes it.
        let (open, close) = (line.find('(')?, line.rfind(')')?);
        let fields: Vec<&str> = line.get(close + 1..)?.split_whitespace().collect();
        Some(Stat {
            name: line.get(open + 1..close)?.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether it has ended and only waits to be reaped.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// All process ids.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether the process is our own user's.
pub(crate) fn is_own(pid: u32) -> bool {
    let uid = nix::unistd::geteuid().as_raw();
    fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == uid)
}

/// The children of the (single-threaded) process `pid`, dead ones that wait to be reaped included.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    match fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
        Ok(list) => list
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect(),
        // A kernel without CONFIG_PROC_CHILDREN.
        Err(_) => pids()
            .into_iter()
            .filter(|&child| Stat::of(child).is_some_and(|stat| stat.parent == pid))
            .collect(),
    }
}

/// The living processes that descend from `ancestor`.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let all: Vec<(u32, Stat)> = pids()
        .into_iter()
        .filter_map(|pid| Some((pid, Stat::of(pid)?)))
        .collect();
    let mut family = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(
            all.iter()
                .filter(|(pid, stat)| stat.parent == parent && !family.contains(pid))
                .map(|&(pid, _)| pid)
                .collect::<Vec<_>>(),
        );
        next += 1;
    }
    family
        .into_iter()
        .skip(1)
        .filter(|pid| all.iter().any(|(p, stat)| p == pid && !stat.is_dead()))
        .collect()
}

/// The command line of a process as a person would type it, or its name in brackets.
pub(crate) fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty())
        .map(String::from_utf8_lossy)
        .collect();
    if words.is_empty() {
        let name = Stat::of(pid).map_or_else(|| "?".to_owned(), |stat| stat.name);
        return format!("[{name}]");
    }
    words.join(" ")
}

/// The pid namespace that we are in, by its inode.
pub(crate) fn namespace() -> u64 {
    fs::read_link("/proc/self/ns/pid")
        .ok()
        .and_then(|link| {
            let digits = link.as_os_str().as_bytes();
            let digits = digits.strip_prefix(b"pid:[")?.strip_suffix(b"]")?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_past_a_hostile_name() {
        let line = b"42 (a) b (c)) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.name, "a) b (c)");
        assert_eq!((stat.state, stat.parent, stat.group), ('S', 7, 8));
        assert_eq!(stat.start, 98765);
    }

    #[test]
    fn a_marker_survives_being_written_and_read() {
        let marker = Marker {
            lab: "bw-Ab12Cd".into(),
            keeper: 17,
            start: 4711,
            namespace: 4_026_531_836,
        };
        assert_eq!(Marker::parse(&marker.to_string()), Some(marker));
        assert_eq!(Marker::parse("bw-Ab12Cd:17"), None);
        assert_eq!(Marker::parse("bw-Ab12Cd:17:1:2:3"), None);
    }

    #[test]
    fn a_marker_is_orphaned_only_when_its_keeper_is_dead_for_certain() {
        let us = std::process::id();
        let start = Stat::of(us).unwrap().start;
        let marker = |keeper, start, namespace| Marker {
            lab: "x".into(),
            keeper,
            start,
            namespace,
        };
        assert!(!marker(us, start, namespace()).is_orphaned(namespace()));
        assert!(marker(us, start + 1, namespace()).is_orphaned(namespace()));
        assert!(!marker(us, start + 1, 1).is_orphaned(namespace()));
    }

    #[test]
    fn we_are_among_our_own_processes() {
        assert!(
            pids()
                .into_iter()
                .any(|pid| pid == std::process::id() && is_own(pid))
        );
        assert!(namespace() > 0);
    }
}
