/* Buffers that are none: MPI_IN_PLACE in every collective that knows it, and MPI_BOTTOM with
 * absolute addresses. */
#include "sections.h"

static void clear(int *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = -1;
}

void in_place(void)
{
    enum { MAX = 64 };
    int values[MAX], counts[MAX], displacements[MAX];
    MPI_Datatype types[MAX];
    MPI_Request request;
    for (int i = 0; i < MAX; i++) {
        counts[i] = 1;
        displacements[i] = i;
        types[i] = MPI_INT;
    }
    values[0] = me + 1;
    MPI_Allreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("allreduce %d", values[0]);
    values[0] = me + 1;
    MPI_Reduce(me == 0 ? MPI_IN_PLACE : values, me == 0 ? values : NULL, 1, MPI_INT, MPI_SUM, 0,
               MPI_COMM_WORLD);
    say("reduce %d", values[0]);
    clear(values, MAX);
    values[me] = me;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, MPI_COMM_WORLD);
    say("allgather %d %d", values[0], values[all - 1]);
    clear(values, MAX);
    values[me] = me;
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts, displacements, MPI_INT,
                   MPI_COMM_WORLD);
    say("allgatherv %d %d", values[0], values[all - 1]);
    clear(values, MAX);
    values[me] = me;
    if (me == 0)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(&values[me], 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    say("gather %d %d", values[0], values[all - 1]);
    for (int i = 0; i < all; i++)
        values[i] = 10 * i;
    if (me == 0)
        MPI_Scatter(values, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    else
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &values[me], 1, MPI_INT, 0, MPI_COMM_WORLD);
    say("scatter %d", values[me]);
    for (int i = 0; i < all; i++)
        values[i] = 100 * me + i;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, MPI_COMM_WORLD);
    say("alltoall %d %d", values[0], values[all - 1]);
    for (int i = 0; i < all; i++)
        values[i] = 100 * me + i;
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, values, counts, displacements,
                  MPI_INT, MPI_COMM_WORLD);
    say("alltoallv %d %d", values[0], values[all - 1]);
    for (int i = 0; i < all; i++) {
        values[i] = 100 * me + i;
        displacements[i] = i * (int)sizeof(int);
    }
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, values, counts, displacements, types,
                  MPI_COMM_WORLD);
    say("alltoallw %d %d", values[0], values[all - 1]);
    values[0] = me + 1;
    MPI_Scan(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("scan %d", values[0]);
    values[0] = me + 1;
    MPI_Exscan(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("exscan %d", me == 0 ? -1 : values[0]);
    for (int i = 0; i < all; i++)
        values[i] = me + i;
    MPI_Reduce_scatter(MPI_IN_PLACE, values, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("reduce_scatter %d", values[0]);
    for (int i = 0; i < all; i++)
        values[i] = me + i;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("reduce_scatter_block %d", values[0]);
    values[0] = me + 1;
    MPI_Iallreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("iallreduce %d", values[0]);

    int far[2] = {me, me + 5}, got[2] = {-1, -1}, lengths[2] = {1, 1};
    MPI_Aint places[2];
    MPI_Datatype absolute, absolute_got;
    MPI_Get_address(&far[1], &places[0]);
    MPI_Get_address(&far[0], &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute);
    MPI_Get_address(&got[0], &places[0]);
    MPI_Get_address(&got[1], &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute_got);
    MPI_Type_commit(&absolute);
    MPI_Type_commit(&absolute_got);
    MPI_Sendrecv(MPI_BOTTOM, 1, absolute, (me + 1) % all, 1, MPI_BOTTOM, 1, absolute_got,
                 (me + all - 1) % all, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("from the bottom: %d %d", got[0], got[1]);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD);
    say("bcast at the bottom: %d %d", far[0], far[1]);
    MPI_Type_free(&absolute);
    MPI_Type_free(&absolute_got);
}
