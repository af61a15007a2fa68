/* The MPI functions that no other test program calls, each called once or twice.
 *
 * Each section folds all values that it gets into one number, so that a rank prints little. Files
 * that are about counts are compiled twice, with int and (-DLARGE) with MPI_Count. The names that
 * an MPI declares stand in declared.h, which the tests make. */
#ifndef SECTIONS_H
#define SECTIONS_H

/* Some headers lack a const there. */
#include "declared.h"
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <stddef.h>

/* This rank, all ranks, and the ranks beside, in `everybody`, a dup of the world with another name.
 */
extern int me, all, left, right;
extern MPI_Comm everybody;

/* The section's number goes on. */
void fold(long value);
void fold_text(const char *text);
void fold_ints(const int *values, int number);
void fold_code(int code);
/* Callbacks of communicators: an attribute, a number, goes; an error came. */
int comm_deletes(MPI_Comm comm, int key, void *value, void *extra);
void comm_told(MPI_Comm *comm, int *code, ...);
/* Between two looks at something that others have to do: there may be more ranks than cores. */
void breathe(void);

#ifdef LARGE
#define F(name) name##_c
#define COUNT MPI_Count
/* Where an array of displacements has int in one and MPI_Aint in the other. */
#define DISPLACEMENT MPI_Aint
/* Where it has MPI_Aint in one and MPI_Count in the other. */
#define OFFSET MPI_Count
#define SECTION(name) void name##_large(void)
#else
#define F(name) name
#define COUNT int
#define DISPLACEMENT int
#define OFFSET MPI_Aint
#define SECTION(name) void name(void)
#endif

#define TWICE(SECTION_OF) \
    SECTION_OF(messages)  \
    SECTION_OF(collectives) \
    SECTION_OF(neighbours) \
    SECTION_OF(windows)   \
    SECTION_OF(files)     \
    SECTION_OF(datatypes)
#define ONCE(SECTION_OF)  \
    SECTION_OF(requests)  \
    SECTION_OF(objects)   \
    SECTION_OF(removed)   \
    SECTION_OF(names)     \
    SECTION_OF(extensions) \
    SECTION_OF(sessions)

#endif
