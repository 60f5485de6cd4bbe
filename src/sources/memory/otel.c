// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/otel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../inject/memory_places.h"
#include "arch/elf.h"
#include "arch/names.h"
#include "base/file.h"
#include "base/vec.h"
#include "bpf/memory/heap_abi.h"
#include "sources/loss_counts.h"
#include "elf/file.h"
#include "bpf/probes.skel.h"

/* The most files of processes that have probes, and the bytes of a file's notes. */
#define TARGETS_MAX 256
#define NOTES_MAX   (1u << 20)

#define PROVIDER    "otel_memory"
#define NOTE_TYPE   3 /* https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */

struct target {
	pid_t pid;
	dev_t device;
	ino_t inode;
	int fd;
	char path[32];
};

struct mem_otel {
	struct uprobes *uprobes;
	vec(struct target) targets;
	uint32_t groups; /* how many places have had one */
	uint64_t refused, failed, unread;
};

static struct uprobe_programs programs_of(const struct probes *probes)
{
	return (struct uprobe_programs){.site = probes->progs.mem_heap_usdt};
}

void mem_otel_prepare(struct probes *probes)
{
	const struct uprobe_programs programs = programs_of(probes);

	uprobes_prepare(&programs, NULL);
}

int mem_otel_new(struct probes *probes, struct mem_otel **result)
{
	const struct uprobe_programs programs = programs_of(probes);
	struct mem_otel *otel = calloc(1, sizeof(*otel));
	int err;

	if (!otel)
		return -ENOMEM;
	err = uprobes_new(&programs, NULL, &otel->uprobes);
	if (err)
		free(otel);
	else
		*result = otel;
	return err;
}

void mem_otel_detach(struct mem_otel *otel)
{
	if (otel->uprobes)
		uprobes_free(otel->uprobes);
	otel->uprobes = NULL;
}

void mem_otel_free(struct mem_otel *otel)
{
	if (!otel)
		return;
	mem_otel_detach(otel);
	vec_foreach (&otel->targets, target)
		close(target->fd);
	vec_free(&otel->targets);
	free(otel);
}

/* -- arguments --------------------------------------------------------------------------------- */

/* Parses "%rdi": its number in instructions. -1: something else stands there. */
static int parse_register(const char **text)
{
	size_t length;
	int number;

	if (**text != '%')
		return -1;
	length = strcspn(++*text, " )");
	number = arch_register_numbered(*text, length);
	if (number >= 0)
		*text += length;
	return number;
}

/* Parses "8@%rdi" or "-4@16(%rsp)". */
static bool parse_argument(const char **text, uint64_t *bits)
{
	char *end;
	long size = strtol(*text, &end, 10), distance = 0;
	bool is_memory;
	int number;

	if (end == *text || *end != '@' || (labs(size) != 8 && labs(size) != 4))
		return false;
	*text = end + 1;
	is_memory = **text != '%';
	if (is_memory && **text != '(') {
		distance = strtol(*text, &end, 10);
		if (end == *text)
			return false;
		*text = end;
	}
	if (is_memory && *(*text)++ != '(')
		return false;
	number = parse_register(text);
	if (number < 0 || distance < -MEM_HEAP_USDT_FAR || distance >= MEM_HEAP_USDT_FAR ||
	    (is_memory && *(*text)++ != ')'))
		return false;
	*bits = (uint64_t)number | (is_memory ? MEM_HEAP_USDT_MEMORY : 0) |
		(labs(size) == 4 ? MEM_HEAP_USDT_SHORT : 0) |
		((uint64_t)(distance + MEM_HEAP_USDT_FAR) << MEM_HEAP_USDT_DISTANCE);
	return true;
}

bool mem_otel_arguments(const char *text, unsigned int count, uint64_t *cookie)
{
	*cookie = 0;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t bits;

		text += strspn(text, " ");
		if (!parse_argument(&text, &bits) || (*text && *text != ' '))
			return false;
		*cookie |= bits << i * MEM_HEAP_USDT_BITS;
	}
	return true;
}

/* -- notes ------------------------------------------------------------------------------------- */

struct finding {
	const struct elf_file *file;
	struct uprobe_place *places;
	size_t count;
	uint64_t moved; /* how far the file was moved since its notes were written (prelink) */
	bool is_own;
};

/* Reads a string of a note's description; null: it does not end. */
static const char *read_string(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return text;
}

/* False: the probe is one of these, and cannot be attached. */
static bool add_probe(struct finding *finding, const uint64_t at[3], const char *text,
		      const char *end)
{
	const char *provider = read_string(&text, end), *name = NULL, *arguments = NULL;
	struct uprobe_place place = {.kind = UPROBE_ENTRY};
	bool is_free;

	name = provider ? read_string(&text, end) : NULL;
	arguments = name ? read_string(&text, end) : NULL;
	if (!arguments || strcmp(provider, PROVIDER) != 0)
		return true;
	is_free = !strcmp(name, "free");
	if (!is_free && strcmp(name, "alloc") != 0)
		return true;
	if (finding->count == MEM_OTEL_PLACES_MAX ||
	    !mem_otel_arguments(arguments, is_free ? 1 : 3, &place.cookie) ||
	    !elf_file_offset(finding->file, at[0] + finding->moved, &place.offset) ||
	    (at[2] && !elf_file_offset(finding->file, at[2] + finding->moved, &place.counter)))
		return false;
	place.cookie |= is_free ? MEM_HEAP_USDT_FREE : 0;
	place.entry_cookie = place.cookie;
	finding->places[finding->count++] = place;
	return true;
}

static uint32_t padded(uint32_t size)
{
	return (size + 3) & ~3u;
}

/* Returns how many of these probes cannot be attached. */
static uint64_t read_notes(struct finding *finding, const char *notes, uint64_t size, uint64_t base)
{
	uint64_t failed = 0, at = 0;
	Elf64_Nhdr head;

	while (size - at >= sizeof(head)) {
		const char *name, *text;
		uint64_t addresses[3];

		memcpy(&head, notes + at, sizeof(head));
		at += sizeof(head);
		if (head.n_namesz > size || head.n_descsz > size ||
		    (uint64_t)padded(head.n_namesz) + padded(head.n_descsz) > size - at)
			break;
		name = notes + at;
		text = name + padded(head.n_namesz);
		at += padded(head.n_namesz) + padded(head.n_descsz);
		if (head.n_type != NOTE_TYPE || head.n_namesz != sizeof("stapsdt") ||
		    memcmp(name, "stapsdt", sizeof("stapsdt")) != 0 ||
		    head.n_descsz < sizeof(addresses))
			continue;
		memcpy(addresses, text, sizeof(addresses));
		finding->moved = base && addresses[1] ? base - addresses[1] : 0;
		failed += !add_probe(finding, addresses, text + sizeof(addresses),
				     text + head.n_descsz);
	}
	return failed;
}

static bool match_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct finding *finding = context;

	finding->is_own |= symbol->st_shndx != SHN_UNDEF &&
			   !strcmp(elf_strings_get(names, symbol->st_name), MEMORY_PLACES_SYMBOL);
	return !finding->is_own;
}

size_t mem_otel_places(const struct elf_file *file, struct uprobe_place places[MEM_OTEL_PLACES_MAX],
		       uint64_t *failed)
{
	const struct elf_section *notes = elf_file_section(file, ".note.stapsdt");
	const struct elf_section *base = elf_file_section(file, ".stapsdt.base");
	struct finding finding = {.file = file, .places = places};
	char *contents;

	*failed = 0;
	if (!notes || file->machine != ARCH_ELF_MACHINE || !file->is_64)
		return 0;
	contents = elf_file_section_contents(file, notes, NOTES_MAX);
	*failed = contents ? read_notes(&finding, contents, notes->size, base ? base->address : 0)
			   : 1;
	free(contents);
	if (finding.count || *failed)
		elf_each_symbol(file, SHT_DYNSYM, 4096, match_symbol, &finding);
	/* the library of stackcam's has other probes at the same places */
	if (finding.is_own)
		*failed = finding.count = 0;
	return finding.count;
}

bool mem_otel_image(struct mem_otel *otel, pid_t pid, const struct image *image)
{
	struct target target = {.pid = pid, .device = image->device, .inode = image->inode};
	struct uprobe_place places[MEM_OTEL_PLACES_MAX];
	struct fail why = {0};
	struct elf_file file;
	uint64_t failed;
	size_t count;
	int err;

	if (!otel->uprobes || image->fd < 0 || !image->is_elf)
		return false;
	vec_foreach (&otel->targets, known)
		if (known->pid == pid && known->device == image->device &&
		    known->inode == image->inode)
			return true;
	if (elf_file_open(&file, image->fd))
		return false;
	count = mem_otel_places(&file, places, &failed);
	elf_file_close(&file);
	otel->unread += failed;
	if (!count)
		return false;
	target.fd = file_place(image->fd);
	snprintf(target.path, sizeof(target.path), "/proc/self/fd/%d", target.fd);
	if (target.fd < 0 || otel->targets.count == TARGETS_MAX ||
	    !vec_push(&otel->targets, target)) {
		if (target.fd >= 0)
			close(target.fd);
		otel->refused++;
		return false;
	}
	for (size_t i = 0; i < count; i++)
		places[i].group = otel->groups++;
	err = uprobes_attach(otel->uprobes, target.path, pid, places, count, &why);
	otel->failed += err && err != -ESRCH;
	return !err;
}

void mem_otel_gone(struct mem_otel *otel, pid_t pid)
{
	for (size_t i = otel->targets.count; i-- > 0;) {
		struct target *target = &otel->targets.at[i];

		if (target->pid != pid)
			continue;
		if (otel->uprobes)
			uprobes_detach(otel->uprobes, target->path, pid);
		close(target->fd);
		*target = *vec_last(&otel->targets);
		otel->targets.count--;
	}
}

void mem_otel_report(const struct mem_otel *otel, struct film_writer *film, uint32_t event)
{
	const struct loss_count losses[] = {
		{"otel_memory probes not attached: their arguments cannot be read", otel->unread},
		{"otel_memory probes not attached", otel->failed},
		{"otel_memory probes not attached: too many processes have them", otel->refused},
	};

	loss_counts_emit_all(film, event, losses);
}
