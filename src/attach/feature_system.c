// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/magic.h>

#include "attach/breakpoints.h"
#include "attach/feature_probes.h"
#include "process/procfs.h"
#include "process/sideband.h"

#define KERNEL_MAJOR	  6
#define KERNEL_MINOR	  1

#define DEFAULT_FREQUENCY 99

/* The kernel's PROC_PID_INIT_INO; <linux/nsfs.h> has it as PID_NS_INIT_INO since 6.18. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

/* Programs and libraries of a large machine. */
#define DESCRIPTORS_WANTED 4096

void feature_try_kernel(struct feature *f)
{
	unsigned int major_number, minor_number;
	struct utsname machine;

	if (uname(&machine) ||
	    sscanf(machine.release, "%u.%u", &major_number, &minor_number) != 2) {
		feature_is_unknown(f, -EINVAL, "the kernel does not say its version");
		return;
	}
	if (major_number > KERNEL_MAJOR ||
	    (major_number == KERNEL_MAJOR && minor_number >= KERNEL_MINOR))
		feature_is_ok(f, "Linux %s on %s", machine.release, machine.machine);
	else
		feature_is_missing(f, 0, "use Linux 6.1 or newer", "Linux %s is too old",
				   machine.release);
}

/*
 * Probes see the numbers that processes have in the first PID namespace of the machine, and /proc
 * shows those of its own: in another namespace, a sample would get no process, or a wrong one.
 */
void feature_try_process_numbers(struct feature *f)
{
	struct stat own;

	if (stat("/proc/self/ns/pid", &own))
		feature_is_unknown(f, -errno, "/proc/self/ns/pid cannot be read: %s",
				   strerror(errno));
	else if (own.st_ino == FIRST_PID_NAMESPACE)
		feature_is_ok(f, "processes have the numbers here that the kernel uses");
	else
		feature_is_missing(
			f, 0,
			"run stackcam on the machine itself, or in a container that "
			"shares its processes (docker run --pid=host, hostPID: true)",
			"this is a PID namespace of its own, as containers have: "
			"processes have other numbers here than the kernel's probes see");
}

void feature_try_btf(struct feature *f)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";

	if (!access(path, R_OK))
		feature_is_ok(f, "the kernel's types are in %s", path);
	else
		feature_is_missing(f, -errno,
				   "use a kernel with CONFIG_DEBUG_INFO_BTF, with /sys mounted",
				   "%s: %s", path, strerror(errno));
}

static bool read_number(const char *path, long *value)
{
	struct buf text = {0};
	bool read =
		!procfs_read_file(path, 64, &text) && sscanf((char *)text.at, "%ld", value) == 1;

	buf_free(&text);
	return read;
}

void feature_try_perf_cpu(struct feature *f)
{
	struct sideband *sideband;
	struct fail why = {0};
	long paranoid = 0;
	int err = sideband_open(1, &sideband, &why);

	if (!read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid)) {
		feature_is_missing(f, err, "use a kernel with CONFIG_PERF_EVENTS",
				   "this kernel has no perf events");
		if (!err)
			sideband_close(sideband);
		return;
	}
	if (err) {
		feature_is_missing(f, err, why.to_do, "%.180s (perf_event_paranoid is %ld)",
				   why.what, paranoid);
		return;
	}
	sideband_close(sideband);
	feature_is_ok(f, "whole CPUs can be watched (perf_event_paranoid is %ld)", paranoid);
}

void feature_try_breakpoints(struct feature *f)
{
	struct fail why = {0};
	int err = breakpoints_try(&why);

	if (err)
		feature_is_missing(f, err, why.to_do, "%.180s", why.what);
	else
		feature_is_ok(f, "breakpoints of the CPU can be set, and are hit");
}

void feature_try_cycles(struct feature *f)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		feature_is_missing(
			f, -errno, NULL,
			"this machine has no hardware counter of cycles (%s): the timer cpu-clock "
			"samples instead",
			strerror(errno));
		return;
	}
	close((int)fd);
	feature_is_ok(f, "the CPU counts its cycles");
}

void feature_try_sample_rate(struct feature *f)
{
	static const char path[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	long rate, percent;

	if (!read_number(path, &rate) ||
	    !read_number("/proc/sys/kernel/perf_cpu_time_max_percent", &percent)) {
		feature_is_unknown(f, -errno, "%s cannot be read", path);
		return;
	}
	if (rate < DEFAULT_FREQUENCY)
		feature_is_missing(f, 0,
				   "raise kernel.perf_event_max_sample_rate, or use a lower -F",
				   "the kernel allows %ld samples a second", rate);
	else if (percent <= 0 || percent >= 100)
		feature_is_ok(f, "at most %ld samples a second and CPU", rate);
	else
		feature_is_ok(f,
			      "at most %ld samples a second and CPU, fewer if they take more than "
			      "%ld %% of its time",
			      rate, percent);
}

void feature_try_kernel_symbols(struct feature *f)
{
	unsigned long long address = 0;
	struct buf text = {0};
	long restricted = 0;
	int err = procfs_read_file("/proc/kallsyms", 4096, &text);

	if (!err || err == -EFBIG)
		for (char *line = (char *)text.at; line && !address; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (sscanf(line, "%llx", &address) != 1)
				address = 0;
		}
	buf_free(&text);
	read_number("/proc/sys/kernel/kptr_restrict", &restricted);
	if (address)
		feature_is_ok(f, "/proc/kallsyms shows addresses (kptr_restrict is %ld)",
			      restricted);
	else if (err && err != -EFBIG)
		feature_is_missing(f, err, "use a kernel with CONFIG_KALLSYMS",
				   "/proc/kallsyms cannot be read: %s", strerror(-err));
	else
		feature_is_missing(f, -EPERM,
				   restricted > 1 ? "set kernel.kptr_restrict to 1 or 0"
						  : "run as root, or grant CAP_SYSLOG",
				   "/proc/kallsyms hides addresses (kptr_restrict is %ld)",
				   restricted);
}

/* The kernel's own link to some file that this process has mapped; "" if there is none. */
static void own_mapping_link(char *maps, char *path, size_t size)
{
	struct procfs_mapping m;
	char *line;

	*path = 0;
	while ((line = strsep(&maps, "\n"))) {
		/* only mappings of files have such a link */
		if (!procfs_parse_mapping(line, &m) || m.path[0] != '/')
			continue;
		snprintf(path, size, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, m.start, m.end);
		return;
	}
}

void feature_try_map_files(struct feature *f)
{
	struct buf text = {0};
	char path[80];
	int fd = -1, err;

	err = procfs_read(getpid(), "maps", 65536, &text);
	if (!err || err == -EFBIG) {
		own_mapping_link((char *)text.at, path, sizeof(path));
		fd = open(path, O_PATH | O_CLOEXEC);
		err = fd < 0 ? -errno : 0;
	}
	buf_free(&text);
	if (fd >= 0) {
		close(fd);
		feature_is_ok(f, "mapped files can be reached by the kernel's own links");
		return;
	}
	feature_is_missing(f, err, "run as root, or grant CAP_CHECKPOINT_RESTORE",
			   "/proc/PID/map_files cannot be followed: %s", strerror(-err));
}

static int read_capabilities(uint64_t *effective)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*effective = data[0].effective | (uint64_t)data[1].effective << 32;
	return 0;
}

struct walk {
	struct buf text;
	unsigned int readable, denied;
};

static void try_process(void *context, pid_t pid)
{
	struct walk *walk = context;
	int err = procfs_read(pid, "maps", 1, &walk->text);

	walk->readable += !err || err == -EFBIG;
	walk->denied += err == -EACCES || err == -EPERM;
}

void feature_try_other_processes(struct feature *f)
{
	struct walk walk = {0};
	int err = procfs_each_number("/proc", try_process, &walk);
	uint64_t effective = 0;
	long yama = 0;
	bool has_yama = read_number("/proc/sys/kernel/yama/ptrace_scope", &yama);
	bool may_trace = !read_capabilities(&effective) && effective >> CAP_SYS_PTRACE & 1;
	char scope[48] = "";

	buf_free(&walk.text);
	if (has_yama)
		snprintf(scope, sizeof(scope), " (yama's ptrace_scope is %ld)", yama);
	if (err)
		feature_is_missing(f, err, "mount /proc", "/proc cannot be read: %s",
				   strerror(-err));
	else if (walk.denied && may_trace && walk.readable > walk.denied)
		feature_is_ok(f,
			      "the mappings of %u of %u processes can be read; a security module "
			      "guards the others, whose code stays without names%s",
			      walk.readable, walk.readable + walk.denied, scope);
	else if (walk.denied)
		feature_is_missing(f, -EPERM,
				   may_trace
					   ? "CAP_SYS_PTRACE is there: a security module forbids it"
					   : "run as root, or grant CAP_SYS_PTRACE",
				   "the mappings of %u of %u processes cannot be read%s",
				   walk.denied, walk.denied + walk.readable, scope);
	else
		feature_is_ok(f, "the mappings of all %u processes can be read%s", walk.readable,
			      scope);
}

void feature_try_descriptors(struct feature *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit)) {
		feature_is_unknown(f, -errno, "the limit of open files is not known");
		return;
	}
	if (limit.rlim_max >= DESCRIPTORS_WANTED)
		feature_is_ok(f, "%llu files may be open", (unsigned long long)limit.rlim_max);
	else
		feature_is_missing(f, 0, "raise the hard limit: ulimit -Hn 65536",
				   "only %llu files may be open",
				   (unsigned long long)limit.rlim_max);
}

void feature_try_cgroup2(struct feature *f)
{
	static const char *const points[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct statfs fs;

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		if (statfs(points[i], &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		feature_is_ok(f, "control groups of version 2 are at %s", points[i]);
		return;
	}
	feature_is_missing(
		f, 0, NULL,
		"no control groups of version 2: those of version 1 are looked up in /proc");
}

static bool has_files(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool has = false;

	while (directory && !has && (entry = readdir(directory)))
		has = entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return has;
}

void feature_try_debug_files(struct feature *f)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	bool local = has_files("/usr/lib/debug");

	if (servers && *servers)
		feature_is_ok(f, "servers of DEBUGINFOD_URLS: %.160s%s", servers,
			      local ? "; and /usr/lib/debug" : "");
	else if (local)
		feature_is_ok(f, "there are some in /usr/lib/debug");
	else
		feature_is_missing(f, 0,
				   "install packages with debug symbols, or set DEBUGINFOD_URLS",
				   "none in /usr/lib/debug, and no server is set");
}

void feature_try_uprobes(struct feature *f)
{
	static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
	long type;

	if (read_number(path, &type))
		feature_is_ok(f, "perf events of type %ld", type);
	else
		feature_is_missing(f, -ENOENT,
				   "use a kernel with CONFIG_UPROBE_EVENTS, with /sys mounted",
				   "%s is not there", path);
}

/* instead: a capability that stands in for it, or -1 */
static void try_capability(struct feature *f, int capability, int instead, const char *name)
{
	uint64_t effective = 0;
	int err = read_capabilities(&effective);

	if (err)
		feature_is_unknown(f, err, "capabilities cannot be read: %s", strerror(-err));
	else if (effective >> capability & 1)
		feature_is_ok(f, "%s is effective", name);
	else if (instead >= 0 && effective >> instead & 1)
		feature_is_ok(f, "another capability stands in for it");
	else
		feature_is_missing(f, -EPERM, "run as root, or grant it with setcap",
				   "%s is not effective", name);
}

void feature_try_cap_bpf(struct feature *f)
{
	try_capability(f, CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF");
}

void feature_try_cap_perfmon(struct feature *f)
{
	try_capability(f, CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON");
}

void feature_try_cap_sys_ptrace(struct feature *f)
{
	try_capability(f, CAP_SYS_PTRACE, -1, "CAP_SYS_PTRACE");
}

void feature_try_cap_syslog(struct feature *f)
{
	try_capability(f, CAP_SYSLOG, -1, "CAP_SYSLOG");
}

void feature_try_cap_checkpoint_restore(struct feature *f)
{
	try_capability(f, CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE");
}

void feature_try_cap_dac_read_search(struct feature *f)
{
	try_capability(f, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH");
}
