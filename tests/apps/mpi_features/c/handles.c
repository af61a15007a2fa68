/* Handles between C and Fortran: there and back they are the same, and the world's is the one that
 * Fortran knows. */
#include "sections.h"

void handles(void)
{
#ifdef MPI_ABI_VERSION
    say("no handles of Fortran's");
#else
    MPI_Comm dup;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Info info;
    MPI_Win win;
    MPI_Errhandler errhandler;
    int memory = 0, size = -1, value = -1;
    MPI_Comm world = MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD));
    MPI_Comm_size(world, &size);
    say("%s is Fortran's %d, of %d", which(world), (int)MPI_Comm_c2f(MPI_COMM_WORLD), size);
    say("%s is Fortran's %d", which(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF))),
        (int)MPI_Comm_c2f(MPI_COMM_SELF));
    say("%s", which(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL))));

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_group(dup, &group);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Irecv(&value, 1, MPI_INT, (me + all - 1) % all, 1, MPI_COMM_WORLD, &request);
    MPI_Info_create(&info);
    MPI_Win_create(&memory, sizeof memory, 1, info, MPI_COMM_WORLD, &win);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &errhandler);
    MPI_Request again = MPI_Request_f2c(MPI_Request_c2f(request));
    say("dup %d, group %d, type %d, request %d, info %d, window %d, handler %d, op %d, file %d",
        MPI_Comm_f2c(MPI_Comm_c2f(dup)) == dup, MPI_Group_f2c(MPI_Group_c2f(group)) == group,
        MPI_Type_f2c(MPI_Type_c2f(type)) == type, again == request,
        MPI_Info_f2c(MPI_Info_c2f(info)) == info, MPI_Win_f2c(MPI_Win_c2f(win)) == win,
        MPI_Errhandler_f2c(MPI_Errhandler_c2f(errhandler)) == errhandler,
        MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM,
        MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    MPI_Send(&me, 1, MPI_INT, (me + 1) % all, 1, MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)));
    MPI_Status status, back;
    MPI_Fint fortran[64] = {0};
    MPI_Wait(&again, &status);
    MPI_Status_c2f(&status, fortran);
    MPI_Status_f2c(fortran, &back);
    int count = -1;
    MPI_Get_count(&back, MPI_INT, &count);
    say("received %d; its status there and back: %d, tag %d, count %d", value, back.MPI_SOURCE,
        back.MPI_TAG, count);
    MPI_Errhandler_free(&errhandler);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Comm_free(&dup);
#endif
}
