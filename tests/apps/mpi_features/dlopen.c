/* Loads MPI at run time: argument 1 is the library, argument 2 `local` or `global`.
 *
 * All functions come from dlsym of the library's own handle. A plug-in, built from this file too,
 * looks functions up as well and is unloaded again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef PLUG_IN
static int *gone;

int ask(void *library, int *counter);
int ask(void *library, int *counter)
{
    gone = counter;
    return dlsym(library, "MPI_Barrier") && dlsym(library, "MPI_Send");
}

__attribute__((destructor)) static void leave(void)
{
    if (gone)
        ++*gone;
}
#else

static void *library;

/* A plug-in goes when its last user closes it, whatever it has asked for. */
static void ask_by_a_plug_in(void)
{
    static int gone;
    char path[4096] = "";
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    if (length < 0)
        return;
    strcpy(path + length, ".so");
    void *plug_in = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*ask)(void *, int *) = plug_in ? (int (*)(void *, int *))dlsym(plug_in, "ask") : NULL;
    int found = ask ? ask(library, &gone) : -1;
    if (plug_in)
        dlclose(plug_in);
    printf("a plug-in has found %d, gone %d\n", found, gone);
}

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fprintf(stderr, "no %s\n", name);
    return found;
}

#define FIND(function) __typeof__(&function) function##_ = (__typeof__(&function))find(#function)

#ifdef OPEN_MPI
#undef MPI_COMM_WORLD
#undef MPI_INT
#undef MPI_SUM
#define MPI_COMM_WORLD ((MPI_Comm)find("ompi_mpi_comm_world"))
#define MPI_INT ((MPI_Datatype)find("ompi_mpi_int"))
#define MPI_SUM ((MPI_Op)find("ompi_mpi_op_sum"))
#endif

int main(int argc, char **argv)
{
    int mode = argc > 2 && strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW | mode) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    ask_by_a_plug_in();
    FIND(MPI_Init);
    FIND(MPI_Comm_rank);
    FIND(MPI_Comm_size);
    FIND(MPI_Allreduce);
    FIND(MPI_Sendrecv);
    FIND(MPI_Finalize);
    FIND(PMPI_Barrier);
    int rank = -1, size = -1, sum = 0, in = -1;
    MPI_Init_(&argc, &argv);
    MPI_Comm_rank_(MPI_COMM_WORLD, &rank);
    MPI_Comm_size_(MPI_COMM_WORLD, &size);
    MPI_Allreduce_(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv_(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT,
                  (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Barrier_(MPI_COMM_WORLD);
    printf("%d of %d, sum %d, from the left %d\n", rank, size, sum, in);
    MPI_Finalize_();
    return 0;
}
#endif
