#include "counting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MAX = 256, RANKS_MAX = 64 };

struct traffic {
    long messages, bytes;
};

static struct {
    const char *name;
    long calls;
} functions[FUNCTIONS_MAX];
static int function_count;
static struct traffic sent[RANKS_MAX], received[RANKS_MAX];

static void fail(const char *what)
{
    fprintf(stderr, "counting: %s\n", what);
    abort();
}

long *counting_slot(const char *name)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i].calls;
    if (function_count == FUNCTIONS_MAX)
        fail("too many functions");
    functions[function_count].name = name;
    return &functions[function_count++].calls;
}

static void add(struct traffic *row, int rank, long bytes)
{
    if (rank < 0 || rank >= RANKS_MAX)
        fail("rank out of range");
    row[rank].messages++;
    row[rank].bytes += bytes;
}

void counting_sent(int destination, long bytes)
{
    add(sent, destination, bytes);
}

void counting_received(int source, long bytes)
{
    add(received, source, bytes);
}

void counting_write(int rank)
{
    const char *pattern = getenv("COUNTS_FILE");
    if (!pattern)
        return;
    char path[4096];
    const char *mark = strstr(pattern, "%r");
    if (mark)
        snprintf(path, sizeof path, "%.*s%d%s", (int)(mark - pattern), pattern, rank, mark + 2);
    else
        snprintf(path, sizeof path, "%s", pattern);
    FILE *file = fopen(path, "w");
    if (!file)
        fail("cannot write COUNTS_FILE");
    for (int i = 0; i < function_count; i++)
        fprintf(file, "call\t%d\t%s\t%ld\n", rank, functions[i].name, functions[i].calls);
    for (int peer = 0; peer < RANKS_MAX; peer++) {
        if (sent[peer].messages)
            fprintf(file, "sent\t%d\t%d\t%ld\t%ld\n", rank, peer, sent[peer].messages,
                    sent[peer].bytes);
        if (received[peer].messages)
            fprintf(file, "received\t%d\t%d\t%ld\t%ld\n", peer, rank, received[peer].messages,
                    received[peer].bytes);
    }
    if (fclose(file) != 0)
        fail("cannot write COUNTS_FILE");
}
