/* The program's own counts: calls of each MPI function, messages and bytes point to point.
 *
 * Ranks are those of MPI_COMM_WORLD. The counts are written after MPI_Finalize to the file that
 * COUNTS_FILE names (%r in it becomes the rank), and compared with Invivo's report. */
#ifndef COUNTING_H
#define COUNTING_H

#ifdef __cplusplus
extern "C" {
#endif

/* The counter of the function `name`; stays valid. */
long *counting_slot(const char *name);

/* Calls an MPI function and counts the call: CALL(MPI_Send)(buffer, ...). Every place remembers its
 * counter. */
#define CALL(f)                                 \
    (*({                                        \
        static long *slot_of_call;              \
        if (!slot_of_call)                      \
            slot_of_call = counting_slot(#f);   \
        ++*slot_of_call;                        \
        &f;                                     \
    }))

/* This rank sent one message of `bytes` bytes to the world rank `destination`. */
void counting_sent(int destination, long bytes);
/* This rank received one message of `bytes` bytes from the world rank `source`. */
void counting_received(int source, long bytes);
/* Writes the file, as lines with tabs:
 *   call      RANK    FUNCTION     CALLS
 *   sent      RANK    DESTINATION  MESSAGES  BYTES
 *   received  SOURCE  RANK         MESSAGES  BYTES  */
void counting_write(int rank);

#ifdef __cplusplus
}
#endif
#endif
