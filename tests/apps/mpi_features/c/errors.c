/* What calls give back that must fail, who hears of it, and with which communicator. */
#include "sections.h"

#include <stdio.h>

static int heard;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class = -1, size = -1;
    MPI_Error_class(*code, &class);
    MPI_Comm_size(*comm, &size);
    heard++;
    say("  heard class %d on %s, of %d", class, which(*comm), size);
}

static void of_window(MPI_Win *win, int *code, ...)
{
    int class = -1;
    MPI_Error_class(*code, &class);
    say("  a window was told of class %d, %d", class, *win == MPI_WIN_NULL);
}

static void of_file(MPI_File *file, int *code, ...)
{
    int class = -1;
    MPI_Error_class(*code, &class);
    say("  a file was told of class %d, nobody's %d", class, *file == MPI_FILE_NULL);
}

/* The world has exactly its ranks: the next number is nobody, however many processes the job has.
 */
static void beyond_the_world(MPI_Comm comm)
{
    int value = 7;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    say_code("send to a rank equal to the size", MPI_Send(&value, 1, MPI_INT, all, 1, comm));
    say_code("send to the one after", MPI_Send(&value, 1, MPI_INT, all + 1, 1, comm));
    say_code("receive from there", MPI_Recv(&value, 1, MPI_INT, all, 1, comm, MPI_STATUS_IGNORE));
    say_code("post a send", MPI_Isend(&value, 1, MPI_INT, all, 1, comm, &request));
    say_code("probe", MPI_Probe(all, 1, comm, MPI_STATUS_IGNORE));
    say_code("matched probe", MPI_Mprobe(all, 1, comm, &message, MPI_STATUS_IGNORE));
    say_code("bcast from there", MPI_Bcast(&value, 1, MPI_INT, all, comm));
    say_code("a negative rank", MPI_Send(&value, 1, MPI_INT, -17, 1, comm));
    say_code("a negative tag", MPI_Send(&value, 1, MPI_INT, 0, -5, comm));
    say_code("a negative count", MPI_Send(&value, -1, MPI_INT, 0, 1, comm));
    say_code("no datatype", MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, comm));
    say_code("no communicator", MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL));
}

/* Who frees what is not there hears of it once. */
static void free_nothing(void)
{
    MPI_Comm nothing = MPI_COMM_NULL;
    say_code("free nothing", MPI_Comm_free(&nothing));
    say_code("disconnect nothing", MPI_Comm_disconnect(&nothing));
}

/* What is wrong with addresses that lead nowhere MPI says, and nobody looks there before. */
__attribute__((unused)) static void no_requests(void)
{
    MPI_Request *none = NULL;
    MPI_Status status;
    int flag = -1, index = -1, done = -1, indices[2];
    say_code("wait for no request", MPI_Wait(none, &status));
    say_code("test no request", MPI_Test(none, &flag, &status));
    say_code("wait for all of no array", MPI_Waitall(2, none, MPI_STATUSES_IGNORE));
    say_code("test all of it", MPI_Testall(2, none, &flag, MPI_STATUSES_IGNORE));
    say_code("wait for any of it", MPI_Waitany(2, none, &index, &status));
    say_code("wait for some of it", MPI_Waitsome(2, none, &done, indices, MPI_STATUSES_IGNORE));
    say_code("start no request", MPI_Start(none));
    say_code("start no array", MPI_Startall(2, none));
    say_code("free no request", MPI_Request_free(none));
}

/* Without the text: MPICH 5's says whether the message was there before its receive. */
static void say_class(const char *what, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    say("%s: %s class %d", what, code == class ? "just" : "more than", class);
}

/* A receive with too little room for what came, completed in every way. */
static void truncated(MPI_Comm comm)
{
    int left = (me + all - 1) % all, right = (me + 1) % all, out[4] = {1, 2, 3, 4}, in[2][4],
        index = -1, flag = -1;
    int code;
    MPI_Request requests[2];
    MPI_Status statuses[2], status;
    MPI_Sendrecv(out, 1, MPI_INT, right, 2, in[0], 1, MPI_INT, left, 2, comm, MPI_STATUS_IGNORE);

    MPI_Isend(out, 4, MPI_INT, right, 3, comm, &requests[0]);
    say_class("truncated", MPI_Recv(in[0], 1, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE));
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    MPI_Irecv(in[0], 1, MPI_INT, left, 4, comm, &requests[0]);
    MPI_Send(out, 4, MPI_INT, right, 4, comm);
    code = MPI_Wait(&requests[0], &status);
    say_class("wait", code);
    say("its request is gone: %d", requests[0] == MPI_REQUEST_NULL);

    for (int ignored = 0; ignored < 2; ignored++) {
        MPI_Irecv(in[0], 1, MPI_INT, left, 5, comm, &requests[0]);
        MPI_Irecv(in[1], 4, MPI_INT, left, 6, comm, &requests[1]);
        MPI_Send(out, 4, MPI_INT, right, 5, comm);
        MPI_Send(out, 4, MPI_INT, right, 6, comm);
        MPI_Barrier(comm);
        statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = -1;
        code = MPI_Waitall(2, requests, ignored ? MPI_STATUSES_IGNORE : statuses);
        say_class(ignored ? "waitall without statuses" : "waitall", code);
        if (!ignored)
            for (int i = 0; i < 2; i++) {
                int class = -1;
                MPI_Error_class(statuses[i].MPI_ERROR, &class);
                say("  status %d has class %d", i,
                    statuses[i].MPI_ERROR == MPI_ERR_PENDING ? -2 : class);
            }
        for (int i = 0; i < 2; i++) {
            /* Without statuses MPICH 5 gives up those behind the failed one, too, which the manual
             * says of an observer. */
            if (!ignored)
                say("  request %d is gone: %d", i, requests[i] == MPI_REQUEST_NULL);
            if (requests[i] != MPI_REQUEST_NULL)
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
    MPI_Irecv(in[0], 1, MPI_INT, left, 7, comm, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Send(out, 4, MPI_INT, right, 7, comm);
    say_class("waitany", MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    say("it was %d", index);

    for (int ignored = 0; ignored < 2; ignored++) {
        int done = -1, indices[2] = {-1, -1};
        MPI_Irecv(in[0], 1, MPI_INT, left, 8, comm, &requests[0]);
        requests[1] = MPI_REQUEST_NULL;
        MPI_Send(out, 4, MPI_INT, right, 8, comm);
        code = MPI_Waitsome(2, requests, &done, indices, ignored ? MPI_STATUSES_IGNORE : statuses);
        say_class(ignored ? "waitsome without statuses" : "waitsome", code);
        say("%d done, first %d", done, indices[0]);
        MPI_Irecv(in[0], 1, MPI_INT, left, 9, comm, &requests[0]);
        requests[1] = MPI_REQUEST_NULL;
        MPI_Send(out, 4, MPI_INT, right, 9, comm);
        MPI_Barrier(comm);
        do
            code = MPI_Testall(2, requests, &flag, ignored ? MPI_STATUSES_IGNORE : statuses);
        while (code == MPI_SUCCESS && !flag);
        say_class(ignored ? "testall without statuses" : "testall", code);
        if (requests[0] != MPI_REQUEST_NULL)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void other_objects(void)
{
    MPI_Win win;
    MPI_Errhandler on_windows, on_files;
    MPI_File file = MPI_FILE_NULL;
    int memory[2] = {0}, value = 1;
    MPI_Win_create_errhandler(of_window, &on_windows);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, on_windows);
    MPI_Win_fence(0, win);
    say_code("put to a rank equal to the size",
             MPI_Put(&value, 1, MPI_INT, all, 0, 1, MPI_INT, win));
    MPI_Win_fence(0, win);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    MPI_Win_free(&win);
    MPI_Errhandler_free(&on_windows);

    say_code("a file that is not there", MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all",
                                                       MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    MPI_File_create_errhandler(of_file, &on_files);
    MPI_File_set_errhandler(MPI_FILE_NULL, on_files);
    int code =
        MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    int class = -1;
    MPI_Error_class(code, &class);
    say("with a handler: class %d", class);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&on_files);
}

static void classes_of_our_own(void)
{
    int class, code, *last = NULL, flag = 0, found = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "an error of our own");
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    say("as long as it says: %d", length);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    say("own class %d, number %d, \"%s\", last used %d", found == class, class, text,
        flag ? *last : -1);
    say("called: %d", MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == code);
}

void errors(void)
{
    MPI_Errhandler own, before;
    MPI_Comm dup;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    say("at first they are fatal: %d", before == MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    beyond_the_world(MPI_COMM_WORLD);
    truncated(MPI_COMM_WORLD);

    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Errhandler now;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
    say("the handler is there: %d", now == own);
    MPI_Errhandler_free(&now);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    free_nothing();
#ifndef MPI_ABI_VERSION /* MPICH 5.0's library for the standard ABI looks at such addresses        \
                           itself, and crashes. */
    no_requests();
#endif
    beyond_the_world(MPI_COMM_WORLD);
    truncated(MPI_COMM_WORLD);
    beyond_the_world(dup);
    MPI_Comm_free(&dup);
    other_objects();
    classes_of_our_own();
    say("heard %d times", heard);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_free(&before);
    say("freed: %d", own == MPI_ERRHANDLER_NULL);
}
