//! Reads foreign files in a process of its own, which is killed when it takes too long.
//!
//! A program chooses the files that are mapped into it, and what is written in them: tables that
//! loop for ever, sections of terabytes, pipes that nobody writes to, pages that are cut off while
//! they are read. None of that can be told before, and a thread cannot be ended; a process can. The
//! supervisor, with which its rank would end, only waits, and not for long.
//!
//! What the child ([`crate::child`]) is to read lies in its memory, and its answer comes back over
//! a socket.

use crate::child::Child;
use invivo_proto::control::MESSAGE_BYTES_MAX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// After a time without questions a child that waits for them ends. Those of tests wait for
/// programs that a busy machine keeps from theirs.
const IDLE_MAX: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

/// A process that reads for us. Dropped, it is killed.
pub struct Apart {
    _child: Child,
    socket: UnixStream,
}

/// What `read` gives, in a child that keeps these descriptors; nothing where that takes longer, or
/// there is no room for a child.
pub fn once(
    within: Duration,
    keep: &[BorrowedFd<'_>],
    read: impl FnOnce() -> Vec<u8>,
) -> Option<Vec<u8>> {
    let mut child = Apart::start(keep, |mut socket| {
        let _ = send(&mut socket, &read());
    })?;
    child.answer(Instant::now() + within)
}

impl Apart {
    /// A child that answers questions, one after the other, until it is idle for long.
    pub fn answering(mut answer: impl FnMut(&[u8]) -> Vec<u8>) -> Option<Apart> {
        Apart::start(&[], |mut socket| {
            // Without it, a child that nobody asks would stay.
            if socket.set_read_timeout(Some(IDLE_MAX)).is_err() {
                return;
            }
            while let Some(question) = receive(&mut socket) {
                if send(&mut socket, &answer(&question)).is_none() {
                    return;
                }
            }
        })
    }

    /// The answer to a question; nothing where there is none in time. Then this child is of no more
    /// use.
    pub fn ask(&mut self, question: &[u8], within: Duration) -> Option<Vec<u8>> {
        send(&mut self.socket, question)?;
        self.answer(Instant::now() + within)
    }

    /// Whether it has ended, as it does when it is idle.
    pub fn has_ended(&self) -> bool {
        // Readable without a question: its end has closed the socket.
        let mut ended = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut ended, Some(&Timespec::default())).map_or(true, |ready| ready > 0)
    }

    fn start(keep: &[BorrowedFd<'_>], run: impl FnOnce(UnixStream)) -> Option<Apart> {
        let (ours, theirs) = UnixStream::pair().ok()?;
        let mut keep: Vec<RawFd> = keep.iter().map(AsRawFd::as_raw_fd).collect();
        keep.push(theirs.as_raw_fd());
        let child = Child::start(keep, || run(theirs))?;
        Some(Apart {
            _child: child,
            socket: ours,
        })
    }

    fn answer(&mut self, until: Instant) -> Option<Vec<u8>> {
        let mut answer = Vec::new();
        let mut missing = LENGTH_BYTES;
        while missing > 0 {
            let rest = until.checked_duration_since(Instant::now())?;
            let mut came = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut came, Timespec::try_from(rest).ok().as_ref()) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return None,
            }
            let mut bytes = [0; 4096];
            let most = missing.min(bytes.len());
            let read = self.socket.read(&mut bytes[..most]).ok()?;
            if read == 0 {
                return None;
            }
            answer.extend_from_slice(&bytes[..read]);
            missing -= read;
            if answer.len() == LENGTH_BYTES {
                missing = length(answer.as_slice().try_into().ok()?)?;
            }
        }
        answer.drain(..LENGTH_BYTES);
        Some(answer)
    }
}

/// Bytes before a message: its length.
const LENGTH_BYTES: usize = 4;

fn length(bytes: [u8; LENGTH_BYTES]) -> Option<usize> {
    let length = u32::from_le_bytes(bytes) as usize;
    (length <= MESSAGE_BYTES_MAX).then_some(length)
}

fn send(socket: &mut UnixStream, message: &[u8]) -> Option<()> {
    let length = u32::try_from(message.len()).ok()?;
    socket.write_all(&length.to_le_bytes()).ok()?;
    socket.write_all(message).ok()
}

fn receive(socket: &mut UnixStream) -> Option<Vec<u8>> {
    let mut head = [0; LENGTH_BYTES];
    socket.read_exact(&mut head).ok()?;
    let mut message = vec![0; length(head)?];
    socket.read_exact(&mut message).ok()?;
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::ALLOCATED_BYTES_MAX;
    use rustix::process::Pid;

    const SOON: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(30);

    fn is_alive(pid: Pid) -> bool {
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[test]
    fn an_answer_comes_back_whole() {
        let long = vec![7; 100_000];
        assert_eq!(once(LONG, &[], || long.clone()), Some(long));
        assert_eq!(once(LONG, &[], Vec::new), Some(Vec::new()));
        let mut child = Apart::answering(|question| [question, b"!"].concat()).expect("a child");
        for question in [&b"one"[..], b"two", b""] {
            assert_eq!(child.ask(question, LONG), Some([question, b"!"].concat()));
        }
        let pid = child._child.pid();
        assert!(is_alive(pid) && !child.has_ended());
        drop(child);
        assert!(!is_alive(pid), "killed and waited for");
    }

    /// What hangs, loops, panics, dies or takes all memory is no answer.
    #[test]
    fn a_child_that_goes_wrong_is_no_answer() {
        let begun = Instant::now();
        let pipe = tempfile::tempdir().expect("directory");
        let pipe = pipe.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("made");
        assert_eq!(
            once(SOON, &[], || std::fs::read(&pipe).unwrap_or_default()),
            None
        );
        assert_eq!(
            once(SOON, &[], || loop {
                std::hint::spin_loop()
            }),
            None
        );
        assert!(begun.elapsed() < LONG);
        assert_eq!(once(LONG, &[], || panic!("in the child")), None);
        assert_eq!(once(LONG, &[], || std::process::abort()), None);
        let too_much = || vec![1; 2 * ALLOCATED_BYTES_MAX as usize];
        assert_eq!(once(LONG, &[], too_much), None);
    }

    #[test]
    fn it_has_no_descriptors_but_those_it_needs() {
        let file = tempfile::tempfile().expect("a file");
        let kept = std::os::fd::AsFd::as_fd(&file);
        let open = once(LONG, &[kept], || {
            let count = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
            vec![count as u8, u8::from(file.metadata().is_ok())]
        });
        // Three standard ones, the file, the socket, and the listing's own.
        assert_eq!(open, Some(vec![6, 1]));
    }
}
