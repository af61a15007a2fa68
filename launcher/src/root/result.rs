//! Presents the job's result: the line at the end, the report, and the last seconds.

use crate::job::job_id::host;
use crate::process::child;
use crate::root::final_message::{FinalMessage, Progress};
use crate::root::salvage::Salvage;
use crate::root::supervisor::Root;
use invivo_config::Names;
use invivo_jobdir::{Kept, kept_path, whole_file};
use invivo_proto::control::link::Final;
use invivo_proto::control::tree::Ended;
use invivo_report::Report;
use invivo_report::rows::Start;
use invivo_report::timeline_pages::EndContext;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

impl Root<'_> {
    pub(super) fn take_result(&mut self) {
        let ranks = self.assignment.ranks_max;
        let progress = loop {
            match self.message.as_mut().map(FinalMessage::take) {
                Some(Progress::Page(page)) => self.last.add(&page, ranks),
                Some(Progress::Analyses(analyses)) => self.analyses = *analyses,
                Some(Progress::Faults(faults)) => self.faults = faults,
                Some(Progress::Early(result)) => self.take_early(&result),
                Some(Progress::Save) => self.start_save(),
                Some(progress) => break progress,
                None => return,
            }
        };
        self.result = Some(match progress {
            Progress::Waiting
            | Progress::Page(_)
            | Progress::Analyses(_)
            | Progress::Faults(_)
            | Progress::Save
            | Progress::Early(_) => return,
            Progress::Complete(mut result) => {
                self.give_up_save();
                if let Some(salvage) = &self.salvage {
                    salvage.mark(&mut result);
                }
                self.present(&result);
                Ok(())
            }
            Progress::Broken(why) => {
                self.tell(&format!("the job's report is lost: {why}"));
                Err(why)
            }
            // The node ended without a result: its exit status decides what that means.
            Progress::Closed => {
                self.message = None;
                return;
            }
        });
        // The ranks of a dead node go on, and their notes are in the directory.
        if self.salvage.is_some() {
            self.message = None;
            return;
        }
        // The node waits for this end to close before it lets the ranks leave: from then on a
        // launcher may kill us, so nothing may be left behind.
        if let Some(publication) = &self.publication {
            publication.withdraw();
        }
        let _ = invivo_jobdir::remove_runtime_dir(&self.dir);
        self.message = None;
        self.unpublish();
    }

    /// Takes the result as it was when the end was requested. Another one comes with the job's end.
    fn take_early(&mut self, result: &Final) {
        self.present(result);
        // SIGKILL may follow now, so what others could find goes first. The sockets may go only
        // where every rank has reported: one that is still on its way needs its place's socket.
        if result.coverage.ranks_reporting == result.job.ranks {
            self.close();
        } else {
            self.unpublish();
        }
        if let Some(message) = &self.message {
            message.go_on();
        }
    }

    fn present(&mut self, result: &Final) {
        self.hold_pmi_open = !result.ended.is_empty();
        // An exit code without `MPI_Finalize`: MPICH's launcher is to end the other ranks.
        let early = result
            .ended
            .iter()
            .any(|ended| matches!(ended.how, Ended::Code(_)));
        if early && child::launcher_listens() {
            self.left_early.get_or_insert_with(Instant::now);
        }

        // Before the line and the report: both name the timeline's file.
        let report = self.report_path(&result.job.id);
        let mut saved = match self
            .last
            .save(result, report.as_ref().ok().and_then(Option::as_deref))
        {
            Some((saved, trouble)) => {
                if let Some(why) = trouble {
                    self.tell(&format!("the last seconds are lost: {why}"));
                }
                saved
            }
            None => EndContext::default(),
        };
        saved.asked_by = self.asked_by;
        saved.tool_ended = self.salvage.as_ref().map(Salvage::died);
        saved.analyses = self.analyses.clone();
        saved.faults = self.faults.clone();
        saved.start = Some(self.start());
        let saved = Report::of(result, &saved);

        let line = invivo_report::one_line(&saved);
        if result.shut_down {
            // The job goes on: its line comes when it ends.
            self.last_words = Some(line);
        } else {
            self.tell(&line);
        }
        if let Err(why) = report.and_then(|path| self.write(&saved, path.as_deref())) {
            self.tell(&why);
        }
        if self.assignment.terminal && !self.quiet() {
            eprint!("{}", invivo_report::text(&saved));
        }
    }

    fn start(&self) -> Start {
        Start {
            unix: self.started_unix,
            host: host(),
            command: self.assignment.command.clone(),
            invivo_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Where the report goes, if one was asked for.
    fn report_path(&self, job: &str) -> Result<Option<PathBuf>, String> {
        Root::expanded(self.assignment.options.config.report.as_deref(), job)
    }

    /// A name with what its tokens stand for.
    pub(super) fn expanded(template: Option<&Path>, job: &str) -> Result<Option<PathBuf>, String> {
        let Some(template) = template else {
            return Ok(None);
        };
        let names = Names {
            host: &host(),
            job,
            pid: std::process::id(),
        };
        invivo_config::expand(template, &names).map(Some)
    }

    /// Says at the start that the report will not get where it is to go: a job may run for days.
    pub(super) fn check_report(&self) {
        // Of what the template wants to know, nothing is known at the end that is not known now.
        let job = &self.assignment.job.id;
        let Ok(Some(path)) = self.report_path(job) else {
            return;
        };
        if let Err(error) = whole_file::check(&path) {
            self.tell(&format!(
                "the report cannot be written to {}: {error}; it will be kept in the state \
                 directory",
                path.display()
            ));
        }
    }

    /// The report, where one was asked for, and beside it what it was made with.
    fn write(&self, report: &Report, path: Option<&Path>) -> Result<(), String> {
        let Some(path) = path else { return Ok(()) };
        let config = &self.assignment.options.config;
        let (ending, text) = match path.extension().and_then(OsStr::to_str) {
            Some("json") => ("json", invivo_report::json(report)),
            Some("html") => ("html", invivo_report::html(report)),
            _ => ("txt", invivo_report::text(report)),
        };
        whole_file::write(path, text.as_bytes()).map_err(|error| {
            let why = format!("cannot write the report to {}: {error}", path.display());
            match keep(&report.job.id, ending, text.as_bytes()) {
                Ok(kept) => format!("{why}; it is in {}", kept.display()),
                Err(also) => format!("{why}; nor to the state directory: {also}"),
            }
        })?;
        invivo_config::write_beside(path, config).map_err(|error| {
            let path = invivo_config::beside(path);
            format!(
                "cannot write the configuration to {}: {error}",
                path.display()
            )
        })?;
        Ok(())
    }
}

/// Keeps a report that could not be written where it was to go.
fn keep(job: &str, ending: &str, text: &[u8]) -> Result<PathBuf, String> {
    let path = kept_path(Kept::Reports, job, ending).map_err(|error| error.to_string())?;
    whole_file::write(&path, text).map_err(|error| error.to_string())?;
    Ok(path)
}
