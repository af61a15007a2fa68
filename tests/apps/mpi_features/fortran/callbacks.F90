! Attributes, error handlers and operations whose callbacks are Fortran's.
#include "bindings.h"
module callbacks
  use stage
  implicit none
  integer :: heard = 0

contains

  subroutine copy_attribute(oldcomm, keyval, extra, value_in, value_out, flag, err)
    COMM :: oldcomm
    integer :: keyval, err
    integer(kind=MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    integer :: size
    call MPI_Comm_size(oldcomm, size, err)
    call say('  copied on which, size, extra', [which(oldcomm), size, int(extra)])
    value_out = value_in + 1
    flag = .true.
    err = MPI_SUCCESS
  end subroutine

  subroutine delete_attribute(handle, keyval, value, extra, err)
    COMM :: handle
    integer :: keyval, err
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    ! Not on which: Open MPI 4.1 tells Fortran another number than the communicator's here.
    call say('  deleted: value, extra', [int(value), int(extra)])
    err = MPI_SUCCESS
  end subroutine

#ifdef BINDING_F08
  subroutine handler(handle, code)
    COMM :: handle
    integer :: code
#else
  subroutine handler(handle, code)
    integer :: handle, code
#endif
    integer :: class, err
    call MPI_Error_class(code, class, err)
    heard = heard + 1
    call say('  heard on which, class', [which(handle), class])
  end subroutine

#ifdef BINDING_F08
  subroutine largest(in, inout, length, type)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: type
    integer, pointer :: from(:), to(:)
    call c_f_pointer(in, from, [length])
    call c_f_pointer(inout, to, [length])
    to = max(from, to)
  end subroutine
#else
  subroutine largest(in, inout, length, type)
    integer :: length, type
    integer :: in(length), inout(length)
    inout = max(in, inout)
  end subroutine
#endif

  subroutine attributes
    COMM :: dup
    integer :: keyval, untouched
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    current = 'attributes'
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call say('TAG_UB', [number_of(flag), int(value)])
    value = -1
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, value, flag, ierr)
    call say('APPNUM', [number_of(flag), merge(int(value), -1, flag)])
    value = -1
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, value, flag, ierr)
    call say('UNIVERSE_SIZE', [number_of(flag), merge(int(value), -1, flag)])

    value = 5
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, value, ierr)
    value = 10
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierr)
    value = -1
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, value, flag, ierr)
    call say('set', [number_of(flag), int(value)])
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
    value = -1
    call MPI_Comm_get_attr(dup, keyval, value, flag, ierr)
    call say('of the dup', [number_of(flag), int(value)])
    value = 20
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierr)
    call MPI_Comm_free(dup, ierr)
    call MPI_Comm_free_keyval(keyval, ierr)

    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, untouched, value, ierr)
    value = 30
    call MPI_Comm_set_attr(MPI_COMM_WORLD, untouched, value, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
    value = -1
    call MPI_Comm_get_attr(dup, untouched, value, flag, ierr)
    call say('by the predefined copy', [number_of(flag), int(value)])
    call MPI_Comm_free(dup, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, untouched, ierr)
    call MPI_Comm_free_keyval(untouched, ierr)
  end subroutine

  subroutine errors
    ERRHANDLER :: own, now
    COMM :: dup
    integer :: value, code
    current = 'errors'
    value = 1
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Send(value, 1, MPI_INTEGER, all, 1, MPI_COMM_WORLD, ierr)
    call say_code('send to a rank equal to the size', ierr)
    call MPI_Send(value, 1, MPI_INTEGER, 0, -5, MPI_COMM_WORLD, ierr)
    call say_code('a negative tag', ierr)
    call MPI_Comm_create_errhandler(handler, own, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, own, ierr)
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, now, ierr)
    call say('the handler is there', [number_of(now == own)])
    call MPI_Send(value, 1, MPI_INTEGER, all, 1, MPI_COMM_WORLD, ierr)
    call say_code('with a handler', ierr)
    code = MPI_ERR_OTHER
    call MPI_Comm_call_errhandler(MPI_COMM_WORLD, code, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
    call MPI_Send(value, 1, MPI_INTEGER, all, 1, dup, ierr)
    call MPI_Comm_free(dup, ierr)
    call say('heard', [heard])
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
    call MPI_Errhandler_free(own, ierr)
    call MPI_Errhandler_free(now, ierr)
  end subroutine

  subroutine operations
    OPERATION :: op
    integer :: values(2), found(2)
    logical :: commutes
    current = 'operations'
    call MPI_Op_create(largest, .true., op, ierr)
    call MPI_Op_commutative(op, commutes, ierr)
    values = [me, -me]
    call MPI_Allreduce(values, found, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
    call say('largest, commutative', [found, number_of(commutes)])
    call MPI_Op_free(op, ierr)
  end subroutine
end module
