//! Numbers of processes in words.

use invivo_tbon::layout::Layout;

/// A number of things: `1 rank`, `2 ranks`.
pub fn counted(number: u32, singular: &str) -> String {
    let plural = match number {
        1 => "",
        _ if singular.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {singular}{plural}")
}

/// `4 ranks + 1 tool process`, or `4 ranks + 1 tool place + 1 root`.
pub fn sum(layout: &Layout) -> String {
    if layout.is_one_per_node() {
        let tools = counted(layout.total() - layout.app(), "tool process");
        return format!("{} + {}", counted(layout.app(), "rank"), tools);
    }
    let inner = match layout.nodes() - 1 {
        0 => String::new(),
        nodes => format!(" + {}", counted(nodes, "analysis node")),
    };
    format!(
        "{} + {}{inner} + 1 root",
        counted(layout.app(), "rank"),
        counted(layout.places(), "tool place")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_tbon::layout::Policy;

    #[test]
    fn a_sum_names_every_kind_of_process() {
        let of = |ranks: u32, fan_in: &str, hosts: u32| {
            let policy = match hosts {
                1 => Policy::Tail,
                hosts => Policy::PerNode { hosts },
            };
            let fan_in = fan_in.parse().expect("a fan-in");
            sum(&Layout::for_app(ranks, fan_in, policy).expect("a layout"))
        };
        assert_eq!(of(8, "4", 1), "8 ranks + 2 tool places + 1 root");
        assert_eq!(of(1, "4", 1), "1 rank + 1 tool place + 1 root");
        assert_eq!(
            of(8, "2,2", 1),
            "8 ranks + 4 tool places + 2 analysis nodes + 1 root"
        );
        assert_eq!(of(8, "node", 1), "8 ranks + 1 tool process");
        assert_eq!(of(8, "node", 2), "8 ranks + 2 tool processes");
    }
}
