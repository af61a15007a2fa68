//! One bridge, from the near side: a process of `ssh` whose standard input and output are the
//! connection.

use super::greeting::Greeting;
use super::login::{Login, May};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::pin::Pin;
use std::process::{Child, ChildStderr, Stdio};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use tokio::io::{AsyncRead, AsyncWrite, Join, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};

/// So much of what ssh says is kept for an error, in bytes: the end of it.
const SAID_BYTES_MAX: usize = 2048;
/// How the shell ends when there is no such program.
const NOT_FOUND: i32 = 127;
/// How ssh ends when it is itself that failed.
const SSH_FAILED: i32 = 255;

/// A bridge that has greeted.
#[derive(Debug)]
pub struct Pipes {
    ssh: Ssh,
    said: Said,
}

impl Pipes {
    /// Starts a bridge, and waits for what it says; it blocks meanwhile.
    ///
    /// # Errors
    /// What kept it, in a sentence: ssh cannot be started, gets nowhere, or finds no `invivo`.
    pub fn open(login: &Login, job: Option<&str>, may: May) -> io::Result<(Greeting, Pipes)> {
        let mut arguments = vec!["bridge"];
        arguments.extend(job.iter().flat_map(|job| ["--job", job]));
        let child = login
            .command(may, &arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                io::Error::new(error.kind(), format!("ssh cannot be started: {error}"))
            })?;
        let mut ssh = Ssh(child);
        let said = Said::listen(ssh.0.stderr.take());
        let greeting = match ssh.0.stdout.as_mut() {
            Some(output) => Greeting::read(output),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        match greeting {
            Ok(greeting) => Ok((greeting, Pipes { ssh, said })),
            Err(error) => Err(trouble(login, ssh, said, &error)),
        }
    }

    /// The connection.
    ///
    /// # Errors
    /// When the runtime cannot wait for the pipes.
    pub fn stream(mut self) -> io::Result<Stream> {
        let (Some(input), Some(output)) = (self.ssh.0.stdin.take(), self.ssh.0.stdout.take())
        else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let input = ChildStdin::from_std(input)?;
        let output = ChildStdout::from_std(output)?;
        Ok(Stream {
            pipes: tokio::io::join(output, input),
            _ssh: self.ssh,
            _said: self.said,
        })
    }
}

/// What kept a bridge from greeting.
fn trouble(login: &Login, mut ssh: Ssh, said: Said, error: &io::Error) -> io::Error {
    // Its output has ended, or is of no use.
    drop(ssh.0.stdin.take());
    drop(ssh.0.stdout.take());
    let status = ssh.0.wait().ok().and_then(|status| status.code());
    let said = said.end();
    let program = login.program();
    let text = match status {
        Some(NOT_FOUND) => login.no_program(),
        Some(SSH_FAILED) => format!("ssh cannot reach {login}: {said}; try: ssh {login}"),
        _ if said.is_empty() => format!("{program} bridge on {login} failed: {error}"),
        _ => format!("{program} bridge on {login} failed: {said}"),
    };
    io::Error::new(io::ErrorKind::NotConnected, text)
}

/// Ends with its owner.
#[derive(Debug)]
struct Ssh(Child);

impl Drop for Ssh {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nobody to end, and nothing more to say.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The end of what ssh says: it must be read, or ssh would stand still.
#[derive(Debug)]
struct Said(Option<JoinHandle<VecDeque<u8>>>);

impl Said {
    fn listen(from: Option<ChildStderr>) -> Said {
        Said(from.map(|mut from| {
            std::thread::spawn(move || {
                let (mut kept, mut some) = (VecDeque::new(), [0; 512]);
                while let Ok(bytes @ 1..) = from.read(&mut some) {
                    kept.extend(&some[..bytes]);
                    kept.drain(..kept.len().saturating_sub(SAID_BYTES_MAX));
                }
                kept
            })
        }))
    }

    /// In one line, without what could steer a terminal.
    fn end(self) -> String {
        let said = self.0.and_then(|thread| thread.join().ok());
        let said = Vec::from(said.unwrap_or_default());
        let text = String::from_utf8_lossy(&said);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let one = lines.collect::<Vec<_>>().join("; ");
        one.chars().filter(|c| !c.is_control()).collect()
    }
}

/// The connection to a gateway.
#[derive(Debug)]
pub struct Stream {
    pipes: Join<ChildStdout, ChildStdin>,
    _ssh: Ssh,
    _said: Said,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipes).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipes).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipes).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipes).poll_shutdown(context)
    }
}
