//! Signal handlers of a tool process: signals that request the end set a flag, others are ignored.
//!
//! Launchers send signals meant for the application to every process of the job.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag::register;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Signals that request the end.
pub(crate) const ENDS: [i32; 4] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT];

/// From now on the flag is set once the end has been requested; no signal for the application
/// ends this process.
///
/// # Errors
/// When the kernel refuses.
pub fn end_asked() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in ENDS {
        register(signal, asked.clone())?;
    }
    // Flags that nobody reads: by default these two would end the process.
    for signal in [SIGUSR1, SIGUSR2] {
        register(signal, Arc::default())?;
    }
    Ok(asked)
}
