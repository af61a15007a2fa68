/* Declarations that the sections share.
 *
 * Each section uses one feature of MPI that an interposed library can break. It prints what it
 * gets, and prints the same in every run with the same MPI. */
#ifndef SECTIONS_H
#define SECTIONS_H

#include <mpi.h>
#include <stddef.h>

/* This rank and all ranks, by MPI_COMM_WORLD. */
extern int me, all;

/* One line on standard output, with the section's name in front. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of what a call gave back: its class, and the texts of class and code without addresses.
 */
void say_code(const char *what, int code);
/* How two handles of communicators compare, as a word. */
const char *comparison(int result);
/* The communicator by its usual name if it is MPI_COMM_WORLD or MPI_COMM_SELF itself, else
 * `another`. */
const char *which(MPI_Comm comm);

#define SECTIONS(SECTION)   \
    SECTION(attributes)     \
    SECTION(groups)         \
    SECTION(communicators)  \
    SECTION(topologies)     \
    SECTION(neighbours)     \
    SECTION(intercomms)     \
    SECTION(errors)         \
    SECTION(statuses)       \
    SECTION(one_sided)      \
    SECTION(shared)         \
    SECTION(files)          \
    SECTION(persistent)     \
    SECTION(partitioned)    \
    SECTION(large)          \
    SECTION(in_place)       \
    SECTION(operations)     \
    SECTION(datatypes)      \
    SECTION(grequests)      \
    SECTION(tools)          \
    SECTION(handles)        \
    SECTION(info_env)       \
    SECTION(processes)      \
    SECTION(finalize_attributes)

#define SECTION(name) void name(void);
SECTIONS(SECTION)
#undef SECTION

#endif
