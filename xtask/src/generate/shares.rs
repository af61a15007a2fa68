//! Bytes of collectives: what each of them moves for one rank.

use super::table::Function;
use anyhow::{Result, bail};

/// This rank's share of a collective: what its own buffers send and receive.
pub fn shares(f: &Function) -> Result<String> {
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
