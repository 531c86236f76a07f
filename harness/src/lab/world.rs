//! The lab itself: what stands in it.

use super::{Error, LabBuilder, Result, Seed, checks::Waivers, names, watch::Watch};
use crate::chain::Chain;
use crate::host::{Journal, Site};
use crate::node::{Kind, Launch, Node, NodeOptions, ldk};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// One test's world. See the [module](super) for what it does.
///
/// ```no_run
/// use boltwright::prelude::*;
///
/// # fn main() -> Result {
/// let lab = Lab::new()?;
/// let [alice, bob] = lab.line(Amount::from_sat(1_000_000))?;
/// let invoice = bob.invoice(Msat::from_sat(25_000), "coffee")?;
/// let payment = alice.pay(&invoice)?;
/// assert_eq!(payment.preimage.hash(), invoice.payment_hash());
/// lab.finish()?; // ends and checks it; a lab that is only dropped is reported and kept as failed
/// # Ok(())
/// # }
/// ```
pub struct Lab {
    pub(super) world: Arc<World>,
    pub(super) watch: Option<Watch>,
}

/// What a lab and those that watch it share.
pub(super) struct World {
    pub name: String,
    pub seed: Seed,
    pub replay: String,
    pub started: Instant,
    pub site: Arc<Site>,
    pub journal: Arc<Journal>,
    pub chain: Chain,
    /// Whether its directory is kept when it passes, too.
    pub keep: bool,
    pub state: WorldState,
}

/// What changes in the course of a lab.
#[derive(Default)]
pub(super) struct WorldState {
    pub waivers: Mutex<Waivers>,
    /// What the deadline or a signal has said, if either came before the test's own end. Locked
    /// while it speaks.
    pub early: Mutex<Option<String>>,
    nodes: Mutex<Vec<Node>>,
    /// What was wrong with how daemons ended, besides what their nodes remember.
    problems: Mutex<Vec<(String, String)>>,
    told: AtomicBool,
    ending: AtomicBool,
    done: AtomicBool,
}

impl World {
    /// All nodes, in the order of their making.
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.state.nodes).clone()
    }

    /// Whether the report is still to be printed; `true` once only.
    pub fn tell_once(&self) -> bool {
        !self.state.told.swap(true, Ordering::SeqCst)
    }

    /// What the deadline or a signal has said, if either came before the test's own end; waits for
    /// whoever is still speaking.
    pub fn early_verdict(&self) -> Option<String> {
        lock(&self.state.early).clone()
    }

    /// Remembers which daemons have ended without being asked to.
    pub fn note_own_ends(&self) {
        self.nodes().iter().for_each(Node::note_own_end);
        if !self.chain.was_asked_to_end()
            && let Err(death) = self.chain.process().alive()
        {
            self.note_problem("bitcoind", death.to_string());
        }
    }

    /// Remembers what was wrong with how a daemon ended, once.
    pub fn note_problem(&self, who: &str, problem: String) {
        let noted = (who.to_owned(), problem);
        let mut problems = lock(&self.state.problems);
        if !problems.contains(&noted) {
            problems.push(noted);
        }
    }

    /// What was wrong with how daemons ended: who, and what.
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut all = lock(&self.state.problems).clone();
        for node in self.nodes() {
            let bad = node.bad_ends().into_iter();
            all.extend(bad.map(|problem| (node.title(), problem)));
        }
        all
    }

    /// Remembers that the lab's end has begun; whether it had before.
    pub fn begin_end(&self) -> bool {
        self.state.ending.swap(true, Ordering::SeqCst)
    }

    /// Whether the lab's end has begun.
    pub fn is_ending(&self) -> bool {
        self.state.ending.load(Ordering::SeqCst)
    }

    /// Remembers that nothing is left to be done.
    pub fn finish_end(&self) {
        self.state.done.store(true, Ordering::SeqCst);
    }

    /// Whether nothing is left to be done.
    pub fn is_done(&self) -> bool {
        self.state.done.load(Ordering::SeqCst)
    }

    /// A new node, under the first free name if none is given.
    fn add(&self, name: Option<&str>, kind: Kind, options: &NodeOptions) -> Result<Node> {
        if let Some((name, problem)) = name.and_then(|name| Some((name, names::problem(name)?))) {
            return Err(Error::Invalid(format!(
                "cannot name a node {name:?}: {problem}"
            )));
        }
        let mut nodes = lock(&self.state.nodes);
        let free = |name: &String| !nodes.iter().any(|node| node.name() == *name);
        let name = match name {
            Some(name) => name.to_owned(),
            None => (0..).map(names::name).find(free).unwrap_or_default(),
        };
        let name = name.as_str();
        if nodes.iter().any(|node| node.name() == name) {
            return Err(Error::Invalid(format!(
                "there is a node {name} in this lab already"
            )));
        }
        let host = u8::try_from(nodes.len() + FIRST_HOST).map_err(|_| {
            Error::Invalid(format!("a lab has room for {} nodes", 256 - FIRST_HOST))
        })?;
        let program = options.program(kind)?;
        let launch = Launch {
            name: name.to_owned(),
            dir: Launch::dir_in(self.site.dir(), name),
            listen: Launch::listen_at(self.site.block(), host),
            chain: self.chain.endpoint(),
            program,
            seed: self.seed.bytes(name),
            options: options.clone(),
        };
        let node = Node::new(
            kind,
            Arc::clone(&self.site),
            self.chain.clone(),
            launch,
            Arc::clone(&self.journal),
        );
        nodes.push(node.clone());
        let chain = self.chain.endpoint();
        super::description::write(self.site.dir(), &self.name, self.seed, Some(&chain), &nodes)?;
        Ok(node)
    }
}

/// The host number of the first node in the lab's block; those below are the lease's and the chain's.
const FIRST_HOST: usize = 10;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lab {
    /// A lab with a bitcoind and no nodes yet. End it with [`finish`](Lab::finish).
    pub fn new() -> Result<Lab> {
        Lab::builder().start()
    }

    /// A lab with options.
    pub fn builder() -> LabBuilder {
        LabBuilder::default()
    }

    /// What reports call it.
    pub fn name(&self) -> &str {
        &self.world.name
    }

    /// Its seed: use it for every choice that a test makes at random.
    pub fn seed(&self) -> Seed {
        self.world.seed
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.world.site.dir()
    }

    /// Its bitcoind.
    pub fn chain(&self) -> &Chain {
        &self.world.chain
    }

    /// What it stands on: processes, addresses, directory.
    pub fn site(&self) -> &Site {
        &self.world.site
    }

    /// Its journal, for a test's own remarks in the timeline.
    pub fn journal(&self) -> &Journal {
        &self.world.journal
    }

    /// All nodes that were made, in that order.
    pub fn all_nodes(&self) -> Vec<Node> {
        self.world.nodes()
    }

    /// The node of this name, if it was made.
    pub fn get(&self, name: &str) -> Option<Node> {
        self.all_nodes()
            .into_iter()
            .find(|node| node.name() == name)
    }

    /// A node of the default implementation, ready.
    pub fn node(&self) -> Result<Node> {
        self.node_of(&ldk::Ldk, NodeOptions::default())
    }

    /// A node of this implementation with these options, ready.
    pub fn node_of(&self, kind: Kind, options: NodeOptions) -> Result<Node> {
        let [node] = self.start_nodes([(kind, options)])?;
        Ok(node)
    }

    /// A node of this name, implementation and options, ready.
    pub fn node_named(&self, name: &str, kind: Kind, options: NodeOptions) -> Result<Node> {
        let node = self.world.add(Some(name), kind, &options)?;
        self.start_all(std::slice::from_ref(&node))?;
        Ok(node)
    }

    /// `N` nodes of the default implementation, started in parallel, ready.
    pub fn nodes<const N: usize>(&self) -> Result<[Node; N]> {
        self.start_nodes(std::array::from_fn(|_| {
            (&ldk::Ldk as Kind, NodeOptions::default())
        }))
    }

    /// Nodes of these implementations and options, started in parallel, ready.
    pub fn start_nodes<const N: usize>(
        &self,
        wanted: [(Kind, NodeOptions); N],
    ) -> Result<[Node; N]> {
        let nodes = self.start_list(&wanted)?;
        <[Node; N]>::try_from(nodes)
            .map_err(|nodes| Error::Invalid(format!("{} nodes for {N} names", nodes.len())))
    }

    pub(super) fn start_list(&self, wanted: &[(Kind, NodeOptions)]) -> Result<Vec<Node>> {
        let mut nodes = Vec::with_capacity(wanted.len());
        for (kind, options) in wanted {
            nodes.push(self.world.add(None, *kind, options)?);
        }
        self.start_all(&nodes)?;
        Ok(nodes)
    }

    /// Starts these nodes in parallel; if one fails, it fails with its own words, and the others
    /// that were started with it are ended.
    fn start_all(&self, nodes: &[Node]) -> Result<()> {
        let started = nodes.iter().try_for_each(Node::spawn);
        if let Err(error) = started.and_then(|()| Node::wait_all_ready(nodes)) {
            for node in nodes {
                // The first error is the one to tell; a node that never ran cannot be killed.
                let _ = node.kill();
            }
            return Err(error.into());
        }
        Ok(())
    }
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab")
            .field("name", &self.world.name)
            .field("dir", &self.dir())
            .field("nodes", &self.all_nodes())
            .finish()
    }
}
