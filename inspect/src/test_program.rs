//! C programs that tests compile, start, and tell what to do, line by line.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};

/// A program that runs. Dropped, it is killed.
pub struct TestProgram {
    process: Process,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _directory: tempfile::TempDir,
}

impl TestProgram {
    /// Compiles these, by file name, text and further arguments; starts the first with the paths of
    /// the others, and waits for its first line.
    pub fn start(sources: &[(&str, &str, &[&str])]) -> TestProgram {
        let directory = tempfile::tempdir().expect("directory");
        let compiled = sources.iter().map(|(name, text, arguments)| {
            let source = directory.path().join(name);
            std::fs::write(&source, text).expect("a source");
            let output = source.with_extension("");
            let mut compiler = Command::new("cc");
            compiler.current_dir(directory.path());
            compiler.args(["-O1", "-g", "-o"]).args([&output]);
            let done = compiler.arg(name).args(*arguments).status();
            assert!(done.expect("a C compiler").success(), "{name}");
            output
        });
        let compiled: Vec<_> = compiled.collect();
        let mut process = Command::new(&compiled[0])
            .args(&compiled[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut program = TestProgram {
            input: process.stdin.take(),
            process,
            output,
            _directory: directory,
        };
        program.end();
        program
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    fn end(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line
    }

    /// Lets it do that, and waits for the line that it says then.
    pub fn run(&mut self, what: &str) -> String {
        let input = self.input.as_mut().expect("it runs");
        writeln!(input, "{what}").expect("it reads");
        self.end()
    }

    /// Lets it end; what the system keeps of it until somebody has waited for it stays.
    pub fn end_input(&mut self) {
        self.input = None;
        let _ = self.output.read_to_end(&mut Vec::new());
        // Its output is closed a little before it has ended.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), ended).expect("it ends");
    }

    /// Lets it end, and waits for that.
    pub fn leave(&mut self) {
        self.end_input();
        self.process.wait().expect("it ends");
    }
}

impl Drop for TestProgram {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
