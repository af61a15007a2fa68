//! Converts the pages of a save to messages for clients.

use super::timeline::{name, piece, regions};
use crate::v1;
use invivo_proto::control::results::Group;
use invivo_proto::control::saved::{SavedPage, SavedPiece};
use invivo_proto::definition::Run;
use invivo_proto::ids::CommId;

/// A page; the stream fills in what holds for all of it.
pub fn page(page: &SavedPage) -> v1::SavePage {
    v1::SavePage {
        pieces: page.pieces.iter().map(saved_piece).collect(),
        groups: page.groups.iter().map(|(id, of)| group(*id, of)).collect(),
        host: page.host.clone(),
        clock_error_ns: page.clock_error_ns,
        ..v1::SavePage::default()
    }
}

fn saved_piece(saved: &SavedPiece) -> v1::SavedPiece {
    let about = saved.about.as_deref();
    let clock = about.map(|about| about.clock.as_slice());
    let clock = clock.unwrap_or_default().iter();
    let bins = saved.bins.iter();
    v1::SavedPiece {
        location: Some(saved.location.into()),
        about: about.map(|about| v1::LocationPiece {
            regions: regions(&about.piece),
            ..piece(&about.piece)
        }),
        clock: clock
            .map(|&(ticks, job_ns)| v1::ClockPoint { ticks, job_ns })
            .collect(),
        comms_left_out: about.map_or(0, |about| about.comms_left_out),
        bins: bins
            .map(|bin| v1::SavedBin {
                chain: bin.chain,
                content: bin.content.clone(),
            })
            .collect(),
        complete: saved.is_complete,
        cut: saved.is_cut,
        pauses: about
            .map_or(&[][..], |about| &about.pauses)
            .iter()
            .map(|&(from_ns, to_ns)| v1::PauseInterval { from_ns, to_ns })
            .collect(),
        paces: about
            .map_or(&[][..], |about| &about.paces)
            .iter()
            .map(|&(since_ns, unit_ns)| v1::SamplingPace { since_ns, unit_ns })
            .collect(),
    }
}

fn group(id: CommId, group: &Group) -> v1::CommGroup {
    let pieces = group.pieces.iter();
    v1::CommGroup {
        name: Some(name(id)),
        pieces: pieces
            .map(|(&start, runs)| v1::CommGroupPiece {
                start,
                runs: runs.iter().map(run).collect(),
            })
            .collect(),
    }
}

fn run(run: &Run) -> v1::RankRun {
    v1::RankRun {
        first: run.first.0,
        stride: run.stride,
        count: run.count,
    }
}
