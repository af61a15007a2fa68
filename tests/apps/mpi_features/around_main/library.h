/* The library that uses MPI around main. */
#ifndef LIBRARY_H
#define LIBRARY_H

/* Communicates, and sets an attribute of MPI_COMM_SELF whose callback communicates, too. */
void library_communicates(void);
/* Registers a handler for the exit of the program. */
void library_registers_exit(void);

#endif
