//! One bitcoind in a site: started, ready, stopped, dead, started again.
use super::{
    Error, code,
    endpoint::Endpoint,
    launch::Launch,
    rpc::{Link, Rpc},
};
use crate::host::{
    self, Command, Exit, LogFile, Process, Site, Step, Wait, process::StoppedBy, settings,
    wait::Failure,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

/// Its name in the lab.
const NAME: &str = "bitcoind";
/// How long bitcoind may take to stop.
const STOP: Duration = Duration::from_secs(20);

/// Between two looks whether it is ready.
const PAUSE: Duration = Duration::from_millis(2);

/// Where bitcoind logs in the lab that has `dir`.
pub fn log_path(dir: &Path) -> PathBuf {
    dir.join(NAME).join("debug.log")
}

/// A place for a bitcoind: its directory, addresses and connections, whichever process is there.
#[derive(Debug)]
pub(super) struct Daemon {
    /// Not to keep it alive: handles of a chain may outlive their lab.
    site: Weak<Site>,
    dir: PathBuf,
    log: LogFile,
    endpoint: Endpoint,
    link: Arc<Link>,
    rpc: Arc<Rpc>,
}

impl Daemon {
    /// A place in `site`, with nothing there yet.
    pub fn new(site: &Arc<Site>) -> Result<Daemon, Error> {
        let dir = site.dir().join(NAME);
        fs::create_dir_all(&dir).map_err(|source| io_error("creating", &dir, source))?;
        let endpoint = Endpoint::new(site.block(), &dir);
        let log = LogFile::new(log_path(site.dir()));
        let link = Link::new(endpoint.rpc, log.path(), settings()?.timeout);
        Ok(Daemon {
            site: Arc::downgrade(site),
            rpc: Arc::new(Rpc::new(&link, "/".to_owned())),
            dir,
            log,
            endpoint,
            link,
        })
    }

    /// Where its data is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its debug.log.
    pub fn log(&self) -> &LogFile {
        &self.log
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its RPC.
    pub fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    /// The RPC of one of its wallets.
    pub fn wallet_rpc(&self, name: &str) -> Rpc {
        Rpc::new(&self.link, format!("/wallet/{}", percent_encoded(name)))
    }

    /// Starts a process and waits until it is ready: it answers, by the cookie that only it can
    /// have written, past its warm-up, all wallets loaded.
    pub fn start(&self, launch: &Launch) -> Result<Process, Error> {
        // One that was killed leaves its cookie behind, which would pass for the new one's.
        match fs::remove_file(&self.endpoint.cookie) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("removing", &self.endpoint.cookie, error));
            }
            _ => {}
        }
        let Some(site) = self.site.upgrade() else {
            return Err(host::Error::Keeper("its lab has ended".to_owned()).into());
        };
        let process = site.spawn(Command {
            name: NAME.to_owned(),
            program: launch.program.clone(),
            args: launch.args(&self.endpoint, &self.dir, self.log.path()),
            env: Default::default(),
            dir: self.dir.clone(),
            log: Some(self.log.path().to_owned()),
        })?;
        if let Err(failure) = self.wait_ready(&process, &launch.wallets) {
            // Also one that still runs: what did not start must not stay.
            let _ = process.kill();
            return Err(Error::Start {
                failure: Box::new(failure),
            });
        }
        self.link.attach(&process);
        Ok(process)
    }

    fn wait_ready(&self, process: &Process, wallets: &[String]) -> Result<(), Failure> {
        let mut admitted = false;
        let mut look = || {
            if !admitted {
                let Ok(cookie) = fs::read_to_string(&self.endpoint.cookie) else {
                    return Step::NotYet("no cookie yet".to_owned());
                };
                self.link.admit(&cookie);
                admitted = true;
            }
            match self.rpc.call::<Vec<String>>("listwallets", &[]) {
                Ok(loaded) if wallets.iter().all(|wallet| loaded.contains(wallet)) => {
                    Step::Done(())
                }
                Ok(loaded) => Step::Never(format!("it loaded no wallets but {loaded:?}")),
                Err(Error::Rpc { code, message, .. }) if code == code::WARMING_UP => {
                    Step::NotYet(message)
                }
                Err(refused @ Error::Rpc { .. }) => Step::Never(refused.to_string()),
                Err(error) => Step::NotYet(error.to_string()),
            }
        };
        // Bitcoind spends a tenth of a second on its random numbers, and then each step takes
        // a few milliseconds: look often.
        Wait::for_("bitcoind to be ready")
            .watching(process)
            .until_pulsed(&mut look, |longest| {
                process.pause(longest.min(PAUSE));
                true
            })
    }

    /// Writes what it is made to do into its site's journal.
    pub fn note(&self, event: &str) {
        if let Some(site) = self.site.upgrade() {
            site.journal().note(format!("bitcoind {event}"));
        }
    }

    /// Stops a process of ours in order, if it still runs; tells how that went.
    pub fn stop(&self, process: &Process) -> Result<(Exit, StoppedBy), Error> {
        let rpc = Arc::clone(&self.rpc);
        let timeout = settings()?.scaled(STOP);
        Ok(process.stop(timeout, move || {
            // That it cannot be asked is what the steps after asking are for.
            let _ = rpc.call::<String>("stop", &[]);
        })?)
    }
}

/// A failed file operation.
pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Host(host::Error::Io {
        action,
        path: path.to_owned(),
        source,
    })
}

/// A wallet's name as it stands in a URL.
fn percent_encoded(name: &str) -> String {
    let mut encoded = String::new();
    for &byte in name.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_wallets_name_fits_into_a_url() {
        assert_eq!(super::percent_encoded("lab"), "lab");
        assert_eq!(super::percent_encoded("a/b ü"), "a%2Fb%20%C3%BC");
    }
}
