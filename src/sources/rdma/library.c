// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/library.h"

#include <errno.h>

#include "bpf/rdma/abi.h"
#include "sources/probed_symbols.h"

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

static const char *symbol(size_t number)
{
	return functions[number].name;
}

static int add(struct probed_look *look, const struct probe_function *function, size_t number)
{
	uint64_t offset = function->entry.offset;

	if (functions[number].end && function->exit != PROBE_EXIT_RETURN)
		return 0;
	return add_place(look, offset, functions[number].entry, UPROBE_ENTRY) &&
			       add_place(look, offset, functions[number].end, UPROBE_RETURN)
		       ? 0
		       : -ENOMEM;
}

static int look_at(struct probed_look *look, struct fail *why)
{
	static const struct probed_symbols symbols = {
		.libraries = rdma_library_names,
		.count = sizeof(functions) / sizeof(functions[0]),
		.symbol = symbol,
		.stays = true,
		.add = add,
		.none = "none of the verbs can be probed",
	};

	return probed_symbols_look(&symbols, look, why);
}

const struct probed_kind rdma_library_kind = {
	.most = FILES_MAX,
	.too_many = "too many libraries of verbs",
	.keep = true,
	.look = look_at,
};
