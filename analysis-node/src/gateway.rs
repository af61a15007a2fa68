//! The root's Unix socket to the gateway: receives requests and sends answers, without waiting.
//!
//! One gateway at a time is connected, with several requests under way. One that dies is noticed by
//! its closed connection, and the next one is accepted. One that sends garbage or does not read its
//! answers loses its connection; the measurement goes on.

use invivo_proto::control::framing::{Unframe, frame};
use invivo_proto::control::link::{Answer, Request, Response};
use invivo_proto::control::{MESSAGE_BYTES_MAX, decode, encode};
use invivo_proto::ids::WorldRank;
use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::socket_peercred;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Requests taken at one look, so that a flood of them does not keep the root from all else.
pub const REQUESTS_PER_LOOK_MAX: usize = 64;
/// The longest request: a question or a command has a few dozen bytes.
pub const REQUEST_BYTES_MAX: usize = 4096;
/// Answers that may wait for the gateway to read: the longest one, and others beside it.
pub const UNREAD_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// Bytes read at once.
const PIECE_BYTES: usize = 16 * 1024;

/// Which gateway asked: counts the connections, so that no answer reaches another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId(u64);

/// The listening socket and the gateway on it.
pub struct Gateway {
    path: PathBuf,
    listener: UnixListener,
    connection: Option<Connection>,
    connections: u64,
    refused: u64,
    first_refusal: Option<String>,
}

struct Connection {
    id: ConnectionId,
    stream: UnixStream,
    incoming: Unframe,
    outgoing: Vec<u8>,
}

impl Gateway {
    /// Listens at `path`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn listen(path: &Path) -> std::io::Result<Gateway> {
        // Left by a root that was killed; the directory is this job's alone.
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Gateway {
            path: path.to_owned(),
            listener,
            connection: None,
            connections: 0,
            refused: 0,
            first_refusal: None,
        })
    }

    /// The descriptor and the events to poll for.
    pub fn poll_fd(&self) -> PollFd<'_> {
        match &self.connection {
            Some(connection) if connection.outgoing.is_empty() => {
                PollFd::new(&connection.stream, PollFlags::IN)
            }
            Some(connection) => PollFd::new(&connection.stream, PollFlags::IN | PollFlags::OUT),
            None => PollFd::new(&self.listener, PollFlags::IN),
        }
    }

    /// Connections that were closed for what they said, and why the first was.
    pub fn refusals(&self) -> Option<(u64, &str)> {
        self.first_refusal.as_deref().map(|why| (self.refused, why))
    }

    /// Takes requests, sends answers. Nothing waits.
    pub fn poll(&mut self) -> Vec<(ConnectionId, Request)> {
        // Another gateway waits in the backlog until this one has gone.
        if self.connection.is_none() {
            self.accept();
        }
        let Some(connection) = &mut self.connection else {
            return Vec::new();
        };
        let id = connection.id;
        let mut requests = Vec::new();
        match connection
            .read(&mut requests)
            .and_then(|()| connection.write())
        {
            Ok(()) => {}
            Err(Some(why)) => self.close(why),
            Err(None) => self.connection = None,
        }
        // Requests before an error are served; their answers find no connection.
        requests.into_iter().map(|request| (id, request)).collect()
    }

    /// Answers a request; nothing happens when its connection is closed. `missing` are tool
    /// processes that did not answer.
    pub fn answer(&mut self, to: ConnectionId, id: u64, answer: Answer, missing: Vec<WorldRank>) {
        let Some(connection) = self
            .connection
            .as_mut()
            .filter(|connection| connection.id == to)
        else {
            return;
        };

        let refusal = |why: String| {
            encode(&Response {
                id,
                answer: Answer::Refused(why),
                missing: Vec::new(),
            })
        };
        let response = Response {
            id,
            answer,
            missing,
        };
        let message = encode(&response)
            .or_else(|error| refusal(format!("the answer is too large ({error}); ask for less")));
        // A refusal is short.
        let Ok(message) = message else { return };

        // The root's memory must not grow with a gateway that does not read.
        if connection.outgoing.len() + message.len() > UNREAD_BYTES_MAX {
            return self.close("it does not read its answers".into());
        }

        connection.outgoing.extend(frame(&message));
        match connection.write() {
            Ok(()) => {}
            Err(Some(why)) => self.close(why),
            Err(None) => self.connection = None,
        }
    }

    fn accept(&mut self) {
        let Ok((stream, _)) = self.listener.accept() else {
            return;
        };
        match socket_peercred(&stream) {
            Ok(peer) if peer.uid == rustix::process::getuid() => {}
            _ => return self.close("it is another user's".into()),
        }
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        self.connections += 1;
        self.connection = Some(Connection {
            id: ConnectionId(self.connections),
            stream,
            incoming: Unframe::new(REQUEST_BYTES_MAX),
            outgoing: Vec::new(),
        });
    }

    fn close(&mut self, why: String) {
        self.connection = None;
        self.refused += 1;
        self.first_refusal.get_or_insert(why);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Why a connection ends: for what it said, or just so.
type Closed = Option<String>;

impl Connection {
    /// Takes what came.
    fn read(&mut self, requests: &mut Vec<Request>) -> Result<(), Closed> {
        let mut piece = [0u8; PIECE_BYTES];
        loop {
            while let Some(message) = self
                .incoming
                .message()
                .map_err(|error| Some(error.to_string()))?
            {
                requests.push(decode(&message).map_err(|error| Some(error.to_string()))?);
                // The rest stays in the frame buffer and is read in the next turn.
                if requests.len() == REQUESTS_PER_LOOK_MAX {
                    return Ok(());
                }
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(None),
                Ok(read) => self.incoming.push(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(None),
            }
        }
    }

    /// Sends what waits, as far as the other side takes it.
    fn write(&mut self) -> Result<(), Closed> {
        let mut sent = 0;
        let result = loop {
            if sent == self.outgoing.len() {
                break Ok(());
            }
            match self.stream.write(&self.outgoing[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break Err(None),
            }
        };
        self.outgoing.drain(..sent);
        result
    }
}

#[cfg(test)]
mod tests;
