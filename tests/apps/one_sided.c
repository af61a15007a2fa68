/* One-sided calls, calls of files and probes, of which each rank knows the bytes and the targets.
 *
 * Each rank's target is the rank behind it; the bytes of a kind of call differ from all others'. The
 * rank leaves LOG_DIR/RANK.done and waits for LOG_DIR/end. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROOM = 4096 };

static int me, all, target;
static MPI_Comm ring;
static char out[ROOM], in[ROOM];

static void windows(void)
{
    MPI_Win win;
    MPI_Request request;
    static char memory[ROOM];
    long one = 1, before = 0, none = 0;
    CALL(MPI_Win_create)(memory, ROOM, 1, MPI_INFO_NULL, ring, &win);
    CALL(MPI_Win_lock_all)(0, win);
    CALL(MPI_Put)(out, 100, MPI_CHAR, target, 0, 100, MPI_CHAR, win);
    CALL(MPI_Put)(out, 25, MPI_INT, MPI_PROC_NULL, 0, 25, MPI_INT, win);
    CALL(MPI_Get)(in, 30, MPI_INT, target, 0, 30, MPI_INT, win);
    CALL(MPI_Accumulate)(out, 7, MPI_LONG, target, 1024, 7, MPI_LONG, MPI_SUM, win);
    CALL(MPI_Get_accumulate)(out, 3, MPI_LONG, in, 3, MPI_LONG, target, 2048, 3, MPI_LONG, MPI_SUM,
                             win);
    CALL(MPI_Fetch_and_op)(&one, &before, MPI_LONG, target, 3072, MPI_SUM, win);
    CALL(MPI_Compare_and_swap)(&one, &none, &before, MPI_LONG, target, 3080, win);
    CALL(MPI_Win_flush)(target, win);
    CALL(MPI_Rput)(out, 60, MPI_CHAR, target, 200, 60, MPI_CHAR, win, &request);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    CALL(MPI_Win_unlock_all)(win);
    CALL(MPI_Win_free)(&win);
}

static void files(const char *path)
{
    MPI_File file;
    MPI_Status status;
    CALL(MPI_File_open)(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CALL(MPI_File_write_at)(file, me * 300, out, 300, MPI_CHAR, MPI_STATUS_IGNORE);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    /* Behind the end of what was written: fewer bytes come than are asked for. */
    CALL(MPI_File_read_at)(file, all * 300 - 40, in, 200, MPI_CHAR, &status);
    CALL(MPI_File_read_at_all)(file, me * 300, in, 150, MPI_CHAR, &status);
    CALL(MPI_File_close)(&file);
}

static void probes(void)
{
    MPI_Status status;
    MPI_Message message;
    int from = (me + all - 1) % all;
    CALL(MPI_Send)(out, 11, MPI_CHAR, target, 6, ring);
    CALL(MPI_Probe)(MPI_ANY_SOURCE, MPI_ANY_TAG, ring, &status);
    CALL(MPI_Recv)(in, 11, MPI_CHAR, from, 6, ring, MPI_STATUS_IGNORE);
    CALL(MPI_Send)(out, 12, MPI_CHAR, target, 7, ring);
    CALL(MPI_Mprobe)(MPI_ANY_SOURCE, 7, ring, &message, MPI_STATUS_IGNORE);
    CALL(MPI_Mrecv)(in, 12, MPI_CHAR, &message, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    CALL(MPI_Init)(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    target = (me + 1) % all;
    /* The other way round than the world, so that a target is another rank there. */
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, 0, all - me, &ring);
    MPI_Comm_rank(ring, &me);
    target = (me + 1) % all;
    windows();
    probes();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const char *logs = getenv("LOG_DIR") ? getenv("LOG_DIR") : ".";
    char name[4096];
    snprintf(name, sizeof name, "%s/one_sided.data", logs);
    files(name);
    snprintf(name, sizeof name, "%s/%d.done", logs, me);
    FILE *note = fopen(name, "w");
    if (!note)
        return 70;
    fclose(note);
    while (getenv("LOG_DIR") && !flag_is_set("end"))
        usleep(5000);
    CALL(MPI_Comm_free)(&ring);
    printf("rank %d of %d\n", me, all);
    CALL(MPI_Finalize)();
    counting_write(me);
    return 0;
}
