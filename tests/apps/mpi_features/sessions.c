/* Sessions, of MPI 4: alone, beside MPI_Init, around it, one after the other, and two at once.
 *
 * The set mpi://WORLD has the processes of the program and no others. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
static int heard;

static void handler(MPI_Session *session, int *code, ...)
{
    int class = -1;
    MPI_Error_class(*code, &class);
    heard++;
    printf("  a session was told of class %d, null %d\n", class, *session == MPI_SESSION_NULL);
}

static void world_model(const char *when)
{
    int initialized = -1, finalized = -1;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    printf("%s: initialized %d, finalized %d\n", when, initialized, finalized);
}

static MPI_Comm comm_of(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int size = -1, rank = -1;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Group_size(group, &size);
    MPI_Group_rank(group, &rank);
    printf("group of %s: %d of %d\n", set, rank, size);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void use(const char *what, const char *tag)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Errhandler own;
    int sets = -1, flag = 0;
    char value[64] = "", name[MPI_MAX_PSET_NAME_LEN];
    printf("%s\n", what);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_create_errhandler(handler, &own);
    MPI_Session_set_errhandler(session, own);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    printf("%d sets\n", sets);
    for (int i = 0; i < sets; i++) {
        int length = sizeof name;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        MPI_Session_get_pset_info(session, name, &info);
        MPI_Info_get(info, "mpi_size", 63, value, &flag);
        printf("set %s: size %s\n", name, flag ? value : "unknown");
        MPI_Info_free(&info);
    }
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "thread_level", 63, value, &flag);
    printf("level %s\n", flag ? value : "unknown");
    MPI_Info_free(&info);

    MPI_Comm world = comm_of(session, "mpi://WORLD", tag),
             self = comm_of(session, "mpi://SELF", "self");
    int rank = -1, size = -1, sum = 0, in = -1;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size,
                 1, world, MPI_STATUS_IGNORE);
    printf("%d of %d, sum %d, from the left %d\n", rank, size, sum, in);
    int class = -1;
    MPI_Error_class(MPI_Send(&rank, 1, MPI_INT, size, 1, world), &class);
    printf("send to a rank equal to the size: class %d\n", class);
    MPI_Barrier(self);

    /* The even ranks alone. */
    MPI_Group all, even;
    int range[1][3] = {{0, size - 1, 2}};
    MPI_Comm some;
    MPI_Group_from_session_pset(session, "mpi://world", &all);
    MPI_Group_range_incl(all, 1, range, &even);
    if (rank % 2 == 0) {
        MPI_Comm_create_from_group(even, "even", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &some);
        MPI_Comm_size(some, &size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, some);
        printf("even: %d, sum %d\n", size, sum);
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&even);
    MPI_Group_free(&all);
    MPI_Comm_free(&self);
    MPI_Comm_free(&world);
    MPI_Errhandler_free(&own);
    MPI_Session_finalize(&session);
    printf("finalized %d, heard %d\n", session == MPI_SESSION_NULL, heard);
}

static pthread_barrier_t start;

static void *open_one(void *session)
{
    pthread_barrier_wait(&start);
    return MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session) == MPI_SUCCESS ? session
                                                                                      : NULL;
}

/* Two threads open sessions at the same time: MPI begins in one of them. */
static void at_once(void)
{
    MPI_Session sessions[2];
    pthread_t threads[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, open_one, &sessions[i]);
    for (int i = 0; i < 2; i++) {
        void *opened = NULL;
        pthread_join(threads[i], &opened);
        printf("session %d: opened %d\n", i, opened == &sessions[i]);
    }
    MPI_Comm world = comm_of(sessions[1], "mpi://WORLD", "at once");
    int rank = -1, sum = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
    printf("sum %d\n", sum);
    MPI_Comm_free(&world);
    for (int i = 0; i < 2; i++)
        MPI_Session_finalize(&sessions[i]);
}

static void in_the_world(void)
{
    int rank = -1, size = -1, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("the world: %d of %d, sum %d\n", rank, size, sum);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "alone";
    MPI_Session around;
    world_model("at first");
    if (strcmp(how, "alone") == 0) {
        use("alone", "one");
    } else if (strcmp(how, "at_once") == 0) {
        at_once();
    } else if (strcmp(how, "again") == 0) {
        use("first", "one");
        use("second", "two");
    } else if (strcmp(how, "beside") == 0) {
        MPI_Init(&argc, &argv);
        in_the_world();
        use("beside the world", "one");
        in_the_world();
        MPI_Finalize();
    } else if (strcmp(how, "around") == 0) {
        int provided = -1;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &around);
        world_model("in a session");
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
        printf("provided %d\n", provided);
        in_the_world();
        use("inside both", "one");
        MPI_Finalize();
        world_model("behind the world");
        use("still in a session", "two");
        MPI_Session_finalize(&around);
    }
    world_model("at last");
    return 0;
}
#else
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("no sessions\n");
    MPI_Finalize();
    return 0;
}
#endif
