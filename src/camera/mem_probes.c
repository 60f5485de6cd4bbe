// SPDX-License-Identifier: Apache-2.0
#include "camera/mem_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/mem_heap_abi.h"
#include "camera/uprobes.h"
#include "elf/file.h"
#include "probes.skel.h"

#define SECOND_NS 1000000000ull

/* The most files of processes that are probed. */
#define TARGETS_MAX 64

/* The most symbols of a file that are looked at. */
#define SYMBOLS_MAX 4000000

/* What a hit takes, us: of an instruction that the kernel emulates, and of one that it steps. */
#define COST_FAST 1
#define COST_SLOW 5

#define PREFIXES  6

static const struct {
	const char *name;
	enum mem_heap_call call;
	bool nests; /* in malloc(), of glibc */
} functions[] = {
	{"malloc", MEM_HEAP_CALL_SIZE, false},
	{"calloc", MEM_HEAP_CALL_COUNT, false},
	{"realloc", MEM_HEAP_CALL_AGAIN, true},
	{"aligned_alloc", MEM_HEAP_CALL_ALIGNED, true},
	{"memalign", MEM_HEAP_CALL_ALIGNED, true},
	{"posix_memalign", MEM_HEAP_CALL_TO, true},
	{"valloc", MEM_HEAP_CALL_SIZE, false},
	{"pvalloc", MEM_HEAP_CALL_SIZE, false},
	/* operator new of allocators that have their own */
	{"_Znwm", MEM_HEAP_CALL_SIZE, false},
	{"_Znam", MEM_HEAP_CALL_SIZE, false},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* What allocators that are linked into a program call theirs. */
static const char *const prefixes[PREFIXES] = {"", "_rjem_", "je_", "mi_", "tc_", "rpmalloc_"};

/* A file of a process that has an allocator. */
struct target {
	pid_t pid;
	dev_t device;
	ino_t inode;
	int fd;
	char path[32];
	struct uprobe_place places[PREFIXES * FUNCTIONS];
	size_t count;
	bool is_in;
};

struct mem_probes {
	struct probes *probes;
	struct uprobes *uprobes;
	vec(struct target) targets;
	uint64_t budget;		       /* us in a second */
	uint64_t window;		       /* when the present second began */
	uint64_t spent;			       /* up to there */
	uint64_t out_until, out_since, out_ns; /* out_until 0: they are in */
	uint64_t refused, failed;
	bool is_unbound;  /* this kernel cannot bind them to a process: nothing is probed */
	uint64_t unbound; /* files of processes that would have been */
};

static struct uprobe_programs programs_of(const struct probes *probes)
{
	return (struct uprobe_programs){.site = probes->progs.mem_heap_call};
}

void mem_probes_prepare(struct probes *probes, uint64_t interval)
{
	const struct uprobe_programs programs = programs_of(probes);
	struct uprobe_ways ways;

	uprobe_ways_probe(&ways);
	uprobes_prepare(&programs, &ways);
	probes->rodata->mem_heap_interval = interval;
	for (int i = 0; i < MEM_HEAP_DRAWS && interval > 1; i++)
		probes->rodata->mem_heap_draws[i] =
			(uint64_t)(-log((i + 0.5) / MEM_HEAP_DRAWS) * (double)interval);
}

int mem_probes_new(struct probes *probes, unsigned int percent, struct mem_probes **result)
{
	const struct uprobe_programs programs = programs_of(probes);
	struct mem_probes *new;
	struct uprobe_ways ways;
	int err;

	uprobe_ways_probe(&ways);
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->is_unbound = ways.multi && !ways.pid_filter;
	new->probes = probes;
	new->budget = percent * 10000ull;
	new->window = clock_ns();
	probes->bss->mem_heap_limit = new->budget;
	err = new->is_unbound ? 0 : uprobes_new(&programs, &ways, &new->uprobes);
	if (err)
		free(new);
	else
		*result = new;
	return err;
}

void mem_probes_detach(struct mem_probes *probes)
{
	if (probes->uprobes)
		uprobes_free(probes->uprobes);
	probes->uprobes = NULL;
}

static void free_target(struct target *target)
{
	close(target->fd);
}

void mem_probes_free(struct mem_probes *probes)
{
	if (!probes)
		return;
	mem_probes_detach(probes);
	vec_foreach (&probes->targets, target)
		free_target(target);
	vec_free(&probes->targets);
	free(probes);
}

/* -- where probes go --------------------------------------------------------------------------- */

struct finding {
	const struct elf_file *file;
	struct target *target;
	bool has_malloc;
};

/* Number of the function, from the end of a name on; FUNCTIONS: none. */
static size_t function_of(const char *name)
{
	for (size_t p = 0; p < PREFIXES; p++) {
		size_t length = strlen(prefixes[p]);

		if (strncmp(name, prefixes[p], length))
			continue;
		for (size_t i = 0; i < FUNCTIONS; i++)
			if (!strcmp(name + length, functions[i].name))
				return i;
	}
	return FUNCTIONS;
}

static bool is_push(const uint8_t *code)
{
	return (code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50);
}

/* Fills a place, but for its cookie's call; false: it cannot be probed. */
static bool place_of(const struct elf_file *file, uint64_t offset, struct uprobe_place *place)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, nop5[] = {0x0f, 0x1f, 0x44};
	uint8_t code[16];
	uint64_t cost;
	bool is_marked;

	if (!elf_file_read(file, offset, code, sizeof(code)) || !memcmp(code, nop5, sizeof(nop5)))
		return false;
	/* which only says that one may jump here */
	is_marked = !memcmp(code, endbr64, sizeof(endbr64)) && is_push(code + sizeof(endbr64));
	offset += is_marked ? sizeof(endbr64) : 0;
	cost = is_marked || is_push(code) ? COST_FAST : COST_SLOW;
	*place = (struct uprobe_place){
		.offset = offset, .kind = UPROBE_ENTRY, .cookie = MEM_HEAP_CALL_COST(cost)};
	return true;
}

static bool take_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct finding *finding = context;
	struct target *target = finding->target;
	struct uprobe_place place;
	uint64_t offset;
	size_t function;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
		return true;
	function = function_of(elf_strings_get(names, symbol->st_name));
	if (function == FUNCTIONS || !elf_file_offset(finding->file, symbol->st_value, &offset) ||
	    !place_of(finding->file, offset, &place))
		return true;
	finding->has_malloc |= !function;
	/* several names of one function */
	for (size_t i = 0; i < target->count; i++)
		if (target->places[i].offset == place.offset)
			return true;
	if (target->count == sizeof(target->places) / sizeof(target->places[0]))
		return false;
	place.cookie |= functions[function].call;
	if (functions[function].nests)
		place.cookie |= MEM_HEAP_CALL_NESTS;
	place.entry_cookie = place.cookie;
	place.group = (uint32_t)target->count;
	target->places[target->count++] = place;
	return true;
}

static bool is_glibc(const struct image *image)
{
	const char *name = strrchr(image->path, '/');

	return name && (!strcmp(name, "/libc.so.6") || !strncmp(name, "/libc-2.", 8));
}

/* False: it has no allocator. */
static bool find_places(struct target *target, const struct image *image)
{
	struct finding finding = {.target = target};
	struct elf_file file;

	if (elf_file_open(&file, image->fd))
		return false;
	finding.file = &file;
	elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, take_symbol, &finding);
	/* of a program that brings its own, maybe */
	if (!finding.has_malloc)
		elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, take_symbol, &finding);
	elf_file_close(&file);
	for (size_t i = 0; i < target->count && !is_glibc(image); i++) {
		target->places[i].cookie &= ~(uint64_t)MEM_HEAP_CALL_NESTS;
		target->places[i].entry_cookie = target->places[i].cookie;
	}
	return finding.has_malloc;
}

/* -- in and out -------------------------------------------------------------------------------- */

static void put_in(struct mem_probes *probes, struct target *target)
{
	struct fail why = {0};
	int err;

	if (target->is_in || !probes->uprobes)
		return;
	err = uprobes_attach(probes->uprobes, target->path, target->pid, target->places,
			     target->count, &why);
	target->is_in = !err;
	probes->failed += err && err != -ESRCH;
}

static void take_out(struct mem_probes *probes, struct target *target)
{
	if (target->is_in && probes->uprobes)
		uprobes_detach(probes->uprobes, target->path, target->pid);
	target->is_in = false;
}

bool mem_probes_image(struct mem_probes *probes, pid_t pid, const struct image *image)
{
	struct target target = {.pid = pid};

	if ((!probes->uprobes && !probes->is_unbound) || image->fd < 0 || !image->is_elf)
		return false;
	vec_foreach (&probes->targets, known)
		if (known->pid == pid && known->device == image->device &&
		    known->inode == image->inode)
			return true;
	if (!find_places(&target, image))
		return false;
	target.device = image->device;
	target.inode = image->inode;
	target.fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	snprintf(target.path, sizeof(target.path), "/proc/self/fd/%d", target.fd);
	if (target.fd < 0 || probes->targets.count == TARGETS_MAX ||
	    !vec_push(&probes->targets, target)) {
		if (target.fd >= 0)
			close(target.fd);
		probes->refused++;
		return false;
	}
	probes->unbound += probes->is_unbound;
	if (!probes->out_until)
		put_in(probes, vec_last(&probes->targets));
	return true;
}

void mem_probes_gone(struct mem_probes *probes, pid_t pid)
{
	for (size_t i = probes->targets.count; i-- > 0;) {
		struct target *target = &probes->targets.at[i];

		if (target->pid != pid)
			continue;
		take_out(probes, target);
		free_target(target);
		*target = *vec_last(&probes->targets);
		probes->targets.count--;
	}
}

static void all_out(struct mem_probes *probes, uint64_t now, uint64_t taken)
{
	/* as long as it takes until what they took is no more than their budget */
	uint64_t owed = taken * SECOND_NS / probes->budget, until = probes->window + owed;

	vec_foreach (&probes->targets, target)
		take_out(probes, target);
	probes->out_since = now;
	probes->out_until = until > now ? until : now + 1;
}

static void all_in(struct mem_probes *probes, uint64_t now)
{
	probes->out_ns += now - probes->out_since;
	probes->out_until = 0;
	vec_foreach (&probes->targets, target)
		put_in(probes, target);
}

void mem_probes_balance(struct mem_probes *probes, uint64_t now)
{
	uint64_t spent = __atomic_load_n(&probes->probes->bss->mem_heap_spent, __ATOMIC_RELAXED);
	uint64_t taken = spent - probes->spent;

	if (!probes->out_until && taken >= probes->budget)
		all_out(probes, now, taken);
	else if (probes->out_until ? now < probes->out_until : now - probes->window < SECOND_NS)
		return;
	else {
		if (probes->out_until)
			all_in(probes, now);
		probes->window = now;
		probes->spent = spent;
		__atomic_store_n(&probes->probes->bss->mem_heap_limit, spent + probes->budget,
				 __ATOMIC_RELAXED);
	}
}

void mem_probes_tell(const struct mem_probes *probes, struct film_writer *film, uint32_t event)
{
	uint64_t out = probes->out_ns;

	if (probes->out_until)
		out += clock_ns() - probes->out_since;
	if (out)
		film_loss(film, event,
			  "allocations not seen, ms: the probes were out, to keep to their budget "
			  "(--mem-budget)",
			  out / 1000000);
	if (probes->failed)
		film_loss(film, event,
			  "allocations of a process not seen: its allocator cannot be probed",
			  probes->failed);
	if (probes->unbound)
		film_loss(film, event,
			  "allocations of a process not seen: Linux 6.6 to 6.9 cannot bind the "
			  "probes "
			  "of its allocator to it",
			  probes->unbound);
	if (probes->refused)
		film_loss(film, event, "allocations of a process not seen: too many of them",
			  probes->refused);
}
