! Macros for three Fortran bindings of MPI, of which one is defined: BINDING_MPIF_H (include
! 'mpif.h'), BINDING_MPI (use mpi) or BINDING_F08 (use mpi_f08). Handles are integers in the first
! two, types in the third, whose callbacks have them in their interfaces.
#ifdef BINDING_F08
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define OPERATION type(MPI_Op)
#define ERRHANDLER type(MPI_Errhandler)
#define INFO_ type(MPI_Info)
#define WINDOW type(MPI_Win)
#define FILE_ type(MPI_File)
#define STATUS_(name_) type(MPI_Status) :: name_
#define STATUSES_(name_, many_) type(MPI_Status) :: name_(many_)
#define SOURCE_OF(status_) status_%MPI_SOURCE
#define TAG_OF(status_) status_%MPI_TAG
#define SOURCE_AT(statuses_, i_) statuses_(i_)%MPI_SOURCE
#define TAG_AT(statuses_, i_) statuses_(i_)%MPI_TAG
#define VALUE_OF(handle_) handle_%MPI_VAL
#else
#define COMM integer
#define GROUP integer
#define REQUEST integer
#define DATATYPE integer
#define OPERATION integer
#define ERRHANDLER integer
#define INFO_ integer
#define WINDOW integer
#define FILE_ integer
#define STATUS_(name_) integer :: name_(MPI_STATUS_SIZE)
#define STATUSES_(name_, many_) integer :: name_(MPI_STATUS_SIZE, many_)
#define SOURCE_OF(status_) status_(MPI_SOURCE)
#define TAG_OF(status_) status_(MPI_TAG)
#define SOURCE_AT(statuses_, i_) statuses_(MPI_SOURCE, i_)
#define TAG_AT(statuses_, i_) statuses_(MPI_TAG, i_)
#define VALUE_OF(handle_) handle_
#endif
