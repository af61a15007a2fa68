//! The hooks that note what a call waits for, before the real call is made.

use super::table::Function;

/// What calls of a function need from others, as `proto::mpi::Needs` names it, and the hook that
/// notes it, in terms of the function's own argument names; `Nothing` for functions that do not
/// wait, or for more than can be noted.
pub fn needs(f: &Function) -> (&'static str, &'static str) {
    match f.role.as_str() {
        "send" => ("Receiver", "call.needs_receiver(dest, tag, comm); "),
        "recv" => ("Sender", "call.needs_sender(source, tag, comm); "),
        "mprobe" => ("Message", "call.needs_sender(source, tag, comm); "),
        "probe" => ("Message", "call.needs_sender(source, tag, comm); "),
        "sendrecv" | "sendrecv_replace" => (
            "Both",
            "call.needs_both(dest, sendtag, source, recvtag, comm); ",
        ),
        "wait" => ("All", "call.needs_requests(1, request); "),
        "waitall" => ("All", "call.needs_requests(count, array_of_requests); "),
        "waitany" => ("Any", "call.needs_requests(count, array_of_requests); "),
        "waitsome" => ("Any", "call.needs_requests(incount, array_of_requests); "),
        // In a topology's collectives each rank needs its neighbours alone.
        "coll" if f.name.contains("eighbor") => ("Nothing", ""),
        "coll" if f.has("root") => ("Root", "call.needs_root(root, comm); "),
        "coll" => ("Everybody", "call.needs_everybody(comm); "),
        "comm_new" | "comm_dup" if f.has("comm") => ("Everybody", "call.needs_everybody(comm); "),
        "win_new" => ("Makers", "call.needs_everybody(comm); "),
        // Its hook notes what is needed: the call takes the handle away.
        "win_free" => ("Closers", ""),
        _ => by_name(f),
    }
}

/// The same of windows and files, whose roles say nothing of it.
fn by_name(f: &Function) -> (&'static str, &'static str) {
    match f.name.as_str() {
        "MPI_File_open" => ("Makers", "call.needs_everybody(comm); "),
        "MPI_File_close" => ("Closers", ""),
        "MPI_Win_fence" => ("Sharers", "call.needs_window(win); "),
        "MPI_Win_lock" | "MPI_Win_unlock" | "MPI_Win_flush" | "MPI_Win_flush_local" => {
            ("Target", "call.needs_target(rank, win); ")
        }
        "MPI_Win_start"
        | "MPI_Win_complete"
        | "MPI_Win_wait"
        | "MPI_Win_lock_all"
        | "MPI_Win_unlock_all"
        | "MPI_Win_flush_all"
        | "MPI_Win_flush_local_all" => ("Partners", "call.needs_window(win); "),
        _ if is_of_a_file(f) => ("SomeSharers", "call.needs_file(fh); "),
        _ => ("Nothing", ""),
    }
}

/// Whether all ranks of a file make this call together, and wait in it.
pub fn is_of_a_file(f: &Function) -> bool {
    const OTHERS: [&str; 5] = [
        "set_view",
        "set_size",
        "preallocate",
        "sync",
        "set_atomicity",
    ];
    let Some(rest) = f.name.strip_prefix("MPI_File_") else {
        return false;
    };
    let is_data = rest.starts_with("read") || rest.starts_with("write");
    OTHERS.contains(&rest) || is_data && (rest.contains("_all") || rest.contains("_ordered"))
}
