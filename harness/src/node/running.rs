//! A node in a lab: its life from start to stop.

use super::{Client, Error, Failure, Info, Kind, Launch, NodeId, NodeOptions, PeerAddress, Result};
use crate::chain::Chain;
use crate::host::{
    Exit, Journal, LogFile, Process, Site, State, Step, Wait, process::StoppedBy, settings,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A Lightning node of whatever implementation, on its own address, with its own directory.
///
/// A cheap handle: clones are the same node. Its calls (in [`calls`](Node#impl-Node-1)) are
/// answered by the real daemon; every error names the node and its log.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    kind: Kind,
    site: Arc<Site>,
    chain: Chain,
    journal: Arc<Journal>,
    launch: Mutex<Launch>,
    life: Mutex<Life>,
}

#[derive(Default)]
struct Life {
    process: Option<Process>,
    client: Option<Arc<dyn Client>>,
    id: Option<NodeId>,
    suspended: bool,
    /// Whether the end of the present process is no news any more.
    end_is_known: bool,
    /// What was wrong with how its processes ended.
    bad_ends: Vec<String>,
}

/// What a node is doing, as the harness knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// It was never started.
    New,
    /// Its process runs.
    Running,
    /// Its process has ended.
    Ended(Exit),
}

impl Node {
    /// A node that is not started yet.
    pub(crate) fn new(
        kind: Kind,
        site: Arc<Site>,
        chain: Chain,
        launch: Launch,
        journal: Arc<Journal>,
    ) -> Node {
        Node(Arc::new(Inner {
            kind,
            site,
            chain,
            journal,
            launch: Mutex::new(launch),
            life: Mutex::default(),
        }))
    }

    /// Its name in the lab: `alice`.
    pub fn name(&self) -> String {
        self.launch().name.clone()
    }

    /// Its name with its implementation, as errors call it: `alice (ldk)`.
    pub fn title(&self) -> String {
        format!("{} ({})", self.launch().name, self.0.kind.name())
    }

    /// Its implementation.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Its public key; known once it was ready for the first time.
    ///
    /// # Panics
    /// If the node was never started: a lab hands out nodes that were.
    #[track_caller]
    pub fn id(&self) -> NodeId {
        match self.life().id {
            Some(id) => id,
            None => panic!("{} has no identity yet: it was never started", self.title()),
        }
    }

    /// Its public key, if it was ready at least once.
    pub(crate) fn known_id(&self) -> Option<NodeId> {
        self.life().id
    }

    /// Remembers it if the process has ended without being asked to.
    pub(crate) fn note_own_end(&self) {
        let mut life = self.life();
        let Some(process) = life.process.clone().filter(|_| !life.end_is_known) else {
            return;
        };
        if let Err(death) = process.alive() {
            life.end_is_known = true;
            life.bad_ends.push(death.to_string());
        }
    }

    /// What was wrong with how its processes ended, up to now.
    pub(crate) fn bad_ends(&self) -> Vec<String> {
        self.life().bad_ends.clone()
    }

    /// Where peers reach it.
    pub fn peer_address(&self) -> PeerAddress {
        let address = self.launch().listen;
        PeerAddress {
            id: self.id(),
            address,
        }
    }

    /// Its own directory.
    pub fn dir(&self) -> PathBuf {
        self.launch().dir.clone()
    }

    /// Its log.
    pub fn log(&self) -> LogFile {
        LogFile::new(self.log_path())
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.0.kind.log_path(&self.launch())
    }

    /// What a person types to talk to it.
    pub fn command_line(&self) -> String {
        self.0.kind.command_line(&self.launch())
    }

    /// Its process, running or ended.
    pub fn process(&self) -> Result<Process> {
        self.life()
            .process
            .clone()
            .ok_or_else(|| Error::NotRunning { node: self.title() })
    }

    /// What it is doing.
    pub fn state(&self) -> NodeState {
        match &self.life().process {
            None => NodeState::New,
            Some(process) => match process.state() {
                State::Running => NodeState::Running,
                State::Exited(exit) => NodeState::Ended(exit),
            },
        }
    }

    /// Starts it and waits until it answers with its id at the chain's tip.
    ///
    /// A node that does not get ready is ended again.
    pub fn start(&self) -> Result<()> {
        self.spawn()?;
        self.wait_ready().inspect_err(|_| {
            // The error tells what happened; that it was ended then is no further news.
            let _ = self.kill();
        })
    }

    /// Starts it with these options from now on; another executable among them is an upgrade or a
    /// downgrade on the same directory.
    pub fn start_with(&self, options: NodeOptions) -> Result<()> {
        let program = options.program(self.0.kind)?;
        let mut launch = self.launch();
        launch.program = program;
        launch.options = options;
        drop(launch);
        self.start()
    }

    /// Starts its process without waiting for it.
    pub(crate) fn spawn(&self) -> Result<()> {
        if self.state() == NodeState::Running {
            return Err(self.invalid("it is running already"));
        }
        let launch = self.launch().clone();
        crate::host::directory::ensure(&launch.dir)?;
        let process = self.0.site.spawn(self.0.kind.command(&launch)?)?;
        self.note(format!("starts as pid {}", process.pid()));
        let mut life = self.life();
        life.suspended = false;
        life.end_is_known = false;
        life.process = Some(process);
        life.client = None;
        Ok(())
    }

    /// Waits until it answers with its id at the chain's tip; ends at once if its process does.
    fn wait_ready(&self) -> Result<()> {
        self.wait_ready_watching(&[])
    }

    fn wait_ready_watching(&self, others: &[Process]) -> Result<()> {
        let process = self.process()?;
        let launch = self.launch().clone();
        let wait = Wait::for_(format!("{} to answer its RPC", self.title())).watching(&process);
        let client: Arc<dyn Client> =
            others.iter().fold(wait, Wait::watching).until(|| {
                match self.0.kind.client(&launch) {
                    Ok(client) => Step::Done(Arc::from(client)),
                    Err(failure) => Step::NotYet(failure.to_string()),
                }
            })?;
        let info = self.wait_for_tip(client.as_ref(), &process)?;
        let mut life = self.life();
        if let Some(before) = life.id.filter(|before| *before != info.id) {
            let problem = format!("it came back as {} and was {before}", info.id);
            drop(life);
            return Err(self.invalid(&problem));
        }
        life.id = Some(info.id);
        life.client = Some(client);
        drop(life);
        self.note(format!("is ready at block {}: {}", info.height, info.id));
        Ok(())
    }

    /// Waits for all of these; if any of them dies, at once.
    pub(crate) fn wait_all_ready(nodes: &[Node]) -> Result<()> {
        let processes = nodes
            .iter()
            .map(Node::process)
            .collect::<Result<Vec<_>>>()?;
        nodes
            .iter()
            .try_for_each(|node| node.wait_ready_watching(&processes))
    }

    fn wait_for_tip(&self, client: &dyn Client, process: &Process) -> Result<Info> {
        let tip = std::cell::Cell::new(self.0.chain.tip()?);
        let label = format!(
            "{} to reach block {} {}",
            self.title(),
            tip.get().height,
            tip.get().hash
        );
        let info = Wait::for_(label)
            .watching(process)
            .watching(&self.0.chain.process())
            .until_pulsed(
                || match client.info() {
                    Ok(info) => match info.tip {
                        Some(hash) if hash == tip.get().hash => Step::Done(info),
                        None if info.height >= tip.get().height => Step::Done(info),
                        _ => {
                            // Somebody may have mined since: what counts is the tip of now.
                            if let Ok(now) = self.0.chain.tip() {
                                tip.set(now);
                            }
                            Step::NotYet(format!("block {} of {}", info.height, tip.get().height))
                        }
                    },
                    Err(failure) => Step::NotYet(failure.to_string()),
                },
                |longest| client.wait_tip(&tip.get().hash, longest).unwrap_or(false),
            )?;
        Ok(info)
    }

    /// Waits until it has seen the chain's tip.
    pub fn sync(&self) -> Result<()> {
        let (process, client) = (self.process()?, self.client()?);
        self.wait_for_tip(client.as_ref(), &process).map(drop)
    }

    /// Stops it in order and waits for its end; tells which step it took, where the daemon's own
    /// stop call is the first.
    pub fn stop(&self) -> Result<(Exit, StoppedBy)> {
        let process = self.process()?;
        let client = self.life().client.take();
        let timeout = settings()?.timeout;
        self.note_own_end();
        self.0.journal.disturb();
        self.life().end_is_known = true;
        let (exit, by) = process.stop(timeout, move || {
            if let Some(client) = client {
                // A daemon that cannot take the request is stopped by the next step.
                let _ = client.stop();
            }
        })?;
        self.note(format!("has stopped ({exit}, by {by:?})"));
        self.life().bad_ends.extend(bad_stop(exit, by));
        Ok((exit, by))
    }

    /// Stops it in order and starts it again.
    pub fn restart(&self) -> Result<()> {
        self.stop()?;
        self.start()
    }

    /// SIGKILL to it and its helpers.
    pub fn kill(&self) -> Result<Exit> {
        self.note_own_end();
        self.life().client = None;
        self.life().end_is_known = true;
        self.0.journal.disturb();
        self.note("is killed");
        Ok(self.process()?.kill()?)
    }

    /// Freezes it and its helpers (SIGSTOP): connections stay open and nothing answers.
    pub fn suspend(&self) -> Result<()> {
        self.0.journal.disturb();
        self.note("is suspended");
        self.process()?.suspend()?;
        self.life().suspended = true;
        Ok(())
    }

    /// Lets it go on after [`suspend`](Node::suspend).
    pub fn resume(&self) -> Result<()> {
        self.note("resumes");
        self.process()?.resume()?;
        self.life().suspended = false;
        Ok(())
    }

    /// Whether it can be expected to answer: ready, and not suspended. A node that has died without
    /// being asked to is an error.
    pub(crate) fn is_awake(&self) -> Result<bool> {
        let life = self.life();
        let Some(process) = life.process.clone() else {
            return Ok(false);
        };
        let (ready, suspended, known) = (life.client.is_some(), life.suspended, life.end_is_known);
        drop(life);
        match process.alive() {
            Ok(()) => Ok(ready && !suspended),
            Err(_) if known => Ok(false),
            Err(death) => Err(death.into()),
        }
    }

    /// Whether a test has suspended it and not resumed it yet.
    pub fn is_suspended(&self) -> bool {
        self.life().suspended
    }

    /// Copies its directory to `to`, which must not exist; the node must be stopped, or what is
    /// saved is what a crash would leave.
    pub fn save(&self, to: &Path) -> Result<()> {
        Ok(crate::host::directory::copy(&self.dir(), to)?)
    }

    /// Puts a saved directory back in place of its own, all but its log, stdout and stderr, which go
    /// on; the node must not be running.
    pub fn restore(&self, from: &Path) -> Result<()> {
        if self.state() == NodeState::Running {
            return Err(self.invalid("stop it before restoring its directory"));
        }
        let log = self.log_path();
        let mut spare: Vec<&OsStr> = vec!["stdout".as_ref(), "stderr".as_ref()];
        spare.extend(log.file_name());
        Ok(crate::host::directory::replace(&self.dir(), from, &spare)?)
    }

    /// The connection to its daemon.
    pub(crate) fn client(&self) -> Result<Arc<dyn Client>> {
        let life = self.life();
        if let Some(client) = &life.client {
            return Ok(Arc::clone(client));
        }
        let process = life.process.clone().filter(|_| !life.end_is_known);
        drop(life);
        match process {
            None => Err(Error::NotRunning { node: self.title() }),
            Some(process) => {
                process.alive()?;
                Err(Error::NotReady { node: self.title() })
            }
        }
    }

    /// Asks the daemon, and says in an error which node it was, or that it died.
    pub(crate) fn ask<T>(
        &self,
        call: impl FnOnce(&dyn Client) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let client = self.client()?;
        call(client.as_ref()).map_err(|failure| self.explain(failure))
    }

    /// What a failure of the daemon means for this node.
    fn explain(&self, failure: Failure) -> Error {
        if failure.unreachable
            && let Some(process) = self.life().process.clone()
            // The connection breaks a moment before the exit is reported.
            && process.wait_exit(Duration::from_millis(200)).is_ok()
            && let Err(death) = process.alive()
        {
            return death.into();
        }
        let (node, log) = (self.title(), self.log().path().to_owned());
        match &failure.payment {
            Some(reason) => Error::PaymentFailed {
                node,
                hash: None,
                reason: reason.clone(),
                detail: failure.message,
                log,
            },
            None => Error::Refused {
                node,
                failure: Box::new(failure),
                log,
            },
        }
    }

    /// Writes what this node is made to do into the lab's journal.
    pub(crate) fn note(&self, event: impl std::fmt::Display) {
        self.0.journal.note(format!("{} {event}", self.name()));
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn invalid(&self, problem: &str) -> Error {
        Error::Invalid {
            node: self.title(),
            problem: problem.to_owned(),
        }
    }

    pub(crate) fn launch(&self) -> MutexGuard<'_, Launch> {
        self.0.launch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.0.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong with the way in which an orderly stop went, if anything.
pub(crate) fn bad_stop(exit: Exit, by: StoppedBy) -> Option<String> {
    match by {
        StoppedBy::Already => None,
        StoppedBy::Request if exit == Exit::Code(0) => None,
        StoppedBy::Request => Some(format!("stopped when asked, but with {exit}")),
        later => Some(format!(
            "did not stop when asked by its RPC and took {later:?} to end ({exit})"
        )),
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Node {}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("name", &self.name())
            .field("kind", &self.0.kind.name())
            .field("state", &self.state())
            .finish()
    }
}
