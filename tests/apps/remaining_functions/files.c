/* Files: all ways to read and to write. */
#include "sections.h"

#include <stdio.h>
#include <stdlib.h>

enum { SOME = 4, BYTES = SOME * sizeof(int) };
static int out[SOME], in[SOME];
static MPI_File file;

static void arrived(void)
{
    fold_ints(in, SOME);
    for (int i = 0; i < SOME; i++) {
        in[i] = -1;
        out[i] += 1000;
    }
    /* What one rank writes another reads next. */
    MPI_File_sync(file);
    MPI_Barrier(everybody);
    MPI_File_sync(file);
}

static void later(int code, MPI_Request *request)
{
    MPI_Status status;
    int number = -1;
    fold_code(code);
    MPI_Wait(request, &status);
    MPI_Get_count(&status, MPI_INT, &number);
    fold(number);
    arrived();
}

static void by_offset(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset own = me * BYTES, next = right * BYTES;
    F(MPI_File_write_at)(file, own, out, SOME, MPI_INT, &status);
    arrived();
    F(MPI_File_read_at)(file, next, in, SOME, MPI_INT, &status);
    arrived();
    F(MPI_File_write_at_all)(file, own, out, SOME, MPI_INT, &status);
    arrived();
    F(MPI_File_read_at_all)(file, next, in, SOME, MPI_INT, &status);
    arrived();
    F(MPI_File_write_at_all_begin)(file, own, out, SOME, MPI_INT);
    MPI_File_write_at_all_end(file, out, &status);
    arrived();
    F(MPI_File_read_at_all_begin)(file, next, in, SOME, MPI_INT);
    MPI_File_read_at_all_end(file, in, &status);
    arrived();
    later(F(MPI_File_iwrite_at)(file, own, out, SOME, MPI_INT, &request), &request);
    later(F(MPI_File_iread_at)(file, next, in, SOME, MPI_INT, &request), &request);
    later(F(MPI_File_iwrite_at_all)(file, own, out, SOME, MPI_INT, &request), &request);
    later(F(MPI_File_iread_at_all)(file, next, in, SOME, MPI_INT, &request), &request);
}

static void at(int rank)
{
    MPI_File_seek(file, rank * BYTES, MPI_SEEK_SET);
}

static void by_own_pointer(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset offset = -1, place = -1;
    at(me);
    F(MPI_File_write)(file, out, SOME, MPI_INT, &status);
    MPI_File_get_position(file, &offset);
    MPI_File_get_byte_offset(file, offset, &place);
    fold(offset);
    fold(place);
    arrived();
    at(right);
    F(MPI_File_read)(file, in, SOME, MPI_INT, &status);
    arrived();
    at(me);
    F(MPI_File_write_all)(file, out, SOME, MPI_INT, &status);
    arrived();
    at(right);
    F(MPI_File_read_all)(file, in, SOME, MPI_INT, &status);
    arrived();
    at(me);
    F(MPI_File_write_all_begin)(file, out, SOME, MPI_INT);
    MPI_File_write_all_end(file, out, &status);
    arrived();
    at(right);
    F(MPI_File_read_all_begin)(file, in, SOME, MPI_INT);
    MPI_File_read_all_end(file, in, &status);
    arrived();
    at(me);
    later(F(MPI_File_iwrite)(file, out, SOME, MPI_INT, &request), &request);
    at(right);
    later(F(MPI_File_iread)(file, in, SOME, MPI_INT, &request), &request);
    at(me);
    later(F(MPI_File_iwrite_all)(file, out, SOME, MPI_INT, &request), &request);
    at(right);
    later(F(MPI_File_iread_all)(file, in, SOME, MPI_INT, &request), &request);
}

static void rewound(void)
{
    MPI_Offset offset = -1;
    MPI_Barrier(everybody);
    MPI_File_get_position_shared(file, &offset);
    fold(offset);
    MPI_Barrier(everybody);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_Barrier(everybody);
}

/* Who comes first with a pointer that all share is a matter of luck: everybody writes the same and
 * reads the same. */
static void by_shared_pointer(void)
{
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < SOME; i++)
        out[i] = 7;
    rewound();
    F(MPI_File_write_shared)(file, out, SOME, MPI_INT, &status);
    arrived();
    for (int i = 0; i < SOME; i++)
        out[i] = 7;
    rewound();
    F(MPI_File_read_shared)(file, in, SOME, MPI_INT, &status);
    arrived();
    for (int i = 0; i < SOME; i++)
        out[i] = 8;
    rewound();
    later(F(MPI_File_iwrite_shared)(file, out, SOME, MPI_INT, &request), &request);
    rewound();
    later(F(MPI_File_iread_shared)(file, in, SOME, MPI_INT, &request), &request);
    for (int i = 0; i < SOME; i++)
        out[i] = 10 * me + i;
    rewound();
    F(MPI_File_write_ordered)(file, out, SOME, MPI_INT, &status);
    arrived();
    rewound();
    F(MPI_File_read_ordered)(file, in, SOME, MPI_INT, &status);
    arrived();
    rewound();
    F(MPI_File_write_ordered_begin)(file, out, SOME, MPI_INT);
    MPI_File_write_ordered_end(file, out, &status);
    arrived();
    rewound();
    F(MPI_File_read_ordered_begin)(file, in, SOME, MPI_INT);
    MPI_File_read_ordered_end(file, in, &status);
    arrived();
}

static void told(MPI_File *which, int *code, ...)
{
    (void)which;
    fold_code(*code);
}

static void around(void)
{
    MPI_Info info;
    MPI_Errhandler own, now;
    MPI_Datatype etype, filetype;
    MPI_Offset displacement = -1, size = -1;
    MPI_Group group;
    int number = -1;
    char representation[MPI_MAX_DATAREP_STRING] = "";
    OFFSET extent = -1;
    MPI_File_preallocate(file, all * BYTES);
    MPI_File_get_size(file, &size);
    fold(size);
    MPI_File_get_info(file, &info);
    MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
    fold(displacement);
    fold_text(representation);
    fold(etype == MPI_BYTE && filetype == MPI_BYTE);
    F(MPI_File_get_type_extent)(file, MPI_INT, &extent);
    fold(extent);
    MPI_File_get_amode(file, &number);
    fold(number == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    MPI_File_get_group(file, &group);
    MPI_Group_size(group, &number);
    fold(number);
    MPI_Group_free(&group);
    MPI_File_set_atomicity(file, 1);
    MPI_File_get_atomicity(file, &number);
    fold(number);
    MPI_File_set_atomicity(file, 0);
    MPI_File_create_errhandler(told, &own);
    MPI_File_set_errhandler(file, own);
    MPI_File_get_errhandler(file, &now);
    fold(now == own);
    MPI_File_call_errhandler(file, MPI_ERR_OTHER);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&own);
}

#ifdef LARGE
#define CONVERSION MPI_CONVERSION_FN_NULL_C
#define REPRESENTATION "every large"
#else
#define CONVERSION MPI_CONVERSION_FN_NULL
#define REPRESENTATION "every"
#endif

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    MPI_Aint lower;
    (void)extra;
    return MPI_Type_get_extent(type, &lower, extent);
}

SECTION(files)
{
    char name[4096];
    const char *directory = getenv("LOG_DIR");
    snprintf(name, sizeof name, "%s/every.data", directory ? directory : ".");
    for (int i = 0; i < SOME; i++)
        out[i] = 100 * me + i;
    MPI_File_open(everybody, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 0);
    around();
    by_offset();
    by_own_pointer();
    by_shared_pointer();
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_close(&file);
    MPI_Barrier(everybody);
    if (me == 0)
        fold_code(MPI_File_delete(name, MPI_INFO_NULL));
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    fold_code(F(MPI_Register_datarep)(REPRESENTATION, CONVERSION, CONVERSION, extent_of, NULL));
    MPI_Barrier(everybody);
}
