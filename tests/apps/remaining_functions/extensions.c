/* What MPIs have beside the standard or before it: fault tolerance, and the interface's word about
 * itself. Nobody dies. */
#include "sections.h"

/* MPICH declares these and has them not: its processes abort. */
static void fault_tolerance(void)
{
#if defined DECLARED_MPIX_Comm_agree && defined OPEN_MPI
    MPI_Comm comm, fewer = MPI_COMM_NULL;
    MPI_Group failed;
    int flag = me == 0 ? 3 : 1, size = -1;
    MPI_Comm_dup(everybody, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    fold_code(MPIX_Comm_agree(comm, &flag));
    fold(flag);
    fold_code(MPIX_Comm_failure_ack(comm));
    int acknowledged = MPIX_Comm_failure_get_acked(comm, &failed);
    fold_code(acknowledged);
    if (acknowledged == MPI_SUCCESS) {
        MPI_Group_size(failed, &size);
        fold(size);
        if (failed != MPI_GROUP_EMPTY)
            MPI_Group_free(&failed);
    }
    int shrunk = MPIX_Comm_shrink(comm, &fewer);
    fold_code(shrunk);
    if (shrunk == MPI_SUCCESS) {
        MPI_Comm_size(fewer, &size);
        fold(size);
        MPI_Comm_free(&fewer);
    }
    MPI_Barrier(everybody);
    fold_code(MPIX_Comm_revoke(comm));
    MPI_Barrier(everybody);
    MPI_Comm_free(&comm);
#endif
}

static void interface(void)
{
#ifdef DECLARED_MPI_Abi_get_version
    int major = -1, minor = -1, yes = 1, no = 0, known_yes = -1, known_no = -1, is_set = -1,
        keys = -1;
    MPI_Info info;
    MPI_Abi_get_version(&major, &minor);
    fold(major);
    fold(minor);
    MPI_Abi_get_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    fold(keys);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Abi_get_fortran_info(&info);
    fold_code(code);
    if (code == MPI_SUCCESS && info != MPI_INFO_NULL) {
        fold_code(MPI_Abi_set_fortran_info(info));
        MPI_Info_free(&info);
    }
    fold_code(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    fold_code(MPI_Abi_get_fortran_booleans(sizeof yes, &known_yes, &known_no, &is_set));
    fold(is_set);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
#ifdef DECLARED_MPI_Type_get_value_index
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair);
    fold(pair != MPI_DATATYPE_NULL);
#endif
}

void extensions(void)
{
    fault_tolerance();
    interface();
}
