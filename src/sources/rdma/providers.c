// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/providers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "sources/rdma/code.h"

/* The most files, and processes that run one. */
#define PROVIDERS_MAX 64
#define PROCESSES_MAX 4096

/* The most places of a file that tables may name: each may cost a look at all of its functions. */
#define FUNCTIONS_MAX 512

/* What the functions of an extended queue pair are: calls, with opcodes of those that begin. */
static const struct {
	enum rdma_call call; /* 0: it is of no interest */
	uint32_t opcode;
} pair_calls[VERBS_WR_FUNCTIONS] = {
	[VERBS_WR_COMPARE_SWAP] = {RDMA_CALL_BEGIN, VERBS_COMPARE_SWAP},
	[VERBS_WR_FETCH_ADD] = {RDMA_CALL_BEGIN, VERBS_FETCH_ADD},
	[VERBS_WR_READ] = {RDMA_CALL_BEGIN, VERBS_READ},
	[VERBS_WR_WRITE] = {RDMA_CALL_BEGIN, VERBS_WRITE},
	[VERBS_WR_WRITE_IMMEDIATE] = {RDMA_CALL_BEGIN, VERBS_WRITE_IMMEDIATE},
	[VERBS_WR_SEND] = {RDMA_CALL_BEGIN, VERBS_SEND},
	[VERBS_WR_SEND_IMMEDIATE] = {RDMA_CALL_BEGIN, VERBS_SEND_IMMEDIATE},
	[VERBS_WR_SEND_INVALIDATE] = {RDMA_CALL_BEGIN, VERBS_SEND},
	[VERBS_WR_SEND_TSO] = {RDMA_CALL_BEGIN, VERBS_TSO},
	[VERBS_WR_INLINE] = {RDMA_CALL_INLINE, 0},
	[VERBS_WR_INLINES] = {RDMA_CALL_INLINES, 0},
	[VERBS_WR_SGE] = {RDMA_CALL_SGE, 0},
	[VERBS_WR_SGES] = {RDMA_CALL_SGES, 0},
	[VERBS_WR_COMPLETE] = {RDMA_CALL_COMPLETE, 0},
};

static const enum rdma_call context_calls[] = {
	[RDMA_TABLE_POST_SHARED] = RDMA_CALL_POST_SHARED,
	[RDMA_TABLE_POST_SEND] = RDMA_CALL_POST_SEND,
	[RDMA_TABLE_POST_RECEIVE] = RDMA_CALL_POST_RECEIVE,
};

int rdma_providers_begin(struct rdma_providers *providers, struct bpf_program *site)
{
	const struct uprobe_programs programs = {.site = site};
	struct uprobe_ways ways;

	uprobe_ways_probe(&ways);
	/* without links for many places, each place has a process by itself */
	providers->bind = ways.pid_filter || !ways.multi;
	return uprobes_new(&programs, &ways, &providers->uprobes);
}

void rdma_providers_detach(struct rdma_providers *providers)
{
	if (providers->uprobes)
		uprobes_free(providers->uprobes);
	providers->uprobes = NULL;
}

static void free_provider(struct rdma_provider *provider)
{
	if (provider->fd >= 0)
		close(provider->fd);
	vec_free(&provider->places);
	vec_free(&provider->pids);
	map_free(&provider->functions);
	free(provider);
}

void rdma_providers_free(struct rdma_providers *providers)
{
	rdma_providers_detach(providers);
	vec_foreach (&providers->list, provider)
		free_provider(*provider);
	vec_free(&providers->list);
}

/* -- files and probes -------------------------------------------------------------------------- */

static struct rdma_provider *find_provider(const struct rdma_providers *providers,
					   const struct image *image)
{
	vec_foreach (&providers->list, provider)
		if ((*provider)->device == image->device && (*provider)->inode == image->inode)
			return *provider;
	return NULL;
}

static struct rdma_provider *add_provider(struct rdma_providers *providers,
					  const struct image *image)
{
	const char *slash = strrchr(image->path, '/');
	struct rdma_provider *provider;
	struct fail why = {0};

	if (providers->list.count >= PROVIDERS_MAX) {
		fail(&why, -ENOSPC, NULL, "too many providers");
		probed_refused_add(&providers->refused, &why);
		return NULL;
	}
	provider = calloc(1, sizeof(*provider));
	if (!provider)
		return NULL;
	provider->device = image->device;
	provider->inode = image->inode;
	provider->fd = file_place(image->fd);
	snprintf(provider->path, sizeof(provider->path), "/proc/self/fd/%d", provider->fd);
	snprintf(provider->name, sizeof(provider->name), "%s", slash ? slash + 1 : image->path);
	if (provider->fd >= 0 && vec_push(&providers->list, provider))
		return provider;
	free_provider(provider);
	return NULL;
}

static bool has_place(const struct rdma_provider *provider, uint64_t offset)
{
	vec_foreach (&provider->places, place)
		if (place->offset == offset)
			return true;
	return false;
}

static void attach(struct rdma_providers *providers, const struct rdma_provider *provider,
		   pid_t pid, const struct uprobe_place *places, size_t count)
{
	struct fail why = {0};
	int err = uprobes_attach(providers->uprobes, provider->path, providers->bind ? pid : 0,
				 places, count, &why);

	if (err && err != -ESRCH)
		probed_refused_add(&providers->refused, &why);
}

void rdma_providers_add(struct rdma_providers *providers, struct rdma_provider *provider,
			uint64_t offset, uint64_t cookie)
{
	const struct uprobe_place place = {
		.offset = offset,
		/* of its own: what is refused of one file must not be left out of another one */
		.group = providers->groups++,
		.kind = UPROBE_ENTRY,
		.cookie = cookie,
		.entry_cookie = cookie,
	};
	size_t count = provider->pids.count;

	if (!providers->uprobes || has_place(provider, offset) ||
	    !vec_push(&provider->places, place))
		return;
	if (!providers->bind && count)
		count = 1;
	for (size_t i = 0; i < count; i++)
		attach(providers, provider, provider->pids.at[i], &place, 1);
}

static void add_process(struct rdma_providers *providers, struct rdma_provider *provider, pid_t pid)
{
	vec_foreach (&provider->pids, known)
		if (*known == pid)
			return;
	if (provider->pids.count < PROCESSES_MAX && vec_push(&provider->pids, pid) &&
	    provider->places.count && (providers->bind || provider->pids.count == 1))
		attach(providers, provider, pid, provider->places.at, provider->places.count);
}

void rdma_providers_ended(struct rdma_providers *providers, pid_t pid)
{
	vec_foreach (&providers->list, at) {
		struct rdma_provider *provider = *at;
		size_t kept = 0;

		vec_foreach (&provider->pids, known) {
			if (*known != pid)
				provider->pids.at[kept++] = *known;
			else if (providers->uprobes && providers->bind)
				uprobes_detach(providers->uprobes, provider->path, pid);
		}
		if (providers->uprobes && !providers->bind && !kept && provider->pids.count)
			uprobes_detach(providers->uprobes, provider->path, 0);
		provider->pids.count = kept;
	}
}

/* -- tables ------------------------------------------------------------------------------------ */

/* The file that a function is in, and where. Null: it is in none. */
static const struct image *find_image(const struct process *process, uint64_t address,
				      uint64_t *offset)
{
	const struct mapping *mapping = process_mapping(process, address);
	const struct image *image = mapping ? mapping->image : NULL;

	if (!image || image->kind != IMAGE_FILE || !image->is_elf || image->fd < 0)
		return NULL;
	*offset = address - mapping->start + mapping->offset;
	return image;
}

/* Whether all of some functions of a process are in one file, which is not that of the verbs. */
static const struct image *find_common(const struct process *process, const __u64 *functions,
				       const uint32_t *numbers, size_t count)
{
	const struct image *common = NULL;
	const char *slash;

	for (size_t i = 0; i < count; i++) {
		uint64_t offset;
		const struct image *image = find_image(process, functions[numbers[i]], &offset);

		if (!image || (common && image != common))
			return NULL;
		common = image;
	}
	slash = common ? strrchr(common->path, '/') : NULL;
	return slash && !strncmp(slash + 1, "libibverbs.so", strlen("libibverbs.so")) ? NULL
										      : common;
}

/* Whether a function begins at an offset of a provider's file. *size: its bytes. */
static bool find_function(struct rdma_providers *providers, struct rdma_provider *provider,
			  const struct image *image, uint64_t offset, uint64_t *size)
{
	const uint64_t *known = map_get(&provider->functions, offset);
	struct fail why = {0};
	int err;

	*size = known ? *known : 0;
	if (known)
		return *size != 0;
	if (provider->functions.count >= FUNCTIONS_MAX) {
		fail(&why, -ENOSPC, NULL, "too many functions of %s", provider->name);
		probed_refused_add(&providers->refused, &why);
		return false;
	}
	err = rdma_function_at(image, offset, size, &why);
	if (err)
		*size = 0;
	if (err && err != -ENOENT)
		return false;
	return map_put(&provider->functions, offset, *size) && *size;
}

static void add_poll(struct rdma_provider *provider, uint64_t offset, uint64_t size)
{
	for (size_t i = 0; i < provider->poll_count; i++)
		if (provider->polls[i].offset == offset)
			return;
	if (provider->poll_count < RDMA_POLLS_MAX)
		provider->polls[provider->poll_count++] =
			(struct rdma_poll_function){.offset = offset, .size = size};
}

static void add_functions(struct rdma_providers *providers, struct rdma_provider *provider,
			  const struct process *process, const struct image *image,
			  const struct rdma_table *table)
{
	const size_t count = table->is_pair ? VERBS_WR_FUNCTIONS
					    : sizeof(context_calls) / sizeof(context_calls[0]);

	for (size_t i = 0; i < count; i++) {
		uint64_t call = table->is_pair ? (uint64_t)pair_calls[i].call |
							 pair_calls[i].opcode << RDMA_COOKIE_SHIFT
					       : context_calls[i];
		bool is_poll = !table->is_pair && i == RDMA_TABLE_POLL;
		uint64_t offset, size;

		if ((!call && !is_poll) || !table->functions[i] ||
		    find_image(process, table->functions[i], &offset) != image ||
		    !find_function(providers, provider, image, offset, &size))
			continue;
		if (is_poll)
			add_poll(provider, offset, size);
		else
			rdma_providers_add(providers, provider, offset, call);
	}
}

/* Whether a process's functions were looked at: a table of them is met with each object. */
static bool is_known(const struct rdma_provider *provider, const struct process *process,
		     const struct rdma_table *table, uint32_t number)
{
	uint64_t offset;

	if (!find_image(process, table->functions[number], &offset) || !has_place(provider, offset))
		return false;
	vec_foreach (&provider->pids, pid)
		if (*pid == process->pid)
			return true;
	return false;
}

bool rdma_providers_table(struct rdma_providers *providers, const struct process *process,
			  const struct rdma_table *table)
{
	static const uint32_t of_context[] = {RDMA_TABLE_POST_SEND, RDMA_TABLE_POLL,
					      RDMA_TABLE_POST_RECEIVE};
	static const uint32_t of_pair[] = {VERBS_WR_SEND, VERBS_WR_SGE, VERBS_WR_COMPLETE};
	const uint32_t *numbers = table->is_pair ? of_pair : of_context;
	const struct image *image = find_common(process, table->functions, numbers, 3);
	struct rdma_provider *provider;

	if (!image || !providers->uprobes)
		return false;
	provider = find_provider(providers, image);
	if (provider && is_known(provider, process, table, numbers[0]))
		return true;
	if (!provider)
		provider = add_provider(providers, image);
	if (!provider)
		return false;
	add_functions(providers, provider, process, image, table);
	add_process(providers, provider, process->pid);
	return provider->places.count != 0;
}
