/* Cheap MPI calls in tight loops: what a call costs, so that what a tool adds can be seen. Prints one line per
 * kind and batch: kind, ns per call. The kinds are interleaved, so that a busy moment of the machine meets all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

int main(int argc, char **argv) {
    int batches = argc > 1 ? atoi(argv[1]) : 20, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    iprobe(rank), sendrecv(rank), waitall(rank);
    for (int i = 0; i < batches; i++) {
        double probe = iprobe(rank), both = sendrecv(rank), all = waitall(rank);
        if (rank == 0) printf("iprobe %.2f\nsendrecv %.2f\nwaitall %.2f\n", probe, both, all);
    }
    MPI_Finalize();
    return 0;
}
