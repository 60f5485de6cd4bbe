// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * inspect: the values that functions are called with, and what they return (inspect_abi.h).
 *
 * A call is known by its thread or goroutine and by where its frame lies: a goroutine changes
 * threads, and its stack is moved when it grows, so that there the distance from the stack's upper
 * end counts, which stays.
 */
#include "capture.h"
#include "calls_kept.h"
#include "filter.h"
#include "inspect_abi.h"

/* Set before loading: --stack. */
const volatile bool inspect_stacks;
/* Set before loading: what is taken are the arguments of calls that the tracer has seen begin. */
const volatile bool inspect_traced;

#define BYTES_MASK (INSPECT_BYTES_MAX - 1)
#define STEP_MASK  (INSPECT_STEPS_MAX - 1)
#define NOTHING	   0xffffu

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct inspect_plan);
} inspect_plans SEC(".maps");

/*
 * Of functions with a limit: a bucket of tokens, kept as the time at which it will be full again.
 */
struct inspect_bucket {
	__u64 full_at;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct inspect_bucket);
} inspect_buckets SEC(".maps");

struct inspect_call {
	__u64 thread, frame;
	__u32 pid, function;
};

struct inspect_begin {
	__u64 time;
	__u64 result; /* INSPECT_RESULT */
};

/* Calls whose end is waited for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, INSPECT_OPEN_MAX);
	__type(key, struct inspect_call);
	__type(value, struct inspect_begin);
} inspect_open SEC(".maps");

struct inspect_scratch {
	__u64 busy;
	__u32 used, next, begins, is_rejected, is_unknown, unused;
	__u16 at[INSPECT_STEPS_MAX];  /* where a step's bytes begin */
	__u16 got[INSPECT_STEPS_MAX]; /* how many; NOTHING */
	struct inspect_record record;
	__u8 bytes[INSPECT_BYTES_MAX + sizeof(struct inspect_item) + INSPECT_READ_MAX];
};

/* As capture_scratch_map: a probe can be interrupted by another one of its CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_SCRATCHES);
	__type(key, __u32);
	__type(value, struct inspect_scratch);
} inspect_scratch_map SEC(".maps");

static __always_inline struct inspect_scratch *claim(void)
{
	__u32 cpu = bpf_get_smp_processor_id() % capture_cpus, i, slot;
	struct inspect_scratch *s;

	for (i = 0; i < CAPTURE_SCRATCHES; i++) {
		slot = cpu * CAPTURE_SCRATCHES + i;
		s = bpf_map_lookup_elem(&inspect_scratch_map, &slot);
		if (s && !__sync_val_compare_and_swap(&s->busy, 0, 1))
			return s;
	}
	capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_SCRATCH_BUSY);
	return NULL;
}

static __always_inline void release(struct inspect_scratch *s)
{
	__sync_lock_test_and_set(&s->busy, 0);
}

/* -- steps ------------------------------------------------------------------------------------- */

/* Eight bytes of a step's source. False: it has none there. */
static __always_inline bool word_of(struct inspect_scratch *s, const struct inspect_step *step,
				    __u32 offset, __u32 size, __u64 *word)
{
	__u32 at = 0, got = INSPECT_REGISTER_BYTES;

	if (step->from != INSPECT_FROM_REGISTERS) {
		at = s->at[step->from & STEP_MASK];
		got = s->got[step->from & STEP_MASK];
	}
	if (got == NOTHING || offset + size > got)
		return false;
	*word = *(__u64 *)&s->bytes[(at + offset) & BYTES_MASK];
	return true;
}

/* How many bytes an array has, with the number of its elements in *length. */
static __always_inline __u64 bytes_of_array(struct inspect_scratch *s,
					    const struct inspect_step *step, __u32 base,
					    __u64 pointer, __u64 *length)
{
	__u64 word = 0, size = step->size ?: 1;

	*length = 0;
	if (step->flags & INSPECT_LENGTH_IS_POWER) {
		if (!word_of(s, step, base + step->length_at, 1, &word))
			return 0;
		*length = 1ull << (word & 31);
		return *length * size;
	}
	if (!word_of(s, step, base + step->length_at, step->flags & INSPECT_LENGTH_IS_U32 ? 4 : 8,
		     &word))
		return 0;
	if (step->flags & INSPECT_LENGTH_IS_U32)
		word = (__u32)word;
	if (step->flags & INSPECT_LENGTH_IS_MASK)
		word++;
	if (step->flags & INSPECT_LENGTH_IS_END) {
		word = word > pointer ? word - pointer : 0;
		*length = word / size;
		return word;
	}
	*length = word;
	return word > 1u << 30 ? 1ull << 40 : word * size;
}

/* Takes what one pointer leads to. */
static __noinline int take_item(struct inspect_scratch *s, const struct inspect_step *step,
				__u32 base, __u32 index)
{
	__u32 used = s->used & BYTES_MASK, room, size, most = step->size;
	struct inspect_item *item = (struct inspect_item *)&s->bytes[used];
	__u64 pointer = 0, wanted = step->size, length = 0;
	__u8 number = s->next & STEP_MASK;
	long got;

	if (s->used > INSPECT_BYTES_MAX - sizeof(*item) - 8)
		return 1;
	if (!word_of(s, step, base + step->offset, 8, &pointer))
		return 0;
	room = INSPECT_BYTES_MAX - 8 - sizeof(*item) - used;
	item->step = number;
	item->index = index;
	item->status = INSPECT_OK;
	item->unused = 0;
	item->address = pointer;
	item->size = 0;
	if (step->kind == INSPECT_ARRAY) {
		wanted = bytes_of_array(s, step, base, pointer, &length);
		most = step->max;
	} else if (step->kind == INSPECT_TEXT) {
		wanted = most = step->max;
	}
	item->length = length;
	if (!(step->flags & INSPECT_EACH))
		pointer += (__s64)step->displacement;
	size = wanted < most ? wanted : most;
	if (wanted > most)
		item->status = INSPECT_TRUNCATED;
	if (size > room) {
		size = room;
		item->status = INSPECT_FULL;
	}
	if (size > INSPECT_READ_MAX)
		size = INSPECT_READ_MAX;
	if (!item->address) {
		item->status = INSPECT_NIL;
		size = 0;
	}
	if (size && step->kind == INSPECT_TEXT) {
		got = bpf_probe_read_user_str(&s->bytes[used + sizeof(*item)], size,
					      (const void *)pointer);
		if (got <= 0) {
			item->status = INSPECT_NOT_RESIDENT;
			got = 1;
		} else if (got == size) {
			item->status = INSPECT_TRUNCATED;
		}
		size = got > 0 && got <= INSPECT_READ_MAX ? got - 1 : 0;
	} else if (size && bpf_probe_read_user(&s->bytes[used + sizeof(*item)], size,
					       (const void *)pointer)) {
		item->status = INSPECT_NOT_RESIDENT;
		size = 0;
	}
	item->size = size;
	if (!index) {
		s->at[number] = used + sizeof(*item);
		s->got[number] = item->status == INSPECT_NIL || item->status == INSPECT_NOT_RESIDENT
					 ? NOTHING
					 : size;
	}
	s->used = used + sizeof(*item) + ((size + 7) & ~7u);
	return 0;
}

struct each {
	struct inspect_scratch *s;
	const struct inspect_step *step;
	__u32 stride, got;
};

static long take_each(__u32 i, void *context)
{
	struct each *each = context;
	__u32 base = i * each->stride;

	if (base + each->stride > each->got)
		return 1;
	return take_item(each->s, each->step, base, i) != 0;
}

static __always_inline void take_elements(struct inspect_scratch *s,
					  const struct inspect_step *step)
{
	struct each each = {s, step, step->displacement, s->got[step->from & STEP_MASK]};

	if (each.got == NOTHING || !each.stride)
		return;
	bpf_loop(INSPECT_EACH_MAX, take_each, &each, 0);
}

static __always_inline bool holds(__u8 compare, __u64 a, __u64 b, bool is_signed)
{
	bool less = is_signed ? (__s64)a < (__s64)b : a < b;

	switch (compare) {
	case INSPECT_EQUAL:
		return a == b;
	case INSPECT_NOT_EQUAL:
		return a != b;
	case INSPECT_LESS:
		return less;
	case INSPECT_AT_MOST:
		return less || a == b;
	case INSPECT_MORE:
		return !less && a != b;
	default:
		return !less;
	}
}

/* Returns 1 or 0; -1: what is compared could not be read. */
static __noinline int test_number(struct inspect_scratch *s, const struct inspect_plan *p,
				  const struct inspect_step *step)
{
	__u64 value;
	__u32 shift = 64 - 8 * (step->width & 15);

	if (!word_of(s, step, step->offset, step->width, &value))
		return -1;
	value <<= shift & 63;
	if (step->flags & INSPECT_SIGNED)
		value = (__s64)value >> (shift & 63);
	else
		value >>= shift & 63;
	return holds(step->length_at, value, p->constants[step->size & (INSPECT_CONSTANTS - 1)],
		     step->flags & INSPECT_SIGNED);
}

struct texts {
	const __u8 *a, *b;
	__u32 at_a, at_b, size, differs;
};

static long compare_byte(__u32 i, void *context)
{
	struct texts *t = context;

	if (i >= t->size)
		return 1;
	if (t->a[(t->at_a + i) & BYTES_MASK] != t->b[(t->at_b + i) & (INSPECT_TEXT_MAX - 1)]) {
		t->differs = 1;
		return 1;
	}
	return 0;
}

static __noinline int test_text(struct inspect_scratch *s, const struct inspect_plan *p,
				const struct inspect_step *step)
{
	__u32 from = step->from & STEP_MASK, got = s->got[from];
	struct texts texts = {s->bytes, p->text, s->at[from], step->displacement, step->size, 0};

	if (got == NOTHING)
		return -1;
	if (got != step->size)
		texts.differs = 1;
	else
		bpf_loop(INSPECT_TEXT_MAX, compare_byte, &texts, 0);
	return texts.differs == (step->width == INSPECT_NOT_EQUAL);
}

struct run {
	struct inspect_scratch *s;
	const struct inspect_plan *p;
};

static long run_step(__u32 i, void *context)
{
	struct run *run = context;
	struct inspect_scratch *s = run->s;
	const struct inspect_step *step;
	__u32 next = s->next;
	int is_true;

	if (next >= run->p->steps || next >= INSPECT_STEPS_MAX)
		return 1;
	step = &run->p->step[next];
	if (step->kind != INSPECT_TEST && step->kind != INSPECT_TEST_TEXT) {
		s->got[next] = NOTHING;
		if (step->flags & INSPECT_EACH)
			take_elements(s, step);
		else if (take_item(s, step, 0, 0))
			return 1;
		s->next = next + 1;
		return 0;
	}
	is_true = step->kind == INSPECT_TEST ? test_number(s, run->p, step)
					     : test_text(s, run->p, step);
	if (is_true < 0)
		s->is_unknown = 1;
	s->next = is_true > 0 ? step->max & 255 : step->max >> 8;
	/* onwards only: it ends */
	if (s->next <= next || s->next == INSPECT_REJECT) {
		s->is_rejected = 1;
		return 1;
	}
	return 0;
}

/* -- calls ------------------------------------------------------------------------------------- */

static __always_inline void take_registers(struct inspect_scratch *s,
					   const struct inspect_plan *plan,
					   const struct probe_regs *regs)
{
	__u64 *r = (__u64 *)s->bytes;

	r[0] = regs->ax;
	r[1] = regs->dx;
	r[2] = regs->cx;
	r[3] = regs->bx;
	r[4] = regs->si;
	r[5] = regs->di;
	r[6] = regs->bp;
	r[7] = regs->sp;
	r[8] = regs->r8;
	r[9] = regs->r9;
	r[10] = regs->r10;
	r[11] = regs->r11;
	r[12] = regs->r12;
	r[13] = regs->r13;
	r[14] = regs->r14;
	r[15] = regs->r15;
	r[INSPECT_RESULT] = regs->di;
	r[INSPECT_IP] = regs->ip;
	r[INSPECT_CFA] = r[plan->cfa_register & 15] + (__s64)plan->cfa_offset;
	s->used = INSPECT_REGISTER_BYTES;
}

/* Whose call it is. False: that cannot be read. */
static __always_inline bool identify(const struct inspect_plan *plan, const struct probe_regs *regs,
				     __u64 cfa, struct inspect_call *call)
{
	__u64 id = bpf_get_current_pid_tgid(), high;

	call->pid = id >> 32;
	call->function = plan->function;
	call->thread = (__u32)id;
	call->frame = cfa;
	if (!plan->is_go)
		return true;
	if (bpf_probe_read_user(&call->thread, sizeof(call->thread),
				(const void *)(regs->r14 + plan->goid_at)) ||
	    bpf_probe_read_user(&high, sizeof(high), (const void *)(regs->r14 + 8)))
		return false;
	call->frame = high - cfa;
	return true;
}

/* Takes a token. False: there is none, or others have taken all that came meanwhile. */
static __always_inline bool take_token(__u32 function, __u32 interval)
{
	struct inspect_bucket *bucket = bpf_map_lookup_elem(&inspect_buckets, &function);
	__u64 now = bpf_ktime_get_ns(), full_at, next;
	int i;

	if (!bucket)
		return true;
	for (i = 0; i < 4; i++) {
		full_at = bucket->full_at;
		next = (full_at > now ? full_at : now) + interval;
		if (next > now + INSPECT_BURST_NS && next > now + interval)
			return false;
		if (__sync_val_compare_and_swap(&bucket->full_at, full_at, next) == full_at)
			return true;
	}
	return false;
}

static __always_inline void send(struct inspect_scratch *s)
{
	struct inspect_record *record = &s->record;
	void *ring = capture_ring();
	__u32 size = s->used;

	if (!ring) {
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_NO_RING);
		return;
	}
	if (size > INSPECT_BYTES_MAX)
		size = INSPECT_BYTES_MAX;
	size += sizeof(*record);
	record->head.size = size;
	if (capture_output(ring, CAPTURE_SOURCE_INSPECT, record, size, 0))
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_RING_FULL);
}

static __always_inline void fill_record(struct inspect_record *record, __u64 now,
					enum filter_answer answer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_identity *identity = &record->identity;
	__u64 id = bpf_get_current_pid_tgid();

	record->head.kind = CAPTURE_INSPECT;
	record->head.time = now;
	identity->pid = id >> 32;
	identity->tid = (__u32)id;
	identity->thread_start = task->start_time;
	identity->exec_id = (__u32)task->self_exec_id;
	identity->undecided = answer == FILTER_ASK;
	identity->value = 0;
	identity->key = 0;
	bpf_get_current_comm(identity->comm, sizeof(identity->comm));
}

/* Sends where the call comes from, at the time of the record that follows. */
__noinline int inspect_send_stack(__u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;

	if (!task->mm)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_INSPECT);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, CAPTURE_INSPECT_STACK, task, 1);
	scratch->record.head.time = now;
	if (capture_registers(scratch, task)) {
		scratch->record.has_user = 1;
		capture_user(scratch, task);
	}
	capture_send(scratch);
	capture_end(scratch);
	return 0;
}

/* The conditions first, then the values. False: the call is not meant. */
static __always_inline bool run_plan(struct inspect_scratch *s, const struct inspect_plan *plan)
{
	struct run run = {s, plan};

	s->next = 0;
	s->is_rejected = s->is_unknown = 0;
	__builtin_memset(s->got, 0xff, sizeof(s->got));
	bpf_loop(INSPECT_STEPS_MAX, run_step, &run, 0);
	if (s->is_rejected && s->is_unknown)
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_INSPECT_CONDITION);
	return !s->is_rejected;
}

/* Notes that a call's end is waited for. */
static __always_inline void open_call(const struct inspect_call *call, __u64 now, __u64 result)
{
	struct inspect_begin begin = {now, result};

	if (bpf_map_update_elem(&inspect_open, call, &begin, BPF_ANY))
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_INSPECT_OPEN);
}

/* When the call began that ends here; 0: it is not kept. */
static __always_inline __u64 close_call(const struct inspect_call *call, __u64 *result)
{
	struct inspect_begin *begin = bpf_map_lookup_elem(&inspect_open, call);
	__u64 began = 0;

	if (begin) {
		began = begin->time;
		*result = begin->result;
		bpf_map_delete_elem(&inspect_open, call);
	}
	return began;
}

/*
 * The call that the tracer has just seen begin: it has the same frame, and is the innermost one. 0:
 * there is none, as not all calls are kept (--depth, --under).
 */
static __noinline int find_traced(const struct inspect_plan *plan, const struct inspect_call *call,
				  __u64 g, struct inspect_record *record)
{
	struct goroutine_key key = goroutine_key(g);
	/* at a function's entry, the stack pointer is a word below the frame address */
	__u64 sp = plan->is_go ? GOROUTINE_STACK - (call->frame + 8) : call->frame - 8;
	struct calls_frame *top;
	struct calls_thread *t;

	t = plan->is_go ? bpf_map_lookup_elem(&calls_goroutines, &key)
			: bpf_task_storage_get(&calls_threads, bpf_get_current_task_btf(), NULL, 0);
	top = t ? frame_at(t, lane_now(t)->top) : NULL;
	if (!top || top->sp != sp || top->function != plan->traced)
		return 0;
	record->start = top->start;
	record->track = t->track + t->lane;
	record->depth = lane_now(t)->depth - 1;
	return 1;
}

/*
 * All but the sending: null, if the call is not kept. A function of its own, because the stack of
 * BPF has 512 bytes, and what walks a call's stack needs most of them.
 */
static __noinline struct inspect_scratch *take_site(struct probe_regs *ctx, __u32 number, __u64 now,
						    enum filter_answer answer)
{
	const struct inspect_plan *plan = bpf_map_lookup_elem(&inspect_plans, &number);
	struct inspect_call call = {};
	struct inspect_scratch *s;
	__u64 start = now;

	if (!plan)
		return NULL;
	s = claim();
	if (!s)
		return NULL;
	s->begins = plan->site == INSPECT_SITE_ENTRY || plan->site == INSPECT_SITE_ALONE;
	s->record.track = s->record.depth = 0;
	take_registers(s, plan, ctx);
	if (!identify(plan, ctx, ((__u64 *)s->bytes)[INSPECT_CFA], &call)) {
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_CALL_NO_GOROUTINE);
		goto out;
	}
	if (inspect_traced) {
		if (!find_traced(plan, &call, ctx->r14, &s->record))
			goto out;
		start = s->record.start;
	}
	if (!s->begins) {
		start = close_call(&call, (__u64 *)s->bytes + INSPECT_RESULT);
		if (!start)
			goto out;
	}
	if (!run_plan(s, plan))
		goto out;
	if (s->begins && plan->interval && !take_token(plan->function, plan->interval)) {
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_INSPECT_RATE);
		goto out;
	}
	if (plan->site == INSPECT_SITE_ENTRY)
		open_call(&call, now, ctx->di);
	fill_record(&s->record, now, answer);
	s->record.goroutine = plan->is_go ? call.thread : 0;
	s->record.frame = call.frame;
	s->record.start = start;
	s->record.ip = ctx->ip;
	s->record.plan = number;
	s->record.unused = 0;
	return s;
out:
	release(s);
	return NULL;
}

SEC("uprobe")
int inspect_site(struct probe_regs *ctx)
{
	enum filter_answer answer = filter_current();
	__u64 now = bpf_ktime_get_ns();
	struct inspect_scratch *s;

	if (answer == FILTER_NO)
		return 0;
	s = take_site(ctx, (__u32)bpf_get_attach_cookie(ctx), now, answer);
	if (!s)
		return 0;
	if (inspect_stacks && s->begins)
		inspect_send_stack(now);
	send(s);
	release(s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
