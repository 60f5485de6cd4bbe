// SPDX-License-Identifier: Apache-2.0
#include "attach/kfuncs.h"

#include <errno.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <linux/bpf.h>

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

/* The object: its bytes, which are changed, and what says where they are. */
struct object {
	char *bytes;
	size_t size;
	Elf64_Shdr *sections;
	size_t count;
	char *types; /* of the section .BTF */
	Elf64_Sym *symbols;
	size_t symbol_count;
	const Elf64_Shdr *names; /* of symbols */
};

static bool is_within(const struct object *object, const Elf64_Shdr *section)
{
	return section->sh_offset <= object->size &&
	       section->sh_size <= object->size - section->sh_offset;
}

static void find_sections(struct object *object, const Elf64_Shdr *names)
{
	for (size_t i = 0; i < object->count; i++) {
		Elf64_Shdr *section = &object->sections[i];
		const char *name = object->bytes + names->sh_offset + section->sh_name;

		if (!is_within(object, section) || section->sh_name >= names->sh_size)
			continue;
		if (!strncmp(name, BTF_ELF_SEC, names->sh_size - section->sh_name)) {
			object->types = object->bytes + section->sh_offset;
		} else if (section->sh_type == SHT_SYMTAB && section->sh_link < object->count) {
			object->symbols = (Elf64_Sym *)(object->bytes + section->sh_offset);
			object->symbol_count = section->sh_size / sizeof(*object->symbols);
			object->names = &object->sections[section->sh_link];
		}
	}
}

static int open_object(void *bytes, size_t size, struct object *object)
{
	Elf64_Ehdr *header = bytes;

	*object = (struct object){.bytes = bytes, .size = size};
	if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shoff > size ||
	    header->e_shnum > (size - header->e_shoff) / sizeof(Elf64_Shdr) ||
	    header->e_shstrndx >= header->e_shnum)
		return -EINVAL;
	object->sections = (Elf64_Shdr *)(object->bytes + header->e_shoff);
	object->count = header->e_shnum;
	if (!is_within(object, &object->sections[header->e_shstrndx]))
		return -EINVAL;
	find_sections(object, &object->sections[header->e_shstrndx]);
	return object->types && object->symbols && is_within(object, object->names) ? 0 : -EINVAL;
}

/* A call becomes r0 = 0; what asks for the address of the function finds 0 already. */
static void drop_use(const struct object *object, const Elf64_Shdr *code, uint64_t offset)
{
	struct bpf_insn *insn = (struct bpf_insn *)(object->bytes + code->sh_offset + offset);

	if (is_within(object, code) && offset + sizeof(*insn) <= code->sh_size &&
	    insn->code == (BPF_JMP | BPF_CALL))
		*insn = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K};
}

/* All that uses a symbol is taken out of a section of relocations. */
static void drop_uses(const struct object *object, Elf64_Shdr *section, size_t symbol)
{
	Elf64_Rel *all = (Elf64_Rel *)(object->bytes + section->sh_offset);
	size_t kept = 0;

	for (size_t i = 0; i < section->sh_size / sizeof(*all); i++) {
		if (ELF64_R_SYM(all[i].r_info) != symbol)
			all[kept++] = all[i];
		else
			drop_use(object, &object->sections[section->sh_info], all[i].r_offset);
	}
	section->sh_size = kept * sizeof(*all);
}

/* The symbol becomes a local one that nothing uses: libbpf looks for none of these. */
static void hide_symbol(const struct object *object, const char *name)
{
	const char *names = object->bytes + object->names->sh_offset;

	for (size_t i = 0; i < object->symbol_count; i++) {
		Elf64_Sym *symbol = &object->symbols[i];

		if (symbol->st_name >= object->names->sh_size || symbol->st_shndx != SHN_UNDEF ||
		    strncmp(names + symbol->st_name, name,
			    object->names->sh_size - symbol->st_name) != 0)
			continue;
		symbol->st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
		for (size_t at = 0; at < object->count; at++) {
			Elf64_Shdr *section = &object->sections[at];

			if (section->sh_type == SHT_REL && is_within(object, section) &&
			    section->sh_info < object->count)
				drop_uses(object, section, i);
		}
	}
}

static struct btf_type *in_object(const struct object *object, const struct btf *own, uint32_t id)
{
	const char *first = (const char *)btf__type_by_id(own, 1);
	const struct btf_header *header = (const void *)object->types;
	size_t at = (size_t)((const char *)btf__type_by_id(own, id) - first);

	return (struct btf_type *)(object->types + header->hdr_len + header->type_off + at);
}

/* Whether the probes can call a function, once its pointers lead where the kernel's do. */
static bool is_callable(const struct btf *kernel, const struct btf *own, const char *name,
			const struct object *object)
{
	enum kfunc_state state = kfunc_state(kernel, own, name);

	if (state != KFUNC_POINTERS || !object)
		return state >= KFUNC_POINTERS;
	return fit_pointers(in_object(object, own, prototype(own, name)), kernel,
			    prototype(kernel, name), own);
}

/*
 * A function that cannot be called becomes a type name of its prototype. Its place among the
 * functions to look for becomes that of one that can be called; where none can, they all become
 * members of a structure, which take the same bytes.
 */
static void hide_type(const struct object *object, const struct btf *own, uint32_t id,
		      struct btf_var_secinfo *place, uint32_t callable)
{
	in_object(object, own, id)->info = BTF_KIND_TYPEDEF << 24;
	place->type = callable;
}

static void make_structure(struct btf_type *section, uint32_t number)
{
	uint16_t count = btf_vlen(section);
	struct btf_member *members = btf_members(section);

	for (uint16_t i = 0; i < count; i++)
		members[i] = (struct btf_member){.type = number, .offset = i * 32u};
	section->name_off = 0;
	section->info = BTF_KIND_STRUCT << 24 | count;
	section->size = count * 4u;
}

static uint32_t number_of_four_bytes(const struct btf *own)
{
	for (uint32_t id = 1; id < btf__type_cnt(own); id++) {
		const struct btf_type *type = btf__type_by_id(own, id);

		if (btf_is_int(type) && type->size == 4)
			return id;
	}
	return 0;
}

/*
 * How many functions of the kernel that the probes call have to be changed; in an object, which may
 * be null, they are.
 */
static unsigned int change(const struct btf *kernel, const struct btf *own,
			   const struct object *object)
{
	int id = btf__find_by_name_kind(own, ".ksyms", BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(own, (uint32_t)id);
	struct btf_type *bytes = object && section ? in_object(object, own, (uint32_t)id) : NULL;
	uint32_t callable = 0;
	unsigned int count = 0;

	for (int round = 0; section && round < 2; round++)
		for (uint16_t i = 0; i < btf_vlen(section); i++) {
			uint32_t of = btf_var_secinfos(section)[i].type;
			const struct btf_type *type = btf__type_by_id(own, of);
			const char *name = btf__name_by_offset(own, type->name_off);

			if (!btf_is_func(type))
				continue;
			if (!round) {
				count += kfunc_state(kernel, own, name) != KFUNC_SAME;
				if (is_callable(kernel, own, name, object))
					callable = of;
			} else if (object && !is_callable(kernel, own, name, object)) {
				hide_symbol(object, name);
				hide_type(object, own, of, &btf_var_secinfos(bytes)[i], callable);
			}
		}
	if (bytes && !callable)
		make_structure(bytes, number_of_four_bytes(own));
	return count;
}

int kfuncs_fit(const void *bytes, size_t size, const struct btf *kernel, const struct btf *own,
	       void **fitted)
{
	struct object object;
	int err;

	*fitted = NULL;
	if (!change(kernel, own, NULL))
		return 0;
	*fitted = malloc(size);
	if (!*fitted)
		return -ENOMEM;
	memcpy(*fitted, bytes, size);
	err = open_object(*fitted, size, &object);
	if (!err) {
		change(kernel, own, &object);
		return 0;
	}
	free(*fitted);
	*fitted = NULL;
	return err;
}
