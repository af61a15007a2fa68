//! Whether there is room for all processes of this node: in `/dev/shm`, and below a limit of
//! memory. Invivo uses no `/dev/shm`, but its tool processes are processes of MPI, too: where there
//! is little, a job may fit without them and not with them.

use rustix::process::{Resource, getrlimit};

/// Where MPI keeps what its processes share.
const SHARED: &str = "/dev/shm";
/// What one process takes there at most: 4.3 MB each in a queue of UCX (MPICH) and a segment of
/// Open MPI, and some more.
const SHARED_BYTES: u64 = 6 << 20;
/// Below this limit (`ulimit -v`) tool processes do not come through `MPI_Init`: with 2 ranks they
/// take some 120 MB of addresses, most of them for MPI's own libraries and segments. Buffers that
/// do not fit besides are left out.
const ADDRESSES_LEAST_BYTES: u64 = 128 << 20;

/// The warning about shared memory before a job of so many processes on this node, if any.
pub fn shared_memory(processes: u32) -> Option<String> {
    let stat = rustix::fs::statvfs(SHARED).ok()?;
    too_little(processes, stat.f_bavail * stat.f_frsize)
}

fn too_little(processes: u32, free_bytes: u64) -> Option<String> {
    let wanted = u64::from(processes) * SHARED_BYTES;
    (free_bytes < wanted).then(|| {
        format!(
            "{SHARED} has {} MiB free, and MPI may want {} for {processes} processes, tools \
             included: should it fail or be slow, \
             give it more (docker run --shm-size=1g)",
            free_bytes >> 20,
            wanted >> 20,
        )
    })
}

/// Whether tool processes may have as many addresses as they need.
///
/// # Errors
/// What to type where they may not.
pub fn addresses() -> Result<(), String> {
    enough(getrlimit(Resource::As).current)
}

fn enough(limit_bytes: Option<u64>) -> Result<(), String> {
    match limit_bytes {
        Some(limit) if limit < ADDRESSES_LEAST_BYTES => Err(format!(
            "the limit of memory is {} MiB, and tool processes need {}: raise it (ulimit -v {}), \
             or run without invivo",
            limit >> 20,
            ADDRESSES_LEAST_BYTES >> 20,
            ADDRESSES_LEAST_BYTES >> 10,
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_where_not_all_fit() {
        assert_eq!(too_little(4, 24 << 20), None);
        let why = too_little(4, (24 << 20) - 1).expect("too little");
        assert!(
            why.contains("23 MiB free") && why.contains("24 for 4 processes"),
            "{why}"
        );
    }

    #[test]
    fn a_limit_that_tools_cannot_live_with_is_told() {
        assert_eq!((enough(None), enough(Some(128 << 20))), (Ok(()), Ok(())));
        let why = enough(Some(100 << 20)).expect_err("too little");
        assert!(
            why.contains("100 MiB") && why.contains("ulimit -v 131072"),
            "{why}"
        );
    }
}
