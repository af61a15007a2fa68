//! Writes the timeline of the last seconds of a job that did not end well.
//!
//! Its pages come from the root before the result. The file lies beside the report where there is
//! one, else in the state directory, where the newest few are kept.

use crate::root::waiters::waiters;
use invivo_archive::observation::Death;
use invivo_grpc::convert;
use invivo_jobdir::{Kept, kept_path, whole_file};
use invivo_proto::control::link::{Final, TimelinePage};
use invivo_report::death;
use invivo_report::glyphs::Look;
use invivo_report::rows::EndedRow;
use invivo_report::timeline;
use invivo_report::timeline_pages::{EndContext, TimelinePages};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The ending of a timeline's name.
pub const ENDING: &str = "pftrace";

/// The pages that have come.
#[derive(Debug, Default)]
pub struct LastSeconds {
    gathered: Option<TimelinePages>,
    /// What was saved of them before, with an early result.
    saved: Option<EndContext>,
}

impl LastSeconds {
    /// A page came.
    pub fn add(&mut self, page: &TimelinePage, ranks: u32) {
        let gathered = self.gathered.get_or_insert_default();
        gathered.add(&convert::timeline::page(page, ranks));
    }

    /// The result came: writes the timeline. Nothing where there were no pages; where there were
    /// some with an early result and none since, because the job ended well, that timeline stays.
    ///
    /// # Errors
    /// When it cannot be written, with what is known all the same.
    pub fn save(
        &mut self,
        result: &Final,
        report: Option<&Path>,
    ) -> Option<(EndContext, Option<String>)> {
        // An early result was saved, and no page came since.
        let Some(mut gathered) = self.gathered.take() else {
            return self.saved.clone().map(|saved| (saved, None));
        };
        let of = &mut gathered.observation;
        of.job.clone_from(&result.job.id);
        of.ranks = result.job.ranks;
        let deaths = result.ended.iter().map(|ended| Death {
            rank: ended.rank.0,
            how: death::how(&EndedRow::from(ended)),
        });
        of.deaths = deaths.collect();

        let mut saved = EndContext {
            to_ns: of.to_ns,
            ..EndContext::default()
        };
        if let Some(first) = of.deaths.first() {
            saved.waiters = waiters(of, &result.hang, first.rank);
        }
        saved.picture = timeline::text(of, report_style());

        // A file that cannot be written does not cost the picture and the waiting ranks.
        let written = place(&result.job.id, report).and_then(|path| {
            let wrong = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
            whole_file::write_with(&path, |mut out| gathered.write(&mut out)).map_err(wrong)?;
            Ok(path)
        });
        Some(match written {
            Ok(path) => {
                saved.path = Some(path);
                self.saved = Some(saved.clone());
                (saved, None)
            }
            Err(why) => (saved, Some(why)),
        })
    }
}

/// How the picture is drawn: as the locale allows, and without colours, as reports are files.
fn report_style() -> Look {
    Look {
        color: false,
        ..Look::of(false, |name| std::env::var_os(name))
    }
}

/// Where the timeline goes.
fn place(job: &str, report: Option<&Path>) -> Result<PathBuf, String> {
    let Some(report) = report else {
        let kept = kept_path(Kept::Timelines, job, ENDING);
        return kept.map_err(|error| error.to_string());
    };
    // Of other endings nobody knows whether they are one: `melt.2026-11-21` and `melt.2026-11-22`
    // are two reports.
    let is_ending = |ending: &OsStr| ["txt", "json", "html"].iter().any(|known| ending == *known);
    Ok(if report.extension().is_some_and(is_ending) {
        report.with_extension(ENDING)
    } else {
        report.with_added_extension(ENDING)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::link::JobDescription;
    use invivo_proto::control::timeline::{Piece, Timeline};
    use invivo_proto::control::tree::{Ended, RankEnded};
    use invivo_proto::ids::Rank;

    fn result() -> Final {
        Final {
            job: JobDescription {
                id: "j".into(),
                ranks: 1,
                ..JobDescription::default()
            },
            functions: Default::default(),
            matrix: Default::default(),
            status: Default::default(),
            coverage: Default::default(),
            ended: vec![RankEnded {
                rank: Rank(0),
                how: Ended::Signal(9),
                inside: None,
            }],
            ended_left_out: 0,
            hang: Box::default(),
            waits: Box::default(),
            regions: Box::default(),
            sites: Box::default(),
            shut_down: false,
        }
    }

    fn page() -> TimelinePage {
        TimelinePage {
            timeline: Timeline {
                pieces: vec![Piece {
                    is_complete: true,
                    ..Piece::default()
                }],
                ..Timeline::default()
            },
            ..TimelinePage::default()
        }
    }

    /// A timeline is written beside the report and only where there were pages.
    #[test]
    fn a_timeline_is_written_only_where_pages_came() {
        let dir = tempfile::tempdir().expect("a directory");
        let report = dir.path().join("melt.json");
        let mut last = LastSeconds::default();
        assert_eq!(last.save(&result(), Some(&report)), None);
        last.add(&page(), 1);
        let (saved, why) = last
            .save(&result(), Some(&report))
            .expect("there was a page");
        let path = dir.path().join("melt.pftrace");
        assert_eq!((saved.path.as_deref(), why), (Some(path.as_path()), None));
        assert!(std::fs::metadata(&path).expect("a file").len() > 0);
        assert!(saved.picture.contains("\nrank 0 "), "{}", saved.picture);
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("a directory").count(),
            1
        );
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let mut last = LastSeconds::default();
        last.add(&page(), 1);
        let (saved, why) = last
            .save(&result(), Some(Path::new("/nowhere/at/all.txt")))
            .expect("there was a page");
        assert!(
            saved.path.is_none() && why.is_some_and(|why| why.contains("/nowhere/at/all.pftrace"))
        );
    }

    #[test]
    fn two_reports_have_two_timelines() {
        let path = |report: &str| place("j", Some(Path::new(report)));
        for (report, timeline) in [
            ("melt.json", "melt.pftrace"),
            ("melt.txt", "melt.pftrace"),
            ("melt.html", "melt.pftrace"),
            ("melt.2026-11-21", "melt.2026-11-21.pftrace"),
            ("melt", "melt.pftrace"),
        ] {
            assert_eq!(path(report), Ok(PathBuf::from(timeline)));
        }
    }
}
