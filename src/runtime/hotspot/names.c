// SPDX-License-Identifier: Apache-2.0
/*
 * Names of HotSpot's frames.
 *
 *	Method -> ConstMethod -> ConstantPool -> InstanceKlass -> Symbol	(share/oops)
 *
 * A ConstMethod has the bytecode behind it, and behind that the table of lines, compressed
 * (share/code/compressedStream.hpp). Compiled code says at some of its places (PcDesc) which
 * methods are active there: a scope, which names its method and the scope that it was inlined into
 * (share/code/scopeDesc.cpp).
 */
#include "runtime/hotspot/hotspot.h"
#include "runtime/hotspot/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Limits: bytes of a table of lines, of a scope's head, places of one nmethod. */
#define LINES_MAX 65536
#define SCOPE_MAX 24
#define PCS_MAX	  (1u << 20)

bool hotspot_unsigned5(const uint8_t **at, const uint8_t *end, unsigned int excluded,
		       uint32_t *value)
{
	/*
	 * bytes from 192 on (256 - 64, also where zero is left out) have more behind them; five at
	 * most
	 */
	uint32_t sum = 0, i;

	for (i = 0; i < 5; i++) {
		uint32_t byte;

		if (*at == end || **at < excluded)
			return false;
		byte = *(*at)++;
		sum += (byte - excluded) << 6 * i;
		if (byte < 192)
			break;
	}
	*value = sum;
	return true;
}

static int32_t signed_of(uint32_t value)
{
	return (int32_t)(value >> 1 ^ -(value & 1));
}

static unsigned int excluded_byte(const struct hotspot *jvm)
{
	return jvm->version >= 20;
}

static int read_symbol(const struct runtime_at *at, const struct hotspot *jvm, uint64_t symbol,
		       char *to, size_t size)
{
	uint64_t length;
	int err;

	err = hotspot_read_number(at, symbol + jvm->facts[HOTSPOT_SYMBOL_LENGTH], 2, &length);
	if (err)
		return err;
	if (length > size - 1)
		length = size - 1;
	err = runtime_read(at, to, length, symbol + jvm->facts[HOTSPOT_SYMBOL_BODY]);
	if (err)
		return err;
	to[length] = 0;
	return memchr(to, 0, length) ? -ESTALE : 0;
}

/* The symbol at an index of a pool of constants. */
static int read_constant(const struct runtime_at *at, const struct hotspot *jvm, uint64_t pool,
			 uint64_t index, char *to, size_t size)
{
	uint64_t length, symbol;
	int err;

	err = hotspot_read_number(at, pool + jvm->facts[HOTSPOT_POOL_LENGTH], 4, &length);
	if (err)
		return err;
	if (!index || index >= length)
		return -ESTALE;
	err = hotspot_read_number(at, pool + jvm->facts[HOTSPOT_SIZE_POOL] + index * 8, 8, &symbol);
	/* the lowest bit is a mark */
	return err ? err : read_symbol(at, jvm, symbol & ~1ull, to, size);
}

/*
 * "java/util/HashMap" -> "java.util.HashMap". A hidden class has a suffix that differs from run to
 * run, an address or a number behind the last "+" or "/": it is left out. So is that of a lambda,
 * "Work$$Lambda$7": it counts the lambdas of a process, until JDK 20
 * (java.lang.invoke.InnerClassLambdaMetafactory).
 */
static void readable_class(char *name)
{
	char *suffix = strrchr(name, '/'), *plus = strchr(name, '+'), *s;
	static const char lambda[] = "$$Lambda";

	if (suffix && suffix > name && suffix[1] >= '0' && suffix[1] <= '9')
		*suffix = 0;
	if (plus && plus > name)
		*plus = 0;
	s = strstr(name, lambda);
	if (s && s[sizeof(lambda) - 1] == '$') {
		s += sizeof(lambda) - 1;
		if (s[1] && !s[1 + strspn(s + 1, "0123456789")])
			*s = 0;
	}
	for (s = name; *s; s++)
		if (*s == '/')
			*s = '.';
}

/* A descriptor (JVMS 4.3.2) of `size` bytes at most: "[[Ljava/lang/String;" becomes String[][]. */
static void readable_array(char *name, size_t size)
{
	static const struct {
		char letter, name[8];
	} types[] = {{'B', "byte"}, {'C', "char"}, {'D', "double"}, {'F', "float"},
		     {'I', "int"},  {'J', "long"}, {'S', "short"},  {'Z', "boolean"}};
	size_t dimensions = strspn(name, "["), length;
	const char *element = name + dimensions;
	char *end = strchr(name + dimensions, ';');

	if (*element == 'L' && end) {
		*end = 0;
		readable_class(name + dimensions + 1);
		element++;
	} else if (strlen(element) == 1) {
		char letter = *element;

		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (types[i].letter == letter)
				element = types[i].name;
	}
	length = strlen(element);
	memmove(name, element, length + 1);
	for (; dimensions && length + 3 <= size; dimensions--, length += 2)
		memcpy(name + length, "[]", 3);
}

void hotspot_name_of_signature(char *name, size_t size)
{
	size_t length = strlen(name);
	char *dot = strrchr(name, '.');

	/* of a hidden class; elsewhere it is a plus */
	if (dot)
		*dot = '+';
	if (*name == '[') {
		readable_array(name, size);
	} else if (*name == 'L') {
		if (name[length - 1] == ';')
			name[--length] = 0;
		memmove(name, name + 1, length);
		readable_class(name);
	}
}

int hotspot_class_name(const struct runtime_at *at, const void *state, uint64_t klass, char *to,
		       size_t size)
{
	const struct hotspot *jvm = state;
	uint64_t symbol;
	int err = jvm->facts[HOTSPOT_CLASS_NAME] == HOTSPOT_ABSENT
			  ? -ENOTSUP
			  : runtime_read_u64(at, &symbol, klass + jvm->facts[HOTSPOT_CLASS_NAME]);

	err = err ? err : read_symbol(at, jvm, symbol, to, size);
	if (err)
		return err;
	if (*to == '[')
		readable_array(to, size);
	else
		readable_class(to);
	return *to ? 0 : -ESTALE;
}

static int line_of(const struct runtime_at *at, const struct hotspot *jvm, uint64_t table, int bci,
		   uint32_t *line)
{
	uint32_t place = 0, now = 0, best = 0, a, b, read = 0;
	const uint8_t *s, *end;
	uint8_t bytes[256];
	int err;

	*line = 0;
	while (read < LINES_MAX) {
		err = runtime_read(at, bytes, sizeof(bytes), table + read);
		if (err)
			return err;
		end = bytes + sizeof(bytes);
		/* an entry has at most 11 bytes: the last ones are read again, as first ones */
		for (s = bytes; s < end - 11;) {
			uint8_t byte = *s++;

			if (!byte)
				goto found;
			if (byte != 0xff) {
				place += byte >> 3;
				now += byte & 7;
			} else if (hotspot_unsigned5(&s, end, excluded_byte(jvm), &a) &&
				   hotspot_unsigned5(&s, end, excluded_byte(jvm), &b)) {
				place += (uint32_t)signed_of(a);
				now += (uint32_t)signed_of(b);
			} else {
				return -ESTALE;
			}
			if ((int64_t)place > bci)
				goto found;
			best = now;
		}
		read += (uint32_t)(s - bytes);
	}
	return -ESTALE;
found:
	*line = best <= 65535 ? best : 0;
	return 0;
}

/* What of a ConstMethod is needed. */
struct const_method {
	uint64_t at, pool, code_size, name, flags;
};

static int read_const_method(const struct runtime_at *at, const struct hotspot *jvm,
			     uint64_t method, struct const_method *c)
{
	int err;

	err = hotspot_read_number(at, method + jvm->facts[HOTSPOT_METHOD_CONST], 8, &c->at);
	if (!err)
		err = hotspot_read_number(at, c->at + jvm->facts[HOTSPOT_CONST_CONSTANTS], 8,
					  &c->pool);
	if (!err)
		err = hotspot_read_number(at, c->at + jvm->facts[HOTSPOT_CONST_CODE_SIZE], 2,
					  &c->code_size);
	if (!err)
		err = hotspot_read_number(at, c->at + jvm->facts[HOTSPOT_CONST_NAME], 2, &c->name);
	if (!err)
		err = hotspot_read_number(at, c->at + jvm->facts[HOTSPOT_CONST_FLAGS], 2,
					  &c->flags);
	return err;
}

static int name_const_method(const struct runtime_at *at, const struct hotspot *jvm,
			     const struct const_method *c, int bci, struct runtime_names *names)
{
	char name[2 * RUNTIME_TEXT_MAX], file[RUNTIME_TEXT_MAX];
	uint64_t holder, symbol, index = 0;
	uint32_t line = 0;
	size_t length;
	bool has_file;
	int err;

	err = hotspot_read_number(at, c->pool + jvm->facts[HOTSPOT_POOL_HOLDER], 8, &holder);
	if (!err)
		err = hotspot_read_number(at, holder + jvm->facts[HOTSPOT_CLASS_NAME], 8, &symbol);
	if (!err)
		err = read_symbol(at, jvm, symbol, name, RUNTIME_TEXT_MAX);
	if (err)
		return err;
	readable_class(name);
	length = strlen(name);
	name[length++] = '.';
	err = read_constant(at, jvm, c->pool, c->name, name + length, RUNTIME_TEXT_MAX);
	if (err)
		return err;
	if (jvm->facts[HOTSPOT_POOL_FILE] != HOTSPOT_ABSENT)
		err = hotspot_read_number(at, c->pool + jvm->facts[HOTSPOT_POOL_FILE], 2, &index);
	else if (jvm->facts[HOTSPOT_CLASS_FILE] != HOTSPOT_ABSENT)
		err = hotspot_read_number(at, holder + jvm->facts[HOTSPOT_CLASS_FILE], 2, &index);
	has_file = !err && !read_constant(at, jvm, c->pool, index, file, sizeof(file));
	if (c->flags & jvm->facts[HOTSPOT_HAS_LINES] &&
	    jvm->facts[HOTSPOT_HAS_LINES] != HOTSPOT_ABSENT)
		line_of(at, jvm, c->at + jvm->facts[HOTSPOT_SIZE_CONST_METHOD] + c->code_size,
			bci < 0 ? 0 : bci, &line);
	runtime_names_add(names, name, has_file ? file : NULL, line);
	return 0;
}

int hotspot_name_method(const struct runtime_at *at, const struct hotspot *jvm, uint64_t method,
			int bci, struct runtime_names *names)
{
	struct const_method c;
	int err = read_const_method(at, jvm, method, &c);

	return err ? err : name_const_method(at, jvm, &c, bci, names);
}

/* How much of a method's names a checksum has: none, its own, its class's too. */
#define NAME_SUMS 3

/*
 * As the kernel side does it: hotspot_read_names() of bpf/runtime/hotspot/interpreter.h. Returns
 * how many sums there are.
 */
static size_t sums_of_names(const struct runtime_at *at, const struct hotspot *jvm,
			    const struct const_method *c, uint64_t sums[NAME_SUMS])
{
	const struct hotspot_data *d = &jvm->data;
	struct hotspot_symbol s;
	uint64_t symbol, holder;

	sums[0] = 0;
	if (runtime_read_u64(at, &symbol, c->pool + d->pool_size + (uint16_t)c->name * 8ull) ||
	    runtime_read(at, &s, sizeof(s), symbol & ~1ull))
		return 1;
	sums[1] = hotspot_add_symbol(1, &s, d->symbol_length, d->symbol_body);
	if (runtime_read_u64(at, &holder, c->pool + d->pool_holder) ||
	    runtime_read_u64(at, &symbol, holder + d->class_name) ||
	    runtime_read(at, &s, sizeof(s), symbol))
		return 2;
	sums[2] = hotspot_add_symbol(sums[1], &s, d->symbol_length, d->symbol_body);
	return 3;
}

/*
 * Whether the method is the one that a frame's checksum says. 0, -ESTALE or another error. Classes
 * of the archive (CDS) are read from its file as they are needed: what was not in memory when the
 * kernel side looked is not part of its sum.
 */
static int check_method(const struct runtime_at *at, const struct hotspot *jvm,
			const uint64_t words[2], struct const_method *c)
{
	int err = read_const_method(at, jvm, UNWIND_WORD_VALUE(words[0]), c);
	uint64_t sums[NAME_SUMS];
	size_t count;

	if (err)
		return err;
	for (count = sums_of_names(at, jvm, c, sums); count; count--)
		if (hotspot_checksum(c->at, c->pool, (uint16_t)c->code_size, (uint16_t)c->name,
				     sums[count - 1]) == words[1] >> 16)
			return 0;
	return -ESTALE;
}

static int name_interpreted(const struct runtime_at *at, const struct hotspot *jvm,
			    const uint64_t words[2], struct runtime_names *names)
{
	struct const_method c;
	int err;

	err = check_method(at, jvm, words, &c);
	if (!err)
		err = name_const_method(at, jvm, &c, (int)(words[1] & 0xffff), names);
	/* its class may have been unloaded while all this was read */
	return err ? err : check_method(at, jvm, words, &c);
}

/* The nmethod of a frame: where the descriptions of its code are. */
struct nmethod {
	uint64_t at, method;
	uint64_t pcs, pcs_end, scopes, scopes_end, metadata;
};

/* A field of an nmethod; 0 or an error. */
static int field(const struct runtime_at *at, const struct hotspot *jvm, uint64_t base,
		 enum hotspot_fact fact, unsigned int size, uint64_t *value)
{
	if (jvm->facts[fact] == HOTSPOT_ABSENT)
		return -EINVAL;
	return hotspot_read_number(at, base + jvm->facts[fact], size, value);
}

/*
 * Since JDK 23, descriptions lie outside of the code cache (nmethod.hpp, "immutable data" and
 * "mutable data").
 */
static int read_new_nmethod(const struct runtime_at *at, const struct hotspot *jvm,
			    struct nmethod *n)
{
	uint64_t immutable, size, pcs, scopes, mutable_data, relocation;
	int err;

	err = field(at, jvm, n->at, HOTSPOT_NMETHOD_IMMUTABLE, 8, &immutable);
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_NMETHOD_IMMUTABLE_SIZE, 4, &size);
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_NMETHOD_PCS, 4, &pcs);
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_NMETHOD_SCOPES, 4, &scopes);
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_BLOB_MUTABLE_DATA, 8, &mutable_data);
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_BLOB_RELOCATION_SIZE, 4, &relocation);
	if (err)
		return err;
	n->pcs = immutable + pcs;
	n->pcs_end = n->scopes = immutable + scopes;
	n->scopes_end = immutable + size;
	n->metadata = mutable_data + ((relocation + 7) & ~7ull);
	return 0;
}

static int read_nmethod(const struct runtime_at *at, const struct hotspot *jvm, struct nmethod *n)
{
	uint64_t value;
	int err;

	err = field(at, jvm, n->at, HOTSPOT_NMETHOD_METHOD, 8, &n->method);
	if (err || jvm->facts[HOTSPOT_NMETHOD_IMMUTABLE] != HOTSPOT_ABSENT)
		return err ? err : read_new_nmethod(at, jvm, n);
	err = field(at, jvm, n->at, HOTSPOT_NMETHOD_PCS, 4, &value);
	n->pcs = n->scopes_end = n->at + value;
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_NMETHOD_PCS_END, 4, &value);
	n->pcs_end = n->at + value;
	if (!err)
		err = field(at, jvm, n->at, HOTSPOT_NMETHOD_METADATA, 4, &value);
	n->metadata = n->at + value;
	if (err)
		return err;
	if (jvm->facts[HOTSPOT_NMETHOD_SCOPES_BEGIN] != HOTSPOT_ABSENT)
		return field(at, jvm, n->at, HOTSPOT_NMETHOD_SCOPES_BEGIN, 8, &n->scopes);
	err = field(at, jvm, n->at, HOTSPOT_NMETHOD_SCOPES, 4, &value);
	n->scopes = n->at + value;
	return err;
}

/* The scope of the first described place behind offset: what follows it runs in that scope. */
static int find_scope(const struct runtime_at *at, const struct hotspot *jvm,
		      const struct nmethod *n, uint32_t offset, uint64_t *scope)
{
	uint64_t size = jvm->facts[HOTSPOT_SIZE_PC_DESC], low = 0, high, value;
	int err;

	*scope = 0;
	if (n->pcs_end < n->pcs || size < 8 || size > 64)
		return -ESTALE;
	high = (n->pcs_end - n->pcs) / size;
	if (high > PCS_MAX)
		return -ESTALE;
	while (low < high) {
		uint64_t middle = (low + high) / 2;

		err = hotspot_read_number(
			at, n->pcs + middle * size + jvm->facts[HOTSPOT_PC_OFFSET], 4, &value);
		if (err)
			return err;
		if ((int32_t)value > (int64_t)offset)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == (n->pcs_end - n->pcs) / size)
		return 0;
	err = hotspot_read_number(at, n->pcs + low * size + jvm->facts[HOTSPOT_PC_SCOPE], 4, scope);
	return err;
}

/*
 * Whether an nmethod is the one with that number and still in use: the methods that it names go
 * when their classes do, and then it does. Until JDK 19 it loses its method, since JDK 20 its block
 * is freed (share/memory/heap.hpp: HeapBlock::Header, its length and whether it is used).
 */
static int check_nmethod(const struct runtime_at *at, const struct hotspot *jvm, uint64_t nmethod,
			 uint64_t id)
{
	uint64_t is_id, method, is_used = 1;
	int err;

	err = field(at, jvm, nmethod, HOTSPOT_NMETHOD_COMPILE_ID, 4, &is_id);
	if (!err)
		err = field(at, jvm, nmethod, HOTSPOT_NMETHOD_METHOD, 8, &method);
	if (!err && jvm->facts[HOTSPOT_BLOCK_USED] != HOTSPOT_ABSENT)
		err = field(at, jvm, nmethod - jvm->facts[HOTSPOT_SIZE_HEAP_BLOCK],
			    HOTSPOT_BLOCK_USED, 1, &is_used);
	if (err)
		return err;
	return is_id == id && method && is_used ? 0 : -ESTALE;
}

static int name_nmethod(const struct runtime_at *at, const struct hotspot *jvm,
			const uint64_t words[2], struct runtime_names *names)
{
	struct nmethod n = {.at = UNWIND_WORD_VALUE(words[0])};
	uint64_t scope, method;
	const uint8_t *s, *end;
	uint8_t bytes[SCOPE_MAX];
	size_t depth;
	int err;

	err = read_nmethod(at, jvm, &n);
	if (err)
		return err;
	if (UNWIND_WORD_VARIANT(words[0]) == HOTSPOT_NATIVE)
		return hotspot_name_method(at, jvm, n.method, -1, names);
	err = find_scope(at, jvm, &n, (uint32_t)words[1], &scope);
	if (err)
		return err;
	for (depth = 0; scope && depth < RUNTIME_NAMES_MAX; depth++) {
		uint32_t sender, index, bci;

		if (scope >= n.scopes_end - n.scopes)
			return -ESTALE;
		err = runtime_read(at, bytes, sizeof(bytes), n.scopes + scope);
		if (err)
			return err;
		s = bytes;
		end = bytes + sizeof(bytes);
		if (!hotspot_unsigned5(&s, end, excluded_byte(jvm), &sender) ||
		    !hotspot_unsigned5(&s, end, excluded_byte(jvm), &index) ||
		    !hotspot_unsigned5(&s, end, excluded_byte(jvm), &bci) || !index)
			return -ESTALE;
		err = hotspot_read_number(at, n.metadata + (index - 1) * 8ull, 8, &method);
		if (!err)
			err = hotspot_name_method(at, jvm, method, (int)bci - 1, names);
		if (err)
			return err;
		/* a scope stands behind the one that it was inlined into */
		if (sender >= scope)
			return -ESTALE;
		scope = sender;
	}
	return depth ? 0 : hotspot_name_method(at, jvm, n.method, -1, names);
}

static int name_compiled(const struct runtime_at *at, const struct hotspot *jvm,
			 const uint64_t words[2], struct runtime_names *names)
{
	uint64_t nmethod = UNWIND_WORD_VALUE(words[0]), id = words[1] >> 32;
	int err = check_nmethod(at, jvm, nmethod, id);

	if (!err)
		err = name_nmethod(at, jvm, words, names);
	return err ? err : check_nmethod(at, jvm, nmethod, id);
}

/* The piece of code that has a name of its own at an address; null: none is known. */
static const char *find_stub(const struct hotspot *jvm, uint64_t address)
{
	/* each version calls it otherwise */
	if (address == jvm->data.call_stub - 1)
		return "call_stub";
	vec_foreach (&jvm->stubs, stub)
		if (address >= stub->start && address < stub->end)
			return stub->name;
	return NULL;
}

static int name_stub(const struct runtime_at *at, const struct hotspot *jvm,
		     const uint64_t words[2], struct runtime_names *names)
{
	uint64_t blob = UNWIND_WORD_VALUE(words[0]), name, code;
	bool is_offset = jvm->data.code_is_offset;
	char own[128], text[192];
	const char *stub;
	int err;

	if (blob == (jvm->data.return_barrier & UNWIND_VALUE_MASK)) {
		runtime_names_add(names, "[callers of a virtual thread, in the heap]", NULL, 0);
		return 0;
	}
	err = field(at, jvm, blob, HOTSPOT_BLOB_NAME, 8, &name);
	if (!err && (uint32_t)name != words[1] >> 32)
		return -ESTALE;
	if (!err)
		err = runtime_read_string(at, own, sizeof(own), name);
	if (!err)
		err = field(at, jvm, blob, is_offset ? HOTSPOT_BLOB_CODE_OFFSET : HOTSPOT_BLOB_CODE,
			    is_offset ? 4 : 8, &code);
	if (err)
		return err;
	if (is_offset)
		code += blob;
	stub = find_stub(jvm, code + (uint32_t)words[1]);
	snprintf(text, sizeof(text), "[stub: %s]", stub ? stub : own);
	runtime_names_add(names, text, NULL, 0);
	return 0;
}

int hotspot_name(const struct runtime_at *at, const struct hotspot *jvm, const uint64_t words[2],
		 struct runtime_names *names)
{
	switch (UNWIND_WORD_VARIANT(words[0])) {
	case HOTSPOT_INTERPRETED:
		return name_interpreted(at, jvm, words, names);
	case HOTSPOT_C1:
	case HOTSPOT_C2:
	case HOTSPOT_NATIVE:
		return name_compiled(at, jvm, words, names);
	case HOTSPOT_STUB:
		return name_stub(at, jvm, words, names);
	}
	return -ESTALE;
}
