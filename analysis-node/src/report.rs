//! Sends the result and the last seconds of the job to our supervisor, without waiting.
//!
//! They are written to the descriptor that the supervisor gave us. It answers an early result with
//! a byte, as another result may follow, and closes its end after any other. All unsafe code of
//! this crate is here.
#![allow(unsafe_code)]

use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::framing::frame;
use invivo_proto::control::link::{AtEnd, Final, TimelinePage};
use invivo_proto::control::{ControlError, encode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Where the result goes.
pub struct Report {
    descriptor: OwnedFd,
    bytes: Vec<u8>,
    sent: usize,
    /// Results that the supervisor has not confirmed.
    due: usize,
    closed: bool,
}

impl Report {
    /// On a descriptor that our supervisor left open for us, by its number. To be called first
    /// thing, before anything else can have opened one of the same number.
    ///
    /// # Errors
    /// When there is no such descriptor.
    pub fn inherited(number: RawFd) -> Result<Report, Errno> {
        // Standard streams are never the supervisor's descriptor.
        if number <= 2 {
            return Err(Errno::BADF);
        }
        // SAFETY: borrowed for one question, whose answer tells whether it is open at all.
        let flags = fcntl_getfl(unsafe { BorrowedFd::borrow_raw(number) })?;
        // SAFETY: it is open, and the supervisor's word for it makes it ours: nobody else in this
        // process was told the number.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
        Ok(Report {
            descriptor,
            bytes: Vec::new(),
            sent: 0,
            due: 0,
            closed: false,
        })
    }

    /// Begins to send the result, or the early one, and which analyses it was made with.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn write(
        &mut self,
        result: Box<Final>,
        analyses: Box<AnalysesStatus>,
        early: bool,
    ) -> Result<(), ControlError> {
        self.due += 1;
        self.send(&AtEnd::Analyses(analyses))?;
        self.send(&if early {
            AtEnd::Early(result)
        } else {
            AtEnd::Result(result)
        })
    }

    /// Begins to send where threads were that ended their ranks. To be called before the result.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn faults(&mut self, faults: Vec<RankFaulted>) -> Result<(), ControlError> {
        self.send(&AtEnd::Faults(faults))
    }

    /// Asks for a save, whose end is confirmed as an early result is.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn save(&mut self) -> Result<(), ControlError> {
        self.due += 1;
        self.send(&AtEnd::Save)
    }

    /// Begins to send a page of the last seconds. To be called when the one before has been taken.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn page(&mut self, page: TimelinePage) -> Result<(), ControlError> {
        self.send(&AtEnd::Page(page))
    }

    /// Whether everything has been taken, or nothing more will be.
    pub fn is_taken(&self) -> bool {
        self.closed || self.sent == self.bytes.len()
    }

    fn send(&mut self, message: &AtEnd) -> Result<(), ControlError> {
        let bytes = frame(&encode(message)?);
        // What is left of a message before this one is sent first.
        self.bytes.drain(..self.sent);
        self.sent = 0;
        self.bytes.extend(bytes);
        self.progress();
        Ok(())
    }

    /// Goes on sending. Whether the other side has just dealt with the last result, or never will.
    pub fn progress(&mut self) -> bool {
        while !self.closed && self.sent < self.bytes.len() {
            match rustix::io::write(&self.descriptor, &self.bytes[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(Errno::AGAIN) => return false,
                Err(Errno::INTR) => {}
                Err(_) => self.closed = true,
            }
        }
        let mut fds = [PollFd::new(&self.descriptor, PollFlags::IN)];
        if self.closed || !poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
            return self.closed;
        }
        // A byte for an early result. Anything else is its end. (A pipe shows an error.)
        self.closed = !matches!(rustix::io::read(&self.descriptor, &mut [0]), Ok(1..));
        self.due = self.due.saturating_sub(1);
        self.closed || self.due == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::decode;
    use invivo_proto::control::results::FunctionTable;
    use invivo_proto::ids::{Rank, RegionId};
    use std::io::{Read, Write};
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    fn pair() -> (Report, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Report::inherited(ours.into_raw_fd()).unwrap(), theirs)
    }

    fn result(rows: u32) -> Final {
        let stats = invivo_proto::control::results::FunctionStats {
            time: invivo_analysis::moments::EMPTY,
            bytes_out: 1,
            bytes_in: 2,
            clipped: 3,
        };
        let rows = (0..rows)
            .map(|rank| ((Rank(rank), RegionId(1)), stats))
            .collect();
        Final {
            job: Default::default(),
            functions: FunctionTable {
                rank_rows: rows,
                ..FunctionTable::default()
            },
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
        }
    }

    #[test]
    fn a_result_of_any_size_arrives_and_is_confirmed() {
        let (mut report, mut theirs) = pair();
        let expected = result(100_000);
        let analyses = Box::<AnalysesStatus>::default();
        report
            .write(Box::new(expected.clone()), analyses.clone(), false)
            .unwrap();
        // The analyses come before it.
        let before = frame(&encode(&AtEnd::Analyses(analyses.clone())).unwrap()).len();
        let size =
            before + frame(&encode(&AtEnd::Result(Box::new(expected.clone()))).unwrap()).len();
        let mut bytes = Vec::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            assert!(!report.progress(), "nobody has closed anything yet");
            let read = theirs.read(&mut piece).unwrap();
            bytes.extend_from_slice(&piece[..read]);
            if bytes.len() == size {
                break;
            }
        }
        let (first, second) = bytes.split_at(before);
        let received = [first, second].map(|message| decode::<AtEnd>(&message[4..]).unwrap());
        let result = AtEnd::Result(Box::new(expected));
        assert_eq!(received, [AtEnd::Analyses(analyses), result]);
        assert!(!report.progress());
        drop(theirs);
        assert!(report.progress());
    }

    #[test]
    fn an_early_result_is_answered_and_another_follows() {
        let (mut report, mut theirs) = pair();
        for early in [true, false] {
            report
                .write(Box::new(result(1)), Box::default(), early)
                .unwrap();
            assert!(!report.progress());
            let mut message = || {
                let mut length = [0; 4];
                theirs.read_exact(&mut length).unwrap();
                let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
                theirs.read_exact(&mut bytes).unwrap();
                decode::<AtEnd>(&bytes).unwrap()
            };
            assert!(matches!(message(), AtEnd::Analyses(_)));
            let is_early = matches!(message(), AtEnd::Early(_));
            assert_eq!(is_early, early);
            theirs.write_all(&[1]).unwrap();
            assert!(report.progress() && !report.progress());
        }
        for early in [true, false] {
            report
                .write(Box::new(result(1)), Box::default(), early)
                .unwrap();
        }
        theirs.write_all(&[1]).unwrap();
        assert!(!report.progress(), "that was for the first one");
        drop(theirs);
        assert!(report.progress());
    }

    #[test]
    fn a_reader_that_is_gone_is_not_waited_for() {
        let (mut report, theirs) = pair();
        drop(theirs);
        report
            .write(Box::new(result(10)), Box::default(), true)
            .unwrap();
        assert!(report.progress());
        assert!(Report::inherited(987_654).is_err() && Report::inherited(1).is_err());
    }
}
