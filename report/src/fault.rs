//! Where the thread was that ended its rank: in a few words, and as its call path.

use crate::death::signal_name;
use crate::left_out;
use crate::timeline_pages::EndContext;
use invivo_proto::control::fault::{FAULTS_MAX, Fault, FaultStep};
use invivo_proto::control::stacks::{Frame, UnstoppedReason};
use invivo_proto::control::tree::{Ended, RankEnded};
use invivo_proto::ids::Rank;
use invivo_proto::mpi::ABORT;
use serde::Serialize;

/// How files begin that hold no code of the program: of the system, of languages, of MPI and what
/// it loads. A fault in one of these is mostly the caller's.
const RUNTIMES: [&str; 26] = [
    "ld-linux",
    "ld-2",
    "libc.",
    "libc-2",
    "libm.",
    "libm-2",
    "libpthread",
    "librt.",
    "libgcc_s",
    "libstdc++",
    "libgfortran",
    "libquadmath",
    "libgomp",
    "libasan",
    "libinvivo",
    "libmpi",
    "libmpich",
    "libopen-",
    "libpmix",
    "libprte",
    "mca_",
    "libuc",
    "libfabric",
    "libpmi",
    "[vdso]",
    "libevent",
];
/// Functions outside `main`.
const START_UP: [&str; 5] = [
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "start_thread",
];
/// Ranks whose paths the page of text shows; all that are known are in the JSON report.
const PATHS_MAX: usize = 8;

/// A fault as JSON.
#[derive(Serialize)]
pub struct FaultRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// The signal's `si_code`.
    code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    /// The kernel's id of the thread.
    thread: u32,
    first_thread: bool,
    /// The thread's end first.
    path: Vec<StepRow>,
    /// Whether the path's last function has no caller.
    whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'static str>,
}

#[derive(Serialize)]
struct StepRow {
    #[serde(skip_serializing_if = "String::is_empty")]
    function: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    line: String,
    #[serde(skip_serializing_if = "is_false")]
    left_out: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl From<&Fault> for FaultRow {
    fn from(fault: &Fault) -> FaultRow {
        let step = |step: &FaultStep| {
            let (file, function) = names(step).unwrap_or_default();
            StepRow {
                function: function.to_owned(),
                file: file.to_owned(),
                line: step.line.clone(),
                left_out: names(step).is_none(),
            }
        };
        FaultRow {
            signal: fault.signal,
            code: fault.code,
            address: fault.address,
            thread: fault.tid,
            first_thread: fault.is_first,
            path: fault.path.iter().map(step).collect(),
            whole: fault.is_whole,
            missing: fault.missing.map(reason),
        }
    }
}

/// The fault of a rank, where it is known.
pub fn of(saved: &EndContext, rank: Rank) -> Option<&Fault> {
    let mut faults = saved.faults.iter();
    faults.find(|one| one.rank == rank).map(|one| &one.fault)
}

/// Where a rank's thread was, for behind its sentence: ", in solve at solver.c:42"; nothing where
/// that is not known.
pub fn place(ended: &RankEnded, fault: &Fault) -> String {
    let at = at(fault, ended.inside.is_some());
    let is_abort = ended.inside == Some(ABORT);
    let is_end = match (ended.how, fault.signal) {
        (Ended::Signal(end), Some(signal)) => end == signal,
        (_, None) => is_abort,
        _ => false,
    };
    match (is_end, fault.signal) {
        (true, _) if at.is_empty() => String::new(),
        (true, _) => format!(", {at}"),
        (false, Some(signal)) if at.is_empty() => {
            format!(", after signal {signal}{}", signal_name(signal))
        }
        (false, Some(signal)) => format!(", after signal {signal}{} {at}", signal_name(signal)),
        (false, None) => String::new(),
    }
}

fn at(fault: &Fault, in_mpi: bool) -> String {
    let own = fault.path.iter().find(|step| is_own(step));
    let Some(first) = fault.path.first() else {
        return fault.missing.map_or_else(String::new, |why| {
            format!("its call path is not known: {}", reason(why))
        });
    };
    let by_itself = matches!(fault.signal, None | Some(SIGABRT));
    match own {
        Some(own) if own == first || by_itself && !in_mpi => format!("in {}", shown(own)),
        Some(own) if in_mpi && fault.signal.is_none() => format!("in {}", shown(own)),
        Some(own) if in_mpi => format!("called from {}", shown(own)),
        Some(own) => format!("in {}, called from {}", shown(first), shown(own)),
        None => format!("in {}", shown(first)),
    }
}

/// By this signal a program ends itself, by functions of its runtimes that say nothing.
const SIGABRT: i32 = nix::sys::signal::Signal::SIGABRT as i32;

fn is_own(step: &FaultStep) -> bool {
    names(step).is_some_and(|(file, _)| {
        !file.is_empty() && !RUNTIMES.iter().any(|runtime| file.starts_with(runtime))
    })
}

/// File and function; nothing for functions that are left out.
fn names(step: &FaultStep) -> Option<(&str, &str)> {
    match &step.frame {
        Frame::Function { module, name } => Some((module, name)),
        Frame::LeftOut | Frame::Lost => None,
    }
}

/// `solve at solver.c:42`, `memcpy in libc.so.6`, `libc.so.6+0x1234`.
fn shown(step: &FaultStep) -> String {
    match names(step) {
        None => "...".to_owned(),
        Some((file, "")) => match file.is_empty() {
            true => "code in no file".to_owned(),
            false => format!("{file} {}", step.line).trim_end().to_owned(),
        },
        Some((file, name)) if step.line.is_empty() => format!("{name} in {file}"),
        Some((_, name)) => format!("{name} at {}", step.line),
    }
}

/// The paths of ranks that ended, for behind the sentences about them.
pub fn paths(ended: &[RankEnded], saved: &EndContext) -> String {
    let known = ended.iter().filter_map(|one| {
        let fault = of(saved, one.rank).filter(|fault| !fault.path.is_empty())?;
        Some((one.rank, fault))
    });
    let known: Vec<(Rank, &Fault)> = known.collect();
    let mut text = String::new();
    let mut shown_paths: Vec<(Rank, &Fault)> = Vec::new();
    for &(rank, fault) in known.iter().take(PATHS_MAX) {
        let mut before = shown_paths.iter();
        if let Some((as_of, _)) = before.find(|(_, other)| other.path == fault.path) {
            text.push_str(&format!("call path of rank {rank}: as of rank {as_of}\n"));
            continue;
        }
        let thread = match fault.is_first {
            true => String::new(),
            false => format!(", thread {}", fault.tid),
        };
        let address = fault.address.map(|at| format!(", address {at:#x}"));
        text.push_str(&format!(
            "call path of rank {rank}{thread}{}:\n",
            address.unwrap_or_default()
        ));
        let is_start_up = |step: &&FaultStep| {
            names(step).is_some_and(|(_, function)| START_UP.contains(&function))
        };
        for step in fault.path.iter().filter(|step| !is_start_up(step)) {
            text.push_str(&format!("  {}\n", shown(step)));
        }
        if !fault.is_whole {
            text.push_str("  callers that are not known\n");
        }
        shown_paths.push((rank, fault));
    }
    let is_cut = saved.faults.len() >= FAULTS_MAX;
    text + &left_out::paths(known.len(), PATHS_MAX, is_cut)
}

fn reason(why: UnstoppedReason) -> &'static str {
    match why {
        UnstoppedReason::Starting => "not in MPI_Init yet",
        UnstoppedReason::Ended => "it ended before its supervisor saw it",
        UnstoppedReason::Silent => "its files were not read in time",
        UnstoppedReason::Forbidden => "the kernel forbids it",
        UnstoppedReason::Traced => "another program traces it",
        UnstoppedReason::InKernel => "it is in the kernel and does not come out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(module: &str, name: &str, line: &str) -> FaultStep {
        FaultStep {
            frame: Frame::Function {
                module: module.into(),
                name: name.into(),
            },
            line: line.into(),
        }
    }

    fn fault(signal: Option<i32>, path: Vec<FaultStep>) -> Fault {
        Fault {
            signal,
            code: 1,
            address: Some(0x10),
            tid: 7,
            is_first: true,
            path,
            is_whole: true,
            missing: None,
        }
    }

    fn ended(signal: i32, inside: Option<u16>) -> RankEnded {
        RankEnded {
            rank: Rank(1),
            how: Ended::Signal(signal),
            inside: inside.map(invivo_proto::ids::RegionId),
        }
    }

    #[test]
    fn the_programs_own_function_is_named() {
        let solve = || step("app", "solve", "solver.c:42");
        let copy = step("libc.so.6", "memcpy", "");
        let own = fault(Some(11), vec![solve()]);
        assert_eq!(place(&ended(11, None), &own), ", in solve at solver.c:42");
        let called = fault(Some(11), vec![copy.clone(), solve()]);
        assert_eq!(
            place(&ended(11, None), &called),
            ", in memcpy in libc.so.6, called from solve at solver.c:42"
        );
        assert_eq!(
            place(&ended(11, Some(2)), &called),
            ", called from solve at solver.c:42"
        );
        let aborted = fault(Some(6), vec![step("libc.so.6", "abort", ""), solve()]);
        assert_eq!(
            place(&ended(6, None), &aborted),
            ", in solve at solver.c:42"
        );
        // The launcher killed it while the fault was under way.
        assert_eq!(
            place(&ended(9, None), &own),
            ", after signal 11 (SIGSEGV) in solve at solver.c:42"
        );
    }

    #[test]
    fn equal_paths_are_shown_once() {
        let path = || {
            vec![
                step("app", "solve", "solver.c:42"),
                step("libc.so.6", "_start", ""),
            ]
        };
        let of = |rank| invivo_proto::control::fault::RankFaulted {
            rank: Rank(rank),
            fault: fault(Some(11), path()),
        };
        let saved = EndContext {
            faults: vec![of(1), of(3)],
            ..EndContext::default()
        };
        let both = [1, 3].map(|rank| RankEnded {
            rank: Rank(rank),
            ..ended(11, None)
        });
        assert_eq!(
            paths(&both, &saved),
            "call path of rank 1, address 0x10:\n  solve at solver.c:42\n\
             call path of rank 3: as of rank 1\n"
        );
    }
}
