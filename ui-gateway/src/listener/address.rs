//! Parses the TCP address to listen on: always with a host, so that no port is ever opened on all
//! addresses by leaving something out.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A host and a port; port 0 takes a free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    pub host: Host,
    pub port: u16,
}

/// A host by its address or its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    Ip(IpAddr),
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no address to listen on ({why}); give one of this host's with a port, 0 for a \
     free one, as 10.0.0.7:0, [fd00::7]:0 or node17:0; all addresses of the host only by asking \
     for \
     0.0.0.0:0 or [::]:0"
)]
pub struct BadAddress {
    text: String,
    why: &'static str,
}

impl FromStr for ListenAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<ListenAddress, BadAddress> {
        let bad = |why| BadAddress {
            text: text.to_owned(),
            why,
        };
        // From the right: an IPv6 address in brackets contains colons.
        let (host, port) = text.rsplit_once(':').ok_or_else(|| bad("it has no port"))?;
        let port = port
            .parse()
            .map_err(|_| bad("its port is no number up to 65535"))?;

        let bracketed = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = match (bracketed, host.parse()) {
            (Some(inner), _) => {
                let ip = inner
                    .parse()
                    .map_err(|_| bad("there is no IPv6 address in the brackets"))?;
                Host::Ip(IpAddr::V6(ip))
            }
            (None, Ok(ip @ IpAddr::V4(_))) => Host::Ip(ip),
            // Without brackets it is ambiguous which group is the port.
            (None, Ok(IpAddr::V6(_))) => return Err(bad("an IPv6 address stands in brackets")),
            (None, Err(_)) if host.is_empty() => return Err(bad("it has no host")),
            (None, Err(_)) if is_name(host) => Host::Name(host.to_owned()),
            (None, Err(_)) => return Err(bad("its host is neither an address nor a name")),
        };

        Ok(ListenAddress { host, port })
    }
}

/// Whether it can be a host's name: letters, digits, hyphens and dots, with at least one letter
/// (some resolvers take 0 and 127.1 for addresses).
fn is_name(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    host.bytes().all(allowed) && host.bytes().any(|byte| byte.is_ascii_alphabetic())
}

impl ListenAddress {
    /// Whether it means all addresses of the host.
    pub fn is_wildcard(&self) -> bool {
        matches!(&self.host, Host::Ip(ip) if ip.is_unspecified())
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            Host::Ip(ip) => write!(f, "{ip}:{}", self.port),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_with_a_port() {
        for text in [
            "10.0.0.7:0",
            "[fd00::7]:4000",
            "node17.cluster:65535",
            "0.0.0.0:0",
            "[::]:1",
        ] {
            let address: ListenAddress = text.parse().expect(text);
            assert_eq!(address.to_string(), text);
            assert_eq!(
                address.is_wildcard(),
                text.starts_with("0.0.0.0") || text.starts_with("[::]")
            );
        }
    }

    #[test]
    fn incomplete_addresses_are_refused() {
        for text in [
            "",
            "4000",
            ":4000",
            "0:0",
            "127.1:0",
            "*:0",
            "fd00::7:0",
            "[10.0.0.7]:0",
            "node:70000",
            "node",
            "a b:0",
            "[]:0",
        ] {
            let error = text.parse::<ListenAddress>().expect_err(text);
            assert!(error.to_string().contains("10.0.0.7:0"), "{error}");
        }
    }
}
