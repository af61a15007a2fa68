//! The bytes of HTTP/2 and gRPC, written by hand: no library makes the mistakes that hostile
//! clients make.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The first bytes of every HTTP/2 connection.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// Types and flags of HTTP/2 frames.
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// What a client says first.
pub fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

/// One frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    // HTTP/2 lengths have three bytes.
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// The headers of a call of the service, with a name of the client, as HPACK literals.
pub fn headers(method: &str, token: &str, client: &str) -> Vec<u8> {
    let path = format!("/invivo.v1.Invivo/{method}");
    let authorization = format!("Bearer {token}");
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", &path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("authorization", &authorization),
        ("user-agent", client),
    ];
    fields
        .iter()
        .flat_map(|(name, value)| literal(name, value))
        .collect()
}

/// A literal field without indexing, with a new name: no state of HPACK is needed.
pub fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        assert!(text.len() < 127, "a length of one byte");
        field.push(text.len() as u8);
        field.extend(text.as_bytes());
    }
    field
}

/// A message of gRPC: a byte for compression, four for the length, then its bytes.
pub fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

/// A call of the service: its headers, and one message.
pub fn request(stream: u32, method: &str, token: &str, bytes: &[u8]) -> Vec<u8> {
    let headers = headers(method, token, "by hand");
    let headers = frame(HEADERS, END_HEADERS, stream, &headers);
    [headers, frame(DATA, END_STREAM, stream, &message(bytes))].concat()
}

/// Connects to a socket; a server that does not read must not hang the test.
///
/// # Errors
/// As the kernel says.
pub fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    Ok(stream)
}

/// Writes bytes, as far as the server takes them: it may close the connection in the middle.
pub fn throw(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

/// Reads what comes until the server closes the connection, or a time is over; true where it has
/// closed.
pub fn read_until_closed(stream: &mut UnixStream, most: Duration) -> (Vec<u8>, bool) {
    let (until, mut all, mut part) = (Instant::now() + most, Vec::new(), [0; 4096]);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
    while Instant::now() < until {
        match stream.read(&mut part) {
            Ok(0) => return (all, true),
            Ok(read) => all.extend_from_slice(&part[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return (all, true),
        }
    }
    (all, false)
}
