// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/descriptors.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <bpf/libbpf.h>

#include "bpf/sched/object_abi.h"
#include "bpf/probes.skel.h"

/*
 * System calls that may wait, and whose first argument is the descriptor that they wait for. Of
 * those with two, it is the one that data comes from.
 */
static const uint16_t calls[] = {
	SYS_read,	SYS_readv,	 SYS_pread64,	   SYS_preadv,		SYS_preadv2,
	SYS_write,	SYS_writev,	 SYS_pwrite64,	   SYS_pwritev,		SYS_pwritev2,
	SYS_recvfrom,	SYS_recvmsg,	 SYS_recvmmsg,	   SYS_sendto,		SYS_sendmsg,
	SYS_sendmmsg,	SYS_accept,	 SYS_accept4,	   SYS_connect,		SYS_shutdown,
	SYS_sendfile,	SYS_splice,	 SYS_tee,	   SYS_vmsplice,	SYS_copy_file_range,
	SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_io_uring_enter,	SYS_ioctl,
	SYS_fsync,	SYS_fdatasync,	 SYS_syncfs,	   SYS_sync_file_range, SYS_ftruncate,
	SYS_fallocate,	SYS_flock,	 SYS_fcntl,	   SYS_fstat,		SYS_getdents,
	SYS_getdents64, SYS_readahead,	 SYS_fadvise64,	   SYS_close,
};

/* Of these, those that send, or connect. */
static const uint16_t sends[] = {
	SYS_write,    SYS_writev,  SYS_pwritev2, SYS_sendto,   SYS_sendmsg,
	SYS_sendmmsg, SYS_connect, SYS_sendfile, SYS_shutdown,
};

/* System calls with a path: the numbers of their arguments, from 1; 0: there is none. */
static const struct {
	uint16_t call;
	uint8_t path, at, second, second_at; /* at: the descriptor of its directory */
} path_calls[] = {
	{SYS_open, 1},
	{SYS_openat, 2, 1},
	{SYS_openat2, 2, 1},
	{SYS_creat, 1},
	{SYS_rename, 1, 0, 2},
	{SYS_renameat, 2, 1, 4, 3},
	{SYS_renameat2, 2, 1, 4, 3},
	{SYS_unlink, 1},
	{SYS_unlinkat, 2, 1},
	{SYS_mkdir, 1},
	{SYS_mkdirat, 2, 1},
	{SYS_rmdir, 1},
	{SYS_link, 1, 0, 2},
	{SYS_linkat, 2, 1, 4, 3},
	/* not what it leads to: that may be anything */
	{SYS_symlink, 2},
	{SYS_symlinkat, 3, 2},
	{SYS_truncate, 1},
	{SYS_stat, 1},
	{SYS_lstat, 1},
	{SYS_newfstatat, 2, 1},
	{SYS_statx, 2, 1},
};

void descriptors_prepare(struct probes *probes)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		probes->rodata->descriptor_calls[calls[i]] = true;
	for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++)
		probes->rodata->descriptor_sends[sends[i]] = true;
	for (size_t i = 0; i < sizeof(path_calls) / sizeof(path_calls[0]); i++)
		probes->rodata->path_calls[path_calls[i].call] =
			(uint16_t)(path_calls[i].path << PATH_FIRST |
				   path_calls[i].at << PATH_FIRST_AT |
				   path_calls[i].second << PATH_SECOND |
				   path_calls[i].second_at << PATH_SECOND_AT);
}
