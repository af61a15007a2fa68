//! Facts of calls that make and free communicators, and free datatypes.

use crate::family::*;
use crate::record::call::Call;
use crate::resolve::pmpi;
use crate::resolve::predefined::comm_world;
use crate::track::communicators::{self, Known};
use crate::track::{communicator_ids, datatype_sizes};
use crate::world::worlds::application_world;
use core::ffi::{c_char, c_int};
use invivo_proto::ids::CommLocal;

impl Call {
    /// A communicator is about to be made.
    pub fn comm_making(&mut self) {
        self.location.made_inside = 0;
    }

    /// A communicator was made of `parent`. Where a tool stands between an `MPI_X` and its
    /// `PMPI_X`, it was so inside this call already.
    pub unsafe fn comm_new(&mut self, parent: Comm, new: *const Comm) {
        self.on(parent);
        // SAFETY: the real call has written the communicator.
        let new = unsafe { *new };
        if self.is_made_here(new) {
            communicator_ids::made(parent, new);
        }
    }

    /// A communicator was made of `parent` that has the same members in the same order.
    pub unsafe fn comm_dup(&mut self, parent: Comm, new: *const Comm) {
        self.on(parent);
        // SAFETY: the real call has written the communicator.
        let new = unsafe { *new };
        if self.is_made_here(new) {
            communicator_ids::duplicated(parent, new);
        }
    }

    /// A communicator was made by some of the members of `parent`, which the others do not know of.
    pub unsafe fn comm_apart(&mut self, parent: Comm, new: *const Comm) {
        self.on(parent);
        // SAFETY: the real call has written the communicator.
        let new = unsafe { *new };
        if self.is_made_here(new) {
            communicator_ids::made_apart(parent, new);
        }
    }

    /// Whether what a call has made was not made inside this call already. Members that get none
    /// ask, too: what they count is the same then.
    fn is_made_here(&mut self, new: Comm) -> bool {
        let inside = core::mem::replace(&mut self.location.made_inside, new.bits());
        new.bits() != inside
    }

    /// `MPI_Comm_idup`: a collective like any other, which is not complete yet.
    pub unsafe fn comm_idup(&mut self, parent: Comm, new: *const Comm) {
        // SAFETY: the real call has written the communicator.
        let new = unsafe { *new };
        if self.is_made_here(new) {
            communicator_ids::announced(parent, new);
        }
    }

    /// A communicator was made that may have members in another world.
    pub unsafe fn comm_foreign(&mut self, new: *const Comm) {
        // SAFETY: the real call has written the communicator.
        communicator_ids::made_foreign(unsafe { *new });
    }

    /// Processes were spawned. Where a tool stands between an `MPI_X` and its `PMPI_X`, they were
    /// counted inside this call already.
    pub unsafe fn comm_spawned(&mut self, root: c_int, comm: Comm, new: *const Comm) {
        self.on(comm);
        // SAFETY: the real call has written the communicator.
        let new = unsafe { *new };
        if self.is_made_here(new) {
            communicator_ids::made_foreign(new);
            communicator_ids::spawned(root, comm, new);
        }
    }

    /// A blocking call made a communicator of a group, without a parent.
    pub unsafe fn comm_group(&mut self, new: *const Comm) {
        // SAFETY: the real call has written the communicator.
        let new = unsafe { *new };
        if self.is_made_here(new) {
            communicator_ids::made_of_group(new);
        }
    }

    /// A communicator is about to be freed: what is known of it is put away before MPI may use its
    /// handle again, for another thread perhaps. MPI is asked nothing: it may not know the handle.
    pub unsafe fn comm_leaving(&mut self, comm: *const Comm) -> Option<(Comm, Known)> {
        if comm.is_null() {
            return None;
        }
        // SAFETY: MPI itself reads the handle from here.
        let held = unsafe { *comm };
        // MPI may give the next communicator this handle, and that one would be made here.
        if held.bits() == self.location.made_inside {
            self.location.made_inside = 0;
        }
        let known = communicators::put_away(held)?;
        self.is_on(CommLocal(known.local));
        Some((held, known))
    }

    /// It was not freed.
    pub fn comm_stays(&mut self, known: Option<(Comm, Known)>) {
        if let Some((held, known)) = known {
            communicators::put_back(held, known);
        }
    }

    /// A communicator got an error handler. The world's handler also takes errors of calls without
    /// a communicator (ports, files, types), which MPI raises on its own world, not on the
    /// application's.
    pub fn comm_errhandler(&mut self, comm: Comm, handler: Handle) {
        self.on(comm);
        if application_world().is_some_and(|world| world.bits() == comm.bits()) {
            // SAFETY: both are valid: the real call has just taken them.
            unsafe { pmpi::comm_set_errhandler(comm_world(), handler) };
        }
    }

    /// A communicator got a name.
    pub unsafe fn comm_name(&mut self, comm: Comm, name: *const c_char) {
        self.on(comm);
        // SAFETY: MPI itself reads a C string from here.
        communicator_ids::named(comm, unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes());
    }

    /// A datatype was freed.
    pub fn type_free(&mut self) {
        datatype_sizes::forget();
    }
}
