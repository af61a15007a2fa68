/* A rank's own log of its regions: how often it was in each, and for how long, by its own clock.
 *
 * The compiler does not instrument these, so that none is a region itself. The clock,
 * CLOCK_MONOTONIC, is read inside each region and around each MPI call, by the first thread
 * alone. */
#ifndef REGION_LOG_H
#define REGION_LOG_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At the begin and at the end of a region's body. The name is not copied. */
void region_log_begin(const char *name);
void region_log_end(void);
/* Before and behind an MPI call. */
void region_log_mpi_begin(void);
void region_log_mpi_end(void);
/* Computes until so much time has passed. */
void region_log_compute(long long ns);
/* LOG_DIR/RANK.regions, to be written. */
FILE *region_log_file(int rank);
/* Writes a line "NAME VISITS INCLUSIVE_NS OWN_NS MPI_NS OWN_MPI_NS" for each region: inclusive is
 * all between begin and end, own is without the regions below, MPI is time in MPI calls below, and
 * own MPI that in calls that the region makes itself. */
void region_log_write(int rank);
/* Leaves LOG_DIR/RANK.done and waits for LOG_DIR/stop, where there is a LOG_DIR. */
void region_log_wait(int rank);

#ifdef __cplusplus
}
#endif
#endif
