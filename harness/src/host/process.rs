//! A process that the keeper started for us.
use super::{
    Error, LogFile, Mark, Program, Result,
    death::Scene,
    keeper::{
        link::Link,
        wire::{Order, Target},
    },
    knobs::{self, settings},
    proc::{self, Stat},
    program::Origin,
    spawn_error,
    wait::{self, Wait},
};
use nix::libc;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, fs,
    path::{self, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

pub use super::death::{Death, Exit};

/// How long the kernel may take to end a process after SIGKILL.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// What to start.
#[derive(Debug, Clone)]
pub struct Command {
    /// Its name in the lab: `bitcoind`, `alice`…
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// Environment on top of the scrubbed one.
    pub env: BTreeMap<OsString, OsString>,
    /// Its directory: working directory, private HOME, and where `stdout` and `stderr` go.
    pub dir: PathBuf,
    /// The log file whose tail explains a death (may be the same as stdout's).
    pub log: Option<PathBuf>,
}

impl Command {
    /// A command without arguments, environment of its own, or log file.
    pub fn new(name: impl Into<String>, program: Program, dir: impl Into<PathBuf>) -> Command {
        Command {
            name: name.into(),
            program,
            args: Vec::new(),
            env: BTreeMap::new(),
            dir: dir.into(),
            log: None,
        }
    }
}

/// Whether a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It has ended and was reaped.
    Exited(Exit),
}

/// A running (or ended) daemon. A cheap handle.
#[derive(Clone)]
pub struct Process {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    pid: u32,
    /// Its number at the keeper.
    order: u64,
    link: Arc<Link>,
    log: (LogFile, Mark),
    stderr: (LogFile, Mark),
    death: OnceLock<Death>,
    leftovers: Mutex<Vec<(u32, String)>>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("name", &self.name())
            .field("pid", &self.pid())
            .field("state", &self.state())
            .finish()
    }
}

impl Process {
    /// Has the keeper at the other end of `link` start a process.
    pub(crate) fn start(link: &Arc<Link>, command: Command) -> Result<Process> {
        let Command {
            name,
            program,
            args,
            env,
            dir,
            log,
        } = command;
        let temporary = dir.join("tmp");
        fs::create_dir_all(&temporary).map_err(|source| Error::Io {
            action: "creating",
            path: temporary.clone(),
            source,
        })?;
        // The daemon's files are appended to, over restarts: what an older run has written is not
        // this one's.
        let since = |path: PathBuf| -> Result<(LogFile, Mark)> {
            let file = LogFile::new(path);
            let mark = file.mark()?;
            Ok((file, mark))
        };
        let (stdout_path, stderr_path) = (dir.join("stdout"), dir.join("stderr"));
        let log = since(log.unwrap_or_else(|| stdout_path.clone()))?;
        let stderr = since(stderr_path.clone())?;

        let mut environment: BTreeMap<_, _> = knobs::passed_through().into_iter().collect();
        environment.insert("HOME".into(), dir.clone().into());
        environment.insert("TMPDIR".into(), temporary.into());
        environment.extend(env);
        let order = link.number();
        let started = link.spawn(Order {
            id: order,
            // It is executed in another working directory.
            program: path::absolute(&program.path).unwrap_or_else(|_| program.path.clone()),
            role: program.origin == Origin::Role,
            argv0: program
                .argv0
                .clone()
                .map_or_else(|| program.name.clone().into(), OsString::from),
            args,
            env: environment.into_iter().collect(),
            dir: dir.clone(),
            stdout: stdout_path,
            stderr: stderr_path,
        })?;
        match started {
            Ok(pid) => Ok(Process {
                inner: Arc::new(Inner {
                    name,
                    pid,
                    order,
                    link: Arc::clone(link),
                    log,
                    stderr,
                    death: OnceLock::new(),
                    leftovers: Mutex::default(),
                }),
            }),
            Err((step, errno)) => Err(Error::Spawn {
                name,
                problem: spawn_error::explain(step, errno, &program, &dir),
            }),
        }
    }

    /// Its name in the lab.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.inner.pid
    }

    /// Whether it lives.
    pub fn state(&self) -> State {
        match self.inner.link.exit(self.inner.order) {
            Some((exit, _)) => State::Exited(exit),
            None => State::Running,
        }
    }

    /// Its log file (the one given, else stdout).
    pub fn log(&self) -> LogFile {
        self.inner.log.0.clone()
    }

    /// What it writes to its standard error.
    pub fn stderr(&self) -> LogFile {
        self.inner.stderr.0.clone()
    }

    /// Where this run of it begins in its log, which holds those before a restart, too.
    pub fn log_start(&self) -> Mark {
        self.inner.log.1
    }

    /// `Err(Death)` if it has ended.
    pub fn alive(&self) -> std::result::Result<(), Death> {
        match self.death() {
            Some(death) => Err(death.clone()),
            None => Ok(()),
        }
    }

    fn death(&self) -> Option<&Death> {
        let inner = &*self.inner;
        let (exit, core_dumped) = inner.link.exit(inner.order)?;
        Some(inner.death.get_or_init(|| {
            Death::investigate(&Scene {
                name: &inner.name,
                pid: inner.pid,
                exit,
                core_dumped,
                stderr: (&inner.stderr.0, inner.stderr.1),
                log: (&inner.log.0, inner.log.1),
            })
        }))
    }

    /// Waits until it has ended and was reaped.
    pub fn wait_exit(&self, timeout: Duration) -> Result<Exit> {
        match self.inner.link.wait_exit(self.inner.order, timeout) {
            Some(exit) => Ok(exit),
            None => Err(Error::Stuck {
                name: self.inner.name.clone(),
                pid: self.inner.pid,
                problem: format!("it has not ended within {timeout:.1?}"),
            }),
        }
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: i32) -> Result<()> {
        self.send(signal, Target::Process)
    }

    /// SIGKILL to its whole process group; returns when it is reaped.
    pub fn kill(&self) -> Result<Exit> {
        let patience = settings()?.scaled(KILL_PATIENCE);
        self.inner
            .link
            .signal(self.inner.order, libc::SIGKILL, Target::Group)?;
        let exit = self.wait_exit(patience)?;
        self.end_group(patience)?;
        Ok(exit)
    }

    /// SIGSTOP to its whole process group.
    pub fn suspend(&self) -> Result<()> {
        self.send(libc::SIGSTOP, Target::Group)
    }

    /// SIGCONT to its whole process group.
    pub fn resume(&self) -> Result<()> {
        self.send(libc::SIGCONT, Target::Group)
    }

    /// Stops it in order: `ask` (the daemon's own RPC stop), grace, SIGTERM, grace, SIGABRT, SIGKILL;
    /// always within `timeout`. Tells which step ended it. Each step gets half of the time that is
    /// left, and asking a daemon that does not answer gets no more than that either: it is done on a
    /// thread of its own. A suspended process is resumed first.
    ///
    /// What is left of its process group when it has ended is killed, so that a restart finds
    /// nobody holding its sockets, and remembered as [`leftovers`](Process::leftovers).
    ///
    /// # Errors
    /// [`Error::Stuck`] if the kernel cannot end it.
    pub fn stop(
        &self,
        timeout: Duration,
        ask: impl FnOnce() + Send + 'static,
    ) -> Result<(Exit, StoppedBy)> {
        let deadline = Instant::now() + timeout;
        let stopped = self.stop_itself(deadline, ask)?;
        self.note_leftovers();
        self.end_group(settings()?.scaled(KILL_PATIENCE))?;
        Ok(stopped)
    }

    /// What was left of its process group when it had been stopped: `(pid, command)`. Helpers that
    /// outlive their daemon.
    pub fn leftovers(&self) -> Vec<(u32, String)> {
        let leftovers = self.inner.leftovers.lock();
        leftovers.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_leftovers(&self) {
        let group = self.inner.pid;
        let left = proc::pids().into_iter().filter(|&pid| {
            Stat::of(pid).is_some_and(|stat| stat.group == group && !stat.is_dead())
        });
        let left: Vec<_> = left.map(|pid| (pid, proc::command_line(pid))).collect();
        let leftovers = self.inner.leftovers.lock();
        leftovers
            .unwrap_or_else(PoisonError::into_inner)
            .extend(left);
    }

    fn stop_itself(
        &self,
        deadline: Instant,
        ask: impl FnOnce() + Send + 'static,
    ) -> Result<(Exit, StoppedBy)> {
        let Inner { link, order, .. } = &*self.inner;
        if let State::Exited(exit) = self.state() {
            return Ok((exit, StoppedBy::Already));
        }
        link.signal(*order, libc::SIGCONT, Target::Group)?;
        // Where no thread can be had it cannot be asked, and the next step ends it.
        let asking = std::thread::Builder::new().name("boltwright-ask".to_owned());
        drop(asking.spawn(ask));
        let left = || deadline.saturating_duration_since(Instant::now());
        if let Some(exit) = link.wait_exit(*order, left() / 2) {
            return Ok((exit, StoppedBy::Request));
        }
        for (signal, by) in [
            (libc::SIGTERM, StoppedBy::Term),
            (libc::SIGABRT, StoppedBy::Abort),
        ] {
            link.signal(*order, signal, Target::Process)?;
            if let Some(exit) = link.wait_exit(*order, left() / 2) {
                return Ok((exit, by));
            }
        }
        Ok((self.kill()?, StoppedBy::Kill))
    }

    /// Kills what is left of its process group.
    fn end_group(&self, patience: Duration) -> Result<()> {
        let Inner { link, order, .. } = &*self.inner;
        let mut problem = None;
        Wait::for_(format!(
            "the rest of {}'s process group to end",
            self.name()
        ))
        .timeout(patience)
        .until(|| match link.signal(*order, libc::SIGKILL, Target::Group) {
            Ok(0) => wait::Step::Done(()),
            Ok(left) => wait::Step::NotYet(format!("{left} processes")),
            Err(error) => {
                let words = error.to_string();
                problem = Some(error);
                wait::Step::Never(words)
            }
        })
        .map_err(|failure| problem.take().unwrap_or(failure.into()))
    }

    fn send(&self, signal: i32, to: Target) -> Result<()> {
        match self.inner.link.signal(self.inner.order, signal, to)? {
            0 => {
                self.alive()?;
                Err(Error::Stuck {
                    name: self.inner.name.clone(),
                    pid: self.inner.pid,
                    problem: format!("signal {signal} could not be sent to it"),
                })
            }
            _ => Ok(()),
        }
    }

    /// The marker of its site.
    pub(crate) fn marker(&self) -> &str {
        &self.inner.link.marker
    }

    /// Waits for news of any process of its site.
    pub(crate) fn pause(&self, longest: Duration) {
        if self.inner.link.is_gone() {
            // No news will ring any more.
            wait::nap(longest);
        } else {
            self.inner.link.pause(longest);
        }
    }
}

/// Which step of [`Process::stop`] ended the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoppedBy {
    /// It had ended before.
    Already,
    /// Its own RPC.
    Request,
    /// SIGTERM.
    Term,
    /// SIGABRT.
    Abort,
    /// SIGKILL.
    Kill,
}
