/* Counts the MPI calls of a program independently of Invivo, as a preloaded PMPI layer.
 *
 * At the end of MPI_Finalize, or of a program that has sessions only, it writes
 * COUNTER_DIR/RANK.tsv in the format of counting.h (lines `call RANK FUNCTION CALLS`).
 *
 * Two libraries are built from it for each MPI:
 *
 *   libpmpi_counter.so       wraps MPI_*, the calls of C, C++ and mpi4py programs. It may be loaded
 *                            behind Invivo, whose own calls go to PMPI_* and are not counted here.
 *   libpmpi_counter_deep.so  (-DDEEP) wraps PMPI_* as well, because Open MPI's Fortran layer calls
 *                            nothing else. For runs without Invivo only.
 *
 * It wraps every function that the MPI's header declares: functions.h is a list of
 *
 *   FUNCTION(name, parameters, arguments)
 *
 * made from the project's table when it is built, and the compiler compares it with the header. It
 * is not linked with libmpi: it is preloaded into the launcher and its daemons, too, and a Python
 * program loads its MPI late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
/* Some headers lack a const there. */
#define MPI_Pready_list of_the_header
#define PMPI_Pready_list of_the_header_too
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#undef MPI_Pready_list
#undef PMPI_Pready_list
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, parameters, arguments) ID_##name,
enum {
#include "functions.h"
    ID_MPI_Finalize,
    ID_MPI_Wtime,
    ID_MPI_Wtick,
    ID_MPI_Aint_add,
    ID_MPI_Aint_diff,
    ID_MPI_Pcontrol,
    FUNCTIONS
};
#undef FUNCTION

#define FUNCTION(name, parameters, arguments) #name,
static const char *const names[FUNCTIONS] = {
#include "functions.h"
    "MPI_Finalize",
    "MPI_Wtime",
    "MPI_Wtick",
    "MPI_Aint_add",
    "MPI_Aint_diff",
    "MPI_Pcontrol",
};
#undef FUNCTION

static _Atomic long calls[FUNCTIONS];
/* Calls that MPI makes itself are not counted. */
static _Thread_local int depth;

static int look_in(struct dl_phdr_info *object, size_t size, void *search)
{
    (void)size;
    const char *name = strrchr(object->dlpi_name, '/');
    if (!name || (strncmp(name, "/libmpi.so", 10) != 0 && strncmp(name, "/libmpich.so", 12) != 0 &&
                  strncmp(name, "/libmpi_abi.so", 14) != 0))
        return 0;
    void **found = search, *library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        found[1] = dlsym(library, found[0]);
    return found[1] != NULL;
}

/* The function behind this layer: the one that a plain call of PMPI_X would reach, or where the
 * program keeps its MPI to itself (Python), the one in the MPI that is loaded. */
static void *find(const char *name)
{
#ifdef DEEP
    void *found = dlsym(RTLD_NEXT, name);
#else
    void *found = dlsym(RTLD_DEFAULT, name);
#endif
    if (!found) {
        void *search[2] = {(void *)name, NULL};
        dl_iterate_phdr(look_in, search);
        found = search[1];
    }
    if (!found) {
        fprintf(stderr, "counter: no %s\n", name);
        abort();
    }
    return found;
}

/* A handle that is a constant, as the program has it. Open MPI's is the address of a variable, which
 * must not be asked for at load time (see above). */
static MPI_Comm constant(const char *variable, MPI_Comm otherwise)
{
#ifdef OPEN_MPI
    (void)otherwise;
    /* The first in the order of look-up: a program that was linked with a copy relocation has the
     * variable in itself. */
    void *found = dlsym(RTLD_DEFAULT, variable);
    return found ? found : find(variable);
#else
    (void)variable;
    return otherwise;
#endif
}
#ifdef OPEN_MPI
#define CONSTANT(variable, handle) constant(variable, NULL)
#else
#define CONSTANT(variable, handle) constant(variable, handle)
#endif

/* Whether this process was spawned; -1 while that is not known. Spawned processes have a world of
 * their own, and ranks that other files have the names of. */
static int spawned = -1;

static void look_for_parent(void)
{
    int initialized = 0;
    ((int (*)(int *))find("PMPI_Initialized"))(&initialized);
    if (!initialized)
        return;
    MPI_Comm parent;
    ((int (*)(MPI_Comm *))find("PMPI_Comm_get_parent"))(&parent);
    spawned = parent != CONSTANT("ompi_mpi_comm_null", MPI_COMM_NULL);
}

static void enter(int id)
{
    if (depth++ != 0)
        return;
    if (spawned < 0)
        look_for_parent();
    calls[id]++;
}

/* `the_next` and `its_result` are names that no parameter has. */
#define WRAP(type, symbol, id, behind, parameters, arguments)                    \
    __attribute__((visibility("default"))) type symbol parameters                \
    {                                                                            \
        static type(*the_next) parameters;                                       \
        if (!the_next)                                                           \
            the_next = (type(*) parameters)find(behind);                         \
        enter(id);                                                               \
        type its_result = the_next arguments;                                  \
        depth--;                                                                 \
        return its_result;                                                     \
    }

#define FUNCTION(name, parameters, arguments)                                                      \
    WRAP(int, name, ID_##name, "P" #name, parameters, arguments)
#include "functions.h"
#undef FUNCTION
WRAP(double, MPI_Wtime, ID_MPI_Wtime, "PMPI_Wtime", (void), ())
WRAP(double, MPI_Wtick, ID_MPI_Wtick, "PMPI_Wtick", (void), ())
/* Open MPI's header computes these itself. */
#ifndef MPI_Aint_add
WRAP(MPI_Aint, MPI_Aint_add, ID_MPI_Aint_add, "PMPI_Aint_add", (MPI_Aint base, MPI_Aint disp),
     (base, disp))
WRAP(MPI_Aint, MPI_Aint_diff, ID_MPI_Aint_diff, "PMPI_Aint_diff", (MPI_Aint addr1, MPI_Aint addr2),
     (addr1, addr2))
#endif
/* Its other arguments have no types that this layer could know: they are not passed on. */
WRAP(int, MPI_Pcontrol, ID_MPI_Pcontrol, "PMPI_Pcontrol", (const int level, ...), (level))

#ifdef DEEP
#define FUNCTION(name, parameters, arguments)                                                      \
    WRAP(int, P##name, ID_##name, "P" #name, parameters, arguments)
#include "functions.h"
#undef FUNCTION
WRAP(double, PMPI_Wtime, ID_MPI_Wtime, "PMPI_Wtime", (void), ())
#endif

static int write_counts(int rank)
{
    const char *directory = getenv("COUNTER_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.tsv", directory ? directory : ".", rank);
    FILE *file = fopen(path, "w");
    if (!file)
        return 0;
    for (int id = 0; id < FUNCTIONS; id++)
        if (calls[id])
            fprintf(file, "call\t%d\t%s\t%ld\n", rank, names[id], (long)calls[id]);
    return fclose(file) == 0;
}

/* A program without a world knows its rank from the launcher. */
static int launched_as(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (getenv(variables[i]))
            return atoi(getenv(variables[i]));
    return -1;
}

static int written;

__attribute__((destructor)) static void at_exit(void)
{
    long all = 0;
    for (int id = 0; id < FUNCTIONS; id++)
        all += calls[id];
    if (all != 0 && !written && spawned != 1)
        write_counts(launched_as());
}

static int finalize(void)
{
    enter(ID_MPI_Finalize);
    int rank = -1;
    ((int (*)(MPI_Comm, int *))find("PMPI_Comm_rank"))(
        CONSTANT("ompi_mpi_comm_world", MPI_COMM_WORLD), &rank);
    int result = ((int (*)(void))find("PMPI_Finalize"))();
    depth--;
    written = 1;
    if (depth == 0 && spawned != 1 && !write_counts(rank))
        fprintf(stderr, "counter: cannot write the counts of rank %d\n", rank);
    return result;
}

__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    return finalize();
}

#ifdef DEEP
__attribute__((visibility("default"))) int PMPI_Finalize(void)
{
    return finalize();
}
#endif
