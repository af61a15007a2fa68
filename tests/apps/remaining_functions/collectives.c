/* Collectives in their three forms: at once, non-blocking, persistent. */
#include "sections.h"

enum { ROOM = 64 };
static int out[ROOM], in[ROOM];

static void clear(void)
{
    for (int i = 0; i < ROOM; i++) {
        out[i] = 100 * me + i;
        in[i] = -1;
    }
}

static void completed(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    fold_ints(in, ROOM);
    fold_ints(out, ROOM);
    clear();
}

#ifdef LARGE
#define INIT(Name) MPI_##Name##_init_c
#elif defined DECLARED_MPI_Bcast_init
#define INIT(Name) MPI_##Name##_init
#else
#define INIT(Name) MPIX_##Name##_init
#endif

#if defined DECLARED_MPI_Bcast_init || defined DECLARED_MPIX_Bcast_init
#define PERSISTENT(Name, ...)                              \
    INIT(Name)(__VA_ARGS__, MPI_INFO_NULL, &request);      \
    for (int round = 0; round < 2; round++) {              \
        MPI_Start(&request);                               \
        MPI_Wait(&request, MPI_STATUS_IGNORE);             \
        fold_ints(in, ROOM);                               \
    }                                                      \
    MPI_Request_free(&request);                            \
    clear();
#else
#define PERSISTENT(Name, ...)
#endif

/* A collective by its name, by the same behind an I, and with its arguments. */
#define TWO_WAYS(Name, Later, ...)              \
    do {                                        \
        MPI_Request request = MPI_REQUEST_NULL; \
        F(MPI_##Name)(__VA_ARGS__);             \
        completed(&request);                    \
        F(MPI_##Later)(__VA_ARGS__, &request);  \
        completed(&request);                    \
    } while (0)

#define ALL_WAYS(Name, Later, ...)              \
    do {                                        \
        MPI_Request request = MPI_REQUEST_NULL; \
        TWO_WAYS(Name, Later, __VA_ARGS__);     \
        PERSISTENT(Name, __VA_ARGS__)           \
        (void)request;                          \
    } while (0)

/* MPICH 4.0 loses the communicator of a persistent scatter. */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
#define SCATTERS TWO_WAYS
#else
#define SCATTERS ALL_WAYS
#endif

static void own_operation(void *from, void *into, COUNT *number, MPI_Datatype *type)
{
    (void)type;
    for (COUNT i = 0; i < *number; i++)
        ((int *)into)[i] = ((int *)into)[i] * 3 + ((int *)from)[i];
}

static void reductions(void)
{
    COUNT ones[ROOM];
    MPI_Op own;
    for (int i = 0; i < ROOM; i++)
        ones[i] = 1;
    F(MPI_Op_create)(own_operation, 0, &own);
    ALL_WAYS(Reduce, Ireduce, out, in, 3, MPI_INT, own, all - 1, everybody);
    ALL_WAYS(Allreduce, Iallreduce, out, in, 3, MPI_INT, MPI_SUM, everybody);
    ALL_WAYS(Scan, Iscan, out, in, 3, MPI_INT, own, everybody);
    ALL_WAYS(Exscan, Iexscan, out, in, 3, MPI_INT, MPI_MAX, everybody);
    ALL_WAYS(Reduce_scatter_block, Ireduce_scatter_block, out, in, 1, MPI_INT, MPI_SUM, everybody);
    ALL_WAYS(Reduce_scatter, Ireduce_scatter, out, in, ones, MPI_INT, MPI_SUM, everybody);
    F(MPI_Reduce_local)(out, in, 3, MPI_INT, own);
    fold_ints(in, ROOM);
    MPI_Op_free(&own);
}

SECTION(collectives)
{
    COUNT counts[ROOM], twos[ROOM];
    DISPLACEMENT places[ROOM], bytes[ROOM];
    MPI_Datatype types[ROOM];
    for (int i = 0; i < ROOM; i++) {
        counts[i] = 1;
        twos[i] = 2;
        places[i] = 3 * (i % 8);
        bytes[i] = 8 * (i % 8);
        types[i] = MPI_INT;
    }
    clear();
    ALL_WAYS(Bcast, Ibcast, out, 4, MPI_INT, 1 % all, everybody);
    ALL_WAYS(Gather, Igather, out, 2, MPI_INT, in, 2, MPI_INT, 0, everybody);
    ALL_WAYS(Gatherv, Igatherv, out, 2, MPI_INT, in, twos, places, MPI_INT, 0, everybody);
    SCATTERS(Scatter, Iscatter, out, 2, MPI_INT, in, 2, MPI_INT, 0, everybody);
    SCATTERS(Scatterv, Iscatterv, out, twos, places, MPI_INT, in, 2, MPI_INT, 0, everybody);
    ALL_WAYS(Allgather, Iallgather, out, 2, MPI_INT, in, 2, MPI_INT, everybody);
    ALL_WAYS(Allgatherv, Iallgatherv, out, 2, MPI_INT, in, twos, places, MPI_INT, everybody);
    ALL_WAYS(Alltoall, Ialltoall, out, 2, MPI_INT, in, 2, MPI_INT, everybody);
    ALL_WAYS(Alltoallv, Ialltoallv, out, twos, places, MPI_INT, in, twos, places, MPI_INT,
             everybody);
    ALL_WAYS(Alltoallw, Ialltoallw, out, counts, bytes, types, in, counts, bytes, types, everybody);
    reductions();
#ifndef LARGE
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Barrier(everybody);
    MPI_Ibarrier(everybody, &request);
    completed(&request);
    PERSISTENT(Barrier, everybody)
#endif
}

SECTION(neighbours)
{
    MPI_Comm ring;
    int sources[2] = {left, right}, destinations[2] = {right, left};
    COUNT counts[2] = {2, 2};
    DISPLACEMENT places[2] = {1, 4};
    MPI_Aint bytes[2] = {0, 16};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Dist_graph_create_adjacent(everybody, 2, sources, MPI_UNWEIGHTED, 2, destinations,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    clear();
    ALL_WAYS(Neighbor_allgather, Ineighbor_allgather, out, 2, MPI_INT, in, 2, MPI_INT, ring);
    ALL_WAYS(Neighbor_allgatherv, Ineighbor_allgatherv, out, 2, MPI_INT, in, counts, places,
             MPI_INT, ring);
    ALL_WAYS(Neighbor_alltoall, Ineighbor_alltoall, out, 2, MPI_INT, in, 2, MPI_INT, ring);
    ALL_WAYS(Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, places, MPI_INT, in, counts,
             places, MPI_INT, ring);
    ALL_WAYS(Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, bytes, types, in, counts, bytes,
             types, ring);
    MPI_Comm_free(&ring);
}
