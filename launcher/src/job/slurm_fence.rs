//! Slurm's PMIx fence, at which Open MPI's processes meet at the end of `MPI_Init`.
//!
//! Nobody may send before all can receive: Open MPI jumps to an address that is not set yet
//! (SIGSEGV) when a message comes earlier. But Slurm lets the processes of each node through by
//! themselves where a job has fewer nodes than the `TreeWidth` of its configuration (16 or 50,
//! unless the site says another): then its tree of nodes has no edges, and a fence without data
//! goes along that tree. Seen with Slurm 22.05; later ones have the same code. Its other way, the
//! ring, holds, and a variable of `srun` chooses it.

use crate::job::environment::{Environment, Family, World};
use crate::process::child::Ended;
use std::ffi::OsStr;

/// The variable of `srun` that says which way a fence goes.
const VARIABLE: &str = "SLURM_PMIX_FENCE";
/// The way that holds.
const RING: &str = "ring";
/// The protocol of `srun` where its line does not say it.
const PROTOCOL: &str = "SLURM_MPI_TYPE";

/// What `srun` needs in its environment for a job of so many nodes, where the user has not decided.
/// `protocol` is the value of its `--mpi`.
pub fn variable(
    environment: &Environment,
    protocol: Option<&str>,
    nodes: Option<u32>,
) -> Option<(&'static str, &'static str)> {
    let default = environment.get(OsStr::new(PROTOCOL));
    let default = default.map(|value| value.to_string_lossy());
    let is_pmix = protocol
        .or(default.as_deref())
        .is_none_or(|protocol| protocol.starts_with("pmix"));
    let is_set = environment.contains_key(OsStr::new(VARIABLE));
    (is_pmix && !is_set && nodes.is_some_and(|nodes| nodes > 1)).then_some((VARIABLE, RING))
}

/// Whether a process that ended like this in `MPI_Init` may have had a message too early.
pub fn may_explain(ended: Ended) -> bool {
    ended == Ended::Signal(libc::SIGSEGV)
}

/// What to say of a process of this job, rank or tool, whose end the fence may explain.
pub fn advice(environment: &Environment, world: &World) -> Option<String> {
    let holds = environment
        .get(OsStr::new(VARIABLE))
        .is_some_and(|way| way == RING);
    let may_be = world.by_srun
        && world.family == Family::Ompi
        && world.nodes.is_some_and(|nodes| nodes > 1)
        && !holds;
    may_be.then(|| {
        format!(
            "process {} died in MPI_Init. With srun on several nodes Open MPI may die there, with \
             Invivo and without: Slurm's PMIx lets processes out before those of other nodes can \
             receive. Type `export {VARIABLE}={RING}` before srun",
            world.rank
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn only_pmix_between_nodes_needs_the_ring() {
        let set = Some((VARIABLE, RING));
        for (pairs, protocol, nodes, expected) in [
            (&[][..], Some("pmix"), Some(2), set),
            (&[], Some("pmix_v4"), Some(2), set),
            (&[], None, Some(2), set),
            (&[], Some("pmi2"), Some(2), None),
            (&[], Some("pmix"), Some(1), None),
            (&[], Some("pmix"), None, None),
            (&[(PROTOCOL, "pmi2")], None, Some(2), None),
            (&[(PROTOCOL, "pmi2")], Some("pmix"), Some(2), set),
            (&[(VARIABLE, "tree")], Some("pmix"), Some(2), None),
        ] {
            let found = variable(&environment(pairs), protocol, nodes);
            assert_eq!(found, expected, "{pairs:?}, {protocol:?}, {nodes:?}");
        }
    }

    #[test]
    fn a_death_that_the_fence_explains_is_explained() {
        let world = World {
            family: Family::Ompi,
            rank: 3,
            size: 6,
            local: Some((0, 3)),
            nodes: Some(2),
            by_srun: true,
        };
        let said = advice(&environment(&[]), &world).expect("an advice");
        assert!(said.contains("export SLURM_PMIX_FENCE=ring"), "{said}");
        let tree = environment(&[(VARIABLE, "tree")]);
        assert!(advice(&tree, &world).is_some());
        let ring = environment(&[(VARIABLE, RING)]);
        assert_eq!(advice(&ring, &world), None);
        let one = World {
            nodes: Some(1),
            ..world
        };
        assert_eq!(advice(&tree, &one), None);
        assert!(may_explain(Ended::Signal(libc::SIGSEGV)));
        assert!(!may_explain(Ended::Signal(libc::SIGKILL)));
        assert!(!may_explain(Ended::Code(11)));
    }
}
