// SPDX-License-Identifier: Apache-2.0
#include "symbol/debug_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "symbol/open_file.h"

#define LINK_SECTION_MAX 4096
/* Larger debug files must have a build id: to read one takes a second for each GB. */
#define CHECKSUM_LIMIT ((uint64_t)512 << 20)

/* What a candidate must have: the build id if both have one, else the checksum. */
struct proof {
	const uint8_t *build_id;
	size_t build_id_size;
	bool has_checksum;
	uint32_t checksum;
};

static int checksum_of(const struct elf_file *f, uint32_t *checksum)
{
	const size_t room = 256u << 10;
	uint8_t *chunk;
	uint64_t at = 0;
	uint32_t sum = 0;

	if (f->size > CHECKSUM_LIMIT)
		return -EFBIG;
	chunk = malloc(room);
	if (!chunk)
		return -ENOMEM;
	while (at < f->size) {
		size_t n = f->size - at < room ? (size_t)(f->size - at) : room;

		if (!elf_file_read(f, at, chunk, n))
			break;
		/* the checksum of debug links is the CRC-32 of zip and xz */
		sum = lzma_crc32(chunk, n, sum);
		at += n;
	}
	free(chunk);
	*checksum = sum;
	return at == f->size ? 0 : -EIO;
}

static bool is_proven(const struct elf_file *f, const struct proof *proof)
{
	uint32_t checksum;

	if (proof->build_id_size && f->build_id_size)
		return proof->build_id_size == f->build_id_size &&
		       !memcmp(proof->build_id, f->build_id, f->build_id_size);
	return proof->has_checksum && !checksum_of(f, &checksum) && checksum == proof->checksum;
}

/* A copy of the stripped program itself would be no help. */
static bool is_useful(const struct elf_file *f)
{
	return elf_file_section_of_type(f, SHT_SYMTAB) || elf_file_section(f, ".debug_info") ||
	       elf_file_section(f, ".zdebug_info") || elf_file_section(f, ".debug_line");
}

void debug_file_close(struct debug_file *file)
{
	if (file->fd >= 0) {
		elf_file_close(&file->file);
		close(file->fd);
		free(file->root);
		free(file->path);
	}
	*file = (struct debug_file){.fd = -1};
}

static int open_fd(int fd, const char *root, const char *path, const struct proof *proof,
		   struct debug_file *found)
{
	int err;

	*found = (struct debug_file){.fd = -1};
	err = elf_file_open(&found->file, fd);
	if (err) {
		close(fd);
		return err;
	}
	found->fd = fd;
	found->root = strdup(root);
	found->path = strdup(path);
	if (!found->root || !found->path)
		err = -ENOMEM;
	else if (!is_proven(&found->file, proof))
		err = -ESTALE;
	if (err)
		debug_file_close(found);
	return err;
}

int debug_file_open_fd(int fd, const char *path, const uint8_t *build_id, size_t build_id_size,
		       struct debug_file *found)
{
	const struct proof proof = {.build_id = build_id, .build_id_size = build_id_size};

	return open_fd(fd, "", path, &proof, found);
}

/* Tries root/path; -ENOENT if the file is not a candidate for any reason, -ENOMEM. */
static int try_path(const struct debug_search *s, const char *root, const char *path,
		    const struct proof *proof, struct debug_file *found, struct fail *why)
{
	struct stat st, own;
	int fd = open_regular(s->far, root, path, true, &st), err;

	if (fd < 0)
		return -ENOENT;
	/* a debug link may name the program itself */
	if (s->main && s->main->fd >= 0 && !file_stat(s->main->fd, &own) &&
	    own.st_dev == st.st_dev && own.st_ino == st.st_ino) {
		close(fd);
		return -ENOENT;
	}
	err = open_fd(fd, root, path, proof, found);
	if (err == -ESTALE)
		fail(why, -ENOENT, NULL, "%s%s belongs to another file", root, path);
	if (!err && !is_useful(&found->file)) {
		debug_file_close(found);
		err = -ENOENT;
	}
	return err && err != -ENOMEM ? -ENOENT : err;
}

/*
 * On this machine first: the owner of a container can put a file with any build id there. Then
 * below the root of the process.
 */
static int try_roots(const struct debug_search *s, const char *path, const struct proof *proof,
		     struct debug_file *found, struct fail *why)
{
	int err;

	if (strlen(path) >= PATH_MAX)
		return -ENOENT;
	err = try_path(s, "", path, proof, found, why);
	if (err == -ENOENT && s->root && s->root[0])
		err = try_path(s, s->root, path, proof, found, why);
	return err;
}

static int try_build_id(const struct debug_search *s, const uint8_t *build_id, size_t size,
			struct debug_file *found, struct fail *why)
{
	const struct proof proof = {.build_id = build_id, .build_id_size = size};
	char hex[2 * ELF_BUILD_ID_MAX + 1], path[PATH_MAX];
	int err = -ENOENT;

	if (size < 2 || size > ELF_BUILD_ID_MAX)
		return -ENOENT;
	text_hex(hex, sizeof(hex), build_id, size);
	for (size_t i = 0; s->directories[i] && err == -ENOENT; i++) {
		int length = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug",
				      s->directories[i], hex, hex + 2);

		if (length > 0 && (size_t)length < sizeof(path))
			err = try_roots(s, path, &proof, found, why);
	}
	return err;
}

/* .gnu_debuglink: a file name, zero bytes up to a multiple of 4, the checksum. */
static char *read_link(const struct elf_file *f, uint32_t *checksum)
{
	const struct elf_section *section = elf_file_section(f, ".gnu_debuglink");
	char *link = section ? elf_file_section_contents(f, section, LINK_SECTION_MAX) : NULL;
	size_t length, at;

	if (!link)
		return NULL;
	length = strnlen(link, section->size);
	at = (length + 4) & ~(size_t)3;
	if (!length || at + sizeof(*checksum) > section->size || memchr(link, '/', length) ||
	    !strcmp(link, ".") || !strcmp(link, "..")) {
		free(link);
		return NULL;
	}
	memcpy(checksum, link + at, sizeof(*checksum));
	return link;
}

static int try_link(const struct debug_search *s, const char *link, const struct proof *proof,
		    struct debug_file *found, struct fail *why)
{
	int directory = (int)(strrchr(s->path, '/') - s->path), err;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/%s", directory, s->path, link);
	err = try_roots(s, path, proof, found, why);
	if (err != -ENOENT)
		return err;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", directory, s->path, link);
	err = try_roots(s, path, proof, found, why);
	for (size_t i = 0; s->directories[i] && err == -ENOENT; i++) {
		snprintf(path, sizeof(path), "%s%.*s/%s", s->directories[i], directory, s->path,
			 link);
		err = try_roots(s, path, proof, found, why);
	}
	return err;
}

int debug_file_find(const struct debug_search *search, struct debug_file *found, struct fail *why)
{
	struct proof proof = {
		.build_id = search->build_id,
		.build_id_size = search->build_id_size,
		.has_checksum = true,
	};
	char *link;
	int err;

	*found = (struct debug_file){.fd = -1};
	err = try_build_id(search, search->build_id, search->build_id_size, found, why);
	if (err != -ENOENT || !search->main || !search->path || search->path[0] != '/')
		return err;
	link = read_link(search->main, &proof.checksum);
	if (link)
		err = try_link(search, link, &proof, found, why);
	free(link);
	return err;
}

int debug_file_find_alternate(const struct debug_search *search, const struct elf_file *debug,
			      const char *root, const char *path, struct debug_file *found)
{
	const struct elf_section *section = elf_file_section(debug, ".gnu_debugaltlink");
	struct proof proof = {0};
	char *link, joined[PATH_MAX];
	size_t length;
	int err = -ENOENT;

	*found = (struct debug_file){.fd = -1};
	link = section ? elf_file_section_contents(debug, section, LINK_SECTION_MAX) : NULL;
	if (!link)
		return -ENOENT;
	/* a path, a zero byte, the build id */
	length = strnlen(link, section->size);
	if (length && length + 1 < section->size) {
		proof.build_id = (const uint8_t *)link + length + 1;
		proof.build_id_size = section->size - length - 1;
		err = try_build_id(search, proof.build_id, proof.build_id_size, found, NULL);
		if (err == -ENOENT && link[0] == '/') {
			err = try_roots(search, link, &proof, found, NULL);
		} else if (err == -ENOENT && path && strrchr(path, '/')) {
			int directory = (int)(strrchr(path, '/') - path);

			snprintf(joined, sizeof(joined), "%.*s/%s", directory, path, link);
			err = try_path(search, root, joined, &proof, found, NULL);
		}
	}
	free(link);
	return err;
}
