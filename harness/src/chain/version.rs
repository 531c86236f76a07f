//! Which bitcoind it is, and what follows for its command line.
use std::fmt;

/// The oldest major version that Boltwright starts: descriptor wallets by default, and every RPC
/// that it uses in the shape that it expects.
const OLDEST: u32 = 25;

/// Who made a bitcoind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Make {
    /// Bitcoin Core.
    Core,
    /// Bitcoin Knots.
    Knots,
}

/// A bitcoind's make and version, as its `--version` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// The whole line.
    pub line: String,
    /// Who made it.
    pub make: Make,
    /// Its major version: 29.
    pub major: u32,
}

impl Version {
    /// Reads the first line that `bitcoind --version` prints; the error says what is wrong with it.
    pub fn parse(line: &str) -> Result<Version, String> {
        let major = line
            .split_whitespace()
            .filter_map(|word| word.strip_prefix('v'))
            .find_map(|number| number.split('.').next()?.parse().ok());
        let Some(major) = major else {
            return Err("does not look like the version line of a bitcoind".to_owned());
        };
        if major < OLDEST {
            return Err(format!("is too old: at least version {OLDEST} is needed"));
        }
        let make = if line.contains("Knots") {
            Make::Knots
        } else {
            Make::Core
        };
        Ok(Version {
            line: line.to_owned(),
            make,
            major,
        })
    }

    /// The arguments that this make and version needs, beside those that all take.
    pub fn args(&self) -> Vec<String> {
        let mut args = Vec::new();
        if self.make == Make::Knots {
            // Knots' own policy refuses transactions that Core relays, and Lightning is written
            // against Core's.
            args.push("-corepolicy=1".to_owned());
            // A Knots release stops working at a date, which a mock time can reach.
            args.push("-softwareexpiry=0".to_owned());
        }
        if self.major >= 30 {
            // It drops lines that come often, and a log that is searched must be whole.
            args.push("-logratelimit=0".to_owned());
        }
        args
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_and_knots_tell_their_versions() {
        let knots = Version::parse("Bitcoin Knots daemon version v29.4.3.knots20260508").unwrap();
        assert_eq!((knots.make, knots.major), (Make::Knots, 29));
        let core = Version::parse("Bitcoin Core daemon version v30.0.0").unwrap();
        assert_eq!((core.make, core.major), (Make::Core, 30));
        let candidate = Version::parse("Bitcoin Core version v25.1.0rc1").unwrap();
        assert_eq!((candidate.make, candidate.major), (Make::Core, 25));
    }

    #[test]
    fn only_knots_gets_options_of_its_own() {
        let core = Version::parse("Bitcoin Core daemon version v29.0.0").unwrap();
        assert_eq!(core.args(), Vec::<String>::new());
        let knots = Version::parse("Bitcoin Knots daemon version v29.4.3.knots20260508").unwrap();
        assert!(knots.args().contains(&"-corepolicy=1".to_owned()));
    }

    #[test]
    fn a_log_that_would_be_thinned_out_is_kept_whole() {
        let new = Version::parse("Bitcoin Core daemon version v30.0.0").unwrap();
        assert_eq!(new.args(), ["-logratelimit=0"]);
    }

    #[test]
    fn an_old_bitcoind_is_refused_in_words() {
        let problem = Version::parse("Bitcoin Core version v0.21.1").unwrap_err();
        assert!(problem.contains("too old"), "{problem}");
    }

    #[test]
    fn another_program_is_refused_in_words() {
        let problem = Version::parse("GNU bash, version 5.2.15(1)-release").unwrap_err();
        assert!(problem.contains("does not look like"), "{problem}");
    }
}
