// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/driver.h"

#include <errno.h>
#include <string.h>

#include "bpf/gpu/hbm_abi.h"
#include "probe/functions.h"

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

static bool is_driver(const struct image *image)
{
	const char *slash = strrchr(image->path, '/'), *name = slash ? slash + 1 : image->path;

	for (size_t i = 0; gpu_driver_names[i]; i++)
		if (!strncmp(name, gpu_driver_names[i], strlen(gpu_driver_names[i])))
			return image->kind == IMAGE_FILE && image->is_elf;
	return false;
}

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

static int add_function(struct probed_look *look, const struct probe_function *function)
{
	struct gpu_driver *driver = look->facts;
	size_t i = 0;

	while (i < FUNCTIONS && strcmp(functions[i].name, function->symbol) != 0)
		i++;
	if (i == FUNCTIONS || (has_end(functions[i].call) && function->exit != PROBE_EXIT_RETURN))
		return 0;
	driver->functions++;
	driver->slow += function->cost == PROBE_COST_SLOW;
	if (!add_place(look, function, i, UPROBE_ENTRY))
		return -ENOMEM;
	return !has_end(functions[i].call) || add_place(look, function, i, UPROBE_RETURN) ? 0
											  : -ENOMEM;
}

static int find(struct probed_look *look, const struct probe_question *question, struct fail *why)
{
	struct probe_functions found;
	int err = probe_functions_of(question, &found, why);

	if (err)
		return err;
	for (size_t i = 0; i < found.count && !err; i++)
		err = add_function(look, &found.at[i]);
	probe_functions_free(&found);
	return err ? fail_errno(why, err, NULL, "cannot look at %s", look->image->path) : 0;
}

static int look_at(struct probed_look *look, struct fail *why)
{
	const struct image *image = look->image;
	const struct symbol_image what = {.fd = image->fd,
					  .path = image->path,
					  .root = image->root,
					  .build_id = image->build_id,
					  .build_id_size = image->build_id_size};
	struct probe_question question = {.image = &what, .own = true, .exit = PROBE_WISH_RETURN};
	struct choice *choice = NULL;
	int err;

	if (!is_driver(image))
		return -ENOENT;
	err = choice_new(&choice);
	for (size_t i = 0; i < FUNCTIONS && !err; i++)
		err = choice_add_function(choice, true, functions[i].name, why);
	question.choice = choice;
	if (!err)
		err = find(look, &question, why);
	choice_free(choice);
	if (!err && !look->places.count)
		err = fail(why, -ENOTSUP, NULL,
			   "%s: no function that allocates memory of a device can be probed",
			   image->path);
	return err;
}

const struct probed_kind gpu_driver_kind = {
	.size = sizeof(struct gpu_driver),
	.most = FILES_MAX,
	.too_many = "too many driver libraries",
	.keep = true,
	.look = look_at,
};
