/* Communicators made of communicators, where every rank's next one is the rank below it in the
 * world: `communicator_chains`.
 *
 * On each communicator every rank sends one int to the next and gets one from the previous: so each
 * rank sends all its messages to the rank below it, the first one to the last. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>

enum { DEPTH = 6, MANY = 300 };

static int rank, size;

/* Members of `comm` stand in the falling order of their ranks in the world. */
static void ring(MPI_Comm comm)
{
    int mine, members, in = -1;
    CALL(MPI_Comm_rank)(comm, &mine);
    CALL(MPI_Comm_size)(comm, &members);
    int next = (mine + 1) % members, previous = (mine + members - 1) % members;
    CALL(MPI_Sendrecv)(&rank, 1, MPI_INT, next, 7, &in, 1, MPI_INT, previous, 7, comm,
                       MPI_STATUS_IGNORE);
    counting_sent((rank + size - 1) % size, sizeof rank);
    counting_received((rank + 1) % size, sizeof in);
}

static MPI_Comm idup(MPI_Comm parent)
{
    MPI_Comm comm;
    MPI_Request request;
    CALL(MPI_Comm_idup)(parent, &comm, &request);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    return comm;
}

/* Splits, duplicates and duplicates that are made in passing, each of the one before. */
static void chain(MPI_Comm first)
{
    MPI_Comm made[3 * DEPTH], parent = first;
    for (int i = 0; i < DEPTH; i++) {
        int mine;
        CALL(MPI_Comm_rank)(parent, &mine);
        CALL(MPI_Comm_split)(parent, 3, mine, &made[3 * i]);
        CALL(MPI_Comm_dup)(made[3 * i], &made[3 * i + 1]);
        made[3 * i + 2] = idup(made[3 * i + 1]);
        parent = made[3 * i + 2];
    }
    for (int i = 0; i < 3 * DEPTH; i++) {
        ring(made[i]);
        CALL(MPI_Comm_free)(&made[i]);
    }
}

int main(int argc, char **argv)
{
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    MPI_Comm falling, none, some, grouped;
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, 0, -rank, &falling);
    /* Of no rank but the last, which counts for all the same. */
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, rank == size - 1 ? 0 : MPI_UNDEFINED, 0, &some);
    CALL(MPI_Comm_split)(falling, MPI_UNDEFINED, 0, &none);
    if (some != MPI_COMM_NULL)
        CALL(MPI_Comm_free)(&some);
    ring(falling);
    chain(falling);

    /* Not ordered with the other calls: its rank 0 numbers it. */
    MPI_Group group;
    CALL(MPI_Comm_group)(falling, &group);
    CALL(MPI_Comm_create_group)(falling, group, 11, &grouped);
    CALL(MPI_Group_free)(&group);
    ring(grouped);
    chain(grouped);

    for (int i = 0; i < MANY; i++) {
        MPI_Comm one;
        CALL(MPI_Comm_split)(i % 2 ? grouped : MPI_COMM_WORLD, i, -rank, &one);
        if (i % 2 == 0)
            ring(one);
        CALL(MPI_Comm_free)(&one);
    }
    CALL(MPI_Comm_free)(&grouped);
    CALL(MPI_Comm_free)(&falling);
    printf("rank %d: done\n", rank);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
