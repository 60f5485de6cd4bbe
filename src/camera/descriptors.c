// SPDX-License-Identifier: Apache-2.0
#include "camera/descriptors.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <bpf/libbpf.h>

#include "probes.skel.h"

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

void descriptors_prepare(struct probes *probes)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		probes->rodata->descriptor_calls[calls[i]] = true;
}
