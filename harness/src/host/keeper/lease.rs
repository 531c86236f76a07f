//! Finding a block of loopback addresses that nobody has.
use crate::host::address::{Block, LEASE_PORT};
use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    io,
    net::{SocketAddrV4, UdpSocket},
};

/// A block, ours for as long as this lives.
pub(super) struct Lease {
    pub index: u32,
    _socket: UdpSocket,
}

impl Lease {
    /// Takes a free block, looking from a random one on, so that labs that start at once seldom meet.
    pub(super) fn take() -> Result<Lease, String> {
        let start =
            (RandomState::new().hash_one(std::process::id()) % u64::from(Block::COUNT)) as u32;
        Lease::take_from(start, LEASE_PORT)
    }

    fn take_from(start: u32, port: u16) -> Result<Lease, String> {
        for offset in 0..Block::COUNT {
            let index = (start + offset) % Block::COUNT;
            let address = SocketAddrV4::new(Block::nth(index).address(1), port);
            match UdpSocket::bind(address) {
                Ok(socket) => {
                    reach(address)?;
                    return Ok(Lease {
                        index,
                        _socket: socket,
                    });
                }
                // A listener on all addresses takes every block at once: say so rather than try them all.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    if offset == 64 && has_wildcard_listener(port) {
                        return Err(format!(
                            "a program listens on UDP port {port} of all addresses, where leases are \
                             held; find it with `ss -uanp 'sport = {port}'`"
                        ));
                    }
                }
                Err(error) => {
                    return Err(format!(
                        "binding {address} failed: {error}; Boltwright needs all of 127.0.0.0/8 as \
                         loopback addresses, as Linux has them"
                    ));
                }
            }
        }
        Err(format!("all {} blocks are leased", Block::COUNT))
    }
}

/// Checks that packets to an address of ours would go anywhere: in a fresh network namespace
/// loopback addresses can be bound, and the device behind them is down.
fn reach(address: SocketAddrV4) -> Result<(), String> {
    UdpSocket::bind((*address.ip(), 0))
        .and_then(|probe| probe.connect(address))
        .map_err(|error| {
            format!(
                "{} cannot be reached: {error}; is the loopback device up? `ip link set lo up`",
                address.ip()
            )
        })
}

/// Whether a socket is bound to this UDP port on all addresses.
fn has_wildcard_listener(port: u16) -> bool {
    let wanted = format!("{}:{port:04X}", "0".repeat(8));
    let wanted_v6 = format!("{}:{port:04X}", "0".repeat(32));
    ["/proc/net/udp", "/proc/net/udp6"].iter().any(|table| {
        fs::read_to_string(table).is_ok_and(|table| {
            table
                .lines()
                .filter_map(|line| line.split_whitespace().nth(1))
                .any(|local| local == wanted || local == wanted_v6)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::Ipv4Addr, process::Command};

    #[test]
    fn a_leased_block_is_passed_over() {
        let port = 23_790;
        let first = Lease::take_from(700, port).unwrap();
        let second = Lease::take_from(first.index, port).unwrap();
        assert_ne!(first.index, second.index);
    }

    /// Passes only in a network namespace of its own.
    #[test]
    #[ignore = "a part of the next one, which starts it where the loopback device is down"]
    fn without_loopback() {
        let error = Lease::take_from(0, 23_792).err().unwrap();
        assert!(error.contains("ip link set lo up"), "{error}");
    }

    #[test]
    fn a_loopback_device_that_is_down_is_told_at_once() {
        let alone = |command: &mut Command| command.output().unwrap();
        // Not every machine lets its users make namespaces.
        if !alone(Command::new("unshare").args(["-Urn", "true"]))
            .status
            .success()
        {
            eprintln!("no namespaces here: not tested");
            return;
        }
        let told = alone(
            Command::new("unshare")
                .arg("-Urn")
                .arg(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "--ignored",
                    "host::keeper::lease::tests::without_loopback",
                ]),
        );
        let words = String::from_utf8_lossy(&told.stdout);
        assert!(words.contains("1 passed"), "{words}");
    }

    #[test]
    fn a_listener_on_all_addresses_is_named_as_the_reason() {
        let port = 23_791;
        let _thief = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
        let error = Lease::take_from(0, port).err().unwrap();
        assert!(
            error.contains("all addresses") && error.contains("23791"),
            "{error}"
        );
    }
}
