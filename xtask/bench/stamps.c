/* The least that a measuring wrapper can do: two time stamps around the call, the difference summed up. The baseline for what
 * recording costs on top. With -DPASS it only passes the call on: the baseline for what not recording costs. */
#include <mpi.h>
#include <x86intrin.h>

#ifdef PASS
#define TIMED(call) return (call)
#else
static unsigned long long sum;

#define TIMED(call)                        \
    unsigned long long begin = __rdtsc();  \
    int result = (call);                   \
    sum += __rdtsc() - begin;              \
    return result
#endif

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    TIMED(PMPI_Iprobe(source, tag, comm, flag, status));
}
int MPI_Sendrecv(const void *out, int count, MPI_Datatype type, int dest, int tag, void *in, int room,
                 MPI_Datatype intype, int source, int intag, MPI_Comm comm, MPI_Status *status) {
    TIMED(PMPI_Sendrecv(out, count, type, dest, tag, in, room, intype, source, intag, comm, status));
}
int MPI_Send(const void *out, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    TIMED(PMPI_Send(out, count, type, dest, tag, comm));
}
int MPI_Recv(void *in, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    TIMED(PMPI_Recv(in, count, type, source, tag, comm, status));
}
int MPI_Isend(const void *out, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
    TIMED(PMPI_Isend(out, count, type, dest, tag, comm, request));
}
int MPI_Irecv(void *in, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request) {
    TIMED(PMPI_Irecv(in, count, type, source, tag, comm, request));
}
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    TIMED(PMPI_Waitall(count, requests, statuses));
}
int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    TIMED(PMPI_Allreduce(out, in, count, type, op, comm));
}
int MPI_Comm_rank(MPI_Comm comm, int *rank) { TIMED(PMPI_Comm_rank(comm, rank)); }
