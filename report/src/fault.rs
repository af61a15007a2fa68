//! Where the thread was that ended its rank: in a few words, and as its call path.

use crate::death::{ABORT, signal_name};
use crate::left_out;
use crate::rows::{EndedRow, FaultRow, StepRow};
use invivo_proto::control::fault::FAULTS_MAX;

/// How files begin that hold no code of the program: of the system, of languages, of MPI and what
/// it loads. A fault in one of these is mostly the caller's.
const RUNTIMES: [&str; 32] = [
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
    // Python's: the interpreter, what calls C for it, and mpi4py.
    "libpython",
    "python3",
    "libffi",
    "_ctypes.",
    "ctypes/",
    "MPI.",
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

/// Where a rank's thread was, for behind its sentence: ", in solve at solver.c:42"; nothing where
/// that is not known.
pub fn place(ended: &EndedRow) -> String {
    let Some(fault) = &ended.fault else {
        return String::new();
    };
    let at = at(fault, ended.inside.is_some());
    let is_abort = ended.inside.as_deref() == Some(ABORT);
    let is_end = match (ended.signal, fault.signal) {
        (Some(end), Some(signal)) => end == signal,
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

fn at(fault: &FaultRow, in_mpi: bool) -> String {
    let own = fault.path.iter().find(|step| is_own(step));
    let Some(first) = fault.path.first() else {
        let missing = fault.missing.iter();
        let missing = missing.map(|why| format!("its call path is not known: {why}"));
        return missing.collect();
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

fn is_own(step: &StepRow) -> bool {
    names(step).is_some_and(|(file, _)| {
        !file.is_empty() && !RUNTIMES.iter().any(|runtime| file.starts_with(runtime))
    })
}

/// File and function; nothing for functions that are left out.
fn names(step: &StepRow) -> Option<(&str, &str)> {
    (!step.left_out).then_some((&step.file, &step.function))
}

/// `solve at solver.c:42`, `memcpy in libc.so.6`, `libc.so.6+0x1234`.
fn shown(step: &StepRow) -> String {
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
pub fn paths(ended: &[EndedRow]) -> String {
    let faults = ended.iter().filter_map(|one| {
        let fault = one.fault.as_ref()?;
        Some((one.rank, fault))
    });
    let faults: Vec<(u32, &FaultRow)> = faults.collect();
    let is_cut = faults.len() >= FAULTS_MAX;
    let with_path = faults.into_iter().filter(|(_, of)| !of.path.is_empty());
    let known: Vec<(u32, &FaultRow)> = with_path.collect();
    let mut text = String::new();
    let mut shown_paths: Vec<(u32, &FaultRow)> = Vec::new();
    for &(rank, fault) in known.iter().take(PATHS_MAX) {
        let mut before = shown_paths.iter();
        if let Some((as_of, _)) = before.find(|(_, other)| other.path == fault.path) {
            text.push_str(&format!("call path of rank {rank}: as of rank {as_of}\n"));
            continue;
        }
        let thread = match fault.first_thread {
            true => String::new(),
            false => format!(", thread {}", fault.thread),
        };
        let address = fault.address.map(|at| format!(", address {at:#x}"));
        text.push_str(&format!(
            "call path of rank {rank}{thread}{}:\n",
            address.unwrap_or_default()
        ));
        let is_start_up =
            |step: &&StepRow| names(step).is_some_and(|(_, function)| START_UP.contains(&function));
        for step in fault.path.iter().filter(|step| !is_start_up(step)) {
            text.push_str(&format!("  {}\n", shown(step)));
        }
        if !fault.whole {
            text.push_str("  callers that are not known\n");
        }
        if let Some(why) = &fault.without_python {
            text.push_str(&format!("  Python's functions are not told: {why}\n"));
        }
        shown_paths.push((rank, fault));
    }
    text + &left_out::paths(known.len(), PATHS_MAX, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(file: &str, function: &str, line: &str) -> StepRow {
        StepRow {
            file: file.into(),
            function: function.into(),
            line: line.into(),
            left_out: false,
        }
    }

    fn fault(signal: Option<i32>, path: Vec<StepRow>) -> FaultRow {
        FaultRow {
            signal,
            code: 1,
            address: Some(0x10),
            thread: 7,
            first_thread: true,
            path,
            whole: true,
            missing: None,
            without_python: None,
        }
    }

    fn ended(signal: i32, inside: Option<&str>, fault: &FaultRow) -> EndedRow {
        EndedRow {
            rank: 1,
            signal: Some(signal),
            inside: inside.map(str::to_owned),
            fault: Some(fault.clone()),
            ..EndedRow::default()
        }
    }

    #[test]
    fn the_programs_own_function_is_named() {
        let solve = || step("app", "solve", "solver.c:42");
        let copy = step("libc.so.6", "memcpy", "");
        let own = fault(Some(11), vec![solve()]);
        assert_eq!(place(&ended(11, None, &own)), ", in solve at solver.c:42");
        let called = fault(Some(11), vec![copy.clone(), solve()]);
        assert_eq!(
            place(&ended(11, None, &called)),
            ", in memcpy in libc.so.6, called from solve at solver.c:42"
        );
        assert_eq!(
            place(&ended(11, Some("MPI_Send"), &called)),
            ", called from solve at solver.c:42"
        );
        let aborted = fault(Some(6), vec![step("libc.so.6", "abort", ""), solve()]);
        assert_eq!(
            place(&ended(6, None, &aborted)),
            ", in solve at solver.c:42"
        );
        // The launcher killed it while the fault was under way.
        assert_eq!(
            place(&ended(9, None, &own)),
            ", after signal 11 (SIGSEGV) in solve at solver.c:42"
        );
    }

    #[test]
    fn the_python_function_is_named_not_its_caller_in_c() {
        let path = vec![
            step("libc.so.6", "memcpy", ""),
            step("libffi.so.8", "", "+0x1"),
            step("_ctypes.cpython-311-x86_64-linux-gnu.so", "", "+0x2"),
            step("solve.py", "solve", "solve.py:12"),
        ];
        let mut fault = fault(Some(11), path);
        fault.without_python = Some("the reason".to_owned());
        let ended = ended(11, None, &fault);
        assert_eq!(
            place(&ended),
            ", in memcpy in libc.so.6, called from solve at solve.py:12"
        );
        let text = paths(&[ended]);
        assert!(text.contains("  solve at solve.py:12\n"), "{text}");
        assert!(text.contains("are not told: the reason\n"), "{text}");
    }

    #[test]
    fn equal_paths_are_shown_once() {
        let path = || {
            vec![
                step("app", "solve", "solver.c:42"),
                step("libc.so.6", "_start", ""),
            ]
        };
        let both = [1, 3].map(|rank| EndedRow {
            rank,
            ..ended(11, None, &fault(Some(11), path()))
        });
        assert_eq!(
            paths(&both),
            "call path of rank 1, address 0x10:\n  solve at solver.c:42\n\
             call path of rank 3: as of rank 1\n"
        );
    }
}
