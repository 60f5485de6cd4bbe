// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/driver.h"

#include <errno.h>

#include "bpf/gpu/hbm_abi.h"
#include "sources/probed_symbols.h"

/* The most files with probes: a driver library of each container. */
#define FILES_MAX 256

const char *const gpu_driver_names[] = {"libcuda.so", NULL};

/*
 * What allocates memory of a device or gives it back. Names with "_ptsz" are those of programs
 * that were compiled for a stream of each thread. (cuda.h; what arguments mean is in hbm_abi.h.)
 */
static const struct {
	const char *name;
	enum hbm_call call;
} functions[] = {
	{"cuMemAlloc_v2", HBM_CALL_ALLOCATE},
	{"cuMemAllocManaged", HBM_CALL_ALLOCATE},
	{"cuMemAllocAsync", HBM_CALL_ALLOCATE},
	{"cuMemAllocAsync_ptsz", HBM_CALL_ALLOCATE},
	{"cuMemAllocFromPoolAsync", HBM_CALL_ALLOCATE},
	{"cuMemAllocFromPoolAsync_ptsz", HBM_CALL_ALLOCATE},
	{"cuMemAllocPitch_v2", HBM_CALL_ALLOCATE_ROWS},
	{"cuMemCreate", HBM_CALL_CREATE},
	{"cuArrayCreate_v2", HBM_CALL_ARRAY},
	{"cuArray3DCreate_v2", HBM_CALL_ARRAY_3D},
	{"cuMipmappedArrayCreate", HBM_CALL_MIPMAPS},
	{"cuMemFree_v2", HBM_CALL_FREE},
	{"cuMemFreeAsync", HBM_CALL_FREE},
	{"cuMemFreeAsync_ptsz", HBM_CALL_FREE},
	{"cuArrayDestroy", HBM_CALL_FREE},
	{"cuMipmappedArrayDestroy", HBM_CALL_FREE},
	{"cuMemRelease", HBM_CALL_RELEASE},
	{"cuMemRetainAllocationHandle", HBM_CALL_RETAIN},
	{"cuMemMap", HBM_CALL_MAP},
	{"cuMemUnmap", HBM_CALL_UNMAP},
	{"cuCtxDestroy_v2", HBM_CALL_LEAVE},
	{"cuDevicePrimaryCtxReset_v2", HBM_CALL_LEAVE},
};

enum {
	FUNCTIONS = sizeof(functions) / sizeof(functions[0])
};

/* Calls that give memory back are recorded where they begin. */
static bool has_end(enum hbm_call call)
{
	return call != HBM_CALL_FREE && call != HBM_CALL_RELEASE && call != HBM_CALL_UNMAP &&
	       call != HBM_CALL_LEAVE;
}

static bool add_place(struct probed_look *look, const struct probe_function *function,
		      size_t number, enum uprobe_kind kind)
{
	uint64_t cookie = functions[number].call | (kind == UPROBE_RETURN ? HBM_CALL_ENDED : 0u);
	const struct uprobe_place place = {
		.offset = function->entry.offset,
		.group = look->number * FUNCTIONS + (uint32_t)number,
		.kind = kind,
		.cookie = cookie,
		.entry_cookie = cookie,
		.return_cookie = cookie,
	};

	return vec_push(&look->places, place);
}

static const char *symbol(size_t number)
{
	return functions[number].name;
}

static int add(struct probed_look *look, const struct probe_function *function, size_t number)
{
	struct gpu_driver *driver = look->facts;
	bool ends = has_end(functions[number].call);

	if (ends && function->exit != PROBE_EXIT_RETURN)
		return 0;
	driver->functions++;
	driver->slow += function->cost == PROBE_COST_SLOW;
	return add_place(look, function, number, UPROBE_ENTRY) &&
			       (!ends || add_place(look, function, number, UPROBE_RETURN))
		       ? 0
		       : -ENOMEM;
}

static int look_at(struct probed_look *look, struct fail *why)
{
	static const struct probed_symbols symbols = {
		.libraries = gpu_driver_names,
		.count = FUNCTIONS,
		.symbol = symbol,
		.add = add,
		.none = "no function that allocates memory of a device can be probed",
	};

	return probed_symbols_look(&symbols, look, why);
}

const struct probed_kind gpu_driver_kind = {
	.size = sizeof(struct gpu_driver),
	.most = FILES_MAX,
	.too_many = "too many driver libraries",
	.keep = true,
	.look = look_at,
};
