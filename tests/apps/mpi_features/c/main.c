/* Runs the sections that are named, or all. */
#include "sections.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int me, all;
static const char *current = "main";

static const struct {
    const char *name;
    void (*run)(void);
} sections[] = {
#define SECTION(name) {#name, name},
    SECTIONS(SECTION)
#undef SECTION
};
enum { SECTIONS_ALL = sizeof sections / sizeof sections[0] };

void say(const char *format, ...)
{
    va_list arguments;
    printf("%s: ", current);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* MPICH's texts have the addresses and handles of arguments: other numbers in another run. */
static void without_numbers(char *text)
{
    char *to = text;
    for (char *from = text; *from;)
        if (from[0] == '0' && from[1] == 'x') {
            from += 2;
            while (isxdigit((unsigned char)*from))
                from++;
            *to++ = '@';
        } else if (strncmp(from, "(nil)", 5) == 0) {
            from += 5;
            *to++ = '@';
        } else {
            *to++ = *from == '\n' ? '|' : *from;
            from++;
        }
    *to = 0;
}

void say_code(const char *what, int code)
{
    int class = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "", of_class[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    MPI_Error_string(class, of_class, &length);
    without_numbers(text);
    /* A code of MPICH's is a number that belongs to the very error; what is in its low bits is its
     * class. */
    say("%s: %s class %d, \"%s\", \"%s\"", what, code == class ? "just" : "more than", class,
        of_class, text);
}

const char *comparison(int result)
{
    return result == MPI_IDENT ? "identical"
        : result == MPI_CONGRUENT ? "congruent"
        : result == MPI_SIMILAR ? "similar"
        : result == MPI_UNEQUAL ? "unequal"
                                : "?";
}

const char *which(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? "MPI_COMM_WORLD"
        : comm == MPI_COMM_SELF ? "MPI_COMM_SELF"
        : comm == MPI_COMM_NULL ? "MPI_COMM_NULL"
                                : "another";
}

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
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    for (int i = 0; i < SECTIONS_ALL; i++)
        if (wanted(sections[i].name, argc, argv)) {
            current = sections[i].name;
            sections[i].run();
            fflush(stdout);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    current = "finalize";
    MPI_Finalize();
    int finalized = 0;
    MPI_Finalized(&finalized);
    say("finalized %d", finalized);
    return 0;
}
