//! The options, what they take and what they are for.

/// One option.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) value: &'static str,
    pub(super) default: &'static str,
    pub(super) about: &'static str,
}

const fn spec(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    about: &'static str,
) -> Spec {
    Spec {
        name,
        value,
        default,
        about,
    }
}

/// The table. An empty default means that the option is required or may be left out;
/// `parse` decides which.
pub(super) const SPECS: &[Spec] = &[
    spec(
        "--data-dir",
        "DIR",
        "",
        "where this node keeps its seed and its store",
    ),
    spec(
        "--rpc-socket",
        "PATH",
        "",
        "the Unix socket to answer JSON-RPC on (at most 107 bytes)",
    ),
    spec(
        "--listen",
        "IP:PORT",
        "",
        "the address to accept Lightning peers on",
    ),
    spec(
        "--bitcoind-url",
        "URL",
        "",
        "bitcoind's RPC address, http://IP:PORT",
    ),
    spec("--bitcoind-cookie", "PATH", "", "bitcoind's cookie file"),
    spec(
        "--bitcoind-user",
        "NAME",
        "",
        "bitcoind's RPC user, in place of a cookie",
    ),
    spec(
        "--bitcoind-password",
        "WORD",
        "",
        "bitcoind's RPC password, in place of a cookie",
    ),
    spec(
        "--bitcoind-wallet",
        "NAME",
        "",
        "the wallet in bitcoind for this node's funds, made if absent",
    ),
    spec(
        "--bitcoind-timeout",
        "SECONDS",
        "30",
        "how long to wait at start for a bitcoind that does not answer",
    ),
    spec("--network", "NAME", "regtest", "the network; only regtest"),
    spec(
        "--alias",
        "NAME",
        "boltwright",
        "the name to announce (at most 32 bytes)",
    ),
    spec(
        "--seed",
        "HEX",
        "",
        "the 32-byte seed of all keys; without it, one is made and kept",
    ),
    spec(
        "--store",
        "sqlite|memory",
        "sqlite",
        "where channel state is kept; memory forgets it at exit",
    ),
    spec(
        "--nodelay",
        "true|false",
        "true",
        "set TCP_NODELAY on peer connections",
    ),
    spec(
        "--fee-base-msat",
        "MSAT",
        "1000",
        "what forwarding costs, fixed part",
    ),
    spec(
        "--fee-proportional-millionths",
        "PPM",
        "0",
        "what forwarding costs, per million forwarded",
    ),
    spec(
        "--cltv-delta",
        "BLOCKS",
        "72",
        "blocks between an incoming and an outgoing HTLC (at least 48)",
    ),
    spec(
        "--min-depth",
        "BLOCKS",
        "1",
        "confirmations before a channel is ready",
    ),
    spec(
        "--to-self-delay",
        "BLOCKS",
        "144",
        "how long a peer that force-closes must wait (144 to 2016)",
    ),
    spec(
        "--feerate-sat-per-kw",
        "RATE",
        "1000",
        "the feerate for every transaction (at least 253)",
    ),
    spec(
        "--anchors",
        "true|false",
        "false",
        "offer and accept anchor channels, bumped from the wallet",
    ),
    spec(
        "--log-file",
        "PATH",
        "",
        "where to append the log; without it, standard error",
    ),
    spec(
        "--log-level",
        "LEVEL",
        "info",
        "trace, debug, info, warn or error",
    ),
];

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "boltwright-ldk: a Lightning node on LDK, for regtest\n\n\
         Usage: boltwright-ldk --data-dir DIR --rpc-socket PATH --listen IP:PORT \\\n\
         \x20          --bitcoind-url URL --bitcoind-cookie PATH --bitcoind-wallet NAME [OPTION...]\n\n\
         The node is ready when its RPC socket appears. Speak to it with one JSON-RPC 2.0\n\
         request a line, for example through socat or `nc -U`:\n\n\
         \x20 {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"help\"}\n\n\
         It ends by the method `stop`, by SIGTERM or by SIGINT: exit code 0. It exits with 1\n\
         when it cannot start or go on (the reason stands on standard error and in the log),\n\
         and with 2 when the command line is wrong.\n\n\
         Options (as `--name value` or `--name=value`):\n",
    );
    for spec in SPECS {
        let left = format!("{} {}", spec.name, spec.value);
        let default = if spec.default.is_empty() {
            String::new()
        } else {
            format!(" [{}]", spec.default)
        };
        text.push_str(&format!("  {left:<36}{}{default}\n", spec.about));
    }
    text.push_str("  --help                              this text\n");
    text.push_str("  --version                           the version\n");
    text
}

/// Names the option that an unknown one may have meant.
pub(super) fn hint(unknown: &str) -> String {
    let stem = unknown.trim_start_matches('-');
    SPECS
        .iter()
        .map(|spec| spec.name)
        .find(|name| {
            let name = name.trim_start_matches('-');
            stem.len() >= 3 && (name.starts_with(stem) || stem.starts_with(name))
        })
        .map(|name| format!(" (did you mean {name}?)"))
        .unwrap_or_default()
}
