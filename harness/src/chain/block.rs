//! Blocks made by hand.
//!
//! Bitcoind mines on its own tip only; a branch beside it can be had from it only by declaring the
//! tip invalid, which shows everybody a chain that shrinks first. A regtest block is quickly made:
//! every second hash is good enough.
use super::mine::anyones_address;
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Transaction, TxIn,
    TxMerkleNode, TxOut, Witness,
    absolute::LockTime,
    block::{Header, Version},
    hashes::Hash,
    script::PushBytesBuf,
    transaction,
};

/// Regtest halves the subsidy every 150 blocks.
const HALVING: u32 = 150;
/// How many blocks' times make a median time past.
const MEDIAN_SPAN: usize = 11;

/// The end of a branch under construction.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    /// The height of its last block.
    pub height: u32,
    /// Its hash.
    pub tip: BlockHash,
    /// What makes a hash good enough.
    pub bits: CompactTarget,
    /// The times of the last blocks, oldest first.
    pub times: Vec<u32>,
}

impl Branch {
    /// Adds a block with these transactions, none of which pays it a fee, at `now` if the rules
    /// allow. `number` makes it unlike any other block at its place.
    pub fn add(&mut self, transactions: Vec<Transaction>, now: u32, number: u32) -> Block {
        let height = self.height + 1;
        let time = now.max(self.median_time() + 1);
        let mut txdata = vec![coinbase(height, number)];
        txdata.extend(transactions);
        let mut block = Block {
            header: Header {
                // BIP 9: no signal.
                version: Version::from_consensus(0x2000_0000),
                prev_blockhash: self.tip,
                merkle_root: TxMerkleNode::all_zeros(),
                time,
                bits: self.bits,
                nonce: 0,
            },
            txdata,
        };
        commit_to_witnesses(&mut block);
        if let Some(root) = block.compute_merkle_root() {
            block.header.merkle_root = root;
        }
        let target = block.header.target();
        while block.header.validate_pow(target).is_err() {
            block.header.nonce += 1;
        }
        self.height = height;
        self.tip = block.block_hash();
        self.times.push(time);
        block
    }

    fn median_time(&self) -> u32 {
        let recent = self.times.len().saturating_sub(MEDIAN_SPAN);
        let mut times = self.times[recent..].to_vec();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or(0)
    }
}

fn coinbase(height: u32, number: u32) -> Transaction {
    let halvings = height / HALVING;
    let subsidy = Amount::ONE_BTC * 50;
    let subsidy = subsidy.to_sat().checked_shr(halvings).unwrap_or(0);
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            // BIP 34: the height first.
            script_sig: ScriptBuf::builder()
                .push_int(i64::from(height))
                .push_slice(number.to_le_bytes())
                .into_script(),
            sequence: Sequence::MAX,
            // BIP 141: the value that the commitment below is salted with.
            witness: Witness::from_slice(&[[0; 32]]),
        }],
        output: vec![TxOut {
            value: Amount::from_sat(subsidy),
            script_pubkey: anyones_address(number).script_pubkey(),
        }],
    }
}

/// Adds the output of BIP 141 to the coinbase.
fn commit_to_witnesses(block: &mut Block) {
    const MARKER: [u8; 4] = [0xaa, 0x21, 0xa9, 0xed];
    let Some(root) = block.witness_root() else {
        return;
    };
    let commitment = Block::compute_witness_commitment(&root, &[0; 32]);
    let mut data = PushBytesBuf::from(MARKER);
    // Never too long: 36 bytes.
    let _ = data.extend_from_slice(commitment.as_byte_array());
    block.txdata[0].output.push(TxOut {
        value: Amount::ZERO,
        script_pubkey: ScriptBuf::new_op_return(data),
    });
}
