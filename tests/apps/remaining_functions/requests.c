/* Ways to ask for the state of requests, and requests of the program's own. */
#include "sections.h"

static int query(void *extra, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_elements_x(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = *(int *)extra;
    return MPI_SUCCESS;
}

static int nothing(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
    fold(*(int *)extra + complete);
    return MPI_SUCCESS;
}

static void of_our_own(void)
{
    int value = 4, elements = -1, flag = -1;
    MPI_Count number = -1;
    MPI_Request request;
    MPI_Status status;
    MPI_Grequest_start(query, nothing, cancelled, &value, &request);
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    fold(flag);
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_elements(&status, MPI_INT, &elements);
    MPI_Get_elements_x(&status, MPI_INT, &number);
    MPI_Test_cancelled(&status, &flag);
    fold(elements);
    fold(number);
    fold(flag);
}

static void post(int *in, MPI_Request *requests)
{
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, everybody, &requests[i]);
        MPI_Isend(&me, 1, MPI_INT, right, i, everybody, &requests[2 + i]);
    }
}

/* A status that the program fills in itself. */
static void filled(void)
{
    MPI_Status status = {0};
    int flag = -1, number = -1;
    MPI_Status_set_elements(&status, MPI_INT, 6);
    MPI_Get_count(&status, MPI_INT, &number);
    fold(number);
    MPI_Status_set_elements_x(&status, MPI_INT, 7);
    MPI_Get_count(&status, MPI_INT, &number);
    fold(number);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    fold(flag);
#ifdef DECLARED_MPI_Status_set_source
    int source = -1, tag = -1, error = -1;
    MPI_Status_set_elements_c(&status, MPI_INT, 8);
    MPI_Status_set_source(&status, 3);
    MPI_Status_set_tag(&status, 4);
    MPI_Status_set_error(&status, MPI_ERR_OTHER);
    MPI_Status_get_source(&status, &source);
    MPI_Status_get_tag(&status, &tag);
    MPI_Status_get_error(&status, &error);
    fold(source);
    fold(tag);
    fold(error);
#endif
}

void requests(void)
{
    int in[2] = {-1, -1}, flag = 0, done = 0, index = -1, indices[4];
    MPI_Request requests[4];
    MPI_Status statuses[4], status;
    of_our_own();
    filled();
    post(in, requests);
    for (flag = 0; !flag; breathe())
        MPI_Testall(4, requests, &flag, statuses);
    fold_ints(in, 2);
    post(in, requests);
    for (int left_over = 4; left_over > 0; left_over -= flag, breathe())
        MPI_Testany(4, requests, &index, &flag, &status);
    post(in, requests);
    for (int left_over = 4; left_over > 0; left_over -= done, breathe())
        MPI_Testsome(4, requests, &done, indices, statuses);
    post(in, requests);
    for (int left_over = 4; left_over > 0; left_over--)
        MPI_Waitany(4, requests, &index, &status);
    post(in, requests);
    for (int left_over = 4; left_over > 0; left_over -= done)
        MPI_Waitsome(4, requests, &done, indices, statuses);
    fold_ints(in, 2);
    post(in, requests);
#ifdef DECLARED_MPI_Request_get_status_all
    for (flag = 0; !flag; breathe())
        MPI_Request_get_status_all(4, requests, &flag, statuses);
    fold(statuses[0].MPI_SOURCE);
    MPI_Request_get_status_any(4, requests, &index, &flag, &status);
    fold(flag);
    MPI_Request_get_status_some(4, requests, &done, indices, statuses);
    fold(done);
#endif
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    fold_ints(in, 2);
    /* One that nobody waits for. */
    MPI_Isend(&me, 1, MPI_INT, right, 9, everybody, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(in, 1, MPI_INT, left, 9, everybody, &status);
    MPI_Irecv(in, 1, MPI_INT, left, 10, everybody, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    fold(flag);
}
