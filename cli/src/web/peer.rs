//! Whose the other end of a connection over loopback is, where the system tells: on Linux. Loopback
//! belongs to everybody who is logged in here, and only the user of this server has to do with it.
//! Through a tunnel of ssh it is that user as well: sshd forwards as whom it has logged in.

use std::net::SocketAddrV4;

/// The kernel's table of connections.
const TABLE: &str = "/proc/net/tcp";

/// Whether the peer is known to be another user's process; root may do everything anyway.
pub fn is_strangers(peer: SocketAddrV4, ours: SocketAddrV4) -> bool {
    let Ok(table) = std::fs::read_to_string(TABLE) else {
        return false;
    };
    let us = rustix::process::geteuid().as_raw();
    owner(&table, peer, ours).is_some_and(|user| user != us && user != 0)
}

/// The user of the socket whose own address is `peer` and whose other end is `ours`.
fn owner(table: &str, peer: SocketAddrV4, ours: SocketAddrV4) -> Option<u32> {
    let ends = [shown(peer), shown(ours)];
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let is_it = fields.nth(1)? == ends[0] && fields.next()? == ends[1];
        // State, queues, timer and retransmissions stand between.
        fields.nth(4).filter(|_| is_it)?.parse().ok()
    })
}

/// As the table shows it: the address as the machine's own integer, then the port.
fn shown(address: SocketAddrV4) -> String {
    let ip = u32::from_ne_bytes(address.ip().octets());
    format!("{ip:08X}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[cfg(target_endian = "little")]
    #[test]
    fn the_owner_is_the_user_of_the_other_end() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 2 1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 3 1
";
        let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        assert_eq!(owner(table, at(50_000), at(8080)), Some(1001));
        assert_eq!(owner(table, at(8080), at(50_000)), Some(1000));
        assert_eq!(owner(table, at(50_001), at(8080)), None);
        assert_eq!(owner("", at(50_000), at(8080)), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_connection_of_this_process_is_ours() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(address).expect("a connection");
        let peer = stream.local_addr().expect("an address");
        let (std::net::SocketAddr::V4(ours), std::net::SocketAddr::V4(peer)) = (address, peer)
        else {
            panic!("loopback of version 4");
        };
        let table = std::fs::read_to_string(TABLE).expect("the table");
        let us = rustix::process::geteuid().as_raw();
        assert_eq!(owner(&table, peer, ours), Some(us));
        assert!(!is_strangers(peer, ours));
    }
}
