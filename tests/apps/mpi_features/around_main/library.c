/* A library that uses MPI around its program's main.
 *
 * It does so in its constructor, at exit, and in its destructor. MPI_AROUND_MAIN says where MPI is
 * initialised and finalised. */
#include "library.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm friends = MPI_COMM_NULL;

static int is(const char *how)
{
    const char *said = getenv("MPI_AROUND_MAIN");
    return said && strcmp(said, how) == 0;
}

static void count(const char *where)
{
    int sum = 0, one = 1, size = -1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM,
                  friends == MPI_COMM_NULL ? MPI_COMM_WORLD : friends);
    printf("%s: %d of %d\n", where, sum, size);
    fflush(stdout);
}

static void end(const char *where)
{
    int finalized = 0;
    count(where);
    if (friends != MPI_COMM_NULL)
        MPI_Comm_free(&friends);
    MPI_Finalize();
    MPI_Finalized(&finalized);
    printf("%s: finalized %d\n", where, finalized);
    fflush(stdout);
}

static void at_exit(void)
{
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (is("exit"))
        end("at exit");
    else {
        printf("at exit: finalized %d\n", finalized);
        fflush(stdout);
    }
}

static int last_word(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)value, (void)extra;
    count(comm == MPI_COMM_SELF ? "last word of self" : "last word of somebody");
    return MPI_SUCCESS;
}

__attribute__((constructor)) static void construct(void)
{
    if (is("constructor")) {
        MPI_Init(NULL, NULL);
        MPI_Comm_dup(MPI_COMM_WORLD, &friends);
        count("constructor");
    } else {
        int initialized = -1;
        MPI_Initialized(&initialized);
        printf("constructor: initialized %d\n", initialized);
    }
}

__attribute__((destructor)) static void destruct(void)
{
    int finalized = 0, version = 0, subversion = 0;
    MPI_Finalized(&finalized);
    if (is("constructor"))
        end("destructor");
    else {
        MPI_Get_version(&version, &subversion);
        printf("destructor: finalized %d, version %d\n", finalized, version);
    }
}

void library_communicates(void)
{
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_word, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    count("main");
}

void library_registers_exit(void)
{
    atexit(at_exit);
}
