// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/library.h"

#include <errno.h>
#include <string.h>

#include "bpf/rdma/abi.h"
#include "probe/functions.h"

/* The most files with probes: a library of each container. */
#define FILES_MAX 256

const char *const rdma_library_names[] = {"libibverbs.so", NULL};

/* (verbs.h of rdma-core; what arguments mean is in bpf/rdma/abi.h.) */
static const struct {
	const char *name;
	uint8_t entry, end; /* enum rdma_call; 0: no probe */
} functions[] = {
	{"ibv_open_device", 0, RDMA_CALL_OPENED},
	{"ibv_import_device", 0, RDMA_CALL_OPENED},
	{"ibv_alloc_pd", RDMA_CALL_CONTEXT, 0},
	{"ibv_create_cq", RDMA_CALL_CONTEXT, 0},
	{"ibv_create_comp_channel", RDMA_CALL_CONTEXT, 0},
	{"ibv_create_qp", RDMA_CALL_DOMAIN, 0},
	{"ibv_create_srq", RDMA_CALL_DOMAIN, 0},
	{"ibv_modify_qp", RDMA_CALL_MODIFY, 0},
	{"ibv_qp_to_qp_ex", RDMA_CALL_PAIR, 0},
	{"ibv_reg_mr", RDMA_CALL_REGISTER, RDMA_CALL_REGISTERED},
	{"ibv_reg_mr_iova", RDMA_CALL_REGISTER, RDMA_CALL_REGISTERED},
	{"ibv_reg_mr_iova2", RDMA_CALL_REGISTER, RDMA_CALL_REGISTERED},
	{"ibv_reg_dmabuf_mr", RDMA_CALL_REGISTER, RDMA_CALL_REGISTERED},
	{"ibv_dereg_mr", RDMA_CALL_DEREGISTER, 0},
};

enum {
	FUNCTIONS = sizeof(functions) / sizeof(functions[0])
};

static bool is_library(const struct image *image)
{
	const char *slash = strrchr(image->path, '/'), *name = slash ? slash + 1 : image->path;

	for (size_t i = 0; rdma_library_names[i]; i++)
		if (!strncmp(name, rdma_library_names[i], strlen(rdma_library_names[i])))
			return image->kind == IMAGE_FILE && image->is_elf;
	return false;
}

static bool add_place(struct probed_look *look, uint64_t offset, uint8_t call,
		      enum uprobe_kind kind)
{
	const struct uprobe_place place = {
		.offset = offset,
		.group = look->number * 64 + (uint32_t)look->places.count,
		.kind = kind,
		.cookie = call,
		.entry_cookie = call,
		.return_cookie = call,
	};

	return !call || vec_push(&look->places, place);
}

/* A name may have several functions, of several versions. */
static int add_function(struct probed_look *look, const struct probe_function *function)
{
	size_t i = 0;

	while (i < FUNCTIONS && strcmp(functions[i].name, function->symbol) != 0)
		i++;
	if (i == FUNCTIONS || (functions[i].end && function->exit != PROBE_EXIT_RETURN))
		return 0;
	return add_place(look, function->entry.offset, functions[i].entry, UPROBE_ENTRY) &&
			       add_place(look, function->entry.offset, functions[i].end,
					 UPROBE_RETURN)
		       ? 0
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
	struct probe_question question = {
		.image = &what, .own = true, .exit = PROBE_WISH_RETURN, .stays = true};
	struct choice *choice = NULL;
	int err;

	if (!is_library(image))
		return -ENOENT;
	err = choice_new(&choice);
	for (size_t i = 0; i < FUNCTIONS && !err; i++)
		err = choice_add_function(choice, true, functions[i].name, why);
	question.choice = choice;
	if (!err)
		err = find(look, &question, why);
	choice_free(choice);
	if (!err && !look->places.count)
		err = fail(why, -ENOTSUP, NULL, "%s: none of the verbs can be probed", image->path);
	return err;
}

const struct probed_kind rdma_library_kind = {
	.most = FILES_MAX,
	.too_many = "too many libraries of verbs",
	.keep = true,
	.look = look_at,
};
