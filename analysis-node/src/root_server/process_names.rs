//! The processes of members of the tree: users know processes, not addresses.

use invivo_proto::ids::WorldRank;
use invivo_proto::rank_set::RankSet;
use invivo_tbon::layout::Layout;

/// Names the processes of members; without a layout every member is a process.
#[derive(Debug, Default)]
pub struct ProcessNames(pub Option<Layout>);

impl ProcessNames {
    /// The processes that these members sit in, each once.
    pub fn of(&self, members: &[WorldRank]) -> Vec<WorldRank> {
        let process_of = |&member: &WorldRank| {
            let layout = self.0.as_ref();
            layout
                .and_then(|layout| layout.process_of(member))
                .unwrap_or(member)
        };
        let mut processes: Vec<WorldRank> = members.iter().map(process_of).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    /// Those of these processes that are places, with the ranks that report to each.
    pub fn ranks_of(&self, processes: &[WorldRank]) -> Vec<(WorldRank, RankSet)> {
        let ranks_at = |&process: &WorldRank| {
            let layout = self.0.as_ref()?;
            Some((process, layout.ranks_at(layout.address(process, 1)?)?))
        };
        processes.iter().filter_map(ranks_at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_once_whatever_it_holds() {
        let layout = "12:node,2:nodes=3".parse().unwrap();
        // Place 4 and node 15 are in process 4, node 16 is in process 14.
        let members = [4, 15, 16].map(WorldRank);
        let names = ProcessNames(Some(layout));
        assert_eq!(names.of(&members), [4, 14].map(WorldRank));
        let ranks = names.ranks_of(&[4, 14].map(WorldRank));
        let texts = ranks
            .iter()
            .map(|(process, ranks)| format!("{process}: {ranks}"));
        assert_eq!(texts.collect::<Vec<_>>(), ["4: 0 to 3", "14: 8 to 11"]);
        assert_eq!(ProcessNames::default().of(&members), members);
    }
}
