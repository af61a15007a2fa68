//! The root's role in the process loop: serves children, gateway and the supervisor's descriptor.

use super::tree_messages::{FLUSH_MAX, at_a_time, send_down};
use crate::gateway::Gateway;
use crate::report::Report;
use crate::root_server::{RootServer, ServerAction};
use crate::self_stats::SelfStats;
use invivo_mpi_link::Transport;
use invivo_mpi_link::clock::monotonic_ns;
use invivo_mpi_link::idle::Pace;
use invivo_mpi_link::panics::PanicGuard;
use invivo_mpi_link::runtime::{Exit, Role};
use invivo_proto::channel::TAG_UP;
use rustix::event::PollFd;
use std::time::Duration;

/// The root on a transport.
pub struct RootRole {
    server: RootServer,
    report: Report,
    /// The supervisor has not dealt with the result that was written last.
    is_reporting: bool,
    /// The supervisor saves what the buffers hold.
    is_saving: bool,
    /// It has not taken the page that was written last.
    is_paging: bool,
    exit: Option<Exit>,
    /// The time of this process is counted here, and by no other role of it.
    counts_cpu: bool,
}

impl RootRole {
    pub fn new(server: RootServer, report: Report) -> RootRole {
        RootRole {
            server,
            report,
            is_reporting: false,
            is_saving: false,
            is_paging: false,
            exit: None,
            counts_cpu: true,
        }
    }

    /// The same, which makes its report of what a dead tool process has left.
    #[must_use]
    pub fn salvaging(mut self) -> RootRole {
        self.server.salvage(monotonic_ns());
        self
    }

    /// The same, which says how much processor time its process takes, or leaves that to another
    /// role of the process.
    pub fn counting_cpu(mut self, counts_cpu: bool) -> RootRole {
        self.counts_cpu = counts_cpu;
        self
    }

    /// Goes on with the result and the pages on their way to the supervisor.
    fn go_on_reporting(&mut self, guard: &mut PanicGuard) {
        // Pages are sent by this, too.
        let is_on_its_way = self.is_reporting || self.is_paging || self.is_saving;
        let is_done = is_on_its_way && self.report.progress();
        if self.is_saving && is_done {
            self.is_saving = false;
            self.server.saved();
        }
        if self.is_reporting && is_done {
            self.is_reporting = false;
            self.server.report_done();
        }
        if self.is_paging && self.report.is_taken() {
            self.is_paging = false;
            guard.run(|| self.server.page_taken(monotonic_ns()));
        }
    }
}

impl Role for RootRole {
    fn flush_max(&self) -> Duration {
        FLUSH_MAX
    }

    fn receive<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        let mut worked = false;
        for _ in 0..at_a_time(self.server.children()) {
            let Some(message) = transport.receive(TAG_UP)? else {
                break;
            };
            worked = true;
            guard.run(|| self.server.up(monotonic_ns(), message.from, &message.bytes));
        }
        Ok(worked)
    }

    fn end_asked(&mut self, _: &mut PanicGuard) {
        self.server.end_asked(monotonic_ns());
    }

    fn tick<T: Transport>(&mut self, transport: &T, guard: &mut PanicGuard) -> bool {
        // The result before new requests: a launcher may be about to kill this process.
        self.go_on_reporting(guard);
        let asked = guard.run(|| self.server.poll_gateway(monotonic_ns()));
        let stats = SelfStats::now(self.counts_cpu, transport.refused_sends(), guard.panics());
        guard.run(|| self.server.tick(monotonic_ns(), stats));
        asked.unwrap_or(true)
    }

    fn send<T: Transport>(
        &mut self,
        transport: &mut T,
        _: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        let actions = self.server.take_actions();
        let acted = !actions.is_empty();
        for action in actions {
            match action {
                ServerAction::Send(to, message) => {
                    send_down(transport, to, &message, self.server.child_pid(to))?;
                }
                ServerAction::Page(page) => {
                    // A page that cannot be encoded is a fault of ours: it is left out, and counts
                    // as taken, so that the next one follows.
                    self.is_paging = true;
                    let _ = self.report.page(*page);
                }
                ServerAction::Save => {
                    self.is_saving = true;
                    if self.report.save().is_err() {
                        self.server.saved();
                    }
                }
                ServerAction::Faults(faults) => {
                    // Without them there is still the result.
                    let _ = self.report.faults(faults);
                }
                ServerAction::Report {
                    result,
                    analyses,
                    early,
                } => {
                    self.is_reporting = true;
                    if let Err(error) = self.report.write(result, analyses, early) {
                        // The shutdown goes on without it, or the job would never end.
                        eprintln!("invivo: the report cannot be made: {error}");
                        self.server.report_done();
                    }
                }
                ServerAction::Print(line) => eprintln!("invivo: {line}"),
                ServerAction::Leave { finalize: true } => self.exit = Some(Exit::Finalize),
                ServerAction::Leave { finalize: false } => self.exit = Some(Exit::Abandon),
            }
        }
        Ok(acted)
    }

    fn exit(&self) -> Option<Exit> {
        self.exit
    }

    fn is_shut_down(&self) -> bool {
        self.server.is_shut_down()
    }

    fn pace(&self) -> Pace {
        match self.is_reporting || self.is_paging || self.is_saving {
            true => Pace::Alert,
            false => self.server.pace(monotonic_ns()),
        }
    }

    fn descriptors(&self) -> Vec<PollFd<'_>> {
        // Which event it was does not matter: the next turn polls everything.
        let gateway = self.server.gateway().map(Gateway::poll_fd);
        gateway.into_iter().collect()
    }
}
