//! What a test may choose about its chain.
use std::path::PathBuf;

/// How to start bitcoind; the default is right for nearly every test.
///
/// ```
/// use boltwright::chain::ChainOptions;
///
/// let options = ChainOptions {
///     extra_args: vec!["-mempoolexpiry=1".into()],
///     ..ChainOptions::default()
/// };
/// assert!(options.txindex);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainOptions {
    /// The bitcoind to run, instead of the one found by `BITCOIND_EXE`, in Boltwright's own folder
    /// or on `PATH`.
    pub executable: Option<PathBuf>,
    /// Further arguments, after all others: of an option given twice bitcoind takes the last.
    pub extra_args: Vec<String>,
    /// Threads that answer RPC calls (`-rpcthreads`). A call that waits, like `waitfornewblock`,
    /// holds one for as long as it waits: allow for one per node, and some.
    pub rpc_threads: usize,
    /// Index all transactions (`-txindex`): [`Chain::transaction`](super::Chain::transaction) and
    /// Eclair need it, and on a chain this short it costs nothing that can be measured.
    pub txindex: bool,
    /// Index compact block filters and serve them to peers (BIP 157), for light clients.
    pub block_filters: bool,
    /// Where prepared chains are kept, instead of the folder `chains` of Boltwright's own.
    pub prepared: Option<PathBuf>,
}

impl Default for ChainOptions {
    fn default() -> ChainOptions {
        ChainOptions {
            executable: None,
            extra_args: Vec::new(),
            rpc_threads: 128,
            txindex: true,
            block_filters: false,
            prepared: None,
        }
    }
}
