// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * logs: what programs write to standard output and error, to files called *.log, and to the sockets
 * of the journal and of syslog. No tracepoint tells of a write to a file or a pipe alone, so this
 * one is called as each system call of the machine ends: nearly all of them end here at once, by
 * their number. It is as the call ends that the bytes are known which were really written; the
 * program's memory has them still.
 */
#include "bpf/filter.h"
#include "bpf/logs/abi.h"
#include "bpf/sched/object.h"
#include "bpf/opaque.h"
#include "bpf/user_vectors.h"

/* Bytes a second on each CPU that are copied at most; 0: all. Set before loading. */
const volatile __u64 logs_rate = 1 << 20;

#define SECOND_NS 1000000000ull

/* Enough of the address of a socket to know it. */
#define SOCKET_WORDS 4

/* What is written, on its way into records. */
struct logs_call {
	__u64 busy;
	struct user_vectors vectors;
	struct logs_record record;
	__u8 data[2 * LOGS_COPY_MAX]; /* right behind the record; the rest is for the verifier */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct logs_call);
} logs_calls SEC(".maps");

struct logs_budget {
	__u64 since; /* the second at hand */
	__u64 bytes; /* copied in it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct logs_budget);
} logs_budgets SEC(".maps");

static __always_inline bool is_write(__u64 call)
{
	return call == SYSCALL_WRITE || call == SYSCALL_WRITEV || call == SYSCALL_SENDTO ||
	       call == SYSCALL_SENDMSG || call == SYSCALL_PWRITE64 || call == SYSCALL_PWRITEV ||
	       call == SYSCALL_PWRITEV2;
}

/* -- where it goes ----------------------------------------------------------------------------- */

/* A file whose name ends in ".log". */
static __always_inline bool is_log(struct file___object *file)
{
	struct dentry___object *dentry = BPF_CORE_READ(file, f_path.dentry);
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	__u32 length = BPF_CORE_READ(dentry, d_name.hash_len) >> 32, end = 0;

	return length > 4 && !bpf_probe_read_kernel(&end, sizeof(end), name + length - 4) &&
	       end == ('.' | 'l' << 8 | 'o' << 16 | 'g' << 24);
}

/* By the beginning of a socket's address, filled up with zeros; 0: not that of a log. */
static __always_inline __u8 kind_of_address(const __u64 *words)
{
	if (words[0] == NAME8('/', 'd', 'e', 'v', '/', 'l', 'o', 'g'))
		return words[1] & 0xff ? 0 : LOGS_SYSLOG;
	if (words[0] != NAME8('/', 'r', 'u', 'n', '/', 's', 'y', 's') ||
	    words[1] != NAME8('t', 'e', 'm', 'd', '/', 'j', 'o', 'u') ||
	    (__u32)words[2] != ('r' | 'n' << 8 | 'a' << 16 | 'l' << 24) ||
	    (__u8)(words[2] >> 32) != '/')
		return 0;
	switch (words[2] >> 40 & 0xffffff) {
	case 's' | 'o' << 8 | 'c' << 16: /* socket */
		return LOGS_JOURNAL;
	case 'd' | 'e' << 8 | 'v' << 16: /* dev-log */
	case 's' | 'y' << 8 | 's' << 16: /* syslog */
		return LOGS_SYSLOG;
	default:
		return 0;
	}
}

static __always_inline __u8 kind_of_peer(struct file___object *file)
{
	struct unix_sock___object *sk = (void *)object_sock(file);
	struct unix_sock___object *peer = (void *)BPF_CORE_READ(sk, peer);
	struct unix_address___object *address = BPF_CORE_READ(peer, addr);
	__u64 words[SOCKET_WORDS] = {};
	const char *text = (void *)address +
			   bpf_core_field_offset(struct unix_address___object, name) +
			   sizeof(unsigned short);

	if (!address || bpf_probe_read_kernel_str(words, sizeof(words), text) <= 0)
		return 0;
	return kind_of_address(words);
}

/* Of a socket that is connected to none: the call says where to. */
static __always_inline __u8 kind_of_name(__u64 call, struct pt_regs___call *regs)
{
	__u64 words[SOCKET_WORDS] = {}, at = 0;
	struct user_message message;

	if (call == SYSCALL_SENDTO) {
		at = REGS_CALL_ARG5(regs);
		OPAQUE(at); /* one load of either is nothing for the verifier */
	} else if (call == SYSCALL_SENDMSG &&
		   !bpf_probe_read_user(&message, sizeof(message), (void *)REGS_CALL_ARG2(regs))) {
		at = message.name;
	}
	if (!at || bpf_probe_read_user_str(words, sizeof(words),
					   (void *)(at + sizeof(unsigned short))) <= 0)
		return 0;
	return kind_of_address(words);
}

/* enum logs_kind; 0: the call wrote to something else. */
static __noinline __u8 kind_of(struct file___object *file, __u64 call, __u32 fd)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u8 descriptor, kind;

	if (fd == 1)
		return LOGS_OUTPUT;
	if (fd == 2)
		return LOGS_ERROR;
	descriptor = descriptor_of_file((__u64)file);
	if (descriptor == OFF_CPU_FD_FILE)
		return is_log(file) ? LOGS_FILE : 0;
	if (descriptor != OFF_CPU_FD_UNIX_SOCKET)
		return 0;
	kind = kind_of_peer(file);
	return kind ? kind : kind_of_name(call, regs);
}

/* -- what is written --------------------------------------------------------------------------- */

/* False: --logs-rate was reached. */
static __always_inline bool may_copy(__u64 now, __u64 bytes)
{
	__u32 key = 0;
	struct logs_budget *budget = bpf_map_lookup_elem(&logs_budgets, &key);

	if (!logs_rate || !budget)
		return true;
	if (now - budget->since >= SECOND_NS) {
		budget->since = now;
		budget->bytes = 0;
	}
	if (budget->bytes >= logs_rate)
		return false;
	budget->bytes += bytes;
	return true;
}

struct copying {
	struct logs_call *call;
	__u32 from, want, done; /* bytes: to pass over, to copy in all, copied */
};

static long copy_step(__u32 i, void *context)
{
	struct copying *copying = context;
	struct logs_call *call = copying->call;
	const struct user_vector *vector = user_vector_at(&call->vectors, i);
	__u32 done = copying->done;
	__u64 size, base;

	if (!vector || done >= copying->want || done >= LOGS_COPY_MAX)
		return 1;
	size = vector->size;
	base = vector->base;
	if (copying->from >= size) {
		copying->from -= (__u32)size;
		return 0;
	}
	base += copying->from;
	size -= copying->from;
	copying->from = 0;
	if (size > copying->want - done)
		size = copying->want - done;
	/* the compiler knows, but not the verifier before Linux 6.3 */
	OPAQUE(size);
	if (size > LOGS_COPY_MAX)
		return 1;
	if (bpf_probe_read_user(&call->data[done], size, (void *)base))
		return 1;
	copying->done = done + size;
	return 0;
}

static __always_inline void send(struct logs_call *call)
{
	struct logs_record *record = &call->record;
	void *ring = capture_ring();
	__u32 copied = record->copied;

	if (!ring) {
		capture_count_loss(CAPTURE_SOURCE_LOGS, CAPTURE_LOSS_NO_RING);
		return;
	}
	if (copied > LOGS_COPY_MAX)
		copied = LOGS_COPY_MAX;
	record->head.size = sizeof(*record) + copied;
	if (capture_output(ring, CAPTURE_SOURCE_LOGS, record, sizeof(*record) + copied,
			   BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_LOGS, CAPTURE_LOSS_RING_FULL);
}

/* A call whose data goes into several records. */
struct pieces {
	struct logs_call *call;
};

static long send_piece(__u32 i, void *context)
{
	struct pieces *pieces = context;
	struct logs_call *call = pieces->call;
	struct logs_record *record = &call->record;
	__u32 left = record->length - record->offset;
	struct copying copying = {call, record->offset, left, 0};

	if (left > LOGS_COPY_MAX)
		copying.want = LOGS_COPY_MAX;
	/* most calls have one piece */
	if (!copy_step(0, &copying) && call->vectors.count > 1) {
		copying.from = record->offset;
		copying.done = 0;
		bpf_loop(USER_VECTORS_MAX, copy_step, &copying, 0);
	}
	record->copied = copying.done;
	record->is_last =
		copying.done == left || copying.done < copying.want || i + 1 == LOGS_PIECES_MAX;
	send(call);
	record->offset += copying.done;
	return record->is_last != 0;
}

/* Not static, so that the verifier looks at it once; addresses come as numbers. */
__weak __noinline int logs_read(__u64 at, __u64 kind_and_fd, __u64 length, __u32 answer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u8 kind = kind_and_fd >> 32;
	__u32 key = 0, fd = (__u32)kind_and_fd;
	struct logs_call *call = bpf_map_lookup_elem(&logs_calls, &key);
	struct pieces pieces = {call};
	struct logs_record *record;

	if (!call || __sync_val_compare_and_swap(&call->busy, 0, 1)) {
		capture_count_loss(CAPTURE_SOURCE_LOGS, CAPTURE_LOSS_SCRATCH_BUSY);
		return 0;
	}
	user_vectors_of_call(&call->vectors, task, (void *)bpf_task_pt_regs(task));
	record = &call->record;
	__builtin_memset(record, 0, sizeof(*record));
	record->head.kind = LOGS_WRITTEN;
	record->head.time = bpf_ktime_get_ns();
	record->identity.pid = task->tgid;
	record->identity.tid = task->pid;
	record->identity.thread_start = task->start_time;
	record->identity.exec_id = (__u32)task->self_exec_id;
	record->identity.undecided = answer == FILTER_ASK;
	bpf_get_current_comm(record->identity.comm, sizeof(record->identity.comm));
	record->file = at;
	record->length = length > 0x7fffffff ? 0x7fffffff : length;
	record->kind = kind;
	record->is_whole = kind == LOGS_JOURNAL || kind == LOGS_SYSLOG;
	record->object = object_of(task, (void *)at, descriptor_of_file(at), fd, LOGS_OBJECT);
	bpf_loop(LOGS_PIECES_MAX, send_piece, &pieces, 0);
	__sync_lock_test_and_set(&call->busy, 0);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(logs_written, struct pt_regs___call *regs, long written)
{
	enum filter_answer answer;
	struct pt_regs___call *entry;
	struct file___object *file;
	__u64 call = REGS_CALL(regs);
	__u32 fd;
	__u8 kind;

	if (written <= 0 || !is_write(call))
		return 0;
	answer = filter_current();
	/* numbers of calls of 32-bit programs mean other ones */
	if (answer == FILTER_NO || user_call_is_compat(bpf_get_current_task_btf()))
		return 0;
	entry = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	fd = REGS_CALL_ARG1(entry);
	file = (void *)descriptor_of_number(bpf_get_current_task_btf(), fd);
	kind = file ? kind_of(file, call, fd) : 0;
	if (!kind)
		return 0;
	if (!may_copy(bpf_ktime_get_ns(), written))
		capture_count_losses(CAPTURE_SOURCE_LOGS, CAPTURE_LOSS_LOG_RATE, 1);
	else
		logs_read((__u64)file, (__u64)kind << 32 | fd, written, answer);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
