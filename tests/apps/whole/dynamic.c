/* Knows of MPI only at run time: argument 1 is the library, argument 2 `local` or `global`. All that it calls it has from
 * dlsym, of the library's own handle. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void *library;

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
    MPI_Sendrecv_(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    PMPI_Barrier_(MPI_COMM_WORLD);
    printf("%d of %d, sum %d, from the left %d\n", rank, size, sum, in);
    MPI_Finalize_();
    return 0;
}
