/* What a program is told while it runs: by files in LOG_DIR. */
#ifndef FLAG_FILE_H
#define FLAG_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether LOG_DIR/`what` is there. */
static int flag_is_set(const char *what)
{
    char path[4096];
    const char *directory = getenv("LOG_DIR");
    if (!directory)
        return 0;
    snprintf(path, sizeof path, "%s/%s", directory, what);
    return access(path, F_OK) == 0;
}

#endif
