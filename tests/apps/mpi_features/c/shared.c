/* Windows in shared memory, on the ranks that share it: theirs alone, not everybody's who is on the
 * node. */
#include "sections.h"

void shared(void)
{
    MPI_Comm node;
    MPI_Win win;
    int rank, size, unit, *mine, *theirs, members = -1;
    MPI_Aint bytes;
    MPI_Group group;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &members);
    MPI_Group_free(&group);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    mine[0] = 1000 + me;
    mine[1] = 2000 + me;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int i = 0; i < size; i++) {
        MPI_Win_shared_query(win, i, &bytes, &unit, &theirs);
        say("%d of %d (%d): %ld bytes of %d, %d %d", i, size, members, (long)bytes, unit, theirs[0],
            theirs[1]);
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &theirs);
    say("the first is %d", theirs[0]);
    MPI_Barrier(node);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}
