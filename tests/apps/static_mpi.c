/* Linked without shared libraries, with the name that every MPI library has in it: what a program looks like that has its MPI
 * inside. No MPI comes as an archive everywhere. */
const char *volatile name = "MPI_COMM_WORLD";

int main(void)
{
    return name[0] != 'M';
}
