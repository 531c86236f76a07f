//! Transactions, wherever they are.
use super::{Chain, Error, code};
use bitcoin::{BlockHash, Transaction, Txid, consensus::encode};
use serde::Deserialize;
use serde_json::json;

/// A transaction as the chain has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransactionInfo {
    /// The transaction itself.
    pub transaction: Transaction,
    /// How many blocks confirm it: 0 in the mempool, 1 in the tip.
    pub confirmations: u32,
    /// The block of the best chain that holds it.
    pub block: Option<BlockHash>,
}

impl Chain {
    /// The transactions in this block, without its coinbase.
    ///
    /// # Errors
    /// When bitcoind cannot be asked, or does not know the block.
    pub fn transactions_in(&self, block: &BlockHash) -> Result<Vec<Txid>, Error> {
        #[derive(Deserialize)]
        struct Raw {
            tx: Vec<Txid>,
        }
        let raw: Raw = self.call("getblock", &[json!(block), json!(1)])?;
        Ok(raw.tx.into_iter().skip(1).collect())
    }

    /// The transaction, whether it is in the mempool or in a block, and of whomever's; `None` if
    /// bitcoind does not know it, or has it only in a block that is no longer in the best chain.
    ///
    /// # Errors
    /// When bitcoind cannot be asked. Without [`txindex`](super::ChainOptions::txindex) it knows
    /// the mempool only.
    pub fn transaction(&self, txid: &Txid) -> Result<Option<TransactionInfo>, Error> {
        #[derive(Deserialize)]
        struct Raw {
            hex: String,
            confirmations: Option<u32>,
            blockhash: Option<BlockHash>,
        }
        let raw: Raw = match self.call("getrawtransaction", &[json!(txid), json!(true)]) {
            Err(Error::Rpc { code, .. }) if code == code::NOT_FOUND => return Ok(None),
            answer => answer?,
        };
        let confirmations = raw.confirmations.unwrap_or(0);
        if raw.blockhash.is_some() && confirmations == 0 {
            return Ok(None);
        }
        let transaction = encode::deserialize_hex(&raw.hex).map_err(|problem| Error::Answer {
            call: format!("getrawtransaction {txid}"),
            problem: problem.to_string(),
            answer: raw.hex,
            log: self.log().path().to_owned(),
        })?;
        Ok(Some(TransactionInfo {
            transaction,
            confirmations,
            block: raw.blockhash,
        }))
    }
}
