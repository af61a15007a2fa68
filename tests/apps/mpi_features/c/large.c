/* Counts of MPI_Count, of MPI 4; and the sizes that MPI 3 tells that way. Small messages: it is the
 * names that matter. */
#include "sections.h"

#include <limits.h>

void large(void)
{
    MPI_Count size = -1, lower = -1, extent = -1, elements = -1;
    MPI_Datatype huge, huger;
    int narrow = -1;
    /* 2^33 bytes in one element: an int cannot say so. */
    MPI_Type_contiguous(1 << 30, MPI_LONG, &huge);
    MPI_Type_size_x(huge, &size);
    MPI_Type_get_extent_x(huge, &lower, &extent);
    MPI_Type_size(huge, &narrow);
    say("huge: %lld, extent %lld, %d", (long long)size, (long long)extent, narrow == MPI_UNDEFINED);
    MPI_Type_contiguous(2, huge, &huger);
    MPI_Type_commit(&huger);
    MPI_Status status = {0};
    MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)INT_MAX + 5);
    MPI_Get_elements_x(&status, MPI_BYTE, &elements);
    say("elements %lld", (long long)elements);
    /* None of it is sent, all of it is named. */
    MPI_Sendrecv(NULL, 0, huger, (me + 1) % all, 1, NULL, 0, huger, (me + all - 1) % all, 1,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, huger, &narrow);
    say("none of a huge type: %d", narrow);
    MPI_Type_free(&huge);
    MPI_Type_free(&huger);
#if MPI_VERSION >= 4
    int left = (me + all - 1) % all, right = (me + 1) % all, in[64] = {0}, out[64], sum = -1,
        root = me == 0 ? 5 : -1;
    MPI_Count count = -1, counts[64];
    MPI_Aint displacements[64];
    MPI_Request requests[3];
    for (int i = 0; i < 64; i++) {
        out[i] = me * 100 + i;
        counts[i] = 1;
        displacements[i] = i;
    }
    MPI_Sendrecv_c(out, 3, MPI_INT, right, 2, in, 64, MPI_INT, left, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_INT, &count);
    say("sendrecv: %lld, %d", (long long)count, in[2]);
    MPI_Irecv_c(in, 64, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend_c(out, 2, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce_c(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Bcast_c(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
    say("nonblocking: %d, sum %d, bcast %d", in[1], sum, root);
    MPI_Alltoallv_c(out, counts, displacements, MPI_INT, in, counts, displacements, MPI_INT,
                    MPI_COMM_WORLD);
    say("alltoallv: %d %d", in[0], in[all - 1]);
    MPI_Allgatherv_c(out, 1, MPI_INT, in, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    say("allgatherv: %d %d", in[0], in[all - 1]);
    MPI_Win win;
    MPI_Win_create_c(in, sizeof in, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put_c(out, 1, MPI_INT, right, 63, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    say("put: %d", in[63]);
    MPI_Win_free(&win);
    MPI_Datatype vector;
    MPI_Type_vector_c(4, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_size_c(vector, &size);
    MPI_Send_init_c(out, 1, vector, right, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init_c(in, 4, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    say("vector of %lld: %d", (long long)size, in[3]);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&vector);
#else
    say("no large counts");
#endif
}
