//! The supervisor's answers about its rank: pending calls, call paths, names of addresses.

use crate::rank::supervisor::Supervisor;
use invivo_inspect::panic_guard::guarded;
use invivo_inspect::{pending_call, unwind};
use invivo_jobdir::process_stat;
use invivo_proto::control::local::{FromSupervisor, Module, OFFSETS_MAX, UnwoundThread};
use invivo_proto::control::stacks::UnstoppedReason;
use rustix::process::Pid;
use std::sync::atomic::Ordering;

impl Supervisor<'_> {
    /// The process that is in MPI: the one that its shim has noted in the shared memory, before
    /// that the one that we started. Nothing where the number does not name a descendant of ours:
    /// it was given to another process, or is one of another PID namespace.
    pub(super) fn process_in_mpi(&self) -> Option<Pid> {
        let told = Pid::from_raw(self.memory.region().page().pid.load(Ordering::Acquire) as i32);
        let number = |pid: Pid| pid.as_raw_nonzero().get();
        let pid = told.unwrap_or(self.child);
        process_stat::descends(number(pid), number(self.child)).then_some(pid)
    }

    /// Answers what the rank waits for, as far as it can be seen.
    pub(super) fn report_pending_call(&mut self, inspection: u32) {
        let region = self.memory.region();
        let rank = self.process_in_mpi();
        let readers = pending_call::Readers {
            names: &mut self.names,
            python: &mut self.python,
            watch: &mut self.watch,
        };
        let look_at = |pid| guarded(|| pending_call::inspect(pid, region.page(), readers));
        let call = rank.and_then(look_at).flatten();
        self.tell(&FromSupervisor::Inspected { inspection, call });
    }

    /// Answers with the call path of each thread, a message each.
    pub(super) fn report_stacks(&mut self, unwinding: u32, threads: bool) {
        let region = self.memory.region();
        let rank = self.process_in_mpi();
        let (page, python) = (region.page(), &mut self.python);
        let all = match rank {
            Some(pid) => guarded(|| unwind::unwind(pid, page, python, threads, unwind::WITHIN))
                .unwrap_or_default(),
            None => vec![UnwoundThread::unknown(UnstoppedReason::Ended)],
        };
        let mut rest = all.len() as u32;
        for thread in all {
            rest -= 1;
            // A path may be as long as a message can be: one each, and a place that does not read
            // now gets none of the others either.
            if !self.offer(&FromSupervisor::Unwound {
                unwinding,
                thread,
                rest,
            }) {
                return;
            }
        }
    }

    /// Answers with functions and source lines of addresses in a module.
    pub(super) fn report_names(&mut self, module: Module, offsets: &[u64]) {
        let mut named = Vec::new();
        for &at in offsets.iter().take(OFFSETS_MAX) {
            let functions = guarded(|| self.names.functions(&module, at));
            named.push((at, functions.unwrap_or_default()));
        }
        self.offer(&FromSupervisor::Named { module, named });
    }
}
