//! The log: one line an event, UTC with microseconds, in the file as soon as it happened.
//!
//! A line goes out in one `write`, unbuffered, so a crash loses none and lines of different
//! threads never mix. LDK's own logger goes through here too, which is also the one place
//! where LDK tells why a payment failed on its way: see [`HopFailures`].

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use lightning::util::logger::{Logger, Record};

use crate::payments::HopFailures;
use crate::time;

/// How much is logged: everything at this level and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Trace => "TRACE",
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "trace" => Ok(Level::Trace),
            "debug" => Ok(Level::Debug),
            "info" => Ok(Level::Info),
            "warn" => Ok(Level::Warn),
            "error" => Ok(Level::Error),
            _ => Err(()),
        }
    }
}

/// What LDK 0.2 logs as errors although they are a node's everyday life: a payment without
/// a route, a channel that was closed, a message that came too early. At ERROR they would
/// hide the lines that tell of something wrong.
const EVERYDAY: &[&str] = &[
    "Failed to find route for payment",
    "Failed to find a route on retry",
    "Retries exhausted for payment",
    "Payment params expired on retry",
    "Payment already",
    "Force-closing",
    "Immediately closing unfunded channel",
    "Closed channel",
    "Closing channel",
    "Got non-closing error",
];

/// The level at which a record of LDK's is logged here.
fn level_of(record: &Record) -> Level {
    use lightning::util::logger::Level as Ldk;
    match record.level {
        Ldk::Gossip | Ldk::Trace => Level::Trace,
        Ldk::Debug => Level::Debug,
        Ldk::Info => Level::Info,
        Ldk::Warn => Level::Warn,
        Ldk::Error => {
            let text = record.args.to_string();
            if EVERYDAY.iter().any(|everyday| text.starts_with(everyday)) {
                Level::Info
            } else {
                Level::Error
            }
        }
    }
}

/// The daemon's log.
pub(crate) struct Log {
    level: Level,
    sink: Mutex<Box<dyn Write + Send>>,
    /// What LDK has said about failed hops of payments that are still under way.
    pub hop_failures: HopFailures,
}

impl Log {
    /// Opens the log: appends to `path`, or writes to standard error.
    pub(crate) fn open(path: Option<&Path>, level: Level) -> io::Result<Self> {
        let sink: Box<dyn Write + Send> = match path {
            Some(path) => Box::new(File::options().create(true).append(true).open(path)?),
            None => Box::new(io::stderr()),
        };
        Ok(Log {
            level,
            sink: Mutex::new(sink),
            hop_failures: HopFailures::default(),
        })
    }

    pub(crate) fn enabled(&self, level: Level) -> bool {
        level >= self.level
    }

    /// Writes one line; line breaks inside a message are shown, not obeyed.
    pub(crate) fn write(&self, level: Level, target: &str, message: std::fmt::Arguments<'_>) {
        if !self.enabled(level) {
            return;
        }
        let mut line = format!(
            "{} {:<5} {target}: {message}",
            time::utc(time::since_epoch()),
            level.name()
        );
        if line.contains(['\n', '\r']) {
            line = line.replace('\n', "\\n").replace('\r', "\\r");
        }
        line.push('\n');
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written (disk full, reader gone) must not end the node.
        let _ = sink.write_all(line.as_bytes());
        let _ = sink.flush();
    }
}

impl Logger for Log {
    fn log(&self, record: Record) {
        self.hop_failures.listen(&record);
        let level = level_of(&record);
        if !self.enabled(level) {
            return;
        }
        let target = record.module_path;
        match (record.peer_id, record.channel_id) {
            (Some(peer), Some(channel)) => self.write(
                level,
                target,
                format_args!("{} (peer {peer}, channel {channel})", record.args),
            ),
            (Some(peer), None) => {
                self.write(level, target, format_args!("{} (peer {peer})", record.args));
            }
            (None, Some(channel)) => self.write(
                level,
                target,
                format_args!("{} (channel {channel})", record.args),
            ),
            (None, None) => self.write(level, target, record.args),
        }
    }
}

/// Logs one event at a level: `log_at!(log, Info, "peer {id} connected")`.
macro_rules! log_at {
    ($log:expr, $level:ident, $($message:tt)+) => {
        $log.write($crate::log::Level::$level, module_path!(), format_args!($($message)+))
    };
}
pub(crate) use log_at;
