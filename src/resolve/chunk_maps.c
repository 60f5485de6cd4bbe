// SPDX-License-Identifier: Apache-2.0
#include "resolve/chunk_maps.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

static void *make_chunk(void *context, uint32_t n, struct fail *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct chunk_maps *maps = context;
	void *chunk = MAP_FAILED;
	int fd;

	if (n >= UNWIND_CHUNKS_MAX)
		return NULL;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t),
			    UNWIND_CHUNK_BYTES, 1, &options);
	if (fd >= 0)
		chunk = mmap(NULL, UNWIND_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (chunk == MAP_FAILED || bpf_map_update_elem(maps->map, &n, &fd, BPF_ANY)) {
		fail_errno(why, -errno, NULL, "cannot make a BPF map for unwind tables");
		if (chunk != MAP_FAILED)
			munmap(chunk, UNWIND_CHUNK_BYTES);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	maps->fds[n] = fd;
	return chunk;
}

static void drop_chunk(void *context, uint32_t n, void *chunk)
{
	struct chunk_maps *maps = context;

	bpf_map_delete_elem(maps->map, &n);
	munmap(chunk, UNWIND_CHUNK_BYTES);
	close(maps->fds[n]);
}

struct unwind_pool_memory chunk_maps_begin(struct chunk_maps *maps, int map)
{
	maps->map = map;
	return (struct unwind_pool_memory){maps, make_chunk, drop_chunk};
}
