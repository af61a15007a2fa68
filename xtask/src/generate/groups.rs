//! The group of functions that each belongs to, and whether a selection may leave it out.

use super::table::Function;

/// The function's group, as `proto::mpi::Group` names it.
pub fn group(f: &Function) -> &'static str {
    match f.role.as_str() {
        "send" | "recv" | "post_send" | "post_recv" | "send_init" | "recv_init" | "part_init"
        | "sendrecv" | "sendrecv_replace" | "isendrecv" | "mprobe" | "improbe" | "mrecv"
        | "imrecv" | "probe" => "PointToPoint",
        "start" | "startall" | "wait" | "waitall" | "waitany" | "waitsome" | "test" | "testall"
        | "testany" | "testsome" | "request_free" => "Requests",
        "coll" | "post_coll" | "coll_init" => "Collective",
        "put" | "get" | "get_accumulate" | "fetch" | "win_rank" | "win_new" | "win_free" => {
            "OneSided"
        }
        "file_moved" | "file_posted" => "Files",
        "init" | "finalize" | "session" | "abort" => "Environment",
        "type_free" => "Types",
        role if role.starts_with("comm_") => "Communicators",
        _ => by_name(f),
    }
}

/// The same of functions whose role says nothing of it.
fn by_name(f: &Function) -> &'static str {
    const PREFIXES: [(&str, &str); 12] = [
        ("MPI_File_", "Files"),
        ("MPI_Win_", "OneSided"),
        ("MPI_Comm_", "Communicators"),
        ("MPIX_Comm_", "Communicators"),
        ("MPI_Group_", "Communicators"),
        ("MPI_Type_", "Types"),
        ("MPI_Pack", "Types"),
        ("MPI_Unpack", "Types"),
        ("MPI_Iprobe", "PointToPoint"),
        ("MPI_Cancel", "Requests"),
        ("MPI_Request_", "Requests"),
        ("MPI_Session_", "Environment"),
    ];
    let known = PREFIXES
        .iter()
        .find(|(prefix, _)| f.name.starts_with(prefix));
    known.map_or("Other", |(_, group)| group)
}

/// Whether calls of the function may be left out: not those without which messages and requests
/// cannot be followed, nor those that begin and end a rank's life in MPI.
pub fn is_selectable(f: &Function) -> bool {
    let is_needed = match f.role.as_str() {
        "probe" => false,
        "start" | "startall" | "request_free" | "post_coll" | "coll_init" | "file_posted" => true,
        _ => matches!(group(f), "Environment") || (group(f) == "PointToPoint" && f.role != "plain"),
    };
    f.is_recorded() && !is_needed
}
