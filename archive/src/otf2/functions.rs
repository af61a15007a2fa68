//! Regions as OTF2 knows them: their numbers, the role of an MPI function, and the operation of a
//! collective.

use crate::saved::format::FrameKind;
use std::collections::HashMap;

/// A region of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegionOf {
    /// A function of MPI, by its number in the observation.
    Mpi(u16),
    /// A region of the program: the same on all ranks that give it this name.
    Program {
        name: String,
        /// As `solver.c:12`; empty where that is not known.
        line: String,
        /// It is a function, not a stretch that the program marks.
        is_function: bool,
    },
    /// A function that was met by samples.
    Sampled {
        name: String,
        /// The file that it is in, of a Python function its source file.
        module: String,
        kind: FrameKind,
    },
    /// What samples met is not known.
    Unknown,
}

/// Numbers of the regions that were entered, in the order in which they were met: readers expect
/// definitions to be numbered from 0 on, without gaps.
#[derive(Debug, Default)]
pub struct Regions {
    numbers: HashMap<RegionOf, u32>,
    met: Vec<RegionOf>,
}

impl Regions {
    /// The number of a region.
    pub fn number(&mut self, of: RegionOf) -> u32 {
        if let Some(number) = self.numbers.get(&of) {
            return *number;
        }
        let number = self.met.len() as u32;
        self.met.push(of.clone());
        self.numbers.insert(of, number);
        number
    }

    /// The regions, in the order of their numbers.
    pub fn met(&self) -> &[RegionOf] {
        &self.met
    }
}

/// `OTF2_RegionRole`.
pub mod role {
    pub const FUNCTION: u8 = 1;
    pub const CODE: u8 = 4;
    pub const BARRIER: u8 = 15;
    pub const ONE_TO_ALL: u8 = 23;
    pub const ALL_TO_ONE: u8 = 24;
    pub const ALL_TO_ALL: u8 = 25;
    pub const OTHER: u8 = 26;
    pub const FILE: u8 = 27;
    pub const POINT_TO_POINT: u8 = 28;
    pub const ONE_SIDED: u8 = 29;
    pub const ARTIFICIAL: u8 = 31;
}

/// Collectives by their names without prefix, `I`, `_c` and `_init`: `OTF2_CollectiveOp` and role.
const COLLECTIVES: [(&str, u8, u8); 40] = [
    ("barrier", 0, role::BARRIER),
    ("bcast", 1, role::ONE_TO_ALL),
    ("gather", 2, role::ALL_TO_ONE),
    ("gatherv", 3, role::ALL_TO_ONE),
    ("scatter", 4, role::ONE_TO_ALL),
    ("scatterv", 5, role::ONE_TO_ALL),
    ("allgather", 6, role::ALL_TO_ALL),
    ("allgatherv", 7, role::ALL_TO_ALL),
    ("alltoall", 8, role::ALL_TO_ALL),
    ("alltoallv", 9, role::ALL_TO_ALL),
    ("alltoallw", 10, role::ALL_TO_ALL),
    ("allreduce", 11, role::ALL_TO_ALL),
    ("reduce", 12, role::ALL_TO_ONE),
    ("reduce_scatter", 13, role::ALL_TO_ALL),
    ("scan", 14, role::OTHER),
    ("exscan", 15, role::OTHER),
    ("reduce_scatter_block", 16, role::ALL_TO_ALL),
    ("neighbor_allgather", 6, role::OTHER),
    ("neighbor_allgatherv", 7, role::OTHER),
    ("neighbor_alltoall", 8, role::OTHER),
    ("neighbor_alltoallv", 9, role::OTHER),
    ("neighbor_alltoallw", 10, role::OTHER),
    ("comm_dup", 17, role::OTHER),
    ("comm_idup", 17, role::OTHER),
    ("comm_dup_with_info", 17, role::OTHER),
    ("comm_idup_with_info", 17, role::OTHER),
    ("comm_create", 17, role::OTHER),
    ("comm_create_group", 17, role::OTHER),
    ("comm_split", 17, role::OTHER),
    ("comm_split_type", 17, role::OTHER),
    ("cart_create", 17, role::OTHER),
    ("cart_sub", 17, role::OTHER),
    ("graph_create", 17, role::OTHER),
    ("dist_graph_create", 17, role::OTHER),
    ("dist_graph_create_adjacent", 17, role::OTHER),
    ("intercomm_create", 17, role::OTHER),
    ("intercomm_merge", 17, role::OTHER),
    ("comm_free", 18, role::OTHER),
    ("comm_disconnect", 18, role::OTHER),
    ("win_create", 17, role::OTHER),
];

/// Begins of the names of functions about one message or its request.
const POINT_TO_POINT: [&str; 19] = [
    "send", "recv", "isend", "irecv", "bsend", "ibsend", "ssend", "issend", "rsend", "irsend",
    "psend", "precv", "mrecv", "imrecv", "probe", "iprobe", "mprobe", "improbe", "start",
];
/// The same of functions that complete requests.
const COMPLETIONS: [&str; 3] = ["wait", "test", "request_"];
/// The same of one-sided functions.
const ONE_SIDED: [&str; 9] = [
    "put",
    "get",
    "accumulate",
    "get_accumulate",
    "fetch_and_op",
    "compare_and_swap",
    "rput",
    "rget",
    "raccumulate",
];

/// What a function is called without the prefix of MPI, in small letters, and without `_c`.
fn stem(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let stem = ["mpi_", "mpix_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(&name);
    let stem = stem.strip_suffix("_c").unwrap_or(stem);
    stem.to_owned()
}

fn collective(name: &str) -> Option<(u8, u8)> {
    let stem = stem(name);
    let stem = stem.strip_suffix("_init").unwrap_or(&stem);
    let find = |stem: &str| COLLECTIVES.iter().find(|(name, ..)| *name == stem);
    let found = find(stem).or_else(|| find(stem.strip_prefix('i')?));
    found.map(|(_, operation, role)| (*operation, *role))
}

/// The operation of a collective function; nothing where OTF2 has none for it.
pub fn operation(name: &str) -> Option<u8> {
    collective(name).map(|(operation, _)| operation)
}

/// The role of a function's region.
pub fn role_of(name: &str) -> u8 {
    if let Some((_, role)) = collective(name) {
        return role;
    }
    let stem = stem(name);
    let begins = |with: &[&str]| with.iter().any(|begin| stem.starts_with(begin));
    if begins(&POINT_TO_POINT) || begins(&COMPLETIONS) {
        role::POINT_TO_POINT
    } else if stem.starts_with("win_") || ONE_SIDED.contains(&stem.as_str()) {
        role::ONE_SIDED
    } else if stem.starts_with("file_") {
        role::FILE
    } else {
        role::FUNCTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_role_that_tools_expect() {
        let roles = [
            ("MPI_Send", role::POINT_TO_POINT),
            ("MPI_Irecv_c", role::POINT_TO_POINT),
            ("MPI_Sendrecv", role::POINT_TO_POINT),
            ("MPI_Waitall", role::POINT_TO_POINT),
            ("MPI_Barrier", role::BARRIER),
            ("MPI_Ibcast", role::ONE_TO_ALL),
            ("MPI_Igatherv", role::ALL_TO_ONE),
            ("MPI_Allreduce_init", role::ALL_TO_ALL),
            ("MPIX_Scan_init", role::OTHER),
            ("MPI_Get", role::ONE_SIDED),
            ("MPI_Get_count", role::FUNCTION),
            ("MPI_Win_fence", role::ONE_SIDED),
            ("MPI_File_write_all", role::FILE),
            ("MPI_Init", role::FUNCTION),
        ];
        for (name, role) in roles {
            assert_eq!(role_of(name), role, "{name}");
        }
    }

    #[test]
    fn collectives_have_their_operation() {
        let operations = [
            ("MPI_Barrier", Some(0)),
            ("MPI_Iallreduce", Some(11)),
            ("MPI_Ireduce_scatter_block_c", Some(16)),
            ("MPI_Comm_split", Some(17)),
            ("MPI_Comm_idup", Some(17)),
            ("MPI_Comm_free", Some(18)),
            ("MPI_File_write_all", None),
            ("MPI_Send", None),
        ];
        for (name, operation_of) in operations {
            assert_eq!(operation(name), operation_of, "{name}");
        }
    }
}
