//! The keeper's own life.
use super::{
    lease::Lease,
    reap::{self, Reaping},
    sweep,
    wire::{self, Event, Inbox, Order, Request, Step, Target},
};
use crate::host::{
    proc::{self, Stat},
    role,
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{
            SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask,
        },
        signalfd::{SfdFlags, SignalFd},
    },
    unistd,
};
use std::{
    any::Any,
    collections::BTreeMap,
    ffi::{CString, NulError, OsStr, OsString},
    fs::File,
    io::{self, ErrorKind, Read},
    iter,
    os::{
        fd::{AsFd, FromRawFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt},
    },
    panic::{self, AssertUnwindSafe},
    path::Path,
    process,
    time::Duration,
};

/// How many processes are looked at for leftovers of dead labs between two looks at the socket.
const SWEEP_STRIDE: usize = 16;

/// Runs this process as a keeper; returns its exit code. Called by the role dispatch only.
///
/// Standard input is the socket to the test.
pub fn run(_args: Vec<OsString>) -> i32 {
    let Ok(socket) = take_position() else {
        return 2;
    };
    let Ok(signals) = hear_of_children() else {
        return 2;
    };
    let lease = match Lease::take() {
        Ok(lease) => lease,
        Err(problem) => {
            let _ = wire::send(&socket, &Event::NoLease(problem));
            return 1;
        }
    };
    let mut keeper = Keeper {
        socket,
        signals,
        running: BTreeMap::new(),
        ended: BTreeMap::new(),
        inbox: Inbox::default(),
        leftovers: Vec::new(),
    };
    // Whatever happens in here, what was started is ended.
    let watch = panic::catch_unwind(AssertUnwindSafe(|| keeper.watch(lease.index)));
    if let Err(panicked) = &watch {
        let _ = wire::send(&keeper.socket, &Event::Panicked(words(panicked.as_ref())));
    }
    keeper.end();
    // Only now, with all reaped, is the block free again.
    drop(lease);
    i32::from(watch.is_err()) * 101
}

/// Leaves the test's session, process group, terminal, descriptors and working directory; returns
/// the socket.
fn take_position() -> io::Result<UnixStream> {
    close_all_from_3();
    let socket = fcntl(io::stdin(), FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: `fcntl` has just made this descriptor for us; nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    unistd::dup2_stdin(File::open("/dev/null")?)?;
    // It fails only for the leader of a process group, which a child is not.
    let _ = unistd::setsid();
    // A working directory would keep a file system busy, or a lab's directory from being removed.
    unistd::chdir("/")?;
    prctl::set_child_subreaper(true)?;
    Ok(UnixStream::from(socket))
}

/// Closes what the test had open without close-on-exec: a pipe's other end, say, whose reader
/// would wait for us. Nothing of ours is open yet.
fn close_all_from_3() {
    // SAFETY: three integers, no memory. No object in this process owns a descriptor above 2 yet:
    // this is the first thing that the role does.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    if closed == 0 {
        return;
    }
    // A kernel before 5.9.
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .map(|entries| {
            entries
                .flatten()
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .filter(|&fd| fd > 2)
                .collect()
        })
        .unwrap_or_default();
    for fd in open {
        let _ = unistd::close(fd);
    }
}

/// Blocks every signal and opens a descriptor that tells of children. So nothing short of SIGKILL
/// ends a keeper. The processes that it starts get an empty mask again.
fn hear_of_children() -> io::Result<SignalFd> {
    // What the test (or a `nohup`) ignores would stay ignored in the daemons; an ignored SIGCHLD
    // would even lose us their exits.
    for signal in Signal::iterator() {
        if !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP) {
            let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: the default disposition involves no handler.
            let _ = unsafe { sigaction(signal, &default) };
        }
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
    let children = SigSet::from(Signal::SIGCHLD);
    Ok(SignalFd::with_flags(
        &children,
        SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
    )?)
}

fn words(panicked: &(dyn Any + Send)) -> String {
    let text = panicked
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| panicked.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

struct Keeper {
    socket: UnixStream,
    signals: SignalFd,
    /// The processes that were ordered and not yet reaped: pid to order.
    running: BTreeMap<u32, u64>,
    /// Those that were reaped: order to former pid, still the name of what is left of its group.
    ended: BTreeMap<u64, u32>,
    inbox: Inbox,
    /// Processes still to be looked at: those of labs that lost test and keeper at once are ours to end.
    leftovers: Vec<u32>,
}

impl Keeper {
    /// Serves until the test is gone.
    fn watch(&mut self, block: u32) {
        if wire::send(&self.socket, &Event::Ready { block }).is_err() {
            return;
        }
        self.leftovers = proc::pids();
        loop {
            let timeout = match self.leftovers.is_empty() {
                true => PollTimeout::NONE,
                false => PollTimeout::ZERO,
            };
            if !self.wait(timeout) {
                self.sweep_some();
                continue;
            }
            self.reap_all();
            if !self.hear() {
                return;
            }
        }
    }

    /// Waits for the socket or a child; tells whether there was something.
    fn wait(&self, timeout: PollTimeout) -> bool {
        let mut sources = [
            PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut sources, timeout).is_ok_and(|ready| ready > 0)
    }

    /// Looks at a few processes for leftovers of dead labs, so that orders need not wait for a
    /// look at all of them.
    fn sweep_some(&mut self) {
        let namespace = proc::namespace();
        let rest = self.leftovers.len().saturating_sub(SWEEP_STRIDE);
        for pid in self.leftovers.split_off(rest) {
            sweep::sweep_one(pid, |marker| marker.is_orphaned(namespace));
        }
    }

    /// Reads what has come and does it; tells whether the test is still there.
    fn hear(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        let _ = self.socket.set_nonblocking(true);
        let read = (&self.socket).read(&mut bytes);
        let _ = self.socket.set_nonblocking(false);
        match read {
            Ok(0) => return false,
            Ok(length) => self.inbox.push(bytes.get(..length).unwrap_or_default()),
            Err(error) => {
                return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
            }
        }
        while let Some(request) = self.inbox.next() {
            let answer = match request {
                Ok(Request::Spawn(order)) => self.spawn(&order),
                Ok(Request::Signal {
                    id,
                    process,
                    signal,
                    to,
                }) => Event::Signalled {
                    id,
                    reached: self.signal(process, signal, to),
                },
                // Both ends are the same binary: there is nothing to be said to what is not one.
                Err(_) => return false,
            };
            if wire::send(&self.socket, &answer).is_err() {
                return false;
            }
        }
        true
    }

    fn spawn(&mut self, order: &Order) -> Event {
        match start(order) {
            Ok(pid) => {
                self.running.insert(pid, order.id);
                Event::Spawned { id: order.id, pid }
            }
            Err((step, error)) => Event::Refused {
                id: order.id,
                step,
                errno: error.raw_os_error().unwrap_or(libc::EIO),
            },
        }
    }

    /// Sends a signal, but only to processes that we have not reaped, so never to a stranger that
    /// their pid has come round to. Tells how many it reached.
    fn signal(&self, process: u64, signal: i32, to: Target) -> usize {
        let leader = self
            .running
            .iter()
            .find(|&(_, &order)| order == process)
            .and_then(|(&pid, _)| i32::try_from(pid).ok());
        let reached = |pid| usize::from(reap::kill(pid, signal).is_ok());
        match (leader, to) {
            (Some(pid), Target::Process) => reached(pid),
            (Some(pid), Target::Group) => reached(-pid),
            (None, Target::Process) => 0,
            // What it has left behind has come to us by its death.
            (None, Target::Group) => self
                .left_behind(process)
                .filter_map(|pid| i32::try_from(pid).ok())
                .map(reached)
                .sum(),
        }
    }

    /// Our living children in the process group of an ended process.
    fn left_behind(&self, process: u64) -> impl Iterator<Item = u32> {
        let group = self.ended.get(&process).copied();
        proc::children(process::id())
            .into_iter()
            .filter(move |&pid| {
                Stat::of(pid).is_some_and(|stat| !stat.is_dead() && Some(stat.group) == group)
            })
    }

    /// Collects all dead children and tells the test about those that it ordered; tells whether
    /// there are others.
    fn reap_all(&mut self) -> bool {
        // The signal only says that there is something; a second one may hide behind the first.
        while let Ok(Some(_)) = self.signals.read_signal() {}
        loop {
            match reap::reap() {
                Reaping::Collected(dead) => {
                    if let Some(process) = self.running.remove(&dead.pid) {
                        self.ended.insert(process, dead.pid);
                        let status = dead.status;
                        let _ = wire::send(&self.socket, &Event::Exited { process, status });
                    }
                }
                Reaping::NoneEnded => return true,
                Reaping::NoChildren => return false,
            }
        }
    }

    /// Kills and reaps until no process descends from us.
    ///
    /// There is no deadline: the block is not free, and our work not done, as long as one lives.
    fn end(&mut self) {
        // A test that still listens shall hear of the exits, but must not hold us up.
        let _ = self.socket.set_nonblocking(true);
        while self.reap_all() {
            reap::kill_children();
            self.wait_for_child(Duration::from_millis(20));
        }
    }

    fn wait_for_child(&self, longest: Duration) {
        let mut source = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::ZERO);
        let _ = poll(&mut source, timeout);
    }
}

/// Starts a process in a group of its own, with nothing of ours but what the order says.
fn start(order: &Order) -> Result<u32, (Step, io::Error)> {
    let append = |path: &Path, step| {
        let file = File::options().create(true).append(true).open(path);
        file.map_err(|error| (step, error))
    };
    let program = match order.role {
        // Our own descriptor: the test's might be gone with the test.
        true => role::executable().map_err(|_| (Step::Start, Errno::ENOENT.into()))?,
        false => order.program.clone(),
    };
    let words = |error: NulError| (Step::Start, io::Error::from(error));
    let file = c_string(program.as_os_str()).map_err(words)?;
    let arguments = iter::once(&order.argv0).chain(&order.args);
    let arguments: Vec<CString> = arguments
        .map(|argument| c_string(argument))
        .collect::<Result<_, _>>()
        .map_err(words)?;
    let environment: Vec<CString> = order
        .env
        .iter()
        .map(|(name, value)| c_string(&[name.as_os_str(), value].join(OsStr::new("="))))
        .collect::<Result<_, _>>()
        .map_err(words)?;
    let keeper = unistd::getpid();
    let mut command = process::Command::new(&program);
    command
        .current_dir(&order.dir)
        .stdin(process::Stdio::null())
        .stdout(append(&order.stdout, Step::Stdout)?)
        .stderr(append(&order.stderr, Step::Stderr)?)
        .process_group(0);
    // SAFETY: between fork and exec, in a child of a process with one thread: nothing is locked that
    // would stay so, and the closure may do what it likes.
    unsafe {
        command.pre_exec(move || {
            // If we are killed, it dies: this is bound to our thread, which lives as long as we do.
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            // Had we died before that call, nobody would tell it.
            if unistd::getppid() != keeper {
                return Err(Errno::ESRCH.into());
            }
            // std leaves our mask in place, which blocks everything.
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
            // std would go on to `execvp`, which hands a damaged program to a shell as its script.
            let never = unistd::execve(&file, &arguments, &environment);
            Err(never.err().unwrap_or(Errno::ENOEXEC).into())
        });
    }
    let child = command.spawn().map_err(|error| (Step::Start, error))?;
    // Dropped and never waited for: `waitpid(-1)` collects it, and the two must not meet.
    Ok(child.id())
}

fn c_string(text: &OsStr) -> Result<CString, NulError> {
    CString::new(text.as_bytes())
}
