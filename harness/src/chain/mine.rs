//! Blocks and the mempool.
use super::{Chain, Error};
use crate::host::{Step, Wait};
use bitcoin::{
    Address, BlockHash, Network, ScriptBuf, Txid,
    opcodes::{OP_TRUE, all::OP_DROP},
};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashSet;

/// How many blocks one call mines at most, so that each call is short.
const AT_ONCE: u32 = 500;

/// A chain's last block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tip {
    /// How many blocks lie below it.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
}

impl Chain {
    /// The last block of the best chain.
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn tip(&self) -> Result<Tip, Error> {
        #[derive(Deserialize)]
        struct Info {
            blocks: u32,
            bestblockhash: BlockHash,
        }
        let info: Info = self.call("getblockchaininfo", &[])?;
        Ok(Tip {
            height: info.blocks,
            hash: info.bestblockhash,
        })
    }

    /// Mines blocks with what is in the mempool, and returns their hashes. What they earn belongs
    /// to no wallet, so that balances stay as they are. No node need have seen them yet.
    ///
    /// # Errors
    /// When bitcoind cannot be asked or refuses.
    pub fn mine(&self, blocks: u32) -> Result<Vec<BlockHash>, Error> {
        let mut mined = Vec::new();
        while (mined.len() as u32) < blocks {
            let count = (blocks - mined.len() as u32).min(AT_ONCE);
            let address = anyones_address(self.next_block());
            mined.extend(self.call::<Vec<BlockHash>>(
                "generatetoaddress",
                &[json!(count), json!(address.to_string())],
            )?);
        }
        Ok(mined)
    }

    /// The transactions in the mempool.
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn mempool(&self) -> Result<Vec<Txid>, Error> {
        self.call("getrawmempool", &[])
    }

    /// Waits until all of these transactions are in the mempool.
    ///
    /// # Errors
    /// [`Error::Wait`] with those still missing when time is out, or with bitcoind's death.
    pub fn wait_mempool(&self, txids: &[Txid]) -> Result<(), Error> {
        let label = format!("{} transactions in the mempool", txids.len());
        self.wait(label, || {
            let mempool = match self.mempool() {
                Ok(mempool) => mempool,
                Err(error) => return Step::Never(error.to_string()),
            };
            let has = mempool.len();
            let mempool: HashSet<Txid> = mempool.into_iter().collect();
            let missing: Vec<_> = txids
                .iter()
                .filter(|txid| !mempool.contains(*txid))
                .collect();
            match missing.is_empty() {
                true => Step::Done(()),
                false => Step::NotYet(format!("missing {missing:?} among {has}")),
            }
        })
    }

    /// Waits until at least `count` transactions are in the mempool, and returns them all.
    ///
    /// # Errors
    /// [`Error::Wait`] with those that are there when time is out, or with bitcoind's death.
    pub fn wait_mempool_count(&self, count: usize) -> Result<Vec<Txid>, Error> {
        let label = format!("at least {count} transactions in the mempool");
        self.wait(label, || match self.mempool() {
            Ok(mempool) if mempool.len() >= count => Step::Done(mempool),
            Ok(mempool) => Step::NotYet(format!("it holds {mempool:?}")),
            Err(error) => Step::Never(error.to_string()),
        })
    }

    /// Declares a block and all that follow it invalid (`invalidateblock`): the chain is now
    /// shorter, and the transactions of the last ten blocks return to the mempool.
    ///
    /// # Errors
    /// When bitcoind does not know the block.
    pub fn invalidate(&self, block: &BlockHash) -> Result<(), Error> {
        self.note(&format!("invalidates block {block}"));
        self.call::<()>("invalidateblock", &[json!(block)])?;
        self.settle()
    }

    /// Takes [`invalidate`](Chain::invalidate) back (`reconsiderblock`): the chain with the most
    /// work wins again.
    ///
    /// # Errors
    /// When bitcoind does not know the block.
    pub fn reconsider(&self, block: &BlockHash) -> Result<(), Error> {
        self.call::<()>("reconsiderblock", &[json!(block)])?;
        self.settle()
    }

    /// A wait that bitcoind's death ends.
    fn wait<T>(&self, label: String, look: impl FnMut() -> Step<T>) -> Result<T, Error> {
        Ok(Wait::for_(label).watching(&self.process()).until(look)?)
    }

    /// Returns when wallets and indexes know of all that has happened so far.
    pub(super) fn settle(&self) -> Result<(), Error> {
        self.call("syncwithvalidationinterfacequeue", &[])
    }
}

/// A script that anyone can spend, another one for each number.
pub(super) fn anyones_script(number: u32) -> ScriptBuf {
    ScriptBuf::builder()
        .push_int(i64::from(number))
        .push_opcode(OP_DROP)
        .push_opcode(OP_TRUE)
        .into_script()
}

/// The segwit address of [`anyones_script`].
pub(super) fn anyones_address(number: u32) -> Address {
    Address::p2wsh(&anyones_script(number), Network::Regtest)
}
