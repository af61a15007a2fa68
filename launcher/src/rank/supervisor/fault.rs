//! What a rank's supervisor does when a thread of its rank has met a fault and waits.

use super::Supervisor;
use invivo_inspect::fault;
use invivo_inspect::panic_guard::guarded;
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::shm::fault::state;
use rustix::thread::futex;
use std::sync::atomic::Ordering;

impl Supervisor<'_> {
    /// Takes the call path of the thread that has noted itself, and lets it go on.
    pub(super) fn see_fault(&mut self) {
        let page = self.memory.region().page();
        if !page.fault.is_noted() || self.ended.is_some() {
            return;
        }
        if let (Some(pid), Some(left)) = (self.process_in_mpi(), self.sights.checked_sub(1)) {
            self.sights = left;
            let seen = guarded(|| fault::see(pid, page, &mut self.python));
            // One that ended meanwhile has no path, and that of the fault before may be why.
            let is_better = |seen: &fault::SeenFault| seen.has_path() || self.fault.is_none();
            if let Some(seen) = seen.filter(is_better) {
                self.fault = Some(seen);
            }
        }
        page.fault.state.store(state::SEEN, Ordering::Release);
        // Many: threads that met the same fault wait as well.
        let _ = futex::wake(&page.fault.state, futex::Flags::empty(), u32::MAX >> 1);
    }

    /// Tells the place where the thread was, before it learns of the end. The names are read now: a
    /// rank that lives does not wait for them.
    pub(super) fn tell_fault(&mut self) {
        let page = self.memory.region().page();
        let Some(seen) = self.fault.take().filter(|seen| !seen.is_over(page)) else {
            return;
        };
        if let Some(named) = guarded(|| seen.named(&mut self.names)) {
            self.tell(&FromSupervisor::Faulted(named));
        }
    }
}
