/* What the parts of the C conversation share; README.md tells the script. */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "counting.h"
#include <mpi.h>

/* The script's cast: ranks and communicators. */
struct cast {
    int rank, size, left, right;
    int parity, half_rank, half_size, remote_size;
    MPI_Comm dup, half, inter, merged, pair, reversed, idup;
};
extern struct cast me;

/* World ranks behind the ranks of other communicators. */
int world_of_half(int parity, int rank);
int world_of_merged(int rank);

/* The message of `count` numbers that world rank `source` sends with `tag`. */
void fill(int *buffer, int count, int source, int tag);
/* Takes numbers into the running digest; printed and begun anew by `tell`. */
void digest(const int *buffer, int count);
void tell(const char *section);
/* A short sleep between two tests of something that has not happened yet. */
void nap(void);

void make_communicators(void);
void free_communicators(void);
void blocking(void);
void sendrecv(void);
void nobody(void);
void probe(void);
void wildcard(void);
void derived(void);
void zero(void);
void many(void);
void nonblocking(void);
void completion(void);
void persistent(void);
void cancelled(void);
void freed(void);
void collectives(void);
void nonblocking_collectives(void);
void intercommunicator(void);
void groups(void);

#endif
