//! How processes end, in words.
use super::{LogFile, Mark, ports};
use std::{fmt, os::unix::process::ExitStatusExt, path::PathBuf, process::ExitStatus};

/// How many last lines are shown of each file.
const LINES: usize = 12;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody saw: the keeper was lost.
    Unknown,
}

impl Exit {
    /// Whether it ended by itself and reported no error.
    pub fn is_success(self) -> bool {
        self == Exit::Code(0)
    }

    pub(crate) fn from_status(status: ExitStatus) -> Exit {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Unknown,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
                Some(name) => write!(f, "{name} (signal {signal})"),
                None => write!(f, "signal {signal}"),
            },
            Exit::Unknown => f.write_str("an end that nobody saw (the keeper was lost)"),
        }
    }
}

/// The news that a process has ended, with its last words.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Death {
    /// Its name in the lab.
    pub name: String,
    /// Its pid.
    pub pid: u32,
    /// How it ended.
    pub exit: Exit,
    /// Whether it left a memory image.
    pub core_dumped: bool,
    /// The last lines of its stderr.
    pub stderr: Vec<String>,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// Where its log is.
    pub log_path: Option<PathBuf>,
    /// If it could not have an address that it wanted: which, and who has it.
    pub address_in_use: Option<String>,
}

/// What a death is told from.
pub(crate) struct Scene<'a> {
    pub name: &'a str,
    pub pid: u32,
    pub exit: Exit,
    pub core_dumped: bool,
    /// Its files, each with where this run of the process began in it.
    pub stderr: (&'a LogFile, Mark),
    pub log: (&'a LogFile, Mark),
}

impl Death {
    pub(crate) fn investigate(scene: &Scene<'_>) -> Death {
        let (stderr_file, since) = scene.stderr;
        let stderr = stderr_file.tail_from(since, LINES);
        let (log_file, since) = scene.log;
        let log = match log_file.path() == stderr_file.path() {
            true => Vec::new(),
            false => log_file.tail_from(since, LINES),
        };
        let lines = || stderr.iter().chain(&log);
        Death {
            name: scene.name.to_owned(),
            pid: scene.pid,
            exit: scene.exit,
            core_dumped: scene.core_dumped,
            address_in_use: lines().find_map(|line| ports::address_in_use(line)),
            stderr,
            log,
            log_path: Some(log_file.path().to_owned()),
        }
    }
}

impl std::error::Error for Death {}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Death {
            name, pid, exit, ..
        } = self;
        write!(f, "{name} (pid {pid}) ended with {exit}")?;
        if self.core_dumped {
            f.write_str(", core dumped")?;
        }
        if let Some(holder) = &self.address_in_use {
            write!(f, "\n  {holder}")?;
        }
        section(f, "last lines of its stderr", &self.stderr)?;
        section(f, "last lines of its log", &self.log)?;
        if self.stderr.is_empty() && self.log.is_empty() {
            f.write_str("\n  it left no words")?;
        }
        match &self.log_path {
            Some(path) => write!(f, "\n  log: {}", path.display()),
            None => Ok(()),
        }
    }
}

fn section(f: &mut fmt::Formatter<'_>, title: &str, lines: &[String]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    write!(f, "\n  {title}:")?;
    lines.iter().try_for_each(|line| write!(f, "\n    {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_reads_as_a_person_would_say_it() {
        assert_eq!(Exit::Code(3).to_string(), "exit code 3");
        assert_eq!(Exit::Signal(9).to_string(), "SIGKILL (signal 9)");
        assert_eq!(Exit::Signal(11).to_string(), "SIGSEGV (signal 11)");
        assert_eq!(Exit::Signal(40).to_string(), "signal 40");
    }

    #[test]
    fn a_death_tells_its_story_from_this_run_only() {
        let dir = tempfile::tempdir().unwrap();
        let stderr = LogFile::new(dir.path().join("stderr"));
        let log = LogFile::new(dir.path().join("log"));
        std::fs::write(stderr.path(), "an older run's error\n").unwrap();
        let since = stderr.mark().unwrap();
        std::fs::write(
            stderr.path(),
            "an older run's error\nbad option: --colour\n",
        )
        .unwrap();
        std::fs::write(log.path(), "starting\n").unwrap();
        let death = Death::investigate(&Scene {
            name: "bitcoind",
            pid: 42,
            exit: Exit::Signal(6),
            core_dumped: true,
            stderr: (&stderr, since),
            log: (&log, Mark::START),
        });
        let expected = format!(
            "bitcoind (pid 42) ended with SIGABRT (signal 6), core dumped\n  \
             last lines of its stderr:\n    bad option: --colour\n  \
             last lines of its log:\n    starting\n  log: {}",
            log.path().display()
        );
        assert_eq!(death.to_string(), expected);
    }
}
