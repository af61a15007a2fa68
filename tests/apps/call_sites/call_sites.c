/* Two ranks call MPI from known lines, so and so often, and wait until LOG_DIR/stop appears.
 *
 * Lines with calls are marked `at WHAT`. The same function is called with the same arguments from
 * several lines, from loops, from a function that is inlined at two places, and from a library of
 * the program's own (`halo.c`). */
#include "flag_file.h"
#include "halo.h"

#include <mpi.h>
#include <unistd.h>

enum { SUMS = 30, MORE_SUMS = 20, SENDS = 50, MORE_SENDS = 7, POSTS = 12, HALOS = 9 };

/* Functions of their own, which the compiler does not inline. */
#define A_FRAME __attribute__((noinline, noclone))

static double out = 1, in, box[4];
/* Not known to the compiler, which would write so many calls one after the other. */
static volatile int phases = 3;

static inline __attribute__((always_inline)) void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* at meet */
}

A_FRAME static void sums(void)
{
    for (int i = 0; i < SUMS; i++)
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* at sum */
    for (int i = 0; i < MORE_SUMS; i++) {
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* at one sum */
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* at next sum */
    }
}

A_FRAME static void messages(int rank)
{
    if (rank == 0) {
        for (int i = 0; i < SENDS; i++)
            MPI_Send(box, 4, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD); /* at send */
        for (int i = 0; i < MORE_SENDS; i++)
            MPI_Send(box, 4, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD); /* at other send */
    } else {
        for (int i = 0; i < SENDS + MORE_SENDS; i++)
            MPI_Recv(box, 4, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* at receive */
    }
}

A_FRAME static void posted(int rank)
{
    MPI_Request both[2];
    for (int i = 0; i < POSTS; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 1 - rank, 8, MPI_COMM_WORLD, &both[0]); /* at post */
        MPI_Isend(&out, 1, MPI_DOUBLE, 1 - rank, 8, MPI_COMM_WORLD, &both[1]); /* at posted send */
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE); /* at wait */
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv); /* at begin */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sums();
    meet(); /* at first phase */
    messages(rank);
    for (int i = 0; i < phases; i++)
        meet(); /* at second phase */
    posted(rank);
    for (int i = 0; i < HALOS; i++)
        halo(1 - rank);
    while (!flag_is_set("stop"))
        usleep(10000);
    MPI_Finalize();
    return 0;
}
