//! Log files: read as bytes, whole lines only, tolerant of non-UTF-8.
//!
//! A search runs from an explicit [`Mark`], so that it cannot find what an earlier step of the test
//! has caused. Waiting for a line ([`LogFile::wait_for`]) and stating that there is none
//! ([`LogFile::absent`]) are two different calls, since "not found" means "not yet" only in one.
use super::{Error, Process, Result, State, Step, Wait};
use regex_lite::Regex;
use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

/// How much of a log's end is read for its last lines.
const TAIL_BYTES: u64 = 64 * 1024;

/// A place in a log file (a byte offset at the start of a line).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(crate) u64);

impl Mark {
    /// The very start of a log.
    pub const START: Mark = Mark(0);
}

/// A file that a daemon writes its log to.
#[derive(Debug, Clone)]
pub struct LogFile {
    path: PathBuf,
}

impl LogFile {
    /// The log file at `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> LogFile {
        LogFile { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of the last whole line so far.
    pub fn mark(&self) -> Result<Mark> {
        let Some((mut file, length)) = self.open()? else {
            return Ok(Mark::START);
        };
        // Backwards, since only the last line break counts.
        let mut end = length;
        while end > 0 {
            let start = end.saturating_sub(TAIL_BYTES);
            let bytes = self.read(&mut file, start, end)?;
            if let Some(at) = bytes.iter().rposition(|&byte| byte == b'\n') {
                return Ok(Mark(start + at as u64 + 1));
            }
            end = start;
        }
        Ok(Mark::START)
    }

    /// All whole lines from `mark` to now.
    pub fn lines_from(&self, mark: Mark) -> Result<Vec<String>> {
        self.follow(mark).lines(false)
    }

    /// All whole lines from `mark` to now, and the place behind them.
    pub fn read_on(&self, mark: Mark) -> Result<(Vec<String>, Mark)> {
        let mut follow = self.follow(mark);
        let lines = follow.lines(false)?;
        Ok((lines, Mark(follow.at)))
    }

    /// The first line from `mark` on that matches the regular expression, if there is one already.
    pub fn find(&self, mark: Mark, pattern: &str) -> Result<Option<String>> {
        let pattern = compile(pattern)?;
        let mut lines = self.lines_from(mark)?.into_iter();
        Ok(lines.find(|line| pattern.is_match(line)))
    }

    /// States that no line from `mark` to now matches the regular expression.
    ///
    /// # Errors
    /// [`Error::Unwanted`] with the first line that does.
    pub fn absent(&self, mark: Mark, pattern: &str) -> Result<()> {
        match self.find(mark, pattern)? {
            None => Ok(()),
            Some(line) => Err(Error::Unwanted {
                pattern: pattern.to_owned(),
                path: self.path.clone(),
                line,
            }),
        }
    }

    /// Waits for a line that matches; fails at once if `process` ends without having written it.
    pub fn wait_for(
        &self,
        mark: Mark,
        pattern: &str,
        timeout: Duration,
        process: &Process,
    ) -> Result<String> {
        let wanted = compile(pattern)?;
        let mut follow = self.follow(mark);
        let found = Wait::for_(format!("/{pattern}/ in {}", self.path.display()))
            .timeout(timeout)
            .watching(process)
            .until(|| {
                // Asked first: what has ended writes no more, and its last line may lack its end.
                let ended = process.state() != State::Running;
                match follow.lines(ended) {
                    Err(error) => Step::Never(error.to_string()),
                    Ok(lines) => match lines.into_iter().find(|line| wanted.is_match(line)) {
                        Some(line) => Step::Done(line),
                        None => Step::NotYet("no such line".to_owned()),
                    },
                }
            })?;
        Ok(found)
    }

    /// The last `count` lines.
    pub fn tail(&self, count: usize) -> Vec<String> {
        self.tail_from(Mark::START, count)
    }

    /// The last `count` lines of what was written since `mark`; nothing if it cannot be read, since
    /// this explains another error.
    pub(crate) fn tail_from(&self, mark: Mark, count: usize) -> Vec<String> {
        let Ok(Some((mut file, length))) = self.open() else {
            return Vec::new();
        };
        let start = length.saturating_sub(TAIL_BYTES).max(mark.0);
        let bytes = self.read(&mut file, start, length).unwrap_or_default();
        let mut lines = split(&bytes);
        if start > mark.0 && lines.len() > 1 {
            lines.remove(0);
        }
        lines.split_off(lines.len().saturating_sub(count))
    }

    fn follow(&self, mark: Mark) -> Follow<'_> {
        Follow {
            log: self,
            at: mark.0,
        }
    }

    /// The file and its length, or nothing if it is not there yet.
    fn open(&self) -> Result<Option<(File, u64)>> {
        let opened = File::open(&self.path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((length, file)) => Ok(Some((file, length))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn read(&self, file: &mut File, start: u64, end: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))
            .and_then(|_| file.take(end - start).read_to_end(&mut bytes))
            .map_err(|error| self.failed(error))?;
        Ok(bytes)
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io {
            action: "reading",
            path: self.path.clone(),
            source,
        }
    }
}

/// Reads a log on from where it stopped.
struct Follow<'a> {
    log: &'a LogFile,
    at: u64,
}

impl Follow<'_> {
    /// The lines that have come since: whole ones, and a last one without its end if `ended`.
    fn lines(&mut self, ended: bool) -> Result<Vec<String>> {
        let Some((mut file, length)) = self.log.open()? else {
            return Ok(Vec::new());
        };
        if length < self.at {
            return Err(self.log.failed(io::Error::new(
                ErrorKind::InvalidData,
                format!("it shrank to {length} bytes, below the mark at {}", self.at),
            )));
        }
        let mut bytes = self.log.read(&mut file, self.at, length)?;
        if !ended {
            let whole = bytes.iter().rposition(|&byte| byte == b'\n');
            bytes.truncate(whole.map_or(0, |at| at + 1));
        }
        self.at += bytes.len() as u64;
        Ok(split(&bytes))
    }
}

fn split(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = bytes
        .split(|&byte| byte == b'\n')
        .map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned())
        .collect();
    // Behind the last line break there is no line.
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn compile(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| Error::Pattern {
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    struct Scratch {
        _dir: tempfile::TempDir,
        file: File,
        log: LogFile,
    }

    fn scratch() -> Scratch {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        Scratch {
            file: File::options()
                .create(true)
                .append(true)
                .open(&path)
                .unwrap(),
            log: LogFile::new(path),
            _dir: dir,
        }
    }

    #[test]
    fn a_log_that_is_not_there_yet_is_empty() {
        let log = LogFile::new("/no/such/log");
        assert_eq!(log.mark().unwrap(), Mark::START);
        assert!(log.lines_from(Mark::START).unwrap().is_empty());
        assert!(log.tail(3).is_empty());
    }

    #[test]
    fn only_whole_lines_are_seen_and_a_mark_stands_at_the_start_of_one() {
        let mut scratch = scratch();
        scratch.file.write_all(b"one\r\ntwo\nthr").unwrap();
        let mark = scratch.log.mark().unwrap();
        assert_eq!(mark, Mark(9));
        assert_eq!(scratch.log.lines_from(Mark::START).unwrap(), ["one", "two"]);
        scratch.file.write_all(b"ee\n").unwrap();
        assert_eq!(scratch.log.lines_from(mark).unwrap(), ["three"]);
    }

    #[test]
    fn a_search_sees_nothing_before_its_mark() {
        let mut scratch = scratch();
        scratch.file.write_all(b"peer connected\n").unwrap();
        let mark = scratch.log.mark().unwrap();
        assert_eq!(scratch.log.find(mark, "connected").unwrap(), None);
        scratch.log.absent(mark, "connected").unwrap();
        scratch.file.write_all(b"peer 02ab connected\n").unwrap();
        let found = scratch.log.find(mark, r"peer [0-9a-f]+ connected").unwrap();
        assert_eq!(found.as_deref(), Some("peer 02ab connected"));
        let error = scratch.log.absent(mark, "connected").unwrap_err();
        assert!(error.to_string().contains("peer 02ab connected"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_text_do_not_hide_a_line() {
        let mut scratch = scratch();
        scratch
            .file
            .write_all(b"\xff\xfe alias \xf0\x28 ready\n")
            .unwrap();
        let found = scratch.log.find(Mark::START, "alias .* ready").unwrap();
        assert!(found.is_some_and(|line| line.contains('\u{fffd}')));
    }

    #[test]
    fn a_bad_pattern_is_told() {
        let error = scratch().log.find(Mark::START, "(unclosed").unwrap_err();
        assert!(error.to_string().contains("(unclosed"), "{error}");
    }

    #[test]
    fn a_tail_is_short_even_of_a_long_log_and_holds_a_last_line_without_end() {
        let mut scratch = scratch();
        for number in 0..20_000 {
            writeln!(scratch.file, "line {number}").unwrap();
        }
        scratch.file.write_all(b"and out").unwrap();
        assert_eq!(scratch.log.tail(2), ["line 19999", "and out"]);
        assert_eq!(
            scratch.log.tail_from(scratch.log.mark().unwrap(), 9),
            ["and out"]
        );
    }

    #[test]
    fn a_log_that_shrank_is_an_error_and_not_an_endless_wait() {
        let mut scratch = scratch();
        scratch.file.write_all(b"one\ntwo\n").unwrap();
        let mark = scratch.log.mark().unwrap();
        fs::write(scratch.log.path(), b"x\n").unwrap();
        let error = scratch.log.lines_from(mark).unwrap_err();
        assert!(error.to_string().contains("shrank"), "{error}");
    }
}
