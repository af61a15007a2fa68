//! Converts a page of a timeline to its message for clients.

use super::buffers::{call, losses, region_name};
use super::contexts::{contexts, samples};
use super::{function_name, state_name};
use crate::v1;
use invivo_proto::control::link::TimelinePage;
use invivo_proto::control::timeline::{Member, OpenCall, Piece};
use invivo_proto::ids::{CommId, CommLocal};

pub fn page(page: &TimelinePage, ranks: u32) -> v1::TimelinePage {
    v1::TimelinePage {
        from_ns: page.from_ns,
        to_ns: page.to_ns,
        ranks,
        pieces: page.timeline.pieces.iter().map(piece).collect(),
        clock_error_ns: page.timeline.clock_error_ns,
        missing: page.missing.iter().map(|process| process.0).collect(),
    }
}

pub(super) fn piece(piece: &Piece) -> v1::LocationPiece {
    let comms = piece.comms.iter();
    let peers = piece.peers.iter();
    v1::LocationPiece {
        location: Some(piece.location.into()),
        calls: piece
            .rows
            .iter()
            .map(|row| call(row, &piece.regions))
            .collect(),
        complete: piece.is_complete,
        comms: comms
            .map(|(local, member)| membership(*local, member))
            .collect(),
        peers: peers
            .map(|(&(comm, peer), rank)| v1::PeerRank {
                comm: comm.0,
                peer,
                rank: rank.0,
            })
            .collect(),
        open: piece
            .open
            .as_ref()
            .map(|of| open(of, function_name(of.region))),
        state: state_name(v1::RankState::from(piece.state).into()).to_owned(),
        ledger: Some((&piece.ledger).into()),
        books: Some((&piece.counters).into()),
        losses: losses(&piece.losses, piece.tick_ps),
        gone_until_ns: piece.gone_until_ns,
        not_kept: piece.not_kept,
        left_out: piece.left_out,
        broken: piece.is_broken,
        // The rows have them.
        regions: Vec::new(),
        region_books: Some((&piece.regions_counted).into()),
        samples: samples(&piece.samples, &piece.contexts),
        contexts: contexts(&piece.contexts),
        sample_books: Some((&piece.samples_counted).into()),
        open_regions: piece
            .open_regions
            .iter()
            .map(|of| v1::OpenCall {
                region: of.region.0.into(),
                ..open(of, region_name(of.region, &piece.regions))
            })
            .collect(),
    }
}

/// What a rank's regions are.
pub(super) fn regions(of: &Piece) -> Vec<v1::RegionName> {
    let regions = of.regions.iter();
    regions
        .map(|(number, of)| v1::RegionName {
            number: number.0.into(),
            name: of.name.clone(),
            line: of.line.clone(),
            function: of.is_function,
        })
        .collect()
}

fn membership(local: CommLocal, member: &Member) -> v1::Membership {
    v1::Membership {
        comm: local.0,
        name: Some(name(member.id)),
        peers: Some(name(member.peers)),
        rank: member.rank,
    }
}

pub(super) fn name(id: CommId) -> v1::CommName {
    v1::CommName {
        leader: id.leader.0,
        counter: id.counter,
    }
}

fn open(call: &OpenCall, function: String) -> v1::OpenCall {
    v1::OpenCall {
        function,
        begin_ns: call.begin_ns,
        begin_ticks: call.begin_ticks,
        occupant: call.occupant,
        region: 0,
    }
}
