/* Messages in all modes: at once, posted, persistent, matched, in both directions, in partitions.
 */
#include "sections.h"

enum { ROOM = 16, SOME = 5 };
static int out[ROOM], in[ROOM];

static void arrived(MPI_Status *status)
{
    COUNT number = -1, elements = -1;
    F(MPI_Get_count)(status, MPI_INT, &number);
    F(MPI_Get_elements)(status, MPI_INT, &elements);
    fold(number);
    fold(elements);
    fold(status->MPI_SOURCE);
    fold(status->MPI_TAG);
    fold_ints(in, SOME);
    for (int i = 0; i < ROOM; i++)
        in[i] = -1;
}

static void posted(MPI_Request *request)
{
    F(MPI_Irecv)(in, ROOM, MPI_INT, left, 3, everybody, request);
    /* A ready send may begin once everybody has posted. */
    MPI_Barrier(everybody);
}

#define AT_ONCE(Name)                                           \
    do {                                                        \
        MPI_Request request;                                    \
        MPI_Status status;                                      \
        posted(&request);                                       \
        F(MPI_##Name)(out, SOME, MPI_INT, right, 3, everybody); \
        MPI_Wait(&request, &status);                            \
        arrived(&status);                                       \
    } while (0)

#define LATER(Name)                                                           \
    do {                                                                      \
        MPI_Request requests[2];                                              \
        MPI_Status statuses[2];                                               \
        posted(&requests[0]);                                                 \
        F(MPI_##Name)(out, SOME, MPI_INT, right, 3, everybody, &requests[1]); \
        MPI_Waitall(2, requests, statuses);                                   \
        arrived(&statuses[0]);                                                \
    } while (0)

#define AGAIN(Name)                                                           \
    do {                                                                      \
        MPI_Request requests[2];                                              \
        MPI_Status statuses[2];                                               \
        F(MPI_Recv_init)(in, ROOM, MPI_INT, left, 3, everybody, &requests[0]); \
        F(MPI_##Name)(out, SOME, MPI_INT, right, 3, everybody, &requests[1]); \
        for (int round = 0; round < 2; round++) {                             \
            MPI_Start(&requests[0]);                                          \
            MPI_Barrier(everybody);                                           \
            MPI_Start(&requests[1]);                                          \
            MPI_Waitall(2, requests, statuses);                               \
            arrived(&statuses[0]);                                            \
        }                                                                     \
        MPI_Request_free(&requests[0]);                                       \
        MPI_Request_free(&requests[1]);                                       \
    } while (0)

static void matched(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    int flag = 0;
    F(MPI_Isend)(out, SOME, MPI_INT, right, 4, everybody, &request);
    MPI_Mprobe(left, 4, everybody, &message, &status);
    F(MPI_Mrecv)(in, ROOM, MPI_INT, &message, &status);
    arrived(&status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    F(MPI_Isend)(out, SOME, MPI_INT, right, 5, everybody, &request);
    for (; !flag; breathe())
        MPI_Improbe(left, 5, everybody, &flag, &message, &status);
    MPI_Request received;
    F(MPI_Imrecv)(in, ROOM, MPI_INT, &message, &received);
    MPI_Wait(&received, &status);
    arrived(&status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void both_ways(void)
{
    MPI_Status status;
    F(MPI_Sendrecv)(out, SOME, MPI_INT, right, 6, in, ROOM, MPI_INT, left, 6, everybody, &status);
    arrived(&status);
    for (int i = 0; i < SOME; i++)
        in[i] = out[i];
    F(MPI_Sendrecv_replace)(in, SOME, MPI_INT, right, 6, left, 6, everybody, &status);
    arrived(&status);
#ifdef DECLARED_MPI_Isendrecv
    MPI_Request request;
    F(MPI_Isendrecv)(out, SOME, MPI_INT, right, 7, in, ROOM, MPI_INT, left, 7, everybody, &request);
    MPI_Wait(&request, &status);
    fold_ints(in, SOME);
    for (int i = 0; i < SOME; i++)
        in[i] = out[i];
    F(MPI_Isendrecv_replace)(in, SOME, MPI_INT, right, 8, left, 8, everybody, &request);
    MPI_Wait(&request, &status);
    fold_ints(in, SOME);
#endif
}

/* The number of partitions is an int, what is in one is not. */
static void in_partitions(void)
{
#if defined DECLARED_MPI_Psend_init && !defined LARGE
    int list[1] = {3}, flag = 0;
    MPI_Request requests[2];
    MPI_Psend_init(out, 4, 2, MPI_INT, right, 9, everybody, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, 2, MPI_INT, left, 9, everybody, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    MPI_Pready_range(1, 2, requests[0]);
    MPI_Pready_list(1, list, requests[0]);
    for (; !flag; breathe())
        MPI_Parrived(requests[1], 3, &flag);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    fold_ints(in, 8);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#endif
}

/* MPI 4.1: a buffer may belong to a communicator. */
static void buffer_of_a_communicator(void)
{
#ifdef DECLARED_MPI_Comm_attach_buffer
    static char room[4096 + MPI_BSEND_OVERHEAD];
    COUNT size = -1;
    void *was = NULL;
    MPI_Status status;
    MPI_Request request;
    F(MPI_Comm_attach_buffer)(everybody, room, sizeof room);
    F(MPI_Bsend)(out, SOME, MPI_INT, right, 10, everybody);
    F(MPI_Recv)(in, ROOM, MPI_INT, left, 10, everybody, &status);
    arrived(&status);
    MPI_Comm_flush_buffer(everybody);
    MPI_Comm_iflush_buffer(everybody, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    F(MPI_Comm_detach_buffer)(everybody, &was, &size);
    fold(size);
    fold(was == room);
#endif
}

SECTION(messages)
{
    static char room[8192 + 8 * MPI_BSEND_OVERHEAD];
    COUNT size = -1;
    void *was = NULL;
    for (int i = 0; i < ROOM; i++) {
        out[i] = 100 * me + i;
        in[i] = -1;
    }
    F(MPI_Buffer_attach)(room, sizeof room);
    AT_ONCE(Send);
    AT_ONCE(Ssend);
    AT_ONCE(Bsend);
    AT_ONCE(Rsend);
    LATER(Isend);
    LATER(Issend);
    LATER(Ibsend);
    LATER(Irsend);
    AGAIN(Send_init);
    AGAIN(Ssend_init);
    AGAIN(Bsend_init);
    AGAIN(Rsend_init);
#ifdef DECLARED_MPI_Buffer_flush
    MPI_Request request;
    MPI_Buffer_flush();
    MPI_Buffer_iflush(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
    F(MPI_Buffer_detach)(&was, &size);
    fold(size);
    fold(was == room);
    matched();
    both_ways();
    in_partitions();
    buffer_of_a_communicator();
}
