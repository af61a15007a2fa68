//! Clients that misbehave on a gateway's socket: fifty that never read, and five hostile kinds.
//!
//! They write the bytes of HTTP/2 and gRPC by hand, because no library makes such mistakes.

use super::http2::{DATA, PREFACE, SETTINGS, frame, opening, request};
use serde_json::Value;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Watchers that never read.
pub const WATCHERS: usize = 50;
/// Until all watchers have snapshots waiting.
const SERVED_WITHIN: Duration = Duration::from_secs(30);
/// Connections that a hostile client leaves open after half of the preface.
const HALF_OPEN: usize = 20;
/// Connections that are opened and closed at once.
const BURST: usize = 100;
/// Between two attacks of a hostile client. All of them together connect a little less often than
/// the gateway accepts, so that other clients get their turn in the kernel's queue.
const REST: Duration = Duration::from_millis(800);
/// More than a gateway sends to a client that it refuses.
const SERVED_BYTES: u64 = 4096;
/// All of these clients. Dropped, they disconnect.
pub struct MisbehavingClients {
    watchers: Vec<UnixStream>,
    stopped: Arc<AtomicBool>,
    /// How often each kind of hostile client has attacked.
    attacks: Vec<Arc<AtomicU64>>,
    threads: Vec<JoinHandle<()>>,
}

/// One attack; the connections that it returns stay open until the next but one.
type Attack = fn(&Path) -> std::io::Result<Vec<UnixStream>>;

const HOSTILE: [Attack; 5] = [garbage, huge_frame, half_open, burst, wrong_token];

impl MisbehavingClients {
    /// Connects all of them to the gateway of this `connect.json`.
    pub fn connect(connect_file: &Path) -> MisbehavingClients {
        let text = std::fs::read(connect_file).expect("connect.json");
        let connect: Value = serde_json::from_slice(&text).expect("connect.json");
        let text = |name: &str| connect[name].as_str().expect("a text").to_owned();
        let (socket, token) = (PathBuf::from(text("socket")), text("view"));

        let watch = |_| watcher(&socket, &token).expect("a watcher");
        let watchers = (0..WATCHERS).map(watch).collect();
        let mut clients = MisbehavingClients {
            watchers,
            stopped: Arc::default(),
            attacks: HOSTILE.iter().map(|_| Arc::default()).collect(),
            threads: Vec::new(),
        };
        // Hostile connections push out others of the same process that have shown no token yet:
        // without this wait, the watchers.
        let begun = Instant::now();
        while clients.served() < WATCHERS && begun.elapsed() < SERVED_WITHIN {
            std::thread::sleep(Duration::from_millis(20));
        }

        let start = |(attack, count): (Attack, &Arc<AtomicU64>)| {
            let (socket, stopped, count) = (socket.clone(), clients.stopped.clone(), count.clone());
            std::thread::spawn(move || attack_again(attack, &socket, &stopped, &count))
        };
        let threads = HOSTILE
            .into_iter()
            .zip(&clients.attacks)
            .map(start)
            .collect();
        clients.threads = threads;
        clients
    }

    /// Whether every kind of hostile client has attacked so often at least.
    pub fn attacked(&self, times: u64) -> bool {
        self.attacks
            .iter()
            .all(|count| count.load(Ordering::Relaxed) >= times)
    }

    /// Watchers that the gateway has sent snapshots to, which they have not read.
    pub fn served(&self) -> usize {
        let waiting = |stream: &&UnixStream| {
            // Bytes in the socket's receive queue: asked of the kernel, because reading would
            // change the test.
            rustix::io::ioctl_fionread(stream).is_ok_and(|bytes| bytes > SERVED_BYTES)
        };
        self.watchers.iter().filter(waiting).count()
    }
}

impl Drop for MisbehavingClients {
    fn drop(&mut self) {
        // Joined, so that no attack reaches a gateway of the next test.
        self.stopped.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn attack_again(attack: Attack, socket: &Path, stopped: &AtomicBool, count: &AtomicU64) {
    let mut open = Vec::new();
    while !stopped.load(Ordering::Relaxed) {
        // The gateway may cut it off in the middle: that is the purpose.
        open = attack(socket).unwrap_or(open);
        count.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(REST);
    }
}

fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    // A gateway that does not read must not hang the test.
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    Ok(stream)
}

fn garbage(socket: &Path) -> std::io::Result<Vec<UnixStream>> {
    let mut stream = connect(socket)?;
    // The same bytes in every run, without any pattern that a parser could take for a frame.
    let bytes: Vec<u8> = (0..65536_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    stream.write_all(&bytes)?;
    Ok(vec![stream])
}

/// A frame whose head announces 16 MiB, of which 4 KiB come.
fn huge_frame(socket: &Path) -> std::io::Result<Vec<UnixStream>> {
    let mut stream = connect(socket)?;
    stream.write_all(PREFACE)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    // By hand: `frame` would write the true length.
    stream.write_all(&[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1])?;
    stream.write_all(&[0; 4096])?;
    Ok(vec![stream])
}

fn half_open(socket: &Path) -> std::io::Result<Vec<UnixStream>> {
    let open = |_| {
        let mut stream = connect(socket)?;
        // Not all of the preface: the gateway cannot know yet that this is HTTP/2.
        stream.write_all(&PREFACE[..10])?;
        Ok(stream)
    };
    (0..HALF_OPEN).map(open).collect()
}

fn burst(socket: &Path) -> std::io::Result<Vec<UnixStream>> {
    // Each connection is dropped at once.
    for _ in 0..BURST {
        connect(socket)?;
    }
    Ok(Vec::new())
}

fn wrong_token(socket: &Path) -> std::io::Result<Vec<UnixStream>> {
    let mut stream = connect(socket)?;
    stream.write_all(&opening())?;
    // More calls than the gateway takes without a token on one connection; streams of clients have
    // odd numbers.
    for call in 0..40 {
        stream.write_all(&request(1 + 2 * call, "Pause", "0000", &[]))?;
    }
    Ok(vec![stream])
}

/// Asks for ten snapshots a second and reads none; its socket has room for a few of them.
fn watcher(socket: &Path, token: &str) -> std::io::Result<UnixStream> {
    let mut stream = connect(socket)?;
    stream.write_all(&opening())?;
    // interval_ns: 100 ms; functions: yes
    let request_bytes = [0x08, 0x80, 0xc2, 0xd7, 0x2f, 0x10, 1];
    stream.write_all(&request(1, "Watch", token, &request_bytes))?;
    Ok(stream)
}
