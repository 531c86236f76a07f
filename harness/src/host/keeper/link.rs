//! The test's end of a keeper: starts it, asks it, hears from it, and cleans up if it is lost.
use super::{
    ROLE, sweep,
    wire::{self, Event, Inbox, Order, Request, Step, Target},
};
use crate::host::{
    Block, Error, Exit, Result,
    knobs::settings,
    proc::{self, MARKER, Marker, Stat},
    role,
    wait::{self, Wait},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    collections::BTreeMap,
    io::{self, Read},
    net::Shutdown,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt, process::ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a keeper may take to answer; it has nothing to do that takes more than milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The test's end of one keeper.
pub(crate) struct Link {
    pub(crate) pid: u32,
    pub(crate) block: Block,
    pub(crate) marker: String,
    socket: UnixStream,
    /// One request at a time on the socket, so that lines do not mix.
    sending: Mutex<()>,
    next: AtomicU64,
    news: Arc<News>,
    ear: Mutex<Option<JoinHandle<()>>>,
}

/// What the keeper has told, and the bell that rings whenever there is more.
#[derive(Default)]
struct News {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<u64, Answer>,
    /// How the processes ended that did.
    exits: BTreeMap<u64, (Exit, bool)>,
    /// Those that have not.
    running: Vec<u64>,
    /// Set when the keeper is gone, and with it all that it kept: how it ended.
    gone: Option<String>,
}

enum Answer {
    Spawned(u32),
    Refused(Step, i32),
    Signalled(usize),
}

impl Link {
    /// Starts a keeper for the lab called `lab`.
    pub(crate) fn start(lab: &str) -> Result<Link> {
        // What this process's constructor has not registered, the same file would not play either:
        // it would run our tests again, and they would start it again.
        if !role::known(ROLE) {
            return Err(Error::Keeper(format!(
                "this binary cannot play the role {ROLE}: its constructors did not run before main"
            )));
        }
        let executable = role::executable()?;
        let (socket, theirs) = UnixStream::pair().map_err(lost("making its socket"))?;
        let mut child = Command::new(&executable)
            .arg0(ROLE)
            .arg(lab)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(lost("starting this binary again"))?;
        let pid = child.id();
        // Taken while it is our child, so that it is certainly its own.
        let start = Stat::of(pid).map_or(0, |stat| stat.start);
        let mut inbox = Inbox::default();
        let ready = first_words(&socket, &mut inbox).and_then(|event| match event {
            Event::Ready { block } => Ok(Block::nth(block)),
            Event::NoLease(problem) => Err(Error::Lease(problem)),
            other => Err(Error::Keeper(format!("its first words were {other:?}"))),
        });
        let block = match ready {
            Ok(block) => block,
            Err(error) => {
                let _ = child.kill();
                let ended = child.wait();
                return Err(match error {
                    Error::Keeper(problem) => {
                        let how = ended.map_or_else(|error| error.to_string(), describe);
                        Error::Keeper(format!("{problem} (it ended with {how})"))
                    }
                    other => other,
                });
            }
        };
        let marker = Marker {
            lab: lab.to_owned(),
            keeper: pid,
            start,
            namespace: proc::namespace(),
        };
        let news = Arc::new(News::default());
        let ear = Ear {
            socket: socket.try_clone().map_err(lost("sharing its socket"))?,
            inbox,
            child,
            marker: marker.clone(),
            news: Arc::clone(&news),
        };
        let ear = thread::Builder::new()
            .name("boltwright-site".to_owned())
            .spawn(move || ear.listen())
            .map_err(lost("starting the thread that listens to it"))?;
        Ok(Link {
            pid,
            block,
            marker: marker.to_string(),
            socket,
            sending: Mutex::new(()),
            next: AtomicU64::new(1),
            news,
            ear: Mutex::new(Some(ear)),
        })
    }

    /// A number for the next order or request.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Has a process started; `Err((step, errno))` inside if that failed.
    pub(crate) fn spawn(&self, mut order: Order) -> Result<std::result::Result<u32, (Step, i32)>> {
        order.env.push((MARKER.into(), self.marker.clone().into()));
        match self.ask(order.id, &Request::Spawn(Box::new(order)))? {
            Answer::Spawned(pid) => Ok(Ok(pid)),
            Answer::Refused(step, errno) => Ok(Err((step, errno))),
            Answer::Signalled(_) => Err(Error::Keeper("answered something else".to_owned())),
        }
    }

    /// Sends a signal to a process that was started here; tells how many processes (or groups) it
    /// reached, 0 if it has ended.
    pub(crate) fn signal(&self, process: u64, signal: i32, to: Target) -> Result<usize> {
        let id = self.number();
        let request = Request::Signal {
            id,
            process,
            signal,
            to,
        };
        match self.ask(id, &request) {
            Ok(Answer::Signalled(reached)) => Ok(reached),
            Ok(_) => Err(Error::Keeper("answered something else".to_owned())),
            // With the keeper all of its processes are gone.
            Err(_) if self.is_gone() => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn ask(&self, id: u64, request: &Request) -> Result<Answer> {
        let sent = {
            let _one_at_a_time = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
            wire::send(&self.socket, request)
        };
        let deadline = Instant::now() + scaled(PATIENCE);
        let mut state = self.state();
        loop {
            if let Some(answer) = state.answers.remove(&id) {
                return Ok(answer);
            }
            if let Some(how) = &state.gone {
                return Err(Error::Keeper(format!("it is gone: it ended with {how}")));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Keeper(match sent {
                    Ok(()) => format!("pid {} does not answer", self.pid),
                    Err(error) => format!("asking pid {} failed: {error}", self.pid),
                }));
            }
            state = wait::for_bell(&self.news.bell, state, left);
        }
    }

    /// How a process ended (and whether it dumped its core), if it did.
    pub(crate) fn exit(&self, process: u64) -> Option<(Exit, bool)> {
        self.state().exits.get(&process).copied()
    }

    /// Whether the keeper has ended, and with it all that it kept.
    pub(crate) fn is_gone(&self) -> bool {
        self.state().gone.is_some()
    }

    /// Waits until `process` has ended, or any news came, or the time is over.
    pub(crate) fn pause(&self, longest: Duration) {
        drop(wait::for_bell(&self.news.bell, self.state(), longest));
    }

    /// Waits until `process` has ended, for at most so long.
    pub(crate) fn wait_exit(&self, process: u64, timeout: Duration) -> Option<Exit> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if let Some(&(exit, _)) = state.exits.get(&process) {
                return Some(exit);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = wait::for_bell(&self.news.bell, state, left);
        }
    }

    /// Tells the keeper to end all, without waiting for it.
    pub(crate) fn hang_up(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
        // One that somebody has stopped would not notice, and its daemons would live on with it.
        if let (false, Ok(pid)) = (self.is_gone(), i32::try_from(self.pid)) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
        }
    }

    /// Has the keeper kill and reap all; returns when it is gone, and with it the lease.
    pub(crate) fn end(&self) -> Result<()> {
        self.hang_up();
        let deadline = Instant::now() + scaled(PATIENCE);
        let mut state = self.state();
        while state.gone.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                let left: Vec<_> = proc::descendants(self.pid)
                    .into_iter()
                    .map(|pid| format!("{pid} {}", proc::command_line(pid)))
                    .collect();
                return Err(Error::Keeper(format!(
                    "pid {} could not end: still there are {}",
                    self.pid,
                    left.join("; ")
                )));
            }
            state = wait::for_bell(&self.news.bell, state, left);
        }
        drop(state);
        // It has nothing more to do; whoever counts threads shall not find it.
        let ear = self
            .ear
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(ear) = ear {
            let _ = ear.join();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.news.lock()
    }
}

impl News {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that listens to a keeper for as long as it lives.
struct Ear {
    socket: UnixStream,
    inbox: Inbox,
    child: Child,
    marker: Marker,
    news: Arc<News>,
}

impl Ear {
    fn listen(mut self) {
        let mut bytes = [0; 16 * 1024];
        let mut bug = None;
        loop {
            while let Some(event) = self.inbox.next() {
                match event {
                    Ok(Event::Panicked(words)) => bug = Some(words),
                    Ok(event) => self.note(event),
                    // Cut short, by a keeper that could not wait for us.
                    Err(_) => {}
                }
            }
            match (&self.socket).read(&mut bytes) {
                Ok(0) => break,
                Ok(length) => self.inbox.push(bytes.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let ended = self.child.wait();
        if !ended.as_ref().is_ok_and(ExitStatus::success) {
            self.sweep();
        }
        let mut how = ended.map_or_else(|error| error.to_string(), describe);
        if let Some(words) = bug {
            how = format!("{how}: {words}");
        }
        let mut state = self.news.lock();
        for process in std::mem::take(&mut state.running) {
            state.exits.insert(process, (Exit::Unknown, false));
        }
        state.gone = Some(how);
        self.news.bell.notify_all();
    }

    fn note(&self, event: Event) {
        let mut state = self.news.lock();
        match event {
            Event::Spawned { id, pid } => {
                state.running.push(id);
                state.answers.insert(id, Answer::Spawned(pid));
            }
            Event::Refused { id, step, errno } => {
                state.answers.insert(id, Answer::Refused(step, errno));
            }
            Event::Signalled { id, reached } => {
                state.answers.insert(id, Answer::Signalled(reached));
            }
            Event::Exited { process, status } => {
                let status = ExitStatus::from_raw(status);
                state.running.retain(|&running| running != process);
                let exit = (Exit::from_status(status), status.core_dumped());
                state.exits.insert(process, exit);
            }
            Event::Ready { .. } | Event::NoLease(_) | Event::Panicked(_) => {}
        }
        self.news.bell.notify_all();
    }

    /// The keeper was killed. Its children die with it; theirs are found by their marker.
    fn sweep(&self) {
        let _ = Wait::for_("the processes of a lab whose keeper was killed")
            .timeout(Duration::from_secs(2))
            .until(|| match sweep::sweep(|marker| *marker == self.marker) {
                0 => wait::Step::Done(()),
                left => wait::Step::NotYet(format!("{left} processes")),
            });
    }
}

/// What the keeper says when it is ready, or cannot be.
fn first_words(socket: &UnixStream, inbox: &mut Inbox) -> Result<Event> {
    let mut bytes = [0; 1024];
    socket
        .set_read_timeout(Some(scaled(PATIENCE)))
        .map_err(lost("preparing its socket"))?;
    loop {
        if let Some(event) = inbox.next() {
            let event = event.map_err(lost("understanding it"))?;
            socket
                .set_read_timeout(None)
                .map_err(lost("preparing its socket"))?;
            return Ok(event);
        }
        match (&*socket).read(&mut bytes) {
            Ok(0) => {
                return Err(Error::Keeper(
                    "it ended before it was ready; is this binary run by a tool that hides it \
                     (/proc/self/exe is not the binary)?"
                        .to_owned(),
                ));
            }
            Ok(length) => inbox.push(bytes.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(lost("waiting for it to be ready")(error)),
        }
    }
}

fn lost(action: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Keeper(format!("{action} failed: {error}"))
}

fn describe(status: ExitStatus) -> String {
    Exit::from_status(status).to_string()
}

fn scaled(deadline: Duration) -> Duration {
    settings().map_or(deadline, |settings| settings.scaled(deadline))
}
