/* The tools interface, which needs no communicator, lives beside MPI, and may be bound to one. */
#include "sections.h"

#include <string.h>

static void control_variables(void)
{
    int number = -1, readable = 0;
    MPI_T_cvar_get_num(&number);
    for (int i = 0; i < number && i < 40; i++) {
        char name[256], description[1024];
        int name_length = sizeof name, length = sizeof description, verbosity, bind, scope, count,
            value = 0;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        MPI_T_cvar_handle handle;
        if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &enumeration, description,
                                &length, &bind, &scope) != MPI_SUCCESS ||
            type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT)
            continue;
        /* MPI does not look at the object. */
        if (MPI_T_cvar_handle_alloc(i, i % 2 ? NULL : (void *)8, &handle, &count) == MPI_SUCCESS) {
            readable += MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
            MPI_T_cvar_handle_free(&handle);
        }
    }
    say("%d control variables, %d of the first read", number, readable);
}

static void performance_variables(void)
{
    int number = -1, bound = 0, wrong = 0, handles = 0;
    MPI_T_pvar_session session;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_get_num(&number);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < number; i++) {
        char name[256], description[1024];
        int name_length = sizeof name, length = sizeof description, verbosity, class, bind,
            readonly, continuous, atomic;
        int count = -1;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &enumeration,
                                description, &length, &bind, &readonly, &continuous,
                                &atomic) != MPI_SUCCESS)
            continue;
        if (bind != MPI_T_BIND_MPI_COMM)
            continue;
        bound++;
        if (MPI_T_pvar_handle_alloc(session, i, &world, &handle, &count) == MPI_SUCCESS) {
            handles++;
            /* Per peer, these have as many values as the world has ranks. */
            wrong += count != 1 && count != all;
            MPI_T_pvar_handle_free(session, &handle);
        }
    }
    MPI_T_pvar_session_free(&session);
    say("%d performance variables, %d of communicators, %d handles, %d of another size", number,
        bound, handles, wrong);
}

void tools(void)
{
    int provided = -1, level = -1, categories = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Query_thread(&level);
    MPI_T_category_get_num(&categories);
    say("level %d, that of MPI %d, categories %d", provided, level, categories);
    control_variables();
    performance_variables();
    MPI_T_finalize();
}
