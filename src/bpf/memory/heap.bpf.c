// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mem-alloc and mem-inuse of programs that libstackcam-memory.so was loaded into (inject/): it has
 * chosen the samples, and tells of each by executing a nop that has a probe. At that place the
 * stack is as it was when malloc() was called.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/memory/heap_abi.h"

static __always_inline void send_free(__u64 address, struct task_struct *task, bool undecided,
				      bool is_kept)
{
	struct mem_heap_free record = {
		.head = {MEM_HEAP_FREE, sizeof(record), bpf_ktime_get_ns()},
		.address = address,
		.pid = task->tgid,
		.undecided = undecided,
		.is_kept = is_kept,
	};
	void *ring = capture_ring();

	bpf_get_current_comm(record.comm, sizeof(record.comm));
	if (!ring)
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_NO_RING);
	else if (capture_output(ring, CAPTURE_SOURCE_MEM_HEAP, &record, sizeof(record),
				BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_RING_FULL);
}

/* What is allocated, of the current thread. */
struct allocation {
	__u32 kind;  /* of its record, */
	__u32 words; /* and how many of these stand behind it: */
	__u64 interval, size;
	__u64 key, value;
	const void *class; /* text behind these words; null: none */
	bool undecided;
};

#define CLASS_WORDS (MEM_HEAP_CLASS_BYTES / 8)

/* Sends a sample with its stack: the last thing that a program does. */
static __always_inline void send_sample(void *ctx, struct task_struct *task,
					const struct allocation *made)
{
	struct capture_scratch *scratch =
		capture_begin(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_WALKER_UPROBE);

	if (!scratch)
		return;
	capture_identity(&scratch->record, made->kind, task, made->value);
	scratch->record.identity.undecided = made->undecided;
	scratch->record.identity.key = made->key;
	if (want_user && capture_registers(scratch, task))
		capture_wants_walk(scratch);
	scratch->behind[0] = made->interval;
	scratch->behind[1] = made->size;
	/* where it cannot be read, it is empty */
	if (made->words == 1 + CLASS_WORDS)
		bpf_probe_read_user_str(&scratch->behind[1], MEM_HEAP_CLASS_BYTES, made->class);
	capture_walk(ctx, scratch, &walk_uprobe, 0, made->words, 0);
}

/* bytes: with MEM_HEAP_UNFOLLOWED; address 0: it is not known. */
static __always_inline void send_alloc(void *ctx, struct task_struct *task, bool undecided,
				       __u64 address, __u64 bytes, __u64 interval)
{
	const struct allocation made = {
		.kind = MEM_HEAP_ALLOC,
		.words = 1,
		.interval = interval,
		.key = address,
		.value = bytes,
		.undecided = undecided,
	};

	send_sample((void *)ctx, task, &made);
}

static __always_inline void send_held(struct task_struct *task, bool undecided,
				      const struct probe_regs *ctx)
{
	const struct allocation made = {
		.kind = MEM_HEAP_HELD,
		.words = 1 + CLASS_WORDS,
		.interval = REGS_ARG2(ctx),
		.key = REGS_ARG1(ctx),
		.value = REGS_ARG3(ctx),
		.class = (const void *)REGS_ARG4(ctx),
		.undecided = undecided,
	};

	send_sample((void *)ctx, task, &made);
}

SEC("uprobe")
int mem_heap_site(struct probe_regs *ctx)
{
	__u64 place = bpf_get_attach_cookie(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();

	if (answer == FILTER_NO)
		return 0;
	if (place == MEM_HEAP_PLACE_FREE || place == MEM_HEAP_PLACE_KEPT) {
		send_free(REGS_ARG1(ctx), task, answer == FILTER_ASK, place == MEM_HEAP_PLACE_KEPT);
		return 0;
	}
	if (place == MEM_HEAP_PLACE_OBJECT)
		send_held(task, answer == FILTER_ASK, ctx);
	else
		send_alloc(ctx, task, answer == FILTER_ASK, REGS_ARG1(ctx), REGS_ARG3(ctx),
			   REGS_ARG2(ctx));
	return 0;
}

/* -- running processes ------------------------------------------------------------------------- */

/*
 * Without the library, probes where functions of the allocator begin count the bytes themselves.
 * Each hit costs as much as 50 calls of malloc(), so user space lets them take so much time only,
 * and takes them out when they have.
 */
__u64 mem_heap_spent[MEM_HEAP_BUDGETS]; /* us, about */
__u64 mem_heap_limit[MEM_HEAP_BUDGETS]; /* of that */

const volatile __u64 mem_heap_interval = 1;
const volatile __u64 mem_heap_draws[MEM_HEAP_DRAWS] = {};

/* Bytes until the next sample on this CPU, of each budget's; 0: not drawn yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MEM_HEAP_BUDGETS);
	__type(key, __u32);
	__type(value, __u64);
} mem_heap_left SEC(".maps");

static __always_inline __u64 draw(void)
{
	return mem_heap_draws[bpf_get_prandom_u32() % MEM_HEAP_DRAWS] + 1;
}

static __always_inline bool is_sample(__u32 budget, __u64 bytes)
{
	__u64 *left = bpf_map_lookup_elem(&mem_heap_left, &budget);

	if (!left)
		return false;
	if (!*left)
		*left = draw();
	if (bytes < *left) {
		*left -= bytes;
		return false;
	}
	*left = draw();
	return true;
}

static __always_inline void spend(enum mem_heap_budget budget, __u64 us)
{
	__u64 before = __sync_fetch_and_add(&mem_heap_spent[budget], us);
	__u64 limit = mem_heap_limit[budget];
	struct capture_head head = {MEM_HEAP_SPENT, sizeof(head), bpf_ktime_get_ns()};
	void *ring;

	/* the one that reaches it tells */
	if (before >= limit || before + us < limit)
		return;
	ring = capture_ring();
	if (ring)
		capture_output(ring, CAPTURE_SOURCE_MEM_HEAP, &head, sizeof(head),
			       BPF_RB_FORCE_WAKEUP);
}

/* 0: it is none, or is counted elsewhere. */
static __always_inline __u64 bytes_of_call(const struct probe_regs *ctx, __u64 cookie)
{
	bool nests = cookie & MEM_HEAP_CALL_NESTS;
	__u64 size = REGS_ARG2(ctx);

	switch (cookie & MEM_HEAP_CALL_MASK) {
	case MEM_HEAP_CALL_SIZE:
		return REGS_ARG1(ctx);
	case MEM_HEAP_CALL_COUNT:
		return REGS_ARG1(ctx) && size > (1ull << 46) / REGS_ARG1(ctx)
			       ? 0
			       : REGS_ARG1(ctx) * size;
	case MEM_HEAP_CALL_AGAIN:
		return nests && !REGS_ARG1(ctx) ? 0 : size;
	case MEM_HEAP_CALL_ALIGNED:
		return nests && REGS_ARG1(ctx) <= 16 ? 0 : size;
	case MEM_HEAP_CALL_TO:
		return nests && size <= 16 ? 0 : REGS_ARG3(ctx);
	default:
		return 0;
	}
}

SEC("uprobe")
int mem_heap_call(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes;
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer;

	spend(MEM_HEAP_BUDGET_MALLOC, MEM_HEAP_CALL_COST_OF(cookie));
	bytes = bytes_of_call(ctx, cookie);
	/* more than there can be fails */
	if (!bytes || bytes > 1ull << 46)
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO || !is_sample(MEM_HEAP_BUDGET_MALLOC, bytes))
		return 0;
	send_alloc(ctx, task, answer == FILTER_ASK, 0, bytes | MEM_HEAP_UNFOLLOWED,
		   mem_heap_interval);
	return 0;
}

/*
 * A thread of a JVM gets a buffer for its objects, of which this one is the first, or an object
 * beside it. All that will be in the buffer counts as that one's, as in the JVM's own recordings.
 */
SEC("uprobe")
int mem_heap_object(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes = REGS_ARG3(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	bool is_buffer = (cookie & MEM_HEAP_CALL_MASK) == MEM_HEAP_CALL_BUFFER;
	enum filter_answer answer;

	spend(MEM_HEAP_BUDGET_JAVA, MEM_HEAP_CALL_COST_OF(cookie));
	if (!bytes || bytes > 1ull << 46)
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO || !is_sample(MEM_HEAP_BUDGET_JAVA, bytes))
		return 0;
	const struct allocation made = {
		.kind = MEM_HEAP_OBJECT,
		.words = 2,
		.interval = mem_heap_interval,
		.size = is_buffer ? REGS_ARG4(ctx) : bytes,
		.key = REGS_ARG1(ctx),
		.value = bytes,
		.undecided = answer == FILTER_ASK,
	};

	send_sample((void *)ctx, task, &made);
	return 0;
}

/*
 * A thread of Go gets a span, which has room for objects of one size, or one for a large object.
 * All that will be in the span counts as the first object's. The pages of spans of each size
 * (src/runtime/sizeclasses.go of Go) are the same since 1.16; an odd class is one of the same size
 * whose objects have no pointers. Arguments are in registers since 1.17 (Go's ABIInternal).
 */
#define GO_PAGE 8192ull

static const __u8 span_pages[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,	1, 1,
				  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,	1, 1,
				  1, 2, 1, 2, 1, 2, 1, 3, 2, 3, 1, 3, 2, 3, 4,	5, 6,
				  1, 7, 6, 5, 4, 3, 5, 7, 2, 9, 7, 5, 8, 3, 10, 7, 4};

SEC("uprobe")
int mem_heap_span(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes = REGS_GO_ARG2(ctx),
	      class = (bytes & 0xff) >> 1;
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer;

	spend(MEM_HEAP_BUDGET_GO, MEM_HEAP_CALL_COST_OF(cookie));
	if ((cookie & MEM_HEAP_CALL_MASK) == MEM_HEAP_CALL_SPAN)
		bytes = class < sizeof(span_pages) ? span_pages[class] * GO_PAGE : 0;
	if (!bytes || bytes > 1ull << 46)
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO || !is_sample(MEM_HEAP_BUDGET_GO, bytes))
		return 0;
	send_alloc(ctx, task, answer == FILTER_ASK, 0, bytes | MEM_HEAP_UNFOLLOWED,
		   mem_heap_interval);
	return 0;
}

/*
 * -- probes of OpenTelemetry's contract -----------------------------------------------------------
 */

static __noinline __u64 register_of(struct probe_regs *ctx, __u32 number)
{
	return regs_by_instruction(ctx, number & MEM_HEAP_USDT_REGISTER);
}

/* 0: it cannot be read. */
static __always_inline __u64 argument_of(struct probe_regs *ctx, __u64 cookie, __u32 which)
{
	__u64 bits = cookie >> which * MEM_HEAP_USDT_BITS;
	__u64 distance =
		(bits >> MEM_HEAP_USDT_DISTANCE & (2 * MEM_HEAP_USDT_FAR - 1)) - MEM_HEAP_USDT_FAR;
	__u64 value = register_of(ctx, bits), read = 0;

	if (!(bits & MEM_HEAP_USDT_MEMORY))
		return bits & MEM_HEAP_USDT_SHORT ? (__u32)value : value;
	if (bpf_probe_read_user(&read, bits & MEM_HEAP_USDT_SHORT ? 4 : 8,
				(void *)(value + distance)))
		return 0;
	return read;
}

/* The program has taken the sample, and says what it stands for. */
SEC("uprobe")
int mem_heap_usdt(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), address, bytes;
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();

	if (answer == FILTER_NO)
		return 0;
	address = argument_of(ctx, cookie, 0);
	if (cookie & MEM_HEAP_USDT_FREE) {
		send_free(address, task, answer == FILTER_ASK, false);
		return 0;
	}
	bytes = argument_of(ctx, cookie, 2);
	if (bytes && bytes <= 1ull << 46)
		send_alloc(ctx, task, answer == FILTER_ASK, address, bytes, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
