// SPDX-License-Identifier: Apache-2.0
/*
 * Nodes of graphs: where the program captured them. A launch of a graph runs kernels that were
 * captured elsewhere, often long before. When a node is made, its place in the program is reported
 * as that of a launch is, with the number of a site; a node that is copied, as for each graph that
 * can be launched, has the site of the one that it is a copy of. Records of kernels and copies name
 * their node, and so their site.
 *
 * What the nodes ran whose launches were not reported is added up by node, and reported once a
 * second: a graph of a thousand nodes may run a hundred times in that time.
 *
 * The table is bounded. A node has a few places in it; where all are in use, the one of the oldest
 * site makes room, and is counted. Threads of the program write to it, and never wait: whoever
 * changes a place marks it as busy, and others pass it by.
 */
#include "gpu.h"

/* Of the domain of resources (cupti_callbacks.h). */
#define NODE_MADE   13
#define NODE_ENDS   14
#define NODE_COPIED 20

/* Where the data of these callbacks has what (CUpti_ResourceData, CUpti_GraphData). */
enum {
	DATA_DESCRIBED = 16,
	DESCRIBED_NODE = 16,
	DESCRIBED_ORIGINAL = 24,
};

#define NODES  65536
#define PLACES 32

#define BUSY   (1ull << 63) /* of an id: another thread is at it */
#define GONE   (1u << 31)   /* of a site: the node is gone, but records of it may come */

static struct node {
	uint64_t id; /* 0: free */
	uint64_t count;
	struct gpu_ran sum; /* of what it ran; its site is the node's */
} nodes[NODES];

/* Stacks of sites: at most so many at once, and so many a second. */
#define STACKS_AT_ONCE	32768u
#define STACKS_A_SECOND 8192u

static int (*id_of_node)(void *node, uint64_t *id);
static uint32_t last_site = GPU_SITE_UNKNOWN;
static uint64_t lost, unsampled; /* nodes since they were reported last */
static uint64_t stacks, stacks_since;
static uint64_t reported; /* when sums were */
static bool has_sums;

static __attribute__((noinline)) void report_capture(uint64_t site)
{
	__asm__ volatile(".globl stackcam_gpu_capture\n\t"
			 ".hidden stackcam_gpu_capture\n"
			 "stackcam_gpu_capture: nop"
			 :
			 : "D"(site)
			 : "memory");
}

/* -- the table --------------------------------------------------------------------------------- */

static struct node *place_of(uint64_t id, uint64_t at)
{
	/* numbers of nodes follow each other: far from each other, they have places of their own */
	return &nodes[((id * 0x9e3779b97f4a7c15u >> 40) + at) % NODES];
}

static struct node *find(uint64_t id)
{
	for (uint64_t i = 0; i < PLACES; i++) {
		struct node *node = place_of(id, i);

		if ((__atomic_load_n(&node->id, __ATOMIC_ACQUIRE) & ~BUSY) == id)
			return node;
	}
	return NULL;
}

static uint32_t site_of(const struct node *node)
{
	return __atomic_load_n(&node->sum.site, __ATOMIC_RELAXED);
}

/* False: another thread is at it, or it is another node's now. */
static bool hold(struct node *node, uint64_t id, uint64_t to)
{
	return __atomic_compare_exchange_n(&node->id, &id, to | BUSY, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void release(struct node *node, uint64_t id)
{
	__atomic_store_n(&node->id, id, __ATOMIC_RELEASE);
}

static void report_sum(struct node *node)
{
	struct gpu_ran sum = node->sum;

	sum.site = site_of(node) & ~GONE;
	if (node->count)
		gpu_report_rest(&sum, node->count);
	node->count = node->sum.ns = node->sum.bytes = 0;
}

/* Which one makes room for another: one that is free, else one that is gone, else the oldest. */
static struct node *find_room(uint64_t id, uint64_t *before)
{
	struct node *best = NULL;
	uint32_t of_best = UINT32_MAX;

	for (uint64_t i = 0; i < PLACES; i++) {
		struct node *node = place_of(id, i);
		uint64_t is = __atomic_load_n(&node->id, __ATOMIC_ACQUIRE);
		uint32_t site = site_of(node), rank = site & GONE ? 1 : site;

		if (is & BUSY)
			continue;
		if (is && rank >= of_best)
			continue;
		best = node;
		of_best = is ? rank : 0;
		*before = is;
		if (!is)
			break;
	}
	return best;
}

static void put(uint64_t id, uint32_t site)
{
	struct node *node = find(id);
	uint64_t before;
	bool is_lost;

	/* it was made, and then it is said of which one it is a copy */
	if (node) {
		__atomic_store_n(&node->sum.site, site, __ATOMIC_RELAXED);
		return;
	}
	for (int i = 0; i < 4; i++) {
		node = find_room(id, &before);
		if (!node || !hold(node, before, id))
			continue;
		is_lost = before && site_of(node) > GPU_SITE_UNKNOWN && !(site_of(node) & GONE);
		report_sum(node);
		__atomic_store_n(&node->sum.site, site, __ATOMIC_RELAXED);
		release(node, id);
		__atomic_fetch_add(&lost, is_lost, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
}

/* -- calls that copy graphs -------------------------------------------------------------------- */

/*
 * cuGraphInstantiate…, cuGraphClone: each node that they make is said to be a copy right after
 * that, and needs no stack. Which threads are in such a call; a thread that finds no place has
 * stacks of them.
 */
static const uint32_t copying_calls[] = {513, 523, 578, 643, 656, 657};
#define COPYING 64
static uint64_t copying[COPYING];

/* The address of what the C library keeps of the thread. */
static uint64_t own_thread(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

static bool replace_copying(uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < COPYING; i++) {
		uint64_t expected = from;

		if (__atomic_load_n(&copying[i], __ATOMIC_RELAXED) == from &&
		    __atomic_compare_exchange_n(&copying[i], &expected, to, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static bool is_copying(void)
{
	const uint64_t thread = own_thread();

	for (size_t i = 0; i < COPYING; i++)
		if (__atomic_load_n(&copying[i], __ATOMIC_RELAXED) == thread)
			return true;
	return false;
}

bool gpu_graphs_is_copying(uint32_t id)
{
	for (size_t i = 0; i < sizeof(copying_calls) / sizeof(copying_calls[0]); i++)
		if (copying_calls[i] == id)
			return true;
	return false;
}

void gpu_graphs_copies(bool begins)
{
	replace_copying(begins ? 0 : own_thread(), begins ? own_thread() : 0);
}

/* -- nodes that are made ----------------------------------------------------------------------- */

/* Whether there is a stack left: a program that makes graphs all the time has fewer of them. */
static bool has_stack(void)
{
	uint64_t time = gpu_now(), since = __atomic_load_n(&stacks_since, __ATOMIC_RELAXED);
	uint64_t used = __atomic_add_fetch(&stacks, 1, __ATOMIC_RELAXED);

	if (time - since > GPU_SECOND_NS &&
	    __atomic_compare_exchange_n(&stacks_since, &since, time, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
		uint64_t more = (time - since) / GPU_SECOND_NS * STACKS_A_SECOND;

		__atomic_store_n(&stacks, used > more ? used - more : 0, __ATOMIC_RELAXED);
	}
	if (used <= STACKS_AT_ONCE)
		return true;
	__atomic_fetch_sub(&stacks, 1, __ATOMIC_RELAXED);
	return false;
}

static uint32_t new_site(void)
{
	uint32_t site;
	uint64_t begin;

	if (!has_stack()) {
		__atomic_fetch_add(&unsampled, 1, __ATOMIC_RELAXED);
		return GPU_SITE_UNKNOWN;
	}
	begin = gpu_budget_begin();
	site = __atomic_add_fetch(&last_site, 1, __ATOMIC_RELAXED) & ~GONE;
	report_capture(site);
	gpu_budget_end(begin);
	return site;
}

static uint64_t id_of(const uint8_t *at)
{
	void *node = *(void *const *)at;
	uint64_t id = 0;

	return node && !id_of_node(node, &id) ? id & ~BUSY : 0;
}

bool gpu_graphs_resource(uint32_t callback, const uint8_t *data)
{
	const uint8_t *described;
	struct node *node;
	uint64_t id;

	if (callback != NODE_MADE && callback != NODE_ENDS && callback != NODE_COPIED)
		return false;
	described = *(const uint8_t *const *)(data + DATA_DESCRIBED);
	id = described ? id_of(described + DESCRIBED_NODE) : 0;
	if (id && callback == NODE_MADE && !is_copying())
		put(id, new_site());
	if (id && callback == NODE_COPIED)
		put(id, gpu_graphs_site(id_of(described + DESCRIBED_ORIGINAL)));
	node = id && callback == NODE_ENDS ? find(id) : NULL;
	if (node)
		__atomic_fetch_or(&node->sum.site, GONE, __ATOMIC_RELAXED);
	return true;
}

/* -- what they run ----------------------------------------------------------------------------- */

uint32_t gpu_graphs_site(uint64_t id)
{
	const struct node *node = id ? find(id & ~BUSY) : NULL;
	uint32_t site = node ? site_of(node) & ~GONE : 0;

	return site ? site : GPU_SITE_UNKNOWN;
}

bool gpu_graphs_add(const struct gpu_ran *ran, uint64_t id)
{
	struct node *node = id ? find(id & ~BUSY) : NULL;
	bool is_same;

	id &= ~BUSY;
	if (!node || !hold(node, id, id))
		return false;
	/* another kernel may have been put into it */
	is_same = !node->count || node->sum.work == ran->work;
	if (is_same) {
		node->sum.work = ran->work;
		node->sum.ns += ran->ns;
		node->sum.bytes += ran->bytes;
		node->sum.end = ran->end;
		node->count++;
		__atomic_store_n(&has_sums, true, __ATOMIC_RELAXED);
	}
	release(node, id);
	return is_same;
}

static void report_nodes(void)
{
	for (size_t i = 0; i < NODES; i++) {
		struct node *node = &nodes[i];
		uint64_t id = __atomic_load_n(&node->id, __ATOMIC_RELAXED);

		if (!__atomic_load_n(&node->count, __ATOMIC_RELAXED) || id & BUSY ||
		    !hold(node, id, id))
			continue;
		report_sum(node);
		release(node, id);
	}
}

static void report_count(uint64_t *of, enum gpu_state state)
{
	uint64_t count = __atomic_exchange_n(of, 0, __ATOMIC_RELAXED);

	if (count)
		gpu_report_state(state, count);
}

void gpu_graphs_report(bool is_now)
{
	uint64_t time = gpu_now(), before = __atomic_load_n(&reported, __ATOMIC_RELAXED);

	if (!is_now && (time - before < GPU_SECOND_NS ||
			!__atomic_compare_exchange_n(&reported, &before, time, false,
						     __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
		return;
	if (__atomic_exchange_n(&has_sums, false, __ATOMIC_RELAXED))
		report_nodes();
	report_count(&lost, GPU_STATE_NODES_LOST);
	report_count(&unsampled, GPU_STATE_NODES_UNSAMPLED);
}

void gpu_graphs_start(void *library,
		      int (*enable)(uint32_t on, void *subscriber, int domain, uint32_t id),
		      void *subscriber)
{
	static const char *const name[] = {"cuptiGetGraphNodeId"};
	static const uint32_t callbacks[] = {NODE_MADE, NODE_ENDS, NODE_COPIED};
	int err = 0;

	reported = stacks_since = gpu_now();
	if (!gpu_find_functions(library, name, (void **)&id_of_node, 1)) {
		gpu_report_state(GPU_STATE_NO_GRAPHS, 0);
		return;
	}
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]) && !err; i++)
		err = enable(1, subscriber, GPU_DOMAIN_RESOURCE, callbacks[i]);
	/* an older library lacks some of them */
	for (size_t i = 0; i < sizeof(copying_calls) / sizeof(copying_calls[0]) && !err; i++)
		enable(1, subscriber, GPU_DOMAIN_DRIVER, copying_calls[i]);
	if (err)
		gpu_report_state(GPU_STATE_NO_GRAPHS, (uint64_t)err);
}
