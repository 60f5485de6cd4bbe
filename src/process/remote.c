// SPDX-License-Identifier: Apache-2.0
#include "process/remote.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/remote_frame.h"
#include "base/buf.h"
#include "base/clock.h"
#include "process/procfs.h"

/*
 * How long a thread may take to stop, and, on a busy machine, to make a call: to leave it alone in
 * the middle costs it an EINTR.
 */
#define STOP_NS	   1000000000ull
#define CALL_NS	   10000000000ull
#define MAPS_LIMIT (16u << 20)

/* A thread that cannot be stopped where it is: how often it is tried again, and when. */
#define TRIES	   50
#define TRIES_NS   10000000
#define STATUS_MAX 65536

/* -- memory ------------------------------------------------------------------------------------ */

int remote_read(pid_t pid, void *to, size_t size, uint64_t address)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return got < 0 ? -errno : (size_t)got == size ? 0 : -EFAULT;
}

int remote_write(pid_t pid, const void *from, size_t size, uint64_t address)
{
	struct iovec here = {(void *)(uintptr_t)from, size};
	struct iovec there = {(void *)(uintptr_t)address, size};
	ssize_t put = process_vm_writev(pid, &here, 1, &there, 1, 0);

	return put < 0 ? -errno : (size_t)put == size ? 0 : -EFAULT;
}

/* -- stops ------------------------------------------------------------------------------------- */

/* No event can be waited for with a bound: waitpid(2) has none. */
static int wait_stop(pid_t pid, uint64_t most, int *status)
{
	const struct timespec pause = {.tv_nsec = 20000};
	uint64_t until = clock_ns() + most;

	for (;;) {
		pid_t got = waitpid(pid, status, __WALL | WNOHANG);

		if (got < 0)
			return errno == EINTR ? -EAGAIN : -ESRCH;
		if (got == pid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (clock_ns() >= until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

static bool is_event(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

static bool is_fault(int status)
{
	return status >> 16 == 0 && (WSTOPSIG(status) == SIGSEGV || WSTOPSIG(status) == SIGBUS);
}

static bool is_system_call(int status)
{
	return status >> 16 == 0 && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* -- whether it may be ------------------------------------------------------------------------- */

static uint64_t status_number(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

int remote_check(pid_t pid, struct fail *why)
{
	struct buf text = {0};
	int err = procfs_read(pid, "status", STATUS_MAX, &text);

	if (err)
		err = fail_errno(why, err, NULL, "cannot read the status of process %d", (int)pid);
	else if (status_number((char *)text.at, "\nSeccomp:", 10))
		err = fail(why, -EPERM, NULL, "process %d filters its system calls (seccomp)",
			   (int)pid);
	else if (status_number((char *)text.at, "\nTracerPid:", 10))
		err = fail(why, -EPERM, NULL, "process %d has a debugger", (int)pid);
	else if (arch_has_shadow_stack((const char *)text.at))
		err = fail(why, -ENOTSUP, NULL, "process %d has a shadow stack", (int)pid);
	buf_free(&text);
	return err;
}

/* A restartable sequence would not be restarted: rseq(2). */
static bool is_in_sequence(pid_t pid)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	uint64_t sequence = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, pid, sizeof(rseq), &rseq) < 0 || !rseq.address)
		return false;
	return !remote_read(pid, &sequence, sizeof(sequence), rseq.address + 8) && sequence;
}

/* -- places ------------------------------------------------------------------------------------ */

struct places {
	pid_t pid;
	uint64_t call_at, return_at;
	uint64_t stack, stack_end;
};

#define CODE_MAX (8u << 20)

static void look_at_code(struct places *places, const struct procfs_mapping *mapping)
{
	uint64_t size = mapping->end - mapping->start;
	const uint8_t *at;
	uint8_t *code;

	if ((places->call_at && places->return_at) || size > CODE_MAX)
		return;
	code = malloc(size);
	if (code && !remote_read(places->pid, code, size, mapping->start)) {
		at = arch_find_call(code, size);
		if (at && !places->call_at)
			places->call_at = mapping->start + (uint64_t)(at - code);
		at = arch_find_sigreturn(code, size);
		if (at && !places->return_at)
			places->return_at = mapping->start + (uint64_t)(at - code);
	}
	free(code);
}

static int find_places(struct places *places)
{
	struct buf text = {0};
	char *line, *rest = NULL;
	int err = procfs_read(places->pid, "maps", MAPS_LIMIT, &text);

	if (err && err != -EFBIG)
		return err;
	for (line = strtok_r((char *)text.at, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct procfs_mapping mapping;

		if (!procfs_parse_mapping(line, &mapping))
			continue;
		if (mapping.executable && mapping.readable && !mapping.writable && mapping.inode)
			look_at_code(places, &mapping);
		if (!strcmp(mapping.path, "[stack]")) {
			places->stack = mapping.start;
			places->stack_end = mapping.end;
		}
	}
	buf_free(&text);
	return places->call_at && places->return_at ? 0 : -ENOTSUP;
}

/* -- beginning --------------------------------------------------------------------------------- */

/* What it is to go on with if nothing more comes: as a signal handler would leave it. */
static struct arch_user_regs restarted(const struct arch_user_regs *was)
{
	struct arch_user_regs regs = *was;

	if (arch_regs_call(was) < 0)
		return regs;
	switch (-arch_regs_result(was)) {
	case 512: /* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND of the kernel */
	case 513:
	case 514:
		arch_regs_repeat(&regs);
		break;
	case 516: /* ERESTART_RESTARTBLOCK: what it would go on with is forgotten */
		arch_regs_set_result(&regs, -EINTR);
		break;
	}
	return regs;
}

/*
 * System calls that end with EINTR where a thread is stopped, though no signal is delivered
 * (signal(7)), and that have done nothing then.
 */
static bool ends_early(uint64_t number)
{
	switch (number) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	/* of inotify, or with a time limit of the socket's */
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	default:
		return false;
	}
}

static bool has_signal(pid_t pid, uint64_t mask)
{
	struct buf text = {0};
	uint64_t pending = ~0ull;

	if (!procfs_read(pid, "status", STATUS_MAX, &text))
		pending = status_number((const char *)text.at, "\nSigPnd:", 16) |
			  status_number((const char *)text.at, "\nShdPnd:", 16);
	buf_free(&text);
	return pending & ~mask;
}

/*
 * Such a call is made again, with its time limit from the beginning, unless a signal waits: as if
 * it began only now.
 */
static void repeat_call(struct remote *remote)
{
	struct arch_user_regs *regs = &remote->was;

	if (arch_regs_call(regs) < 0 || arch_regs_result(regs) != -EINTR ||
	    !ends_early((uint64_t)arch_regs_call(regs)) || has_signal(remote->pid, remote->mask))
		return;
	arch_regs_repeat(regs);
	arch_regs_forget_call(regs);
}

/* The red zone, the frame, and what functions and the caller may use. */
static int lay_out(struct remote *remote, const struct places *places)
{
	const size_t size = remote_frame_size(remote->extended_size);
	const struct arch_user_regs regs = restarted(&remote->was);
	uint64_t sp = arch_regs_sp(&remote->was);
	uint8_t *frame;
	int err;

	if (sp >= places->stack_end || sp < places->stack + 2 * REMOTE_DATA + 4096 + size)
		return -EAGAIN;
	remote->frame_at = remote_frame_place(sp - ARCH_RED_ZONE, size);
	remote->data_at = (remote->frame_at - 8192 - REMOTE_DATA) & ~15ul;
	if (remote->data_at < places->stack)
		return -EAGAIN;
	frame = calloc(1, size);
	if (!frame)
		return -ENOMEM;
	remote_frame_fill(frame, remote->frame_at, remote->return_at, &regs, remote->mask,
			  remote->extended, remote->extended_size);
	err = remote_write(remote->pid, frame, size, remote->frame_at);
	free(frame);
	return err;
}

static int read_registers(struct remote *remote)
{
	struct iovec extended;
	int err;

	remote->extended = malloc(ARCH_EXTENDED_MAX);
	extended = (struct iovec){remote->extended, ARCH_EXTENDED_MAX};
	if (!remote->extended)
		return -ENOMEM;
	err = arch_regs_read(remote->pid, &remote->was);
	if (err)
		return err;
	if (ptrace(PTRACE_GETSIGMASK, remote->pid, sizeof(remote->mask), &remote->mask) < 0 ||
	    ptrace(PTRACE_GETREGSET, remote->pid, ARCH_EXTENDED_SET, &extended) < 0)
		return -errno;
	remote->extended_size = extended.iov_len;
	return arch_regs_are_of_64_bits(&remote->was) && extended.iov_len >= ARCH_EXTENDED_MIN &&
			       extended.iov_len < ARCH_EXTENDED_MAX
		       ? 0
		       : -ENOTSUP;
}

static int set_nothing(struct remote *remote);

/*
 * In this order the frame sets back what is changed, if the caller is killed in between. A fault
 * that is blocked would take the process's handler away.
 */
static int block_signals(struct remote *remote)
{
	const uint64_t most = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1));
	int err = set_nothing(remote);

	if (!err && ptrace(PTRACE_SETSIGMASK, remote->pid, sizeof(most), &most) < 0)
		err = -errno;
	return err;
}

static int stop(pid_t pid, struct fail *why)
{
	int status, err;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		return fail_errno(why, -errno, NULL, "cannot stop process %d for a moment",
				  (int)pid);
	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
		return fail_errno(why, -errno, NULL, "cannot stop process %d for a moment",
				  (int)pid);
	err = wait_stop(pid, STOP_NS, &status);
	if (err)
		return fail(why, err == -ESRCH ? err : -EAGAIN, NULL,
			    "process %d does not stop: it waits in the kernel", (int)pid);
	if (is_event(status))
		return 0;
	/* a signal has come before: it is delivered, or the process stays stopped */
	ptrace(PTRACE_DETACH, pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	return fail(why, -EAGAIN, NULL, "process %d is stopped, or has got a signal", (int)pid);
}

static int prepare(struct remote *remote, const struct places *places, struct fail *why)
{
	int err = read_registers(remote);

	if (err)
		return fail(why, err, NULL, "process %d does not run 64-bit code",
			    (int)remote->pid);
	if (arch_regs_call(&remote->was) < 0 && is_in_sequence(remote->pid))
		return fail(why, -EAGAIN, NULL, "process %d is in a restartable sequence",
			    (int)remote->pid);
	repeat_call(remote);
	err = lay_out(remote, places);
	if (err)
		return fail(why, -EAGAIN, NULL,
			    "the first thread of process %d does not run on its own stack",
			    (int)remote->pid);
	return 0;
}

int remote_begin(struct remote *remote, pid_t pid, struct fail *why)
{
	struct places places = {.pid = pid};
	int err = remote_check(pid, why);

	*remote = (struct remote){.pid = pid};
	if (err)
		return err;
	err = find_places(&places);
	if (err)
		return fail(why, err, NULL,
			    "process %d has no system call that could be used: it has no C library",
			    (int)pid);
	remote->call_at = places.call_at;
	remote->return_at = places.return_at;
	err = stop(pid, why);
	if (err)
		return err;
	remote->since = clock_ns();
	err = prepare(remote, &places, why);
	if (!err && (err = block_signals(remote)))
		fail_errno(why, err, NULL, "cannot stop process %d for a moment", (int)pid);
	if (!err)
		return 0;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	free(remote->extended);
	return err;
}

/* -- calls ------------------------------------------------------------------------------------- */

/*
 * The next stop at a system call. SIGSTOP, which cannot be blocked, is delivered in the end.
 * -EFAULT: it has touched what is not there.
 */
static int next_call(struct remote *remote, struct arch_user_regs *regs)
{
	int status, err;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, remote->pid, 0, 0) < 0)
			return -errno;
		err = wait_stop(remote->pid, CALL_NS, &status);
		if (err)
			return err;
		if (is_system_call(status))
			break;
		if (status >> 16)
			continue;
		if (WSTOPSIG(status) == SIGSTOP) {
			remote->pending = SIGSTOP;
			continue;
		}
		return is_fault(status) ? -EFAULT : -EIO;
	}
	return arch_regs_read(remote->pid, regs);
}

static int set(struct remote *remote, struct arch_user_regs *regs)
{
	struct arch_user_regs other;
	int err;

	arch_regs_begin(regs, remote->frame_at);
	err = arch_regs_write(remote->pid, regs);
	if (err || !remote->is_returning)
		return err;
	/* rt_sigreturn(2), which was about to begin, is left out with that: it only ends */
	remote->is_returning = false;
	err = next_call(remote, &other);
	return err ? err : arch_regs_write(remote->pid, regs);
}

int remote_system_call(struct remote *remote, long number, const uint64_t arguments[6],
		       int64_t *result)
{
	struct arch_user_regs regs = remote->was;
	int err;

	arch_regs_set_call(&regs, remote->call_at, number, arguments);
	err = set(remote, &regs);
	/* where it begins, and where it ends */
	err = err ? err : next_call(remote, &regs);
	err = err ? err : next_call(remote, &regs);
	*result = err ? 0 : arch_regs_result(&regs);
	return err;
}

int remote_function(struct remote *remote, uint64_t function, uint64_t first, uint64_t second)
{
	struct arch_user_regs regs = remote->was;
	int err;

	arch_regs_set_function(&regs, function, first, second);
	err = set(remote, &regs);
	do {
		err = err ? err : next_call(remote, &regs);
	} while (!err && arch_regs_call(&regs) != SYS_rt_sigreturn);
	/* it stays where that begins: if the caller is killed here, the thread returns */
	remote->is_returning = !err;
	return err;
}

/* Registers for a call that does nothing. */
static int set_nothing(struct remote *remote)
{
	static const uint64_t nothing[6];
	struct arch_user_regs regs = remote->was;

	arch_regs_set_call(&regs, remote->call_at, SYS_getpid, nothing);
	return set(remote, &regs);
}

/*
 * Where a system call was interrupted, the kernel repeats it if the thread goes on from a stop for
 * signals, not from one at the end of a system call.
 */
uint64_t remote_end(struct remote *remote)
{
	struct iovec extended = {remote->extended, remote->extended_size};
	pid_t pid = remote->pid;
	int status = 0;
	bool done;

	/* else rt_sigreturn(2) would make the kernel forget what it is to go on with */
	if (remote->is_returning)
		set_nothing(remote);
	done = ptrace(PTRACE_INTERRUPT, pid, 0, 0) >= 0 && ptrace(PTRACE_CONT, pid, 0, 0) >= 0 &&
	       !wait_stop(pid, CALL_NS, &status);
	while (done && !is_event(status)) {
		remote->pending = WSTOPSIG(status) == SIGSTOP ? SIGSTOP : remote->pending;
		done = ptrace(PTRACE_CONT, pid, 0, 0) >= 0 && !wait_stop(pid, CALL_NS, &status);
	}
	/* in this order the frame sets back what was not */
	if (done && ptrace(PTRACE_SETREGSET, pid, ARCH_EXTENDED_SET, &extended) >= 0 &&
	    ptrace(PTRACE_SETSIGMASK, pid, sizeof(remote->mask), &remote->mask) >= 0)
		arch_regs_write(pid, &remote->was);
	if (done)
		ptrace(PTRACE_DETACH, pid, 0, 0);
	if (remote->pending)
		kill(pid, remote->pending);
	free(remote->extended);
	return clock_ns() - remote->since;
}

struct attempt {
	int (*run)(void *context);
	void *context;
	int err;
};

static void *run_attempt(void *context)
{
	struct attempt *attempt = context;

	attempt->err = attempt->run(attempt->context);
	return NULL;
}

int remote_attempt(int (*run)(void *context), void *context, struct fail *why)
{
	const struct timespec pause = {.tv_nsec = TRIES_NS};
	struct attempt attempt = {.run = run, .context = context, .err = -EAGAIN};
	pthread_t thread;

	for (int i = 0; i < TRIES && (attempt.err == -EAGAIN || attempt.err == -EFAULT); i++) {
		if (i)
			nanosleep(&pause, NULL);
		if (pthread_create(&thread, NULL, run_attempt, &attempt))
			return fail(why, -ENOMEM, NULL, "cannot start a thread");
		pthread_join(thread, NULL);
	}
	return attempt.err;
}
