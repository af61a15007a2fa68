/* Attributes that nobody deletes: MPI_Finalize does, those of MPI_COMM_SELF first, the last set
 * first, and while its callbacks run MPI still works. What it does with those of MPI_COMM_WORLD is
 * each MPI's own. */
#include "sections.h"

#include <stdio.h>

static MPI_Comm friends;

static int last_word(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    int sum = 0, initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, friends);
    say("%s loses %ld: initialized %d, finalized %d, sum %d", which(comm), (long)(size_t)value,
        initialized, finalized, sum);
    fflush(stdout);
    return MPI_SUCCESS;
}

static int silent(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    say("%s loses %ld", which(comm), (long)(size_t)value);
    fflush(stdout);
    return MPI_SUCCESS;
}

void finalize_attributes(void)
{
    int keyvals[3], of_world[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &friends);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_word, &keyvals[i], NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[i], (void *)(size_t)(i + 1));
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, silent, &of_world[i], NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, of_world[i], (void *)(size_t)(i + 7));
        MPI_Comm_free_keyval(&of_world[i]);
    }
    say("three attributes of self, two of the world");
}
