//! Bitcoind's RPC error codes in words.

/// There is no such transaction, block, address or key.
pub(super) const NOT_FOUND: i32 = -5;
/// Still starting.
pub(super) const WARMING_UP: i32 = -28;
/// No wallet of this name is loaded.
pub(super) const WALLET_NOT_FOUND: i32 = -18;
/// A wallet of this name is loaded already.
pub(super) const WALLET_ALREADY_LOADED: i32 = -35;

/// The code with what it stands for: "code -6, insufficient funds".
pub(super) fn words(code: i32) -> String {
    let meaning = match code {
        -1 => "refused while working on it",
        -3 => "wrong type",
        NOT_FOUND => "invalid or unknown address, key, transaction or block",
        -4 => "wallet error",
        -6 => "insufficient funds",
        -7 => "out of memory",
        -8 => "invalid parameter",
        -9 => "not connected",
        -10 => "still in initial block download",
        -12 => "keypool ran out",
        -13 => "wallet is locked",
        WALLET_NOT_FOUND => "wallet not found or not loaded",
        -19 => "which wallet is not specified",
        -20 => "database error",
        -22 => "cannot be decoded",
        -25 => "transaction or block does not verify",
        -26 => "rejected by the rules",
        -27 => "already in the chain",
        WARMING_UP => "still starting",
        -32 => "deprecated",
        WALLET_ALREADY_LOADED => "wallet is loaded already",
        -36 => "wallet exists already",
        -32600 => "invalid request",
        -32601 => "no such method",
        -32602 => "invalid parameters",
        -32603 => "internal error",
        -32700 => "parse error",
        _ => return format!("code {code}"),
    };
    format!("code {code}, {meaning}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_code_reads_in_words_and_an_unknown_one_as_a_number() {
        assert_eq!(super::words(-6), "code -6, insufficient funds");
        assert_eq!(super::words(-4711), "code -4711");
    }
}
