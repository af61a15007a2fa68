//! A tool process' connection to the others over MPI: packets, and control messages by credits.

use crate::credit::{Account, Received};
use crate::error::{FINISH_WAIT_MAX, LinkError};
use crate::{Message, Transport, exit, ffi, idle};
use invivo_proto::channel::tag_back;
use invivo_proto::ids::WorldRank;
use mpi::Threading;
use mpi::environment::Universe;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Other messages that may be on their way to one process. There is one, the welcome of a rank.
pub const SENDS_PER_PEER_MAX: usize = 4;
/// A tool process' share in the job.
pub struct Link {
    universe: ManuallyDrop<Universe>,
    tools: ffi::Tools,
    receives: Option<ffi::Receives>,
    sends: VecDeque<ffi::Send>,
    /// By the process at the other end and the tag that it is written to with.
    accounts: BTreeMap<(WorldRank, i32), Account>,
    /// The tags by which messages have been looked for.
    heard: BTreeSet<i32>,
    rank: WorldRank,
    size: u32,
    refused_sends: u64,
}

impl Link {
    /// Initialises MPI and makes the collective calls that every process of the job makes.
    ///
    /// # Errors
    /// When MPI cannot be had. The process must then leave without touching it again.
    pub fn start() -> Result<Link, LinkError> {
        let (universe, _) =
            mpi::initialize_with_threading(Threading::Funneled).ok_or(LinkError::Initialise)?;
        // The end of a job is not always one in which MPI may be finalised: `finish` decides.
        let universe = ManuallyDrop::new(universe);
        let tools = ffi::Tools::join()?;
        let (rank, size) = (tools.rank()?, tools.size()?);
        // Nothing waits in MPI from here to the end.
        ffi::yield_when_idle(false);
        Ok(Link {
            universe,
            tools,
            receives: None,
            sends: VecDeque::new(),
            accounts: BTreeMap::new(),
            heard: BTreeSet::new(),
            rank,
            size,
            refused_sends: 0,
        })
    }

    /// This process' rank in the whole job.
    pub fn rank(&self) -> WorldRank {
        self.rank
    }

    /// Processes of the whole job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Gives these numbers to every tool process, and gets those of all, in the order of their
    /// world ranks. To be called by every tool process, before anything is sent.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn roll_call<const N: usize>(&self, own: [u32; N]) -> Result<Vec<[u32; N]>, LinkError> {
        self.tools.roll_call(own)
    }

    /// The MPI library's own line about itself, which it says before it is initialised as well.
    pub fn library() -> String {
        ffi::library_version()
    }

    /// Posts `buffers` receives for packets.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn post_packets(&mut self, buffers: usize) -> Result<(), LinkError> {
        self.receives = Some(self.tools.receives(buffers)?);
        Ok(())
    }

    /// Hands over the packets that came and posts their buffers again; what MPI failed to bring
    /// whole is handed over as nothing. Returns how many.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn packets(
        &mut self,
        mut sink: impl FnMut(WorldRank, Option<&[u8]>),
    ) -> Result<usize, LinkError> {
        match &mut self.receives {
            Some(receives) => receives.poll(&mut sink),
            None => Ok(0),
        }
    }

    /// Sends as soon as the other process has given credit for it; the tree's tags and that of
    /// places among themselves go by credits, others at once. False when too much waits for it
    /// already: this message is not sent, and counted.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn send(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<bool, LinkError> {
        self.send_latest(to, tag, None, bytes)
    }

    /// As [`Link::send`]; a message of a `kind` takes the place of an older one of the same kind
    /// that could not be sent yet.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        kind: Option<u8>,
        bytes: Vec<u8>,
    ) -> Result<bool, LinkError> {
        // Sends that are complete make room in `sends` for this one.
        self.progress()?;
        let taken = if tag_back(tag).is_some() {
            let account = self.accounts.entry((to, tag)).or_default();
            let taken = account.submit(kind, bytes);
            self.dispatch(to, tag)?;
            taken
        } else {
            let under_way = self.sends.iter().filter(|send| send.to == to).count();
            let room = under_way < SENDS_PER_PEER_MAX;
            if room {
                self.sends.push_back(self.tools.send(to, tag, bytes)?);
            }
            room
        };
        self.refused_sends += u64::from(!taken);
        Ok(taken)
    }

    /// Sends, by credits, a message that must not be lost: it waits, however much does already.
    /// What a process passes on it takes in only while [`Link::has_room`].
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn send_surely(
        &mut self,
        to: WorldRank,
        tag: i32,
        bytes: Vec<u8>,
    ) -> Result<(), LinkError> {
        self.progress()?;
        self.accounts
            .entry((to, tag))
            .or_default()
            .submit_surely(bytes);
        self.dispatch(to, tag)
    }

    /// Whether messages of others that have to be passed on to this process may be taken in.
    pub fn has_room(&self, to: WorldRank, tag: i32) -> bool {
        self.accounts.get(&(to, tag)).is_none_or(Account::has_room)
    }

    /// Sends what an account allows.
    fn dispatch(&mut self, to: WorldRank, tag: i32) -> Result<(), LinkError> {
        let Some(account) = self.accounts.get_mut(&(to, tag)) else {
            return Ok(());
        };
        while let Some(bytes) = account.next_to_send() {
            self.sends.push_back(self.tools.send(to, tag, bytes)?);
        }
        Ok(())
    }

    /// Messages that were not sent because the other side takes none.
    pub fn refused_sends(&self) -> u64 {
        self.refused_sends
    }

    /// Messages that wait until the other side takes some.
    pub fn waiting(&self) -> usize {
        self.accounts.values().map(Account::waiting).sum()
    }

    /// Whether a message would be sent at once: the other side has given credit for it, and none
    /// waits.
    pub fn is_free(&self, to: WorldRank, tag: i32) -> bool {
        self.accounts.get(&(to, tag)).is_none_or(Account::is_free)
    }

    /// The next message with this tag, if one came. Reading it is what gives its sender credit for
    /// another one.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn receive(&mut self, tag: i32) -> Result<Option<Message>, LinkError> {
        let Some(back) = tag_back(tag) else {
            return self.tools.receive(tag);
        };
        self.heard.insert(tag);
        while let Some(Message { from, bytes }) = self.tools.receive(tag)? {
            let received = self
                .accounts
                .entry((from, back))
                .or_default()
                .receive(bytes);
            // What came may carry credits for messages that wait to go the other way.
            self.dispatch(from, back)?;
            match received {
                // What keeps no accounts is no message either; its reader will say so.
                Received::Message(bytes) | Received::Malformed(bytes) => {
                    return Ok(Some(Message { from, bytes }));
                }
                Received::Credits => {}
            }
        }
        Ok(None)
    }

    /// Whether what was sent has not left yet: a long message is fetched, or handed on piece by
    /// piece, while this process calls MPI.
    pub fn is_sending(&self) -> bool {
        !self.sends.is_empty() || self.waiting() > 0
    }

    /// Lets sends under way go on and forgets those that are done.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn progress(&mut self) -> Result<(), LinkError> {
        for at in (0..self.sends.len()).rev() {
            if self.sends[at].done()? {
                self.sends.remove(at);
            }
        }
        Ok(())
    }

    /// Lets sends under way arrive, at the end: what comes meanwhile is read by nobody. False when
    /// they have not arrived within `patience`.
    ///
    /// # Errors
    /// When MPI refuses.
    pub fn flush(&mut self, patience: Duration) -> Result<bool, LinkError> {
        self.read_on(patience, |link| {
            Ok(link.sends.is_empty() && link.waiting() == 0)
        })
    }

    /// Reads what comes, and forgets it, until `done`. False when that takes longer than
    /// `patience`.
    fn read_on(
        &mut self,
        patience: Duration,
        mut done: impl FnMut(&mut Link) -> Result<bool, LinkError>,
    ) -> Result<bool, LinkError> {
        let until = Instant::now() + patience;
        loop {
            self.progress()?;
            if done(self)? {
                return Ok(true);
            }
            if Instant::now() > until {
                return Ok(false);
            }
            std::thread::sleep(idle::REST_FIRST);
            // Credits come with messages, and others may wait for us to read before they can leave.
            for tag in self.heard.clone() {
                self.receive(tag)?;
            }
        }
    }

    /// The normal end: lets the sends arrive, reads until nobody sends any more, takes the receives
    /// back and finalises MPI, which waits for the other processes, but not for long once
    /// `end_asked` is set.
    ///
    /// # Errors
    /// When MPI refuses, or a send did not arrive within five seconds; MPI is left as it is then.
    pub fn finish(mut self, end_asked: &Arc<AtomicBool>) -> Result<(), LinkError> {
        self.flush(FINISH_WAIT_MAX)?;
        // What still waits for credits is for a process that takes nothing any more, and MPI knows
        // nothing of it.
        if let Some(send) = self.sends.front() {
            return Err(LinkError::Unread { to: send.to });
        }
        // Whoever finalised before another process' last message was read would leave that one
        // waiting.
        let mut barrier = self.tools.barrier()?;
        self.read_on(FINISH_WAIT_MAX, |_| barrier.done())?;
        if let Some(receives) = self.receives.take() {
            receives.cancel()?;
        }
        ffi::yield_when_idle(true);
        // Without a thread to watch it, it takes as long as it takes.
        let _ = exit::exit_when_asked(end_asked);
        drop(ManuallyDrop::into_inner(self.universe));
        Ok(())
    }
}

impl Transport for Link {
    type Error = LinkError;

    fn packets(&mut self, sink: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, LinkError> {
        Link::packets(self, sink)
    }

    fn receive(&mut self, tag: i32) -> Result<Option<Message>, LinkError> {
        Link::receive(self, tag)
    }

    fn has_room(&self, to: WorldRank, tag: i32) -> bool {
        Link::has_room(self, to, tag)
    }

    fn is_free(&self, to: WorldRank, tag: i32) -> bool {
        Link::is_free(self, to, tag)
    }

    fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        kind: Option<u8>,
        bytes: Vec<u8>,
    ) -> Result<bool, LinkError> {
        Link::send_latest(self, to, tag, kind, bytes)
    }

    fn send_surely(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<(), LinkError> {
        Link::send_surely(self, to, tag, bytes)
    }

    fn progress(&mut self) -> Result<(), LinkError> {
        Link::progress(self)
    }

    fn is_sending(&self) -> bool {
        Link::is_sending(self)
    }

    fn refused_sends(&self) -> u64 {
        Link::refused_sends(self)
    }
}
