/* Calls of some kinds, each with a profile of its own under callgrind.
 *
 * The world has one rank, which sends to itself. It prints the number of calls of each kind. */
#include <mpi.h>
#include <stdio.h>
#include <valgrind/callgrind.h>

enum { CALLS = 9000, MANY = 1000 };

static double out = 1, in, box[MANY];
static MPI_Request requests[MANY];

static int iprobe(void) {
    int flag;
    for (int i = 0; i < CALLS; i++) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return CALLS;
}

static int sendrecv(void) {
    for (int i = 0; i < CALLS; i++)
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 2, &in, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    return CALLS;
}

static int waitall(void) {
    for (int i = 0; i < CALLS / 3; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return CALLS / 3 * 3;
}

/* As many as may be on their way at once, half of them complete when they are posted. */
static int many_requests(void) {
    enum { ROUNDS = 20 };
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY / 2; i++)
            MPI_Irecv(&box[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < MANY / 2; i++)
            MPI_Isend(&out, 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[MANY / 2 + i]);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    }
    return ROUNDS * (MANY + 1);
}

static int allreduce(void) {
    for (int i = 0; i < CALLS; i++) MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    return CALLS;
}

static int comm_rank(void) {
    int rank;
    for (int i = 0; i < CALLS; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return CALLS;
}

static void measure(const char *kind, int (*calls)(void)) {
    calls();
    CALLGRIND_ZERO_STATS;
    int made = calls();
    CALLGRIND_DUMP_STATS_AT(kind);
    printf("%s %d\n", kind, made);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    measure("probe", iprobe);
    measure("sendrecv", sendrecv);
    measure("requests", waitall);
    measure("many-requests", many_requests);
    measure("allreduce", allreduce);
    measure("rank", comm_rank);
    MPI_Finalize();
    return 0;
}
