/* A thread per task: threads that are started and joined, some at a time, each with ten MPI calls.
 *
 * `thread_per_task THREADS AT_ONCE`; of each thread the number is the tag of its messages. The first
 * ones wait for each other, so that there are as many at one time as there may be. The rank
 * leaves LOG_DIR/RANK.warm when a fifth of its threads are done and waits for LOG_DIR/go, and
 * RANK.done when all are, and waits for LOG_DIR/end. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { AT_ONCE_MAX = 64, BYTES = 8 };

static int me, at_once;
static pthread_barrier_t all_are_there;

/* Ten calls. What comes back is how many messages came as they were sent. */
static void *task(void *argument)
{
    int tag = (int)(intptr_t)argument, right = 0, flag = 0;
    for (int round = 0; round < 2; round++) {
        int64_t out = tag * 10L + round, in = -1;
        MPI_Request both[2];
        MPI_Status status;
        MPI_Irecv(&in, BYTES, MPI_BYTE, 0, tag, MPI_COMM_SELF, &both[0]);
        MPI_Isend(&out, BYTES, MPI_BYTE, 0, tag, MPI_COMM_SELF, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        right += in == out;
        MPI_Iprobe(0, tag, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        if (round == 0 && tag <= at_once)
            pthread_barrier_wait(&all_are_there);
        MPI_Sendrecv(&in, BYTES, MPI_BYTE, 0, tag, &out, BYTES, MPI_BYTE, 0, tag, MPI_COMM_SELF,
                     &status);
        right += in == out && !flag && status.MPI_TAG == tag;
    }
    return (void *)(intptr_t)right;
}

/* What a thread has called. Threads do not count for themselves: the counters are everybody's. */
static void count_task(void)
{
    static const char *const names[] = {"MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Iprobe",
                                        "MPI_Sendrecv"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        *counting_slot(names[i]) += 2;
    for (int message = 0; message < 4; message++) {
        counting_sent(me, BYTES);
        counting_received(me, BYTES);
    }
}

static void leave_note(const char *what)
{
    char name[4096];
    const char *logs = getenv("LOG_DIR");
    snprintf(name, sizeof name, "%s/%d.%s", logs ? logs : ".", me, what);
    FILE *file = fopen(name, "w");
    if (!file)
        exit(70);
    fclose(file);
}

static void wait_for(const char *what)
{
    while (getenv("LOG_DIR") && !flag_is_set(what))
        usleep(5000);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 10000, provided;
    at_once = argc > 2 ? atoi(argv[2]) : 8;
    long right = 0;
    static pthread_t running[AT_ONCE_MAX];
    if (at_once < 1 || at_once > AT_ONCE_MAX)
        return 64;
    pthread_barrier_init(&all_are_there, NULL, at_once);
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &me);
    for (int i = 0; i < threads + at_once; i++) {
        void *result = NULL;
        if (i >= at_once) {
            pthread_join(running[i % at_once], &result);
            right += (intptr_t)result;
            count_task();
            if (i - at_once + 1 == threads / 5) {
                leave_note("warm");
                wait_for("go");
            }
        }
        if (i < threads &&
            pthread_create(&running[i % at_once], NULL, task, (void *)(intptr_t)(i + 1)))
            return 71;
    }
    leave_note("done");
    wait_for("end");
    printf("rank %d: %d threads, %ld messages right\n", me, threads, right);
    CALL(MPI_Finalize)();
    counting_write(me);
    return provided == MPI_THREAD_MULTIPLE ? 0 : 72;
}
