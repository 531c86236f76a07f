//! The chain as a lab holds it.
use super::{
    ChainOptions, Endpoint, Error, Wallet,
    daemon::Daemon,
    launch::{Launch, seconds},
    prepared,
    starting::LAB,
    version::Version,
    wallet,
};
use crate::host::{Exit, LogFile, Process, Program, Search, Site, process::StoppedBy};
use bitcoin::FeeRate;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::SystemTime,
};

/// Where bitcoind is looked for, and how to get it.
pub const SEARCH: Search = Search {
    name: "bitcoind",
    variable: "BITCOIND_EXE",
    role: None,
    install: "install it with `boltwright install bitcoind` (in a checkout of Boltwright: `cargo boltwright install bitcoind`)",
};

/// A regtest chain: one bitcoind with the lab's wallet. A cheap handle; all clones are the same
/// chain, and any number of threads may use them at once.
///
/// ```no_run
/// use bitcoin::Amount;
/// use boltwright::{chain::{Chain, ChainOptions}, host::Site};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let site = Arc::new(Site::open()?);
/// let chain = Chain::start(&site, ChainOptions::default())?;
/// let friend = chain.wallet("friend")?;
/// let txid = chain.send_and_mine(&friend.address()?, Amount::ONE_BTC)?;
/// assert_eq!(friend.balance()?, Amount::ONE_BTC);
/// assert!(chain.transaction(&txid)?.is_some_and(|found| found.confirmations == 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Chain {
    pub(super) inner: Arc<Inner>,
}

/// What all handles of a chain share.
pub(super) struct Inner {
    pub daemon: Daemon,
    process: RwLock<Process>,
    /// How it was started last.
    launch: Mutex<Launch>,
    version: String,
    feerate: Mutex<FeeRate>,
    /// Counts blocks and branches, so that no two of them pay to the same script: in the same
    /// second they would be the same block, which bitcoind may have been told is invalid.
    blocks: AtomicU32,
    asked_to_end: AtomicBool,
    notes: Vec<String>,
}

impl Chain {
    /// Starts bitcoind in `site` on the prepared chain (preparing that first, if nobody has yet)
    /// and mines one fresh block.
    ///
    /// # Errors
    /// When bitcoind is not found or too old; when it dies or does not become ready in time, in
    /// its own words; when the site's disk fails.
    pub fn start(site: &Arc<Site>, options: ChainOptions) -> Result<Chain, Error> {
        let launch = launch(options)?;
        let daemon = Daemon::new(site)?;
        let notes = prepared::provide(&daemon, &launch)?;
        let process = daemon.start(&launch)?;
        let chain = Chain {
            inner: Arc::new(Inner {
                daemon,
                process: RwLock::new(process),
                version: launch.version.to_string(),
                launch: Mutex::new(launch),
                feerate: Mutex::new(wallet::FEERATE),
                blocks: AtomicU32::new(0),
                asked_to_end: AtomicBool::new(false),
                notes,
            }),
        };
        chain.mine(1)?;
        Ok(chain)
    }

    /// The process that is bitcoind now, or was it last.
    pub fn process(&self) -> Process {
        self.inner
            .process
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Its debug.log.
    pub fn log(&self) -> LogFile {
        self.inner.daemon.log().clone()
    }

    /// The first line of its `--version`.
    pub fn version(&self) -> &str {
        &self.inner.version
    }

    /// What a node needs to know to use it.
    pub fn endpoint(&self) -> Endpoint {
        self.inner.daemon.endpoint().clone()
    }

    /// The client of `bitcoincore-rpc`, for its typed calls. It reconnects by itself; calls from
    /// several threads run side by side. Wallet calls go to [`Wallet::rpc`].
    pub fn rpc(&self) -> &bitcoincore_rpc::Client {
        self.inner.daemon.rpc().client()
    }

    /// Calls any method of the RPC, with positional parameters.
    ///
    /// # Errors
    /// [`Error::Rpc`] with bitcoind's code and message if it refuses.
    pub fn call<T: DeserializeOwned>(&self, method: &str, params: &[Value]) -> Result<T, Error> {
        self.inner.daemon.rpc().call(method, params)
    }

    /// The wallet `name`: the one loaded, or stored, under that name, else a new one. Each user of
    /// funds (an LDK node, say) gets one of its own. `lab` is the one that pays for everything.
    ///
    /// # Errors
    /// When the name is empty or a path, or bitcoind refuses it.
    pub fn wallet(&self, name: &str) -> Result<Wallet, Error> {
        // Locked throughout, so that two threads do not both create it.
        let mut launch = self.launch();
        if !launch.wallets.iter().any(|known| known == name) {
            wallet::open(&self.inner.daemon, name)?;
            launch.wallets.push(name.to_owned());
        }
        Ok(Wallet::new(self, name))
    }

    /// Tells bitcoind what time it is; `None` gives it back the machine's own clock. The choice
    /// outlives a restart. Blocks mined from now on carry this time (`setmocktime`).
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn set_mock_time(&self, time: Option<SystemTime>) -> Result<(), Error> {
        let mut launch = self.launch();
        let seconds = time.map_or(0, seconds);
        self.call::<()>("setmocktime", &[json!(seconds)])?;
        launch.mock = time;
        self.note(&match time {
            Some(_) => format!("has its clock set to {seconds} s"),
            None => "has the real time again".to_owned(),
        });
        Ok(())
    }

    /// The time as bitcoind has it.
    pub(super) fn now(&self) -> SystemTime {
        self.launch().mock.unwrap_or_else(SystemTime::now)
    }

    /// Sets the feerate of all payments that this chain's wallets make.
    pub fn set_feerate(&self, feerate: FeeRate) {
        *self.feerate_mut() = feerate;
    }

    /// The feerate of payments by this chain's wallets.
    pub fn feerate(&self) -> FeeRate {
        *self.feerate_mut()
    }

    /// Stops bitcoind in order, and returns when it is gone. Stopping what has ended is no error.
    ///
    /// # Errors
    /// When not even SIGKILL ended it.
    pub fn stop(&self) -> Result<(Exit, StoppedBy), Error> {
        self.inner.asked_to_end.store(true, Ordering::Relaxed);
        self.inner.daemon.stop(&self.process())
    }

    /// Kills bitcoind, and returns when it is gone. It writes its chain to disk when it is stopped,
    /// and else seldom: what it has not written is lost, unless [`flush`](Chain::flush)ed before.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn kill(&self) -> Result<(), Error> {
        self.inner.asked_to_end.store(true, Ordering::Relaxed);
        self.note("is killed");
        self.process().kill()?;
        Ok(())
    }

    /// Has bitcoind write all blocks that it has to disk, so that they survive a
    /// [`kill`](Chain::kill).
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn flush(&self) -> Result<(), Error> {
        // It does so before it counts; what it counts is of no interest.
        self.call::<Value>("gettxoutsetinfo", &[json!("none")])?;
        Ok(())
    }

    /// Stops bitcoind, if it still runs, and starts it again on the same data, at the same
    /// addresses, with the same wallets and mock time. No block is mined.
    ///
    /// # Errors
    /// As [`start`](Chain::start).
    pub fn restart(&self) -> Result<(), Error> {
        self.relaunch(None)
    }

    /// [`restart`](Chain::restart) with other options: another version or other arguments, say.
    ///
    /// # Errors
    /// As [`start`](Chain::start).
    pub fn restart_with(&self, options: ChainOptions) -> Result<(), Error> {
        self.relaunch(Some(options))
    }

    pub(super) fn note(&self, event: &str) {
        self.inner.daemon.note(event);
    }

    fn relaunch(&self, options: Option<ChainOptions>) -> Result<(), Error> {
        self.note("is restarted");
        let mut current = self.launch();
        let mut next = current.clone();
        if let Some(options) = options {
            let fresh = launch(options)?;
            next.program = fresh.program;
            next.version = fresh.version;
            next.options = fresh.options;
        }
        self.stop()?;
        let process = self.inner.daemon.start(&next)?;
        *self
            .inner
            .process
            .write()
            .unwrap_or_else(PoisonError::into_inner) = process;
        self.inner.asked_to_end.store(false, Ordering::Relaxed);
        *current = next;
        Ok(())
    }

    /// Whether it was stopped or killed through this chain, and not started since: its end is then
    /// no news.
    pub fn was_asked_to_end(&self) -> bool {
        self.inner.asked_to_end.load(Ordering::Relaxed)
    }

    /// What was out of the ordinary when it started: that a chain was prepared, and why; that
    /// there was no place to keep it.
    pub fn notes(&self) -> &[String] {
        &self.inner.notes
    }

    /// The command that a person types to talk to it, to be followed by a method.
    pub fn command_line(&self) -> String {
        let program = self.launch().program.path.with_file_name("bitcoin-cli");
        let program = match program.exists() {
            true => program.display().to_string(),
            false => "bitcoin-cli".to_owned(),
        };
        let Endpoint { rpc, cookie, .. } = self.inner.daemon.endpoint();
        format!(
            "{program} -regtest -rpcconnect={} -rpcport={} -rpccookiefile={} -rpcwallet={LAB}",
            rpc.ip(),
            rpc.port(),
            cookie.display()
        )
    }

    /// A number that no block of this chain has yet.
    pub(super) fn next_block(&self) -> u32 {
        self.inner.blocks.fetch_add(1, Ordering::Relaxed)
    }

    fn launch(&self) -> MutexGuard<'_, Launch> {
        self.inner
            .launch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn feerate_mut(&self) -> MutexGuard<'_, FeeRate> {
        self.inner
            .feerate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("version", &self.inner.version)
            .field("rpc", &self.inner.daemon.endpoint().rpc)
            .field("log", &self.inner.daemon.log().path())
            .finish_non_exhaustive()
    }
}

/// Finds the program and asks for its version.
fn launch(options: ChainOptions) -> Result<Launch, Error> {
    let program = match &options.executable {
        Some(path) => Program::given(SEARCH.name, path),
        None => SEARCH.find(),
    }
    .map_err(crate::host::Error::from)?;
    let line = program.version_line()?;
    let version = Version::parse(&line).map_err(|problem| Error::Version {
        path: program.path.clone(),
        line,
        problem,
    })?;
    Ok(Launch {
        program,
        version,
        options,
        wallets: vec![LAB.to_owned()],
        mock: None,
    })
}
