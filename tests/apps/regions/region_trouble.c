/* Regions that do not nest as they should, or are too many: `region_trouble MODE`.
 *
 *   recursion       a function calls itself to a depth of 10,000
 *   jumps           longjmp out of three nested functions, 1,000 times
 *   across          a marked region begins in one function and ends in another
 *   ends            ends without a begin, by name and without one
 *   threads         four threads that call MPI once first, and four that never do
 *   thread_exits    threads end themselves inside nested regions
 *   fork            children call functions and end themselves
 *   library         a library is loaded, called and unloaded, 50 times; it stays the last time
 *   library_gone    the same, and it does not stay
 *   names           11,000 marked regions: all of them once, then the first 5,000 once more
 *   exit, _exit     the job ends inside of regions, behind MPI_Finalize
 *
 * Each rank writes "NAME VISITS" to LOG_DIR/RANK.regions before MPI_Finalize: how often regions
 * were begun by threads that had called MPI, however deep and however many there are. What has no
 * such visits is not written: `main`, which begins before MPI_Init, functions with which threads
 * start, children. `ordinary` and `ordinary_inner` come before and behind the trouble. The output
 * and the status, 0, are the same whoever looks on. */
#include "invivo_regions.h"
#include "region_log.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define A_FRAME __attribute__((noinline, noclone))
#define UNSEEN __attribute__((no_instrument_function))

enum { DEPTH = 10000, TIMES = 1000, THREADS = 4, LOADS = 50, CHILDREN = 5 };
enum { NAMES = 11000, NAMES_AGAIN = 5000, ORDINARY = 5 };

#define REGIONS(X)                                                                              \
    X(ordinary) X(ordinary_inner) X(recursion) X(jumps) X(jump_outer) X(jump_middle)            \
    X(jump_inner) X(across) X(begin_across) X(end_across) X(ends) X(threads) X(in_thread)       \
    X(thread_region) X(thread_exits) X(exit_outer) X(exit_inner) X(exit_region) X(forks)        \
    X(fork_region) X(library) X(plugin_work) X(plugin_inner) X(names) X(finish) X(last_region)

#define NUMBER(name) OF_##name,
#define NAME(name) #name,
enum { REGIONS(NUMBER) REGION_COUNT };
static const char *const region_names[] = {REGIONS(NAME)};
static long visits[REGION_COUNT];

#define VISIT(name) __atomic_add_fetch(&visits[OF_##name], 1, __ATOMIC_RELAXED)
#define BEGIN(name) (VISIT(name), invivo_begin(#name))

static int me;
static const char *mode;
static volatile int left;

A_FRAME static void ordinary_inner(void)
{
    VISIT(ordinary_inner);
    left++;
}

A_FRAME static void ordinary(void)
{
    VISIT(ordinary);
    ordinary_inner();
    ordinary_inner();
    left++;
}

A_FRAME static int recursion(int depth)
{
    VISIT(recursion);
    return depth > 1 ? 1 + recursion(depth - 1) : 1;
}

UNSEEN static int recursions(void)
{
    return recursion(DEPTH);
}

static jmp_buf back;

A_FRAME static void jump_inner(void)
{
    VISIT(jump_inner);
    longjmp(back, 1);
}

A_FRAME static void jump_middle(void)
{
    VISIT(jump_middle);
    jump_inner();
    left--;
}

A_FRAME static void jump_outer(void)
{
    VISIT(jump_outer);
    jump_middle();
    left--;
}

A_FRAME static int jumps(void)
{
    volatile int done = 0;
    VISIT(jumps);
    while (done < TIMES)
        if (setjmp(back) == 0)
            jump_outer();
        else
            done++;
    return done;
}

A_FRAME static void begin_across(void)
{
    VISIT(begin_across);
    BEGIN(across);
    left++;
}

A_FRAME static void end_across(void)
{
    VISIT(end_across);
    invivo_end("across");
    left++;
}

UNSEEN static int from_one_to_another(void)
{
    for (int i = 0; i < TIMES; i++) {
        begin_across();
        ordinary();
        end_across();
    }
    return TIMES;
}

A_FRAME static int ends(void)
{
    VISIT(ends);
    for (int i = 0; i < TIMES; i++) {
        invivo_end("never begun");
        invivo_end(NULL);
    }
    return TIMES;
}

A_FRAME static void in_thread(void)
{
    VISIT(in_thread);
    BEGIN(thread_region);
    left = 1;
    invivo_end("thread_region");
}

/* The same, of threads that do not count. */
A_FRAME static void in_quiet_thread(void)
{
    invivo_begin("quiet_region");
    left = 1;
    invivo_end("quiet_region");
}

static void *talker(void *argument)
{
    MPI_Barrier(MPI_COMM_SELF);
    for (int i = 0; i < TIMES; i++)
        in_thread();
    return argument;
}

static void *quiet(void *argument)
{
    for (int i = 0; i < TIMES; i++)
        in_quiet_thread();
    return argument;
}

A_FRAME static void exit_inner(void)
{
    VISIT(exit_inner);
    pthread_exit((void *)1);
}

A_FRAME static void exit_outer(void)
{
    VISIT(exit_outer);
    BEGIN(exit_region);
    exit_inner();
    left--;
}

static void *leaver(void *argument)
{
    MPI_Barrier(MPI_COMM_SELF);
    exit_outer();
    return argument;
}

/* How many threads came back with 1. */
UNSEEN static int run_threads(void *(*of)(void *), void *(*and_of)(void *))
{
    pthread_t threads[2 * THREADS];
    int sum = 0;
    for (int i = 0; i < 2 * THREADS; i++)
        if (pthread_create(&threads[i], NULL, i % 2 ? of : and_of, (void *)(intptr_t)1))
            exit(70);
    for (int i = 0; i < 2 * THREADS; i++) {
        void *one = NULL;
        pthread_join(threads[i], &one);
        sum += (int)(intptr_t)one;
    }
    return sum;
}

A_FRAME static int threads(void)
{
    VISIT(threads);
    return run_threads(talker, quiet);
}

A_FRAME static int thread_exits(void)
{
    VISIT(thread_exits);
    return run_threads(leaver, leaver);
}

A_FRAME static int forks(void)
{
    int well = 0;
    VISIT(forks);
    BEGIN(fork_region);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < TIMES; k++)
                in_quiet_thread();
            invivo_end("fork_region");
            _exit(7);
        }
        if (waitpid(child, &status, 0) == child)
            well += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    invivo_end("fork_region");
    return well;
}

A_FRAME static int library(void)
{
    char path[4096] = "";
    int sum = 0;
    VISIT(library);
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    if (length < 0)
        exit(70);
    strcpy(path + length, ".so");
    for (int i = 0; i < LOADS; i++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*work)(int) = plugin ? (int (*)(int))dlsym(plugin, "plugin_work") : NULL;
        if (!work)
            exit(70);
        for (int k = 0; k < 10; k++) {
            VISIT(plugin_work);
            VISIT(plugin_inner);
            sum += work(k);
        }
        /* The last time it stays, unless it is gone. */
        if (mode[7] != '\0' || i + 1 < LOADS)
            dlclose(plugin);
    }
    return sum;
}

A_FRAME static int names(void)
{
    char name[32];
    VISIT(names);
    for (int i = 0; i < NAMES + NAMES_AGAIN; i++) {
        snprintf(name, sizeof name, "name_%d", i % NAMES);
        invivo_begin(name);
        invivo_end(name);
    }
    return NAMES;
}

UNSEEN static int nothing(void)
{
    return 0;
}

UNSEEN static void write_visits(int with_names)
{
    FILE *file = region_log_file(me);
    for (int i = 0; i < REGION_COUNT; i++)
        if (visits[i])
            fprintf(file, "%s %ld\n", region_names[i], visits[i]);
    for (int i = 0; with_names && i < NAMES; i++)
        fprintf(file, "name_%d %d\n", i, i < NAMES_AGAIN ? 2 : 1);
    if (fclose(file))
        exit(70);
}

A_FRAME static void finish(void)
{
    VISIT(finish);
    BEGIN(last_region);
    write_visits(strcmp(mode, "names") == 0);
    region_log_wait(me);
    MPI_Finalize();
    in_quiet_thread();
    printf("rank %d is done\n", me);
    fflush(stdout);
    if (strcmp(mode, "exit") == 0)
        exit(0);
    if (strcmp(mode, "_exit") == 0)
        _exit(0);
    invivo_end("last_region");
}

static const struct {
    const char *name;
    int (*trouble)(void);
} modes[] = {
    {"recursion", recursions}, {"jumps", jumps},
    {"across", from_one_to_another}, {"ends", ends},
    {"threads", threads}, {"thread_exits", thread_exits},
    {"fork", forks}, {"library", library},
    {"library_gone", library}, {"names", names},
    {"exit", nothing}, {"_exit", nothing},
};

int main(int argc, char **argv)
{
    int number = 0, provided;
    mode = argc > 1 ? argv[1] : modes[0].name;
    while (strcmp(modes[number].name, mode) != 0)
        if (++number == (int)(sizeof modes / sizeof *modes))
            return 64;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < ORDINARY; i++)
        ordinary();
    printf("rank %d, %s: %d\n", me, mode, modes[number].trouble());
    for (int i = 0; i < ORDINARY; i++)
        ordinary();
    MPI_Barrier(MPI_COMM_WORLD);
    finish();
    return 0;
}
