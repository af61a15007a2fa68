//! The functions of the MPI library that the shim calls for itself, always as the next `PMPI_*`.

use super::symbols::NextFunction;
use crate::family::*;
use core::ffi::{CStr, c_char, c_int, c_void};

macro_rules! pmpi {
    ($($rust:ident = $name:literal ($($arg:ident: $type:ty),*));* $(;)?) => {$(
        #[doc = concat!("The next `", stringify!($name), "`; `ERR_OTHER` where no library has it.")]
        pub unsafe fn $rust($($arg: $type),*) -> c_int {
            const NAME: &CStr = $name;
            static NEXT: NextFunction = NextFunction::new(NAME);
            let address = NEXT.address();
            if address.is_null() {
                return ERR_OTHER;
            }
            // SAFETY: the library's function of this name has this signature in every MPI version;
            // the caller keeps its preconditions.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> c_int =
                    core::mem::transmute(address);
                function($($arg),*)
            }
        }
    )*};
}
pmpi! {
    comm_dup = c"PMPI_Comm_dup" (comm: Comm, new: *mut Comm);
    comm_split = c"PMPI_Comm_split" (comm: Comm, color: c_int, key: c_int, new: *mut Comm);
    comm_rank = c"PMPI_Comm_rank" (comm: Comm, rank: *mut c_int);
    comm_size = c"PMPI_Comm_size" (comm: Comm, size: *mut c_int);
    comm_remote_size = c"PMPI_Comm_remote_size" (comm: Comm, size: *mut c_int);
    comm_test_inter = c"PMPI_Comm_test_inter" (comm: Comm, flag: *mut c_int);
    comm_group = c"PMPI_Comm_group" (comm: Comm, group: *mut Handle);
    comm_remote_group = c"PMPI_Comm_remote_group" (comm: Comm, group: *mut Handle);
    group_free = c"PMPI_Group_free" (group: *mut Handle);
    group_translate_ranks = c"PMPI_Group_translate_ranks" (
        from: Handle, n: c_int, ranks: *const c_int, to: Handle, out: *mut c_int
    );
    comm_set_name = c"PMPI_Comm_set_name" (comm: Comm, name: *const c_char);
    comm_set_errhandler = c"PMPI_Comm_set_errhandler" (comm: Comm, handler: Handle);
    comm_create_keyval = c"PMPI_Comm_create_keyval" (
        copy: *const c_void, delete: *const c_void, keyval: *mut c_int, extra: *mut c_void
    );
    comm_set_attr = c"PMPI_Comm_set_attr" (comm: Comm, keyval: c_int, value: *mut c_void);
    comm_get_attr = c"PMPI_Comm_get_attr" (
        comm: Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int
    );
    topo_test = c"PMPI_Topo_test" (comm: Comm, status: *mut c_int);
    cartdim_get = c"PMPI_Cartdim_get" (comm: Comm, dims: *mut c_int);
    graph_neighbors_count = c"PMPI_Graph_neighbors_count" (
        comm: Comm, rank: c_int, count: *mut c_int
    );
    dist_graph_neighbors_count = c"PMPI_Dist_graph_neighbors_count" (
        comm: Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int
    );
    bcast = c"PMPI_Bcast" (
        buffer: *mut c_void, count: c_int, datatype: Datatype, root: c_int, comm: Comm
    );
    allreduce = c"PMPI_Allreduce" (
        send: *const c_void, receive: *mut c_void, count: c_int, datatype: Datatype, op: Handle,
        comm: Comm
    );
    isend = c"PMPI_Isend" (
        buffer: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int,
        comm: Comm, request: *mut Request
    );
    recv = c"PMPI_Recv" (
        buffer: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int,
        comm: Comm, status: *mut Status
    );
    test = c"PMPI_Test" (request: *mut Request, flag: *mut c_int, status: *mut Status);
    type_size = c"PMPI_Type_size" (datatype: Datatype, size: *mut c_int);
    query_thread = c"PMPI_Query_thread" (provided: *mut c_int);
    comm_free = c"PMPI_Comm_free" (comm: *mut Comm);
    initialized = c"PMPI_Initialized" (flag: *mut c_int);
    init_thread = c"PMPI_Init_thread" (
        argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int
    );
    finalize = c"PMPI_Finalize" ();
    group_intersection = c"PMPI_Group_intersection" (one: Handle, other: Handle, new: *mut Handle);
    group_incl = c"PMPI_Group_incl" (
        group: Handle, n: c_int, ranks: *const c_int, new: *mut Handle
    );
    group_size = c"PMPI_Group_size" (group: Handle, size: *mut c_int);
    group_from_session_pset = c"PMPI_Group_from_session_pset" (
        session: Handle, name: *const c_char, group: *mut Handle
    );
    info_get = c"PMPI_Info_get" (
        info: Handle, key: *const c_char, length: c_int, value: *mut c_char, flag: *mut c_int
    );
    info_set = c"PMPI_Info_set" (info: Handle, key: *const c_char, value: *const c_char);
    t_cvar_get_info = c"PMPI_T_cvar_get_info" (
        index: c_int, name: *mut c_char, name_length: *mut c_int, verbosity: *mut c_int,
        datatype: *mut *mut c_void, enumeration: *mut *mut c_void, description: *mut c_char,
        length: *mut c_int, binding: *mut c_int, scope: *mut c_int
    );
    t_pvar_get_info = c"PMPI_T_pvar_get_info" (
        index: c_int, name: *mut c_char, name_length: *mut c_int, verbosity: *mut c_int,
        class: *mut c_int, datatype: *mut *mut c_void, enumeration: *mut *mut c_void,
        description: *mut c_char, length: *mut c_int, binding: *mut c_int, readonly: *mut c_int,
        continuous: *mut c_int, atomic: *mut c_int
    );
    get_version = c"PMPI_Get_version" (version: *mut c_int, subversion: *mut c_int);
}

/// The next `PMPI_Comm_f2c`; nothing where no library has it.
#[cfg(feature = "family-ompi")]
pub unsafe fn comm_f2c(number: c_int) -> Option<Comm> {
    static NEXT: NextFunction = NextFunction::new(c"PMPI_Comm_f2c");
    let address = NEXT.address();
    if address.is_null() {
        return None;
    }
    // SAFETY: the library's function of this name has this signature.
    unsafe {
        let function: unsafe extern "C" fn(c_int) -> Comm = core::mem::transmute(address);
        Some(function(number))
    }
}

/// Fortran's number of a communicator, from the next `PMPI_Comm_c2f`, which is called
/// `PMPI_Comm_toint` in the standard's interface; 0 where no library has it.
#[cfg(any(feature = "family-ompi", feature = "family-abi"))]
pub unsafe fn comm_c2f(comm: Comm) -> c_int {
    #[cfg(feature = "family-ompi")]
    static NEXT: NextFunction = NextFunction::new(c"PMPI_Comm_c2f");
    #[cfg(feature = "family-abi")]
    static NEXT: NextFunction = NextFunction::new(c"PMPI_Comm_toint");
    let address = NEXT.address();
    if address.is_null() {
        return 0;
    }
    // SAFETY: the library's function of this name has this signature.
    unsafe {
        let function: unsafe extern "C" fn(Comm) -> c_int = core::mem::transmute(address);
        function(comm)
    }
}

// A status of the standard ABI is read by functions alone.
#[cfg(feature = "family-abi")]
pmpi! {
    get_count_c = c"PMPI_Get_count_c" (status: *const Status, datatype: Datatype, count: *mut i64);
    test_cancelled = c"PMPI_Test_cancelled" (status: *const Status, flag: *mut c_int);
}
