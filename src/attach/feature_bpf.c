// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "attach/feature_probes.h"
#include "attach/kernel_types.h"
#include "attach/kfuncs.h"
#include "attach/uprobe_link.h"

#define ALLOW_BPF "run as root, or grant CAP_BPF and CAP_PERFMON"

/* The shortest program: returns 0. */
static const struct bpf_insn return_0[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	{.code = BPF_JMP | BPF_EXIT},
};

static int load_program(enum bpf_prog_type type, int attach_type, uint32_t attach_btf_id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = attach_btf_id);
	int fd = bpf_prog_load(type, "stackcam_try", "GPL", return_0,
			       sizeof(return_0) / sizeof(return_0[0]), &options);

	return fd < 0 ? -errno : fd;
}

/* Says what it means that a call to BPF failed. */
static void call_failed(struct feature *f, int err, const char *what)
{
	if (err == -EPERM || err == -EACCES)
		feature_is_missing(f, err, ALLOW_BPF, "%s is not permitted", what);
	else if (err == -ENOSYS)
		feature_is_missing(f, err, "use a kernel with CONFIG_BPF_SYSCALL",
				   "this kernel has no BPF");
	else
		feature_is_missing(f, err, "use a newer kernel", "%s fails: %s", what,
				   strerror(-err));
}

void feature_try_bpf(struct feature *f)
{
	int fd = load_program(BPF_PROG_TYPE_PERF_EVENT, 0, 0);

	if (fd < 0) {
		call_failed(f, fd, "loading a BPF program");
		return;
	}
	close(fd);
	feature_is_ok(f, "BPF programs can be loaded");
}

void feature_try_bpf_jit(struct feature *f)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = load_program(BPF_PROG_TYPE_PERF_EVENT, 0, 0);

	if (fd < 0) {
		call_failed(f, fd, "loading a BPF program");
		return;
	}
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		feature_is_unknown(f, -errno, "what became of a program cannot be asked: %s",
				   strerror(errno));
	else if (info.jited_prog_len)
		feature_is_ok(f, "BPF programs are compiled");
	else
		feature_is_missing(f, 0, "set net.core.bpf_jit_enable to 1",
				   "BPF programs are interpreted, not compiled");
	close(fd);
}

static void try_helper(struct feature *f, enum bpf_func_id helper, const char *name,
		       const char *to_do)
{
	int program = load_program(BPF_PROG_TYPE_PERF_EVENT, 0, 0), has;

	/* libbpf takes a helper for present when no program can be loaded at all */
	if (program < 0) {
		feature_is_unknown(f, program, "no BPF program can be loaded that would try it");
		return;
	}
	close(program);
	has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL);
	if (has == 1)
		feature_is_ok(f, "the helper %s is there", name);
	else if (has == 0)
		feature_is_missing(f, 0, to_do, "there is no helper %s", name);
	else
		call_failed(f, has, "loading a BPF program");
}

void feature_try_bpf_loop(struct feature *f)
{
	try_helper(f, BPF_FUNC_loop, "bpf_loop", "use Linux 5.17 or newer");
}

void feature_try_lockdown(struct feature *f)
{
	int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
	char modes[64] = "", *mode, *end;
	ssize_t n = fd < 0 ? 0 : read(fd, modes, sizeof(modes) - 1);

	if (fd >= 0)
		close(fd);
	modes[n > 0 ? n : 0] = 0;
	/* what counts is what may be done in the mode that is on */
	try_helper(f, BPF_FUNC_probe_read_kernel, "bpf_probe_read_kernel",
		   "boot with lockdown=integrity or none");
	if (f->state != FEATURE_OK)
		return;
	mode = strchr(modes, '[');
	end = mode ? strchr(mode, ']') : NULL;
	if (end)
		feature_is_ok(f, "mode %.*s: kernel memory may be read", (int)(end - mode - 1),
			      mode + 1);
	else
		feature_is_ok(f, "mode not shown (securityfs is not mounted): kernel memory may be "
				 "read");
}

void feature_try_ring_buffer(struct feature *f)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "stackcam_try", 0, 0,
				(uint32_t)sysconf(_SC_PAGESIZE), NULL);

	if (fd < 0) {
		call_failed(f, -errno, "making a ring buffer");
		return;
	}
	close(fd);
	feature_is_ok(f, "ring buffers can be made");
}

static int try_array_of_maps(int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)inner);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "stackcam_try", 4, 4, 1, &options);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

void feature_try_shared_arrays(struct feature *f)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stackcam_try", 4, (uint32_t)page, 1, &options);
	void *memory;
	int err;

	if (fd < 0) {
		call_failed(f, -errno, "making an array that can be mapped");
		return;
	}
	memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = memory == MAP_FAILED ? -errno : try_array_of_maps(fd);
	if (memory != MAP_FAILED)
		munmap(memory, page);
	close(fd);
	if (err)
		call_failed(f, err, "sharing an array with the kernel");
	else
		feature_is_ok(f, "arrays can be shared with the kernel");
}

void feature_try_tracepoints(struct feature *f)
{
	int id = libbpf_find_vmlinux_btf_id("sched_process_fork", BPF_TRACE_RAW_TP), fd, link;

	if (id < 0) {
		feature_is_missing(f, id, "use a kernel with CONFIG_DEBUG_INFO_BTF",
				   "the tracepoint sched_process_fork has no type information");
		return;
	}
	fd = load_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, (uint32_t)id);
	if (fd < 0) {
		call_failed(f, fd, "loading a program for a tracepoint");
		return;
	}
	link = bpf_raw_tracepoint_open(NULL, fd);
	if (link < 0)
		call_failed(f, -errno, "attaching to a tracepoint");
	else
		feature_is_ok(f, "programs can be attached to tracepoints");
	if (link >= 0)
		close(link);
	close(fd);
}

/* Whether a program can be loaded for a tracepoint; a negative errno with what failed in *f. */
static int try_tracepoint(struct feature *f, const char *name)
{
	int id = libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP), fd;

	if (id < 0)
		return id;
	fd = load_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, (uint32_t)id);
	if (fd < 0) {
		call_failed(f, fd, "loading a program for a tracepoint");
		return fd;
	}
	close(fd);
	return 0;
}

void feature_try_waits(struct feature *f)
{
	static const char *const needed[] = {"sched_switch", "sched_waking"};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		int err = try_tracepoint(f, needed[i]);

		if (err == -ENOENT || err == -ESRCH)
			feature_is_missing(f, err, "use a kernel with CONFIG_DEBUG_INFO_BTF",
					   "the tracepoint %s has no type information", needed[i]);
		if (err)
			return;
	}
	if (try_tracepoint(f, "sched_exit_tp"))
		feature_is_missing(f, 0, "use Linux 6.18 or newer",
				   "the kernel does not tell of the end of a switch: waits are "
				   "recorded without the kernel's frames");
	else
		feature_is_ok(f, "waits are recorded where they end, with all frames");
}

void feature_try_socket_calls(struct feature *f)
{
	static const char *const needed[] = {"sock_recv_length", "sock_send_length",
					     "inet_sock_set_state"};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		int err = try_tracepoint(f, needed[i]);

		if (err == -ENOENT || err == -ESRCH)
			feature_is_missing(f, err, "use Linux 6.3 or newer",
					   "the kernel has no tracepoint %s", needed[i]);
		if (err)
			return;
	}
	feature_is_ok(f, "what sockets move can be read");
}

/* Whether a program may stand at a function of the kernel. Returns 0 or a negative errno. */
static int try_function(const char *name)
{
	int id = libbpf_find_vmlinux_btf_id(name, BPF_TRACE_FENTRY), fd, link, err;

	if (id < 0)
		return id;
	fd = load_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, (uint32_t)id);
	if (fd < 0)
		return fd;
	link = bpf_raw_tracepoint_open(NULL, fd);
	err = link < 0 ? -errno : 0;
	if (link >= 0)
		close(link);
	close(fd);
	return err;
}

void feature_try_null_device(struct feature *f)
{
	static const char *const needed[] = {"write_null", "write_iter_null"};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		int err = try_function(needed[i]);

		if (!err)
			continue;
		feature_is_missing(f, err, "record with --markers 2",
				   "programs cannot stand at the kernel's function %s: %s",
				   needed[i], strerror(-err));
		return;
	}
	feature_is_ok(f, "writes to /dev/null can be seen, and nothing else");
}

void feature_try_task_list(struct feature *f)
{
	int id = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER), fd;

	if (id < 0) {
		feature_is_missing(f, id, "use a kernel with CONFIG_DEBUG_INFO_BTF",
				   "the list of tasks has no type information");
		return;
	}
	fd = load_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, (uint32_t)id);
	if (fd < 0) {
		call_failed(f, fd, "loading a program for the list of tasks");
		return;
	}
	close(fd);
	feature_is_ok(f, "programs can read the list of tasks");
}

void feature_try_perf_bpf(struct feature *f)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1,
	};
	int program = load_program(BPF_PROG_TYPE_PERF_EVENT, 0, 0), event;

	if (program < 0) {
		call_failed(f, program, "loading a BPF program");
		return;
	}
	event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		call_failed(f, -errno, "opening a perf event");
	else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program))
		call_failed(f, -errno, "attaching a BPF program to a perf event");
	else
		feature_is_ok(f, "BPF programs can be attached to perf events");
	if (event >= 0)
		close(event);
	close(program);
}

/*
 * Asks for a probe in "/", which is not a file that could hold one: a kernel that knows the attach
 * type gets as far as to look at the path and says EBADF.
 */
static void try_uprobe_link(struct feature *f, uint32_t attach_type, const char *to_do)
{
	int program = load_program(BPF_PROG_TYPE_KPROBE, (int)attach_type, 0), err = 0;
	uint64_t offset = 0;
	struct uprobe_link link = {
		.program = (uint32_t)program,
		.attach_type = attach_type,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};
	int fd;

	if (program == -EINVAL) {
		feature_is_missing(f, program, to_do, "this kernel does not know it");
		return;
	}
	if (program < 0) {
		call_failed(f, program, "loading a program for uprobes");
		return;
	}
	fd = uprobe_link_create(&link);
	if (fd < 0)
		err = fd;
	else
		close(fd);
	close(program);
	if (fd >= 0 || err == -EBADF)
		feature_is_ok(f, "this kernel has it");
	else if (err == -EPERM || err == -EACCES)
		call_failed(f, err, "attaching uprobes");
	else
		feature_is_missing(f, err, to_do, "this kernel does not know it");
}

void feature_try_uprobe_multi(struct feature *f)
{
	try_uprobe_link(f, ATTACH_UPROBE_MULTI, "use Linux 6.6 or newer");
}

void feature_try_uprobe_session(struct feature *f)
{
	try_uprobe_link(f, ATTACH_UPROBE_SESSION, "use Linux 6.13 or newer");
}

static bool has_kfunc(const struct btf *kernel, const struct btf *own, const char *name)
{
	return kfunc_state(kernel, own, name) >= KFUNC_POINTERS;
}

static void lacks_kfunc(struct feature *f, const char *name)
{
	feature_is_missing(f, -EOPNOTSUPP, "use Linux 6.18 or newer",
			   "this kernel has no %s() that stackcam knows", name);
}

/*
 * The kernel lets BPF programs wait on a thread's way to user mode, and says where a file is going
 * to be mapped.
 */
void feature_try_hold(struct feature *f)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *own = kernel_types_of_probes();

	if (!kernel || !own) {
		feature_is_unknown(f, -errno, "the kernel's types cannot be read");
		goto out;
	}
	feature_is_ok(f, "programs wait until their probes are set");
	/* its name since 7.0, and the one before */
	if (!has_kfunc(kernel, own, "bpf_task_work_schedule_resume") &&
	    !has_kfunc(kernel, own, "bpf_task_work_schedule_resume_impl"))
		lacks_kfunc(f, "bpf_task_work_schedule_resume");
	if (!has_kfunc(kernel, own, "bpf_task_from_pid"))
		lacks_kfunc(f, "bpf_task_from_pid");
	if (btf__find_by_name_kind(kernel, "btf_trace_vm_unmapped_area", BTF_KIND_TYPEDEF) < 0)
		feature_is_missing(f, -EOPNOTSUPP, "use Linux 6.18 or newer",
				   "this kernel lacks btf_trace_vm_unmapped_area");
out:
	btf__free(own);
	btf__free(kernel);
}
