//! The call paths of all ranks as one tree of functions, and how they were taken.

use invivo_grpc::v1::{StacksNode, StacksReply, StacksWithoutPython};
use invivo_report::table::{Side, Table};
use invivo_report::units::{count, counted, duration};

/// Characters of a list of ranks in a line.
const WHICH_CHARS_MAX: usize = 20;
/// Trees that are deeper have narrow steps.
const DEEP: u32 = 24;
/// Functions above the program's own.
pub const BEGINNINGS: [&str; 8] = [
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "clone",
    "clone3",
    "__clone3",
    "start_thread",
];

/// What is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Numbers of threads.
    pub threads: bool,
    /// What is inside the MPI library.
    pub inside: bool,
}

/// The whole answer.
pub fn text(stacks: &StacksReply, shown: Shown) -> String {
    let tree = Tree::of(&stacks.nodes);
    let mut lines = Vec::new();
    let roots = tree.own(&tree.roots);
    tree.lines(&tree.sorted(&roots), 0, shown, &mut lines);

    let step = if lines.iter().any(|line| line.depth > DEEP) {
        1
    } else {
        2
    };
    let mut heads = vec![
        ("ranks", Side::Right),
        ("which", Side::Left),
        ("where", Side::Left),
    ];
    if shown.threads {
        heads.insert(1, ("threads", Side::Right));
    }
    let mut table = Table::new(heads);
    for line in &lines {
        let blanks = step * line.depth as usize;
        let mut cells = vec![
            line.ranks.clone(),
            line.which.clone(),
            format!("{:blanks$}{}", "", line.text),
        ];
        if shown.threads {
            cells.insert(1, count(line.threads));
        }
        table.row(cells);
    }

    let mut text = table.text();
    let notes = notes(stacks);
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text.push_str(&note);
        text.push('\n');
    }
    text
}

struct Line {
    depth: u32,
    ranks: String,
    threads: u64,
    which: String,
    text: String,
}

/// The list as a tree.
struct Tree<'a> {
    nodes: &'a [StacksNode],
    roots: Vec<usize>,
    below: Vec<Vec<usize>>,
}

impl<'a> Tree<'a> {
    fn of(nodes: &'a [StacksNode]) -> Tree<'a> {
        let mut below = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        let mut path: Vec<usize> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            // The list is in depth-first order: the path to a node ends at its caller.
            path.truncate(node.depth as usize);
            match path.last() {
                Some(above) => below[*above].push(at),
                None => roots.push(at),
            }
            path.push(at);
        }
        Tree {
            nodes,
            roots,
            below,
        }
    }

    /// The first nodes that are the program's: what begins a program or a thread tells nothing.
    fn own(&self, nodes: &[usize]) -> Vec<usize> {
        let own = |at: &usize| {
            let (node, below) = (&self.nodes[*at], &self.below[*at]);
            let is_libc = ["libc.", "libc-"]
                .iter()
                .any(|name| node.module.starts_with(name));
            let is_unnamed = node.function.is_empty() && is_libc;
            let is_beginning = is_unnamed || BEGINNINGS.contains(&node.function.as_str());
            let told = below.iter().map(|at| self.nodes[*at].threads).sum::<u64>();
            if node.kind == "function" && is_beginning && told == node.threads && told > 0 {
                self.own(below)
            } else {
                vec![*at]
            }
        };
        nodes.iter().flat_map(own).collect()
    }

    /// Where most threads are comes first.
    fn sorted(&self, nodes: &[usize]) -> Vec<usize> {
        let mut sorted = nodes.to_vec();
        sorted.sort_by_key(|at| {
            let node = &self.nodes[*at];
            (std::cmp::Reverse(node.threads), node.representative, *at)
        });
        sorted
    }

    fn lines(&self, nodes: &[usize], depth: u32, shown: Shown, lines: &mut Vec<Line>) {
        for at in nodes {
            let node = &self.nodes[*at];
            lines.push(Line {
                depth,
                ranks: count(node.ranks.into()),
                threads: node.threads,
                which: shortened(&node.which),
                text: name(node),
            });
            // What the library does inside a call is its own affair, unless it is asked for.
            if is_mpi(node) && !shown.inside {
                continue;
            }
            let below = self.sorted(&self.below[*at]);
            self.lines(&below, depth + 1, shown, lines);

            // The answer has a size limit: branches with few threads may be missing.
            let told = below.iter().map(|at| self.nodes[*at].threads).sum::<u64>();
            let cut = node.threads.saturating_sub(node.ends.saturating_add(told));
            if cut > 0 {
                lines.push(Line {
                    depth: depth + 1,
                    ranks: String::new(),
                    threads: cut,
                    which: String::new(),
                    text: format!("({} more below that are not told)", counted(cut, "thread")),
                });
            }
        }
    }
}

/// Whether it is a function of MPI: behind it is the library.
fn is_mpi(node: &StacksNode) -> bool {
    crate::profile::is_mpi(&node.kind, &node.function, &node.module)
}

fn name(node: &StacksNode) -> String {
    match node.kind.as_str() {
        "lost" => return "(callers that are not known)".to_owned(),
        "left out" => return "(...)".to_owned(),
        _ => {}
    }
    let function = if node.function.is_empty() {
        "?"
    } else {
        &node.function
    };
    if is_mpi(node) {
        // Symbol tables have MPI_Send and PMPI_Send at one address; users know it without the P.
        let by_the_other = function
            .strip_prefix('P')
            .filter(|name| name.starts_with("MPI_"));
        return by_the_other.unwrap_or(function).to_owned();
    }
    let mut lines: Vec<_> = node.lines.iter().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.threads));
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let is_source = texts.iter().any(|text| !text.starts_with('+'));
    match (is_source, node.module.is_empty()) {
        (true, _) => format!("{function} ({})", texts.join(", ")),
        (false, true) => format!("{function} (code in no file)"),
        (false, false) => format!("{function} in {}", node.module),
    }
}

fn shortened(which: &str) -> String {
    if which.len() <= WHICH_CHARS_MAX {
        return which.to_owned();
    }
    // Cut between two ranks, not within a number.
    let whole = which[..WHICH_CHARS_MAX].rfind(',').unwrap_or(0);
    format!("{},...", &which[..whole])
}

/// How the paths were taken, and what is missing, each in a sentence.
fn notes(stacks: &StacksReply) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for way in &stacks.ways {
        notes.push(match way.way.as_str() {
            "stopped" => format!(
                "{} stopped for at most {} (rank {})",
                were(way.threads),
                duration(stacks.longest_stop_ns),
                stacks.longest_stop_rank
            ),
            "asleep" => format!(
                "{} read asleep: in a system call that would have noticed a stop",
                were(way.threads)
            ),
            "unstopped" => format!(
                "{}: what can be told without a stop: {}",
                ranks(way.ranks, &way.which),
                why(&way.reason)
            ),
            _ => format!(
                "{}: not in the tree: {}",
                ranks(way.ranks, &way.which),
                why(&way.reason)
            ),
        });
    }
    for without in &stacks.without_python {
        notes.push(format!(
            "{}: functions of the Python interpreter stand for those that it executes: {}",
            ranks(without.ranks, &without.which),
            why_without(without)
        ));
    }
    if stacks.threads_left_out > 0 {
        notes.push(format!(
            "{} not told: of ranks that have too many, or more than are reached in time",
            counted(stacks.threads_left_out, "thread")
        ));
    }
    if stacks.threads_unnamed > 0 {
        notes.push(format!(
            "{} in functions whose names are still being read: ask again",
            counted(stacks.threads_unnamed, "thread")
        ));
    }
    notes
}

fn were(threads: u64) -> String {
    let verb = if threads == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(threads, "thread"))
}

fn ranks(ranks: u32, which: &str) -> String {
    let noun = if ranks == 1 { "rank" } else { "ranks" };
    format!("{noun} {which}")
}

fn why_without(without: &StacksWithoutPython) -> String {
    match without.reason.as_str() {
        "version" => format!(
            "where Python {} keeps them is not known (3.9 to 3.14 are)",
            without.version
        ),
        "free-threaded" => "an interpreter without a global lock keeps them otherwise".to_owned(),
        "no runtime" => {
            "its file does not say where its tables are (the symbol _PyRuntime is missing)"
                .to_owned()
        }
        "unreadable" => "what stands in its tables makes no sense; ask again".to_owned(),
        other => other.to_owned(),
    }
}

fn why(reason: &str) -> &str {
    match reason {
        "starting" => "not in MPI_Init yet",
        "ended" => "it has ended",
        "silent" => "its supervisor did not answer in time; ask again",
        "forbidden" => {
            "the kernel forbids it (kernel.yama.ptrace_scope must be 0 or 1, and a container must \
             allow ptrace)"
        }
        "traced" => "another program traces it, which only one can (a debugger)",
        "in the kernel" => "it is in the kernel and does not come out",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::StacksLine;
    use invivo_grpc::v1::StacksWay;

    fn node(
        depth: u32,
        function: &str,
        module: &str,
        which: (u32, &str),
        ends: u64,
        line: &str,
    ) -> StacksNode {
        let line = StacksLine {
            text: line.into(),
            threads: which.0.into(),
        };
        StacksNode {
            depth,
            kind: "function".into(),
            function: function.into(),
            module: module.into(),
            ranks: which.0,
            threads: which.0.into(),
            ends,
            which: which.1.into(),
            representative: which
                .1
                .split(['-', ','])
                .next()
                .and_then(|rank| rank.parse().ok())
                .unwrap_or(0),
            lines: if line.text.is_empty() {
                vec![]
            } else {
                vec![line]
            },
        }
    }

    fn reply() -> StacksReply {
        let way = |way: &str, reason: &str, ranks: u32, which: &str| StacksWay {
            way: way.into(),
            reason: reason.into(),
            ranks,
            threads: ranks.into(),
            which: which.into(),
        };
        StacksReply {
            nodes: vec![
                node(0, "_start", "app", (4, "0-3"), 0, ""),
                node(1, "", "libc.so.6", (4, "0-3"), 0, "+0x2724a"),
                node(2, "main", "app", (4, "0-3"), 0, "app.c:80"),
                node(3, "compute", "app", (1, "3"), 1, "app.c:20"),
                node(3, "exchange", "app", (3, "0-2"), 0, "app.c:41"),
                node(4, "PMPI_Recv", "libmpi.so.40", (3, "0-2"), 1, "+0x1"),
                node(5, "", "libopen-pal.so.40", (1, "0"), 1, "+0x2"),
            ],
            ways: vec![
                way("stopped", "", 4, "0-3"),
                way("missing", "forbidden", 2, "4-5"),
            ],
            ranks: 6,
            longest_stop_ns: 43_000,
            longest_stop_rank: 2,
            ..StacksReply::default()
        }
    }

    #[test]
    fn functions_stand_below_their_callers_and_most_ranks_first() {
        assert_eq!(
            text(&reply(), Shown::default()),
            "ranks  which  where\n\
             \x20   4  0-3    main (app.c:80)\n\
             \x20   3  0-2      exchange (app.c:41)\n\
             \x20   3  0-2        MPI_Recv\n\
             \x20   1  3        compute (app.c:20)\n\
             \n\
             4 threads were stopped for at most 43.0 us (rank 2)\n\
             ranks 4-5: not in the tree: the kernel forbids it (kernel.yama.ptrace_scope must be 0 \
             or 1, and a container \
             must allow ptrace)\n"
        );
    }

    #[test]
    fn python_functions_have_their_lines_and_their_absence_a_reason() {
        let python = |depth, function: &str, line: &str| StacksNode {
            kind: "python".into(),
            ..node(depth, function, "libmpi_solve.py", (1, "0"), 0, line)
        };
        let mut reply = reply();
        reply.nodes = vec![
            python(0, "<module>", "libmpi_solve.py:40"),
            python(1, "mpi_step", "libmpi_solve.py:12"),
            node(2, "PMPI_Recv", "libmpi.so.40", (1, "0"), 1, "+0x1"),
        ];
        let without = |reason: &str, version: &str| StacksWithoutPython {
            reason: reason.into(),
            version: version.into(),
            ranks: 2,
            threads: 2,
            which: "4-5".into(),
        };
        reply.without_python = vec![without("version", "3.7"), without("no runtime", "")];
        let text = text(&reply, Shown::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..4],
            [
                "    1  0      <module> (libmpi_solve.py:40)",
                "    1  0        mpi_step (libmpi_solve.py:12)",
                "    1  0          MPI_Recv",
            ]
        );
        assert!(
            text.contains("ranks 4-5: ") && text.contains("Python 3.7 keeps them is not known"),
            "{text}"
        );
        assert!(text.contains("_PyRuntime is missing"), "{text}");
    }

    #[test]
    fn what_is_inside_the_library_is_shown_when_asked_for() {
        let shown = Shown {
            threads: true,
            inside: true,
        };
        let text = text(&reply(), shown);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ranks  threads  which  where");
        assert_eq!(
            lines[4],
            "    1        1  0            ? in libopen-pal.so.40"
        );
        // One of the three is neither in the call nor in what is told below it.
        assert!(
            lines[5].ends_with("(1 thread more below that are not told)"),
            "{text}"
        );
    }

    #[test]
    fn many_ranks_are_not_all_listed() {
        assert_eq!(shortened("0-3,7"), "0-3,7");
        assert_eq!(
            shortened("0,2,4,6,8,10,12,14,16,18"),
            "0,2,4,6,8,10,12,14,..."
        );
    }
}
