//! `srun`'s command line. Its short options are one letter, with the value behind it or in the next
//! argument; its long ones take the value behind `=` or in the next argument, but for those whose
//! value may be left out, which take it behind `=` only.

use super::extended_line::{Count, Line, LineError, Part, set_count};
use super::tables::Flavour;
use std::ffi::OsString;

/// Options that say how many processes to start.
const COUNTS: [&str; 2] = ["n", "ntasks"];

/// Options that take no value, or none that stands in an argument of its own.
const WITHOUT: &[&str] = &[
    "E",
    "H",
    "I",
    "K",
    "O",
    "Q",
    "X",
    "Z",
    "k",
    "l",
    "s",
    "u",
    "v",
    "bcast",
    "compress",
    "contiguous",
    "disable-status",
    "exact",
    "exclusive",
    "hold",
    "immediate",
    "interactive",
    "kill-on-bad-exit",
    "label",
    "multi-prog",
    "nice",
    "no-allocate",
    "no-kill",
    "overcommit",
    "overlap",
    "oversubscribe",
    "preserve-env",
    "pty",
    "quiet",
    "reboot",
    "send-libs",
    "spread-job",
    "unbuffered",
    "use-min-nodes",
    "verbose",
    "wait-all-nodes",
    "whole",
];

/// Options that take a value.
const WITH: &[&str] = &[
    "A",
    "B",
    "C",
    "D",
    "F",
    "G",
    "J",
    "L",
    "M",
    "N",
    "S",
    "T",
    "W",
    "c",
    "d",
    "e",
    "i",
    "m",
    "o",
    "p",
    "q",
    "r",
    "t",
    "w",
    "x",
    "account",
    "acctg-freq",
    "bb",
    "bbf",
    "chdir",
    "cluster-constraint",
    "clusters",
    "comment",
    "constraint",
    "container",
    "core-spec",
    "cores-per-socket",
    "cpu-bind",
    "cpu-freq",
    "cpus-per-gpu",
    "cpus-per-task",
    "deadline",
    "delay-boot",
    "dependency",
    "distribution",
    "epilog",
    "error",
    "exclude",
    "export",
    "export-file",
    "extra-node-info",
    "gid",
    "gpu-bind",
    "gpu-freq",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "gres-flags",
    "hint",
    "input",
    "job-name",
    "jobid",
    "licenses",
    "mail-type",
    "mail-user",
    "mcs-label",
    "mem",
    "mem-bind",
    "mem-per-cpu",
    "mem-per-gpu",
    "mincpus",
    "mpi",
    "msg-timeout",
    "network",
    "nodefile",
    "nodelist",
    "nodes",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-socket",
    "open-mode",
    "output",
    "partition",
    "power",
    "prefer",
    "priority",
    "profile",
    "prolog",
    "propagate",
    "qos",
    "relative",
    "reservation",
    "signal",
    "slurmd-debug",
    "sockets-per-node",
    "switches",
    "task-epilog",
    "task-prolog",
    "thread-spec",
    "threads",
    "threads-per-core",
    "time",
    "time-min",
    "tmp",
    "tres-bind",
    "tres-per-task",
    "uid",
    "wait",
    "wckey",
];

/// An option as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its name without dashes, long where it has a long one that is of interest here.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The argument with the value, or the option's own where it has none.
    pub at: usize,
}

/// Names of one letter and what they stand for.
const SHORT: [(&str, &str); 5] = [
    ("N", "nodes"),
    ("O", "overcommit"),
    ("c", "cpus-per-task"),
    ("m", "distribution"),
    ("n", "ntasks"),
];

/// The options of a line, of which the first word is `srun`, and where the program begins.
pub fn scan(args: &[OsString]) -> Result<(Vec<Said>, usize), LineError> {
    let mut all = Vec::new();
    let mut at = 1;
    loop {
        let arg = args.get(at).ok_or(LineError::NoProgram)?;
        let Some((name, value)) = arg.to_str().and_then(split) else {
            return Ok((all, at));
        };
        let shown = || arg.to_string_lossy().into_owned();
        if name == "het-group" {
            return Err(LineError::Heterogeneous);
        }
        let takes = COUNTS.contains(&name) || WITH.contains(&name);
        if !takes && !WITHOUT.contains(&name) {
            return Err(LineError::UnknownOption(shown()));
        }
        let next = at + usize::from(takes && value.is_none());
        let behind = args.get(next).ok_or_else(|| LineError::NoValue(shown()))?;
        let value = match (takes, value) {
            (false, _) => String::new(),
            (true, Some(value)) => value.to_owned(),
            (true, None) => behind.to_string_lossy().into_owned(),
        };
        // `-lO` and `-On4` are two options each.
        let letters = arg.to_str().and_then(|arg| arg.strip_prefix('-'));
        let flags = letters
            .unwrap_or_default()
            .char_indices()
            .map(|(at, letter)| {
                let end = at + letter.len_utf8();
                letters
                    .and_then(|letters| letters.get(at..end))
                    .unwrap_or_default()
            });
        if name != "O"
            && flags
                .take_while(|flag| WITHOUT.contains(flag))
                .any(|flag| flag == "O")
        {
            all.push(Said {
                name: "overcommit".to_owned(),
                value: String::new(),
                at,
            });
        }
        let long = SHORT.iter().find(|(short, _)| *short == name);
        all.push(Said {
            name: long.map_or(name, |(_, long)| long).to_owned(),
            value,
            at: next,
        });
        at = next + 1;
    }
}

/// Reads `args`, of which the first is `srun`.
pub fn read(args: &[OsString]) -> Result<Line, LineError> {
    let (options, at) = scan(args)?;
    if args[at..].iter().any(|arg| arg == ":") {
        return Err(LineError::Heterogeneous);
    }
    let mut count: Option<Count> = None;
    for said in options.iter().filter(|said| said.name == "ntasks") {
        set_count(&mut count, args, said.at, Some(&said.value), "--ntasks")?;
    }
    let (count, count_at, count_prefix) = count.ok_or(LineError::NoCount)?;
    let part = Part {
        count,
        count_at,
        count_prefix,
        program: at..args.len(),
    };
    Ok(Line {
        flavour: Flavour::Slurm,
        parts: vec![part],
        // Slurm says by itself what an allocation has room for.
        placed: true,
        hosts: true,
        bound: true,
        names_file: options.iter().any(|said| said.name == "multi-prog"),
    })
}

/// An option's name, and its value where it stands in the same argument.
fn split(arg: &str) -> Option<(&str, Option<&str>)> {
    if let Some(long) = arg.strip_prefix("--") {
        return match long.split_once('=') {
            Some((name, value)) => Some((name, Some(value))),
            None => Some((long, None)),
        }
        .filter(|(name, _)| !name.is_empty());
    }
    let short = arg.strip_prefix('-')?;
    let letter = short.chars().next()?;
    let (name, rest) = short.split_at(letter.len_utf8());
    // `-lu` is two options without values, `-n4` one with its value.
    let several = WITHOUT.contains(&name) && !rest.is_empty();
    Some(match rest {
        "" => (name, None),
        _ if several => split_off(short),
        _ => (name, Some(rest)),
    })
}

/// Letters without values, joined; the last one may take one.
fn split_off(short: &str) -> (&str, Option<&str>) {
    let joined = short
        .char_indices()
        .find(|(at, letter)| !WITHOUT.contains(&&short[*at..at + letter.len_utf8()]));
    match joined {
        None => (&short[..1], None),
        Some((at, letter)) => {
            let (name, rest) = short[at..].split_at(letter.len_utf8());
            (name, Some(rest).filter(|rest| !rest.is_empty()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn extended(line: &str) -> Result<String, LineError> {
        let args = words(line);
        let read = read(&args)?;
        assert_eq!(read.ranks(), 4, "{line}");
        let line = read.extended(&args, &read.tools_at_the_end(2), &words("invivo exec --"));
        let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
        Ok(line.join(" "))
    }

    #[test]
    fn the_count_is_replaced_however_it_is_written() {
        for (line, expected) in [
            (
                "srun -n 4 ./app -n 4",
                "srun -n 6 invivo exec -- ./app -n 4",
            ),
            ("srun -n4 ./app", "srun -n6 invivo exec -- ./app"),
            ("srun -ln4 ./app", "srun -ln6 invivo exec -- ./app"),
            ("srun -lu -n4 ./app", "srun -lu -n6 invivo exec -- ./app"),
            (
                "srun --mpi=pmix --ntasks=4 -N1 --label ./app",
                "srun --mpi=pmix --ntasks=6 -N1 --label invivo exec -- ./app",
            ),
            (
                "srun --mpi pmi2 --ntasks 4 --exclusive -t 5:00 ./app",
                "srun --mpi pmi2 --ntasks 6 --exclusive -t 5:00 invivo exec -- ./app",
            ),
            ("srun --multi-prog -n 4 file", "srun --multi-prog -n 6 file"),
        ] {
            assert_eq!(extended(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_extended_says_why() {
        for (line, error) in [
            ("srun ./app", LineError::NoCount),
            ("srun -n 4", LineError::NoProgram),
            ("srun -n", LineError::NoValue("-n".into())),
            ("srun -n4 -t", LineError::NoValue("-t".into())),
            ("srun -n four ./app", LineError::BadCount("four".into())),
            ("srun -n4 --ntasks=4 ./app", LineError::TwoCounts),
            (
                "srun -n4 --frobnicate ./app",
                LineError::UnknownOption("--frobnicate".into()),
            ),
            ("srun -n4 --multi-prog", LineError::NoProgram),
            ("srun -n2 ./a : -n2 ./b", LineError::Heterogeneous),
            ("srun -n2 --het-group=0,1 ./a", LineError::Heterogeneous),
        ] {
            assert_eq!(extended(line), Err(error), "{line}");
        }
    }

    #[test]
    fn options_are_known_by_their_long_names() {
        let line = words("srun -N2 -lOt5 --ntasks-per-node=3 -c 2 -m cyclic ./app -n 4");
        let (said, program) = scan(&line).expect("a line");
        let found: Vec<_> = said
            .iter()
            .map(|said| (said.name.as_str(), said.value.as_str(), said.at))
            .filter(|(name, ..)| *name != "t")
            .collect();
        assert_eq!(
            found,
            [
                ("nodes", "2", 1),
                ("overcommit", "", 2),
                ("ntasks-per-node", "3", 3),
                ("cpus-per-task", "2", 5),
                ("distribution", "cyclic", 7),
            ]
        );
        assert_eq!(line[program], "./app");
    }

    #[test]
    fn no_option_stands_in_two_tables() {
        let mut all: Vec<&str> = [COUNTS.as_slice(), WITHOUT, WITH].concat();
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
    }
}
