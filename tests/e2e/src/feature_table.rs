//! The table of MPI features that an interposed library can break, with the support by each MPI.

use crate::mpi::Family;
use std::fmt::Write;

/// What an MPI makes of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It works, and nothing differs from the bare run.
    Same,
    /// This MPI cannot, and the program gets the error of the bare run.
    SameError,
    /// This MPI has no such functions; says why.
    Absent(&'static str),
}

/// One row of the table: a feature, and the programs and sections that use it.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    pub title: &'static str,
    /// The section of the C program, or the C program.
    pub c: Option<&'static str>,
    /// The section of the Fortran program, where Fortran has something of its own.
    pub fortran: Option<&'static str>,
    /// MPIs on which it is not simply the same.
    pub exceptions: &'static [(Family, Support)],
}

impl Feature {
    pub fn support(&self, family: Family) -> Support {
        // The usual case is not listed: only exceptions are.
        let exception = self.exceptions.iter().find(|(other, _)| *other == family);
        exception.map_or(Support::Same, |(_, support)| *support)
    }
}

/// A section name may be empty: the language has none.
const fn row(title: &'static str, c: &'static str, fortran: &'static str) -> Feature {
    const fn some(name: &'static str) -> Option<&'static str> {
        if name.is_empty() { None } else { Some(name) }
    }
    Feature {
        title,
        c: some(c),
        fortran: some(fortran),
        exceptions: &[],
    }
}

const fn except(row: Feature, exceptions: &'static [(Family, Support)]) -> Feature {
    Feature { exceptions, ..row }
}

const MPI_4: &[(Family, Support)] = &[(Family::Ompi, Support::Absent("MPI 4"))];
/// Debian's MPICH 4.0 can neither spawn processes nor open ports.
const NO_DYNAMIC_PROCESSES: &[(Family, Support)] = &[(Family::Mpich, Support::SameError)];

/// All rows, in the order of the manual.
pub const FEATURES: &[Feature] = &[
    row(
        "predefined attributes; callbacks that call MPI",
        "attributes",
        "attributes",
    ),
    row(
        "attributes that `MPI_Finalize` deletes",
        "finalize_attributes",
        "",
    ),
    row("groups", "groups", "groups"),
    row(
        "names, hints, splitting by type, what must not be done to the world",
        "communicators",
        "strings",
    ),
    row(
        "topologies with and without reorder",
        "topologies",
        "topologies",
    ),
    row("neighbourhood collectives", "neighbours", "topologies"),
    row("intercommunicators", "intercomms", ""),
    except(row("`MPI_Comm_spawn`", "spawn", ""), NO_DYNAMIC_PROCESSES),
    except(
        row(
            "processes that connect: by a port, by a published name, by a socket (`MPI_Comm_join`)",
            "ports",
            "",
        ),
        NO_DYNAMIC_PROCESSES,
    ),
    except(
        row("sessions and world process sets", "sessions", ""),
        MPI_4,
    ),
    row("error handlers, codes and texts", "errors", "errors"),
    row(
        "statuses: arrays, ignored, empty, cancelled",
        "statuses",
        "statuses",
    ),
    row(
        "one-sided communication, dynamic windows",
        "one_sided",
        "windows",
    ),
    row("windows in shared memory", "shared", ""),
    row("files", "files", "files"),
    row(
        "persistent requests and collectives",
        "persistent",
        "persistent",
    ),
    except(row("partitioned communication", "partitioned", ""), MPI_4),
    except(row("large counts", "large", ""), MPI_4),
    row("`MPI_IN_PLACE`, `MPI_BOTTOM`", "in_place", "in_place"),
    row(
        "operations of the program's own",
        "operations",
        "operations",
    ),
    row("datatypes of all constructors, packing", "datatypes", ""),
    row("generalised requests", "grequests", ""),
    row("the tools interface", "tools", ""),
    except(
        row("handles from C to Fortran and back", "handles", "handles"),
        &[(Family::Abi5, Support::Absent("no Fortran"))],
    ),
    row(
        "what MPI says of the job (`MPI_INFO_ENV`) and of itself",
        "info_env",
        "",
    ),
    row("Fortran's logicals", "", "logicals"),
    row("Fortran's strings", "", "strings"),
    row(
        "sections of arrays as arguments, non-contiguous in `mpi_f08`",
        "",
        "sections",
    ),
    row("fork, system, popen", "processes", ""),
    row(
        "threads at every level, several in MPI at once, OpenMP",
        "threads",
        "",
    ),
    row(
        "more threads than Invivo keeps apart: run, counted as dropped",
        "many_threads",
        "",
    ),
    row("error handlers that leave MPI by a jump", "longjmp", ""),
    row(
        "MPI in constructors, destructors, at exit",
        "around_main",
        "",
    ),
    row("MPI loaded at run time", "dlopen", ""),
];

/// The MPIs of the table, as the manual calls them.
const MPIS: [(Family, &str); 2] = [(Family::Ompi, "Open MPI 4.1"), (Family::Mpich, "MPICH 4.0")];

/// The table as the manual has it, in Markdown.
pub fn markdown() -> String {
    let titles = MPIS.map(|(_, title)| title).join(" | ");

    let mut text = format!(
        "| | C | Fortran | {titles} |\n|---|---|---|{}\n",
        "---|".repeat(MPIS.len())
    );
    let section = |name: Option<&str>| name.map_or(String::new(), |name| format!("`{name}`"));

    for row in FEATURES {
        let cells = MPIS.map(|(family, _)| match row.support(family) {
            Support::Same => "same".to_owned(),
            Support::SameError => "same error".to_owned(),
            Support::Absent(why) => format!("- ({why})"),
        });
        let (c, fortran) = (section(row.c), section(row.fortran));
        let _ = writeln!(
            text,
            "| {} | {c} | {fortran} | {} |",
            row.title,
            cells.join(" | ")
        );
    }
    text
}
