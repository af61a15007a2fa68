/* Collectives between the neighbours of a topology, blocking and not. The grid is open on one side:
 * some ranks have a neighbour that is nobody. */
#include "sections.h"

static void on(const char *name, MPI_Comm comm, int in, int out)
{
    int sent[8], received[8], counts[8], displacements[8];
    MPI_Aint offsets[8];
    MPI_Datatype types[8];
    MPI_Request requests[3];
    for (int i = 0; i < 8; i++) {
        sent[i] = 100 * me + i;
        counts[i] = 1;
        displacements[i] = i;
        offsets[i] = i * (MPI_Aint)sizeof(int);
        types[i] = MPI_INT;
    }
#define CLEAR()                     \
    for (int i = 0; i < 8; i++)     \
        received[i] = -1
#define TELL(what)                                                                                 \
    say("%s %s: %d %d %d %d", name, what, received[0], received[1], received[2], received[3])
    CLEAR();
    MPI_Neighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
    TELL("allgather");
    CLEAR();
    MPI_Neighbor_allgatherv(sent, 1, MPI_INT, received, counts, displacements, MPI_INT, comm);
    TELL("allgatherv");
    CLEAR();
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
    TELL("alltoall");
    CLEAR();
    MPI_Neighbor_alltoallv(sent, counts, displacements, MPI_INT, received, counts, displacements,
                           MPI_INT, comm);
    TELL("alltoallv");
    CLEAR();
    MPI_Neighbor_alltoallw(sent, counts, offsets, types, received, counts, offsets, types, comm);
    TELL("alltoallw");
    CLEAR();
    int gathered[8] = {-1, -1, -1, -1, -1, -1, -1, -1},
        exchanged[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    MPI_Ineighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, comm, &requests[0]);
    MPI_Ineighbor_alltoall(sent, 1, MPI_INT, gathered, 1, MPI_INT, comm, &requests[1]);
    MPI_Ineighbor_alltoallw(sent, counts, offsets, types, exchanged, counts, offsets, types, comm,
                            &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    TELL("iallgather");
    say("  ialltoall %d %d, ialltoallw %d %d; %d in, %d out", gathered[0], gathered[1],
        exchanged[0], exchanged[1], in, out);
}

void neighbours(void)
{
    MPI_Comm grid, ring;
    int dims[2] = {all, 1}, periods[2] = {0, 1}, right = (me + 1) % all,
        left = (me + all - 1) % all;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    on("grid", grid, 4, 4);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &ring);
    on("ring", ring, 1, 1);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&grid);
}
