#ifndef EARLY_H
#define EARLY_H

/* Talks, and leaves a last word with MPI_COMM_SELF. */
void early_use(void);
/* What there is to do at exit is done at exit. */
void early_at_exit(void);

#endif
