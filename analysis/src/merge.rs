//! Merges partial results of any analysis, by the question that they answer.
//!
//! The merge is associative and commutative, up to the rounding of means and variances, so partial
//! results may be joined in any order at any depth.

use crate::{
    buffers, functions, grid, hang, matrix, messages, profile, records, regions, saved, sites,
    stacks, status, switches, timeline, waits,
};
use invivo_proto::control::tree::Partial;

/// Two partial results that answer different questions: one of them is a fault of this program or
/// of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The question that is being answered.
    pub into: &'static str,
    /// The question that the other result answers.
    pub from: &'static str,
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "a partial result about {} cannot be merged into one about {}",
            self.from, self.into
        )
    }
}

impl core::error::Error for Mismatch {}

/// Adds `from` to `into`.
///
/// # Errors
/// When they answer different questions; `into` is as it was.
pub fn merge(into: &mut Partial, from: Partial) -> Result<(), Mismatch> {
    match (into, from) {
        (Partial::Functions(into), Partial::Functions(from)) => functions::merge(into, from),
        (Partial::Matrix(into), Partial::Matrix(from)) => {
            return matrix::merge(into, from).map_err(|matrix::OtherBlocks| Mismatch {
                into: "the matrix",
                from: "the matrix in other blocks",
            });
        }
        (Partial::Status(into), Partial::Status(from)) => status::merge(into, from),
        (Partial::Messages(into), Partial::Messages(from)) => messages::merge(into, &from),
        (Partial::Buffers(into), Partial::Buffers(from)) => buffers::merge(into, from),
        (Partial::Records(into), Partial::Records(from)) => records::merge(into, from),
        (Partial::Timeline(into), Partial::Timeline(from)) => timeline::merge(into, from),
        (Partial::Hang(into), Partial::Hang(from)) => hang::merge(into, *from),
        (Partial::Stacks(into), Partial::Stacks(from)) => stacks::merge(into, *from),
        (Partial::Analyses(into), Partial::Analyses(from)) => switches::merge(into, *from),
        (Partial::Grid(into), Partial::Grid(from)) => {
            return grid::merge(into, *from).map_err(|grid::OtherAxes| Mismatch {
                into: "what happened over time",
                from: "what happened over time, in other columns",
            });
        }
        (Partial::Sites(into), Partial::Sites(from)) => sites::merge(into, *from),
        (Partial::Regions(into), Partial::Regions(from)) => regions::merge(into, *from),
        (Partial::Selection(into), Partial::Selection(from)) => into.merge(*from),
        (Partial::Metrics(into), Partial::Metrics(from)) => into.merge(*from),
        (Partial::Saved(into), Partial::Saved(from)) => saved::merge(into, *from),
        (Partial::WaitStates(into), Partial::WaitStates(from)) => waits::merge(into, *from),
        (Partial::Profile(into), Partial::Profile(from)) => profile::merge(into, *from),
        (into, from) => {
            return Err(Mismatch {
                into: question(into),
                from: question(&from),
            });
        }
    }

    Ok(())
}

fn question(of: &Partial) -> &'static str {
    match of {
        Partial::Functions(_) => "functions",
        Partial::Matrix(_) => "the matrix",
        Partial::Status(_) => "the status",
        Partial::Messages(_) => "messages",
        Partial::Buffers(_) => "buffers",
        Partial::Records(_) => "records",
        Partial::Timeline(_) => "the last seconds",
        Partial::Hang(_) => "what ranks wait for",
        Partial::Stacks(_) => "where ranks are",
        Partial::Analyses(_) => "which analyses are on",
        Partial::Grid(_) => "what happened over time",
        Partial::Sites(_) => "where calls are made",
        Partial::Regions(_) => "time by region",
        Partial::Selection(_) => "what is recorded",
        Partial::Metrics(_) => "what is measured",
        Partial::Saved(_) => "what buffers hold",
        Partial::WaitStates(_) => "who waits for whom",
        Partial::Profile(_) => "where ranks spend their time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Functions;
    use crate::matrix::MatrixLeaf;
    use crate::moments::tests::nearly_equal;
    use crate::testing::{self, RANKS};
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use invivo_proto::control::metric::Kind;
    use invivo_proto::control::results::{FunctionStats, FunctionTable, Matrix};
    use proptest::prelude::*;

    /// Joins neighbours at random until one is left: any tree over any order of the leaves.
    fn join(mut partials: Vec<Partial>, shuffle: &[usize]) -> Option<Partial> {
        for &pick in shuffle {
            if partials.len() < 2 {
                break;
            }
            let from = partials.swap_remove(pick % partials.len());
            let into = pick / 7 % partials.len();
            merge(&mut partials[into], from).expect("the same question");
        }
        let mut rest = partials.into_iter();
        let mut first = rest.next()?;
        rest.for_each(|from| merge(&mut first, from).expect("the same question"));
        Some(first)
    }

    fn same(a: &Partial, b: &Partial) -> bool {
        match (a, b) {
            (Partial::Functions(a), Partial::Functions(b)) => {
                (a.rank_rows_total, a.rank_rows_max) == (b.rank_rows_total, b.rank_rows_max)
                    && same_rows(&a.rows, &b.rows)
                    && same_rows(&a.rank_rows, &b.rank_rows)
            }
            (a, b) => a == b,
        }
    }

    fn same_rows<K: Ord>(a: &BTreeMap<K, FunctionStats>, b: &BTreeMap<K, FunctionStats>) -> bool {
        let exact = |of: &FunctionStats| (of.bytes_out, of.bytes_in, of.clipped);
        a.len() == b.len()
            && a.iter().zip(b).all(|((key_a, a), (key_b, b))| {
                key_a == key_b && exact(a) == exact(b) && nearly_equal(&a.time, &b.time)
            })
    }

    proptest! {
        /// Ranks spread over places in any way, places joined by any tree: as one place that saw it
        /// all.
        #[test]
        fn any_tree_equals_the_flat_computation(
            all in testing::recorded(),
            place_of in prop::collection::vec(0usize..5, RANKS as usize),
            shuffle in prop::collection::vec(0usize..1000, 10),
            rank_rows_max in 0u32..40,
            side_max in 1u32..8,
        ) {
            let mut flat = (Functions::default(), MatrixLeaf::default());
            let mut spread: Vec<(Functions, MatrixLeaf)> = Vec::new();
            spread.resize_with(5, Default::default);
            for r in &all {
                let place = place_of[r.rank.0 as usize];
                for (functions, matrix) in [&mut flat, &mut spread[place]] {
                    functions.record(r.rank, &r.call, &r.parts, r.duration_ns, r.clipped);
                    matrix.record(r.rank, &r.call, &r.parts);
                }
            }

            let functions = |f: &Functions| Partial::Functions(f.to_partial(rank_rows_max));
            let joined = join(spread.iter().map(|(f, _)| functions(f)).collect(), &shuffle).expect(
                "five places",
            );
            prop_assert!(same(&joined, &functions(&flat.0)));
            let with_nobody = join(
                Vec::from([joined.clone(), Partial::Functions(FunctionTable::default())]),
                &shuffle,
            );
            prop_assert_eq!(with_nobody, Some(joined));

            let matrix = |m: &MatrixLeaf| Partial::Matrix(m.to_partial(RANKS, side_max));
            let joined = join(spread.iter().map(|(_, m)| matrix(m)).collect(), &shuffle).expect(
                "five places",
            );
            prop_assert_eq!(&joined, &matrix(&flat.1));
            let with_nobody = join(
                Vec::from([joined.clone(), Partial::Matrix(Matrix::default())]),
                &shuffle,
            );
            prop_assert_eq!(with_nobody, Some(joined));
        }

        #[test]
        fn any_tree_over_statuses_gives_the_same(
            all in prop::collection::vec(crate::status::tests::of_place(), 1..12),
            shuffle in prop::collection::vec(0usize..1000, 12),
        ) {
            let places = || all.iter().cloned().map(Partial::Status).collect::<Vec<_>>();
            prop_assert_eq!(join(places(), &shuffle), join(places(), &[]));
        }
    }

    proptest! {
        #[test]
        fn any_tree_over_buffers_gives_the_same(
            all in prop::collection::vec(crate::buffers::tests::of_place(), 1..8),
            shuffle in prop::collection::vec(0usize..1000, 8),
        ) {
            let places = || all.iter().cloned().map(Partial::Buffers).collect::<Vec<_>>();
            let joined = join(places(), &shuffle);
            prop_assert_eq!(&joined, &join(places(), &[]));
            let with_nobody = places()
                .into_iter()
                .chain([Partial::Buffers(Default::default())])
                .collect();
            prop_assert_eq!(joined, join(with_nobody, &shuffle));
        }

        #[test]
        fn any_tree_over_waits_gives_the_same(
            all in prop::collection::vec(crate::hang::tests::of_place(), 1..12),
            shuffle in prop::collection::vec(0usize..1000, 12),
        ) {
            let places = || {
                let waits = all
                    .iter()
                    .enumerate()
                    .map(|(place, said)| crate::hang::tests::hang_of(place, said));
                waits.map(|waits| Partial::Hang(alloc::boxed::Box::new(waits))).collect::<Vec<_>>()
            };
            let joined = join(places(), &shuffle);
            prop_assert_eq!(&joined, &join(places(), &[]));
            let with_nobody = places()
                .into_iter()
                .chain([Partial::Hang(Default::default())])
                .collect();
            prop_assert_eq!(joined, join(with_nobody, &shuffle));
        }

        #[test]
        fn any_tree_over_stacks_gives_the_same(
            all in prop::collection::vec(crate::stacks::tests::of_place(), 1..12),
            shuffle in prop::collection::vec(0usize..1000, 12),
        ) {
            let places = || {
                let stacks = all
                    .iter()
                    .enumerate()
                    .map(|(place, said)| crate::stacks::tests::stacks_of(place, said));
                stacks
                    .map(|stacks| Partial::Stacks(alloc::boxed::Box::new(stacks)))
                    .collect::<Vec<_>>()
            };
            let joined = join(places(), &shuffle);
            prop_assert_eq!(&joined, &join(places(), &[]));
            let with_nobody = places()
                .into_iter()
                .chain([Partial::Stacks(Default::default())])
                .collect();
            prop_assert_eq!(joined, join(with_nobody, &shuffle));
        }

        #[test]
        fn any_tree_over_profiles_gives_the_same(
            all in prop::collection::vec(crate::profile::tests::of_rank(), 1..12),
            shuffle in prop::collection::vec(0usize..1000, 12),
        ) {
            let places = || {
                let profiles = (0..).zip(&all);
                let profiles =
                    profiles.map(|(rank, said)| crate::profile::tests::profile_of(rank, said));
                profiles
                    .map(|profile| Partial::Profile(alloc::boxed::Box::new(profile)))
                    .collect::<Vec<_>>()
            };
            let joined = join(places(), &shuffle);
            prop_assert_eq!(&joined, &join(places(), &[]));
            let with_nobody = places()
                .into_iter()
                .chain([Partial::Profile(Default::default())])
                .collect();
            prop_assert_eq!(joined, join(with_nobody, &shuffle));
        }

        /// Ranks spread over places in any way, places joined by any tree.
        #[test]
        fn any_tree_over_grids_gives_the_same(
            all in crate::grid::tests::of_ranks(),
            place_of in prop::collection::vec(0usize..5, 20),
            shuffle in prop::collection::vec(0usize..1000, 10),
        ) {
            let axes = crate::grid::tests::axes(all.len() as u32);
            let mut flat = crate::grid::empty(axes);
            let mut spread = Vec::from_iter(core::iter::repeat_n(flat.clone(), 5));
            for (rank, columns) in all.iter().enumerate() {
                for grid in [&mut flat, &mut spread[place_of[rank]]] {
                    let rank = invivo_proto::ids::Rank(rank as u32);
                    let columns = columns.iter().copied();
                    crate::grid::add_rank(grid, rank, Kind::Accumulated, columns);
                }
            }
            let of = |grid| Partial::Grid(alloc::boxed::Box::new(grid));
            let places = spread.into_iter().map(of).chain([Partial::Grid(Default::default())]);
            prop_assert_eq!(join(places.collect(), &shuffle), Some(of(flat)));
        }

        #[test]
        fn any_tree_over_records_gives_the_owners(
            one in crate::records::tests::page(),
            others in 0usize..8,
            at in 0usize..8,
            shuffle in prop::collection::vec(0usize..1000, 8),
        ) {
            let mut places = Vec::from_iter(
                core::iter::repeat_n(Partial::Records(Default::default()), others),
            );
            places.insert(at.min(others), Partial::Records(one.clone()));
            prop_assert_eq!(join(places, &shuffle), Some(Partial::Records(one)));
        }
    }

    #[test]
    fn different_questions_do_not_mix() {
        let mut into = Partial::Matrix(Default::default());
        let error =
            merge(&mut into, Partial::Status(Default::default())).expect_err("must not merge");
        assert_eq!(
            error,
            Mismatch {
                into: "the matrix",
                from: "the status"
            }
        );
        assert_eq!(into, Partial::Matrix(Default::default()));
    }

    #[test]
    fn matrices_of_other_blocks_do_not_mix() {
        let of = |block_ranks| {
            Partial::Matrix(Matrix {
                block_ranks,
                ..Matrix::default()
            })
        };
        let mut into = of(2);
        assert!(merge(&mut into, of(3)).is_err());
        assert_eq!(into, of(2));
    }
}
