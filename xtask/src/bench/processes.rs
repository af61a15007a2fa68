//! The processes of a running job other than its ranks, and the CPU time of each.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Names of processes that belong to the tool, as the kernel shortens them.
const TOOLS: [&str; 5] = [
    "tool-process",
    "tool-place",
    "analysis-node",
    "ui-gateway",
    "invivo",
];
/// From the launcher's start to a job that has all its tool processes.
const START_MAX: Duration = Duration::from_secs(30);

/// A process of the tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub id: u32,
    pub name: String,
}

impl Process {
    /// CPU time since it began, in ns.
    pub fn cpu_ns(&self) -> u64 {
        // By threads: the file of the process is that of its first one.
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id));
        let of_task = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        let tasks = tasks.into_iter().flatten().flatten();
        tasks.filter_map(of_task).sum()
    }
}

/// Waits until a job has its tool processes and its gateway, and gives all processes of the tool
/// below that one.
pub fn of_job(launcher: u32) -> Result<Vec<Process>> {
    let begun = Instant::now();
    while begun.elapsed() < START_MAX {
        let all = below(launcher)?;
        let has = |name| all.iter().any(|process: &Process| process.name == name);
        // One for everything, or some with a role each.
        let tools = has("tool-process") || has("tool-place") && has("analysis-node");
        if tools && has("ui-gateway") {
            return Ok(all);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the job has no tool processes")
}

fn below(ancestor: u32) -> Result<Vec<Process>> {
    let mut parents = BTreeMap::new();
    let mut names = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").context("/proc")?.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may end meanwhile.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some((name, parent)) = name_and_parent(&stat) {
            parents.insert(id, parent);
            names.insert(id, name);
        }
    }
    let descends = |id: u32| {
        let mut at = Some(id);
        while let Some(id) = at {
            if id == ancestor {
                return true;
            }
            at = parents.get(&id).copied().filter(|parent| *parent != 0);
        }
        false
    };
    let named = names.into_iter().filter(|(id, _)| descends(*id));
    let all = named.map(|(id, name)| Process { id, name });
    Ok(all
        .filter(|process| TOOLS.contains(&process.name.as_str()))
        .collect())
}

/// Of a line of /proc/PID/stat; the name may hold anything.
pub fn name_and_parent(stat: &str) -> Option<(String, u32)> {
    let (before, behind) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let parent = behind.split_whitespace().nth(1)?.parse().ok()?;
    Some((name, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = "17 (a) b) S 42 17 17 0 -1 4194304 100";
        assert_eq!(name_and_parent(stat), Some(("a) b".to_owned(), 42)));
        assert_eq!(name_and_parent(""), None);
    }

    #[test]
    fn this_process_takes_time_and_has_no_tools() {
        let own = Process {
            id: std::process::id(),
            name: String::new(),
        };
        assert!(own.cpu_ns() > 0);
        assert!(below(own.id).unwrap().is_empty());
    }
}
