// SPDX-License-Identifier: Apache-2.0
#include "camera/kfuncs.h"

#include <errno.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

/* How deep prototypes are compared, as libbpf does it. */
#define DEPTH_MAX 32

static const struct btf_type *plain(const struct btf *btf, uint32_t *id)
{
	const struct btf_type *type = btf__type_by_id(btf, *id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type))) {
		*id = type->type;
		type = btf__type_by_id(btf, *id);
	}
	return type;
}

static bool same_parameters(const struct btf *kernel, const struct btf_type *theirs,
			    const struct btf *own, const struct btf_type *ours, int depth);

/* As libbpf compares them: by their kind alone, where they are not made of others. */
static bool same(const struct btf *kernel, uint32_t theirs, const struct btf *own, uint32_t ours,
		 int depth)
{
	const struct btf_type *one = plain(kernel, &theirs), *other = plain(own, &ours);

	if (!one || !other || depth > DEPTH_MAX || btf_kind(one) != btf_kind(other))
		return false;
	switch (btf_kind(one)) {
	case BTF_KIND_PTR:
		return same(kernel, one->type, own, other->type, depth + 1);
	case BTF_KIND_ARRAY:
		return same(kernel, btf_array(one)->type, own, btf_array(other)->type, depth + 1);
	case BTF_KIND_FUNC_PROTO:
		return same(kernel, one->type, own, other->type, depth + 1) &&
		       same_parameters(kernel, one, own, other, depth + 1);
	default:
		return true;
	}
}

static bool same_parameters(const struct btf *kernel, const struct btf_type *theirs,
			    const struct btf *own, const struct btf_type *ours, int depth)
{
	uint16_t i, count = btf_vlen(theirs);

	if (count != btf_vlen(ours))
		return false;
	for (i = 0; i < count; i++)
		if (!same(kernel, btf_params(theirs)[i].type, own, btf_params(ours)[i].type, depth))
			return false;
	return true;
}

/* The prototype of a function; 0: there is none of that name. */
static uint32_t prototype(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);

	return id < 0 ? 0 : btf__type_by_id(btf, (uint32_t)id)->type;
}

/* A pointer to a type of that kind, among the types of the probes; 0: there is none. */
static uint32_t pointer_to(const struct btf *own, uint32_t kind)
{
	uint32_t id;

	for (id = 1; id < btf__type_cnt(own); id++) {
		const struct btf_type *type = btf__type_by_id(own, id), *target;
		uint32_t at;

		if (!btf_is_ptr(type))
			continue;
		at = type->type;
		target = plain(own, &at);
		if (target && btf_kind(target) == kind)
			return id;
	}
	return 0;
}

/* The kind that a pointer leads to; BTF_KIND_PTR: it is none, or leads to another one. */
static uint32_t pointed_kind(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = plain(btf, &id);

	if (!type || !btf_is_ptr(type))
		return BTF_KIND_PTR;
	id = type->type;
	type = plain(btf, &id);
	return type ? btf_kind(type) : BTF_KIND_PTR;
}

static bool is_opaque(uint32_t kind)
{
	return kind == BTF_KIND_UNKN || kind == BTF_KIND_STRUCT || kind == BTF_KIND_FWD;
}

/* Pointers to what BPF programs do not look into: nothing that has a name, or a structure. */
static bool both_opaque(const struct btf *kernel, uint32_t theirs, const struct btf *own,
			uint32_t ours)
{
	return is_opaque(pointed_kind(kernel, theirs)) && is_opaque(pointed_kind(own, ours));
}

/*
 * Since Linux 7.0, a function whose last parameter the kernel fills in stands twice among its
 * types: without that parameter, and as NAME_impl with it. Programs call the first one: the other
 * is not a symbol of the kernel (Documentation/bpf/kfuncs.rst, KF_IMPLICIT_ARGS).
 */
static bool is_implicit(const struct btf *kernel, const char *name)
{
	static const char suffix[] = "_impl";
	size_t length = strlen(name), end = sizeof(suffix) - 1;
	char called[128];

	if (length <= end || length - end >= sizeof(called) ||
	    strcmp(name + length - end, suffix) != 0)
		return false;
	memcpy(called, name, length - end);
	called[length - end] = 0;
	return prototype(kernel, called) != 0;
}

enum kfunc_state kfunc_state(const struct btf *kernel, const struct btf *own, const char *name)
{
	uint32_t theirs = prototype(kernel, name), ours = prototype(own, name);
	const struct btf_type *one = btf__type_by_id(kernel, theirs);
	const struct btf_type *other = btf__type_by_id(own, ours);
	uint16_t i;

	if (!theirs || !ours)
		return KFUNC_MISSING;
	if (is_implicit(kernel, name))
		return KFUNC_CHANGED;
	if (same(kernel, theirs, own, ours, 0))
		return KFUNC_SAME;
	if (btf_vlen(one) != btf_vlen(other) || !same(kernel, one->type, own, other->type, 1))
		return KFUNC_CHANGED;
	for (i = 0; i < btf_vlen(one); i++) {
		uint32_t wanted = btf_params(one)[i].type, has = btf_params(other)[i].type;

		if (!same(kernel, wanted, own, has, 1) && !both_opaque(kernel, wanted, own, has))
			return KFUNC_CHANGED;
	}
	return KFUNC_POINTERS;
}

/*
 * Has pointers lead to what the kernel has them lead to. bytes: the prototype, in the object.
 * False: the probes have no such pointer.
 */
static bool fit_pointers(struct btf_type *bytes, const struct btf *kernel, uint32_t theirs,
			 const struct btf *own)
{
	const struct btf_type *wanted = btf__type_by_id(kernel, theirs);
	uint16_t i;

	for (i = 0; i < btf_vlen(bytes) && i < btf_vlen(wanted); i++) {
		struct btf_param *mine = &btf_params(bytes)[i];
		uint32_t kind = pointed_kind(kernel, btf_params(wanted)[i].type);
		uint32_t has = pointed_kind(own, mine->type), fits;

		if (kind == has || !is_opaque(kind) || !is_opaque(has))
			continue;
		fits = pointer_to(own, kind);
		if (!fits)
			return false;
		mine->type = fits;
	}
	return true;
}

/* The object, and where in it is what has to be changed. */
struct object {
	char *types; /* of the section .BTF */
	size_t types_size;
	char *strings; /* of its symbols' names */
	size_t strings_size;
};

static int open_object(void *bytes, size_t size, struct object *object)
{
	Elf_Scn *section = NULL;
	size_t names;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(bytes, size);
	if (!elf || elf_getshdrstrndx(elf, &names)) {
		elf_end(elf);
		return -EINVAL;
	}
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || header.sh_offset > size || header.sh_size > size - header.sh_offset)
			continue;
		if (!strcmp(name, BTF_ELF_SEC)) {
			object->types = (char *)bytes + header.sh_offset;
			object->types_size = header.sh_size;
		} else if (header.sh_type == SHT_STRTAB && !strcmp(name, ".strtab")) {
			object->strings = (char *)bytes + header.sh_offset;
			object->strings_size = header.sh_size;
		}
	}
	elf_end(elf);
	return object->types && object->strings ? 0 : -EINVAL;
}

/*
 * Renames a string in a table of them, "bpf_…" to "_pf_…", a name of no function of any kernel, but
 * one that the kernel accepts among types.
 */
static void rename_in(char *table, size_t size, const char *name)
{
	size_t length = strlen(name) + 1, at;

	/* each string has a zero before it */
	for (at = 1; at + length <= size; at++)
		if (!table[at - 1] && !memcmp(table + at, name, length))
			table[at] = '_';
}

static struct btf_type *in_object(const struct object *object, const struct btf *own, uint32_t id)
{
	const char *first = (const char *)btf__type_by_id(own, 1);
	const struct btf_header *header = (const void *)object->types;
	size_t at = (size_t)((const char *)btf__type_by_id(own, id) - first);

	return (struct btf_type *)(object->types + header->hdr_len + header->type_off + at);
}

static void fit(const struct object *object, const struct btf *kernel, const struct btf *own,
		const char *name, enum kfunc_state state)
{
	struct btf_type *bytes = in_object(object, own, prototype(own, name));

	if (state == KFUNC_POINTERS && fit_pointers(bytes, kernel, prototype(kernel, name), own))
		return;
	rename_in(object->types, object->types_size, name);
	rename_in(object->strings, object->strings_size, name);
}

/*
 * How many functions of the kernel that the probes call have another prototype there; in an object,
 * which may be null, they are changed.
 */
static unsigned int changed(const struct btf *kernel, const struct btf *own,
			    const struct object *object)
{
	int id = btf__find_by_name_kind(own, ".ksyms", BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(own, (uint32_t)id);
	unsigned int count = 0;
	uint16_t i;

	for (i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_type *type =
			btf__type_by_id(own, btf_var_secinfos(section)[i].type);
		const char *name = btf__name_by_offset(own, type->name_off);

		enum kfunc_state state = kfunc_state(kernel, own, name);

		if (!btf_is_func(type) || state == KFUNC_SAME || state == KFUNC_MISSING)
			continue;
		count++;
		if (object)
			fit(object, kernel, own, name, state);
	}
	return count;
}

int kfuncs_fit(const void *bytes, size_t size, const struct btf *kernel, const struct btf *own,
	       void **fitted)
{
	struct object object = {0};
	int err;

	*fitted = NULL;
	if (!changed(kernel, own, NULL))
		return 0;
	*fitted = malloc(size);
	if (!*fitted)
		return -ENOMEM;
	memcpy(*fitted, bytes, size);
	err = open_object(*fitted, size, &object);
	if (!err) {
		changed(kernel, own, &object);
		return 0;
	}
	free(*fitted);
	*fitted = NULL;
	return err;
}
