//! What the root's supervisor does about its node that has died, beside waiting for the ranks: the
//! report of what the node left in their memory.

use crate::process::child::Ended;
use crate::process::signals::for_tools;
use crate::root::final_message::FinalMessage;
use crate::root::salvage::Salvage;
use crate::root::supervisor::Root;
use invivo_tbon::layout::Plan;

impl Root<'_> {
    /// Starts to take what the node that `died` has left in the memory of its ranks. Whether there
    /// is something to be had: it must have been their place, and how the job is laid out be known.
    pub(super) fn start_salvage(&mut self, died: Ended) -> bool {
        // Else only the tool processes together knew which ranks were its.
        let Plan::Layout(layout) = &self.assignment.plan else {
            return false;
        };
        // One that was asked to end has made its report, and what it says of that moment is more.
        if !layout.is_one_per_node() || self.asked_to_end || self.result.is_some() {
            return false;
        }
        let config = &self.assignment.options.config;
        let buffers = (layout.ranks_per_place(), config.buffer.0);
        let started = FinalMessage::pair().and_then(|(message, theirs)| {
            let mut command = self.tool_process(&theirs);
            command.arg("--analyses").arg(config.analyses.to_string());
            let mask = for_tools(self.signals.mask_before);
            let salvage = Salvage::start(command, buffers, &theirs, mask, died)?;
            Ok((message, salvage))
        });
        match started {
            Ok((message, salvage)) => {
                (self.message, self.salvage) = (Some(message), Some(salvage));
                true
            }
            Err(error) => {
                self.tell(&format!("what it has left cannot be saved: {error}"));
                false
            }
        }
    }

    /// Ends the salvage once its process has ended, or has had its time.
    pub(super) fn tend_salvage(&mut self) {
        if !self.salvage.as_ref().is_some_and(Salvage::is_over) {
            return;
        }
        // Its result may have come since the last look.
        self.take_result();
        if self.result.is_none() {
            self.tell("what lay in the ranks' shared memory could not be saved: no report");
        }
        (self.message, self.salvage) = (None, None);
        // Where this end of the job waits for the ranks, their notes are needed yet.
        if self.end_without_node.is_none() {
            self.close();
        }
    }
}
