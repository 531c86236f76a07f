//! Who has the address that a daemon could not get.
use super::proc;
use regex_lite::Regex;
use std::{fs, net::Ipv4Addr};

/// If a line of a daemon's says that an address is in use: which one, and who has it.
pub(crate) fn address_in_use(line: &str) -> Option<String> {
    // bitcoind: "Unable to bind to 127.0.0.1:18444 on this computer. Bitcoin Knots is probably
    // already running."; libevent's, Go's, Rust's and C's own words: "address already in use".
    let says = Regex::new(
        r"(?i)address (is )?already in use|address in use|EADDRINUSE|unable to bind to|binding (RPC )?on address .* failed",
    )
    .ok()?;
    if !says.is_match(line) {
        return None;
    }
    let Some((address, port)) = address_in(line) else {
        return Some("an address that it needs is in use".to_owned());
    };
    let place = match address {
        Some(address) => format!("{address}:{port}"),
        None => format!("port {port}"),
    };
    Some(match listener(address, port) {
        Some(who) => format!("{place}, which it needs, is held by {who}"),
        None => format!("{place}, which it needs, was in use; by now nobody listens there"),
    })
}

/// The address (if it is written out) and port that a line names.
fn address_in(line: &str) -> Option<(Option<Ipv4Addr>, u16)> {
    let both = Regex::new(r"(\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})").ok()?;
    let port_only = Regex::new(r"(?i)port:? (\d{1,5})|(?:^|[^\d:]):(\d{1,5})\b").ok()?;
    let spoken = Regex::new(r"(?i)(\d{1,3}(?:\.\d{1,3}){3}) port:? (\d{1,5})").ok()?;
    for pattern in [both, spoken] {
        if let Some(found) = pattern.captures(line) {
            let address = found.get(1)?.as_str().parse().ok();
            return Some((address, found.get(2)?.as_str().parse().ok()?));
        }
    }
    let found = port_only.captures(line)?;
    let port = found.get(1).or(found.get(2))?;
    Some((None, port.as_str().parse().ok()?))
}

/// The process that listens on a TCP port, of that address or of all.
fn listener(address: Option<Ipv4Addr>, port: u16) -> Option<String> {
    let socket = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .find_map(|table| {
            table
                .lines()
                .skip(1)
                .find_map(|line| Socket::listening(line, address, port))
        })?;
    let wanted = format!("socket:[{}]", socket.inode);
    let owner = proc::pids().into_iter().find(|pid| {
        fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == &*wanted))
        })
    });
    Some(match owner {
        Some(pid) => format!("pid {pid} ({})", proc::command_line(pid)),
        None => format!(
            "a process of user id {} that we may not look at",
            socket.uid
        ),
    })
}

struct Socket {
    uid: u32,
    inode: u64,
}

impl Socket {
    /// The socket of a line of `/proc/net/tcp`, if it listens there.
    fn listening(line: &str, address: Option<Ipv4Addr>, port: u16) -> Option<Socket> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, local_port) = fields.get(1)?.split_once(':')?;
        let listens = *fields.get(3)? == "0A";
        if !listens || u16::from_str_radix(local_port, 16).ok()? != port {
            return None;
        }
        let everywhere = local.bytes().all(|digit| digit == b'0');
        let here = address.is_none_or(|address| {
            // The kernel prints the address as the number that lies in memory.
            let number = u32::from_ne_bytes(address.octets());
            local == format!("{number:08X}")
        });
        (everywhere || here).then_some(Socket {
            uid: fields.get(7)?.parse().ok()?,
            inode: fields.get(9)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_holder_of_an_address_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = format!("Unable to bind to 127.0.0.1:{port} on this computer.");
        let story = address_in_use(&line).unwrap();
        assert!(story.contains(&format!("127.0.0.1:{port}")), "{story}");
        assert!(
            story.contains(&format!("pid {}", std::process::id())),
            "{story}"
        );
    }

    #[test]
    fn daemons_words_for_it_are_understood() {
        for (line, address, port) in [
            (
                "Error: Unable to bind to 127.9.9.2:23701 on this computer.",
                Some([127, 9, 9, 2]),
                23701,
            ),
            (
                "Binding RPC on address 127.9.9.2 port 23702 failed.",
                Some([127, 9, 9, 2]),
                23702,
            ),
            (
                "listen tcp 127.9.9.3:23702: bind: address already in use",
                Some([127, 9, 9, 3]),
                23702,
            ),
            (
                "Address already in use (os error 98): port 9735",
                None,
                9735,
            ),
        ] {
            assert_eq!(
                address_in(line),
                Some((address.map(Ipv4Addr::from), port)),
                "{line}"
            );
            assert!(address_in_use(line).is_some(), "{line}");
        }
        assert_eq!(address_in_use("peer 127.9.9.2:23701 connected"), None);
    }
}
