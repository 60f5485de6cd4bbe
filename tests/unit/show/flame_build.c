// SPDX-License-Identifier: Apache-2.0
#include "flame_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "film/film.h"

enum {
	NATIVE = FILM_FRAME_NATIVE,
	KERNEL = FILM_FRAME_KERNEL,
	JIT = FILM_FRAME_JIT
};

const char *const flame_hostile_names[] = {
	"</script><script>window.hacked = 1</script>",
	"<img src=x onerror=\"window.hacked = 1\">",
	"'\"><svg onload=window.hacked=1>",
	"<!-- <script> ]]> &lt; &amp; %s %n",
	"\x1b]0;title\x07\x1b[31mred",
	"bad \xff\xfe utf-8 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 end \xe2\x82",
	("\xe2\x80\xae"
	 "gnp.exe and \xe2\x81\xa6isolated"),
	"line\nfeed\ttab\rreturn \xc2\x85 next \xe2\x80\xa8 separator",
	"not a character \xef\xbf\xbe \xef\xbf\xbf",
	"\\u003cscript\\u003e {{data}} ${window.hacked = 1} `",
	"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e::\xe9\x96\xa2\xe6\x95\xb0 \xf0\x9f\x94\xa5",
	"",
};
const unsigned int flame_hostile_count =
	sizeof(flame_hostile_names) / sizeof(flame_hostile_names[0]);

void flame_build_start(struct flame *flame, const char *event, const char *unit, const char *title)
{
	*flame = (struct flame){.event = event, .unit = unit, .title = title};
	flame_build_add(flame, 0, (struct flame_node){.name = ""});
}

uint32_t flame_build_add(struct flame *flame, uint32_t parent, struct flame_node node)
{
	uint32_t i = flame->count++;

	/* grows by doubling, whenever the count reaches a power of two */
	if ((i & (i - 1)) == 0) {
		flame->nodes = realloc(flame->nodes, (i ? 2 * (size_t)i : 1) * sizeof(node));
		if (!flame->nodes)
			abort();
	}
	node.parent = parent;
	node.first_child = node.next_sibling = 0;
	node.image = node.image ? node.image : "";
	node.file = node.file ? node.file : "";
	flame->nodes[i] = node;
	return i;
}

static int by_parent_and_total(const void *a, const void *b, void *context)
{
	const struct flame_node *nodes = context;
	const struct flame_node *x = &nodes[*(const uint32_t *)a];
	const struct flame_node *y = &nodes[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x < y ? -1 : x > y;
}

void flame_build_finish(struct flame *flame)
{
	struct flame_node *nodes = flame->nodes;
	uint32_t *sorted = calloc(flame->count, sizeof(*sorted));
	uint32_t i;

	if (!sorted)
		abort();
	for (i = 0; i < flame->count; i++) {
		nodes[i].first_child = 0;
		nodes[i].total += nodes[i].self;
		nodes[i].before_total += nodes[i].before_self;
		sorted[i] = i;
	}
	for (i = flame->count - 1; i > 0; i--) {
		nodes[nodes[i].parent].total += nodes[i].total;
		nodes[nodes[i].parent].before_total += nodes[i].before_total;
	}
	qsort_r(sorted + 1, flame->count - 1, sizeof(*sorted), by_parent_and_total, nodes);
	for (i = flame->count - 1; i > 0; i--) {
		struct flame_node *parent = &nodes[nodes[sorted[i]].parent];

		nodes[sorted[i]].next_sibling = parent->first_child;
		parent->first_child = sorted[i];
	}
	free(sorted);
}

void flame_build_free(struct flame *flame)
{
	free(flame->nodes);
	*flame = (struct flame){0};
}

void flame_build_deep(struct flame *flame, uint32_t levels)
{
	uint32_t at = 0, i;

	flame_build_start(flame, "on-cpu", "ns", "deep recursion");
	for (i = 1; i < levels; i++)
		at = flame_build_add(flame, at,
				     (struct flame_node){.name = "visit(Tree const*, int)",
							 .image = "/usr/bin/tree",
							 .kind = NATIVE,
							 .self = 1000});
	flame_build_finish(flame);
}

void flame_build_wide(struct flame *flame, uint32_t children)
{
	uint32_t i;

	flame_build_start(flame, "calls", "count", "many callees");
	for (i = 0; i < children; i++)
		flame_build_add(flame, 0,
				(struct flame_node){.name = i % 2 ? "odd" : "even",
						    .image = "/usr/bin/wide",
						    .kind = NATIVE,
						    .line = i,
						    .file = "wide.c",
						    .self = 1 + i % 3});
	flame_build_finish(flame);
}

/* The made-up server: calls are left to chance, but a chain from outside in stays one. */
struct cast {
	const char *name, *image, *file;
	unsigned int kind;
};

#define SERVER	  "/usr/bin/kv-server"
#define LIBC	  "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define LIBSTDCXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"
#define ZSTD	  "/usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4"

static const struct cast server_cast[] = {
	{"kv::Server::handle(kv::Request const&, kv::Response&)", SERVER, "src/server.cc", NATIVE},
	{"kv::Table::get(std::string_view) const", SERVER, "src/table.cc", NATIVE},
	{"kv::Table::put(std::string_view, std::string_view)", SERVER, "src/table.cc", NATIVE},
	{"kv::BlockCache::lookup(unsigned long)", SERVER, "src/cache.cc", NATIVE},
	{"kv::Codec::decode(kv::Slice, kv::Record&)", SERVER, "src/codec.cc", NATIVE},
	{"kv::Compaction::run()", SERVER, "src/compaction.cc", NATIVE},
	{"kv::Log::append(kv::Slice)", SERVER, "src/log.cc", NATIVE},
	{"kv::parse_order", SERVER, "src/parse.c", NATIVE},
	{"std::__introsort_loop<__gnu_cxx::__normal_iterator<kv::Key*, std::vector<kv::Key> >, "
	 "long>",
	 SERVER, "bits/stl_algo.h", NATIVE},
	{"std::_Rb_tree_insert_and_rebalance", LIBSTDCXX, "", NATIVE},
	{"operator new(unsigned long)", LIBSTDCXX, "", NATIVE},
	{"malloc", LIBC, "", NATIVE},
	{"cfree", LIBC, "", NATIVE},
	{"__memmove_avx_unaligned_erms", LIBC, "", NATIVE},
	{"ZSTD_decompressBlock_internal", ZSTD, "", NATIVE},
	{"HUF_decompress4X1_usingDTable_internal_bmi2", ZSTD, "", NATIVE},
	{"LuaJIT:route.lua:31", "[anon]", "route.lua", JIT},
	{"LuaJIT:auth.lua:7", "[anon]", "auth.lua", JIT},
};
static const struct cast kernel_cast[] = {
	{"entry_SYSCALL_64_after_hwframe", "[kernel]", "", KERNEL},
	{"do_syscall_64", "[kernel]", "", KERNEL},
	{"__x64_sys_futex", "[kernel]", "", KERNEL},
	{"tcp_sendmsg_locked", "[kernel]", "", KERNEL},
	{"ext4_file_write_iter", "[kernel]", "", KERNEL},
	{"copy_user_enhanced_fast_string", "[kernel]", "", KERNEL},
	{"try_to_wake_up", "[kernel]", "", KERNEL},
	{"_raw_spin_lock_irqsave", "[kernel]", "", KERNEL},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct cast *choose(const struct flame_node *parent, uint64_t chance)
{
	static const struct cast mark = {"[truncated: unreadable memory]", "", "", FILM_FRAME_MARK};

	if (chance % 97 == 0)
		return &mark;
	if (parent->kind == KERNEL || chance % 9 == 0)
		return &kernel_cast[(chance >> 8) % LENGTH(kernel_cast)];
	return &server_cast[(chance >> 8) % LENGTH(server_cast)];
}

/* Gives a part of the parent's self to a new child, as a sampler that sees further would. */
static void grow(struct flame *flame, uint32_t parent, uint64_t chance, bool is_hostile)
{
	struct flame_node *from = &flame->nodes[parent];
	const struct cast *cast = choose(from, chance);
	/* a first callee takes nearly all, the next ones share what is left */
	uint32_t percent = from->first_child ? 25 + chance % 50 : 70 + chance % 29;
	uint32_t before_percent = percent + (chance >> 52) % 3 * ((chance >> 56) % 13);
	struct flame_node child = {.name = cast->name,
				   .image = cast->image,
				   .file = cast->file,
				   .line = cast->file[0] ? 10 + (uint32_t)(chance >> 32) % 400 : 0,
				   .kind = cast->kind,
				   .guess = (chance >> 40) % 23 == 0,
				   .inlined = cast->kind == NATIVE && (chance >> 44) % 11 == 0,
				   .self = from->self * percent / 100};

	child.before_self = from->before_self * (before_percent < 100 ? before_percent : 100) / 100;
	if (is_hostile) {
		child.name = flame_hostile_names[(chance >> 12) % flame_hostile_count];
		child.image = flame_hostile_names[(chance >> 24) % flame_hostile_count];
	}
	if (cast->kind == FILM_FRAME_MARK)
		child.self /= 16;
	from->self -= child.self;
	from->before_self -= child.before_self;
	from->first_child = 1; /* until the real one is known: it has children */
	flame_build_add(flame, parent, child);
}

/* Of a few nodes the one with the largest self, so that what is wide is what grows. */
static uint32_t pick_parent(const struct flame *flame, uint32_t from, uint64_t chance)
{
	uint32_t best = 0, i;

	for (i = 0; i < 12; i++) {
		uint32_t node = from + (uint32_t)(hash_u64(chance + i) % (flame->count - from));

		/* nothing is called by a mark, and not much by the kernel */
		if (flame->nodes[node].kind == FILM_FRAME_MARK ||
		    (flame->nodes[node].kind == KERNEL && node % 4))
			continue;
		if (!best || flame->nodes[node].self > flame->nodes[best].self)
			best = node;
	}
	return best;
}

void flame_build_server(struct flame *flame, const struct flame_sample *sample)
{
	static const char *const threads[] = {"worker-0 (4243)", "worker-1 (4244)",
					      "compaction (4245)", "log (4246)"};
	uint64_t total = 41234567890, change = sample->is_diff ? total / 4 : 0;
	uint32_t process, i;

	flame_build_start(flame, "on-cpu", "ns",
			  sample->is_hostile
				  ? "<title> & </title><script>window.hacked = 1</script>"
			  : sample->is_diff ? "on-cpu, kv-server 2.4.0 against 2.3.1"
					    : "on-cpu, 10.0 s on host7, 2026-11-21 14:32:08");
	flame->is_diff = sample->is_diff;
	process = flame_build_add(flame, 0, (struct flame_node){.name = "kv-server (4242)"});
	for (i = 0; i < LENGTH(threads); i++)
		flame_build_add(flame, process,
				(struct flame_node){.name = threads[i],
						    .self = total >> (i + 1),
						    .before_self = change << 1 >> i});
	for (i = 1; flame->count < sample->nodes && i < 20 * sample->nodes; i++) {
		uint32_t parent = pick_parent(flame, process + 1, hash_u64(i));

		if (parent && flame->nodes[parent].self > 64)
			grow(flame, parent, hash_u64(~(uint64_t)i), sample->is_hostile);
	}
	flame_build_finish(flame);
}
