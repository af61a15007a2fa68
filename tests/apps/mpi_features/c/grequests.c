/* Generalised requests: the program's own, with callbacks out of MPI's completing calls. */
#include "sections.h"

struct state {
    int queries, frees, cancels, value;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *state = extra;
    int size = -1;
    state->queries++;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Status_set_elements(status, MPI_INT, state->value + size);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = state->value;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    ((struct state *)extra)->frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *state = extra;
    state->cancels += 1 + complete;
    return MPI_SUCCESS;
}

void grequests(void)
{
    struct state state[3] = {{0, 0, 0, 10}, {0, 0, 0, 20}, {0, 0, 0, 30}};
    MPI_Request requests[4];
    MPI_Status status, statuses[4];
    int count = -1, flag = -1, in = -1;
    for (int i = 0; i < 3; i++)
        MPI_Grequest_start(query, release, cancel, &state[i], &requests[i]);
    MPI_Test(&requests[0], &flag, &status);
    say("not yet: %d", flag);
    MPI_Grequest_complete(requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("waited: %d, tag %d", count, status.MPI_TAG);
    MPI_Irecv(&in, 1, MPI_INT, (me + all - 1) % all, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Send(&me, 1, MPI_INT, (me + 1) % all, 1, MPI_COMM_WORLD);
    MPI_Cancel(&requests[2]);
    MPI_Grequest_complete(requests[1]);
    MPI_Grequest_complete(requests[2]);
    MPI_Waitall(3, &requests[1], &statuses[1]);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    say("with others: %d, received %d from %d", count, in, statuses[3].MPI_SOURCE);
    for (int i = 0; i < 3; i++)
        say("request %d: %d queries, %d frees, %d cancels", i, state[i].queries, state[i].frees,
            state[i].cancels);
}
