/* Runs the sections that are named, or all. */
#include "sections.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int me, all, left, right;
MPI_Comm everybody;
static unsigned long folded;

void fold(long value)
{
    folded = folded * 1099511628211ul + (unsigned long)value;
}

void fold_text(const char *text)
{
    for (; *text; text++)
        fold(*text);
}

void fold_ints(const int *values, int number)
{
    for (int i = 0; i < number; i++)
        fold(values[i]);
}

void fold_code(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    fold(class);
}

int comm_deletes(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    fold(*(int *)value);
    return MPI_SUCCESS;
}

void comm_told(MPI_Comm *comm, int *code, ...)
{
    fold(*comm == MPI_COMM_WORLD);
    fold_code(*code);
}

void breathe(void)
{
    usleep(200);
}

#define SECTION_OF(name) void name(void);
TWICE(SECTION_OF)
ONCE(SECTION_OF)
#undef SECTION_OF
#ifdef DECLARED_MPI_Send_c
#define SECTION_OF(name) void name##_large(void);
TWICE(SECTION_OF)
#undef SECTION_OF
#endif

static const struct {
    const char *name;
    void (*run)(void);
} sections[] = {
#define SECTION_OF(name) {#name, name},
    TWICE(SECTION_OF)
    ONCE(SECTION_OF)
#undef SECTION_OF
#ifdef DECLARED_MPI_Send_c
#define SECTION_OF(name) {#name "_large", name##_large},
    TWICE(SECTION_OF)
#undef SECTION_OF
#endif
};

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc <= 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &everybody);
    MPI_Comm_rank(everybody, &me);
    MPI_Comm_size(everybody, &all);
    left = (me + all - 1) % all;
    right = (me + 1) % all;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (wanted(sections[i].name, argc, argv)) {
            folded = 14695981039346656037ul;
            sections[i].run();
            printf("%s: %016lx\n", sections[i].name, folded);
            fflush(stdout);
            MPI_Barrier(everybody);
        }
    /* A section of its own, which does not come back. */
    if (argc > 1 && strcmp(argv[1], "aborted") == 0) {
        if (me == 1)
            MPI_Abort(everybody, 7);
        MPI_Barrier(everybody);
    }
    MPI_Comm_free(&everybody);
    MPI_Finalize();
    return 0;
}
