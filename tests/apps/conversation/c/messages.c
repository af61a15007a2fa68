/* Blocking point-to-point communication: every send mode, wildcards, probes, datatypes, nobody as a
 * peer. */
#include "conversation.h"

#include <stddef.h>
#include <stdlib.h>

typedef int (*send_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* A ring in which the even ranks send first, so that even a synchronous send ends. */
static void pass_on(send_function send, MPI_Comm comm, int count, int tag)
{
    int out[100], in[100];
    fill(out, count, me.rank, tag);
    if (me.rank % 2 == 0)
        send(out, count, MPI_INT, me.right, tag, comm);
    CALL(MPI_Recv)(in, count, MPI_INT, me.left, tag, comm, MPI_STATUS_IGNORE);
    if (me.rank % 2 == 1)
        send(out, count, MPI_INT, me.right, tag, comm);
    counting_sent(me.right, 4 * count);
    counting_received(me.left, 4 * count);
    digest(in, count);
}

void blocking(void)
{
    pass_on(CALL(MPI_Send), MPI_COMM_WORLD, 100, 1);
    pass_on(CALL(MPI_Ssend), me.dup, 50, 2);

    int room = 400 + MPI_BSEND_OVERHEAD;
    void *buffer = malloc(room);
    CALL(MPI_Buffer_attach)(buffer, room);
    pass_on(CALL(MPI_Bsend), MPI_COMM_WORLD, 25, 3);
    CALL(MPI_Buffer_detach)(&buffer, &room);
    free(buffer);

    int out[10], in[10];
    MPI_Request request;
    fill(out, 10, me.rank, 4);
    CALL(MPI_Irecv)(in, 10, MPI_INT, me.left, 4, MPI_COMM_WORLD, &request);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    CALL(MPI_Rsend)(out, 10, MPI_INT, me.right, 4, MPI_COMM_WORLD);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    counting_sent(me.right, 40);
    counting_received(me.left, 40);
    digest(in, 10);
    tell("blocking");
}

void sendrecv(void)
{
    int out[20], in[20], merged;
    CALL(MPI_Comm_rank)(me.merged, &merged);
    int next = (merged + 1) % me.size, previous = (merged + me.size - 1) % me.size;
    fill(out, 20, me.rank, 90);
    CALL(MPI_Sendrecv)(out, 20, MPI_INT, next, 90, in, 20, MPI_INT, previous, 90, me.merged,
                       MPI_STATUS_IGNORE);
    counting_sent(world_of_merged(next), 80);
    counting_received(world_of_merged(previous), 80);
    digest(in, 20);

    fill(in, 20, me.rank, 91);
    CALL(MPI_Sendrecv_replace)(in, 15, MPI_INT, me.right, 91, me.left, 91, me.dup,
                               MPI_STATUS_IGNORE);
    counting_sent(me.right, 60);
    counting_received(me.left, 60);
    digest(in, 15);

    int up = me.rank + 1 < me.size ? me.rank + 1 : MPI_PROC_NULL;
    int down = me.rank > 0 ? me.rank - 1 : MPI_PROC_NULL;
    MPI_Status status;
    fill(out, 10, me.rank, 92);
    fill(in, 10, 0, 0);
    CALL(MPI_Sendrecv)(out, 10, MPI_INT, up, 92, in, 10, MPI_INT, down, 92, MPI_COMM_WORLD,
                       &status);
    if (up != MPI_PROC_NULL)
        counting_sent(up, 40);
    if (down != MPI_PROC_NULL)
        counting_received(status.MPI_SOURCE, 40);
    digest(in, 10);
    tell("sendrecv");
}

void nobody(void)
{
    int data[3] = {1, 2, 3}, count;
    MPI_Status status;
    MPI_Request requests[2];
    CALL(MPI_Send)(data, 3, MPI_INT, MPI_PROC_NULL, 95, MPI_COMM_WORLD);
    CALL(MPI_Recv)(data, 3, MPI_INT, MPI_PROC_NULL, 95, MPI_COMM_WORLD, &status);
    CALL(MPI_Get_count)(&status, MPI_INT, &count);
    CALL(MPI_Isend)(data, 3, MPI_INT, MPI_PROC_NULL, 96, me.dup, &requests[0]);
    CALL(MPI_Irecv)(data, 3, MPI_INT, MPI_PROC_NULL, 96, me.dup, &requests[1]);
    CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_Probe)(MPI_PROC_NULL, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int found[2] = {status.MPI_SOURCE == MPI_PROC_NULL, count};
    digest(found, 2);
    digest(data, 3);
    tell("nobody");
}

void probe(void)
{
    int out[80], in[80], count, flag = 0;
    MPI_Request send, receive;
    MPI_Status status;
    MPI_Message message;
    int mine = 3 + me.rank, theirs = 3 + me.left;
    for (int tag = 100; tag < 104; tag++) {
        fill(out, mine, me.rank, tag);
        CALL(MPI_Isend)(out, mine, MPI_INT, me.right, tag, MPI_COMM_WORLD, &send);
        switch (tag) {
        case 100:
            CALL(MPI_Probe)(me.left, tag, MPI_COMM_WORLD, &status);
            CALL(MPI_Get_count)(&status, MPI_INT, &count);
            CALL(MPI_Recv)(in, count, MPI_INT, me.left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        case 101:
            for (;;) {
                CALL(MPI_Iprobe)(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
                if (flag)
                    break;
                nap();
            }
            CALL(MPI_Get_count)(&status, MPI_INT, &count);
            CALL(MPI_Recv)(in, count, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
            break;
        case 102:
            CALL(MPI_Mprobe)(me.left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
            CALL(MPI_Get_count)(&status, MPI_INT, &count);
            CALL(MPI_Mrecv)(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
            break;
        default:
            for (;;) {
                CALL(MPI_Improbe)(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status);
                if (flag)
                    break;
                nap();
            }
            CALL(MPI_Get_count)(&status, MPI_INT, &count);
            CALL(MPI_Imrecv)(in, count, MPI_INT, &message, &receive);
            CALL(MPI_Wait)(&receive, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Wait)(&send, MPI_STATUS_IGNORE);
        counting_sent(me.right, 4 * mine);
        counting_received(me.left, 4 * theirs);
        digest(&count, 1);
        digest(in, theirs);
    }
    tell("probe");
}

void derived(void)
{
    int grid[4][6], in[15];
    MPI_Datatype column, triple, record;
    CALL(MPI_Type_vector)(4, 1, 6, MPI_INT, &column);
    CALL(MPI_Type_commit)(&column);
    fill(&grid[0][0], 24, me.rank, 121);
    CALL(MPI_Sendrecv)(&grid[0][2], 1, column, me.right, 121, in, 4, MPI_INT, me.left, 121,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counting_sent(me.right, 16);
    counting_received(me.left, 16);
    digest(in, 4);
    CALL(MPI_Type_free)(&column);

    int out[15];
    MPI_Request request;
    CALL(MPI_Type_contiguous)(3, MPI_INT, &triple);
    CALL(MPI_Type_commit)(&triple);
    fill(out, 15, me.rank, 122);
    CALL(MPI_Isend)(out, 5, triple, me.right, 122, MPI_COMM_WORLD, &request);
    CALL(MPI_Recv)(in, 5, triple, me.left, 122, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    counting_sent(me.right, 60);
    counting_received(me.left, 60);
    digest(in, 15);
    CALL(MPI_Type_free)(&triple);

    struct particle {
        int id;
        double mass;
    } sent[2] = {{me.rank, me.rank + 0.5}, {me.rank + 10, 2.5}}, got[2];
    int lengths[2] = {1, 1};
    MPI_Aint displacements[2] = {offsetof(struct particle, id), offsetof(struct particle, mass)};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    CALL(MPI_Type_create_struct)(2, lengths, displacements, types, &record);
    CALL(MPI_Type_commit)(&record);
    CALL(MPI_Isend)(sent, 2, record, me.right, 123, me.dup, &request);
    CALL(MPI_Recv)(got, 2, record, me.left, 123, me.dup, MPI_STATUS_IGNORE);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    counting_sent(me.right, 24);
    counting_received(me.left, 24);
    for (int i = 0; i < 2; i++) {
        int parts[2] = {got[i].id, (int)(got[i].mass * 2)};
        digest(parts, 2);
    }
    CALL(MPI_Type_free)(&record);
    tell("derived");
}

void zero(void)
{
    MPI_Request request;
    MPI_Status status;
    int count;
    CALL(MPI_Isend)(NULL, 0, MPI_INT, me.right, 124, MPI_COMM_WORLD, &request);
    CALL(MPI_Recv)(NULL, 0, MPI_INT, me.left, 124, MPI_COMM_WORLD, &status);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    CALL(MPI_Get_count)(&status, MPI_INT, &count);
    counting_sent(me.right, 0);
    counting_received(me.left, 0);
    digest(&count, 1);
    digest(&status.MPI_SOURCE, 1);
    tell("zero");
}

void many(void)
{
    for (int i = 0; i < 20000; i++) {
        int in = -1;
        CALL(MPI_Sendrecv)(&i, 1, MPI_INT, 0, 125, &in, 1, MPI_INT, 0, 125, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE);
        counting_sent(me.rank, 4);
        counting_received(me.rank, 4);
        if (i % 100 == 0)
            digest(&in, 1);
    }
    tell("many");
}
