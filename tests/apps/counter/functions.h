/* FUNCTION(name, parameters, arguments): what the counter wraps. Parameter names: b buffer, n count, t type, d
 * displacements or new object, r rank or root, g tag or group, c communicator, q request, s status, f flag, o
 * operation or order; a 2 behind it: the receiving side. Where both have large counts, MPI_X_c follows below. */
FUNCTION(MPI_Init, (int *argc, char ***argv), (argc, argv))
FUNCTION(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
FUNCTION(MPI_Send, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Ssend, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Bsend, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Rsend, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Recv, (void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Status *s), (b, n, t, r, g, c, s))
FUNCTION(MPI_Isend,
         (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Issend,
         (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Irsend,
         (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Ibsend,
         (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Irecv, (void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q), (b, n, t, r, g, c, q))
FUNCTION(MPI_Send_init,
         (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Recv_init,
         (void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Start, (MPI_Request *q), (q))
FUNCTION(MPI_Startall, (int n, MPI_Request q[]), (n, q))
FUNCTION(MPI_Request_free, (MPI_Request *q), (q))
FUNCTION(MPI_Cancel, (MPI_Request *q), (q))
FUNCTION(MPI_Sendrecv,
         (const void *b, int n, MPI_Datatype t, int r, int g, void *b2, int n2, MPI_Datatype t2, int r2, int g2, MPI_Comm c, MPI_Status *s),
         (b, n, t, r, g, b2, n2, t2, r2, g2, c, s))
FUNCTION(MPI_Sendrecv_replace,
         (void *b, int n, MPI_Datatype t, int r, int g, int r2, int g2, MPI_Comm c, MPI_Status *s),
         (b, n, t, r, g, r2, g2, c, s))
FUNCTION(MPI_Probe, (int r, int g, MPI_Comm c, MPI_Status *s), (r, g, c, s))
FUNCTION(MPI_Iprobe, (int r, int g, MPI_Comm c, int *f, MPI_Status *s), (r, g, c, f, s))
FUNCTION(MPI_Mprobe, (int r, int g, MPI_Comm c, MPI_Message *m, MPI_Status *s), (r, g, c, m, s))
FUNCTION(MPI_Improbe, (int r, int g, MPI_Comm c, int *f, MPI_Message *m, MPI_Status *s), (r, g, c, f, m, s))
FUNCTION(MPI_Mrecv, (void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Status *s), (b, n, t, m, s))
FUNCTION(MPI_Imrecv, (void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Request *q), (b, n, t, m, q))
FUNCTION(MPI_Wait, (MPI_Request *q, MPI_Status *s), (q, s))
FUNCTION(MPI_Waitall, (int n, MPI_Request q[], MPI_Status s[]), (n, q, s))
FUNCTION(MPI_Waitany, (int n, MPI_Request q[], int *i, MPI_Status *s), (n, q, i, s))
FUNCTION(MPI_Waitsome, (int n, MPI_Request q[], int *k, int i[], MPI_Status s[]), (n, q, k, i, s))
FUNCTION(MPI_Test, (MPI_Request *q, int *f, MPI_Status *s), (q, f, s))
FUNCTION(MPI_Testall, (int n, MPI_Request q[], int *f, MPI_Status s[]), (n, q, f, s))
FUNCTION(MPI_Testany, (int n, MPI_Request q[], int *i, int *f, MPI_Status *s), (n, q, i, f, s))
FUNCTION(MPI_Testsome, (int n, MPI_Request q[], int *k, int i[], MPI_Status s[]), (n, q, k, i, s))
FUNCTION(MPI_Test_cancelled, (const MPI_Status *s, int *f), (s, f))
FUNCTION(MPI_Get_count, (const MPI_Status *s, MPI_Datatype t, int *n), (s, t, n))
FUNCTION(MPI_Buffer_attach, (void *b, int n), (b, n))
FUNCTION(MPI_Buffer_detach, (void *b, int *n), (b, n))
FUNCTION(MPI_Barrier, (MPI_Comm c), (c))
FUNCTION(MPI_Bcast, (void *b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
FUNCTION(MPI_Reduce,
         (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c),
         (b, b2, n, t, o, r, c))
FUNCTION(MPI_Allreduce, (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, b2, n, t, o, c))
FUNCTION(MPI_Scan, (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, b2, n, t, o, c))
FUNCTION(MPI_Exscan, (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, b2, n, t, o, c))
FUNCTION(MPI_Reduce_scatter,
         (const void *b, void *b2, const int n[], MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Reduce_scatter_block,
         (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Gather,
         (const void *b, int n, MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, t, b2, n2, t2, r, c))
FUNCTION(MPI_Gatherv,
         (const void *b, int n, MPI_Datatype t, void *b2, const int n2[], const int d2[], MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, t, b2, n2, d2, t2, r, c))
FUNCTION(MPI_Scatter,
         (const void *b, int n, MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, t, b2, n2, t2, r, c))
FUNCTION(MPI_Scatterv,
         (const void *b, const int n[], const int d[], MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, d, t, b2, n2, t2, r, c))
FUNCTION(MPI_Allgather,
         (const void *b, int n, MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, MPI_Comm c),
         (b, n, t, b2, n2, t2, c))
FUNCTION(MPI_Allgatherv,
         (const void *b, int n, MPI_Datatype t, void *b2, const int n2[], const int d2[], MPI_Datatype t2, MPI_Comm c),
         (b, n, t, b2, n2, d2, t2, c))
FUNCTION(MPI_Alltoall,
         (const void *b, int n, MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, MPI_Comm c),
         (b, n, t, b2, n2, t2, c))
FUNCTION(MPI_Alltoallv,
         (const void *b, const int n[], const int d[], MPI_Datatype t, void *b2, const int n2[], const int d2[], MPI_Datatype t2, MPI_Comm c),
         (b, n, d, t, b2, n2, d2, t2, c))
FUNCTION(MPI_Ibarrier, (MPI_Comm c, MPI_Request *q), (c, q))
FUNCTION(MPI_Ibcast, (void *b, int n, MPI_Datatype t, int r, MPI_Comm c, MPI_Request *q), (b, n, t, r, c, q))
FUNCTION(MPI_Iallreduce,
         (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q),
         (b, b2, n, t, o, c, q))
FUNCTION(MPI_Iallgather,
         (const void *b, int n, MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, MPI_Comm c, MPI_Request *q),
         (b, n, t, b2, n2, t2, c, q))
FUNCTION(MPI_Comm_rank, (MPI_Comm c, int *r), (c, r))
FUNCTION(MPI_Comm_size, (MPI_Comm c, int *n), (c, n))
FUNCTION(MPI_Comm_remote_size, (MPI_Comm c, int *n), (c, n))
FUNCTION(MPI_Comm_test_inter, (MPI_Comm c, int *f), (c, f))
FUNCTION(MPI_Comm_compare, (MPI_Comm c, MPI_Comm c2, int *k), (c, c2, k))
FUNCTION(MPI_Comm_dup, (MPI_Comm c, MPI_Comm *d), (c, d))
FUNCTION(MPI_Comm_idup, (MPI_Comm c, MPI_Comm *d, MPI_Request *q), (c, d, q))
FUNCTION(MPI_Comm_split, (MPI_Comm c, int k, int o, MPI_Comm *d), (c, k, o, d))
FUNCTION(MPI_Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *d), (c, g, d))
FUNCTION(MPI_Comm_create_group, (MPI_Comm c, MPI_Group g, int k, MPI_Comm *d), (c, g, k, d))
FUNCTION(MPI_Comm_free, (MPI_Comm *c), (c))
FUNCTION(MPI_Comm_group, (MPI_Comm c, MPI_Group *g), (c, g))
FUNCTION(MPI_Comm_set_name, (MPI_Comm c, const char *n), (c, n))
FUNCTION(MPI_Comm_get_name, (MPI_Comm c, char *n, int *k), (c, n, k))
FUNCTION(MPI_Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), (c, h))
FUNCTION(MPI_Comm_get_attr, (MPI_Comm c, int k, void *v, int *f), (c, k, v, f))
FUNCTION(MPI_Comm_set_attr, (MPI_Comm c, int k, void *v), (c, k, v))
FUNCTION(MPI_Intercomm_create, (MPI_Comm c, int r, MPI_Comm c2, int r2, int g, MPI_Comm *d), (c, r, c2, r2, g, d))
FUNCTION(MPI_Intercomm_merge, (MPI_Comm c, int h, MPI_Comm *d), (c, h, d))
FUNCTION(MPI_Group_incl, (MPI_Group g, int n, const int r[], MPI_Group *d), (g, n, r, d))
FUNCTION(MPI_Group_free, (MPI_Group *g), (g))
FUNCTION(MPI_Cart_create, (MPI_Comm c, int n, const int d[], const int p[], int o, MPI_Comm *r), (c, n, d, p, o, r))
FUNCTION(MPI_Cart_get, (MPI_Comm c, int n, int d[], int p[], int k[]), (c, n, d, p, k))
FUNCTION(MPI_Cart_rank, (MPI_Comm c, const int k[], int *r), (c, k, r))
FUNCTION(MPI_Cart_shift, (MPI_Comm c, int d, int k, int *r, int *r2), (c, d, k, r, r2))
FUNCTION(MPI_Type_vector, (int n, int l, int d, MPI_Datatype t, MPI_Datatype *r), (n, l, d, t, r))
FUNCTION(MPI_Type_contiguous, (int n, MPI_Datatype t, MPI_Datatype *r), (n, t, r))
FUNCTION(MPI_Type_create_struct,
         (int n, const int l[], const MPI_Aint d[], const MPI_Datatype t[], MPI_Datatype *r),
         (n, l, d, t, r))
FUNCTION(MPI_Type_commit, (MPI_Datatype *t), (t))
FUNCTION(MPI_Type_free, (MPI_Datatype *t), (t))
FUNCTION(MPI_Type_size, (MPI_Datatype t, int *n), (t, n))
FUNCTION(MPI_Type_get_extent, (MPI_Datatype t, MPI_Aint *l, MPI_Aint *n), (t, l, n))
FUNCTION(MPI_Op_create, (MPI_User_function *f, int k, MPI_Op *o), (f, k, o))
FUNCTION(MPI_Op_free, (MPI_Op *o), (o))
FUNCTION(MPI_Initialized, (int *f), (f))
FUNCTION(MPI_Finalized, (int *f), (f))
FUNCTION(MPI_Query_thread, (int *p), (p))
FUNCTION(MPI_Get_processor_name, (char *n, int *k), (n, k))
FUNCTION(MPI_Get_version, (int *v, int *w), (v, w))
FUNCTION(MPI_Get_library_version, (char *v, int *n), (v, n))
FUNCTION(MPI_Error_string, (int e, char *s, int *n), (e, s, n))

/* The same with large counts: mpi4py uses these wherever there is an MPI 4. */
#if MPI_VERSION >= 4
FUNCTION(MPI_Send_c, (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Ssend_c, (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Bsend_c, (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Rsend_c, (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
FUNCTION(MPI_Recv_c,
         (void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Status *s),
         (b, n, t, r, g, c, s))
FUNCTION(MPI_Isend_c,
         (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Issend_c,
         (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Irecv_c,
         (void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Send_init_c,
         (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Recv_init_c,
         (void *b, MPI_Count n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q),
         (b, n, t, r, g, c, q))
FUNCTION(MPI_Sendrecv_c,
         (const void *b, MPI_Count n, MPI_Datatype t, int r, int g, void *b2, MPI_Count n2, MPI_Datatype t2, int r2, int g2, MPI_Comm c, MPI_Status *s),
         (b, n, t, r, g, b2, n2, t2, r2, g2, c, s))
FUNCTION(MPI_Sendrecv_replace_c,
         (void *b, MPI_Count n, MPI_Datatype t, int r, int g, int r2, int g2, MPI_Comm c, MPI_Status *s),
         (b, n, t, r, g, r2, g2, c, s))
FUNCTION(MPI_Mrecv_c, (void *b, MPI_Count n, MPI_Datatype t, MPI_Message *m, MPI_Status *s), (b, n, t, m, s))
FUNCTION(MPI_Imrecv_c, (void *b, MPI_Count n, MPI_Datatype t, MPI_Message *m, MPI_Request *q), (b, n, t, m, q))
FUNCTION(MPI_Get_count_c, (const MPI_Status *s, MPI_Datatype t, MPI_Count *n), (s, t, n))
FUNCTION(MPI_Buffer_attach_c, (void *b, MPI_Count n), (b, n))
FUNCTION(MPI_Buffer_detach_c, (void *b, MPI_Count *n), (b, n))
FUNCTION(MPI_Bcast_c, (void *b, MPI_Count n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
FUNCTION(MPI_Reduce_c,
         (const void *b, void *b2, MPI_Count n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c),
         (b, b2, n, t, o, r, c))
FUNCTION(MPI_Allreduce_c,
         (const void *b, void *b2, MPI_Count n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Scan_c,
         (const void *b, void *b2, MPI_Count n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Exscan_c,
         (const void *b, void *b2, MPI_Count n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Reduce_scatter_c,
         (const void *b, void *b2, const MPI_Count n[], MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Reduce_scatter_block_c,
         (const void *b, void *b2, MPI_Count n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
         (b, b2, n, t, o, c))
FUNCTION(MPI_Gather_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, MPI_Count n2, MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, t, b2, n2, t2, r, c))
FUNCTION(MPI_Gatherv_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, const MPI_Count n2[], const MPI_Aint d2[], MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, t, b2, n2, d2, t2, r, c))
FUNCTION(MPI_Scatter_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, MPI_Count n2, MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, t, b2, n2, t2, r, c))
FUNCTION(MPI_Scatterv_c,
         (const void *b, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b2, MPI_Count n2, MPI_Datatype t2, int r, MPI_Comm c),
         (b, n, d, t, b2, n2, t2, r, c))
FUNCTION(MPI_Allgather_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, MPI_Count n2, MPI_Datatype t2, MPI_Comm c),
         (b, n, t, b2, n2, t2, c))
FUNCTION(MPI_Allgatherv_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, const MPI_Count n2[], const MPI_Aint d2[], MPI_Datatype t2, MPI_Comm c),
         (b, n, t, b2, n2, d2, t2, c))
FUNCTION(MPI_Alltoall_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, MPI_Count n2, MPI_Datatype t2, MPI_Comm c),
         (b, n, t, b2, n2, t2, c))
FUNCTION(MPI_Alltoallv_c,
         (const void *b, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b2, const MPI_Count n2[], const MPI_Aint d2[], MPI_Datatype t2, MPI_Comm c),
         (b, n, d, t, b2, n2, d2, t2, c))
FUNCTION(MPI_Ibcast_c, (void *b, MPI_Count n, MPI_Datatype t, int r, MPI_Comm c, MPI_Request *q), (b, n, t, r, c, q))
FUNCTION(MPI_Iallreduce_c,
         (const void *b, void *b2, MPI_Count n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q),
         (b, b2, n, t, o, c, q))
FUNCTION(MPI_Iallgather_c,
         (const void *b, MPI_Count n, MPI_Datatype t, void *b2, MPI_Count n2, MPI_Datatype t2, MPI_Comm c, MPI_Request *q),
         (b, n, t, b2, n2, t2, c, q))
FUNCTION(MPI_Type_vector_c, (MPI_Count n, MPI_Count l, MPI_Count d, MPI_Datatype t, MPI_Datatype *r), (n, l, d, t, r))
FUNCTION(MPI_Type_contiguous_c, (MPI_Count n, MPI_Datatype t, MPI_Datatype *r), (n, t, r))
FUNCTION(MPI_Type_create_struct_c,
         (MPI_Count n, const MPI_Count l[], const MPI_Count d[], const MPI_Datatype t[], MPI_Datatype *r),
         (n, l, d, t, r))
FUNCTION(MPI_Type_size_c, (MPI_Datatype t, MPI_Count *n), (t, n))
FUNCTION(MPI_Type_get_extent_c, (MPI_Datatype t, MPI_Count *l, MPI_Count *n), (t, l, n))
#endif
