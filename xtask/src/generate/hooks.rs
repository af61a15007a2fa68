//! The hooks of each role: what a wrapper does before and after the real call.

use super::needs::is_of_a_file;
use super::shares::shares;
use super::table::Function;
use anyhow::{Context, Result, bail};

/// A status of the wrapper's own, where the caller wants none.
const OWN_STATUS: &str = "let mut own = Status::EMPTY; let status = status.or(&mut own);";
/// The handle of one request, which the real call may overwrite.
const HELD: &str = "let held = call.handle(request);";
/// The handles of `count` requests.
const ALL_HELD: &str = "let held = call.held(count, array_of_requests);";

/// What a role does before and after the real call, in terms of the function's own argument names.
pub fn hooks(f: &Function) -> Result<(String, String)> {
    let has = |name: &str| f.has(name);
    let after = |text: &str| (String::new(), text.to_string());
    let held_one = || format!("{HELD} {OWN_STATUS}");
    let held_any = || format!("{ALL_HELD} {OWN_STATUS}");
    let held_all = |count: &str| {
        format!(
            "let held = call.held({count}, array_of_requests); \
             let array_of_statuses = call.statuses({count}, array_of_statuses);"
        )
    };

    let hooks: (String, String) = match f.role.as_str() {
        "plain" if f.name == "MPI_File_open" => after("call.file_new(comm, fh);"),
        "plain" if f.name == "MPI_File_close" => (
            "let known = call.file_leaving(fh);".into(),
            "call.shared_stays(known);".into(),
        ),
        "plain" if f.name == "MPI_Win_fence" => after("call.win_called(win);"),
        "plain" if is_of_a_file(f) => after("call.file_called(fh);"),
        "plain" if has("comm") => after("call.on(comm);"),
        "plain" => Default::default(),
        "probe" => (OWN_STATUS.into(), "call.probed(status, comm);".into()),
        "put" => after(
            "let bytes = call.bytes(origin_addr, origin_count.into(), origin_datatype); \
             call.one_sided(target_rank, win, bytes, 0);",
        ),
        "get" => after(
            "let bytes = call.bytes(origin_addr, origin_count.into(), origin_datatype); \
             call.one_sided(target_rank, win, 0, bytes);",
        ),
        // What goes out is as much as what comes back, or nothing; its own arguments mean nothing
        // where nothing goes out.
        "get_accumulate" => after(
            "let bytes = call.bytes(result_addr, result_count.into(), result_datatype); \
             call.one_sided(target_rank, win, if origin_count == 0 { 0 } else { bytes }, bytes);",
        ),
        "fetch" => after(
            "let bytes = call.bytes(result_addr, 1, datatype); \
             call.one_sided(target_rank, win, bytes, bytes);",
        ),
        "win_rank" => after("call.one_sided(rank, win, 0, 0);"),
        "win_new" => after("call.win_new(comm, win);"),
        "win_free" => (
            "let known = call.win_leaving(win);".into(),
            "call.shared_stays(known);".into(),
        ),
        "file_moved" => (
            OWN_STATUS.into(),
            format!("call.file({}, (*status).bytes());", is_read(f)),
        ),
        "file_posted" => after(&format!(
            "let bytes = call.bytes(buf, count.into(), datatype); call.file({}, bytes);",
            is_read(f)
        )),
        "send" => after("call.send(count.into(), datatype, dest, tag, comm);"),
        "post_send" => after("call.post_send(count.into(), datatype, dest, tag, comm, request);"),
        "send_init" => after("call.send_init(count.into(), datatype, dest, tag, comm, request);"),
        "recv" => (OWN_STATUS.into(), "call.recv(status, comm);".into()),
        "post_recv" => after("call.post_recv(count.into(), datatype, source, tag, comm, request);"),
        "recv_init" => after("call.recv_init(count.into(), datatype, source, tag, comm, request);"),
        "part_init" if has("dest") => after(
            "call.send_init(i64::from(partitions) * i64::from(count), datatype, dest, tag, comm, \
             request);",
        ),
        "part_init" => after(
            "call.recv_init(i64::from(partitions) * i64::from(count), datatype, source, tag, comm, \
             request);",
        ),
        "sendrecv" => (
            OWN_STATUS.into(),
            "call.sendrecv(sendcount.into(), sendtype, dest, sendtag, status, comm);".into(),
        ),
        "sendrecv_replace" => (
            OWN_STATUS.into(),
            "call.sendrecv(count.into(), datatype, dest, sendtag, status, comm);".into(),
        ),
        "isendrecv" => {
            let (count, datatype) = if has("sendcount") {
                ("sendcount", "sendtype")
            } else {
                ("count", "datatype")
            };
            (
                String::new(),
                format!(
                    "call.isendrecv({count}.into(), {datatype}, dest, sendtag, \
                     source, recvtag, comm, request);"
                ),
            )
        }
        "mprobe" => (
            OWN_STATUS.into(),
            "call.mprobe(message, comm); call.probed(status, comm);".into(),
        ),
        "improbe" => after(
            "if *flag != 0 { call.mprobe(message, comm); } \
             if *flag != 0 && status != STATUS_IGNORE { call.probed(status, comm); } \
             else { call.on(comm); }",
        ),
        "mrecv" => (
            format!("{OWN_STATUS} let held = call.held_message(message);"),
            "call.mrecv(held, status);".into(),
        ),
        "imrecv" => (
            "let held = call.held_message(message);".into(),
            "call.imrecv(held, count.into(), datatype, request);".into(),
        ),
        "start" => (HELD.into(), "call.start(held);".into()),
        "startall" => (ALL_HELD.into(), "call.startall(held);".into()),
        "wait" => (held_one(), "call.completed(held, status);".into()),
        "test" => (
            held_one(),
            "if *flag != 0 { call.completed(held, status); }".into(),
        ),
        "waitall" => (
            held_all("count"),
            "call.completed_all(held, array_of_requests, array_of_statuses, result);".into(),
        ),
        "testall" => (
            held_all("count"),
            "if *flag != 0 { \
             call.completed_all(held, array_of_requests, array_of_statuses, result); }"
                .into(),
        ),
        "waitany" => (
            held_any(),
            format!(
                "call.completed_one(held, *{}, status);",
                if has("index") { "index" } else { "indx" }
            ),
        ),
        "testany" => (
            held_any(),
            format!(
                "if *flag != 0 {{ call.completed_one(held, *{}, status); }}",
                if has("index") { "index" } else { "indx" }
            ),
        ),
        "waitsome" | "testsome" => (
            held_all("incount"),
            "call.completed_some(held, *outcount, array_of_indices, array_of_statuses);".into(),
        ),
        "request_free" => (HELD.into(), "call.request_free(held);".into()),
        role @ ("comm_new" | "comm_dup" | "comm_apart") => {
            // The new communicator is the last argument.
            let new = f.arguments.last().context("no arguments")?.name.clone();
            let parent = ["comm", "local_comm", "intercomm", "comm_old"]
                .into_iter()
                .find(|name| has(name))
                .context("no parent")?;
            (
                "call.comm_making();".into(),
                format!("call.{role}({parent}, {new});"),
            )
        }
        "comm_idup" => (
            "call.comm_making();".into(),
            "call.comm_idup(comm, newcomm);".into(),
        ),
        role @ ("comm_foreign" | "comm_group") => {
            let new = f
                .arguments
                .iter()
                .rev()
                .find(|a| a.c_type == "MPI_Comm *")
                .context("no new communicator")?;
            let before = if role == "comm_group" {
                "call.comm_making();"
            } else {
                ""
            };
            (before.into(), format!("call.{role}({});", new.name))
        }
        "comm_spawn" => (
            "call.comm_making();".into(),
            "call.comm_spawned(root, comm, intercomm);".into(),
        ),
        "comm_free" => (
            "let known = call.comm_leaving(comm);".into(),
            "call.comm_stays(known);".into(),
        ),
        "comm_name" => after("call.comm_name(comm, comm_name);"),
        "comm_errhandler" => after("call.comm_errhandler(comm, errhandler);"),
        "type_free" => after("call.type_free();"),
        "coll" => (
            String::new(),
            format!(
                "{} call.coll({}, bytes_out, bytes_in);",
                shares(f)?,
                root(f)
            ),
        ),
        "post_coll" => (
            String::new(),
            format!(
                "{} call.post_coll(comm, {}, bytes_out, bytes_in, request);",
                shares(f)?,
                root(f)
            ),
        ),
        "coll_init" => (
            String::new(),
            format!(
                "{} call.coll_init(comm, {}, bytes_out, bytes_in, request);",
                shares(f)?,
                root(f)
            ),
        ),
        other => bail!("unknown role `{other}`"),
    };

    // Out arguments mean something only after success; where single requests can fail, also then.
    let after = match f.role.as_str() {
        _ if hooks.1.is_empty() => String::new(),
        "waitall" => hooks.1,
        "testall" | "waitsome" | "testsome" => {
            format!(
                "if result == 0 || result == ERR_IN_STATUS {{ {} }}",
                hooks.1
            )
        }
        // These tell and have nothing to follow: nothing where nobody listens.
        "plain" if matches!(f.name.as_str(), "MPI_File_open" | "MPI_Win_fence") => {
            format!("if result == 0 {{ {} }}", hooks.1)
        }
        "plain" if f.name == "MPI_File_close" => format!("if result != 0 {{ {} }}", hooks.1),
        "plain" if is_of_a_file(f) => format!("if result == 0 {{ {} }}", hooks.1),
        // Followed always, as windows are.
        "win_rank" if f.name == "MPI_Win_lock" => format!(
            "if result == 0 {{ call.win_locked(win, rank); if call.recorded() {{ {} }} }}",
            hooks.1
        ),
        "win_rank" if f.name == "MPI_Win_unlock" => format!(
            "if result == 0 {{ call.win_unlocked(win); if call.recorded() {{ {} }} }}",
            hooks.1
        ),
        "file_moved" if is_of_a_file(f) => format!(
            "if result == 0 {{ call.file_called(fh); if call.recorded() {{ {} }} }}",
            hooks.1
        ),
        "plain" | "send" | "recv" | "sendrecv" | "sendrecv_replace" | "probe" | "iprobe"
        | "put" | "get" | "get_accumulate" | "fetch" | "win_rank" | "file_moved"
        | "file_posted" => {
            format!("if result == 0 && call.recorded() {{ {} }}", hooks.1)
        }
        // Counted always: ordinals are to agree between ranks that are not switched at the same
        // time.
        "coll" => format!(
            "if result == 0 {{ call.count_collective(comm); if call.recorded() {{ {} }} }}",
            hooks.1
        ),
        "comm_free" | "win_free" => format!("if result != 0 {{ {} }}", hooks.1),
        // A failed operation is complete as well where its handle is gone.
        "wait" | "test" => format!(
            "if result == 0 {{ {} }} else {{ call.failed(held, request); }}",
            hooks.1
        ),
        "waitany" | "testany" => format!(
            "if result == 0 {{ {} }} else {{ call.failed_one(held, array_of_requests); }}",
            hooks.1
        ),
        _ => format!("if result == 0 {{ {} }}", hooks.1),
    };
    Ok((hooks.0, after))
}

/// Whether a function of files reads, as the wrapper says it.
fn is_read(f: &Function) -> bool {
    f.name.contains("read")
}

fn root(f: &Function) -> &'static str {
    if f.has("root") { "Some(root)" } else { "None" }
}
