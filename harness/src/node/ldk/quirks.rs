//! What the embedded node's logs say louder than it is.
//!
//! LDK 0.2 (`ln/channelmanager.rs`, `ln/outbound_payment.rs`) logs at its level ERROR whatever ends a
//! channel or a payment, also when that is what was asked for. A force-close for any other reason
//! than a request stays an error.

/// Parts of lines at level ERROR that are no faults of the node, each with its cause.
const NO_FAULT: &[(&str, &str)] = &[
    (
        " lightning::ln::outbound_payment: ",
        "a payment without a route: told by the payment's own failure",
    ),
    (
        " Got non-closing error: Got announcement_signatures prior to the required six confirmations",
        "the peer has seen a block a moment earlier; the signatures are sent again",
    ),
    ("Coop Closed", "a cooperative close that has ended"),
    (
        "closed by force on request",
        "a forced close that was asked for, at either end",
    ),
    (
        "cannot fund the channel",
        "an opening without funds: told by the failure of the call",
    ),
    (
        " lightning::ln::channelmanager: Force-closing channel ",
        "says what the next line says again with the reason",
    ),
];

/// Whether a line at level ERROR tells of no fault.
pub(super) fn is_no_fault(line: &str) -> bool {
    NO_FAULT.iter().any(|(part, _)| line.contains(part))
}

#[cfg(test)]
mod tests {
    use super::is_no_fault;

    #[test]
    fn a_force_close_that_nobody_asked_for_is_a_fault() {
        let line = "2026-11-30T20:46:52.658014Z ERROR lightning::ln::channelmanager: Closed channel de4b due to \
                    close-required error: ";
        assert!(is_no_fault(&format!(
            "{line}closed by force on request (peer 02aa)"
        )));
        assert!(!is_no_fault(&format!(
            "{line}Peer sent an invalid signature (peer 02aa)"
        )));
    }
}
