//! Closed channels in the daemon's log: which were asked for.
//!
//! The daemon tells of every closed channel at its level INFO, with the reason
//! (`node-fixtures/ldk/src/channels/close.rs`). A channel that ends for any other reason than a request
//! is what the end checks look for.

/// What stands between a channel and the reason for its end.
const CLOSED: &str = " is closed: ";

/// Reasons that somebody asked for.
const ASKED_FOR: &[&str] = &[
    "closed together",
    "closed by force on request",
    "the peer's commitment transaction is in a block",
    "before the channel was funded",
    "cannot fund the channel",
];

/// Whether a line tells of a channel that ended though nobody asked for it.
pub(super) fn is_unasked(line: &str) -> bool {
    line.split_once(CLOSED)
        .is_some_and(|(_, reason)| !ASKED_FOR.iter().any(|asked| reason.contains(asked)))
}

#[cfg(test)]
mod tests {
    use super::is_unasked;

    #[test]
    fn a_channel_that_ends_unasked_is_told_from_one_that_was_closed() {
        let line = "2026-11-30T20:46:52.658014Z INFO  boltwright_ldk::events::handle: channel de4b is closed: ";
        for (reason, unasked) in [
            ("closed together, as the peer asked", false),
            (
                "closed by force from this side: closed by force on request",
                false,
            ),
            (
                "the peer ended the channel: closed by force on request",
                false,
            ),
            ("the peer ended the channel: bad signature", true),
            (
                "this node's state was older than its channel monitor's",
                true,
            ),
        ] {
            assert_eq!(is_unasked(&format!("{line}{reason}")), unasked, "{reason}");
        }
        assert!(!is_unasked(
            "2026-11-30T20:46:52.658014Z INFO  x: all is well"
        ));
    }
}
