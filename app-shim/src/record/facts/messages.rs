//! Facts of point-to-point messages, blocking or posted.

use super::tag_of;
use crate::family::*;
use crate::record::call::Call;
use crate::track::{communicators, requests};
use core::ffi::c_int;
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::{ANY_TAG, peer as special};
use invivo_proto::record::{RecordKind, Words};

impl Call {
    /// A blocking send.
    #[inline(always)]
    pub fn send(&mut self, count: i64, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm) {
        let bytes = self.size(count, datatype);
        self.is(
            RecordKind::Send,
            communicators::local(comm),
            peer(dest),
            tag,
            bytes,
            0,
        );
    }

    /// A blocking receive, described by its status.
    #[inline(always)]
    pub unsafe fn recv(&mut self, status: *const Status, comm: Comm) {
        // SAFETY: the wrapper passes a status that the real call has filled.
        let status = unsafe { &*status };
        self.has_received(status, communicators::local(comm));
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
        self.is(
            RecordKind::PostSend,
            communicators::local(comm),
            peer(dest),
            tag,
            bytes,
            0,
        );
        // SAFETY: the real call has written the request.
        self.post(
            unsafe { *request },
            self.facts,
            RecordKind::CompletedSend,
            false,
        );
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
        self.is(
            RecordKind::PostRecv,
            communicators::local(comm),
            peer(source),
            tag_of(tag),
            0,
            room,
        );
        // SAFETY: the real call has written the request.
        self.post(
            unsafe { *request },
            self.facts,
            RecordKind::CompletedRecv,
            false,
        );
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
        let facts = self.message(
            RecordKind::PostSend,
            self.facts.comm(),
            peer(dest),
            tag,
            bytes,
            0,
        );
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, facts, RecordKind::CompletedSend, true);
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
            RecordKind::PostRecv,
            self.facts.comm(),
            peer(source),
            tag_of(tag),
            0,
            room,
        );
        // SAFETY: the real call has written the request.
        self.post(unsafe { *request }, facts, RecordKind::CompletedRecv, true);
    }

    /// A send and a receive in one: the call's facts are the send, the receive is a part.
    #[inline(always)]
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
        let facts = self.received(unsafe { &*status }, self.facts.comm());
        self.part(facts, 0, 0);
    }

    /// A non-blocking send and receive in one: two requests in records, which MPI completes both at
    /// once; its status is the receive's.
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
        self.is(
            RecordKind::PostSend,
            communicators::local(comm),
            peer(dest),
            tag,
            bytes,
            0,
        );
        let receive = self.message(
            RecordKind::PostRecv,
            self.facts.comm(),
            peer(source),
            tag_of(recvtag),
            0,
            0,
        );
        // SAFETY: the real call has written the request.
        self.post(
            unsafe { *request },
            receive,
            RecordKind::CompletedRecv,
            false,
        );
        self.part(receive, 0, 0);
    }

    /// A probe has found a message that this status describes. It has not moved yet: no bytes.
    #[inline(always)]
    pub unsafe fn probed(&mut self, status: *const Status, comm: Comm) {
        // SAFETY: the wrapper passes a status that the real call has filled.
        let Status { source, tag, .. } = unsafe { &*status };
        self.on(comm);
        self.facts.message = Words::message(peer(*source), tag_of(*tag));
    }

    /// A matched probe took a message. It is followed while nothing is recorded, too: the receive
    /// of it has no communicator among its arguments.
    pub unsafe fn mprobe(&mut self, message: *const Message, comm: Comm) {
        self.on(comm);
        // SAFETY: the real call has written the message.
        requests::matched(unsafe { *message }, self.facts.comm().0);
    }

    /// The message handle as it is before the call that uses it up.
    #[inline(always)]
    pub unsafe fn held_message(&mut self, message: *const Message) -> Message {
        // A missing message is for MPI to refuse.
        if message.is_null() {
            return Message(0 as RawHandle);
        }
        // SAFETY: MPI itself reads the handle from here.
        unsafe { *message }
    }

    /// A matched message is received.
    pub unsafe fn mrecv(&mut self, held: Message, status: *const Status) {
        let comm = CommLocal(requests::take_message(held).unwrap_or(CommLocal::NONE.0));
        // SAFETY: the wrapper passes a status that the real call has filled.
        self.has_received(unsafe { &*status }, comm);
    }

    /// A matched message is received without waiting.
    pub unsafe fn imrecv(
        &mut self,
        held: Message,
        count: i64,
        datatype: Datatype,
        request: *const Request,
    ) {
        let comm = CommLocal(requests::take_message(held).unwrap_or(CommLocal::NONE.0));
        let room = self.size(count, datatype);
        self.is(RecordKind::PostRecv, comm, special::ANY, ANY_TAG, 0, room);
        // SAFETY: the real call has written the request.
        self.post(
            unsafe { *request },
            self.facts,
            RecordKind::CompletedRecv,
            false,
        );
    }

    /// A message was received by a blocking call.
    #[inline(always)]
    fn has_received(&mut self, status: &Status, comm: CommLocal) {
        self.kind = RecordKind::Recv;
        self.facts = self.received(status, comm);
    }

    #[inline(always)]
    fn received(&self, status: &Status, comm: CommLocal) -> Words {
        self.message(
            RecordKind::Recv,
            comm,
            peer(status.source),
            tag_of(status.tag),
            0,
            status.bytes(),
        )
    }
}
