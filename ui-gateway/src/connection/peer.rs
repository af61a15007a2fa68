//! The peer of a connection: a local process or a TCP address, and the key by which limits count
//! it.

use serde::{Serialize, Serializer};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over the Unix socket, as the kernel says.
    Unix {
        uid: u32,
        /// `None` where the kernel does not say.
        pid: Option<i32>,
    },
    Tcp(SocketAddr),
}

/// What limits per peer count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerKey {
    /// A user of this host.
    User(u32),
    /// An address; of IPv6 the /64 network, because a host may take any address in it.
    Address(IpAddr),
}

/// What opens connections: a process of this host, or an address.
pub type Source = (PeerKey, Option<i32>);

impl Peer {
    pub fn key(&self) -> PeerKey {
        match self {
            Peer::Unix { uid, .. } => PeerKey::User(*uid),
            // An IPv4 address in IPv6 form (::ffff:a.b.c.d) counts as IPv4: its /64 would be all of
            // IPv4.
            Peer::Tcp(address) => PeerKey::Address(match address.ip().to_canonical() {
                IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
                ip => ip,
            }),
        }
    }

    pub fn source(&self) -> Source {
        // By process, so that a runaway script evicts its own connections and not those of the
        // user's other programs.
        let pid = match self {
            Peer::Unix { pid, .. } => *pid,
            Peer::Tcp(_) => None,
        };
        (self.key(), pid)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Unix { .. } => f.write_str("unix"),
            Peer::Tcp(address) => address.fmt(f),
        }
    }
}

impl Serialize for Peer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> PeerKey {
        Peer::Tcp(address.parse().expect("an address")).key()
    }

    #[test]
    fn mapped_ipv4_and_one_ipv6_network_are_one_peer() {
        assert_eq!(key("[::ffff:10.0.0.1]:1"), key("10.0.0.1:2"));
        assert_eq!(key("[2001:db8::1]:1"), key("[2001:db8::2]:1"));
        assert_ne!(key("[2001:db8::1]:1"), key("[2001:db8:1::1]:1"));
    }
}
