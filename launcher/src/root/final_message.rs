//! Receives the job's result from the analysis node.
//!
//! Four bytes of length, then the message, on a stream socket. The reader acknowledges the result
//! by closing the socket. An early result, behind which another one may come, is acknowledged with
//! one byte instead.

use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::framing::{TooLong, Unframe};
use invivo_proto::control::link::{AtEnd, Final, TimelinePage};
use invivo_proto::control::{MESSAGE_BYTES_MAX, decode};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes taken at once.
const PIECE_BYTES: usize = 64 * 1024;

/// The acknowledgement of an early result, after which the writer goes on.
const DEALT_WITH: [u8; 1] = [1];

/// A result that is coming.
#[derive(Debug)]
pub struct FinalMessage {
    fd: OwnedFd,
    incoming: Unframe,
}

/// How far it is.
#[derive(Debug)]
pub enum Progress {
    /// More is to come.
    Waiting,
    /// A page of the last seconds is here; more follows.
    Page(Box<TimelinePage>),
    /// The result as it was when the end was asked for is here; once it is dealt with,
    /// [`FinalMessage::go_on`].
    Early(Box<Final>),
    /// The result is here.
    Complete(Box<Final>),
    /// Which analyses the next result was made with; it follows.
    Analyses(Box<AnalysesStatus>),
    /// Where threads were that ended their ranks; the next result follows.
    Faults(Vec<RankFaulted>),
    /// What the buffers hold is to be saved; once that is over, [`FinalMessage::go_on`].
    Save,
    /// It will not come: what came is not it.
    Broken(String),
    /// It will not come: nothing did.
    Closed,
}

impl FinalMessage {
    /// The reader, and the writer's end.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn pair() -> std::io::Result<(FinalMessage, OwnedFd)> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((
            FinalMessage {
                fd: ours,
                incoming: Unframe::new(MESSAGE_BYTES_MAX),
            },
            theirs,
        ))
    }

    /// Takes what has come, without waiting.
    pub fn take(&mut self) -> Progress {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            // One receive may have brought several messages.
            if let Some(progress) = self.whole() {
                return progress;
            }
            match rustix::net::recv(&self.fd, &mut piece[..], RecvFlags::DONTWAIT) {
                Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET) if self.incoming.pending() == 0 => {
                    return Progress::Closed;
                }
                Ok((_, 0)) => {
                    let bytes = self.incoming.pending();
                    return Progress::Broken(format!("it ends after {bytes} bytes"));
                }
                Ok((_, read)) => self.incoming.push(&piece[..read]),
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return Progress::Waiting,
                Err(error) => return Progress::Broken(error.to_string()),
            }
        }
    }

    /// Acknowledges an early result, or a save.
    pub fn go_on(&self) {
        // The node may be gone: the launcher is ending the job.
        let _ = rustix::net::send(&self.fd, &DEALT_WITH, SendFlags::NOSIGNAL);
    }

    /// The next message, once all of it is there.
    fn whole(&mut self) -> Option<Progress> {
        let message = match self.incoming.message() {
            Ok(message) => message?,
            Err(TooLong { said, bytes_max }) => {
                return Some(Progress::Broken(format!(
                    "it claims {said} bytes, at most {bytes_max} are read"
                )));
            }
        };
        Some(match decode(&message) {
            Ok(AtEnd::Page(page)) => Progress::Page(Box::new(page)),
            Ok(AtEnd::Analyses(analyses)) => Progress::Analyses(analyses),
            Ok(AtEnd::Faults(faults)) => Progress::Faults(faults),
            Ok(AtEnd::Save) => Progress::Save,
            Ok(AtEnd::Early(result)) => Progress::Early(result),
            Ok(AtEnd::Result(result)) => Progress::Complete(result),
            Err(error) => Progress::Broken(error.to_string()),
        })
    }
}

impl AsFd for FinalMessage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::{encode, link::JobDescription};
    use std::io::Write;

    fn framed() -> (Final, Vec<u8>) {
        let job = JobDescription {
            id: "job".into(),
            ranks: 4,
            ..JobDescription::default()
        };
        let result = Final {
            job,
            functions: Default::default(),
            matrix: Default::default(),
            status: Default::default(),
            coverage: Default::default(),
            ended: Vec::new(),
            ended_left_out: 0,
            hang: Box::default(),
            waits: Box::default(),
            regions: Box::default(),
            sites: Box::default(),
            shut_down: false,
        };
        let message = encode(&AtEnd::Result(Box::new(result.clone()))).expect("encoded");
        let mut bytes = (message.len() as u32).to_le_bytes().to_vec();
        bytes.extend(message);
        (result, bytes)
    }

    fn pair() -> (FinalMessage, std::os::unix::net::UnixStream) {
        let (message, theirs) = FinalMessage::pair().expect("sockets");
        (message, theirs.into())
    }

    #[test]
    fn it_may_come_in_pieces_of_any_size() {
        let (expected, bytes) = framed();
        let (mut message, mut writer) = pair();
        for byte in &bytes[..bytes.len() - 1] {
            assert!(matches!(message.take(), Progress::Waiting));
            writer.write_all(&[*byte]).expect("written");
        }
        assert!(matches!(message.take(), Progress::Waiting));
        writer
            .write_all(&bytes[bytes.len() - 1..])
            .expect("written");
        assert!(matches!(message.take(), Progress::Complete(result) if *result == expected));
    }

    #[test]
    fn pages_come_before_it() {
        let page = TimelinePage {
            from_ns: 5,
            ..TimelinePage::default()
        };
        let message = encode(&AtEnd::Page(page.clone())).expect("encoded");
        let (mut reader, mut writer) = pair();
        for _ in 0..2 {
            let length = (message.len() as u32).to_le_bytes();
            writer
                .write_all(&[&length[..], &message].concat())
                .expect("written");
        }
        let (expected, bytes) = framed();
        writer.write_all(&bytes).expect("written");
        for _ in 0..2 {
            assert!(matches!(reader.take(), Progress::Page(found) if *found == page));
        }
        assert!(matches!(reader.take(), Progress::Complete(result) if *result == expected));
    }

    /// What is not it is told from what did not come.
    #[test]
    fn garbage_is_broken_and_an_early_end_closed() {
        let (mut message, writer) = pair();
        drop(writer);
        assert!(matches!(message.take(), Progress::Closed));
        let (mut message, mut writer) = pair();
        writer.write_all(&framed().1[..9]).expect("written");
        drop(writer);
        assert!(matches!(message.take(), Progress::Broken(_)));
        for garbage in [&[0xff; 8][..], &[1, 0, 0, 0, 0xff][..]] {
            let (mut message, mut writer) = pair();
            writer.write_all(garbage).expect("written");
            assert!(matches!(message.take(), Progress::Broken(_)), "{garbage:?}");
        }
    }

    #[test]
    fn an_early_one_comes_before_it() {
        let (expected, bytes) = framed();
        let early = encode(&AtEnd::Early(Box::new(expected.clone()))).expect("encoded");
        let (mut reader, mut writer) = pair();
        for part in [&(early.len() as u32).to_le_bytes()[..], &early, &bytes] {
            writer.write_all(part).expect("written");
        }
        assert!(matches!(reader.take(), Progress::Early(found) if *found == expected));
        assert!(matches!(reader.take(), Progress::Complete(found) if *found == expected));
    }

    #[test]
    fn the_writer_learns_that_it_has_been_dealt_with() {
        let (message, mut writer) = pair();
        message.go_on();
        let mut byte = [0];
        assert_eq!(
            std::io::Read::read(&mut writer, &mut byte).expect("a byte"),
            1
        );
        drop(message);
        assert_eq!(
            std::io::Read::read(&mut writer, &mut [0]).expect("an end"),
            0
        );
    }
}
