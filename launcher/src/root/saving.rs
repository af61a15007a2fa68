//! `--save`: what the buffers hold is saved when all ranks are through, before the job ends.

use crate::process::signals::for_tools;
use crate::root::final_message::FinalMessage;
use crate::root::save_at_end::SaveAtEnd;
use crate::root::supervisor::Root;
use std::path::PathBuf;

impl Root<'_> {
    /// Says at the start that the directory is there already: a job may run for days.
    pub(super) fn check_save(&self) {
        if let Ok(Some(dir)) = self.save_dir()
            && dir.exists()
        {
            self.tell(&format!(
                "{} exists already: at the end it will be saved to {}",
                dir.display(),
                self.beside(dir.clone()).display()
            ));
        }
    }

    fn save_dir(&self) -> Result<Option<PathBuf>, String> {
        let name = self.assignment.options.config.save.as_deref();
        Root::expanded(name, &self.job().id)
    }

    /// Another name for a directory that exists.
    fn beside(&self, mut dir: PathBuf) -> PathBuf {
        let mut name = dir.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", self.job().id));
        dir.set_file_name(name);
        dir
    }

    /// Begins to save, as the analysis node has asked. It waits for the end of that.
    pub(super) fn start_save(&mut self) {
        match self.save() {
            Ok(saving) => self.saving = Some(saving),
            Err(why) => {
                self.tell(&format!("nothing is saved: {why}"));
                self.let_node_go_on();
            }
        }
    }

    fn save(&self) -> Result<SaveAtEnd, String> {
        let dir = self.save_dir()?.ok_or("nobody has asked for it")?;
        let dir = match dir.exists() {
            true => self.beside(dir),
            false => dir,
        };
        let published = self.publication.as_ref();
        let published = published.ok_or("the job cannot be watched")?;
        let job = invivo_jobdir::job_dir(&published.job.id).map_err(|error| error.to_string())?;
        let connect = job.join(invivo_jobdir::FILE_NAME);
        let client = self.assignment.artefacts.client();
        let mask = for_tools(self.signals.mask_before);
        SaveAtEnd::start(&client, &connect, dir, mask)
            .map_err(|error| format!("{} cannot be started: {error}", client.display()))
    }

    /// Says what was saved once that is over, and lets the node go on.
    pub(super) fn tend_save(&mut self) {
        let Some(saving) = self.saving.take_if(|saving| saving.is_over()) else {
            return;
        };
        if let Some(line) = saving.line() {
            self.tell(&line);
        }
        self.let_node_go_on();
    }

    /// The result is here: the node waits no longer.
    pub(super) fn give_up_save(&mut self) {
        // It may have ended a moment ago.
        self.tend_save();
        if let Some(saving) = self.saving.take() {
            self.tell(&saving.give_up());
        }
    }

    fn let_node_go_on(&self) {
        if let Some(message) = &self.message {
            FinalMessage::go_on(message);
        }
    }
}
