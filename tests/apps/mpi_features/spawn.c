/* Starts two processes while it runs, and one more of another program.
 *
 * They send to their parents what they see. Children print nothing, because launchers treat their
 * output in different ways. `spawn wait` leaves LOG_DIR/RANK.spawned behind that, and waits for
 * LOG_DIR/go. */
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEES = 5 };

extern char **environ;

/* Whether somebody left the children something. */
static int somebody(void)
{
    for (char **variable = environ; *variable; variable++)
        if (strstr(*variable, "libinvivo") || strncmp(*variable, "INVIVO_FDS", 10) == 0)
            return 1;
    return 0;
}

static int child(void)
{
    MPI_Comm parent, everybody;
    int sees[SEES], sum = 0, value = -1;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &sees[0]);
    MPI_Comm_size(MPI_COMM_WORLD, &sees[1]);
    MPI_Comm_remote_size(parent, &sees[2]);
    sees[3] = somebody();
    MPI_Allreduce(&sees[0], &sees[4], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Send(sees, SEES, MPI_INT, 0, 1, parent);
    MPI_Bcast(&value, 1, MPI_INT, 0, parent);
    MPI_Intercomm_merge(parent, 1, &everybody);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, everybody);
    MPI_Comm_free(&everybody);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

static void with(MPI_Comm children, int me)
{
    MPI_Comm everybody;
    int remote = -1, inter = -1, size = -1, rank = -1, sum = 0, value = 1, sees[SEES];
    MPI_Comm_remote_size(children, &remote);
    MPI_Comm_test_inter(children, &inter);
    printf("%d children, inter %d\n", remote, inter);
    if (me == 0)
        for (int i = 0; i < remote; i++) {
            MPI_Recv(sees, SEES, MPI_INT, i, 1, children, MPI_STATUS_IGNORE);
            printf("child %d: rank %d of %d, %d parents, somebody %d, sum %d\n", i, sees[0],
                   sees[1], sees[2], sees[3], sees[4]);
        }
    MPI_Bcast(&value, 1, MPI_INT, me == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
    MPI_Intercomm_merge(children, 0, &everybody);
    MPI_Comm_size(everybody, &size);
    MPI_Comm_rank(everybody, &rank);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, everybody);
    printf("%d of %d, sum %d\n", rank, size, sum);
    MPI_Comm_free(&everybody);
    MPI_Comm_disconnect(&children);
}

static void wait_for_go(int me)
{
    char note[4096];
    const char *logs = getenv("LOG_DIR");
    snprintf(note, sizeof note, "%s/%d.spawned", logs ? logs : ".", me);
    FILE *file = fopen(note, "w");
    if (!file)
        exit(70);
    fclose(file);
    while (!flag_is_set("go"))
        usleep(5000);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return child();
    MPI_Comm children, parent;
    int me, all, codes[2] = {-1, -1};
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_get_parent(&parent);
    printf("%d of %d, no parent %d\n", me, all, parent == MPI_COMM_NULL);

    char *arguments[] = {"child", NULL};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                              codes),
        class = -1;
    if (code != MPI_SUCCESS) {
        /* Debian's MPICH cannot. */
        MPI_Error_class(code, &class);
        printf("no children: class %d\n", class);
        MPI_Finalize();
        return 0;
    }
    printf("codes %d %d\n", codes[0], codes[1]);
    with(children, me);

    char *commands[] = {argv[0], argv[0]}, **lists[] = {arguments, arguments};
    int each[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, commands, lists, each, infos, 0, MPI_COMM_WORLD, &children,
                            MPI_ERRCODES_IGNORE);
    with(children, me);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "wait") == 0)
        wait_for_go(me);
    MPI_Finalize();
    return 0;
}
