! Macros for three Fortran bindings of MPI, of which one is defined: BINDING_MPIF_H (include
! 'mpif.h'), BINDING_MPI (use mpi) or BINDING_F08
! (use mpi_f08). Handles are integers in the first two, types in the third.
#ifdef BINDING_F08
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define MESSAGE type(MPI_Message)
#define STATUS_(name_) type(MPI_Status) :: name_
#define STATUSES_(name_, many_) type(MPI_Status) :: name_(many_)
#define SOURCE_OF(status_) status_%MPI_SOURCE
#define TAG_OF(status_) status_%MPI_TAG
#else
#define COMM integer
#define GROUP integer
#define REQUEST integer
#define DATATYPE integer
#define MESSAGE integer
#define STATUS_(name_) integer :: name_(MPI_STATUS_SIZE)
#define STATUSES_(name_, many_) integer :: name_(MPI_STATUS_SIZE, many_)
#define SOURCE_OF(status_) status_(MPI_SOURCE)
#define TAG_OF(status_) status_(MPI_TAG)
#endif
! Calls an MPI function and counts the call: DO(MPI_Send)(buffer, ...). These are two statements,
! which a bare `if` must not precede.
#define DO(function_) call counted("function_"); call function_
