// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma: what programs transfer by the verbs of libibverbs. Programs call a provider's functions
 * through tables in memory: user space finds those (sources/rdma/) and sets probes where they
 * begin. The bytes of a request are summed when it is posted. Completions are recorded where
 * poll_cq() has found one, never where it returns: programs poll all the time.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/rdma/abi.h"
#include "bpf/rdma/completions.h"

/* The most requests of extended queue pairs, and registrations, that have begun at a time. */
#define RDMA_OPEN_MAX 16384

/* The present second, and the stacks that were taken in it. */
__u64 rdma_second, rdma_taken;

/* An extended queue pair of a process. */
struct rdma_pair {
	__u64 at;
	__u64 pid;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RDMA_OPEN_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct rdma_pair);
	__type(value, struct rdma_request);
} rdma_begun SEC(".maps");

/* A registration by a thread that has not returned. */
struct rdma_open {
	__u64 thread_start; /* tells it from a later thread of the same number */
	__u64 sp;	    /* where its return address is */
	__u64 key;
	__u64 bytes;
	__u32 undecided;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RDMA_OPEN_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct rdma_open);
} rdma_open SEC(".maps");

/* As verbs.h has them: requests, of which those of receives have four members, and pieces. */
struct verbs_request {
	__u64 id, next, pieces;
	__u32 count, opcode;
	__u32 flags, unused;
};
#define VERBS_REQUEST_BYTES 40
#define VERBS_RECEIVE_BYTES 32

struct verbs_piece {
	__u64 at, bytes; /* of a struct ibv_sge 32 bits, in front of a key */
};

/* -- requests ---------------------------------------------------------------------------------- */

struct rdma_pieces {
	__u64 at, bytes;
	__u32 count;
	bool is_wide;  /* struct ibv_data_buf */
	bool is_whole; /* all could be read */
};

static long add_piece(__u32 i, void *context)
{
	struct rdma_pieces *pieces = context;
	struct verbs_piece piece;

	if (i >= pieces->count)
		return 1;
	if (bpf_probe_read_user(&piece, sizeof(piece), (const void *)pieces->at)) {
		pieces->is_whole = false;
		return 1;
	}
	pieces->bytes += pieces->is_wide ? piece.bytes : (__u32)piece.bytes;
	pieces->at += sizeof(piece);
	return 0;
}

static __always_inline void sum_pieces(struct rdma_pieces *pieces)
{
	pieces->is_whole = pieces->count <= RDMA_PIECES_MAX;
	if (pieces->is_whole)
		bpf_loop(RDMA_PIECES_MAX, add_piece, pieces, 0);
}

struct rdma_chain {
	struct capture_scratch *scratch;
	__u64 at;
	__u32 count, unread;
	bool is_receive;
};

static __always_inline struct rdma_request *request_at(struct capture_scratch *scratch, __u32 i)
{
	OPAQUE(i);
	if (i >= RDMA_REQUESTS_MAX)
		i = 0;
	return (void *)&scratch->behind[RDMA_POST_WORDS(0)] + i * sizeof(struct rdma_request);
}

static long add_request(__u32 i, void *context)
{
	struct rdma_chain *chain = context;
	struct verbs_request request = {};
	struct rdma_pieces pieces = {};
	struct rdma_request *to;

	if (!chain->at)
		return 1;
	if (bpf_probe_read_user(&request,
				chain->is_receive ? VERBS_RECEIVE_BYTES : VERBS_REQUEST_BYTES,
				(const void *)chain->at)) {
		chain->unread++;
		return 1;
	}
	chain->at = request.next;
	pieces.at = request.pieces;
	pieces.count = request.count;
	sum_pieces(&pieces);
	if (i >= RDMA_REQUESTS_MAX || !pieces.is_whole) {
		chain->unread++;
		return 0;
	}
	to = request_at(chain->scratch, chain->count++);
	to->id = request.id;
	to->bytes = pieces.bytes;
	to->opcode = chain->is_receive ? RDMA_RECEIVE : request.opcode;
	to->flags = chain->is_receive ? 0 : request.flags;
	return 0;
}

static __always_inline void begin_post(struct capture_scratch *scratch, __u32 pair, bool is_shared,
				       __u32 count, __u32 unread)
{
	struct rdma_posted *posted = (void *)scratch->behind;

	posted->pair = pair;
	posted->is_shared = is_shared;
	posted->count = count;
	posted->unread = unread;
}

static __always_inline __u32 pair_number(__u64 pair)
{
	__u32 number = 0;

	/* 0 if it cannot be read: no completion has that number */
	bpf_probe_read_user(&number, sizeof(number), (const void *)(pair + VERBS_PAIR_NUMBER));
	return number;
}

/* Returns how many requests were read. */
static __noinline int read_requests(struct capture_scratch *scratch, __u64 queue, __u64 first,
				    __u32 call)
{
	struct rdma_chain chain = {
		.scratch = scratch,
		.at = first,
		.is_receive = call != RDMA_CALL_POST_SEND,
	};
	bool is_shared = call == RDMA_CALL_POST_SHARED;

	bpf_loop(4 * RDMA_REQUESTS_MAX, add_request, &chain, 0);
	/* longer than that, or a circle */
	chain.unread += chain.at && !chain.unread;
	begin_post(scratch, is_shared ? 0 : pair_number(queue), is_shared, chain.count,
		   chain.unread);
	return chain.count + chain.unread;
}

/* -- requests of extended queue pairs ---------------------------------------------------------- */

static __always_inline bool is_of_begun(__u32 call)
{
	return call >= RDMA_CALL_BEGIN && call <= RDMA_CALL_COMPLETE;
}

/* Fills in the request that has begun on a pair, and forgets it. Returns 1: one request. */
static __noinline int end_begun(struct capture_scratch *scratch, struct rdma_pair *pair,
				__u64 bytes, bool is_whole)
{
	struct rdma_request *begun = bpf_map_lookup_elem(&rdma_begun, pair);
	struct rdma_request *to = request_at(scratch, 0);

	begin_post(scratch, pair_number(pair->at), false, is_whole, !is_whole);
	to->opcode = RDMA_UNKNOWN;
	to->id = 0;
	to->flags = 0;
	if (begun)
		*to = *begun;
	to->bytes = bytes;
	if (begun)
		bpf_map_delete_elem(&rdma_begun, pair);
	return 1;
}

static __noinline void begin_request(struct rdma_pair *pair, __u32 opcode)
{
	struct rdma_request begun = {.opcode = opcode};

	bpf_probe_read_user(&begun.id, sizeof(begun.id), (const void *)(pair->at + VERBS_PAIR_ID));
	bpf_probe_read_user(&begun.flags, sizeof(begun.flags),
			    (const void *)(pair->at + VERBS_PAIR_FLAGS));
	if (bpf_map_update_elem(&rdma_begun, pair, &begun, BPF_ANY))
		capture_count_loss(CAPTURE_SOURCE_RDMA, CAPTURE_LOSS_CALL_NO_STACK);
}

/* The bytes of a request, which a call says. */
static __noinline int end_request(struct capture_scratch *scratch, struct probe_regs *ctx,
				  __u32 call)
{
	struct rdma_pair pair = {REGS_ARG1(ctx), bpf_get_current_pid_tgid() >> 32};
	struct rdma_pieces pieces = {
		.at = REGS_ARG3(ctx),
		.count = (__u32)REGS_ARG2(ctx),
		.is_wide = call == RDMA_CALL_INLINES,
		.is_whole = true,
	};

	if (call == RDMA_CALL_SGE)
		pieces.bytes = (__u32)REGS_ARG4(ctx);
	else if (call == RDMA_CALL_INLINE)
		pieces.bytes = REGS_ARG3(ctx);
	else if (call == RDMA_CALL_SGES || call == RDMA_CALL_INLINES)
		sum_pieces(&pieces);
	return end_begun(scratch, &pair, pieces.bytes, pieces.is_whole);
}

/*
 * Whether a call has a request to be recorded. A request that nothing was said about has no bytes;
 * it is recorded when the next one begins, or all end.
 */
static __noinline bool has_request(struct probe_regs *ctx, __u32 call)
{
	struct rdma_pair pair = {REGS_ARG1(ctx), bpf_get_current_pid_tgid() >> 32};

	if (call != RDMA_CALL_BEGIN && call != RDMA_CALL_COMPLETE)
		return true;
	return bpf_map_lookup_elem(&rdma_begun, &pair);
}

/* -- tables ------------------------------------------------------------------------------------ */

static __always_inline void read_context(struct rdma_table *record, __u64 context)
{
	const __u32 at[] = {VERBS_OPS_POLL, VERBS_OPS_POST_SHARED, VERBS_OPS_POST_SEND,
			    VERBS_OPS_POST_RECEIVE};
	int i;

	/* what cannot be read is 0, where no function is */
	for (i = 0; i < 4; i++)
		bpf_probe_read_user(&record->functions[i], sizeof(__u64),
				    (const void *)(context + at[i]));
}

/* A queue pair before it may be posted to: its number; else 0. */
static __always_inline __u32 beginning_pair(struct probe_regs *ctx)
{
	__u32 state = VERBS_STATE_RESET;

	if (REGS_ARG3(ctx) & VERBS_MODIFY_STATE)
		bpf_probe_read_user(&state, sizeof(state), (const void *)REGS_ARG2(ctx));
	return state == VERBS_STATE_INIT ? pair_number(REGS_ARG1(ctx)) : 0;
}

static __noinline void send_table(struct probe_regs *ctx, __u64 object, __u32 call, __u32 undecided)
{
	struct rdma_table record = {
		.head = {RDMA_TABLE, sizeof(record), bpf_ktime_get_ns()},
		.pid = bpf_get_current_pid_tgid() >> 32,
		.undecided = undecided,
		.is_pair = call == RDMA_CALL_PAIR,
	};

	bpf_get_current_comm(record.comm, sizeof(record.comm));
	if (call == RDMA_CALL_MODIFY)
		record.begins = beginning_pair(ctx);
	if (call == RDMA_CALL_DOMAIN || call == RDMA_CALL_MODIFY)
		bpf_probe_read_user(&object, sizeof(object),
				    (const void *)(object + VERBS_DOMAIN_CONTEXT));
	if (record.is_pair)
		bpf_probe_read_user(record.functions, sizeof(record.functions),
				    (const void *)(object + VERBS_PAIR_FUNCTIONS));
	else
		read_context(&record, object);
	/* soon: the program will post */
	capture_send_record(CAPTURE_SOURCE_RDMA, &record, sizeof(record), BPF_RB_FORCE_WAKEUP);
}

/* -- completions ------------------------------------------------------------------------------- */

static __noinline void send_done(struct probe_regs *ctx, __u64 cookie, __u32 undecided)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u64 at = regs_by_instruction(ctx, cookie >> RDMA_COOKIE_SHIFT & 0xff) -
		   (__s64)(__s16)(cookie >> RDMA_DISTANCE_SHIFT);

	if (!bpf_map_lookup_elem(&rdma_polling, &thread))
		rdma_send_done(at, undecided);
}

/* -- memory ------------------------------------------------------------------------------------ */

/* One function may call another one, or leave by a jump to it: that is one call. */
static __always_inline bool is_within(__u64 thread, __u64 sp, struct task_struct *task)
{
	const struct rdma_open *open = bpf_map_lookup_elem(&rdma_open, &thread);

	return open && open->sp >= sp && open->thread_start == task->start_time;
}

/* The key is one that no other call of a process has. Returns 0: the call is not to be followed. */
static __noinline __u64 open_memory(struct probe_regs *ctx, __u32 undecided)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 thread = bpf_get_current_pid_tgid();
	struct rdma_open open = {
		.thread_start = task->start_time,
		.sp = ctx->sp,
		.key = bpf_ktime_get_ns() << 8 | (bpf_get_smp_processor_id() & 0xff),
		.bytes = REGS_ARG3(ctx),
		.undecided = undecided,
	};

	if (is_within(thread, ctx->sp, task))
		return 0;
	if (!bpf_map_update_elem(&rdma_open, &thread, &open, BPF_ANY))
		return open.key;
	capture_count_loss(CAPTURE_SOURCE_RDMA, CAPTURE_LOSS_CALL_NO_STACK);
	return 0;
}

static __noinline void send_memory(__u64 key, __u64 region, __u64 bytes, __u32 undecided)
{
	struct rdma_memory record = {
		.head = {RDMA_MEMORY, sizeof(record), bpf_ktime_get_ns()},
		.key = key,
		.region = region,
		.bytes = bytes,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.undecided = undecided,
	};

	capture_send_record(CAPTURE_SOURCE_RDMA, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

static __noinline void end_memory(__u64 sp, __u64 region)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct rdma_open *open = bpf_map_lookup_elem(&rdma_open, &thread);

	if (!open || sp - sizeof(sp) < open->sp)
		return;
	send_memory(open->key, region, open->bytes, open->undecided);
	bpf_map_delete_elem(&rdma_open, &thread);
}

/* -- the probes -------------------------------------------------------------------------------- */

/* Several CPUs that begin a second at once may take a few more. */
static __always_inline bool may_walk(__u64 now)
{
	__u64 second = now / 1000000000;

	if (rdma_second != second) {
		rdma_second = second;
		rdma_taken = 0;
	}
	return __sync_fetch_and_add(&rdma_taken, 1) < RDMA_STACKS;
}

/* What has no stack. */
static __noinline void send_plain(struct probe_regs *ctx, __u64 cookie, __u32 undecided)
{
	__u32 call = cookie & RDMA_CALL_MASK;

	if (call == RDMA_CALL_DONE)
		send_done(ctx, cookie, undecided);
	else if (call == RDMA_CALL_OPENED)
		send_table(ctx, REGS_RESULT(ctx), call, undecided);
	else if (call == RDMA_CALL_DEREGISTER)
		send_memory(0, REGS_ARG1(ctx), 0, undecided);
	else if (call == RDMA_CALL_REGISTERED)
		end_memory(ctx->sp, REGS_RESULT(ctx));
	else
		send_table(ctx, REGS_ARG1(ctx), call, undecided);
}

static __always_inline bool is_post(__u32 call)
{
	return call >= RDMA_CALL_POST_SEND && call <= RDMA_CALL_COMPLETE;
}

/* What stands behind the record of a call that posts. Returns how many requests that are. */
static __noinline int fill_post(struct probe_regs *ctx, struct capture_scratch *scratch, __u32 call)
{
	return is_of_begun(call) ? end_request(scratch, ctx, call)
				 : read_requests(scratch, REGS_ARG1(ctx), REGS_ARG2(ctx), call);
}

SEC("uprobe")
int rdma_site(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), key = 0;
	__u32 call = cookie & RDMA_CALL_MASK, words = 0;
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();
	struct capture_scratch *scratch;
	struct rdma_pair pair = {REGS_ARG1(ctx), bpf_get_current_pid_tgid() >> 32};

	if (answer == FILTER_NO)
		return 0;
	if (call == RDMA_CALL_REGISTER) {
		key = open_memory(ctx, answer == FILTER_ASK);
		if (!key)
			return 0;
	} else if (!is_post(call)) {
		send_plain(ctx, cookie, answer == FILTER_ASK);
		return 0;
	} else if (!has_request(ctx, call)) {
		if (call == RDMA_CALL_BEGIN)
			begin_request(&pair, cookie >> RDMA_COOKIE_SHIFT & 0xff);
		return 0;
	}
	scratch = capture_begin(CAPTURE_SOURCE_RDMA, CAPTURE_WALKER_UPROBE);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, key ? RDMA_REGISTER : RDMA_POST, task, 0);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	scratch->record.identity.key = key;
	if (!key) {
		if (!fill_post(ctx, scratch, call)) {
			capture_end(scratch);
			return 0;
		}
		if (call == RDMA_CALL_BEGIN)
			begin_request(&pair, cookie >> RDMA_COOKIE_SHIFT & 0xff);
		words = RDMA_POST_WORDS(((struct rdma_posted *)scratch->behind)->count);
	}
	if (want_user && may_walk(scratch->record.head.time) && capture_registers(scratch, task))
		capture_wants_walk(scratch);
	capture_walk(ctx, scratch, &walk_uprobe, 0, words, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
