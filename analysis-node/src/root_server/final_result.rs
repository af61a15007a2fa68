//! Collects the result of a job: its last queries, and the answers to them.

use crate::shutdown::QUIET_NS;
use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::fault::{FAULTS_MAX, RankFaulted};
use invivo_proto::control::link::{Answer, Final, JobDescription};
use invivo_proto::control::results::{Coverage, FunctionTable, JobStatus, Matrix};
use invivo_proto::control::tree::{Query, RankEnded};
use invivo_proto::ids::WorldRank;
use invivo_proto::rank_set::RankSet;
use std::collections::BTreeMap;

/// Deaths that the result names. A report shows the first few; more than so many die together of
/// one cause.
pub const ENDED_MAX: usize = 1024;
/// Tool processes that did not answer and are named with their ranks.
const SILENT_MAX: usize = 4;
/// Rows by rank in the result: all of them up to some hundred ranks, the worst ones of more.
pub const LAST_RANK_ROWS: u32 = 4096;
/// Side of the matrix in the result: exact up to so many ranks, and readable as a picture beyond.
pub const LAST_MATRIX_SIDE: u32 = 256;
/// Ranks that waited longest, and as many that made others wait longest.
pub const LAST_WAITING_RANKS: u32 = 64;
/// Regions with the most own time.
pub const LAST_REGIONS: u32 = 256;
/// Call sites with the most time.
pub const LAST_SITES: u32 = 256;
/// What the result is made of, beside what has names of functions.
pub(super) const QUESTIONS: [Query; 5] = [
    Query::Functions {
        rank_rows_max: LAST_RANK_ROWS,
        past: None,
    },
    Query::Matrix {
        side_max: LAST_MATRIX_SIDE,
        past: None,
    },
    Query::Status,
    Query::Analyses,
    Query::WaitStates {
        ranks_max: LAST_WAITING_RANKS,
        past: None,
    },
];
/// A note of a result whose end was hurried while names were looked up.
const LACKS_REGIONS: &str = "the regions of some ranks did not come in time, and are missing";
/// Likewise.
const LACKS_SITES: &str = "the call sites of some ranks did not come in time, and are missing";
/// An additional query after a death. A rank that waits for a dead one has done so for most
/// of the quiet that precedes.
pub(super) const WHO_WAITS: Query = Query::Hang {
    older_ns: QUIET_NS / 2,
};

/// The result, as far as it is known.
pub(super) struct FinalResult {
    result: Final,
    analyses: AnalysesStatus,
    faults: Vec<RankFaulted>,
    /// Tool processes that did not answer the last queries, with the ranks that report to each.
    silent: BTreeMap<WorldRank, RankSet>,
    /// The table of the last queries is in it.
    has_table: bool,
    unanswered: usize,
    /// Regions of some ranks did not come in time.
    lacks_regions: bool,
    /// Nor did call sites.
    lacks_sites: bool,
}

impl FinalResult {
    pub fn new(job: JobDescription) -> FinalResult {
        FinalResult {
            result: Final {
                job,
                functions: FunctionTable::default(),
                matrix: Matrix::default(),
                status: JobStatus::default(),
                coverage: Coverage::default(),
                ended: Vec::new(),
                ended_left_out: 0,
                hang: Box::default(),
                waits: Box::default(),
                regions: Box::default(),
                sites: Box::default(),
                shut_down: false,
            },
            analyses: AnalysesStatus::default(),
            faults: Vec::new(),
            silent: BTreeMap::new(),
            has_table: false,
            unanswered: 0,
            lacks_regions: false,
            lacks_sites: false,
        }
    }

    /// A rank died.
    pub fn rank_ended(&mut self, ended: RankEnded) {
        if self.result.ended.len() < ENDED_MAX {
            self.result.ended.push(ended);
        } else {
            self.result.ended_left_out += 1;
        }
    }

    /// Where the thread was that ended a rank.
    pub fn rank_faulted(&mut self, faulted: RankFaulted) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(faulted);
        }
    }

    /// These tool processes have no part in this answer, and these ranks report to them.
    pub fn silent(&mut self, answer: &Answer, silent: Vec<(WorldRank, RankSet)>) {
        // Who still looks up names is not lost.
        match answer {
            Answer::Regions(..) => {
                self.lacks_regions = !silent.is_empty();
                return;
            }
            Answer::Sites(..) => {
                self.lacks_sites = !silent.is_empty();
                return;
            }
            _ => {}
        }
        let room = SILENT_MAX.saturating_sub(self.silent.len());
        self.silent.extend(silent.into_iter().take(room));
    }

    /// Where threads were that ended their ranks.
    pub fn faults(&self) -> &[RankFaulted] {
        &self.faults
    }

    /// The queries to be made now. `has_time` says whether supervisors may be asked
    /// about their ranks, and `names` whether they may look up names of functions.
    pub fn begin(&mut self, has_time: bool, names: bool) -> impl Iterator<Item = Query> + use<> {
        let who_waits = (has_time && !self.result.ended.is_empty()).then_some(WHO_WAITS);
        let regions = Query::Regions {
            rows_max: LAST_REGIONS,
            named: names,
            past: None,
        };
        let sites = Query::Sites {
            rows_max: LAST_SITES,
            named: names,
            past: None,
        };
        let more = [Some(regions), Some(sites), who_waits]
            .into_iter()
            .flatten();
        self.unanswered = QUESTIONS.len() + more.clone().count();
        QUESTIONS.into_iter().chain(more)
    }

    /// Whether all questions are answered.
    pub fn is_answered(&self) -> bool {
        self.unanswered == 0
    }

    /// An answer came. `last_words` is what the watchdog said last.
    pub fn answer(&mut self, answer: Answer, last_words: Option<&str>) {
        match answer {
            // The counters are of the moment of the table: the job may run on while it is asked.
            Answer::Functions(functions, coverage) => {
                self.result.functions = functions;
                self.result.coverage = coverage;
                self.has_table = true;
            }
            Answer::Matrix(matrix, _) => self.result.matrix = matrix,
            Answer::Status(mut status, coverage) => {
                // First: the watchdog's line must not be one of those that are cut.
                status.notes.splice(0..0, last_words.map(str::to_owned));
                status.cut_notes();
                self.result.status = status;
                if !self.has_table {
                    self.result.coverage = coverage;
                }
            }
            Answer::Analyses(analyses, _) => self.analyses = *analyses,
            Answer::Hang(found, _) => *self.result.hang = found.1,
            Answer::WaitStates(waits, _) => self.result.waits = waits,
            // What came with an early result is more than what did not come in time behind it.
            Answer::Regions(regions, _) => {
                if !self.lacks_regions || self.result.regions.rows.len() < regions.rows.len() {
                    self.result.regions = regions;
                }
            }
            Answer::Sites(sites, _) => {
                if !self.lacks_sites || self.result.sites.rows.len() < sites.rows.len() {
                    self.result.sites = sites;
                }
            }
            // The tree is shut down only after the result; nothing to take over.
            Answer::Refused(_)
            | Answer::Job(_)
            | Answer::Command(_)
            | Answer::Messages(..)
            | Answer::Buffers(..)
            | Answer::Records(..)
            | Answer::Timeline(..)
            | Answer::Stacks(..)
            | Answer::Selection(..)
            | Answer::Metrics(..)
            | Answer::Profile(..)
            | Answer::Grid(..) => {}
            Answer::Saved(..) => {}
        }
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    /// Which analyses were on.
    pub fn analyses(&self) -> Box<AnalysesStatus> {
        Box::new(self.analyses.clone())
    }

    /// The result as it is to be written. Behind an early one follows another, whose coverage is
    /// that of its own table.
    pub fn written(&mut self, shut_down: bool, early: bool) -> Box<Final> {
        self.result.shut_down = shut_down;
        let mut result = Box::new(self.result.clone());
        let lost = std::mem::take(&mut self.silent).into_iter();
        let lost = lost.map(|(process, ranks)| {
            format!("tool process {process} did not answer: what it held of ranks {ranks} is lost")
        });
        let lacks = [
            (self.lacks_regions, LACKS_REGIONS),
            (self.lacks_sites, LACKS_SITES),
        ];
        let lacks = lacks.into_iter().filter(|(lacks, _)| *lacks);
        let lacks = lacks.map(|(_, note)| note.to_owned());
        let notes = &mut result.status.notes;
        notes.splice(0..0, lost.chain(lacks));
        result.status.cut_notes();
        if early {
            let note = "the end of the job was asked for: this is as it was then";
            result.status.notes.insert(0, note.to_owned());
            result.status.cut_notes();
            self.has_table = false;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::regions::{Region, RegionStats, RegionTable};

    #[test]
    fn regions_that_come_too_late_take_nothing_away() {
        let table = |names: &[&str]| {
            let rows = names.iter().map(|name| {
                let region = Region::Marked((*name).to_owned());
                (region, RegionStats::default())
            });
            Answer::Regions(
                Box::new(RegionTable {
                    rows: rows.collect(),
                    ..RegionTable::default()
                }),
                Coverage::default(),
            )
        };
        let mut result = FinalResult::new(JobDescription::default());
        let late = vec![(WorldRank(4), RankSet::from(0..4))];
        for (answer, missing, rows, has_note) in [
            (table(&["step", "solve"]), Vec::new(), 2, false),
            (table(&["step"]), late, 2, true),
            (table(&["step"]), Vec::new(), 1, false),
        ] {
            result.silent(&answer, missing);
            result.answer(answer, None);
            let written = result.written(false, false);
            let notes = &written.status.notes;
            assert_eq!(written.regions.rows.len(), rows);
            assert_eq!(notes.iter().any(|note| note == LACKS_REGIONS), has_note);
            assert_eq!(
                notes.len(),
                usize::from(has_note),
                "nobody is lost: {notes:?}"
            );
        }
    }
}
