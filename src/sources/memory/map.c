// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/buf.h"
#include "elf/file.h"
#include "process/procfs.h"

#define PAGE	     4096ul
#define MAPS_LIMIT   (16u << 20)
#define SEGMENTS_MAX 16
/* Programs that are not relocated begin there: no address of theirs is below. */
#define LOWEST_ADDRESS (4ul << 20)
#define LIBRARY_MAX    (32ul << 20)

static uint64_t page_of(uint64_t address)
{
	return address & ~(PAGE - 1);
}

/* Its result, or a negative errno. */
static int64_t call(struct remote *remote, long number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e, uint64_t f)
{
	const uint64_t arguments[6] = {a, b, c, d, e, f};
	int64_t result;
	int err = remote_system_call(remote, number, arguments, &result);

	return err ? err : result;
}

static bool is_error(int64_t result)
{
	return result < 0 && result > -4096;
}

/* -- the file ---------------------------------------------------------------------------------- */

/* What recvmsg(2) of the process fills, as it lies there. */
struct message {
	struct msghdr head;
	struct iovec part;
	uint64_t byte;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
};

static int send_to(pid_t pid, int number, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr head = {.msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *attached = CMSG_FIRSTHDR(&head);
	int process = (int)syscall(SYS_pidfd_open, pid, 0), socket, err = 0;

	if (process < 0)
		return -errno;
	socket = (int)syscall(SYS_pidfd_getfd, process, number, 0);
	if (socket < 0)
		err = -errno;
	close(process);
	if (err)
		return err;
	attached->cmsg_level = SOL_SOCKET;
	attached->cmsg_type = SCM_RIGHTS;
	attached->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(attached), &fd, sizeof(fd));
	if (sendmsg(socket, &head, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		err = errno ? -errno : -EIO;
	close(socket);
	return err;
}

/* Returns the descriptor that the process gets. */
static int receive(struct remote *remote, int number)
{
	uint64_t at = remote->data_at;
	struct message message = {
		.head = {.msg_iov = (void *)(uintptr_t)(at + offsetof(struct message, part)),
			 .msg_iovlen = 1,
			 .msg_control = (void *)(uintptr_t)(at + offsetof(struct message, control)),
			 .msg_controllen = sizeof(message.control)},
		.part = {(void *)(uintptr_t)(at + offsetof(struct message, byte)), 1},
	};
	struct cmsghdr *attached = &message.control.align;
	int64_t result;
	int err = remote_write(remote->pid, &message, sizeof(message), at), fd;

	if (err)
		return err;
	result = call(remote, SYS_recvmsg, (uint64_t)number, at, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0,
		      0, 0);
	if (result != 1)
		return is_error(result) ? (int)result : -EIO;
	err = remote_read(remote->pid, &message, sizeof(message), at);
	if (err)
		return err;
	if (attached->cmsg_type != SCM_RIGHTS || attached->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(attached), sizeof(fd));
	return fd;
}

/* Sends the process a descriptor of the file. Returns its number there, or a negative errno. */
static int send_file(struct remote *remote, int fd)
{
	int ends[2], err;
	int64_t result = call(remote, SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0,
			      remote->data_at, 0, 0);

	if (result)
		return (int)result;
	err = remote_read(remote->pid, ends, sizeof(ends), remote->data_at);
	if (err)
		return err;
	err = send_to(remote->pid, ends[0], fd);
	err = err ? err : receive(remote, ends[1]);
	call(remote, SYS_close, (uint64_t)ends[0], 0, 0, 0, 0, 0);
	call(remote, SYS_close, (uint64_t)ends[1], 0, 0, 0, 0, 0);
	return err;
}

/* -- its segments ------------------------------------------------------------------------------ */

struct plan {
	Elf64_Phdr segments[SEGMENTS_MAX];
	unsigned int count;
	uint64_t size; /* of all, in pages */
};

static int plan_of(const struct elf_file *file, struct plan *plan)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		Elf64_Phdr *segment = &plan->segments[plan->count];
		uint64_t end;

		if (!elf_file_segment(file, i, segment))
			return -ENOEXEC;
		if (segment->p_type != PT_LOAD)
			continue;
		end = segment->p_vaddr + segment->p_memsz;
		if (end > LIBRARY_MAX || ++plan->count == SEGMENTS_MAX)
			return -ENOEXEC;
		plan->size = end > plan->size ? end : plan->size;
	}
	plan->size = page_of(plan->size + PAGE - 1);
	return plan->count && !page_of(plan->segments[0].p_vaddr) ? 0 : -ENOEXEC;
}

static int protection_of(const Elf64_Phdr *segment)
{
	return (segment->p_flags & PF_R ? PROT_READ : 0) |
	       (segment->p_flags & PF_W ? PROT_WRITE : 0) |
	       (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

/* What the file does not hold is zero. */
static int map_rest(struct remote *remote, uint64_t bias, const Elf64_Phdr *segment)
{
	static const uint8_t zeros[PAGE];
	uint64_t from = bias + segment->p_vaddr + segment->p_filesz;
	uint64_t page = page_of(from + PAGE - 1), end = bias + segment->p_vaddr + segment->p_memsz;
	int err = page > from ? remote_write(remote->pid, zeros, page - from, from) : 0;
	int64_t result;

	if (err || end <= page)
		return err;
	result = call(remote, SYS_mmap, page, end - page, (uint64_t)protection_of(segment),
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ull, 0);
	return result == (int64_t)page ? 0 : is_error(result) ? (int)result : -EIO;
}

static int map_segment(struct remote *remote, uint64_t bias, const Elf64_Phdr *segment, int fd)
{
	uint64_t start = page_of(bias + segment->p_vaddr);
	uint64_t size = bias + segment->p_vaddr + segment->p_filesz - start;
	int64_t result = call(remote, SYS_mmap, start, size, (uint64_t)protection_of(segment),
			      MAP_PRIVATE | MAP_FIXED, (uint64_t)fd, page_of(segment->p_offset));

	if (result != (int64_t)start)
		return is_error(result) ? (int)result : -EIO;
	return segment->p_memsz > segment->p_filesz ? map_rest(remote, bias, segment) : 0;
}

/* -- its relocations --------------------------------------------------------------------------- */

struct relocating {
	struct remote *remote;
	uint64_t bias;
	const struct elf_file *file;
	const struct elf_section *symbols;
	const struct mem_functions *functions;
	struct elf_strings names; /* of the symbols */
};

/* All that it takes from other libraries is weak. */
static uint64_t address_of(struct relocating *of, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx != SHN_UNDEF)
		return of->bias + symbol->st_value;
	return of->functions ? of->functions->find(of->functions->context,
						   elf_strings_get(&of->names, symbol->st_name))
			     : 0;
}

static int relocate_one(struct relocating *of, const Elf64_Rela *relocation)
{
	uint64_t value;
	Elf64_Sym symbol;

	switch (ELF64_R_TYPE(relocation->r_info)) {
	case ARCH_RELOCATION_RELATIVE:
		value = of->bias + (uint64_t)relocation->r_addend;
		break;
	case ARCH_RELOCATION_ABSOLUTE:
	case ARCH_RELOCATION_GLOB_DAT:
	case ARCH_RELOCATION_JUMP_SLOT:
		if (!of->symbols || !elf_file_symbol(of->file, of->symbols,
						     ELF64_R_SYM(relocation->r_info), &symbol))
			return -ENOEXEC;
		value = address_of(of, &symbol);
		break;
	case ARCH_RELOCATION_TLS_OFFSET:
		/* it has none, and knows that by the 0 that stays there */
		return 0;
	default:
		return -ENOEXEC;
	}
	return remote_write(of->remote->pid, &value, sizeof(value),
			    of->bias + relocation->r_offset);
}

static int relocate(struct remote *remote, uint64_t bias, const struct elf_file *file,
		    const struct mem_functions *functions)
{
	struct relocating *of = calloc(1, sizeof(*of));
	struct elf_walk *walk = malloc(sizeof(*walk));
	Elf64_Rela relocation;
	int err = walk && of ? 0 : -ENOMEM;

	if (!err) {
		*of = (struct relocating){.remote = remote,
					  .bias = bias,
					  .file = file,
					  .symbols = elf_file_section_of_type(file, SHT_DYNSYM),
					  .functions = functions};
		if (of->symbols && of->symbols->link < file->section_count)
			elf_strings_begin(&of->names, file, &file->sections[of->symbols->link]);
	}
	for (uint32_t i = 0; !err && i < file->section_count; i++) {
		if (file->sections[i].type != SHT_RELA || !(file->sections[i].flags & SHF_ALLOC))
			continue;
		elf_walk_begin(walk, file, &file->sections[i]);
		while (!err && elf_walk_relocation(walk, &relocation))
			err = relocate_one(of, &relocation);
	}
	free(walk);
	free(of);
	return err;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int map_all(struct remote *remote, const struct mem_library *library,
		   const struct elf_file *file, const struct mem_functions *functions,
		   uint64_t *bias)
{
	const struct memory_state asleep = {0};
	struct plan plan = {0};
	int64_t result;
	int err = plan_of(file, &plan), fd;

	if (err)
		return err;
	fd = send_file(remote, file->fd);
	if (fd < 0)
		return fd;
	result = call(remote, SYS_mmap, 0, plan.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull,
		      0);
	err = is_error(result) ? (int)result : 0;
	*bias = err ? 0 : (uint64_t)result;
	for (unsigned int i = 0; i < plan.count && !err; i++)
		err = map_segment(remote, *bias, &plan.segments[i], fd);
	call(remote, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	err = err ? err
		  : remote_write(remote->pid, &asleep, sizeof(asleep),
				 *bias + library->entries[MEMORY_ENTRY_STATE]);
	err = err ? err : relocate(remote, *bias, file, functions);
	if (err && *bias) {
		call(remote, SYS_munmap, *bias, plan.size, 0, 0, 0, 0);
		*bias = 0;
	}
	return err;
}

int mem_map_library(struct remote *remote, const struct mem_library *library,
		    const struct mem_functions *functions, uint64_t *bias)
{
	int fd = open(library->path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file file;
	struct stat stat;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat))
		err = -errno;
	else if (stat.st_dev != library->device || stat.st_ino != library->inode)
		err = -ESTALE;
	else
		err = elf_file_open(&file, fd);
	if (!err) {
		err = map_all(remote, library, &file, functions, bias);
		elf_file_close(&file);
	}
	close(fd);
	return err;
}

/* -- one that is there ------------------------------------------------------------------------- */

/*
 * How far the library is that is mapped there: 0 it cannot be used, as its recorder was killed,
 * before it relocated the library's words, too, which are then addresses in the file; 1
 * and 2: as in struct memory_state. Negative: it is not to be touched.
 */
static int look_at(pid_t pid, const struct mem_library *library, uint64_t born, uint64_t bias,
		   struct fail *why)
{
	uint64_t next_at = bias + library->entries[MEMORY_ENTRY_FUNCTIONS + 1], next = 0;
	struct memory_state state = {0};
	struct procfs_stat stat;

	if (remote_read(pid, &state, sizeof(state), bias + library->entries[MEMORY_ENTRY_STATE]) ||
	    remote_read(pid, &next, sizeof(next), next_at) || next < LOWEST_ADDRESS)
		return 0;
	if (state.granted == UINT64_MAX)
		return fail(why, -EEXIST, NULL, "process %d was started with the library",
			    (int)pid);
	/* one that is about to start it has granted nothing yet, like one that has ended */
	if ((state.is_ready < 2 ? state.owner != 0 : state.granted != 0) &&
	    (state.owner != (uint64_t)getpid() || state.owner_born != born) &&
	    procfs_read_stat((pid_t)state.owner, "stat", &stat) &&
	    stat.start_ticks == state.owner_born)
		return fail(why, -EBUSY, NULL, "process %d is recorded by another stackcam",
			    (int)pid);
	return state.is_ready > 1 ? 2 : (int)state.is_ready;
}

int mem_map_each(pid_t pid, const struct mem_library *library,
		 bool (*each)(void *context, uint64_t bias), void *context, struct fail *why)
{
	struct buf text = {0};
	char *line, *rest = NULL;
	int err = procfs_read(pid, "maps", MAPS_LIMIT, &text);
	bool goes_on = !err;

	for (line = goes_on ? strtok_r((char *)text.at, "\n", &rest) : NULL; line && goes_on;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct procfs_mapping mapping;

		if (procfs_parse_mapping(line, &mapping) && !mapping.offset &&
		    mapping.device == library->device && mapping.inode == library->inode)
			goes_on = each(context, mapping.start);
	}
	buf_free(&text);
	return err ? fail_errno(why, err, NULL, "cannot read the mappings of process %d", (int)pid)
		   : 0;
}

struct search {
	pid_t pid;
	const struct mem_library *library;
	uint64_t born, bias;
	int best, err;
	struct fail *why;
};

static bool add_found(void *context, uint64_t bias)
{
	struct search *search = context;
	int state = look_at(search->pid, search->library, search->born, bias, search->why);

	if (state < 0 || state > search->best)
		search->bias = bias;
	search->err = state < 0 ? state : 0;
	search->best = state > search->best ? state : search->best;
	return !search->err;
}

/* Of several, which recorders that were killed have left, at most one is called. */
int mem_map_find(pid_t pid, const struct mem_library *library, uint64_t born, uint64_t *bias,
		 struct fail *why)
{
	struct search search = {.pid = pid, .library = library, .born = born, .why = why};
	int err = mem_map_each(pid, library, add_found, &search, why);

	*bias = search.bias;
	return err ? err : search.err;
}
