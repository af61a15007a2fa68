//! A place on a stage: the test plays the root, the supervisors and the ranks.

use super::*;
use invivo_analysis::history::PIECE_NS;
use invivo_mpi_link::clock::Reading;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::whereabouts::Whereabouts;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, sendmsg, socket_with,
};
use std::cell::Cell;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

pub(super) const MS: u64 = 1_000_000;
/// The node's clock when the scene begins; its ticks begin at 0.
///
/// Thirty years, as long as no machine is up: the place measures its clock again now and then, and
/// readings of the real one, which lie before, change nothing.
pub(super) const START_NS: u64 = 1_000_000_000_000 * MS;

thread_local! {
    /// Job time when the scene begins.
    static JOB_START_NS: Cell<u64> = const { Cell::new(behind_a_piece(START_NS + 777_000 * MS)) };
}

/// Such a job time that the first piece of the run lasts a second: where one ends, all ranks are
/// looked at.
const fn behind_a_piece(ns: u64) -> u64 {
    ns / PIECE_NS * PIECE_NS
}

/// Runs a test with a job time that is ahead of the node's clock, and with one that is behind it.
pub(super) fn on_both_sides(test: impl Fn()) {
    for job_start_ns in [START_NS + 777_000 * MS, START_NS - 777_000 * MS] {
        JOB_START_NS.set(behind_a_piece(job_start_ns));
        test();
    }
}

/// A point in job time, `ms` after the scene began.
pub(super) fn job(ms: u64) -> u64 {
    JOB_START_NS.get() + ms * MS
}

/// A place of two ranks; the test plays the root, the supervisors and the ranks.
pub(super) struct Scene {
    pub(super) place: Place,
    pub(super) now: Now,
    /// Whether the root answers what time it is.
    pub(super) has_clock: bool,
    /// The place's first question for it, by its own clock.
    pub(super) first_asked_ns: Option<u64>,
    pub(super) path: PathBuf,
    pub(super) _dir: tempfile::TempDir,
}

pub(super) struct OneSupervisor(pub(super) OwnedFd);

impl Scene {
    pub(super) fn before() -> Scene {
        Scene::in_layout("2:4:tail", 2)
    }

    /// The same in another layout, as the process `me`.
    pub(super) fn in_layout(layout: &str, me: u32) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("place.sock");
        let layout: Layout = layout.parse().unwrap();
        let supervisors = Supervisors::listen(&path, 0..2).unwrap();
        let reading = Reading {
            ticks: 0,
            ns: START_NS,
            width_ticks: 0,
        };
        let clock = NodeClock::from_readings(reading, reading);
        let now = Now {
            ns: START_NS,
            ticks: 0,
        };
        let mut place = Place::new(layout, WorldRank(me), Some(supervisors), clock, now).unwrap();
        assert_eq!(place.take_up(), [Up::Hello { ranks: 2 }]);
        assert!(!place.is_ready());
        Scene {
            place,
            now,
            has_clock: true,
            first_asked_ns: None,
            path,
            _dir: dir,
        }
    }

    /// The same, told that the job begins.
    pub(super) fn new() -> Scene {
        Scene::of(JobInfo {
            recording: true,
            ..JobInfo::default()
        })
    }

    /// The root asks something.
    pub(super) fn ask(&mut self, wave: u64, query: Query) {
        let wave = WaveId(wave);
        self.down(Down::Query { wave, query });
    }

    pub(super) fn of(job: JobInfo) -> Scene {
        let mut scene = Scene::before();
        scene.begin(job);
        scene
    }

    /// With all analyses.
    pub(super) fn begin(&mut self, job: JobInfo) {
        self.down(Down::Analyses(AnalysisSet::ALL));
        self.begin_with_usual(job);
    }

    /// With the analyses that it was told before, or the usual ones.
    pub(super) fn begin_with_usual(&mut self, job: JobInfo) {
        self.down(Down::Job(JobInfo {
            buffer_bytes: if job.buffer_bytes == 0 {
                1 << 20
            } else {
                job.buffer_bytes
            },
            budget_bytes: 1 << 22,
            ..job
        }));
        assert!(self.place.is_ready());
    }

    /// What the place says, without its questions for the time, which the root answers at once: it
    /// is as [`job`] says.
    pub(super) fn said(&mut self) -> Vec<Up> {
        let mut said = self.place.take_up();
        let mut asked = None;
        said.retain(|up| {
            if let Up::WhatTime { asked_ns, .. } = up {
                asked = Some(*asked_ns);
            }
            !matches!(up, Up::WhatTime { .. })
        });
        self.first_asked_ns = self.first_asked_ns.or(asked);
        if let Some(asked_ns) = asked.filter(|_| self.has_clock) {
            let job_ns = JOB_START_NS.get() + (asked_ns - START_NS);
            self.down(Down::Time {
                asked_ns,
                job_ns,
                error_ns: 0,
                parent_ns: 0,
                here: Whereabouts::default(),
            });
        }
        said
    }

    /// Time passes and the place looks after everything; what it says to its parent.
    pub(super) fn step(&mut self, ms: u64) -> Vec<Up> {
        self.now.ns += ms * MS;
        self.now.ticks += ms * MS;
        self.place.poll_supervisors(self.now);
        self.place.step(self.now);
        self.said()
    }

    pub(super) fn down(&mut self, message: Down) {
        self.place.down(self.now, &encode(&message).unwrap());
    }

    pub(super) fn command(&mut self, id: u64, verb: Verb) {
        self.down(Down::Command(Command {
            id: CommandId(id),
            verb,
        }));
    }

    pub(super) fn connect(&self) -> OneSupervisor {
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        connect(&fd, &SocketAddrUnix::new(&self.path).unwrap()).unwrap();
        OneSupervisor(fd)
    }

    /// A rank with its supervisor and its memory.
    pub(super) fn attach(&mut self, rank: u32) -> (OneSupervisor, Writer) {
        self.attach_in(rank, phase::RUNNING, 0)
    }

    /// The same, in this phase and with this generation at its gate.
    pub(super) fn attach_in(
        &mut self,
        rank: u32,
        in_phase: u32,
        gate: u32,
    ) -> (OneSupervisor, Writer) {
        let (descriptor, region) = memory(rank, 4);
        let page = region.page();
        page.phase.store(in_phase, Ordering::Release);
        page.control
            .gate_until_ns
            .store(START_NS + 60_000 * MS, Ordering::Release);
        page.control.gate.store(gate, Ordering::Release);
        let supervisor = self.connect();
        supervisor.attach(rank, Some(&descriptor));
        self.step(1);
        (supervisor, Writer::new(region))
    }

    pub(super) fn status(&mut self) -> JobStatus {
        self.down(Down::Query {
            wave: WaveId(1),
            query: Query::Status,
        });
        match self.said().pop() {
            Some(Up::Partial {
                partial: Partial::Status(status),
                ..
            }) => status,
            other => panic!("no status but {other:?}"),
        }
    }
}

impl Drop for OneSupervisor {
    /// Hangs up, also where a process that another test has just started still has the socket.
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }
}

impl OneSupervisor {
    pub(super) fn attach(&self, rank: u32, memory: Option<&OwnedFd>) {
        self.attach_process(rank, 0, memory);
    }

    /// For a rank that has a process.
    pub(super) fn attach_process(&self, rank: u32, pid: u32, memory: Option<&OwnedFd>) {
        let rank = Rank(rank);
        let bytes = encode(&FromSupervisor::Attach { rank, pid }).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<_> = memory.iter().map(AsFd::as_fd).collect();
        if !descriptors.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        }
        sendmsg(
            &self.0,
            &[IoSlice::new(&bytes)],
            &mut control,
            SendFlags::empty(),
        )
        .unwrap();
    }

    pub(super) fn say(&self, message: &FromSupervisor) {
        self.send(&encode(message).unwrap());
    }

    pub(super) fn send(&self, bytes: &[u8]) {
        rustix::net::send(&self.0, bytes, SendFlags::empty()).unwrap();
    }

    pub(super) fn hear(&self) -> Option<ToSupervisor> {
        let mut bytes = [0u8; 1000];
        let (length, _) = recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT).ok()?;
        decode(&bytes[..length]).ok()
    }
}
