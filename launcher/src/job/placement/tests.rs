//! A launcher that is played by arithmetic.

use super::super::environment::Family;
use super::*;

fn fan_in(text: &str) -> FanIn {
    text.parse().expect("a fan-in")
}

fn tree_request(text: &str) -> TreeRequest {
    TreeRequest {
        fan_in: fan_in(text),
        nodes: None,
        app: None,
    }
}

/// What every process of a job sees whose hosts were given so many processes, in blocks.
fn launched(hosts: &[u32]) -> Vec<World> {
    let size = hosts.iter().sum();
    let mut worlds = Vec::new();
    for &local_size in hosts {
        for local in 0..local_size {
            worlds.push(World {
                family: Family::Ompi,
                rank: worlds.len() as u32,
                size,
                local: Some((local, local_size)),
                nodes: None,
                by_srun: false,
            });
        }
    }
    worlds
}

/// One host is the layout tail whether or not the launcher tells.
#[test]
fn one_host_has_the_tail_layout_either_way() {
    let expected = Layout::for_app(8, fan_in("2,2"), Policy::Tail).expect("a layout");
    for world in launched(&[15]) {
        assert_eq!(layout(&world, tree_request("2,2")), Ok(expected));
        let silent = World {
            local: None,
            ..world
        };
        assert_eq!(layout(&silent, tree_request("2,2")), Ok(expected));
        let one = TreeRequest {
            nodes: Some(1),
            ..tree_request("2,2")
        };
        assert_eq!(layout(&world, one), Ok(expected));
    }
}

/// Several hosts are seen and every process comes to the same layout.
#[test]
fn every_process_of_several_hosts_finds_one_layout() {
    for (app, hosts, text) in [
        (4, 2, "4"),
        (8, 2, "2,2"),
        (12, 3, "2,2"),
        (64, 4, "4,4"),
        (6, 6, "1,16"),
        (8, 2, "node"),
        (20, 5, "node,2"),
    ] {
        let policy = Policy::PerNode { hosts };
        let expected = Layout::for_app(app, fan_in(text), policy).expect("a layout");
        let each = expected.processes_per_host();
        let mut given = vec![each; hosts as usize];
        given[hosts as usize - 1] = expected.total() - each * (hosts - 1);
        for world in launched(&given) {
            assert_eq!(
                layout(&world, tree_request(text)),
                Ok(expected),
                "{app} ranks on {hosts}: {world:?}"
            );
            let host = expected.host_of(WorldRank(world.rank)).expect("a host");
            let host = Host::of(&expected, host);
            assert!(host.processes.contains(&world.rank));
            assert_eq!(host.ranks, app / hosts);
            assert_eq!(host.ranks + host.tools(), host.processes.len() as u32);
            assert!(host.processes.contains(&host.last_tool.0));
        }
        let last_tool = Host::of(&expected, hosts - 1).last_tool;
        assert_eq!(expected.process_of(expected.root()), Some(last_tool));
    }
}

/// Processes in the wrong numbers are refused by somebody, with the right ones.
/// A launcher that shares otherwise is refused with the right numbers.
#[test]
fn another_placement_is_refused_with_the_right_numbers() {
    // 8 ranks on two hosts, two per place: 4 + 2 + 1 each, and the root on the last.
    let nodes = TreeRequest {
        nodes: Some(2),
        ..tree_request("2,2")
    };
    assert!(
        launched(&[7, 8])
            .iter()
            .all(|world| layout(world, nodes).is_ok())
    );
    for given in [&[8, 7][..], &[9, 6], &[15], &[5, 5, 5]] {
        let refused: Vec<String> = launched(given)
            .iter()
            .filter_map(|world| layout(world, nodes).err())
            .map(|error| error.to_string())
            .collect();
        assert!(!refused.is_empty(), "{given:?} is no such layout");
        for why in refused {
            assert!(
                why.contains("give 7 processes to every node") && why.contains("8 to the last one"),
                "{why}"
            );
            assert!(why.contains("invivo plan -n 8 --nodes 2"), "{why}");
        }
    }
    let why =
        layout(&launched(&[9, 6])[0], tree_request("2,2")).expect_err("no number of hosts fits");
    assert!(why.to_string().contains("--nodes"), "{why}");
}

/// The last of 3 hosts and the last of 6 may look the same: 10 processes before it and 8 on it.
#[test]
fn where_two_numbers_of_hosts_fit_the_user_is_asked() {
    let world = World {
        family: Family::Ompi,
        rank: 10,
        size: 18,
        local: Some((0, 8)),
        nodes: None,
        by_srun: false,
    };
    let fitting = layout(&world, tree_request("1,2")).expect_err("undecided");
    let HostsError::HowMany { candidates, .. } = &fitting else {
        panic!("{fitting:?}");
    };
    assert_eq!(candidates, &[3, 6]);
    let nodes = TreeRequest {
        nodes: Some(candidates[0]),
        ..tree_request("1,2")
    };
    assert_eq!(
        layout(&world, nodes).map(|layout| layout.hosts()),
        Ok(candidates[0])
    );
}

#[test]
fn a_total_that_fits_nothing_is_the_layouts_own_error() {
    let error = layout(&launched(&[2])[0], tree_request("4")).expect_err("too few");
    assert!(
        matches!(error, HostsError::Layout(LayoutError::TooFew { .. })),
        "{error:?}"
    );
}
