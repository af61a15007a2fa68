//! Opens the TCP socket, and finds the names under which clients reach it.

use super::address::{Host, ListenAddress};
use crate::limits;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::{TcpListener, TcpSocket};

/// Listens on an address of this host.
///
/// # Errors
/// Why it cannot.
pub async fn bind(address: &ListenAddress) -> io::Result<TcpListener> {
    match &address.host {
        Host::Ip(ip) => listen((*ip, address.port).into()),
        Host::Name(name) => {
            // A name may have several addresses: the first that works is taken, and the last error
            // is reported.
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");

            for resolved in tokio::net::lookup_host((name.as_str(), address.port)).await? {
                match listen(resolved) {
                    Ok(listener) => return Ok(listener),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A restarted gateway can take its given port again at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::BACKLOG)
}

/// The names of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The address for clients, as `https://node17:40123`.
    pub url: String,
    /// Host names and addresses for its certificate.
    pub certified: Vec<String>,
}

/// The names of a listener that was requested as `asked` and is bound to `bound`. A listener on all
/// addresses is named after the host, and its certificate covers all of them.
pub fn names(asked: &ListenAddress, bound: SocketAddr, host: &str) -> Names {
    // 0.0.0.0 is no address to connect to: clients get the host's name instead.
    let url_host = match &asked.host {
        Host::Ip(ip) if ip.is_unspecified() => host.to_owned(),
        Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]"),
        Host::Ip(ip) => ip.to_string(),
        Host::Name(name) => name.clone(),
    };

    // The port as bound: the requested one may be 0.
    let url = format!("https://{url_host}:{}", bound.port());
    let mut certified = match &asked.host {
        Host::Name(name) => vec![name.clone()],
        Host::Ip(_) => Vec::new(),
    };

    if asked.is_wildcard() {
        certified.push(host.to_owned());
        certified.extend(interface_addresses().iter().map(IpAddr::to_string));
    } else {
        certified.push(bound.ip().to_string());
    }
    if asked.is_wildcard() || bound.ip().is_loopback() {
        certified.push("localhost".to_owned());
    }

    certified.sort();
    certified.dedup();
    Names { url, certified }
}

/// The addresses of this host's interfaces; none if the system does not list them.
fn interface_addresses() -> Vec<IpAddr> {
    let Ok(interfaces) = nix::ifaddrs::getifaddrs() else {
        return Vec::new();
    };
    interfaces
        .filter_map(|interface| {
            // Other families, such as packet sockets, are no addresses to connect to.
            let address = interface.address?;
            let v4 = address
                .as_sockaddr_in()
                .map(|address| IpAddr::V4(address.ip()));
            v4.or_else(|| {
                address
                    .as_sockaddr_in6()
                    .map(|address| IpAddr::V6(address.ip()))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(asked: &str, bound: &str) -> Names {
        names(
            &asked.parse().expect("an address"),
            bound.parse().expect("an address"),
            "node17",
        )
    }

    #[test]
    fn clients_use_the_requested_name() {
        let one = named("10.0.0.7:0", "10.0.0.7:40123");
        assert_eq!(one.url, "https://10.0.0.7:40123");
        assert_eq!(one.certified, ["10.0.0.7"]);
        let name = named("login:0", "10.0.0.7:40123");
        assert_eq!(name.url, "https://login:40123");
        assert_eq!(name.certified, ["10.0.0.7", "login"]);
        let local = named("[::1]:0", "[::1]:40123");
        assert_eq!(local.url, "https://[::1]:40123");
        assert_eq!(local.certified, ["::1", "localhost"]);
    }

    #[test]
    fn a_wildcard_uses_the_host_name_and_certifies_all_addresses() {
        let all = named("0.0.0.0:0", "0.0.0.0:40123");
        assert_eq!(all.url, "https://node17:40123");
        for name in ["node17", "localhost", "127.0.0.1"] {
            assert!(
                all.certified.iter().any(|certified| certified == name),
                "{all:?}"
            );
        }
        assert!(!all.certified.iter().any(|certified| certified == "0.0.0.0"));
    }

    /// A free port is taken and a foreign address is refused.
    #[tokio::test]
    async fn a_free_port_is_taken_a_foreign_address_refused() {
        let listener = bind(&"localhost:0".parse().expect("an address"))
            .await
            .expect("bound");
        assert_ne!(listener.local_addr().expect("bound").port(), 0);
        // An address for documentation only: no host has it.
        assert!(
            bind(&"192.0.2.1:0".parse().expect("an address"))
                .await
                .is_err()
        );
    }
}
