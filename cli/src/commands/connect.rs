//! `invivo connect`: a job behind a login, on a screen or as a page, in the fewest words. It stands
//! for `top` and `web` with `--on`.

use crate::ssh::login;

/// Options of `invivo connect`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
It is the same as invivo top --on HOST --job JOB, and with --web as invivo web: ssh starts invivo
there, whose standard input and output are the connection; nothing listens for it, and no port is
forwarded.

Examples:
  invivo connect me@login                 the screen of the only job that runs there
  invivo connect me@login 4711            one of several
  invivo connect me@login:4711 --web      as a page in a browser
  invivo connect ssh://me@login:2222 4711
  export INVIVO_ON=me@login               for every other command")]
pub struct Args {
    /// The host as ssh takes it, and the job behind a colon if you like: me@login:4711
    host: String,
    /// The job, or a part of its name that fits no other; not needed while only one runs there
    job: Option<String>,
    /// As a page in a browser, not on this terminal
    #[arg(long)]
    web: bool,
    /// With --web: print the link as JSON
    #[arg(long, requires = "web")]
    json: bool,
    /// Where `invivo` is there, if it is not in the PATH
    #[arg(long, value_name = "PATH", env = "INVIVO_ON_PROGRAM", default_value = login::PROGRAM)]
    #[arg(hide_default_value = true)]
    on_program: String,
}

impl Args {
    /// The command line that this one stands for.
    ///
    /// # Errors
    /// When two jobs are named.
    pub fn words(&self) -> anyhow::Result<Vec<String>> {
        let (host, behind) = parted(&self.host);
        let job = match (behind, &self.job) {
            (Some(one), Some(other)) => {
                anyhow::bail!("{one} and {other} are two jobs; leave one of them away")
            }
            (Some(job), None) => Some(job),
            (None, job) => job.as_deref(),
        };
        let verb = if self.web { "web" } else { "top" };
        let mut words = vec!["invivo", verb, "--on", host];
        words.extend(["--on-program", &self.on_program]);
        words.extend(job.iter().flat_map(|job| ["--job", *job]));
        words.extend(self.json.then_some("--json"));
        Ok(words.into_iter().map(str::to_owned).collect())
    }
}

/// Host and job. A colon of an address or of a port is none before a job.
fn parted(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((host, job)) if !job.is_empty() && !job.contains([':', '/', ']']) => (host, Some(job)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_stands_behind_the_last_colon() {
        assert_eq!(parted("me@login:4711"), ("me@login", Some("4711")));
        assert_eq!(parted("login:n17-4711"), ("login", Some("n17-4711")));
        for whole in ["login", "login:", "ssh://me@login:2222", "me@::1", "[::1]"] {
            assert_eq!(parted(whole), (whole, None));
        }
    }

    #[test]
    fn it_stands_for_a_screen_or_a_page() {
        let mut args = Args {
            host: "me@login:4711".into(),
            job: None,
            web: false,
            json: false,
            on_program: "invivo".into(),
        };
        let words = |args: &Args| args.words().map(|words| words.join(" "));
        let top = "invivo top --on me@login --on-program invivo --job 4711";
        assert_eq!(words(&args).ok().as_deref(), Some(top));
        args.job = Some("4712".into());
        assert!(words(&args).is_err(), "two jobs");
        args.host = "login".into();
        (args.web, args.json) = (true, true);
        let web = "invivo web --on login --on-program invivo --job 4712 --json";
        assert_eq!(words(&args).ok().as_deref(), Some(web));
    }
}
