/* Cheap MPI calls in tight loops: what a call costs, so that what a tool adds can be seen. Prints one line per
 * kind and batch: kind, ns per call. The kinds are interleaved, so that a busy moment of the machine meets all.
 * Rank 0 works; the others sleep: they are there because a world of one has cheaper progress than any other. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 20000 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double iprobe(int rank) {
    int flag;
    double begin = now_ns();
    for (int i = 0; i < CALLS; i++) MPI_Iprobe(rank, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return (now_ns() - begin) / CALLS;
}

static double sendrecv(int rank) {
    double out = 1, in;
    double begin = now_ns();
    for (int i = 0; i < CALLS; i++)
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, rank, 2, &in, 1, MPI_DOUBLE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (now_ns() - begin) / CALLS;
}

/* Three calls per round; the figure is per call. */
static double waitall(int rank) {
    double out = 1, in;
    MPI_Request requests[2];
    double begin = now_ns();
    for (int i = 0; i < CALLS / 3; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, rank, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, rank, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return (now_ns() - begin) / (CALLS / 3 * 3);
}

/* Waits without a processor. */
static void rest(void) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        usleep(5000);
    }
}

int main(int argc, char **argv) {
    int batches = argc > 1 ? atoi(argv[1]) : 20, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        iprobe(0), sendrecv(0), waitall(0);
        for (int i = 0; i < batches; i++) {
            double probe = iprobe(0), both = sendrecv(0), all = waitall(0);
            printf("iprobe %.2f\nsendrecv %.2f\nwaitall %.2f\n", probe, both, all);
        }
    }
    rest();
    MPI_Finalize();
    return 0;
}
