//! The environment variables that Boltwright reads, in one table.
//!
//! Every read of the environment goes through this file, so that the table is the whole truth:
//! README.md shows it, and a test keeps the two in step. Unset and empty both mean the default.
use super::Error;
use std::{env, ffi::OsString, path::PathBuf, sync::OnceLock, time::Duration};

mod table;

pub use table::{KNOBS, Knob, markdown_table};

/// The knobs as read once from the environment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// `TEST_DIR`: where lab directories are made.
    pub test_dir: Option<PathBuf>,
    /// `TEST_DEBUG`: echo the harness's own log on stderr.
    pub debug: bool,
    /// `TIMEOUT`, scaled by `SLOW_MACHINE`: how long one wait may take.
    pub timeout: Duration,
    /// `SLOW_MACHINE`: every deadline is three times as long.
    pub slow: bool,
    /// `BOLTWRIGHT_DEADLINE`, scaled by `SLOW_MACHINE`: how long one lab may live (default 100 s).
    pub deadline: Duration,
    /// `BOLTWRIGHT_KEEP`: keep the directory of a lab that passed.
    pub keep: bool,
    /// `BOLTWRIGHT_PAUSE`: hold the lab at its end for a person.
    pub pause: bool,
    /// `BOLTWRIGHT_ARTIFACTS`: where the directories of failed labs are collected.
    pub artifacts: Option<PathBuf>,
    /// `BOLTWRIGHT_SEED`: replay with this seed.
    pub seed: Option<u64>,
    /// `BOLTWRIGHT_REQUIRE`: implementations whose absence is a failure and not a skip.
    pub require: Vec<String>,
}

impl Settings {
    /// A deadline of one's own, on the scale that `SLOW_MACHINE` sets for all.
    pub fn scaled(&self, deadline: Duration) -> Duration {
        if self.slow { deadline * 3 } else { deadline }
    }

    /// Reads and checks all knobs; `get` tells the value of a variable.
    fn read(get: impl Fn(&str) -> Option<OsString>) -> super::Result<Settings> {
        let slow = switch(&get, "SLOW_MACHINE")?;
        let scale = if slow { 3 } else { 1 };
        Ok(Settings {
            test_dir: get("TEST_DIR").map(PathBuf::from),
            debug: switch(&get, "TEST_DEBUG")?,
            timeout: seconds(&get, "TIMEOUT", 60)? * scale,
            slow,
            deadline: seconds(&get, "BOLTWRIGHT_DEADLINE", 100)? * scale,
            keep: switch(&get, "BOLTWRIGHT_KEEP")?,
            pause: switch(&get, "BOLTWRIGHT_PAUSE")?,
            artifacts: get("BOLTWRIGHT_ARTIFACTS").map(PathBuf::from),
            seed: seed(&get)?,
            require: names(&get, "BOLTWRIGHT_REQUIRE")?,
        })
    }
}

/// The settings of this process, read and checked once.
pub fn settings() -> super::Result<&'static Settings> {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    if let Some(settings) = SETTINGS.get() {
        return Ok(settings);
    }
    // An error is not kept: reading again gives the same one, and errors cannot be cloned.
    let settings = Settings::read(variable)?;
    Ok(SETTINGS.get_or_init(|| settings))
}

/// Whether `NO_COLOR` asks for reports without colours.
pub fn no_color() -> bool {
    variable("NO_COLOR").is_some()
}

/// The value of an environment variable; unset and empty are the same.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// What of the test's environment reaches a daemon: what it takes to run at all, to be wrapped
/// (`LD_PRELOAD` of eatmydata) or instrumented (sanitizers, coverage), and nothing that configures.
pub fn passed_through() -> Vec<(OsString, OsString)> {
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(passes))
        .collect()
}

fn passes(name: &str) -> bool {
    matches!(
        name,
        "PATH"
            | "LANG"
            | "TZ"
            | "LD_PRELOAD"
            | "LD_LIBRARY_PATH"
            | "RUST_BACKTRACE"
            | "RUST_LIB_BACKTRACE"
            | "LLVM_PROFILE_FILE"
            | "ASAN_OPTIONS"
            | "ASAN_SYMBOLIZER_PATH"
            | "HWASAN_OPTIONS"
            | "LSAN_OPTIONS"
            | "MSAN_OPTIONS"
            | "TSAN_OPTIONS"
            | "UBSAN_OPTIONS"
    ) || name.starts_with("LC_")
}

fn bad(name: &'static str, value: &str, problem: impl Into<String>) -> Error {
    Error::Knob {
        name,
        value: value.to_owned(),
        problem: problem.into(),
    }
}

fn text(
    get: impl Fn(&str) -> Option<OsString>,
    name: &'static str,
) -> super::Result<Option<String>> {
    match get(name).map(OsString::into_string) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(raw)) => Err(bad(name, &raw.to_string_lossy(), "is not UTF-8")),
    }
}

fn switch(get: impl Fn(&str) -> Option<OsString>, name: &'static str) -> super::Result<bool> {
    let Some(value) = text(get, name)? else {
        return Ok(false);
    };
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(bad(
            name,
            &value,
            "is a switch: it takes 1 (or true, yes, on) or 0 (or false, no, off)",
        )),
    }
}

fn seconds(
    get: impl Fn(&str) -> Option<OsString>,
    name: &'static str,
    default: u64,
) -> super::Result<Duration> {
    let Some(value) = text(get, name)? else {
        return Ok(Duration::from_secs(default));
    };
    value
        .trim()
        .parse()
        .ok()
        // A year keeps sums with the present moment far from overflowing.
        .filter(|&seconds: &f64| seconds > 0.0 && seconds <= 31_536_000.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| {
            bad(
                name,
                &value,
                "takes a number of seconds above 0 and of a year at most, like 60",
            )
        })
}

fn seed(get: impl Fn(&str) -> Option<OsString>) -> super::Result<Option<u64>> {
    const NAME: &str = "BOLTWRIGHT_SEED";
    let Some(value) = text(get, NAME)? else {
        return Ok(None);
    };
    let digits = value.trim();
    let parsed = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    match parsed {
        Ok(seed) => Ok(Some(seed)),
        Err(_) => Err(bad(
            NAME,
            &value,
            "takes a number below 2^64, decimal (1234) or hexadecimal (0x4d2)",
        )),
    }
}

fn names(get: impl Fn(&str) -> Option<OsString>, name: &'static str) -> super::Result<Vec<String>> {
    let list = text(get, name)?.unwrap_or_default();
    Ok(list
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> super::super::Result<Settings> {
        Settings::read(move |asked| (asked == name).then(|| OsString::from(value)))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults_that_the_table_states() {
        let settings = Settings::read(|_| None).unwrap();
        assert_eq!(settings.timeout, Duration::from_secs(60));
        assert_eq!(settings.deadline, Duration::from_secs(100));
        assert!(!settings.keep && !settings.slow && settings.seed.is_none());
    }

    #[test]
    fn a_slow_machine_scales_every_deadline() {
        let settings = with("SLOW_MACHINE", "1").unwrap();
        assert_eq!(settings.timeout, Duration::from_secs(180));
        assert_eq!(settings.deadline, Duration::from_secs(300));
        let own = settings.scaled(Duration::from_secs(2));
        assert_eq!(own, Duration::from_secs(6));
    }

    #[test]
    fn a_switch_is_turned_off_by_zero_and_false() {
        assert!(with("BOLTWRIGHT_KEEP", "1").unwrap().keep);
        assert!(with("BOLTWRIGHT_KEEP", "TRUE").unwrap().keep);
        assert!(!with("BOLTWRIGHT_KEEP", "0").unwrap().keep);
        assert!(!with("BOLTWRIGHT_KEEP", "false").unwrap().keep);
    }

    #[test]
    fn a_bad_value_is_told_with_its_variable_its_value_and_what_it_takes() {
        for (name, value, takes) in [
            ("TIMEOUT", "soon", "number of seconds"),
            ("TIMEOUT", "-1", "number of seconds"),
            ("TIMEOUT", "inf", "number of seconds"),
            ("BOLTWRIGHT_DEADLINE", "0", "number of seconds"),
            ("BOLTWRIGHT_KEEP", "perhaps", "it takes 1"),
            ("BOLTWRIGHT_SEED", "0xyz", "hexadecimal"),
            ("BOLTWRIGHT_SEED", "18446744073709551616", "below 2^64"),
        ] {
            let error = with(name, value).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}={value}")), "{error}");
            assert!(error.contains(takes), "{error}");
        }
    }

    #[test]
    fn a_seed_reads_in_decimal_and_hexadecimal() {
        assert_eq!(with("BOLTWRIGHT_SEED", "1234").unwrap().seed, Some(1234));
        assert_eq!(with("BOLTWRIGHT_SEED", "0x4d2").unwrap().seed, Some(1234));
    }

    #[test]
    fn required_names_are_split_and_trimmed() {
        let settings = with("BOLTWRIGHT_REQUIRE", " CLN, lnd,,").unwrap();
        assert_eq!(settings.require, ["cln", "lnd"]);
    }

    #[test]
    fn nothing_that_configures_a_daemon_passes_through() {
        assert!(passes("PATH") && passes("LC_ALL") && passes("LD_PRELOAD"));
        assert!(!passes("HOME") && !passes("BITCOIN_CONF") && !passes("TEST_DIR"));
        assert!(!passes("http_proxy") && !passes("RUST_LOG"));
    }
}
