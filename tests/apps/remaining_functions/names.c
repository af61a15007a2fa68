/* Ports and names that the launcher keeps, or says that it does not. */
#include "sections.h"

#include <string.h>

void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "a port", found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int opened = MPI_Open_port(MPI_INFO_NULL, port);
    fold_code(opened);
    if (me == 0)
        fold_code(MPI_Publish_name("every service", MPI_INFO_NULL, port));
    MPI_Barrier(everybody);
    fold_code(MPI_Lookup_name("every service", MPI_INFO_NULL, found));
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, everybody);
    fold(strcmp(port, found) == 0);
    MPI_Barrier(everybody);
    if (me == 0)
        fold_code(MPI_Unpublish_name("every service", MPI_INFO_NULL, port));
    MPI_Barrier(everybody);
    fold_code(MPI_Lookup_name("every service", MPI_INFO_NULL, found));
    if (opened == MPI_SUCCESS && me == 0)
        MPI_Close_port(port);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}
