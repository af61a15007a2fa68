/* Preloaded, lets one tool place send garbage while LOG_DIR/send-garbage exists.
 *
 * It is the tool place that is process GARBAGE_SENDER of the whole job; its parent gets the
 * garbage. The last four bytes of a message, by which both sides count their messages, stay as
 * they are, and so do the calls of all other processes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As in proto/wire.md: what goes up, and the bytes behind each message. */
enum { TAG_UP = 4, TRAILER_BYTES = 4 };

static int sends_garbage(void)
{
    const char *sender = getenv("GARBAGE_SENDER"), *directory = getenv("LOG_DIR");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    char path[4096];
    if (!rank)
        rank = getenv("PMI_RANK");
    if (!sender || !directory || !rank || strcmp(sender, rank) ||
        strcmp(program_invocation_short_name, "tool-process"))
        return 0;
    snprintf(path, sizeof path, "%s/send-garbage", directory);
    return access(path, F_OK) == 0;
}

__attribute__((visibility("default"))) int MPI_Isend(const void *buf, int count,
                                                     MPI_Datatype datatype, int dest, int tag,
                                                     MPI_Comm comm, MPI_Request *request)
{
    static int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "MPI_Isend");
    /* The tools send bytes that they own. */
    if (tag == TAG_UP && count > TRAILER_BYTES && sends_garbage())
        memset((void *)buf, 0xff, count - TRAILER_BYTES);
    return next(buf, count, datatype, dest, tag, comm, request);
}
