//! The lab itself: how it comes to be and what stands in it.

use super::{Error, Result, Seed, checks::Waivers, names, watch::Watch};
use crate::chain::{Chain, ChainOptions};
use crate::host::{self, Journal, Site, settings};
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
/// lab.finish()?; // ends it and checks it; without it the lab counts as failed
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
    pub waivers: Mutex<Waivers>,
    /// The first error known, once there is one: what the report opens with.
    pub verdict: Mutex<Option<String>>,
    /// Whether its directory is kept when it passes, too.
    pub keep: bool,
    nodes: Mutex<Vec<Node>>,
    told: AtomicBool,
    ended: AtomicBool,
}

/// A lab being described.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct LabBuilder {
    name: Option<String>,
    seed: Option<Seed>,
    replay: Option<String>,
    chain: ChainOptions,
    unwatched: bool,
    keep: bool,
}

impl LabBuilder {
    /// What reports call it; by default the name of the thread, which is the test's under libtest.
    pub fn name(mut self, name: &str) -> LabBuilder {
        self.name = Some(name.to_owned());
        self
    }

    /// The seed to use, instead of `BOLTWRIGHT_SEED` or a random one.
    pub fn seed(mut self, seed: u64) -> LabBuilder {
        self.seed = Some(Seed::new(seed));
        self
    }

    /// The command that the report gives to run it again, without the seed.
    pub fn replay(mut self, command: &str) -> LabBuilder {
        self.replay = Some(command.to_owned());
        self
    }

    /// Options of bitcoind.
    pub fn chain(mut self, options: ChainOptions) -> LabBuilder {
        self.chain = options;
        self
    }

    /// No deadline, and no report when a signal ends it: a person, or the program that holds it,
    /// looks after it.
    pub fn unwatched(mut self) -> LabBuilder {
        self.unwatched = true;
        self
    }

    /// Keeps the directory of a lab that passes, too, as `BOLTWRIGHT_KEEP=1` does for all.
    pub fn keep(mut self, keep: bool) -> LabBuilder {
        self.keep = keep;
        self
    }

    /// Makes the lab: directory, addresses, keeper, and a bitcoind that is ready.
    pub fn start(self) -> Result<Lab> {
        let settings = settings()?;
        let started = Instant::now();
        let name = self.name.unwrap_or_else(|| {
            let thread = std::thread::current();
            thread.name().unwrap_or("lab").to_owned()
        });
        let seed = self
            .seed
            .or(settings.seed.map(Seed::new))
            .unwrap_or_else(Seed::random);
        let site = Arc::new(Site::open()?);
        let world = World::furnish(name, seed, self.replay, started, &site, self.chain);
        match world {
            Ok(mut world) => {
                world.keep = self.keep || settings.keep;
                let world = Arc::new(world);
                let watch = (!settings.pause && !self.unwatched)
                    .then(|| Watch::start(&world, settings.deadline));
                Ok(Lab {
                    watch: watch.transpose()?,
                    world,
                })
            }
            Err(error) => {
                // Whoever reads the error wants the log that it names.
                let kept = site.keep("lab-that-did-not-start");
                drop(kept);
                Err(error)
            }
        }
    }
}

impl World {
    fn furnish(
        name: String,
        seed: Seed,
        replay: Option<String>,
        started: Instant,
        site: &Arc<Site>,
        options: ChainOptions,
    ) -> Result<World> {
        let journal = Arc::clone(site.journal());
        journal.note(format!(
            "lab {name}, seed {seed}, in {}",
            site.dir().display()
        ));
        super::description::write(site.dir(), &name, seed, None, &[])?;
        let chain = Chain::start(site, options)?;
        super::description::write(site.dir(), &name, seed, Some(&chain.endpoint()), &[])?;
        for note in chain.notes() {
            journal.note(note);
        }
        let tip = chain.tip()?;
        journal.note(format!("bitcoind is ready at block {}", tip.height));
        Ok(World {
            replay: replay.unwrap_or_else(|| format!("the test {name}")),
            name,
            seed,
            started,
            site: Arc::clone(site),
            journal,
            chain,
            waivers: Mutex::default(),
            verdict: Mutex::default(),
            keep: false,
            nodes: Mutex::default(),
            told: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }

    /// All nodes, in the order of their making.
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.nodes).clone()
    }

    /// Whether the report is still to be printed; `true` once only.
    pub fn tell_once(&self) -> bool {
        !self.told.swap(true, Ordering::SeqCst)
    }

    /// Remembers that the lab was concluded; whether it was before.
    pub fn end(&self) -> bool {
        self.ended.swap(true, Ordering::SeqCst)
    }

    /// Whether the lab was concluded.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn add(&self, name: &str, kind: Kind, options: &NodeOptions) -> Result<Node> {
        if let Some(problem) = names::problem(name) {
            return Err(Error::Invalid(format!(
                "cannot name a node {name:?}: {problem}"
            )));
        }
        let mut nodes = lock(&self.nodes);
        if nodes.iter().any(|node| node.name() == name) {
            return Err(Error::Invalid(format!(
                "there is a node {name} in this lab already"
            )));
        }
        let host = u8::try_from(nodes.len() + FIRST_HOST).map_err(|_| {
            Error::Invalid(format!("a lab has room for {} nodes", 256 - FIRST_HOST))
        })?;
        let program = match &options.executable {
            Some(path) => host::Program::given(kind.name(), path)?,
            None => kind.find()?,
        };
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
        let node = self.world.add(name, kind, &options)?;
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
            let taken: Vec<String> = self.all_nodes().iter().map(Node::name).collect();
            let free = (0..).map(names::name).find(|name| !taken.contains(name));
            let name = free.unwrap_or_default();
            nodes.push(self.world.add(&name, *kind, options)?);
        }
        self.start_all(&nodes)?;
        Ok(nodes)
    }

    /// Starts these nodes in parallel; if one fails, it fails with its own words, and the others
    /// that were started with it are ended.
    fn start_all(&self, nodes: &[Node]) -> Result<()> {
        let started = nodes
            .iter()
            .try_for_each(Node::spawn)
            .and_then(|()| nodes.iter().try_for_each(Node::wait_ready));
        if let Err(error) = started {
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
