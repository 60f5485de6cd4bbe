// SPDX-License-Identifier: Apache-2.0
#include "arch/filter_calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "arch/seccomp.h"

/* The numbers differ by one: each row jumps over its own refusal. */
#define REFUSE(call)                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

int filter_calls(struct fail *why)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ARCH_FOREIGN_CALLS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		/* programs, and other processes */
		REFUSE(execve),
		REFUSE(execveat),
		REFUSE(ptrace),
		REFUSE(process_vm_writev),
		REFUSE(pidfd_getfd),
		REFUSE(kcmp),
		/* the file system's shape */
		REFUSE(mount),
		REFUSE(umount2),
		REFUSE(move_mount),
		REFUSE(open_tree),
		REFUSE(fsopen),
		REFUSE(fsmount),
		REFUSE(mount_setattr),
		REFUSE(pivot_root),
		REFUSE(chroot),
		REFUSE(mknod),
		REFUSE(mknodat),
		REFUSE(swapon),
		REFUSE(swapoff),
		/* namespaces, and who one is */
		REFUSE(setns),
		REFUSE(unshare),
		REFUSE(setuid),
		REFUSE(setresuid),
		REFUSE(setgid),
		REFUSE(setresgid),
		REFUSE(setgroups),
		/* the kernel itself */
		REFUSE(init_module),
		REFUSE(finit_module),
		REFUSE(delete_module),
		REFUSE(kexec_load),
		REFUSE(reboot),
		REFUSE(acct),
		REFUSE(settimeofday),
		REFUSE(clock_settime),
		REFUSE(sethostname),
		REFUSE(setdomainname),
		/* where faults of the kernel have been */
		REFUSE(userfaultfd),
		REFUSE(io_uring_setup),
		REFUSE(keyctl),
		REFUSE(add_key),
		REFUSE(request_key),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return fail_errno(why, -errno, NULL, "cannot give up system calls");
	return 0;
}
