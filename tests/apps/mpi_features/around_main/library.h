#ifndef LIBRARY_H
#define LIBRARY_H

/* Talks, and leaves a last word with MPI_COMM_SELF. */
void library_communicates(void);
/* What there is to do at exit is done at exit. */
void library_registers_exit(void);

#endif
