/* Files: by offset, by the rank's and by the shared pointer, with views, all together, without
 * waiting. */
#include "sections.h"

#include <stdio.h>
#include <stdlib.h>

void files(void)
{
    char name[4096];
    const char *directory = getenv("LOG_DIR");
    snprintf(name, sizeof name, "%s/whole.data", directory ? directory : ".");
    MPI_File file;
    MPI_Offset size = -1, offset = -1;
    MPI_Group group;
    MPI_Status status;
    MPI_Request request;
    int values[4] = {me, me + 10, me + 20, me + 30}, read[4] = {-1, -1, -1, -1}, members = -1,
        count = -1, mode = -1;

    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_get_group(file, &group);
    MPI_Group_size(group, &members);
    MPI_Group_free(&group);
    MPI_File_get_amode(file, &mode);
    MPI_File_set_size(file, 0);
    say("opened by %d, mode %d", members, mode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    MPI_File_write_at(file, me * 16, values, 4, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &size);
    MPI_File_read_at_all(file, ((me + 1) % all) * 16, read, 4, MPI_INT, &status);
    say("written %d, size %ld, read %d %d", count, (long)size, read[0], read[3]);

    MPI_File_seek(file, me * 16 + 4, MPI_SEEK_SET);
    MPI_File_read(file, read, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_position(file, &offset);
    say("own pointer: %d %d, at %ld", read[0], read[1], (long)offset);

    /* Every rank sees each all-th number. */
    MPI_Datatype view;
    MPI_Type_vector(4, 1, all, MPI_INT, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file, me * (MPI_Offset)sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, values, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_iread_at(file, 0, read, 4, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("through a view: %d %d (%d)", read[0], read[3], count);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_Type_free(&view);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_read_at(file, 0, read, 3, MPI_INT, MPI_STATUS_IGNORE);
    say("the first three: %d %d %d", read[0], read[1], read[2]);

    MPI_File_write_ordered(file, values, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_position_shared(file, &offset);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(file, read, 1, MPI_INT, MPI_STATUS_IGNORE);
    say("in order: at %ld, %d", (long)offset, read[0]);
    MPI_File_write_all_begin(file, values, 4, MPI_INT);
    MPI_File_write_all_end(file, values, MPI_STATUS_IGNORE);
    MPI_File_set_atomicity(file, 1);
    MPI_File_get_atomicity(file, &mode);
    say("atomic %d", mode);
    MPI_File_close(&file);
    say("closed %d", file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        say("deleted %d", MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    /* Or others make and delete it meanwhile. */
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_close(&file);
}
