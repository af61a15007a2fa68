//! Saves: a scripted root gives pages, and what is held is let go of.

use crate::scripted_root::{Reply, ScriptedRoot, coverage, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::saved::{SaveAsk, Saved, SavedPage};
use invivo_proto::control::tree::Query;
use invivo_proto::ids::{Rank, WorldRank};
use std::time::Duration;
use tonic::{Code, Status};

async fn saved(job: &JobDir, request: v1::SaveRequest) -> Result<Vec<v1::SavePage>, Status> {
    let mut stream = job.controller().save(request).await?.into_inner();
    let mut all = Vec::new();
    while let Some(page) = stream.message().await? {
        all.push(page);
    }
    Ok(all)
}

/// What was asked of saves, but for their numbers.
fn save_asks(root: &ScriptedRoot) -> Vec<SaveAsk> {
    let asked = root.asked().into_iter();
    let asks = asked.filter_map(|ask| match ask {
        Ask::Query(Query::Save(query)) => Some(query.ask),
        _ => None,
    });
    asks.collect()
}

/// Each place is asked for its pages until its last one, and then the place of the first rank that
/// has not come; what is held is let go of at the end.
#[tokio::test]
async fn a_save_goes_from_place_to_place() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let all = saved(&job, v1::SaveRequest::default())
        .await
        .expect("saved");
    let ranks: Vec<Vec<u32>> = all
        .iter()
        .map(|page| {
            page.pieces
                .iter()
                .map(|piece| piece.location.expect("it").rank)
                .collect()
        })
        .collect();
    assert_eq!(ranks, [vec![0], vec![3], vec![1, 2]]);
    assert_eq!(
        all.iter().map(|page| page.last).collect::<Vec<_>>(),
        [false, false, true]
    );
    let head = |page: &v1::SavePage| (page.from_ns, page.to_ns, page.ranks, page.locations_total);
    assert!(all.iter().all(|page| head(page) == (0, 9_000, 4, 4)));
    assert_eq!(
        (all[0].host.as_str(), &all[1].pieces[0].bins[0].content[..]),
        ("node17", &[3][..])
    );
    let expected = |ask: &SaveAsk| matches!(ask, SaveAsk::Thaw);
    for _ in 0..100 {
        if save_asks(&root).iter().any(expected) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let asked = save_asks(&root);
    assert!(
        matches!(asked[0], SaveAsk::Freeze { to_ns: 9_000, .. }),
        "{asked:?}"
    );
    assert!(matches!(asked[..], [.., SaveAsk::Thaw]), "{asked:?}");
    assert_eq!(asked.len(), 5, "{asked:?}");

    // What makes no sense is refused before anything is held.
    let none = v1::SaveRequest {
        ranks: vec![v1::RankRange { first: 9, last: 12 }],
        ..v1::SaveRequest::default()
    };
    let refused = saved(&job, none).await.expect_err("no such ranks");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(save_asks(&root).len(), 5);
}

/// Another save is under way; a place has given up; a place does not answer.
#[tokio::test]
async fn a_save_that_cannot_be_whole_says_why() {
    let code = |change: fn(SaveAsk) -> Option<Saved>| async move {
        let job = JobDir::new();
        let _root = ScriptedRoot::start(&job.link(), move |ask| match ask {
            Ask::Query(Query::Save(query)) => match change(query.ask) {
                Some(saved) => Reply::Partial(
                    Answer::Saved(Box::new(saved), coverage()),
                    vec![WorldRank(5)],
                ),
                None => known(ask),
            },
            other => known(other),
        });
        let _gateway = job.gateway().await;
        job.root_connected(true).await;
        saved(&job, v1::SaveRequest::default()).await
    };
    let busy = code(|ask| match ask {
        SaveAsk::Freeze { .. } => Some(Saved {
            busy: 1,
            ..Saved::default()
        }),
        _ => None,
    });
    let busy = busy.await.expect_err("another is under way");
    assert_eq!(busy.code(), Code::FailedPrecondition);
    let gone = code(|ask| match ask {
        SaveAsk::Page { page: 1, .. } => Some(Saved {
            page: Some(SavedPage {
                is_gone: true,
                ..SavedPage::default()
            }),
            ..Saved::default()
        }),
        _ => None,
    });
    assert_eq!(
        gone.await.expect_err("it was given up").code(),
        Code::Aborted
    );
    let silent = code(|ask| match ask {
        SaveAsk::Page {
            rank: Rank(1 | 2), ..
        } => Some(Saved::default()),
        _ => None,
    });
    let pages = silent.await.expect("what there is");
    let last = pages.last().expect("the last page");
    assert!(last.last && last.missing == [5], "{last:?}");
    assert_eq!(pages.iter().map(|page| page.pieces.len()).sum::<usize>(), 2);
}
