/* A session beside the world: its sets, its error handler, its buffer, and communicators made of
 * groups without a parent. */
#include "sections.h"

#ifdef DECLARED_MPI_Session_init
static void told(MPI_Session *session, int *code, ...)
{
    fold(*session != MPI_SESSION_NULL);
    fold_code(*code);
}

static void sets(MPI_Session session)
{
    int number = -1, flag = 0;
    char value[64] = "";
    MPI_Info info;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number);
    fold(number);
    for (int i = 0; i < number; i++) {
        char name[MPI_MAX_PSET_NAME_LEN] = "";
        int length = sizeof name;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        fold_text(name);
        MPI_Session_get_pset_info(session, name, &info);
        MPI_Info_get(info, "mpi_size", sizeof value - 1, value, &flag);
        fold_text(flag ? value : "unknown");
        MPI_Info_free(&info);
    }
    MPI_Session_get_info(session, &info);
#ifdef DECLARED_MPI_Session_set_info
    MPI_Session_set_info(session, info);
#endif
    MPI_Info_free(&info);
}

#ifdef DECLARED_MPI_Session_attach_buffer
static void buffers(MPI_Session session)
{
    static char room[2][4096];
    char *found = NULL;
    int size = -1;
    MPI_Count bytes = -1;
    MPI_Request request;
    MPI_Session_attach_buffer(session, room[0], sizeof room[0]);
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &found, &size);
    fold(found == room[0]);
    fold(size);
    MPI_Session_attach_buffer_c(session, room[1], sizeof room[1]);
    MPI_Session_detach_buffer_c(session, &found, &bytes);
    fold(found == room[1]);
    fold(bytes);
}
#endif

static void in(MPI_Comm comm)
{
    int rank = -1, size = -1, sum = -1, from = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&me, 1, MPI_INT, (rank + 1) % size, 7, &from, 1, MPI_INT, (rank + size - 1) % size,
                 7, comm, MPI_STATUS_IGNORE);
    fold(rank);
    fold(size);
    fold(sum);
    fold(from);
}

/* Everybody, then the even ranks and the odd ones, and both of those together. */
static void groups(MPI_Session session)
{
    MPI_Group world, halves[2];
    MPI_Comm comm, half, inter;
    int size = -1, sum = -1;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_size(world, &size);
    fold(size);
    MPI_Comm_create_from_group(world, "everybody", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    in(comm);
    for (int odd = 0; odd < 2; odd++) {
        int range[1][3] = {{odd, size - 1, 2}};
        MPI_Group_range_incl(world, 1, range, &halves[odd]);
    }
    MPI_Comm_create_from_group(halves[me % 2], me % 2 ? "odd" : "even", MPI_INFO_NULL,
                               MPI_ERRORS_ARE_FATAL, &half);
    in(half);
    MPI_Comm_free(&half);
    MPI_Intercomm_create_from_groups(halves[me % 2], 0, halves[1 - me % 2], 0, "both",
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
    MPI_Comm_remote_size(inter, &size);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    fold(size);
    fold(sum);
    MPI_Comm_free(&inter);
    MPI_Group_free(&halves[0]);
    MPI_Group_free(&halves[1]);
    MPI_Group_free(&world);
    MPI_Comm_free(&comm);
}
#endif

void sessions(void)
{
#ifdef DECLARED_MPI_Session_init
    MPI_Session session;
    MPI_Errhandler own, now;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_create_errhandler(told, &own);
    MPI_Session_set_errhandler(session, own);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    MPI_Session_get_errhandler(session, &now);
    fold(now == own);
    MPI_Errhandler_free(&now);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
    sets(session);
#ifdef DECLARED_MPI_Session_attach_buffer
    buffers(session);
#endif
    groups(session);
    MPI_Session_finalize(&session);
    fold(session == MPI_SESSION_NULL);
#endif
}
