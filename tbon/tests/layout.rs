//! The layout against a naive twin that writes the whole tree down.

use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::layout::{Layout, LayoutError, Role};
use proptest::prelude::*;

/// One process of the written-down tree.
#[derive(Default)]
struct Entry {
    role: Option<Role>,
    parent: Option<u32>,
    children: Vec<u32>,
    ranks: Vec<u32>,
}

/// Builds the tree layer by layer, by chunks of the layer below.
fn naive(app: u32, fan_in: u32, node_fan_in: u32) -> Vec<Entry> {
    let mut tree: Vec<Entry> = (0..app)
        .map(|rank| Entry {
            role: Some(Role::Application(Rank(rank))),
            ranks: vec![rank],
            ..Entry::default()
        })
        .collect();
    let mut below: Vec<u32> = (0..app).collect();
    let mut layer = 1;
    while layer < 3 || below.len() > 1 {
        let fan = if layer == 1 { fan_in } else { node_fan_in };
        let groups: Vec<Vec<u32>> = below.chunks(fan as usize).map(<[u32]>::to_vec).collect();
        below.clear();
        for (index, group) in groups.into_iter().enumerate() {
            let me = tree.len() as u32;
            let index = index as u32;
            let role = if layer == 1 {
                Role::Place { index }
            } else {
                Role::Node { layer, index }
            };
            let ranks = group
                .iter()
                .flat_map(|&child| tree[child as usize].ranks.clone())
                .collect();
            group
                .iter()
                .for_each(|&child| tree[child as usize].parent = Some(me));
            tree.push(Entry {
                role: Some(role),
                parent: None,
                children: group,
                ranks,
            });
            below.push(me);
        }
        layer += 1;
    }
    tree.last_mut().expect("a tree has a root").role = Some(Role::Root);
    tree
}

proptest! {
    #[test]
    fn layout_is_the_tree_written_down(app in 1u32..200, fan_in in 1u32..20, node_fan_in in 2u32..20) {
        let layout = Layout::for_app(app, fan_in).unwrap().with_node_fan_in(node_fan_in).unwrap();
        let tree = naive(app, fan_in, node_fan_in);
        prop_assert_eq!(layout.total() as usize, tree.len());
        prop_assert_eq!(layout.root().0 as usize, tree.len() - 1);
        prop_assert_eq!(layout.layers().map(|layer| layer.processes).sum::<u32>(), layout.total());
        prop_assert_eq!(layout.app() + layout.places() + layout.nodes(), layout.total());
        for (world, entry) in tree.iter().enumerate() {
            let world = WorldRank(world as u32);
            prop_assert_eq!(layout.role(world), entry.role);
            prop_assert_eq!(layout.parent(world).map(|parent| parent.0), entry.parent);
            prop_assert_eq!(&layout.children(world).map(|child| child.0).collect::<Vec<_>>(), &entry.children);
            prop_assert_eq!(&layout.ranks_of(world).collect::<Vec<_>>(), &entry.ranks);
            prop_assert_eq!(layout.height(world) == Some(1), matches!(entry.role, Some(Role::Place { .. })));
            if let Some(Role::Application(rank)) = entry.role {
                prop_assert_eq!(Some(layout.place_of(rank).0), entry.parent);
                prop_assert_eq!(layout.world_of(rank), world);
            }
        }
        prop_assert_eq!(layout.role(WorldRank(layout.total())), None);
    }

    #[test]
    fn total_and_ranks_are_inverse(total in 0u32..400, fan_in in 1u32..20) {
        let fitting = (1..=total).find(|&app| app + app.div_ceil(fan_in) + 1 == total);
        match Layout::of_total(total, fan_in, None) {
            Ok(layout) => {
                prop_assert_eq!(Some(layout.app()), fitting);
                prop_assert_eq!((layout.total(), layout.fan_in()), (total, fan_in));
            }
            Err(LayoutError::TooFew { .. }) => prop_assert!(total < 3),
            Err(LayoutError::NoFit { below, above, app, .. }) => {
                prop_assert_eq!(fitting, None);
                prop_assert_eq!((below.total, above.total), (total - 1, total + 1));
                for fit in [below, above] {
                    prop_assert_eq!(Layout::of_total(fit.total, fan_in, None).unwrap().app(), fit.ranks);
                }
                if let Some(app) = app {
                    prop_assert_eq!(Layout::of_total(total, fan_in, Some(app)).unwrap().total(), total);
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    /// Ranks given by hand: exactly those, in places of even size, or an error.
    #[test]
    fn ranks_given_by_hand_are_met_exactly(total in 0u32..200, fan_in in 1u32..20, app in 1u32..200) {
        let even = (1..=app).any(|width| app + app.div_ceil(width) + 1 == total);
        match Layout::of_total(total, fan_in, Some(app)) {
            Ok(layout) => {
                prop_assert!(even);
                prop_assert_eq!((layout.app(), layout.total()), (app, total));
                prop_assert_eq!(Layout::for_app(app, layout.fan_in()).unwrap(), layout);
            }
            Err(LayoutError::NoFitForApp { usual, .. }) => {
                prop_assert!(!even);
                prop_assert_eq!(usual, app + app.div_ceil(fan_in) + 1);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn errors_say_what_why_and_the_next_command() {
    let text = |result: Result<Layout, LayoutError>| result.unwrap_err().to_string();
    assert_eq!(
        text(Layout::of_total(7, 4, None)),
        "7 processes cannot be shared out: with 4 ranks per tool place and one root no number of ranks needs 7; start 6 \
         processes (4 ranks) or 8 (5 ranks), or keep 7 and say `--app 4`"
    );
    assert_eq!(
        text(Layout::of_total(22, 4, Some(16))),
        "22 processes do not fit `--app 16`: beside 16 ranks and the root, 5 are left, and no even sharing of the ranks \
         uses exactly as many tool places; start 21 processes (4 ranks per place)"
    );
    assert!(text(Layout::of_total(2, 4, None)).contains("start at least 3"));
    assert!(text(Layout::for_app(0, 4)).contains("at least 1"));
    assert!(text(Layout::for_app(1, 0)).contains("fan-in of 1 or more"));
    assert!(text(Layout::for_app(u32::MAX, 4)).contains("at most 2147483647"));
    assert!(text(Layout::of_total(u32::MAX, 4, None)).contains("at most 2147483647"));
    assert!(text(Layout::for_app(4, 4).unwrap().with_node_fan_in(1)).contains("2 or more"));
}

#[test]
fn a_million_ranks_cost_no_memory() {
    let layout = Layout::for_app(1 << 20, 16)
        .unwrap()
        .with_node_fan_in(16)
        .unwrap();
    assert_eq!(
        layout.layers().map(|layer| layer.processes).collect::<Vec<_>>(),
        [1 << 20, 1 << 16, 1 << 12, 256, 16, 1]
    );
    assert_eq!(layout.ranks_of(layout.root()), 0..1 << 20);
    assert!(size_of::<Layout>() <= 16);
}
