// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * deaths: the last stack of each thread of a process that dies of a signal. The kernel tells of a
 * signal as it is delivered, in the thread that it is for, before anything of the process is gone;
 * and when a process ends as a whole, it delivers SIGKILL to each of its other threads.
 */
#include "bpf/capture/capture.h"
#include "bpf/sched/deaths_abi.h"
#include "bpf/sched/deaths_oom.h"
#include "bpf/sched/descriptor.h"
#include "bpf/filter.h"

/* asm/signal.h, asm-generic/siginfo.h */
#define SIGBUS_	   7
#define SIGKILL_   9
#define SIGFPE_	   8
#define SIGILL_	   4
#define SIGSEGV_   11
#define SIGPIPE_   13
#define EPIPE_	   32 /* asm-generic/errno-base.h */
#define SI_USER_   0
#define SI_QUEUE_  (-1)
#define SI_TKILL_  (-6)
#define SI_KERNEL_ 0x80

/* Those that end no process if it does nothing about them: SIGCHLD, SIGCONT, SIGSTOP … SIGWINCH. */
#define BIT(number) (1ull << (number))
#define HARMLESS    (BIT(17) | BIT(18) | BIT(19) | BIT(20) | BIT(21) | BIT(22) | BIT(23) | BIT(28))

/* The beginning of the kernel's and of the user's siginfo, which is an interface (sigaction(2)). */
struct deaths_info {
	int number, error, code, unused;
	union {
		__u64 address;
		int pid;
	};
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct___deaths {
	int group_exit_code;
	unsigned int flags;
};

#pragma clang attribute pop

/* linux/sched/signal.h: the process ends as a whole */
#define SIGNAL_GROUP_EXIT 0x00000004

static __always_inline bool is_fault(int number)
{
	return number == SIGSEGV_ || number == SIGBUS_ || number == SIGFPE_ || number == SIGILL_;
}

/* What is known of where the signal comes from; 0 and no flag: nothing. */
static __always_inline __u64 origin(__u64 info, int number, __u64 *value)
{
	struct deaths_info known = {};

	/* instead of an address, the kernel may have a small number there: none can be read */
	if (bpf_probe_read_kernel(&known, sizeof(known), (void *)info))
		return 0;
	if (known.code == SI_USER_ || known.code == SI_TKILL_) {
		*value = (__u32)known.pid;
		return DEATHS_HAS_SENDER;
	}
	if (!is_fault(number) || known.code <= 0 || known.code == SI_KERNEL_)
		return 0;
	*value = known.address;
	return DEATHS_HAS_ADDRESS;
}

/*
 * Of a thread whose process dies of SIGPIPE, which the kernel delivers as SIGKILL: what it adds to
 * the key if it is the one that wrote. All system calls that do, but for splice(2) and tee(2), have
 * the descriptor as their first argument.
 */
static __noinline __u64 of_writer(struct task_struct *task)
{
	struct probe_regs *entry = (void *)bpf_task_pt_regs(task);
	struct file___descriptor *file;
	unsigned long fd = 0;
	long result = 0;

	if (bpf_probe_read_kernel(&result, sizeof(result), &REGS_CALL_RESULT(entry)) ||
	    result != -EPIPE_ || bpf_probe_read_kernel(&fd, sizeof(fd), &REGS_CALL_ARG1(entry)))
		return 0;
	file = descriptor_of_number(task, (__u32)fd);
	if (file && (BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE) == MODE_PIPE)
		return DEATHS_OWN | DEATHS_PIPE;
	return DEATHS_OWN;
}

static __always_inline void user_stack(struct capture_scratch *scratch, struct task_struct *task)
{
	if (!want_user || task->flags & PF_KTHREAD || !task->mm)
		return;
	if (!capture_registers(scratch, task))
		return;
	/* no system call, but an exception: that may be of a probe's copy of an instruction */
	if (REGS_CALL(&scratch->entry) == ~0ul)
		uprobes_undo_breakpoint(&scratch->walk, task);
	capture_wants_walk(scratch);
}

/*
 * The signal of which the current process dies, if it is dying; 0: it is not, or ends by itself.
 */
static __always_inline __u32 signal_of_process(struct task_struct *task)
{
	struct signal_struct___deaths *all = (void *)BPF_CORE_READ(task, signal);

	return BPF_CORE_READ(all, group_exit_code) & 0x7f;
}

/*
 * What is sent behind the frames of a thread that the OOM killer has ended; returns how many words
 * that are. A function of its own, as it has a stack of its own.
 */
static __noinline __u32 put_oom(struct capture_scratch *scratch)
{
	struct deaths_oom oom = {};

	oom_read(bpf_get_current_task_btf(), &oom);
	__builtin_memcpy(scratch->behind, &oom, sizeof(oom));
	return sizeof(oom) / 8;
}

/* Which process has sent the last signal to which one, by the number of the latter. */
struct deaths_sender {
	__u32 signal, pid;
	char name[DEATHS_NAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct deaths_sender);
} deaths_senders SEC(".maps");

/* int sig, struct kernel_siginfo *info, struct task_struct *task, int group, int result */
SEC("tp_btf/signal_generate")
int deaths_generated(__u64 *ctx)
{
	struct deaths_sender sender = {.signal = (__u32)ctx[0]};
	struct task_struct *task = (void *)ctx[2];
	__u64 info = ctx[1];
	__u32 key;

	/* small numbers stand for a siginfo: 0 of a process, and 1 of the kernel */
	if (sender.signal < 1 || sender.signal > 64 || info == 1 ||
	    (sender.signal < 64 && HARMLESS & BIT(sender.signal)))
		return 0;
	if (info) {
		struct deaths_info known = {};

		if (bpf_probe_read_kernel(&known, sizeof(known), (void *)info) ||
		    (known.code != SI_USER_ && known.code != SI_TKILL_ && known.code != SI_QUEUE_))
			return 0;
	}
	key = BPF_CORE_READ(task, tgid);
	sender.pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(sender.name, sizeof(sender.name));
	bpf_map_update_elem(&deaths_senders, &key, &sender, BPF_ANY);
	return 0;
}

/* Puts the sender's name behind the frames; what it adds to the key. */
static __noinline __u64 put_sender(struct capture_scratch *scratch, __u32 signal)
{
	__u32 key = bpf_get_current_pid_tgid() >> 32;
	const struct deaths_sender *sender = bpf_map_lookup_elem(&deaths_senders, &key);

	if (!scratch || !sender || sender->signal != signal)
		return 0;
	__builtin_memcpy(scratch->behind, sender->name, sizeof(sender->name));
	scratch->record.identity.value = sender->pid;
	return DEATHS_HAS_SENDER | DEATHS_SENDER_NAMED;
}

/* How many words are behind the frames. */
static __always_inline __u32 put_behind(struct capture_scratch *scratch, __u64 *key)
{
	if (*key & DEATHS_OOM)
		return put_oom(scratch);
	if (!(*key & DEATHS_HAS_ADDRESS))
		*key |= put_sender(scratch, *key & DEATHS_SIGNAL);
	return *key & DEATHS_SENDER_NAMED ? DEATHS_NAME / 8 : 0;
}

/* int sig, struct kernel_siginfo *info, struct k_sigaction *ka */
SEC("tp_btf/signal_deliver")
int deaths_signal(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct k_sigaction *action = (void *)ctx[2];
	int number = (int)ctx[0];
	__u64 value = 0, key = (__u32)number & DEATHS_SIGNAL;
	struct capture_scratch *scratch;
	enum filter_answer answer;
	__u32 behind;

	if (number < 1 || number > 64 || (number < 64 && HARMLESS & BIT(number)))
		return 0;
	if (BPF_CORE_READ(action, sa.sa_handler))
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO)
		return 0;
	if (number == SIGKILL_) {
		/* the process ends: of a signal, or as it wants to */
		key = signal_of_process(task);
		if (!key)
			return 0;
		key |= key == SIGPIPE_ ? of_writer(task) : oom_is(task) ? DEATHS_OOM : 0;
	} else {
		key |= DEATHS_OWN | origin(ctx[1], number, &value);
	}
	scratch = capture_begin(CAPTURE_SOURCE_DEATHS, CAPTURE_WALKER_SIGNAL);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, DEATHS_THREAD, task, value);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	behind = put_behind(scratch, &key);
	scratch->record.identity.key = key;
	user_stack(scratch, task);
	capture_walk(ctx, scratch, &walk_signal, 0, behind, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
