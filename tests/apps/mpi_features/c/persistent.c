/* Persistent requests: messages, and collectives where the MPI has them (Open MPI 4 calls them
 * MPIX). */
#include "sections.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#if MPI_VERSION < 4 && defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#define HAS_COLLECTIVES
#elif MPI_VERSION >= 4
#define HAS_COLLECTIVES
#endif

static void messages(int left, int right)
{
    int out = 0, in = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Send_init(&out, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        out = 10 * round + me;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, round == 1 ? MPI_STATUSES_IGNORE : statuses);
        say("round %d: %d", round, in);
    }
    MPI_Wait(&requests[0], &statuses[0]);
    say("an inactive one is empty: %d, and stays: %d", statuses[0].MPI_SOURCE == MPI_ANY_SOURCE,
        requests[0] != MPI_REQUEST_NULL);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Last: behind this, MPICH 4.0 does not end a persistent collective. */
static void from_nobody(void)
{
    int in = -1;
    MPI_Request request;
    MPI_Status status;
    MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    say("from nobody: %d, %d", status.MPI_SOURCE == MPI_PROC_NULL, in);
    MPI_Request_free(&request);
}

#ifdef HAS_COLLECTIVES
static void collectives(int left, int right)
{
    int in[64] = {0}, out[64], sum = 0, root = -1, near[2] = {-1, -1};
    MPI_Comm ring;
    for (int i = 0; i < 64; i++)
        out[i] = 100 * me + i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    for (int which = 0; which < 5; which++) {
        MPI_Request request;
        if (which == 0)
            MPI_Allreduce_init(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &request);
        else if (which == 1)
            MPI_Bcast_init(&root, 1, MPI_INT, all - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        else if (which == 2)
            MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request);
        else if (which == 3)
            MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        else
            MPI_Neighbor_allgather_init(out, 1, MPI_INT, near, 1, MPI_INT, ring, MPI_INFO_NULL,
                                        &request);
        for (int round = 0; round < 3; round++) {
            sum = 0;
            root = me == all - 1 ? 7 + round : -1;
            if (round == 1)
                MPI_Startall(1, &request);
            else
                MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            say("collective %d, round %d: sum %d, root's %d, exchanged %d %d, neighbour's %d",
                which, round, sum, root, in[0], in[all - 1], near[0]);
        }
        MPI_Request_free(&request);
    }
    MPI_Comm_free(&ring);
}
#endif

void persistent(void)
{
    int left = (me + all - 1) % all, right = (me + 1) % all;
    messages(left, right);
#ifdef HAS_COLLECTIVES
    collectives(left, right);
#else
    say("no persistent collectives");
#endif
    from_nobody();
}
