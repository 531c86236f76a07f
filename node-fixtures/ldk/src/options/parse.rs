//! Reads a command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::table::SPECS;
use super::{BitcoindAuth, Options, OptionsError, Request, StoreKind};

/// Reads a command line without the program's own name.
pub(crate) fn parse(args: Vec<OsString>) -> Result<Request, OptionsError> {
    let mut given: Vec<(&'static str, String)> = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let arg = arg.into_string().map_err(OptionsError::Encoding)?;
        match arg.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            "--version" | "-V" => return Ok(Request::Version),
            _ => {}
        }
        if !arg.starts_with("--") {
            return Err(OptionsError::Stray(arg));
        }
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
            return Err(OptionsError::Unknown(name.to_owned()));
        };
        if given.iter().any(|(name, _)| *name == spec.name) {
            return Err(OptionsError::Twice(spec.name));
        }
        let value = match inline {
            Some(value) => value,
            None => args
                .next()
                .ok_or(OptionsError::NoValue {
                    name: spec.name,
                    value: spec.value,
                })?
                .into_string()
                .map_err(OptionsError::Encoding)?,
        };
        given.push((spec.name, value));
    }
    Given(given)
        .build()
        .map(|options| Request::Run(Box::new(options)))
}

/// The options that were given, each at most once.
struct Given(Vec<(&'static str, String)>);

impl Given {
    fn build(self) -> Result<Options, OptionsError> {
        let network = self.text("--network")?;
        if network != "regtest" {
            return Err(value(
                "--network",
                &network,
                "this node is for regtest only",
            ));
        }
        let options = Options {
            data_dir: self.text("--data-dir")?.into(),
            alias: self.alias()?,
            seed: self.optional("--seed").map(|hex| seed(&hex)).transpose()?,
            listen: self.parsed("--listen", "an address such as 127.0.0.1:9735")?,
            rpc_socket: self.socket_path()?,
            log_file: self.optional("--log-file").map(PathBuf::from),
            log_level: self.parsed("--log-level", "trace, debug, info, warn or error")?,
            bitcoind_address: self.bitcoind_address()?,
            bitcoind_auth: self.bitcoind_auth()?,
            bitcoind_wallet: self.text("--bitcoind-wallet")?,
            bitcoind_timeout: Duration::from_secs(self.number("--bitcoind-timeout", 0, 86_400)?),
            store: match self.text("--store")?.as_str() {
                "sqlite" => StoreKind::Sqlite,
                "memory" => StoreKind::Memory,
                other => return Err(value("--store", other, "it is sqlite or memory")),
            },
            nodelay: self.parsed("--nodelay", "true or false")?,
            fee_base_msat: self.small("--fee-base-msat", 0, u32::MAX)?,
            fee_proportional_millionths: self.small(
                "--fee-proportional-millionths",
                0,
                u32::MAX,
            )?,
            // Below these, LDK refuses to open channels.
            cltv_delta: self.small("--cltv-delta", 48, 2016)? as u16,
            min_depth: self.small("--min-depth", 1, 144)?,
            to_self_delay: self.small("--to-self-delay", 144, 2016)? as u16,
            feerate_sat_per_kw: self.small("--feerate-sat-per-kw", 253, 1_000_000)?,
            anchors: self.parsed("--anchors", "true or false")?,
        };
        Ok(options)
    }

    fn optional(&self, name: &'static str) -> Option<String> {
        self.0
            .iter()
            .find(|(given, _)| *given == name)
            .map(|(_, value)| value.clone())
    }

    fn text(&self, name: &'static str) -> Result<String, OptionsError> {
        let spec = SPECS.iter().find(|spec| spec.name == name);
        let (default, about) = spec.map_or(("", ""), |spec| (spec.default, spec.about));
        match self.optional(name) {
            Some(text) if text.is_empty() => Err(value(name, "", "it must not be empty")),
            Some(text) => Ok(text),
            None if default.is_empty() => Err(OptionsError::Missing { name, about }),
            None => Ok(default.to_owned()),
        }
    }

    fn parsed<T: std::str::FromStr>(
        &self,
        name: &'static str,
        expected: &str,
    ) -> Result<T, OptionsError> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|_| value(name, &text, &format!("expected {expected}")))
    }

    fn number(&self, name: &'static str, least: u64, most: u64) -> Result<u64, OptionsError> {
        let number: u64 = self.parsed(name, &format!("a number from {least} to {most}"))?;
        if (least..=most).contains(&number) {
            Ok(number)
        } else {
            let why = format!("it must lie between {least} and {most}");
            Err(value(name, &number.to_string(), &why))
        }
    }

    fn small(&self, name: &'static str, least: u32, most: u32) -> Result<u32, OptionsError> {
        let number = self.number(name, least.into(), most.into())?;
        Ok(u32::try_from(number).unwrap_or(most))
    }

    fn alias(&self) -> Result<String, OptionsError> {
        let alias = self.text("--alias")?;
        if alias.len() > 32 {
            return Err(value("--alias", &alias, "BOLT 7 allows 32 bytes"));
        }
        Ok(alias)
    }

    fn socket_path(&self) -> Result<PathBuf, OptionsError> {
        let path = self.text("--rpc-socket")?;
        // The file is bound under a longer, temporary name and then renamed.
        if path.len() + crate::rpc::TEMPORARY_SUFFIX.len() > 107 {
            let why = format!(
                "the kernel allows {} bytes here and this has {}",
                107 - crate::rpc::TEMPORARY_SUFFIX.len(),
                path.len()
            );
            return Err(value("--rpc-socket", &path, &why));
        }
        Ok(path.into())
    }

    fn bitcoind_address(&self) -> Result<SocketAddr, OptionsError> {
        let url = self.text("--bitcoind-url")?;
        url.strip_prefix("http://")
            .map(|rest| rest.trim_end_matches('/'))
            .and_then(|address| address.parse().ok())
            .ok_or_else(|| {
                value(
                    "--bitcoind-url",
                    &url,
                    "expected http://IP:PORT, for example http://127.0.0.1:18443",
                )
            })
    }

    fn bitcoind_auth(&self) -> Result<BitcoindAuth, OptionsError> {
        let cookie = self.optional("--bitcoind-cookie");
        let user = self.optional("--bitcoind-user");
        let password = self.optional("--bitcoind-password");
        match (cookie, user, password) {
            (Some(cookie), None, None) => Ok(BitcoindAuth::Cookie(cookie.into())),
            (None, Some(user), Some(password)) => Ok(BitcoindAuth::Password { user, password }),
            (Some(_), _, _) => Err(OptionsError::Conflict(
                "--bitcoind-cookie and --bitcoind-user exclude each other",
            )),
            (None, None, None) => Err(OptionsError::Missing {
                name: "--bitcoind-cookie",
                about: "bitcoind's cookie file (or give --bitcoind-user and --bitcoind-password)",
            }),
            (None, _, _) => Err(OptionsError::Conflict(
                "--bitcoind-user and --bitcoind-password go together",
            )),
        }
    }
}

fn value(name: &'static str, got: &str, why: &str) -> OptionsError {
    OptionsError::Value {
        name,
        got: got.to_owned(),
        why: why.to_owned(),
    }
}

fn seed(hex: &str) -> Result<[u8; 32], OptionsError> {
    use bitcoin::hex::FromHex as _;
    <[u8; 32]>::from_hex(hex).map_err(|_| value("--seed", hex, "expected 64 hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &[&str] = &[
        "--data-dir",
        "/d",
        "--rpc-socket",
        "/d/rpc",
        "--listen",
        "127.0.0.1:9735",
        "--bitcoind-url",
        "http://127.0.0.1:18443",
        "--bitcoind-cookie",
        "/c",
        "--bitcoind-wallet",
        "w",
    ];

    fn parse_with(extra: &[&str]) -> Result<Options, OptionsError> {
        let args = LEAST.iter().chain(extra).map(OsString::from).collect();
        match parse(args)? {
            Request::Run(options) => Ok(*options),
            other => panic!("expected to run, got {other:?}"),
        }
    }

    fn words(extra: &[&str]) -> String {
        parse_with(extra).expect_err("must be refused").to_string()
    }

    /// The default that the help text shows for an option.
    fn default(name: &str) -> String {
        let help = crate::options::help();
        let start = format!("  {name} ");
        let line = help.lines().find(|line| line.starts_with(&start));
        let (_, default) = line
            .and_then(|line| line.rsplit_once(" ["))
            .expect("shows one");
        default.trim_end_matches(']').to_owned()
    }

    #[test]
    fn defaults_are_those_of_the_help_text() {
        let options = parse_with(&[]).expect("parses");
        assert_eq!(options.alias, default("--alias"));
        assert_eq!(options.store, StoreKind::Sqlite);
        assert!(options.nodelay);
        assert_eq!(options.min_depth, 1);
        assert_eq!(options.feerate_sat_per_kw, 1000);
        assert_eq!(default("--store"), options.store.name());
        assert_eq!(default("--min-depth"), options.min_depth.to_string());
        let feerate = options.feerate_sat_per_kw.to_string();
        assert_eq!(default("--feerate-sat-per-kw"), feerate);
    }

    #[test]
    fn both_forms_of_an_option_are_read() {
        let options = parse_with(&["--store=memory", "--nodelay", "false"]).expect("parses");
        assert_eq!(options.store, StoreKind::Memory);
        assert!(!options.nodelay);
    }

    #[test]
    fn an_unknown_option_is_named_with_a_likely_one() {
        assert_eq!(
            words(&["--log", "x"]),
            "unknown option --log (did you mean --log-file?)"
        );
        assert_eq!(words(&["--zzz=1"]), "unknown option --zzz");
    }

    #[test]
    fn a_missing_option_says_what_it_is_for() {
        let error = parse(Vec::new()).expect_err("must be refused").to_string();
        assert!(error.starts_with("--data-dir is missing: "), "{error}");
    }

    #[test]
    fn values_are_checked() {
        assert!(words(&["--store", "disk"]).contains("it is sqlite or memory"));
        assert!(words(&["--to-self-delay", "6"]).contains("between 144 and 2016"));
        assert!(words(&["--seed", "abc"]).contains("64 hexadecimal digits"));
        assert!(words(&["--network", "bitcoin"]).contains("regtest only"));
        assert!(words(&["--min-depth"]).contains("needs a value"));
        assert!(words(&["--listen", "127.0.0.1:1"]).contains("given twice"));
        assert!(words(&["stray"]).contains("every argument is an option"));
    }
}
