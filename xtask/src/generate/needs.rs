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
        _ => ("Nothing", ""),
    }
}
