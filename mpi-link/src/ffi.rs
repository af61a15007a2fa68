//! All that touches MPI by its C interface: the tool communicator, sends and receives that own
//! their bytes.
//!
//! # Safety
//! MPI may be called between initialisation and finalisation, here by one thread alone. [`Tools`]
//! is made after the one and before the other, cannot leave its thread, and everything else here is
//! made from it and goes before it: [`crate::Link`] keeps them together. Buffers that MPI reads or
//! writes behind our back are heap memory that only the owner of the request frees, after the
//! request is complete; where that cannot be had, they are leaked.

use crate::credit::TRAILER_BYTES;
use crate::error::LinkError;
use crate::transport::Message;
use invivo_proto::control::MESSAGE_BYTES_MAX;
use invivo_proto::packet::PACKET_BYTES;
use invivo_proto::{channel, ids::WorldRank};
use mpi::ffi;
use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// `MPI_SUCCESS`, which the standard fixes.
const SUCCESS: c_int = 0;
/// Bytes of the longest message with its trailer.
const LENGTH_MAX: usize = MESSAGE_BYTES_MAX + TRAILER_BYTES;

fn check(code: c_int, doing: &'static str) -> Result<(), LinkError> {
    if code == SUCCESS {
        Ok(())
    } else {
        Err(LinkError::Mpi { doing, code })
    }
}

/// The C prototype of `MPI_Psend_init`, which is younger than the header that the bindings are made
/// of.
type PsendInit = unsafe extern "C" fn(
    *const c_void,
    c_int,
    ffi::MPI_Count,
    ffi::MPI_Datatype,
    c_int,
    c_int,
    ffi::MPI_Comm,
    ffi::MPI_Info,
    *mut ffi::MPI_Request,
) -> c_int;

/// Open MPI 5 carries partitioned messages on a duplicate of the whole world, tool processes
/// included. It begins to make it when a process first asks for such a message, and the
/// application's wait until every process of the job has asked. So we ask, for one to ourselves
/// that is never started; where the application asks for none, nobody waits.
///
/// # Safety
/// MPI must be usable, and nobody may make communicators of the world in this process afterwards.
unsafe fn take_part_in_partitioned() {
    static NOTHING: u8 = 0;
    if !library_version().starts_with("Open MPI") {
        return;
    }
    // SAFETY: dlsym takes a C string. What it finds is the library's function, whose prototype the
    // standard fixes; the byte that the message would carry lives for ever. Its request stays:
    // freeing it would take the question back.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"MPI_Psend_init".as_ptr());
        if found.is_null() {
            return;
        }
        let psend_init = std::mem::transmute::<*mut c_void, PsendInit>(found);
        let mut request = MaybeUninit::uninit();
        // A failure is the application's to find out.
        let _ = psend_init(
            (&raw const NOTHING).cast(),
            1,
            1,
            ffi::RSMPI_UINT8_T,
            0,
            0,
            ffi::RSMPI_COMM_SELF,
            ffi::RSMPI_INFO_NULL,
            request.as_mut_ptr(),
        );
    }
}

/// The prototype of Open MPI's `opal_progress_set_yield_when_idle`, 4.1 and 5.0.
type SetYield = unsafe extern "C" fn(bool) -> bool;

/// Whether Open MPI gives up the processor in every call that finds nothing to do, as its launcher
/// wishes where more processes than slots run. It should while a call waits, in MPI's begin and
/// end. Between polls this process rests by itself, and yielding in each of some hundred polls
/// disturbs the application as often: it took two thirds of a tool place's time.
pub(crate) fn yield_when_idle(yields: bool) {
    // SAFETY: dlsym takes a C string. What it finds is the library's function, which sets a
    // variable that this process' one thread reads.
    unsafe {
        let name = c"opal_progress_set_yield_when_idle".as_ptr();
        let found = libc::dlsym(libc::RTLD_DEFAULT, name);
        if !found.is_null() {
            std::mem::transmute::<*mut c_void, SetYield>(found)(yields);
        }
    }
}

/// The tool communicator. Never freed: that would be collective with ranks that have other things
/// to do.
pub(crate) struct Tools {
    /// Every process of the job.
    comm: ffi::MPI_Comm,
    /// The tool processes alone.
    among_us: ffi::MPI_Comm,
    /// MPI handles stay on the thread that initialised it.
    thread: PhantomData<*mut ()>,
}

impl Tools {
    /// The collective calls that every process of the job makes after initialisation: a duplicate
    /// of the world, which is ours, then the split that gives the application its own world.
    pub(crate) fn join() -> Result<Tools, LinkError> {
        // SAFETY: MPI is initialised; the out parameters are written before they are read, as
        // success says.
        unsafe {
            let world = ffi::RSMPI_COMM_WORLD;
            let mut comm = MaybeUninit::uninit();
            check(
                ffi::MPI_Comm_dup(world, comm.as_mut_ptr()),
                "MPI_Comm_dup of the world",
            )?;
            let comm = comm.assume_init();
            check(
                ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler",
            )?;

            // The key is the rank in the world: our order is the world's.
            let mut key = 0;
            check(ffi::MPI_Comm_rank(comm, &mut key), "MPI_Comm_rank")?;

            let mut split = MaybeUninit::uninit();
            let code = ffi::MPI_Comm_split(world, channel::COLOR_TOOLS, key, split.as_mut_ptr());
            check(code, "MPI_Comm_split of the world")?;
            let among_us = split.assume_init();
            check(
                ffi::MPI_Comm_set_errhandler(among_us, ffi::RSMPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler",
            )?;
            take_part_in_partitioned();
            Ok(Tools {
                comm,
                among_us,
                thread: PhantomData,
            })
        }
    }

    /// This process.
    pub(crate) fn rank(&self) -> Result<WorldRank, LinkError> {
        let mut rank = 0;
        // SAFETY: see the module.
        let code = unsafe { ffi::MPI_Comm_rank(self.comm, &mut rank) };
        check(code, "MPI_Comm_rank")?;
        Ok(WorldRank(rank as u32))
    }

    /// All processes of the job.
    pub(crate) fn size(&self) -> Result<u32, LinkError> {
        let mut size = 0;
        // SAFETY: see the module.
        let code = unsafe { ffi::MPI_Comm_size(self.comm, &mut size) };
        check(code, "MPI_Comm_size")?;
        Ok(size as u32)
    }

    /// Every tool process gives its numbers and gets those of all, in the order of world ranks.
    /// Collective among tool processes.
    pub(crate) fn roll_call<const N: usize>(
        &self,
        own: [u32; N],
    ) -> Result<Vec<[u32; N]>, LinkError> {
        let mut tools = 0;
        // SAFETY: see the module; an array of N numbers is N numbers without anything between, and
        // there is one array for each process.
        unsafe {
            check(
                ffi::MPI_Comm_size(self.among_us, &mut tools),
                "MPI_Comm_size",
            )?;
            let mut all = vec![[0_u32; N]; tools as usize];
            let code = ffi::MPI_Allgather(
                own.as_ptr().cast(),
                N as c_int,
                ffi::RSMPI_UINT32_T,
                all.as_mut_ptr().cast(),
                N as c_int,
                ffi::RSMPI_UINT32_T,
                self.among_us,
            );
            check(code, "MPI_Allgather")?;
            Ok(all)
        }
    }

    /// Begins a send that owns its bytes.
    pub(crate) fn send(
        &self,
        to: WorldRank,
        tag: c_int,
        bytes: Vec<u8>,
    ) -> Result<Send, LinkError> {
        let length =
            c_int::try_from(bytes.len()).map_err(|_| LinkError::TooLong { bytes: bytes.len() })?;
        let mut request = MaybeUninit::uninit();
        // SAFETY: see the module; the bytes live on the heap and stay where they are until `Send`
        // is dropped, which leaks them where the request is not complete.
        unsafe {
            let code = ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                length,
                ffi::RSMPI_UINT8_T,
                to.0 as c_int,
                tag,
                self.comm,
                request.as_mut_ptr(),
            );
            check(code, "MPI_Isend")?;
            Ok(Send {
                to,
                bytes,
                request: Some(request.assume_init()),
            })
        }
    }

    /// Begins to wait for every other tool process to do the same: a send that carries nothing,
    /// done when all have begun.
    pub(crate) fn barrier(&self) -> Result<Send, LinkError> {
        let mut request = MaybeUninit::uninit();
        // SAFETY: see the module.
        let request = unsafe {
            let code = ffi::MPI_Ibarrier(self.among_us, request.as_mut_ptr());
            check(code, "MPI_Ibarrier")?;
            request.assume_init()
        };
        Ok(Send {
            to: self.rank()?,
            bytes: Vec::new(),
            request: Some(request),
        })
    }

    /// Takes the next message with this tag from anybody, if there is one.
    pub(crate) fn receive(&self, tag: c_int) -> Result<Option<Message>, LinkError> {
        let mut flag = 0;
        let mut message = MaybeUninit::uninit();
        let mut status = MaybeUninit::uninit();
        // SAFETY: see the module; message and status are read only where the flag says that they
        // were written.
        unsafe {
            let code = ffi::MPI_Improbe(
                ffi::RSMPI_ANY_SOURCE,
                tag,
                self.comm,
                &mut flag,
                message.as_mut_ptr(),
                status.as_mut_ptr(),
            );
            check(code, "MPI_Improbe")?;
            if flag == 0 {
                return Ok(None);
            }

            // A matched probe: no other receive can take this message before its own.
            let (mut message, mut status) = (message.assume_init(), status.assume_init());
            // Any process of the job may send as much as MPI takes. What is longer than a message
            // can be is taken in without room for it, which cuts it off, and handed over as
            // nothing: its reader says that it is no message.
            let from = WorldRank(status.MPI_SOURCE as u32);
            let length = count(&status)?;
            let is_message = length <= LENGTH_MAX;
            let mut bytes = vec![0u8; if is_message { length } else { 0 }];
            let code = ffi::MPI_Mrecv(
                bytes.as_mut_ptr().cast(),
                bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                &mut message,
                &mut status,
            );
            if is_message {
                check(code, "MPI_Mrecv")?;
            }
            Ok(Some(Message { from, bytes }))
        }
    }

    /// Posts `buffers` receives for packets.
    pub(crate) fn receives(&self, buffers: usize) -> Result<Receives, LinkError> {
        let mut receives = Receives {
            buffers: (0..buffers)
                .map(|_| vec![0u8; PACKET_BYTES].into_boxed_slice())
                .collect(),
            requests: Vec::with_capacity(buffers),
            done: vec![0; buffers],
            // SAFETY: a status is plain integers, for which zero is a value.
            statuses: vec![unsafe { MaybeUninit::zeroed().assume_init() }; buffers],
        };

        for buffer in &mut receives.buffers {
            let mut request = MaybeUninit::uninit();
            // SAFETY: see the module; the boxed buffer does not move with `receives` and is freed
            // after the request by `Receives::cancel`, or leaked.
            let request = unsafe {
                let code = ffi::MPI_Recv_init(
                    buffer.as_mut_ptr().cast(),
                    PACKET_BYTES as c_int,
                    ffi::RSMPI_UINT8_T,
                    ffi::RSMPI_ANY_SOURCE,
                    channel::TAG_PACKET,
                    self.comm,
                    request.as_mut_ptr(),
                );
                check(code, "MPI_Recv_init")?;
                let mut request = request.assume_init();
                check(ffi::MPI_Start(&mut request), "MPI_Start")?;
                request
            };
            receives.requests.push(request);
        }
        Ok(receives)
    }
}

/// Bytes of a received message.
///
/// # Safety
/// MPI must be usable, and the status one that it wrote.
unsafe fn count(status: &ffi::MPI_Status) -> Result<usize, LinkError> {
    let mut length = 0;
    // SAFETY: as the caller says.
    let code = unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_UINT8_T, &mut length) };
    check(code, "MPI_Get_count")?;
    usize::try_from(length).map_err(|_| LinkError::Mpi {
        doing: "MPI_Get_count",
        code: length,
    })
}

/// A send under way.
pub(crate) struct Send {
    pub(crate) to: WorldRank,
    bytes: Vec<u8>,
    request: Option<ffi::MPI_Request>,
}

impl Send {
    /// Whether MPI is done with the bytes.
    pub(crate) fn done(&mut self) -> Result<bool, LinkError> {
        let Some(request) = &mut self.request else {
            return Ok(true);
        };
        let mut flag = 0;
        // SAFETY: the request is active; completion makes it null, after which it is not used
        // again.
        let code = unsafe { ffi::MPI_Test(request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        check(code, "MPI_Test")?;
        if flag != 0 {
            self.request = None;
        }
        Ok(flag != 0)
    }
}

impl Drop for Send {
    fn drop(&mut self) {
        if self.request.is_some() {
            // MPI may still read them.
            std::mem::forget(std::mem::take(&mut self.bytes));
        }
    }
}

/// Persistent receives for packets.
pub(crate) struct Receives {
    buffers: Vec<Box<[u8]>>,
    requests: Vec<ffi::MPI_Request>,
    done: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
}

impl Receives {
    /// Hands over what came, in any order, and posts the buffers again. A message that does not
    /// fit, or that MPI failed to bring, is handed over as nothing. Returns how many came.
    pub(crate) fn poll(
        &mut self,
        sink: &mut dyn FnMut(WorldRank, Option<&[u8]>),
    ) -> Result<usize, LinkError> {
        if self.requests.is_empty() {
            return Ok(0);
        }

        let mut came = 0;
        // SAFETY: see the module; `done` and `statuses` have as many entries as there are requests.
        let code = unsafe {
            ffi::MPI_Testsome(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                &mut came,
                self.done.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        // With an error the statuses tell which receives failed; without one they say nothing about
        // it.
        let failed = code != SUCCESS;
        let Some(came) = usize::try_from(came)
            .ok()
            .filter(|&came| came <= self.requests.len())
        else {
            check(code, "MPI_Testsome")?;
            return Ok(0);
        };
        if failed && came == 0 {
            check(code, "MPI_Testsome")?;
        }

        for at in 0..came {
            let index = self.done[at] as usize;
            let status = &self.statuses[at];
            let from = WorldRank(status.MPI_SOURCE as u32);
            if failed && status.MPI_ERROR != SUCCESS {
                sink(from, None);
            } else {
                // SAFETY: MPI wrote the status.
                let length = unsafe { count(status)? };
                sink(from, self.buffers[index].get(..length));
            }
            // SAFETY: a persistent request that is complete is inactive and may be started again.
            let code = unsafe { ffi::MPI_Start(&mut self.requests[index]) };
            check(code, "MPI_Start")?;
        }
        Ok(came)
    }

    /// Takes the receives back, before finalisation.
    pub(crate) fn cancel(mut self) -> Result<(), LinkError> {
        for request in &mut self.requests {
            // SAFETY: an active receive may be cancelled; waiting for it ends either way, after
            // which the persistent request is inactive and its buffer ours.
            unsafe {
                check(ffi::MPI_Cancel(request), "MPI_Cancel")?;
                check(
                    ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE),
                    "MPI_Wait of a cancelled receive",
                )?;
                check(ffi::MPI_Request_free(request), "MPI_Request_free")?;
            }
        }
        self.requests.clear();
        Ok(())
    }
}

impl Drop for Receives {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            // MPI may still write into them.
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
    }
}

/// The library's own line about itself.
pub(crate) fn library_version() -> String {
    /// What MPICH asks for, far more than its header says; Open MPI needs 256.
    const BYTES: usize = 8192;
    let mut text = [0 as std::ffi::c_char; BYTES];
    let mut length = 0;
    // SAFETY: the buffer has the size that the greediest library asks for and ends with a zero of
    // its own.
    unsafe {
        if ffi::MPI_Get_library_version(text.as_mut_ptr(), &mut length) != SUCCESS {
            return String::new();
        }
        text[BYTES - 1] = 0;
        let text = CStr::from_ptr(text.as_ptr()).to_string_lossy();
        let first = text.lines().next().unwrap_or_default();
        first.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
