//! The bytes that each collective moves for one rank, as Rust expressions.

use super::table::Function;
use anyhow::{Result, bail};

/// This rank's share of a collective: what its own buffers send and receive.
pub fn shares(f: &Function) -> Result<String> {
    let short = f
        .name
        .trim_start_matches("MPI_")
        .trim_start_matches("MPIX_");

    let mut base = short
        .trim_end_matches("_c")
        .trim_end_matches("_init")
        .to_lowercase();
    // The `i` of `ibcast`.
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
    let each = |buffer: &str, n: &str, t: &str, peers: &str| {
        format!("call.bytes_each({buffer}, {n}, {t}, {peers})")
    };
    // What only some ranks have: the root, what stands below one, and who is not without a part (in
    // intercommunicators).
    let only = |who: &str, share: &str| format!("if call.{who} {{ {share} }} else {{ 0 }}");
    let root = |share: &str| only("is_root(root, comm)", share);
    let leaf = |share: &str| only("is_leaf(root, comm)", share);
    let active = |share: &str| format!("if call.is_passive(root) {{ 0 }} else {{ {share} }}");

    let sent = one("sendbuf", "sendcount", "sendtype");
    let received = one("recvbuf", "recvcount", "recvtype");
    let sent_to_each = each("sendbuf", "sendcounts", "sendtype", out_peers);
    let received_from_each = each("recvbuf", "recvcounts", "recvtype", in_peers);

    let all_in = |buffer: &str| one(buffer, "count", "datatype");

    let (out, inn) = match base.as_str() {
        "barrier" => ("0".into(), "0".into()),
        "bcast" => (root(&all_in("buffer")), leaf(&all_in("buffer"))),
        "reduce" => (active(&all_in("sendbuf")), root(&all_in("recvbuf"))),
        "allreduce" | "scan" | "exscan" => (all_in("sendbuf"), all_in("recvbuf")),
        // Also of an intercommunicator: a count for each rank of the own group.
        "reduce_scatter" => (
            each("recvbuf", "recvcounts", "datatype", "call.members(comm)"),
            "call.bytes(recvbuf, call.own_count(recvcounts, comm), datatype)".into(),
        ),
        "reduce_scatter_block" => (
            format!(
                "{} * call.members(comm)",
                one("sendbuf", "recvcount", "datatype")
            ),
            one("recvbuf", "recvcount", "datatype"),
        ),
        "gather" => (active(&sent), root(&format!("{received} * {in_peers}"))),
        "gatherv" => (active(&sent), root(&received_from_each)),
        "scatter" => (root(&format!("{sent} * {out_peers}")), active(&received)),
        "scatterv" => (root(&sent_to_each), active(&received)),
        "allgather" => (sent, format!("{received} * {in_peers}")),
        "allgatherv" => (sent, received_from_each),
        "alltoall" => (
            format!("{sent} * {out_peers}"),
            format!("{received} * {in_peers}"),
        ),
        "alltoallv" => (sent_to_each, received_from_each),
        "alltoallw" => (
            format!("call.bytes_typed(sendbuf, sendcounts, sendtypes, {out_peers})"),
            format!("call.bytes_typed(recvbuf, recvcounts, recvtypes, {in_peers})"),
        ),
        other => bail!("no byte rule for collective `{other}`"),
    };
    Ok(format!("let bytes_out = {out}; let bytes_in = {inn};"))
}
