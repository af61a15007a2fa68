/* Looks like a program with MPI linked into it statically.
 *
 * It is linked without shared libraries, and has the name that every MPI library contains: not
 * every MPI comes as an archive. */
const char *volatile name = "MPI_COMM_WORLD";

int main(void)
{
    return name[0] != 'M';
}
