//! The program that works when it is told to (xtask/bench/samples.c), bare or in a job under
//! Invivo: what is compared is measured in one process, turn by turn.

use crate::bench::statistics::quantile;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// From the last order to the end of a job whose bench has failed.
const END_MAX: Duration = Duration::from_secs(10);

/// What the program said of one order: of each batch wall-clock time and the thread's, in ns.
pub struct Worked(Vec<(f64, f64)>);

impl Worked {
    /// The batches.
    pub fn batches(&self) -> f64 {
        self.0.len() as f64
    }

    /// A batch on the wall that this part of all is shorter than.
    pub fn wall_ns(&self, part: f64) -> Result<f64> {
        quantile(
            &mut self.0.iter().map(|batch| batch.0).collect::<Vec<_>>(),
            part,
        )
    }

    /// The same of the thread.
    pub fn thread_ns(&self, part: f64) -> Result<f64> {
        quantile(
            &mut self.0.iter().map(|batch| batch.1).collect::<Vec<_>>(),
            part,
        )
    }

    /// Time on a processor of all batches together.
    pub fn cpu_ns(&self) -> f64 {
        self.0.iter().map(|batch| batch.1).sum()
    }
}

/// The running program. Dropped before its end, it gets no more orders.
pub struct Worker {
    launcher: Child,
    orders: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    /// The process that works.
    pub pid: u32,
}

impl Worker {
    /// Starts it by that line.
    pub fn start(mut line: Command) -> Result<Worker> {
        line.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut launcher = line.spawn().context("the launcher")?;
        let orders = launcher.stdin.take();
        let answers = launcher.stdout.take().context("a pipe")?;
        let mut worker = Worker {
            launcher,
            orders,
            lines: BufReader::new(answers).lines(),
            pid: 0,
        };
        worker.pid = loop {
            let line = worker.line()?;
            if let Some(pid) = line.strip_prefix("pid ") {
                break pid.parse()?;
            }
        };
        Ok(worker)
    }

    /// Lets it work: so many batches, each below so many calls.
    pub fn work(&mut self, depth: u32, batches: u32) -> Result<Worked> {
        let orders = self.orders.as_mut().context("no orders any more")?;
        writeln!(orders, "{depth} {batches}").context("an order")?;
        let mut worked = Worked(Vec::new());
        loop {
            let line = self.line()?;
            match line.split(' ').collect::<Vec<_>>()[..] {
                // From ms.
                ["time", wall, cpu] => {
                    let (wall, cpu): (f64, f64) = (wall.parse()?, cpu.parse()?);
                    worked.0.push((wall * 1e6, cpu * 1e6));
                }
                ["done"] => break,
                _ => {}
            }
        }
        ensure!(worked.0.len() == batches as usize, "batches are missing");
        Ok(worked)
    }

    /// Lets it end.
    pub fn end(mut self) -> Result<()> {
        self.orders = None;
        // What it says at its end must have room.
        while self.lines.next().transpose()?.is_some() {}
        let status = self.launcher.wait()?;
        ensure!(status.success(), "the program failed: {status}");
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        match self.lines.next() {
            Some(line) => line.context("the program's output"),
            None => bail!("the program ended before it was told to"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends with its orders. One that has ended is not waited for, nor killed.
        self.orders = None;
        let until = Instant::now() + END_MAX;
        while matches!(self.launcher.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.launcher.kill();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
