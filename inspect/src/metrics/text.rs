//! What files of /proc say (proc(5)).

use invivo_proto::control::metrics::SystemMetric;

/// The part of `/proc/PID/stat` that is needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// One letter; `Z` and `X`: dead.
    pub state: char,
    /// Page faults for which nothing was read from a disk.
    pub minor_faults: u64,
    /// Page faults for which something was.
    pub major_faults: u64,
    /// Its threads.
    pub threads: u64,
}

/// Reads `/proc/PID/stat`.
pub fn stat(line: &str) -> Option<Stat> {
    // The second field is the program's name in parentheses and may hold anything, parentheses and
    // ends of lines too: the last one ends it.
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    // State, faults and threads are fields 3, 10, 12 and 20 of the line. Between them are those of
    // children that were waited for.
    let state = fields.next()?.chars().next()?;
    let minor_faults = fields.nth(6)?.parse().ok()?;
    let major_faults = fields.nth(1)?.parse().ok()?;
    let threads = fields.nth(7)?.parse().ok()?;
    Some(Stat {
        state,
        minor_faults,
        major_faults,
        threads,
    })
}

/// Pages of memory that lie in RAM, of `/proc/PID/statm`.
pub fn resident_pages(line: &str) -> Option<u64> {
    second(line)
}

/// A file of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    Schedstat,
    Status,
    Sched,
    /// It only tells whether the thread lives, which its events do not.
    Comm,
}

impl File {
    /// Its name in the folder of the thread.
    pub fn name(self) -> &'static str {
        match self {
            File::Schedstat => "schedstat",
            File::Status => "status",
            File::Sched => "sched",
            File::Comm => "comm",
        }
    }

    /// What it says, where it is there: of [`SystemMetric::ActiveThreads`] for how long the thread
    /// has run, in ns, which tells whether it is one.
    pub fn values(self, text: &str) -> Option<Vec<(SystemMetric, u64)>> {
        Some(match self {
            File::Schedstat => {
                let (ran, delay) = (first(text)?, run_delay_ns(text)?);
                vec![
                    (SystemMetric::RunDelay, delay),
                    (SystemMetric::ActiveThreads, ran),
                ]
            }
            File::Status => {
                let voluntary = labelled(text, "voluntary_ctxt_switches")?;
                let involuntary = labelled(text, "nonvoluntary_ctxt_switches")?;
                let all = voluntary.saturating_add(involuntary);
                vec![
                    (SystemMetric::ContextSwitches, all),
                    (SystemMetric::InvoluntarySwitches, involuntary),
                ]
            }
            File::Sched => {
                let migrations = labelled(text, "se.nr_migrations")?;
                vec![(SystemMetric::CpuMigrations, migrations)]
            }
            File::Comm => Vec::new(),
        })
    }
}

/// Time that a thread could run and had to wait, in ns, of `/proc/PID/task/TID/schedstat`.
///
/// Nothing where all its numbers are 0: a kernel that does not keep them says so. Where they are
/// kept the first one, the time on a processor, is more in every thread that has run; of one that
/// has not run yet there is nothing to tell either.
pub fn run_delay_ns(line: &str) -> Option<u64> {
    let mut numbers = line.split_ascii_whitespace();
    let is_kept = numbers.any(|number| number != "0");
    second(line).filter(|_| is_kept)
}

fn first(line: &str) -> Option<u64> {
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn second(line: &str) -> Option<u64> {
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The number in the line that begins with a label and a colon: of files that have a line for each
/// value.
pub fn labelled(text: &str, label: &str) -> Option<u64> {
    // From the end, where those lines are that are asked for most; the program's name is above.
    text.lines().rev().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = (name.trim_ascii_end() == label).then_some(value)?;
        value.trim_ascii().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/proc/PID/stat` of a process with this name.
    fn line(name: &str) -> String {
        format!("4711 ({name}) S 1 34 34 0 -1 4194560 120 9999 7 8888 1 2 3 4 20 0 3 0 987 1 42\n")
    }

    #[test]
    fn a_name_may_hold_anything() {
        for name in ["a", "a b", "a) R 1 (b", ")", "", "a\n) Z 0 0", "\u{fffd}(("] {
            let expected = Stat {
                state: 'S',
                minor_faults: 120,
                major_faults: 7,
                threads: 3,
            };
            assert_eq!(stat(&line(name)), Some(expected), "{name:?}");
        }
        let whole = line("a");
        let cut = whole.find(" 20 0").expect("there");
        for line in ["", "4711 (a", "4711 (a)", &whole[..cut], "1 (a) S x y"] {
            assert_eq!(stat(line), None, "{line:?}");
        }
    }

    #[test]
    fn second_fields_are_read() {
        assert_eq!(resident_pages("765 439 410 5 0 123 0\n"), Some(439));
        assert_eq!(run_delay_ns("0 3465882 1\n"), Some(3_465_882));
        for line in ["", "765", "765 x", "765 -1"] {
            assert_eq!(second(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_delay_that_no_kernel_keeps_is_none() {
        assert_eq!(run_delay_ns("0 0 0\n"), None);
        assert_eq!(run_delay_ns("5132 0 1\n"), Some(0), "it never had to wait");
        assert_eq!(run_delay_ns("0 0 1\n"), Some(0));
        assert_eq!(run_delay_ns(""), None);
    }

    #[test]
    fn lines_with_labels_are_read() {
        let status = "Name:\tvoluntary_ctxt_switches:\t9\nUmask:\t0022\nCpus_allowed_list:\t0-1\n\
            voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(labelled(status, "voluntary_ctxt_switches"), Some(150));
        assert_eq!(labelled(status, "nonvoluntary_ctxt_switches"), Some(545));
        let io = "rchar: 6998\nread_bytes: 0\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n";
        assert_eq!(labelled(io, "read_bytes"), Some(0));
        assert_eq!(labelled(io, "write_bytes"), Some(4096));
        let sched = "a (9034, #threads: 1)\n----\n\
            se.sum_exec_runtime      :   0.25\nse.nr_migrations       :    12\n";
        assert_eq!(labelled(sched, "se.nr_migrations"), Some(12));
        assert_eq!(labelled(sched, "se.sum_exec_runtime"), None, "no count");
        assert_eq!(labelled(sched, "nr_switches"), None);
        assert_eq!(labelled("", ""), None);
    }
}
