//! Roles: what is told about a call, and when.

use super::shares::shares;
use super::table::Function;
use anyhow::{Context, Result, bail};

/// What a role does before and after the real call, in terms of the function's own argument names.
pub fn hooks(f: &Function) -> Result<(String, String)> {
    let has = |name: &str| f.has(name);
    let own_status = "let mut own = Status::EMPTY; let status = status.or(&mut own);";
    let hooks = match f.role.as_str() {
        "plain" if has("comm") => ("", "call.on(comm);".into()),
        "plain" => ("", String::new()),
        "send" => ("", "call.send(count.into(), datatype, dest, tag, comm);".into()),
        "post_send" => (
            "",
            "call.post_send(count.into(), datatype, dest, tag, comm, request);".into(),
        ),
        "send_init" => (
            "",
            "call.send_init(count.into(), datatype, dest, tag, comm, request);".into(),
        ),
        "recv" => (own_status, "call.recv(status, comm);".into()),
        "post_recv" => (
            "",
            "call.post_recv(count.into(), datatype, source, tag, comm, request);".into(),
        ),
        "recv_init" => (
            "",
            "call.recv_init(count.into(), datatype, source, tag, comm, request);".into(),
        ),
        "part_init" if has("dest") => (
            "",
            "call.send_init(i64::from(partitions) * i64::from(count), datatype, dest, tag, comm, request);"
                .into(),
        ),
        "part_init" => (
            "",
            "call.recv_init(i64::from(partitions) * i64::from(count), datatype, source, tag, comm, request);"
                .into(),
        ),
        "sendrecv" => (
            own_status,
            "call.sendrecv(sendcount.into(), sendtype, dest, sendtag, status, comm);".into(),
        ),
        "sendrecv_replace" => (
            own_status,
            "call.sendrecv(count.into(), datatype, dest, sendtag, status, comm);".into(),
        ),
        "isendrecv" => {
            let (count, datatype) = if has("sendcount") {
                ("sendcount", "sendtype")
            } else {
                ("count", "datatype")
            };
            (
                "",
                format!(
                    "call.isendrecv({count}.into(), {datatype}, dest, sendtag, source, recvtag, comm, request);"
                ),
            )
        }
        "mprobe" => (own_status, "call.mprobe(true, message, comm);".into()),
        "improbe" => ("", "call.mprobe(*flag != 0, message, comm);".into()),
        "mrecv" => (
            "let mut own = Status::EMPTY; let status = status.or(&mut own); let held = call.held_message(message);",
            "call.mrecv(held, status);".into(),
        ),
        "imrecv" => (
            "let held = call.held_message(message);",
            "call.imrecv(held, count.into(), datatype, request);".into(),
        ),
        "start" => ("let held = call.handle(request);", "call.start(held);".into()),
        "startall" => (
            "let held = call.held(count, array_of_requests);",
            "call.startall(held);".into(),
        ),
        "wait" => (
            "let held = call.handle(request); let mut own = Status::EMPTY; let status = status.or(&mut own);",
            "call.completed(held, status);".into(),
        ),
        "test" => (
            "let held = call.handle(request); let mut own = Status::EMPTY; let status = status.or(&mut own);",
            "if *flag != 0 { call.completed(held, status); }".into(),
        ),
        "waitall" => (
            "let held = call.held(count, array_of_requests); let array_of_statuses = call.statuses(count, array_of_statuses);",
            "call.completed_all(held, array_of_requests, array_of_statuses, result);".into(),
        ),
        "testall" => (
            "let held = call.held(count, array_of_requests); let array_of_statuses = call.statuses(count, array_of_statuses);",
            "if *flag != 0 { call.completed_all(held, array_of_requests, array_of_statuses, result); }"
                .into(),
        ),
        "waitany" => (
            "let held = call.held(count, array_of_requests); let mut own = Status::EMPTY; let status = status.or(&mut own);",
            format!(
                "call.completed_one(held, *{}, status);",
                if has("index") { "index" } else { "indx" }
            ),
        ),
        "testany" => (
            "let held = call.held(count, array_of_requests); let mut own = Status::EMPTY; let status = status.or(&mut own);",
            format!(
                "if *flag != 0 {{ call.completed_one(held, *{}, status); }}",
                if has("index") { "index" } else { "indx" }
            ),
        ),
        "waitsome" | "testsome" => (
            "let held = call.held(incount, array_of_requests); let array_of_statuses = call.statuses(incount, array_of_statuses);",
            "call.completed_some(held, *outcount, array_of_indices, array_of_statuses);".into(),
        ),
        "request_free" => (
            "let held = call.handle(request);",
            "call.request_free(held);".into(),
        ),
        "comm_new" => {
            let new = f.arguments.last().context("no arguments")?.name.clone();
            let parent = ["comm", "local_comm", "intercomm", "comm_old"]
                .into_iter()
                .find(|name| has(name))
                .context("no parent")?;
            ("call.comm_making();", format!("call.comm_new({parent}, {new});"))
        }
        "comm_idup" => ("", "call.comm_idup(comm, newcomm, request);".into()),
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
            (before, format!("call.{role}({});", new.name))
        }
        "comm_free" => (
            "let known = call.comm_leaving(comm);",
            "call.comm_stays(known);".into(),
        ),
        "comm_name" => ("", "call.comm_name(comm, comm_name);".into()),
        "comm_errhandler" => ("", "call.comm_errhandler(comm, errhandler);".into()),
        "type_free" => ("", "call.type_free();".into()),
        "coll" => (
            "",
            format!("{} call.coll({}, bytes_out, bytes_in);", shares(f)?, root(f)),
        ),
        "post_coll" => (
            "",
            format!(
                "{} call.post_coll(comm, {}, bytes_out, bytes_in, request);",
                shares(f)?,
                root(f)
            ),
        ),
        "coll_init" => (
            "",
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
        "plain" | "send" | "recv" | "sendrecv" | "sendrecv_replace" => {
            format!("if result == 0 && call.recorded() {{ {} }}", hooks.1)
        }
        // Counted always: ordinals are to agree between ranks that are not switched at the same
        // time.
        "coll" => format!(
            "if result == 0 {{ call.count_collective(comm); if call.recorded() {{ {} }} }}",
            hooks.1
        ),
        "comm_free" => format!("if result != 0 {{ {} }}", hooks.1),
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
    Ok((hooks.0.to_string(), after))
}

fn root(f: &Function) -> &'static str {
    if f.has("root") { "Some(root)" } else { "None" }
}
