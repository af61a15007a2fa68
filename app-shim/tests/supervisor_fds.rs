//! What a rank takes for its supervisor's descriptors, and what not.

#[allow(dead_code, reason = "the shim's other limits")]
#[path = "../src/limits.rs"]
mod limits;
#[path = "../src/lifecycle/supervisor_fds.rs"]
mod supervisor_fds;

use invivo_proto::shm::{PACKETS_MAX, region_bytes};
use std::ffi::c_int;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use supervisor_fds::find;

const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

fn memfd(bytes: usize, flags: u32, seals: c_int) -> Option<OwnedFd> {
    // SAFETY: a name that ends with zero; the descriptor is ours alone.
    unsafe {
        let made = libc::memfd_create(c"rank".as_ptr(), libc::MFD_ALLOW_SEALING | flags);
        if made < 0 {
            return None;
        }
        let descriptor = OwnedFd::from_raw_fd(made);
        (libc::ftruncate(made, bytes as i64) == 0
            && libc::fcntl(made, libc::F_ADD_SEALS, seals) == 0)
            .then_some(descriptor)
    }
}

fn packets() -> (OwnedFd, OwnedFd) {
    let mut both = [0; 2];
    // SAFETY: room for two descriptors, which are ours.
    unsafe {
        assert_eq!(
            libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, both.as_mut_ptr()),
            0
        );
        (OwnedFd::from_raw_fd(both[0]), OwnedFd::from_raw_fd(both[1]))
    }
}

#[test]
fn only_what_a_supervisor_makes_is_taken() {
    let (socket, _other) = packets();
    let is_taken =
        |memory: &OwnedFd, socket: c_int| find(Some((memory.as_raw_fd(), socket)), None).is_some();
    let bytes = region_bytes(2);
    let good = memfd(bytes, 0, SEALS).expect("memory");
    assert!(is_taken(&good, socket.as_raw_fd()));
    assert!(find(None, None).is_none() && find(Some((-1, -1)), None).is_none());
    let (stream, _other) = UnixStream::pair().expect("a pair");
    assert!(
        !is_taken(&good, stream.as_raw_fd()),
        "another kind of socket"
    );
    let unsealed = [0, libc::F_SEAL_SHRINK, SEALS | libc::F_SEAL_WRITE];
    let unsealed = unsealed.map(|seals| memfd(bytes, 0, seals).expect("memory"));
    let terabytes = memfd(1 << 42, 0, SEALS).expect("a sparse memory");
    let largest = memfd(region_bytes(PACKETS_MAX), 0, SEALS).expect("a sparse memory");
    // A machine may have no huge pages at all.
    let huge = memfd(2 << 20, libc::MFD_HUGETLB, SEALS);
    for memory in unsealed.iter().chain([&terabytes]).chain(&huge) {
        assert!(!is_taken(memory, socket.as_raw_fd()));
    }
    assert!(is_taken(&largest, socket.as_raw_fd()));
}

/// Listens at an abstract name as the user that is its first argument, and gives a sealed memory to
/// the first that comes.
const SUPERVISOR: &str = r#"
import ctypes, fcntl, os, socket, sys
os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(b"\0" + sys.argv[2].encode())
s.listen()
print("listens", flush=True)
memory = os.memfd_create("theirs", os.MFD_ALLOW_SEALING)
os.ftruncate(memory, int(sys.argv[3]))
fcntl.fcntl(memory, 1033, 1 | 2 | 4)
rank, _ = s.accept()
socket.send_fds(rank, [b"m"], [memory])
print("gave", flush=True)
rank.recv(1)
"#;

/// As root alone, who may become somebody else.
#[test]
fn another_users_memory_is_not_taken() {
    // SAFETY: no preconditions.
    let me = unsafe { libc::geteuid() };
    for (user, is_own) in [(me, true), (65534, false)] {
        if me != 0 && !is_own {
            continue;
        }
        let name = format!("invivo-test-{}-{user}", std::process::id());
        let mut supervisor = Command::new("python3")
            .args(["-c", SUPERVISOR, &user.to_string(), &name])
            .arg(region_bytes(2).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let said = BufReader::new(supervisor.stdout.take().expect("a pipe"));
        let mut lines = said.lines();
        let mut line = || lines.next().expect("a line").expect("text");
        assert_eq!(line(), "listens");
        let taken = find(None, Some(&name));
        assert_eq!(taken.is_some(), is_own, "user {user}");
        let _ = supervisor.kill();
        let _ = supervisor.wait();
    }
}
