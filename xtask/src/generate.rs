//! Makes the function list of `proto` and the wrappers of `app-shim` from the one table of all MPI functions,
//! `proto/mpi.functions`. The results are committed; a test compares them with what this makes.

use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::path::Path;

pub const TABLE: &str = "proto/mpi.functions";
const LIST: &str = "proto/src/functions.rs";
const WRAPPERS: &str = "app-shim/src/wrappers.rs";

/// Writes both files below the workspace at `root`.
pub fn run(root: &Path) -> Result<()> {
    for (file, text) in made(root)? {
        std::fs::write(root.join(file), text).with_context(|| format!("writing {file}"))?;
        println!("wrote {file}");
    }
    Ok(())
}

/// Fails where a committed file differs from what the table says.
pub fn check(root: &Path) -> Result<()> {
    for (file, text) in made(root)? {
        let found = std::fs::read_to_string(root.join(file)).with_context(|| format!("reading {file}"))?;
        ensure!(
            found == text,
            "{file} is not what {TABLE} makes: run `cargo xtask generate` and commit the result"
        );
    }
    Ok(())
}

fn made(root: &Path) -> Result<[(&'static str, String); 2]> {
    let table = std::fs::read_to_string(root.join(TABLE)).with_context(|| format!("reading {TABLE}"))?;
    let functions = parse(&table)?;
    Ok([(LIST, list(&functions)), (WRAPPERS, wrappers(&functions)?)])
}

/// One line of the table.
#[derive(Debug)]
pub struct Function {
    pub role: String,
    /// The only family that has it; all have it where nothing stands here.
    family: Option<String>,
    pub name: String,
    arguments: Vec<Argument>,
}

#[derive(Debug)]
pub struct Argument {
    name: String,
    c_type: String,
}

/// Reads the table.
pub fn parse(table: &str) -> Result<Vec<Function>> {
    let mut functions = Vec::new();
    for (number, line) in table.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let function = parse_line(line).with_context(|| format!("{TABLE}:{}: {line}", number + 1))?;
        ensure!(
            !functions.iter().any(|f: &Function| f.name == function.name),
            "{TABLE}:{}: {} stands twice",
            number + 1,
            function.name
        );
        functions.push(function);
    }
    Ok(functions)
}

fn parse_line(line: &str) -> Result<Function> {
    let (role, rest) = line
        .split_once(char::is_whitespace)
        .context("a role, families, then a prototype")?;
    let (family, prototype) = rest
        .trim()
        .split_once(char::is_whitespace)
        .context("families, then a prototype")?;
    let family = match family {
        "*" => None,
        "ompi" | "mpich" => Some(family.to_string()),
        other => bail!("`{other}` is no family"),
    };
    let prototype = prototype.trim();
    let open = prototype.find('(').context("no argument list")?;
    let inner = prototype[open + 1..]
        .strip_suffix(')')
        .context("no closing parenthesis")?;
    let name = prototype[..open]
        .split_whitespace()
        .last()
        .context("no name")?
        .to_string();
    let arguments = if inner == "void" || inner.is_empty() {
        Vec::new()
    } else {
        inner
            .split(',')
            .map(str::trim)
            .filter(|a| *a != "...")
            .map(argument)
            .collect::<Result<_>>()?
    };
    Ok(Function {
        role: role.to_string(),
        family,
        name,
        arguments,
    })
}

/// `const int counts[]` and the like: the name is the last word, arrays are pointers.
fn argument(text: &str) -> Result<Argument> {
    let (declared, array) = match text.find('[') {
        Some(at) => (&text[..at], true),
        None => (text, false),
    };
    let start = declared
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + 1);
    let name = &declared[start..];
    ensure!(!name.is_empty() && start > 0, "argument `{text}` has no name");
    let mut c_type: String = declared[..start].split_whitespace().collect::<Vec<_>>().join(" ");
    if array {
        c_type.push_str(" *");
    }
    Ok(Argument {
        name: keyword(name),
        c_type,
    })
}

/// MPI's argument names that Rust keeps for itself.
fn keyword(name: &str) -> String {
    match name {
        "type" | "in" | "ref" | "match" | "self" | "fn" => format!("{name}_"),
        _ => name.to_string(),
    }
}

/// The Rust type of a C argument. Function pointers and opaque data are untyped pointers.
fn rust_type(c_type: &str) -> Result<String> {
    let constant = c_type.contains("const");
    let base: String = c_type
        .replace("const", "")
        .replace('*', " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let stars = c_type.matches('*').count();
    let base = match base.as_str() {
        "int" => "c_int",
        "char" => "c_char",
        "void" => "c_void",
        "double" => "f64",
        "MPI_Aint" | "MPI_Offset" | "MPI_Count" => "i64",
        "MPI_Fint" => "c_int",
        "MPI_Comm" => "Comm",
        "MPI_Datatype" => "Datatype",
        "MPI_Request" => "Request",
        "MPI_Message" => "Message",
        "MPI_Status" => "Status",
        "MPI_Group" | "MPI_Info" | "MPI_Op" | "MPI_Win" | "MPI_Errhandler" | "MPI_Session" => "Handle",
        "MPI_File" => "File",
        "MPI_Comm_errhandler_function" => return Ok("HandlerFn".to_string()),
        // Arguments of a function type decay to pointers.
        other if other.starts_with("MPI_") && (other.contains("_function") || other.contains("_fn")) => {
            return Ok("*const c_void".to_string());
        }
        other => bail!("no Rust type for `{other}`"),
    };
    Ok(match stars {
        0 => base.to_string(),
        1 => format!("*{} {base}", if constant { "const" } else { "mut" }),
        2 => format!("*{} *mut {base}", if constant { "const" } else { "mut" }),
        _ => "*mut *mut *mut c_char".to_string(),
    })
}

fn recorded(role: &str) -> bool {
    !matches!(role, "none" | "through" | "attr" | "keyval" | "asked")
}

fn list(functions: &[Function]) -> String {
    let mut out =
        String::from("// Made by `cargo xtask generate` from proto/mpi.functions. Do not edit.\n[\n");
    out.push_str("    Function { name: \"no function\", recorded: false },\n");
    for function in functions {
        let _ = writeln!(
            out,
            "    Function {{ name: \"{}\", recorded: {} }},",
            function.name,
            recorded(&function.role)
        );
    }
    out.push_str("]\n");
    out
}

fn wrappers(functions: &[Function]) -> Result<String> {
    let mut out = String::from(
        "// Made by `cargo xtask generate` from proto/mpi.functions. Do not edit.\n\
         //! One wrapper for each MPI function that is observed or takes a communicator.\n\n\
         use crate::family::*;\nuse crate::wrap::{through, wrap};\nuse core::ffi::{c_char, c_int, c_void};\n\n",
    );
    for (index, function) in functions.iter().enumerate() {
        let index = index + 1;
        let Function {
            role, name, family, ..
        } = function;
        if matches!(
            role.as_str(),
            "none" | "init" | "finalize" | "abort" | "session" | "attr" | "keyval" | "asked"
        ) {
            continue;
        }
        let mut arguments = Vec::new();
        for argument in &function.arguments {
            arguments.push(format!(
                "{}: {}",
                argument.name,
                rust_type(&argument.c_type).with_context(|| name.clone())?
            ));
        }
        let arguments = arguments.join(", ");
        match family.as_deref() {
            // MPICH 5 and Intel MPI serve both interfaces with the same functions.
            Some("mpich") => {
                out.push_str("#[cfg(any(feature = \"family-mpich\", feature = \"family-abi\"))]\n");
            }
            Some(family) => {
                let _ = writeln!(out, "#[cfg(feature = \"family-{family}\")]");
            }
            None => {}
        }
        if role == "through" {
            let _ = writeln!(out, "through!({name}, P{name}, ({arguments}));");
            continue;
        }
        let (before, after) = hooks(function).with_context(|| name.clone())?;
        let _ = writeln!(
            out,
            "wrap!({index}, {name}, P{name}, ({arguments}), |call| {{ {before} }}, |result| {{ {after} }});"
        );
    }
    Ok(out)
}

/// What a role does before and after the real call, in terms of the function's own argument names.
fn hooks(f: &Function) -> Result<(String, String)> {
    let has = |name: &str| f.arguments.iter().any(|a| a.name == name);
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
        "start" => ("let held = *request;", "call.start(held);".into()),
        "startall" => (
            "let held = call.held(count, array_of_requests);",
            "call.startall(held);".into(),
        ),
        "wait" => (
            "let held = *request; let mut own = Status::EMPTY; let status = status.or(&mut own);",
            "call.completed(held, status);".into(),
        ),
        "test" => (
            "let held = *request; let mut own = Status::EMPTY; let status = status.or(&mut own);",
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
        "request_free" => ("let held = *request;", "call.request_free(held);".into()),
        "comm_new" => {
            let new = f.arguments.last().context("no arguments")?.name.clone();
            let parent = ["comm", "local_comm", "intercomm", "comm_old"]
                .into_iter()
                .find(|n| has(n))
                .context("no parent")?;
            ("", format!("call.comm_new({parent}, {new});"))
        }
        "comm_idup" => ("", "call.comm_idup(comm, newcomm, request);".into()),
        "comm_foreign" => {
            let new = f
                .arguments
                .iter()
                .rev()
                .find(|a| a.c_type == "MPI_Comm *")
                .context("no new communicator")?;
            ("", format!("call.comm_foreign({});", new.name))
        }
        "comm_free" => (
            "let held = *comm; call.comm_leaving(held);",
            "call.comm_free(held);".into(),
        ),
        "comm_name" => ("", "call.comm_name(comm, comm_name);".into()),
        "comm_errhandler" => ("", "call.comm_errhandler(comm, errhandler);".into()),
        "type_free" => ("", "call.type_free();".into()),
        "coll" => (
            "",
            format!(
                "{} call.coll(comm, {}, bytes_out, bytes_in);",
                shares(f)?,
                root(f)
            ),
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
            format!("if result == 0 || result == ERR_IN_STATUS {{ {} }}", hooks.1)
        }
        // These tell and have nothing to follow: nothing where nobody listens.
        "plain" | "send" | "recv" | "sendrecv" | "sendrecv_replace" => {
            format!("if result == 0 && call.recorded() {{ {} }}", hooks.1)
        }
        // Counted always: ordinals are to agree between ranks that are not switched at the same time.
        "coll" => format!(
            "if result == 0 {{ call.count_collective(comm); if call.recorded() {{ {} }} }}",
            hooks.1
        ),
        _ => format!("if result == 0 {{ {} }}", hooks.1),
    };
    Ok((hooks.0.to_string(), after))
}

fn root(f: &Function) -> &'static str {
    if f.arguments.iter().any(|a| a.name == "root") {
        "Some(root)"
    } else {
        "None"
    }
}

/// This rank's share of a collective: what its own buffers send and receive.
fn shares(f: &Function) -> Result<String> {
    let short = f.name.trim_start_matches("MPI_").trim_start_matches("MPIX_");
    let mut base = short
        .trim_end_matches("_c")
        .trim_end_matches("_init")
        .to_lowercase();
    if f.role == "post_coll" {
        base.remove(0);
    }
    // Where the neighbours of a topology take the place of all ranks.
    let (base, out_peers, in_peers) = match base.strip_prefix("neighbor_") {
        Some(rest) => (
            rest.to_string(),
            "call.neighbors(comm).1",
            "call.neighbors(comm).0",
        ),
        None => (base, "call.peers(comm)", "call.peers(comm)"),
    };
    let count = |name: &str| format!("{name}.into()");
    let one = |buffer: &str, n: &str, t: &str| format!("call.bytes({buffer}, {}, {t})", count(n));
    let each =
        |buffer: &str, n: &str, t: &str, peers: &str| format!("call.bytes_each({buffer}, {n}, {t}, {peers})");
    let (out, inn) = match base.as_str() {
        "barrier" => ("0".into(), "0".into()),
        "bcast" => (
            format!(
                "if call.is_root(root, comm) {{ {} }} else {{ 0 }}",
                one("buffer", "count", "datatype")
            ),
            format!(
                "if call.is_leaf(root, comm) {{ {} }} else {{ 0 }}",
                one("buffer", "count", "datatype")
            ),
        ),
        "reduce" => (
            format!(
                "if call.is_passive(root) {{ 0 }} else {{ {} }}",
                one("sendbuf", "count", "datatype")
            ),
            format!(
                "if call.is_root(root, comm) {{ {} }} else {{ 0 }}",
                one("recvbuf", "count", "datatype")
            ),
        ),
        "allreduce" | "scan" | "exscan" => (
            one("sendbuf", "count", "datatype"),
            one("recvbuf", "count", "datatype"),
        ),
        "reduce_scatter" => {
            let sum = each("recvbuf", "recvcounts", "datatype", "call.peers(comm)");
            (
                sum.clone(),
                "call.bytes(recvbuf, call.own_count(recvcounts, comm), datatype)".into(),
            )
        }
        "reduce_scatter_block" => (
            format!("{} * call.peers(comm)", one("sendbuf", "recvcount", "datatype")),
            one("recvbuf", "recvcount", "datatype"),
        ),
        "gather" => (
            format!(
                "if call.is_passive(root) {{ 0 }} else {{ {} }}",
                one("sendbuf", "sendcount", "sendtype")
            ),
            format!(
                "if call.is_root(root, comm) {{ {} * {in_peers} }} else {{ 0 }}",
                one("recvbuf", "recvcount", "recvtype")
            ),
        ),
        "gatherv" => (
            format!(
                "if call.is_passive(root) {{ 0 }} else {{ {} }}",
                one("sendbuf", "sendcount", "sendtype")
            ),
            format!(
                "if call.is_root(root, comm) {{ {} }} else {{ 0 }}",
                each("recvbuf", "recvcounts", "recvtype", in_peers)
            ),
        ),
        "scatter" => (
            format!(
                "if call.is_root(root, comm) {{ {} * {out_peers} }} else {{ 0 }}",
                one("sendbuf", "sendcount", "sendtype")
            ),
            format!(
                "if call.is_passive(root) {{ 0 }} else {{ {} }}",
                one("recvbuf", "recvcount", "recvtype")
            ),
        ),
        "scatterv" => (
            format!(
                "if call.is_root(root, comm) {{ {} }} else {{ 0 }}",
                each("sendbuf", "sendcounts", "sendtype", out_peers)
            ),
            format!(
                "if call.is_passive(root) {{ 0 }} else {{ {} }}",
                one("recvbuf", "recvcount", "recvtype")
            ),
        ),
        "allgather" => (
            one("sendbuf", "sendcount", "sendtype"),
            format!("{} * {in_peers}", one("recvbuf", "recvcount", "recvtype")),
        ),
        "allgatherv" => (
            one("sendbuf", "sendcount", "sendtype"),
            each("recvbuf", "recvcounts", "recvtype", in_peers),
        ),
        "alltoall" => (
            format!("{} * {out_peers}", one("sendbuf", "sendcount", "sendtype")),
            format!("{} * {in_peers}", one("recvbuf", "recvcount", "recvtype")),
        ),
        "alltoallv" => (
            each("sendbuf", "sendcounts", "sendtype", out_peers),
            each("recvbuf", "recvcounts", "recvtype", in_peers),
        ),
        "alltoallw" => (
            format!("call.bytes_typed(sendbuf, sendcounts, sendtypes, {out_peers})"),
            format!("call.bytes_typed(recvbuf, recvcounts, recvtypes, {in_peers})"),
        ),
        other => bail!("no byte rule for collective `{other}`"),
    };
    Ok(format!("let bytes_out = {out}; let bytes_in = {inn};"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_files_are_what_the_table_makes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask lies in the workspace");
        check(root).unwrap();
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = parse("# comment\nplain * int MPI_X\n").unwrap_err();
        assert!(format!("{error:#}").contains("mpi.functions:2"), "{error:#}");
    }
}
