//! A program that spends its time as it is told.

use crate::test_program::TestProgram;
use rustix::process::Pid;

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

pub struct Program(TestProgram);

impl Program {
    /// Compiles and starts it.
    pub fn new() -> Program {
        Program(TestProgram::start(&[
            ("spinner.c", PROGRAM, &["-pthread", "-ldl"]),
            ("plugin.c", PLUGIN, &["-shared", "-fPIC"]),
        ]))
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Lets it do that, and waits: the time that it took on a processor, in ns.
    pub fn run(&mut self, what: &str) -> u64 {
        self.0.run(what).trim().parse().expect("a number")
    }

    /// Lets it end, and waits for that.
    pub fn leave(&mut self) {
        self.0.leave();
    }
}
