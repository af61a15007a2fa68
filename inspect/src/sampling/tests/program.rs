//! A program that spends its time as it is told.

use rustix::process::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};

/// Waits for a line, computes or sleeps as it is told, says how long it was on a processor, and
/// waits again. No call is the last thing that a function does, so that each has a frame.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long work;
static double on_processor(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
__attribute__((noinline)) static void heavy(double time)
{
    double until = on_processor(CLOCK_THREAD_CPUTIME_ID) + time;
    while (on_processor(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < 20000; i++)
            work += 3;
    work++;
}
__attribute__((noinline)) static void light(double time)
{
    double until = on_processor(CLOCK_THREAD_CPUTIME_ID) + time;
    while (on_processor(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < 20000; i++)
            work ^= 5;
    work++;
}
/* The time that is left over from one goes to the next: the sums are as they should be. */
__attribute__((noinline)) static void both(double time)
{
    for (int i = 0; i < 25; i++) {
        heavy(time * 0.03);
        light(time * 0.01);
    }
    work++;
}
__attribute__((noinline)) static void *beside(void *nothing)
{
    heavy(0.6);
    work++;
    return nothing;
}
static void *waits(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}
__attribute__((noinline)) static void deep(int levels, double time)
{
    if (levels)
        deep(levels - 1, time);
    else
        heavy(time);
    work++;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    char line[64];
    puts("begun");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        double before = on_processor(CLOCK_PROCESS_CPUTIME_ID);
        if (!strncmp(line, "both", 4))
            both(atof(line + 4));
        if (!strncmp(line, "thread", 6)) {
            pthread_create(&thread, NULL, beside, NULL);
            pthread_join(thread, NULL);
        }
        if (!strncmp(line, "crowd", 5))
            for (int i = 0; i < 300; i++)
                pthread_create(&thread, NULL, waits, NULL);
        if (!strncmp(line, "deep", 4))
            deep(1000, 0.3);
        if (!strncmp(line, "plugin", 6)) {
            void (*run)(double) = dlsym(dlopen(argv[1], RTLD_NOW), "plugin_work");
            run(1.0);
            work++;
        }
        printf("%.0f\n", 1e9 * (on_processor(CLOCK_PROCESS_CPUTIME_ID) - before));
        fflush(stdout);
    }
    return 0;
}
"#;

const PLUGIN: &str = r#"
#include <time.h>
static volatile unsigned long work;
__attribute__((noinline)) void plugin_work(double time)
{
    clock_t until = clock() + time * CLOCKS_PER_SEC;
    while (clock() < until)
        for (int i = 0; i < 20000; i++)
            work++;
    work++;
}
"#;

pub struct Program {
    process: Process,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _directory: tempfile::TempDir,
}

impl Program {
    /// Compiles and starts it.
    pub fn new() -> Program {
        let directory = tempfile::tempdir().expect("directory");
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("spinner.c"), PROGRAM).expect("a source");
        std::fs::write(at("plugin.c"), PLUGIN).expect("a source");
        let compile = |arguments: &[&str]| {
            let mut compiler = Command::new("cc");
            compiler.current_dir(directory.path()).args(["-O1", "-g"]);
            assert!(
                compiler
                    .args(arguments)
                    .status()
                    .expect("a C compiler")
                    .success()
            );
        };
        compile(&["-pthread", "-o", "spinner", "spinner.c", "-ldl"]);
        compile(&["-shared", "-fPIC", "-o", "plugin.so", "plugin.c"]);
        let mut process = Command::new(at("spinner"))
            .arg(at("plugin.so"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
        output.read_line(&mut String::new()).expect("a word");
        Program {
            input: process.stdin.take(),
            process,
            output,
            _directory: directory,
        }
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    fn begin(&mut self, what: &str) {
        let input = self.input.as_mut().expect("it runs");
        writeln!(input, "{what}").expect("it reads");
    }

    /// The time that it took on a processor, in ns.
    fn end(&mut self) -> u64 {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().parse().expect("a number")
    }

    /// Lets it do that, and waits.
    pub fn run(&mut self, what: &str) -> u64 {
        self.begin(what);
        self.end()
    }

    /// Lets it end, and waits for that.
    pub fn leave(&mut self) {
        self.input = None;
        let _ = self.output.read_to_end(&mut Vec::new());
        self.process.wait().expect("it ends");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
