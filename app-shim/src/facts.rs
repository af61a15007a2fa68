//! What each kind of call was about: the hooks that the generated wrappers call after the real call, with the
//! call's own arguments.

use crate::call::Call;
use crate::comms;
use crate::family::*;
use crate::requests::{self, Posted};
use crate::sizes;
use core::ffi::{c_char, c_int, c_void};
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::{ANY_TAG, peer as special};
use invivo_proto::record::{Facts, Kind, Part};

/// A tag as records have it: all families number `MPI_ANY_TAG` below zero.
#[inline(always)]
fn tag_of(tag: c_int) -> i32 {
    if tag < 0 { ANY_TAG } else { tag }
}

impl Call {
    #[inline(always)]
    fn size(&mut self, count: i64, datatype: Datatype) -> u64 {
        u64::try_from(count)
            .unwrap_or(0)
            .saturating_mul(self.location.sizes.get(datatype))
    }

    #[inline(always)]
    fn message(
        &self,
        kind: Kind,
        comm: CommLocal,
        peer: i32,
        tag: i32,
        bytes_out: u64,
        bytes_in: u64,
    ) -> Facts {
        Facts {
            kind,
            region: self.facts.region,
            comm,
            peer,
            tag,
            bytes_out,
            bytes_in,
        }
    }

    #[inline(always)]
    fn part(&mut self, facts: Facts, request: u64, posted: u64) {
        self.location.parts.push(Part {
            facts,
            request,
            posted,
        });
    }

    /// The call is on a communicator, and that is all.
    #[inline(always)]
    pub fn on(&mut self, comm: Comm) {
        self.facts.comm = comms::local(comm);
    }

    // ---- messages

    /// A blocking send.
    #[inline(always)]
    pub fn send(&mut self, count: i64, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm) {
        let bytes = self.size(count, datatype);
        self.facts = self.message(Kind::Send, comms::local(comm), peer(dest), tag, bytes, 0);
    }

    /// A blocking receive, told by its status.
    #[inline(always)]
    pub unsafe fn recv(&mut self, status: *const Status, comm: Comm) {
        // SAFETY: the wrapper passes a status that the real call has filled.
        self.facts = self.received(Kind::Recv, unsafe { &*status }, comms::local(comm));
    }

    #[inline(always)]
    fn received(&self, kind: Kind, status: &Status, comm: CommLocal) -> Facts {
        self.message(
            kind,
            comm,
            peer(status.source),
            tag_of(status.tag),
            0,
            status.bytes(),
        )
    }

    #[inline(always)]
    fn post(&mut self, request: Request, posting: Facts, completing: Kind, persistent: bool) {
        let number = self.location.encoder.next_request()
            + self
                .location
                .parts
                .iter()
                .filter(|p| p.facts.kind.posts())
                .count() as u64;
        requests::insert(
            request,
            Posted {
                facts: Facts {
                    kind: completing,
                    ..posting
                },
                request: number,
                posted: self.begin_ticks(),
                persistent,
                active: !persistent,
                makes_comm: 0,
            },
        );
    }

    /// A non-blocking send.
    #[inline(always)]
    pub unsafe fn post_send(
        &mut self,
        count: i64,
        datatype: Datatype,
        dest: c_int,
        tag: c_int,
        comm: Comm,
        request: *const Request,
    ) {
        let bytes = self.size(count, datatype);
        self.facts = self.message(Kind::PostSend, comms::local(comm), peer(dest), tag, bytes, 0);
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, self.facts, Kind::CompletedSend, false);
    }

    /// A non-blocking receive.
    #[inline(always)]
    pub unsafe fn post_recv(
        &mut self,
        count: i64,
        datatype: Datatype,
        source: c_int,
        tag: c_int,
        comm: Comm,
        request: *const Request,
    ) {
        let room = self.size(count, datatype);
        self.facts = self.message(
            Kind::PostRecv,
            comms::local(comm),
            peer(source),
            tag_of(tag),
            0,
            room,
        );
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, self.facts, Kind::CompletedRecv, false);
    }

    /// A persistent send is made; nothing is sent yet.
    pub unsafe fn send_init(
        &mut self,
        count: i64,
        datatype: Datatype,
        dest: c_int,
        tag: c_int,
        comm: Comm,
        request: *const Request,
    ) {
        let bytes = self.size(count, datatype);
        self.on(comm);
        let facts = self.message(Kind::PostSend, self.facts.comm, peer(dest), tag, bytes, 0);
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, facts, Kind::CompletedSend, true);
    }

    /// A persistent receive is made.
    pub unsafe fn recv_init(
        &mut self,
        count: i64,
        datatype: Datatype,
        source: c_int,
        tag: c_int,
        comm: Comm,
        request: *const Request,
    ) {
        let room = self.size(count, datatype);
        self.on(comm);
        let facts = self.message(
            Kind::PostRecv,
            self.facts.comm,
            peer(source),
            tag_of(tag),
            0,
            room,
        );
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, facts, Kind::CompletedRecv, true);
    }

    /// A send and a receive in one: the call's facts are the send, the receive is a part.
    pub unsafe fn sendrecv(
        &mut self,
        count: i64,
        datatype: Datatype,
        dest: c_int,
        tag: c_int,
        status: *const Status,
        comm: Comm,
    ) {
        self.send(count, datatype, dest, tag, comm);
        // SAFETY: the wrapper passes a status that the real call has filled.
        let facts = self.received(Kind::Recv, unsafe { &*status }, self.facts.comm);
        self.part(facts, 0, 0);
    }

    /// The same without waiting: two requests in records, of which MPI completes both at once; its status
    /// tells of the receive.
    pub unsafe fn isendrecv(
        &mut self,
        count: i64,
        datatype: Datatype,
        dest: c_int,
        tag: c_int,
        source: c_int,
        recvtag: c_int,
        comm: Comm,
        request: *const Request,
    ) {
        let bytes = self.size(count, datatype);
        self.facts = self.message(Kind::PostSend, comms::local(comm), peer(dest), tag, bytes, 0);
        let receive = self.message(
            Kind::PostRecv,
            self.facts.comm,
            peer(source),
            tag_of(recvtag),
            0,
            0,
        );
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, receive, Kind::CompletedRecv, false);
        self.part(receive, 0, 0);
    }

    /// A matched probe; with `found` it took a message.
    pub unsafe fn mprobe(&mut self, found: bool, message: *const Message, comm: Comm) {
        self.on(comm);
        if found {
            // SAFETY: the real call has written the message.
            requests::matched(unsafe { *message }, self.facts.comm.0);
        }
    }

    /// The message handle as it is before the call that uses it up.
    #[inline(always)]
    pub unsafe fn held_message(&mut self, message: *const Message) -> Message {
        // SAFETY: MPI itself reads the handle from here.
        unsafe { *message }
    }

    /// A matched message is received.
    pub unsafe fn mrecv(&mut self, held: Message, status: *const Status) {
        let comm = CommLocal(requests::take_message(held).unwrap_or(CommLocal::NONE.0));
        // SAFETY: the wrapper passes a status that the real call has filled.
        self.facts = self.received(Kind::Recv, unsafe { &*status }, comm);
    }

    /// A matched message is received without waiting.
    pub unsafe fn imrecv(&mut self, held: Message, count: i64, datatype: Datatype, request: *const Request) {
        let comm = CommLocal(requests::take_message(held).unwrap_or(CommLocal::NONE.0));
        let room = self.size(count, datatype);
        self.facts = self.message(Kind::PostRecv, comm, special::ANY, ANY_TAG, 0, room);
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, self.facts, Kind::CompletedRecv, false);
    }

    // ---- requests

    /// Copies request handles, which the real call may overwrite. Gives how many there are.
    #[inline(always)]
    pub unsafe fn held(&mut self, count: c_int, requests: *const Request) -> usize {
        let count = usize::try_from(count).unwrap_or(0);
        self.location.held.clear();
        if count != 0 {
            // SAFETY: MPI itself reads so many handles from here.
            self.location
                .held
                .extend_from_slice(unsafe { core::slice::from_raw_parts(requests, count) });
        }
        count
    }

    /// The caller's statuses, or ours where the caller wants none.
    #[inline(always)]
    pub unsafe fn statuses(&mut self, count: c_int, statuses: *mut Status) -> *mut Status {
        if statuses != STATUS_IGNORE {
            return statuses;
        }
        let count = usize::try_from(count).unwrap_or(0);
        self.location.statuses.clear();
        self.location.statuses.resize(count, Status::EMPTY);
        self.location.statuses.as_mut_ptr()
    }

    /// A persistent request is started.
    pub fn start(&mut self, held: Request) {
        let number = self.location.encoder.next_request();
        if let Some(facts) = self.restarted(held, number) {
            self.facts = facts;
        }
    }

    /// Several are.
    pub fn startall(&mut self, count: usize) {
        let mut number = self.location.encoder.next_request();
        for i in 0..count {
            let Some(held) = self.location.held.get(i).copied() else {
                return;
            };
            if let Some(facts) = self.restarted(held, number) {
                self.part(facts, 0, 0);
                number += 1;
            }
        }
    }

    fn restarted(&mut self, held: Request, number: u64) -> Option<Facts> {
        let mut facts = requests::restart(held, number, self.begin_ticks(), self.facts.region)?;
        facts.kind = match facts.kind {
            Kind::CompletedSend => Kind::PostSend,
            Kind::CompletedRecv => Kind::PostRecv,
            _ => Kind::PostCollective,
        };
        Some(facts)
    }

    /// A request may be complete.
    #[inline(always)]
    pub unsafe fn completed(&mut self, held: Request, status: *const Status) {
        let Some(posted) = requests::complete(held) else {
            return;
        };
        let mut facts = posted.facts;
        // SAFETY: the wrapper passes a status that the real call has filled.
        let status = unsafe { &*status };
        if posted.makes_comm != 0 {
            comms::usable(Comm(posted.makes_comm as RawHandle));
        }
        if status.is_cancelled() && matches!(facts.kind, Kind::CompletedSend | Kind::CompletedRecv) {
            facts.kind = Kind::CompletedNothing;
        } else if facts.kind == Kind::CompletedRecv && facts.peer != special::NULL {
            // A receive from MPI_PROC_NULL can share its handle with sends, whose status says nothing.
            facts.peer = peer(status.source);
            facts.tag = tag_of(status.tag);
            facts.bytes_in = status.bytes();
        }
        self.part(facts, posted.request, posted.posted);
    }

    /// All of the held requests may be complete; after an error those whose handle is gone are.
    #[inline(always)]
    pub unsafe fn completed_all(
        &mut self,
        count: usize,
        requests: *const Request,
        statuses: *const Status,
        result: c_int,
    ) {
        for i in 0..count {
            let Some(held) = self.location.held.get(i).copied() else {
                return;
            };
            // SAFETY: both arrays have `count` elements, written by the real call.
            unsafe {
                if result == SUCCESS || *requests.add(i) != held {
                    self.completed(held, statuses.add(i));
                }
            }
        }
    }

    /// One of the held requests is complete, unless the index says none.
    #[inline(always)]
    pub unsafe fn completed_one(&mut self, count: usize, index: c_int, status: *const Status) {
        let Ok(index) = usize::try_from(index) else { return };
        if let Some(held) = self.location.held.get(index).copied().filter(|_| index < count) {
            // SAFETY: as the caller vouches.
            unsafe { self.completed(held, status) };
        }
    }

    /// Some of the held requests are complete: those that the indices name.
    #[inline(always)]
    pub unsafe fn completed_some(
        &mut self,
        count: usize,
        done: c_int,
        indices: *const c_int,
        statuses: *const Status,
    ) {
        for i in 0..usize::try_from(done).unwrap_or(0) {
            // SAFETY: the real call has written `done` indices and as many statuses.
            unsafe { self.completed_one(count, *indices.add(i), statuses.add(i)) };
        }
    }

    /// A request is freed; an active one completes without anybody seeing it.
    pub fn request_free(&mut self, held: Request) {
        requests::free(held);
    }

    // ---- collectives

    /// A blocking collective with this rank's share of its bytes.
    #[inline(always)]
    pub fn coll(&mut self, comm: Comm, root: Option<c_int>, bytes_out: u64, bytes_in: u64) {
        self.collective(Kind::Collective, comm, root, bytes_out, bytes_in);
        self.ordinal = comms::next_ordinal(comm);
    }

    #[inline(always)]
    fn collective(&mut self, kind: Kind, comm: Comm, root: Option<c_int>, bytes_out: u64, bytes_in: u64) {
        self.facts = self.message(
            kind,
            comms::local(comm),
            root.map_or(special::NONE, peer),
            0,
            bytes_out,
            bytes_in,
        );
    }

    /// A non-blocking collective.
    pub unsafe fn post_coll(
        &mut self,
        comm: Comm,
        root: Option<c_int>,
        bytes_out: u64,
        bytes_in: u64,
        request: *const Request,
    ) {
        self.collective(Kind::PostCollective, comm, root, bytes_out, bytes_in);
        self.ordinal = comms::next_ordinal(comm);
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, self.facts, Kind::CompletedCollective, false);
    }

    /// A persistent collective is made.
    pub unsafe fn coll_init(
        &mut self,
        comm: Comm,
        root: Option<c_int>,
        bytes_out: u64,
        bytes_in: u64,
        request: *const Request,
    ) {
        self.collective(Kind::PostCollective, comm, root, bytes_out, bytes_in);
        let facts = self.facts;
        self.facts = self.message(Kind::Plain, facts.comm, special::NONE, 0, 0, 0);
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, facts, Kind::CompletedCollective, true);
    }

    /// Bytes of a buffer; none where the data are in place.
    #[inline(always)]
    pub fn bytes<T>(&mut self, buffer: *const T, count: i64, datatype: Datatype) -> u64 {
        if buffer.cast::<c_void>() == IN_PLACE {
            0
        } else {
            self.size(count, datatype)
        }
    }

    /// Bytes of a buffer with a count for each of `peers`.
    pub unsafe fn bytes_each<B, T: Copy + Into<i64>>(
        &mut self,
        buffer: *const B,
        counts: *const T,
        datatype: Datatype,
        peers: u64,
    ) -> u64 {
        if buffer.cast::<c_void>() == IN_PLACE {
            return 0;
        }
        // SAFETY: MPI itself reads a count for each peer from here.
        let count = (0..peers as usize)
            .map(|i| unsafe { (*counts.add(i)).into() })
            .sum();
        self.size(count, datatype)
    }

    /// Bytes of a buffer with a count and a datatype for each of `peers`.
    pub unsafe fn bytes_typed<B, T: Copy + Into<i64>>(
        &mut self,
        buffer: *const B,
        counts: *const T,
        types: *const Datatype,
        peers: u64,
    ) -> u64 {
        if buffer.cast::<c_void>() == IN_PLACE {
            return 0;
        }
        // SAFETY: MPI itself reads a count and a datatype for each peer from here.
        (0..peers as usize)
            .map(|i| unsafe { self.size((*counts.add(i)).into(), *types.add(i)) })
            .sum()
    }

    /// How many ranks a collective on `comm` moves data with.
    pub fn peers(&self, comm: Comm) -> u64 {
        u64::from(comms::known(comm).peers)
    }

    /// In- and outdegree in the communicator's topology.
    pub fn neighbors(&self, comm: Comm) -> (u64, u64) {
        let (inward, outward) = comms::known(comm).neighbors;
        (inward.into(), outward.into())
    }

    /// This rank's own entry of an array with one for each rank.
    pub unsafe fn own_count<T: Copy + Into<i64>>(&self, counts: *const T, comm: Comm) -> i64 {
        let rank = usize::try_from(comms::known(comm).rank).unwrap_or(0);
        // SAFETY: MPI itself reads a count for each rank from here.
        unsafe { (*counts.add(rank)).into() }
    }

    /// Whether this rank is the root.
    pub fn is_root(&self, root: c_int, comm: Comm) -> bool {
        root == ROOT || (root >= 0 && root == comms::known(comm).rank && !self.is_inter(comm))
    }

    /// Whether this rank stands in the root's group of an intercommunicator and takes no part.
    pub fn is_passive(&self, root: c_int) -> bool {
        root == PROC_NULL || root == ROOT
    }

    /// Whether this rank gets what the root gives.
    pub fn is_leaf(&self, root: c_int, comm: Comm) -> bool {
        !self.is_passive(root) && !self.is_root(root, comm)
    }

    /// On an intercommunicator a root number is a rank of the remote group.
    fn is_inter(&self, comm: Comm) -> bool {
        comms::known(comm).inter
    }

    // ---- communicators and datatypes

    /// A communicator was made of `parent`.
    pub unsafe fn comm_new(&mut self, parent: Comm, new: *const Comm) {
        self.on(parent);
        // SAFETY: the real call has written the communicator.
        comms::made(parent, unsafe { *new });
    }

    /// `MPI_Comm_idup`: the communicator is made when the request is complete.
    pub unsafe fn comm_idup(&mut self, parent: Comm, new: *const Comm, request: *const Request) {
        self.collective(Kind::PostCollective, parent, None, 0, 0);
        self.ordinal = comms::next_ordinal(parent);
        // SAFETY: the real call has written both.
        let (new, request) = unsafe { (*new, *request) };
        comms::announced(parent, new);
        let number = self.location.encoder.next_request();
        requests::insert(
            request,
            Posted {
                facts: Facts {
                    kind: Kind::CompletedCollective,
                    ..self.facts
                },
                request: number,
                posted: self.begin_ticks(),
                persistent: false,
                active: true,
                makes_comm: new.bits(),
            },
        );
    }

    /// A communicator came from elsewhere.
    pub unsafe fn comm_foreign(&mut self, new: *const Comm) {
        // SAFETY: the real call has written the communicator.
        comms::came(unsafe { *new });
    }

    /// A communicator is about to be freed.
    pub fn comm_leaving(&mut self, held: Comm) {
        self.on(held);
        comms::leaving(held);
    }

    /// It was freed.
    pub fn comm_free(&mut self, held: Comm) {
        comms::freed(held);
    }

    /// A communicator got a name.
    pub unsafe fn comm_name(&mut self, comm: Comm, name: *const c_char) {
        self.on(comm);
        // SAFETY: MPI itself reads a C string from here.
        comms::named(comm, unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes());
    }

    /// A datatype was freed.
    pub fn type_free(&mut self) {
        sizes::forget();
    }
}
