//! Who calls whom in a library, read from its machine code.
//!
//! A function that another one names counts as called by it: also where it only takes its address.
//! What is called through a pointer that lies in data is not seen.

use crate::run::show;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

/// Functions by name, with those that they name.
#[derive(Default)]
pub struct CallGraph(BTreeMap<String, BTreeSet<String>>);

/// A way through the graph, from its first function to its last.
pub type Way = Vec<String>;

impl CallGraph {
    /// The graph of a library that still has its symbols.
    pub fn of(library: &Path) -> Result<CallGraph> {
        let mut objdump = Command::new("objdump");
        objdump.args(["--disassemble", "--no-show-raw-insn", "--demangle"]);
        objdump.arg(library);
        let output = objdump
            .output()
            .with_context(|| format!("cannot start {}", show(&objdump)))?;
        ensure!(output.status.success(), "{}", show(&objdump));
        Ok(CallGraph::read(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The graph of what `objdump` has printed.
    pub fn read(listing: &str) -> CallGraph {
        let mut graph = CallGraph::default();
        let mut function = None;
        for line in listing.lines() {
            let Some(name) = between(line, '<', '>').map(without_hashes) else {
                continue;
            };
            if line.ends_with(">:") {
                graph.0.entry(name.clone()).or_default();
                function = Some(name);
            } else if let Some(of) = function.as_ref().and_then(|name| graph.0.get_mut(name)) {
                // A place inside a function is a jump of its own.
                if !name.contains("+0x") {
                    of.insert(name);
                }
            }
        }
        graph
    }

    /// The names of all functions that are defined.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The shortest ways from `roots` to each function that `is_goal`, through functions that are
    /// neither goals nor `is_left_out`. Gives those left out that were met, too.
    pub fn ways(
        &self,
        roots: impl Iterator<Item = String>,
        is_goal: impl Fn(&str) -> bool,
        is_left_out: impl Fn(&str) -> bool,
    ) -> (Vec<Way>, BTreeSet<String>) {
        let mut callers: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut next: VecDeque<String> = VecDeque::new();
        for root in roots {
            callers.insert(root.clone(), None);
            next.push_back(root);
        }
        let (mut ways, mut left_out) = (Vec::new(), BTreeSet::new());
        while let Some(function) = next.pop_front() {
            if is_goal(&function) {
                ways.push(way(&callers, function));
            } else if is_left_out(&function) {
                left_out.insert(function);
            } else {
                for called in self.0.get(&function).into_iter().flatten() {
                    if !callers.contains_key(called) {
                        callers.insert(called.clone(), Some(function.clone()));
                        next.push_back(called.clone());
                    }
                }
            }
        }
        (ways, left_out)
    }
}

/// The way to a function, from who has no caller.
fn way(callers: &BTreeMap<String, Option<String>>, to: String) -> Way {
    let mut way = vec![to];
    while let Some(Some(caller)) = way.last().and_then(|last| callers.get(last)) {
        way.push(caller.clone());
    }
    way.reverse();
    way
}

fn between(line: &str, open: char, close: char) -> Option<&str> {
    let (_, rest) = line.split_once(open)?;
    Some(rest.rsplit_once(close)?.0)
}

/// A name without what tells versions of a crate apart: `core[0123]::a` is `core::a`.
fn without_hashes(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        plain.push_str(before);
        match behind.split_once(']') {
            Some((hash, behind)) if hash.bytes().all(|b| b.is_ascii_hexdigit()) => rest = behind,
            _ => {
                plain.push('[');
                rest = behind;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "
0000000000001000 <MPI_Send>:
    1000:\tpush   %rbp
    1001:\tcall   2000 <invivo_shim::record::write::h0123>
    1002:\tjne    1000 <MPI_Send+0x10>
    1003:\tlea    0x10(%rip),%rax        # 3000 <invivo_shim::by_pointer::h0>

0000000000002000 <invivo_shim::record::write::h0123>:
    2000:\tcall   *0x20(%rip)        # 5000 <malloc@GLIBC_2.2.5>
    2001:\tjmp    4000 <core[c1f1a4ba]::panicking::panic_bounds_check>

0000000000003000 <invivo_shim::by_pointer::h0>:
    3000:\tcall   *%rax
";

    fn ways(left_out: &str) -> (Vec<Way>, BTreeSet<String>) {
        CallGraph::read(LISTING).ways(
            ["MPI_Send".to_owned()].into_iter(),
            |name| name.starts_with("malloc") || name.starts_with("core::panicking"),
            |name| name.contains(left_out),
        )
    }

    #[test]
    fn calls_jumps_and_addresses_are_followed() {
        let (found, left_out) = ways("by_pointer");
        let last: Vec<&str> = found
            .iter()
            .filter_map(|w| Some(w.last()?.as_str()))
            .collect();
        assert_eq!(
            last,
            ["core::panicking::panic_bounds_check", "malloc@GLIBC_2.2.5"]
        );
        assert_eq!(found[0].len(), 3);
        assert_eq!(left_out.len(), 1);
    }

    #[test]
    fn nothing_behind_what_is_left_out_counts() {
        assert!(ways("write").0.is_empty());
    }
}
