//! Reads `/proc/PID/stat`: parents, process groups, start times and the states of threads.

use std::path::PathBuf;

/// The longest chain of ancestors that is followed: deeper nesting than any launcher makes, and an
/// end for a table that changes while it is read.
const ANCESTORS_MAX: usize = 64;

/// The part of `/proc/PID/stat` that is needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// One letter: `R`unning, `S`leeping, `D` in the kernel, `T` stopped, `t` traced, `Z` or `X`
    /// dead.
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// When it started, in clock ticks since the boot.
    pub start: u64,
}

/// Reads a line of `/proc/PID/stat`.
fn parse(line: &str) -> Option<Stat> {
    // The second field is the program's name in parentheses and may hold anything, parentheses too:
    // the last one ends it.
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Field 22 of the line; state, parent and group are 3 to 5.
    let start = fields.nth(16)?.parse().ok()?;
    Some(Stat {
        state,
        parent,
        group,
        start,
    })
}

/// A process, or nothing when it is gone.
pub fn stat(pid: i32) -> Option<Stat> {
    parse(&read(format!("/proc/{pid}/stat"))?)
}

/// The file as text: a process may give itself a name that is no UTF-8.
fn read(path: String) -> Option<String> {
    std::fs::read(path)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The threads of a process with their states; empty when it is gone.
pub fn threads(pid: i32) -> Vec<(u32, char)> {
    let Ok(tasks) = std::fs::read_dir(PathBuf::from(format!("/proc/{pid}/task"))) else {
        return Vec::new();
    };
    tasks
        .filter_map(|task| {
            let tid: u32 = task.ok()?.file_name().to_str()?.parse().ok()?;
            // A thread that ends meanwhile is simply not there any more.
            let stat = parse(&read(format!("/proc/{pid}/task/{tid}/stat"))?)?;
            Some((tid, stat.state))
        })
        .collect()
}

/// Whether `pid` descends from `ancestor`, or is it.
pub fn descends(pid: i32, ancestor: i32) -> bool {
    lineage(pid).any(|(pid, _)| pid == ancestor)
}

/// The launcher's process on this node: the nearest ancestor of `pid` outside of its process group.
/// Launchers give every rank a group of its own; a script that they start in our place is in our
/// group.
pub fn launcher(pid: i32) -> i32 {
    let group = stat(pid).map(|stat| stat.group);
    lineage(pid)
        .find(|(_, stat)| Some(stat.group) != group)
        .map_or(0, |(pid, _)| pid)
}

/// A process, its parent and so on upwards.
fn lineage(pid: i32) -> impl Iterator<Item = (i32, Stat)> {
    let with_stat = |pid: i32| stat(pid).map(|stat| (pid, stat));
    std::iter::successors(with_stat(pid), move |(_, stat)| with_stat(stat.parent))
        .take(ANCESTORS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = "4711 (a) R 1 (b\u{fffd}) S 12 34 34 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 987 0";
        assert_eq!(
            parse(line),
            Some(Stat {
                state: 'S',
                parent: 12,
                group: 34,
                start: 987
            })
        );
        for line in [
            "",
            "4711 (x",
            "4711 (x)",
            "4711 (x) S",
            "4711 (x) S y 3",
            "4711 (x) S 1 3 3",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn relations_are_those_of_the_kernel() {
        let me = std::process::id() as i32;
        let parent = std::os::unix::process::parent_id() as i32;
        assert_eq!(stat(me).expect("alive").parent, parent);
        assert!(descends(me, parent) && descends(me, me) && !descends(parent, me));
        assert!(threads(me).iter().any(|(tid, _)| *tid == me as u32));
        assert_eq!(stat(i32::MAX), None);
        assert!(threads(i32::MAX).is_empty());
    }

    #[test]
    fn the_launcher_is_the_first_ancestor_outside_of_the_group() {
        use std::os::unix::process::CommandExt;
        let me = std::process::id() as i32;
        let mut outer = std::process::Command::new("sh");
        outer
            .args(["-c", "sh -c 'echo $$; read x; :'; :"])
            .process_group(0);
        outer
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut outer = outer.spawn().expect("sh");
        let mut line = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(outer.stdout.take().expect("piped")),
            &mut line,
        )
        .expect("a line");
        let inner: i32 = line.trim().parse().expect("a number");
        assert_ne!(inner, outer.id() as i32, "two shells");
        assert_eq!(launcher(inner), me);
        drop(outer.stdin.take());
        outer.wait().expect("ended");
    }
}
