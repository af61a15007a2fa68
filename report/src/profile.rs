//! Time by function, of what samples tell.

use invivo_grpc::v1::ProfileNode;
use std::collections::BTreeMap;

/// Time in a function, wherever it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Function {
    pub function: String,
    /// Its file's name.
    pub module: String,
    /// In the function itself, in ns.
    pub own_ns: u64,
    /// With the functions that it calls, in ns.
    pub ns: u64,
    /// The lines with the most time, and how much, in ns.
    pub lines: Vec<(String, u64)>,
}

/// Whether it is a function of MPI: behind it is the library.
pub fn is_mpi(kind: &str, function: &str, module: &str) -> bool {
    if kind != "function" {
        return false;
    }
    let function = function.to_ascii_lowercase();
    let library = ["libmpi", "libfmpich", "libinvivo_shim"];
    let is_inside = library.iter().any(|name| module.contains(name));
    is_inside
        && ["mpi_", "pmpi_"]
            .iter()
            .any(|prefix| function.starts_with(prefix))
}

/// Counts what is inside the MPI library as the function that was called.
pub fn without_inside(nodes: &mut Vec<ProfileNode>) {
    let mut inside = None;
    nodes.retain_mut(|node| {
        if inside.is_some_and(|depth| node.depth > depth) {
            return false;
        }
        inside = is_mpi(&node.kind, &node.function, &node.module).then_some(node.depth);
        if inside.is_some() {
            node.own_ns = node.ns;
            // Symbol tables have both names at one address; users know it without the P.
            if let Some(name) = node.function.strip_prefix('P')
                && name.starts_with("MPI_")
            {
                node.function = name.to_owned();
            }
            // The wrapper and the library itself are one to who calls them.
            node.module = "MPI".to_owned();
            node.lines.clear();
        }
        true
    });
}

/// How a node is called where there is one name for it.
pub fn name(node: &ProfileNode) -> String {
    match (node.kind.as_str(), node.function.as_str()) {
        ("lost", _) => "(callers that are not known)".to_owned(),
        ("left out", _) => "(...)".to_owned(),
        (_, "") if node.module.is_empty() => "(code in no file)".to_owned(),
        (_, "") => node.module.clone(),
        (_, function) => function.to_owned(),
    }
}

/// The path of each node: itself behind its callers, by their places in the list.
pub fn paths(nodes: &[ProfileNode]) -> Vec<Vec<usize>> {
    let mut path: Vec<usize> = Vec::new();
    let one = |(at, node): (usize, &ProfileNode)| {
        path.truncate(node.depth as usize);
        path.push(at);
        path.clone()
    };
    nodes.iter().enumerate().map(one).collect()
}

/// Functions, those with the most time of their own first.
pub fn functions(nodes: &[ProfileNode]) -> Vec<Function> {
    let key = |node: &ProfileNode| (name(node), node.module.clone());
    let mut all: BTreeMap<(String, String), Function> = BTreeMap::new();
    for path in paths(nodes) {
        let Some((at, above)) = path.split_last() else {
            continue;
        };
        let node = &nodes[*at];
        let of = all.entry(key(node)).or_default();
        of.own_ns += node.own_ns;
        // Of a recursion the outermost has the time of all.
        if !above.iter().any(|above| key(&nodes[*above]) == key(node)) {
            of.ns += node.ns;
            for line in &node.lines {
                match of.lines.iter_mut().find(|(text, _)| *text == line.text) {
                    Some((_, ns)) => *ns += line.ns,
                    None => of.lines.push((line.text.clone(), line.ns)),
                }
            }
        }
    }
    let named = all.into_iter().map(|((function, module), mut of)| {
        of.lines.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        (of.function, of.module) = (function, module);
        of
    });
    let mut named: Vec<Function> = named.collect();
    named.sort_by_key(|of| std::cmp::Reverse((of.own_ns, of.ns)));
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::ProfileLine;

    fn node(depth: u32, function: &str, module: &str, (ns, own_ns): (u64, u64)) -> ProfileNode {
        let line = ProfileLine {
            text: format!("{function}.c:7"),
            ns,
        };
        ProfileNode {
            depth,
            kind: "function".into(),
            function: function.into(),
            module: module.into(),
            ns,
            own_ns,
            lines: vec![line],
            ..ProfileNode::default()
        }
    }

    #[test]
    fn functions_have_their_own_time_and_that_of_their_callees() {
        let mut nodes = vec![
            node(0, "main", "app", (10, 0)),
            node(1, "solve", "app", (7, 1)),
            node(2, "solve", "app", (4, 3)),
            node(3, "hot", "app", (1, 1)),
            node(2, "hot", "app", (2, 2)),
            node(1, "PMPI_Recv", "libmpi.so.40", (3, 1)),
            node(2, "poll", "libc.so.6", (2, 2)),
        ];
        without_inside(&mut nodes);
        let all = functions(&nodes);
        let told = all
            .iter()
            .map(|of| (of.function.as_str(), of.own_ns, of.ns));
        let told: Vec<(&str, u64, u64)> = told.collect();
        // A recursion counts once.
        let expected = [
            ("solve", 4, 7),
            ("MPI_Recv", 3, 3),
            ("hot", 3, 3),
            ("main", 0, 10),
        ];
        assert_eq!(told, expected);
        assert_eq!(all[2].lines, [("hot.c:7".to_owned(), 3)]);
    }
}
