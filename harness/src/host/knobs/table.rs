//! The table of all knobs.
use std::fmt::Write as _;

/// One environment variable.
#[derive(Debug)]
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// Its default.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

const fn knob(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Knob {
    Knob {
        name,
        takes,
        default,
        meaning,
    }
}

const SWITCH: &str = "`1` or `0`";

/// All of them.
pub const KNOBS: &[Knob] = &[
    knob(
        "TEST_DIR",
        "a directory",
        "the system's temporary directory",
        "where lab directories are made",
    ),
    knob(
        "TEST_DEBUG",
        SWITCH,
        "`0`",
        "echo the harness's own log on stderr",
    ),
    knob(
        "TIMEOUT",
        "seconds",
        "`60`",
        "how long one wait may take before the test fails",
    ),
    knob(
        "SLOW_MACHINE",
        SWITCH,
        "`0`",
        "multiply every deadline by three",
    ),
    knob(
        "BOLTWRIGHT_DEADLINE",
        "seconds",
        "`100`",
        "how long one lab may live before it reports and fails; keep it below nextest's own timeout",
    ),
    knob(
        "BOLTWRIGHT_KEEP",
        SWITCH,
        "`0`",
        "keep the directory of a lab that passed, too",
    ),
    knob(
        "BOLTWRIGHT_PAUSE",
        SWITCH,
        "`0`",
        "hold each lab at its end and print how to reach its nodes",
    ),
    knob(
        "BOLTWRIGHT_ARTIFACTS",
        "a directory",
        "none",
        "where the directories of failed labs are collected, for CI to store",
    ),
    knob(
        "BOLTWRIGHT_SEED",
        "a number below 2^64, decimal or `0x` hexadecimal",
        "random",
        "replay a run: keys, names and choices come from this seed",
    ),
    knob(
        "BOLTWRIGHT_REQUIRE",
        "names, separated by commas",
        "none",
        "implementations whose absence fails their tests rather than skips them",
    ),
    knob(
        "BITCOIND_EXE",
        "a file",
        "Boltwright's own folder, then `PATH`",
        "the bitcoind to run",
    ),
    knob(
        "BOLTWRIGHT_LDK_EXE",
        "a file",
        "the embedded node, then Boltwright's own folder, then `PATH`",
        "the LDK node to run",
    ),
    knob(
        "BOLTWRIGHT_DEBIAN_MIRROR",
        "a URL",
        "what this machine's apt is set up with",
        "a Debian archive for `boltwright install bitcoind`, where apt knows none",
    ),
    knob(
        "BOLTWRIGHT_CORE_MIRROR",
        "a URL",
        "the official site",
        "where `boltwright install bitcoind` gets the official archive; its checksum stays pinned",
    ),
    knob(
        "BOLTWRIGHT_SKIPS",
        SWITCH,
        "`0`",
        "with `--list`: which trials are ignored and why, as JSON, one a line",
    ),
    knob(
        "XDG_CACHE_HOME",
        "a directory",
        "`$HOME/.cache`",
        "where Boltwright's own folder `boltwright/` is: installed daemons, prepared chains",
    ),
    knob(
        "NO_COLOR",
        "anything",
        "unset",
        "reports without colours, also on a terminal",
    ),
];

/// The table as README.md shows it, between the markers `<!-- knobs -->`.
pub fn markdown_table() -> String {
    let mut table =
        String::from("| Variable | Takes | Default | Meaning |\n| --- | --- | --- | --- |\n");
    for knob in KNOBS {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            knob.name, knob.takes, knob.default, knob.meaning
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_has_one_row_in_the_table() {
        let table = markdown_table();
        for knob in KNOBS {
            assert_eq!(table.matches(&format!("| `{}` |", knob.name)).count(), 1);
        }
    }
}
