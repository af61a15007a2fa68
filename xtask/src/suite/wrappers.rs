//! Checks on the built shims that no panic and no allocation is behind an MPI function.
//!
//! A panic in the shim would end somebody else's program, and an allocation takes a lock of the
//! program's. So nothing that an exported MPI function calls may lead there, but for what is named
//! here.

use crate::call_graph::CallGraph;
use crate::run::{FAMILIES, Family};
use anyhow::{Result, bail, ensure};
use std::collections::BTreeSet;

/// Functions at the begin and the end of a program, which allocate and may give up.
const START_AND_END: [&str; 6] = [
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Session_init",
    "MPI_Finalize",
    "MPI_Session_finalize",
    "MPI_Abort",
];

/// What may allocate, and why that is rare. All of these are functions of their own in the machine
/// code (cold, never inlined).
const MAY_ALLOCATE: [(&str, &str); 8] = [
    (
        "record::thread_location::make",
        "the first call of a thread",
    ),
    (
        "record::overflow::borrowed",
        "the first call of a thread that finds all locations taken",
    ),
    (
        "record::scratch::Scratch<T>::grow",
        "a call with more requests than any before, from 65,536 on",
    ),
    (
        "track::handle_table::HandleTable<T>::grow",
        "twice as many handles at a time as ever before",
    ),
    (
        "track::handle_table::HandleTable<T>::extend",
        "more handles at a time than ever before",
    ),
    (
        "track::definitions::keep",
        "communicators are made faster than the place reads of them",
    ),
    (
        "world::process_sets::without_tools",
        "the group of a session's process set",
    ),
    (
        "lifecycle::refusals::missing_function",
        "a function that no MPI library has",
    ),
];

/// Names of what allocates, up to a version of the C library.
const ALLOCATES: [&str; 6] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
];

/// Parts of the names of what panics, or of what Rust allocates by.
const PANICS: [&str; 12] = [
    "core::panicking::",
    "::unwrap_failed",
    "::expect_failed",
    "slice_index_fail",
    "slice_error_fail",
    "mismatch_fail",
    "std::panicking::begin_panic",
    "::panic_on_ord_violation",
    "::capacity_overflow",
    "::handle_alloc_error",
    "::raw_vec::handle_error",
    "__rust_alloc",
];

/// Checks the shim of every family that users have: the one with test hooks may panic.
pub fn check() -> Result<()> {
    let mut used = BTreeSet::new();
    for family in FAMILIES {
        let library = family.place("libinvivo_shim.so");
        used.extend(of_family(family, &CallGraph::of(&library)?)?);
    }
    for (name, _) in MAY_ALLOCATE {
        ensure!(
            used.contains(name),
            "{name} may allocate, and nobody calls it"
        );
    }
    Ok(())
}

/// Checks one shim. Gives which of [`MAY_ALLOCATE`] were met.
fn of_family(family: Family, graph: &CallGraph) -> Result<BTreeSet<&'static str>> {
    let (start, calls): (Vec<&str>, Vec<&str>) = graph
        .functions()
        .filter(|name| is_mpi(name))
        .partition(|name| START_AND_END.contains(&name.trim_start_matches('P')));
    let roots = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();

    // The start allocates: who does not see that sees nothing.
    let (seen, _) = graph.ways(roots(start).into_iter(), is_forbidden, |_| false);
    for what in ["malloc", "core::panicking"] {
        ensure!(
            seen.iter()
                .flat_map(|way| way.last())
                .any(|last| last.starts_with(what)),
            "{}: no way from MPI_Init to {what} is seen, so the check is blind",
            family.name
        );
    }

    let (ways, met) = graph.ways(roots(calls).into_iter(), is_forbidden, |name| {
        excuse(name).is_some()
    });
    if !ways.is_empty() {
        let ways: Vec<String> = ways.iter().map(|way| way.join("\n    -> ")).collect();
        bail!(
            "{}: reached from MPI functions:\n{}",
            family.name,
            ways.join("\n")
        );
    }
    Ok(met.iter().filter_map(|name| excuse(name)).collect())
}

fn is_mpi(name: &str) -> bool {
    let plain = name.strip_prefix('P').unwrap_or(name);
    plain.starts_with("MPI_") || plain.starts_with("MPIX_")
}

fn is_forbidden(name: &str) -> bool {
    let plain = name.split('@').next().unwrap_or(name);
    ALLOCATES.contains(&plain) || PANICS.iter().any(|part| name.contains(part))
}

/// The entry of [`MAY_ALLOCATE`] that names this function.
fn excuse(name: &str) -> Option<&'static str> {
    let own = name.strip_prefix("invivo_shim::")?;
    let is_named = |function: &&str| {
        own.strip_prefix(*function)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::h"))
    };
    MAY_ALLOCATE.iter().map(|(name, _)| *name).find(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shim whose `MPI_Send` calls this, beside what every shim has.
    fn shim(called: &str) -> CallGraph {
        CallGraph::read(&format!(
            "
0000000000000100 <MPI_Init>:
     100:\tcall   *0x20(%rip)        # 5000 <malloc@GLIBC_2.2.5>
     101:\tcall   4000 <core::panicking::panic>
0000000000001000 <PMPI_Send>:
    1001:\tcall   2000 <{called}>
0000000000002000 <invivo_shim::track::definitions::keep::h01>:
    2000:\tcall   *0x20(%rip)        # 5000 <malloc@GLIBC_2.2.5>
"
        ))
    }

    #[test]
    fn a_panic_behind_a_wrapper_is_found() {
        let check = |called| of_family(FAMILIES[0], &shim(called));
        let found = check("core::panicking::panic_bounds_check").unwrap_err();
        assert!(
            found.to_string().contains("PMPI_Send\n    -> core::"),
            "{found}"
        );
        assert!(check("calloc@GLIBC_2.2.5").is_err());
        // Its name has a word in it that panics have, too.
        assert!(check("PMPIX_Comm_failure_ack").is_ok());
        assert!(check("invivo_shim::quiet::h0").is_ok());
        let used = check("invivo_shim::track::definitions::keep::h01").unwrap();
        assert_eq!(
            used.into_iter().collect::<Vec<_>>(),
            ["track::definitions::keep"]
        );
    }

    #[test]
    fn a_check_that_sees_nothing_fails() {
        assert!(of_family(FAMILIES[0], &CallGraph::read("")).is_err());
    }
}
