//! The calls that the node makes to bitcoind.

use bitcoin::hex::FromHex as _;
use bitcoin::{Block, BlockHash, Transaction, consensus};
use bitcoincore_rpc::{Client, RpcApi as _, jsonrpc};
use lightning::chain::BestBlock;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::transport::{HttpTransport, TransportError};
use crate::options::{BitcoindAuth, Options};

/// A call to bitcoind that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChainError {
    #[error(transparent)]
    Transport(TransportError),
    #[error("bitcoind refused {method}: {message} (code {code})")]
    Refused {
        method: String,
        code: i32,
        message: String,
    },
    #[error("bitcoind's answer to {method} makes no sense: {why}")]
    Nonsense { method: String, why: String },
    #[error("bitcoind runs on {0}, this node is for regtest")]
    Network(String),
    #[error(
        "bitcoind does not know block {hash} at height {height}, which this node's state is built on: is it another chain?"
    )]
    OtherChain { hash: BlockHash, height: u32 },
}

impl ChainError {
    /// The JSON-RPC error code, if bitcoind itself answered.
    pub(crate) fn code(&self) -> Option<i32> {
        match self {
            ChainError::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the wallet has too few coins that are free.
    pub(crate) fn is_lack_of_funds(&self) -> bool {
        // The code is -4 or -6, by the call, and both mean other things too.
        matches!(self, ChainError::Refused { message, .. } if message.contains("Insufficient funds"))
    }

    /// Whether a transaction was refused for one in the mempool that spends the same coins.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, ChainError::Refused { code: code::REJECTED, message, .. }
            if message.contains("replacement") || message.contains("txn-mempool-conflict"))
    }

    /// Whether it may pass by itself: bitcoind is not there, is warming up, or is overloaded.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            ChainError::Transport(TransportError::Rejected { .. }) => false,
            ChainError::Transport(_) => true,
            other => other.code() == Some(code::WARMING_UP),
        }
    }
}

/// bitcoind's error codes that mean something here.
pub(crate) mod code {
    pub(crate) const WARMING_UP: i32 = -28;
    pub(crate) const BLOCK_UNKNOWN: i32 = -5;
    pub(crate) const WALLET_NOT_FOUND: i32 = -18;
    pub(crate) const WALLET_ALREADY_LOADED: i32 = -35;
    pub(crate) const WALLET_ERROR: i32 = -4;
    pub(crate) const ALREADY_IN_UTXO_SET: i32 = -27;
    pub(crate) const MISSING_INPUTS: i32 = -25;
    pub(crate) const REJECTED: i32 = -26;
}

/// A connection to bitcoind, or to one wallet in it.
pub(crate) struct Bitcoind {
    rpc: Client,
}

/// A block's place in the chain, as `getblockheader` tells it.
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    /// -1 for a block that is not in the active chain.
    pub confirmations: i64,
    #[serde(rename = "previousblockhash")]
    pub previous: Option<BlockHash>,
    #[serde(rename = "nextblockhash")]
    pub next: Option<BlockHash>,
}

#[derive(Deserialize)]
struct ChainInfo {
    chain: String,
}

#[derive(Deserialize)]
struct Tip {
    hash: BlockHash,
    height: u32,
}

impl Bitcoind {
    /// Speaks to bitcoind itself. Nothing is sent yet.
    pub(crate) fn new(options: &Options) -> Self {
        Self::at(options, "/".to_owned())
    }

    /// Speaks to one wallet of bitcoind's. Nothing is sent yet.
    pub(crate) fn wallet(options: &Options) -> Self {
        Self::at(
            options,
            format!("/wallet/{}", percent(&options.bitcoind_wallet)),
        )
    }

    fn at(options: &Options, path: String) -> Self {
        let auth: BitcoindAuth = options.bitcoind_auth.clone();
        let transport = HttpTransport::new(options.bitcoind_address, path, auth);
        Bitcoind {
            rpc: Client::from_jsonrpc(jsonrpc::client::Client::with_transport(transport)),
        }
    }

    /// Makes any call.
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &[Value],
    ) -> Result<T, ChainError> {
        self.rpc
            .call(method, params)
            .map_err(|error| translate(method, error))
    }

    pub(crate) fn check_network(&self) -> Result<(), ChainError> {
        let info: ChainInfo = self.call("getblockchaininfo", &[])?;
        if info.chain == "regtest" {
            Ok(())
        } else {
            Err(ChainError::Network(info.chain))
        }
    }

    pub(crate) fn best_hash(&self) -> Result<BlockHash, ChainError> {
        self.call("getbestblockhash", &[])
    }

    pub(crate) fn best_block(&self) -> Result<BestBlock, ChainError> {
        let hash = self.best_hash()?;
        #[derive(Deserialize)]
        struct Height {
            height: u32,
        }
        let header: Height = self.call("getblockheader", &[json!(hash)])?;
        Ok(BestBlock::new(hash, header.height))
    }

    pub(crate) fn header(&self, hash: BlockHash) -> Result<Header, ChainError> {
        self.call("getblockheader", &[json!(hash)])
    }

    pub(crate) fn block(&self, hash: BlockHash) -> Result<Block, ChainError> {
        let hex: String = self.call("getblock", &[json!(hash), json!(0)])?;
        decode("getblock", &hex)
    }

    /// Waits until the chain has reached `height`, at most `timeout_ms`; returns the tip.
    pub(crate) fn wait_for_height(
        &self,
        height: u32,
        timeout_ms: u64,
    ) -> Result<BestBlock, ChainError> {
        let tip: Tip = self.call("waitforblockheight", &[json!(height), json!(timeout_ms)])?;
        Ok(BestBlock::new(tip.hash, tip.height))
    }

    pub(crate) fn send(&self, transaction: &Transaction) -> Result<(), ChainError> {
        let hex = consensus::encode::serialize_hex(transaction);
        self.call::<Value>("sendrawtransaction", &[json!(hex)])
            .map(drop)
    }

    pub(crate) fn submit_package(&self, transactions: &[Transaction]) -> Result<(), ChainError> {
        let package: Vec<String> = transactions
            .iter()
            .map(consensus::encode::serialize_hex)
            .collect();
        #[derive(Deserialize)]
        struct Verdict {
            package_msg: String,
        }
        let verdict: Verdict = self.call("submitpackage", &[json!(package)])?;
        if verdict.package_msg == "success" {
            Ok(())
        } else {
            Err(ChainError::Nonsense {
                method: "submitpackage".to_owned(),
                why: verdict.package_msg,
            })
        }
    }
}

/// Decodes what bitcoind sent in hexadecimal.
pub(super) fn decode<T: consensus::Decodable>(method: &str, hex: &str) -> Result<T, ChainError> {
    let nonsense = |why: String| ChainError::Nonsense {
        method: method.to_owned(),
        why,
    };
    let bytes = Vec::<u8>::from_hex(hex).map_err(|error| nonsense(error.to_string()))?;
    consensus::deserialize(&bytes).map_err(|error| nonsense(error.to_string()))
}

fn translate(method: &str, error: bitcoincore_rpc::Error) -> ChainError {
    let nonsense = |why: String| ChainError::Nonsense {
        method: method.to_owned(),
        why,
    };
    match error {
        bitcoincore_rpc::Error::JsonRpc(jsonrpc::Error::Transport(error)) => {
            match error.downcast::<TransportError>() {
                Ok(error) => ChainError::Transport(*error),
                Err(error) => nonsense(error.to_string()),
            }
        }
        bitcoincore_rpc::Error::JsonRpc(jsonrpc::Error::Rpc(error)) => ChainError::Refused {
            method: method.to_owned(),
            code: error.code,
            message: error.message,
        },
        other => nonsense(other.to_string()),
    }
}

/// Escapes a wallet name for the path of a URL.
fn percent(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}
