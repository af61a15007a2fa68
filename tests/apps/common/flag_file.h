/* Files in LOG_DIR by which a test steers a program while it runs. */
#ifndef FLAG_FILE_H
#define FLAG_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether the file LOG_DIR/`what` exists. */
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
