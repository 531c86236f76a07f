//! How a lab comes to be: directory, addresses, keeper, and a bitcoind that is ready.

use super::world::{Lab, World};
use super::{Error, Result, Seed, report, watch::Watch};
use crate::chain::{self, Chain, ChainOptions};
use crate::host::interrupt::{self, Interrupt};
use crate::host::{self, Site, settings};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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
        let starting = interrupted_start(&name, site.dir())?;
        let replay = self.replay.unwrap_or_else(|| format!("cargo test {name}"));
        let world = furnish(name.clone(), seed, replay, started, &site, self.chain);
        drop(starting);
        match world {
            Ok(mut world) => {
                world.keep = self.keep || settings.keep;
                let world = Arc::new(world);
                let watch = (!self.unwatched).then(|| Watch::start(&world, settings.deadline));
                Ok(Lab {
                    watch: watch.transpose()?,
                    world,
                })
            }
            Err(error) => {
                if let Error::Chain(chain::Error::Host(host::Error::NotFound(_))) = &error {
                    // Nothing was started, so there is nothing to be read.
                    site.remove()?;
                } else if let Ok(dir) = site.keep(&name) {
                    // Whoever reads the error wants the log that it names.
                    eprintln!(
                        "{name}: its lab did not start; seed {seed}; directory kept: {}",
                        dir.display()
                    );
                }
                Err(error)
            }
        }
    }
}

/// A signal while the lab is not yet there to tell its own story is told all the same.
fn interrupted_start(name: &str, dir: &Path) -> Result<Interrupt> {
    let (name, dir) = (name.to_owned(), dir.display().to_string());
    Ok(interrupt::on_interrupt(move |signal| {
        report::tell(&format!(
            "\nFAILED {name}\n  interrupted by {signal} while its bitcoind was being started, in {dir}\n"
        ));
    })?)
}

/// Everything of a lab that its end needs to know.
fn furnish(
    name: String,
    seed: Seed,
    replay: String,
    started: Instant,
    site: &Arc<Site>,
    options: ChainOptions,
) -> Result<World> {
    let journal = Arc::clone(site.journal());
    let shown = site.dir().display();
    journal.note(format!("lab {name}, seed {seed}, in {shown}"));
    super::description::write(site.dir(), &name, seed, None, &[])?;
    let chain = Chain::start(site, options)?;
    super::description::write(site.dir(), &name, seed, Some(&chain.endpoint()), &[])?;
    for note in chain.notes() {
        journal.note(note);
    }
    journal.note(format!(
        "bitcoind is ready at block {}",
        chain.tip()?.height
    ));
    Ok(World {
        name,
        seed,
        replay,
        started,
        site: Arc::clone(site),
        journal,
        chain,
        keep: false,
        state: Default::default(),
    })
}
