//! Bitcoind's command line.
use super::{ChainOptions, endpoint::Endpoint, version::Version};
use crate::host::Program;
use bitcoin::hashes::{Hash, HashEngine, Hmac, HmacEngine, sha256};
use std::{
    ffi::OsString,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// What to run and how.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    /// The program.
    pub program: Program,
    /// What it says it is.
    pub version: Version,
    /// What the test chose.
    pub options: ChainOptions,
    /// The wallets to load.
    pub wallets: Vec<String>,
    /// The time that it shall take it to be.
    pub mock: Option<SystemTime>,
}

impl Launch {
    /// All arguments for a bitcoind at `endpoint`, with its data in `data` and its log in `log`.
    pub fn args(&self, endpoint: &Endpoint, data: &Path, log: &Path) -> Vec<OsString> {
        let path = |option: &str, path: &Path| {
            let mut arg = OsString::from(option);
            arg.push(path);
            arg
        };
        let mut args = vec![path("-datadir=", data), path("-debuglogfile=", log)];
        // Until here paths, which need not be UTF-8; from here on plain text.
        let mut text: Vec<String> = Vec::new();
        text.extend(FIXED.iter().map(|arg| (*arg).to_owned()));
        text.extend(self.version.args());
        text.push(format!("-rpcbind={}", endpoint.rpc));
        text.push(format!("-rpcport={}", endpoint.rpc.port()));
        text.push(format!("-bind={}", endpoint.p2p));
        text.push(rpcauth(&endpoint.user, &endpoint.password));
        for (topic, address) in [
            ("rawblock", endpoint.zmq_raw_block),
            ("rawtx", endpoint.zmq_raw_tx),
            ("hashblock", endpoint.zmq_hash_block),
            ("hashtx", endpoint.zmq_hash_tx),
            ("sequence", endpoint.zmq_sequence),
        ] {
            text.push(format!("-zmqpub{topic}=tcp://{address}"));
        }
        text.push(format!("-rpcthreads={}", self.options.rpc_threads));
        text.push(format!("-txindex={}", u8::from(self.options.txindex)));
        if self.options.block_filters {
            text.push("-blockfilterindex=basic".to_owned());
            text.push("-peerblockfilters=1".to_owned());
        }
        for wallet in &self.wallets {
            text.push(format!("-wallet={wallet}"));
        }
        if let Some(time) = self.mock {
            text.push(format!("-mocktime={}", seconds(time)));
        }
        text.extend(self.options.extra_args.iter().cloned());
        args.extend(text.into_iter().map(OsString::from));
        args
    }
}

/// What every bitcoind of every lab is told.
const FIXED: &[&str] = &[
    "-regtest",
    "-server=1",
    "-printtoconsole=0",
    "-logtimemicros=1",
    // The whole log, also after a restart.
    "-shrinkdebugfile=0",
    // Nothing but this command line: no settings written by an earlier start.
    "-nosettings",
    // No way out of the machine.
    "-rpcallowip=127.0.0.0/8",
    "-dnsseed=0",
    "-fixedseeds=0",
    "-discover=0",
    "-listenonion=0",
    "-natpmp=0",
    // Calls that find no thread free wait in this queue; from its end on they are refused.
    "-rpcworkqueue=1024",
    // Wallets as Lightning needs them, and made in 10 ms instead of a second.
    "-addresstype=bech32",
    "-changetype=bech32",
    "-keypool=5",
    "-fallbackfee=0.0002",
    // No second selection of coins that avoids to split an address: with hundreds of coins at one
    // address it takes 60 ms a payment, and 3 ms without.
    "-maxapsfee=-1",
    // From 30 on the defaults are lower: the same rules whatever the version.
    "-minrelaytxfee=0.00001",
    "-incrementalrelayfee=0.00001",
    // A chain whose last block is old, or whose clock a test has moved, is not "still syncing".
    "-maxtipage=4000000000",
    // Small files, small caches and no checks of bitcoind by itself: its start is half as long.
    "-fastprune=1",
    "-maxsigcachesize=1",
    "-dbcache=32",
    "-checkblocks=1",
    "-checklevel=0",
    "-checkblockindex=0",
    "-checkmempool=0",
    // A wallet that a power failure corrupts goes with its lab.
    "-unsafesqlitesync=1",
];

/// The seconds since 1970 that bitcoind calls a time.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// `-rpcauth=USER:SALT$HMAC`, which lets in that user with that password.
fn rpcauth(user: &str, password: &str) -> String {
    // The salt keeps equal passwords from having equal hashes; here there is only this one.
    const SALT: &str = "626f6c7477726967687400000000000a";
    let mut engine = HmacEngine::<sha256::Hash>::new(SALT.as_bytes());
    engine.input(password.as_bytes());
    let hash = Hmac::<sha256::Hash>::from_engine(engine);
    format!("-rpcauth={user}:{SALT}${hash:x}")
}
