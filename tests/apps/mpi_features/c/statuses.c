/* Statuses: ignored, empty, of many, cancelled, set by hand, and not touched where MPI must not
 * touch them. */
#include "sections.h"

static void show(const char *what, MPI_Status *status)
{
    int count = -1, elements = -1, cancelled = -1;
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Get_elements(status, MPI_INT, &elements);
    MPI_Test_cancelled(status, &cancelled);
    say("%s: source %d, tag %d, error %d, count %d, elements %d, cancelled %d", what,
        status->MPI_SOURCE, status->MPI_TAG, status->MPI_ERROR, count == MPI_UNDEFINED ? -2 : count,
        elements, cancelled);
}

void statuses(void)
{
    enum { MANY = 6 };
    int left = (me + all - 1) % all, right = (me + 1) % all, in[MANY], out[MANY], flag = -1,
        index = -1, done = -1;
    int indices[MANY];
    MPI_Request requests[2 * MANY];
    MPI_Status status, several[2 * MANY];
    for (int i = 0; i < MANY; i++)
        out[i] = me * 10 + i;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2 * MANY; i++)
            several[i].MPI_ERROR = 4711;
        for (int i = 0; i < MANY; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < MANY; i++)
            MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[MANY + i]);
        MPI_Waitall(2 * MANY, requests, round == 0 ? several : MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++)
            if (round == 0)
                say("status %d: source %d, tag %d, error %d; value %d", i, several[i].MPI_SOURCE,
                    several[i].MPI_TAG, several[i].MPI_ERROR, in[i]);
    }
    /* Single statuses leave MPI_ERROR alone. */
    status.MPI_ERROR = 4712;
    MPI_Irecv(in, 3, MPI_INT, left, 20, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(out, 2, MPI_INT, right, 20, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], &status);
    show("two of three", &status);
    status.MPI_ERROR = 4713;
    MPI_Sendrecv(out, 1, MPI_INT, right, 21, in, 6, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    show("anything", &status);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 22, MPI_COMM_WORLD, &status);
    say("from nobody: %d %d", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG);

    requests[0] = requests[1] = MPI_REQUEST_NULL;
    MPI_Wait(&requests[0], &status);
    say("empty: %d %d", status.MPI_SOURCE == MPI_ANY_SOURCE, status.MPI_TAG == MPI_ANY_TAG);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    say("of nothing: %d %d %d", index == MPI_UNDEFINED, done == MPI_UNDEFINED, flag);
    MPI_Waitall(0, NULL, NULL);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);

    MPI_Irecv(in, 1, MPI_INT, left, 23, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    say("not yet: %d", flag);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    say("cancelled: %d", flag);

    MPI_Irecv(in, 1, MPI_INT, left, 24, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + 1, 1, MPI_INT, left, 25, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(out, 1, MPI_INT, right, 25, MPI_COMM_WORLD);
    MPI_Waitany(2, requests, &index, &status);
    say("any: %d, tag %d", index, status.MPI_TAG);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, 1, MPI_INT, right, 24, MPI_COMM_WORLD);
    MPI_Waitsome(2, requests, &done, indices, several);
    say("some: %d, %d, tag %d", done, indices[0], several[0].MPI_TAG);

    MPI_Status made = {0};
    MPI_Status_set_elements(&made, MPI_INT, 3);
    MPI_Status_set_cancelled(&made, 1);
    int count = -1;
    MPI_Get_count(&made, MPI_INT, &count);
    MPI_Test_cancelled(&made, &flag);
    say("made by hand: %d, %d", count, flag);
}
