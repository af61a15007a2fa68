//! Where in its code the rank computes that computes longest: of its samples, where it is sampled.

use crate::profile::{functions, without_inside};
use crate::units::share;
use invivo_grpc::v1::ProfileReply;
use serde::{Deserialize, Serialize};

/// With fewer samples the function that has most of the time is not known.
const SAMPLES_MIN: u64 = 20;

/// The function in which a rank computes most.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Computing {
    pub function: String,
    /// The name of its file.
    pub module: String,
    /// The source line with most of the time in it, as `solve.c:42`, where lines are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Its part of the rank's time on a processor outside MPI.
    pub share: f64,
}

/// Of samples of one rank; nothing of too few.
pub fn computing(samples: &ProfileReply) -> Option<Computing> {
    if samples.samples < SAMPLES_MIN {
        return None;
    }
    let mut nodes = samples.nodes.clone();
    without_inside(&mut nodes);
    let all = functions(&nodes);
    let own = || all.iter().filter(|of| of.module != "MPI");
    let whole: u64 = own().map(|of| of.own_ns).sum();
    let most = own().next().filter(|of| of.own_ns > 0)?;
    let line = most.lines.first().map(|(text, _)| text.clone());
    Some(Computing {
        function: most.function.clone(),
        module: most.module.clone(),
        line: line.filter(|text| !text.starts_with('+')),
        share: most.own_ns as f64 / whole as f64,
    })
}

/// In words: `71.0 % of it in solve (solve.c:42)`.
pub fn told(of: &Computing) -> String {
    let place = of.line.as_ref().unwrap_or(&of.module);
    format!(
        "{} of it in {} ({place})",
        share(of.share, 1.0),
        of.function
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{ProfileLine, ProfileNode};

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

    fn samples(samples: u64) -> ProfileReply {
        ProfileReply {
            samples,
            nodes: vec![
                node(0, "main", "app", (100, 5)),
                node(1, "solve", "app", (30, 30)),
                node(1, "PMPI_Recv", "libmpi.so.40", (60, 20)),
                node(2, "poll", "libc.so.6", (40, 40)),
                node(1, "setup", "app", (5, 5)),
            ],
            ..ProfileReply::default()
        }
    }

    #[test]
    fn time_in_mpi_is_no_computing() {
        let most = computing(&samples(100)).expect("enough");
        assert_eq!(told(&most), "75.0 % of it in solve (solve.c:7)");
        assert_eq!(computing(&samples(19)), None, "too few to tell");
        assert_eq!(computing(&ProfileReply::default()), None);
    }
}
