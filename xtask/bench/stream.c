/* Records the stream of calls of one rank into $INVIVO_STREAM.RANK, in the layout that the benches of buffers read:
   per call one record, then one for each request that it completed. Independent of Invivo's own shim; small, and only
   for the functions that LAMMPS communicates with. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

struct record {
    uint64_t end, duration, ordinal, request, posted, out, in;
    int32_t peer, tag;
    uint32_t comm;
    uint16_t region;
    uint8_t kind, part;
};
_Static_assert(sizeof(struct record) == 72, "as the reader has it");

/* As in invivo_proto::record::Kind. */
enum { PLAIN, SEND, RECV, POST_SEND, POST_RECV, COLLECTIVE, POST_COLLECTIVE, COMPLETED_SEND, COMPLETED_RECV };
enum { R_SEND = 1, R_RECV, R_ISEND, R_IRECV, R_WAIT, R_WAITALL, R_WAITANY, R_SENDRECV, R_ALLREDUCE, R_BCAST, R_BARRIER,
       R_REDUCE, R_SCAN, R_ALLGATHER };

/* 4 million records, 288 MB of address space; what comes later is left out. */
enum { RECORDS = 1 << 22, REQUESTS = 4096 };
static struct record *records;
static long used;
static uint64_t posted, collectives;
static struct { MPI_Request handle; struct record operation; } requests[REQUESTS];

static struct record *next(void) {
    if (!records) records = malloc(RECORDS * sizeof *records);
    static struct record beyond;
    return used < RECORDS ? &records[used++] : &beyond;
}

static uint32_t number(MPI_Comm comm) { return comm == MPI_COMM_WORLD ? 0 : (uint32_t)MPI_Comm_c2f(comm) & 0xff; }

static uint64_t size(int count, MPI_Datatype type) {
    int bytes;
    PMPI_Type_size(type, &bytes);
    return (uint64_t)bytes * count;
}

static struct record *call(uint64_t begin, int kind, int region, MPI_Comm comm, int peer, int tag, uint64_t out, uint64_t in) {
    struct record *r = next();
    uint64_t end = __rdtsc();
    *r = (struct record){.end = end, .duration = end - begin, .peer = peer, .tag = tag, .comm = number(comm), .out = out,
                         .in = in, .region = region, .kind = kind};
    if (kind == COLLECTIVE) r->ordinal = collectives++;
    return r;
}

static void post(struct record *r, uint64_t begin, MPI_Request handle) {
    r->request = posted++;
    for (int i = 0; i < REQUESTS; i++)
        if (!requests[i].handle) {
            requests[i].handle = handle;
            requests[i].operation = *r;
            requests[i].operation.posted = begin;
            return;
        }
}

static void complete(MPI_Request handle, MPI_Status *status) {
    for (int i = 0; i < REQUESTS; i++)
        if (requests[i].handle && requests[i].handle == handle) {
            struct record *r = next();
            *r = requests[i].operation;
            requests[i].handle = 0;
            r->part = 1;
            r->kind = r->kind == POST_SEND ? COMPLETED_SEND : COMPLETED_RECV;
            if (r->kind == COMPLETED_RECV && status) {
                int bytes;
                PMPI_Get_count(status, MPI_BYTE, &bytes);
                r->in = bytes, r->peer = status->MPI_SOURCE, r->tag = status->MPI_TAG;
            }
            return;
        }
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c) {
    uint64_t begin = __rdtsc();
    int e = PMPI_Send(b, n, t, d, tag, c);
    call(begin, SEND, R_SEND, c, d, tag, size(n, t), 0);
    return e;
}
int MPI_Recv(void *b, int n, MPI_Datatype t, int s, int tag, MPI_Comm c, MPI_Status *st) {
    MPI_Status own;
    int bytes;
    uint64_t begin = __rdtsc();
    int e = PMPI_Recv(b, n, t, s, tag, c, &own);
    PMPI_Get_count(&own, MPI_BYTE, &bytes);
    call(begin, RECV, R_RECV, c, own.MPI_SOURCE, own.MPI_TAG, 0, bytes);
    if (st != MPI_STATUS_IGNORE) *st = own;
    return e;
}
int MPI_Isend(const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c, MPI_Request *r) {
    uint64_t begin = __rdtsc();
    int e = PMPI_Isend(b, n, t, d, tag, c, r);
    post(call(begin, POST_SEND, R_ISEND, c, d, tag, size(n, t), 0), begin, *r);
    return e;
}
int MPI_Irecv(void *b, int n, MPI_Datatype t, int s, int tag, MPI_Comm c, MPI_Request *r) {
    uint64_t begin = __rdtsc();
    int e = PMPI_Irecv(b, n, t, s, tag, c, r);
    post(call(begin, POST_RECV, R_IRECV, c, s, tag, 0, size(n, t)), begin, *r);
    return e;
}
int MPI_Wait(MPI_Request *r, MPI_Status *st) {
    MPI_Request handle = *r;
    MPI_Status own;
    uint64_t begin = __rdtsc();
    int e = PMPI_Wait(r, &own);
    call(begin, PLAIN, R_WAIT, MPI_COMM_WORLD, 0, 0, 0, 0);
    complete(handle, &own);
    if (st != MPI_STATUS_IGNORE) *st = own;
    return e;
}
int MPI_Waitall(int n, MPI_Request r[], MPI_Status st[]) {
    MPI_Request handles[n > 0 ? n : 1];
    MPI_Status own[n > 0 ? n : 1];
    for (int i = 0; i < n; i++) handles[i] = r[i];
    uint64_t begin = __rdtsc();
    int e = PMPI_Waitall(n, r, own);
    call(begin, PLAIN, R_WAITALL, MPI_COMM_WORLD, 0, 0, 0, 0);
    for (int i = 0; i < n; i++) complete(handles[i], &own[i]);
    if (st != MPI_STATUSES_IGNORE)
        for (int i = 0; i < n; i++) st[i] = own[i];
    return e;
}
int MPI_Waitany(int n, MPI_Request r[], int *index, MPI_Status *st) {
    MPI_Request handles[n > 0 ? n : 1];
    MPI_Status own;
    for (int i = 0; i < n; i++) handles[i] = r[i];
    uint64_t begin = __rdtsc();
    int e = PMPI_Waitany(n, r, index, &own);
    call(begin, PLAIN, R_WAITANY, MPI_COMM_WORLD, 0, 0, 0, 0);
    if (*index >= 0 && *index < n) complete(handles[*index], &own);
    if (st != MPI_STATUS_IGNORE) *st = own;
    return e;
}
int MPI_Sendrecv(const void *sb, int sn, MPI_Datatype stype, int d, int stag, void *rb, int rn, MPI_Datatype rtype, int s,
                 int rtag, MPI_Comm c, MPI_Status *st) {
    MPI_Status own;
    int bytes;
    uint64_t begin = __rdtsc();
    int e = PMPI_Sendrecv(sb, sn, stype, d, stag, rb, rn, rtype, s, rtag, c, &own);
    PMPI_Get_count(&own, MPI_BYTE, &bytes);
    call(begin, SEND, R_SENDRECV, c, d, stag, size(sn, stype), 0);
    *next() = (struct record){.peer = own.MPI_SOURCE, .tag = own.MPI_TAG, .comm = number(c), .in = bytes, .region = R_SENDRECV,
                              .kind = RECV, .part = 1};
    if (st != MPI_STATUS_IGNORE) *st = own;
    return e;
}
#define COLL(name, region, parameters, arguments, root, out, in)                                                       \
    int MPI_##name parameters {                                                                                        \
        uint64_t begin = __rdtsc();                                                                                    \
        int e = PMPI_##name arguments;                                                                                 \
        call(begin, COLLECTIVE, region, c, root, 0, out, in);                                                          \
        return e;                                                                                                      \
    }
COLL(Allreduce, R_ALLREDUCE, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c), -1,
     size(n, t), size(n, t))
COLL(Bcast, R_BCAST, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c), root, size(n, t), size(n, t))
COLL(Barrier, R_BARRIER, (MPI_Comm c), (c), -1, 0, 0)
COLL(Reduce, R_REDUCE, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
     (s, r, n, t, o, root, c), root, size(n, t), size(n, t))
COLL(Scan, R_SCAN, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c), -1, size(n, t),
     size(n, t))
COLL(Allgather, R_ALLGATHER,
     (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c), (s, sn, st, r, rn, rt, c), -1,
     size(sn, st), size(rn, rt))

int MPI_Finalize(void) {
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("INVIVO_STREAM"), rank);
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(records, sizeof *records, used, file);
        fclose(file);
    }
    return PMPI_Finalize();
}
