/* Writes the environment of a rank to LOG_DIR/RANK.found, one line per thing.
 *
 * It looks before it calls MPI, and again when it has initialised MPI. Rank 0 reads its standard
 * input to the end. */
#define _GNU_SOURCE
#include "counting.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* What has been found so far. */
static char *text;
static size_t length;
static FILE *found;

static void cpus(const char *when)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    fprintf(found, "cpus %s:", when);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            fprintf(found, " %d", cpu);
    fprintf(found, "\n");
}

/* Lines of a file that begin with one of the words. */
static void lines(const char *file, const char *const *words)
{
    char line[4096];
    FILE *from = fopen(file, "r");
    while (from && fgets(line, sizeof line, from))
        for (const char *const *word = words; *word; word++)
            if (!strncmp(line, *word, strlen(*word)))
                fprintf(found, "%s", line);
    if (from)
        fclose(from);
}

int main(int argc, char **argv)
{
    int rank, size;
    char name[4096];
    found = open_memstream(&text, &length);
    cpus("at the beginning");
    fprintf(found, "directory: %s\n", getcwd(name, sizeof name));
    mode_t mask = umask(0);
    umask(mask);
    fprintf(found, "umask: %o\nnice: %d\n", mask, getpriority(PRIO_PROCESS, 0));
    for (int limit = 0; limit < RLIM_NLIMITS; limit++) {
        struct rlimit value;
        getrlimit(limit, &value);
        fprintf(found, "limit %d: %llu %llu\n", limit, (unsigned long long)value.rlim_cur,
                (unsigned long long)value.rlim_max);
    }
    const char *const of_status[] = {
        "SigBlk:", "SigIgn:", "Cpus_allowed:", "Mems_allowed:", "Seccomp:", "NoNewPrivs:", NULL};
    lines("/proc/self/status", of_status);
    const char *const all[] = {"", NULL};
    lines("/proc/self/cgroup", all);
    lines("/proc/self/oom_score_adj", all);
    for (int i = 0; i < argc; i++)
        fprintf(found, "argument %d: %s\n", i, argv[i]);
    for (char **variable = environ; *variable; variable++)
        fprintf(found, "env %s\n", *variable);

    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    fprintf(found, "rank: %d of %d\n", rank, size);
    cpus("in MPI");
    if (rank == 0) {
        long bytes = 0, sum = 0;
        for (int byte; (byte = getchar()) != EOF; bytes++)
            sum = (sum * 31 + byte) % 1000003;
        fprintf(found, "standard input: %ld bytes, %ld\n", bytes, sum);
    }
    int appnum, flag;
    void *value;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
    appnum = flag ? *(int *)value : -1;
    fprintf(found, "program %d of the job\n", appnum);
    printf("rank %d of %d\n", rank, size);
    fclose(found);
    snprintf(name, sizeof name, "%s/%d.found", getenv("LOG_DIR") ? getenv("LOG_DIR") : ".", rank);
    FILE *file = fopen(name, "w");
    if (file) {
        fwrite(text, 1, length, file);
        fclose(file);
    }
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
