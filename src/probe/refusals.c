// SPDX-License-Identifier: Apache-2.0
#include "probe/refusals.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "arch/names.h"
struct rule {
	const char *pattern; /* a name; with "*" at its end: how it begins */
	enum probe_refusal refusal;
};

static const struct rule rules[] = {
	{"_start", PROBE_REFUSED_START},
	{"_start_c", PROBE_REFUSED_START},
	{"__libc_start*", PROBE_REFUSED_START},
	{"__libc_csu_*", PROBE_REFUSED_START},
	{"_init", PROBE_REFUSED_START},
	{"_fini", PROBE_REFUSED_START},
	{"call_init*", PROBE_REFUSED_START},
	{"start_thread", PROBE_REFUSED_START},
	{"frame_dummy", PROBE_REFUSED_START},
	{"deregister_tm_clones", PROBE_REFUSED_START},
	{"register_tm_clones", PROBE_REFUSED_START},
	{"__do_global_dtors_aux", PROBE_REFUSED_START},

	{"_dl_*", PROBE_REFUSED_LOADER},
	{"__dl_*", PROBE_REFUSED_LOADER},

	{"setjmp", PROBE_REFUSED_TWICE},
	{"_setjmp", PROBE_REFUSED_TWICE},
	{"__setjmp*", PROBE_REFUSED_TWICE},
	{"sigsetjmp", PROBE_REFUSED_TWICE},
	{"__sigsetjmp*", PROBE_REFUSED_TWICE},
	{"longjmp", PROBE_REFUSED_TWICE},
	{"_longjmp", PROBE_REFUSED_TWICE},
	{"siglongjmp", PROBE_REFUSED_TWICE},
	{"__longjmp*", PROBE_REFUSED_TWICE},
	{"____longjmp_chk", PROBE_REFUSED_TWICE},
	{"__libc_longjmp", PROBE_REFUSED_TWICE},
	{"__libc_siglongjmp", PROBE_REFUSED_TWICE},
	{"__builtin_longjmp", PROBE_REFUSED_TWICE},
	{"vfork", PROBE_REFUSED_TWICE},
	{"__vfork", PROBE_REFUSED_TWICE},
	{"__libc_vfork", PROBE_REFUSED_TWICE},
	{"clone", PROBE_REFUSED_TWICE},
	{"__clone*", PROBE_REFUSED_TWICE},
	{"clone3", PROBE_REFUSED_TWICE},
	{"getcontext", PROBE_REFUSED_TWICE},
	{"__getcontext*", PROBE_REFUSED_TWICE},
	{"setcontext", PROBE_REFUSED_TWICE},
	{"__setcontext", PROBE_REFUSED_TWICE},
	{"swapcontext", PROBE_REFUSED_TWICE},
	{"__swapcontext", PROBE_REFUSED_TWICE},
	{"__start_context", PROBE_REFUSED_TWICE},
	{"__restore*", PROBE_REFUSED_TWICE},
	{"jump_fcontext", PROBE_REFUSED_TWICE},
	{"ontop_fcontext", PROBE_REFUSED_TWICE},
	{"__morestack*", PROBE_REFUSED_TWICE},
	{"__splitstack_*", PROBE_REFUSED_TWICE},

	{"_Unwind_*", PROBE_REFUSED_UNWINDER},
	{"uw_*", PROBE_REFUSED_UNWINDER},
	{"__cxa_throw*", PROBE_REFUSED_UNWINDER},
	{"__cxa_rethrow*", PROBE_REFUSED_UNWINDER},
	{"__cxa_begin_catch", PROBE_REFUSED_UNWINDER},
	{"__cxa_end_catch", PROBE_REFUSED_UNWINDER},
	{"__cxa_end_cleanup", PROBE_REFUSED_UNWINDER},
	{"__cxa_call_*", PROBE_REFUSED_UNWINDER},
	{"__gxx_personality*", PROBE_REFUSED_UNWINDER},
	{"__gcc_personality*", PROBE_REFUSED_UNWINDER},
	{"rust_eh_personality", PROBE_REFUSED_UNWINDER},
	{"__rust_start_panic", PROBE_REFUSED_UNWINDER},

	{"__llvm_retpoline*", PROBE_REFUSED_HELPER},
	{"__stack_chk_fail*", PROBE_REFUSED_HELPER},
	{"mcount", PROBE_REFUSED_HELPER},
	{"_mcount", PROBE_REFUSED_HELPER},
	{"__mcount_internal", PROBE_REFUSED_HELPER},
	{"__fentry__", PROBE_REFUSED_HELPER},
	{"__cyg_profile_func_*", PROBE_REFUSED_HELPER},
	{"__tls_get_addr*", PROBE_REFUSED_HELPER},
	{"__tls_desc*", PROBE_REFUSED_HELPER},
	{"__gmon_start__", PROBE_REFUSED_HELPER},
	{"_ITM_*", PROBE_REFUSED_HELPER},
	{"__xray_*", PROBE_REFUSED_HELPER},
};

/* Parts of Go's runtime that run on another stack than they return to, or that are jumped into. */
static const struct rule go_rules[] = {
	{"_rt0_*", PROBE_REFUSED_START},
	{"runtime.rt0_*", PROBE_REFUSED_START},
	{"runtime.goexit*", PROBE_REFUSED_START},
	{"runtime.mstart*", PROBE_REFUSED_START},
	{"runtime.morestack*", PROBE_REFUSED_TWICE},
	{"runtime.newstack", PROBE_REFUSED_TWICE},
	{"runtime.systemstack*", PROBE_REFUSED_TWICE},
	{"runtime.mcall*", PROBE_REFUSED_TWICE},
	{"runtime.gogo*", PROBE_REFUSED_TWICE},
	{"runtime.gosave*", PROBE_REFUSED_TWICE},
	{"runtime.asmcgocall*", PROBE_REFUSED_TWICE},
	{"runtime.cgocallback*", PROBE_REFUSED_TWICE},
	{"runtime.sigtramp*", PROBE_REFUSED_TWICE},
	{"runtime.sigreturn*", PROBE_REFUSED_TWICE},
	{"runtime.cgoSigtramp*", PROBE_REFUSED_TWICE},
	{"runtime.cgosigtramp*", PROBE_REFUSED_TWICE},
	{"runtime.sigfwd*", PROBE_REFUSED_TWICE},
	{"runtime.clone*", PROBE_REFUSED_TWICE},
	{"runtime.procyield*", PROBE_REFUSED_HELPER},
	{"runtime.asyncPreempt*", PROBE_REFUSED_TWICE},
	{"runtime.debugCall*", PROBE_REFUSED_TWICE},
	{"runtime.racecall*", PROBE_REFUSED_TWICE},
	{"runtime.vdsoCall*", PROBE_REFUSED_TWICE},
	{"runtime.duffzero*", PROBE_REFUSED_HELPER},
	{"runtime.duffcopy*", PROBE_REFUSED_HELPER},
	{"runtime.gcWriteBarrier*", PROBE_REFUSED_HELPER},
	{"gosave_systemstack_switch*", PROBE_REFUSED_TWICE},
	{"go:buildid*", PROBE_REFUSED_CODE},
	{"go.buildid*", PROBE_REFUSED_CODE},
	{"runtime.text", PROBE_REFUSED_CODE},
	{"runtime.etext", PROBE_REFUSED_CODE},
};

static bool fits(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (length && pattern[length - 1] == '*')
		return !strncmp(pattern, name, length - 1);
	return !strcmp(pattern, name);
}

static enum probe_refusal look_up(const struct rule *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].pattern[0] == name[0] && fits(list[i].pattern, name))
			return list[i].refusal;
	return PROBE_ALLOWED;
}

bool refusal_is_part(const char *symbol)
{
	const char *dot = strchr(symbol, '.'), *at = dot ? strstr(dot, ".cold") : NULL;

	/* ".cold", ".cold.3"; a function of Go could be called "a.coldest" */
	return at && at != symbol && (!at[5] || at[5] == '.');
}

enum probe_refusal refusal_by_name(const char *symbol, bool is_go)
{
	if (is_go) {
		enum probe_refusal r =
			look_up(go_rules, sizeof(go_rules) / sizeof(go_rules[0]), symbol);

		if (r != PROBE_ALLOWED)
			return r;
	}
	if (refusal_is_part(symbol))
		return PROBE_REFUSED_PART;
	for (const char *const *thunk = arch_thunks; *thunk; thunk++)
		if (fits(*thunk, symbol))
			return PROBE_REFUSED_HELPER;
	return look_up(rules, sizeof(rules) / sizeof(rules[0]), symbol);
}

bool refusal_is_loader(const char *path)
{
	static const char *const loaders[] = {"ld-linux*.so*", "ld-2.*.so", "ld.so*", "ld64.so*"};
	const char *name = path ? strrchr(path, '/') : NULL;

	name = name ? name + 1 : path ? path : "";
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if (!fnmatch(loaders[i], name, 0))
			return true;
	return false;
}

size_t refusal_base_length(const char *symbol)
{
	static const char *const endings[] = {".part.",	     ".isra.", ".constprop.", ".lto_priv.",
					      ".localalias", ".cold",  ".llvm.",      ".clone."};
	size_t length = strlen(symbol);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *at = strstr(symbol, endings[i]);

		if (at && at != symbol && (size_t)(at - symbol) < length)
			length = (size_t)(at - symbol);
	}
	return length;
}

/* Whether the name fits one of the globs of a list. */
static bool fits_one_of(const char *list, const char *name)
{
	char glob[64];
	size_t length;

	for (; *list; list += length + (list[length] == ' ')) {
		length = strcspn(list, " ");
		if (length >= sizeof(glob) || (list[0] != '*' && list[0] != name[0]))
			continue;
		memcpy(glob, list, length);
		glob[length] = 0;
		if (!fnmatch(glob, name, 0))
			return true;
	}
	return false;
}

bool call_is_pure(const char *library, const char *symbol)
{
	static const char in_c[] =
		"memcpy memmove memset memcmp memchr memrchr mempcpy memmem memccpy rawmemchr bcmp "
		"bcopy bzero strlen strnlen strcmp strncmp strcpy strncpy stpcpy stpncpy strcat "
		"strncat strchr strrchr strchrnul strstr strcasestr strspn strcspn strpbrk strsep "
		"strtok_r strcasecmp strncasecmp strcoll strxfrm index rindex wcslen wcscmp wcscpy "
		"wmemcpy wmemset wmemcmp strtol strtoll strtoul strtoull strtod strtof strtold "
		"atoi atol atoll atof isalnum isalpha isdigit islower isupper isspace isprint "
		"ispunct "
		"isxdigit "
		"tolower toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc "
		"__errno_location abs labs llabs div ldiv lldiv ffs ffsl ffsll rand_r";

	if (fits_one_of("libm.so.* libmvec.so.*", library))
		return true;
	return fits_one_of("libc.so.*", library) && fits_one_of(in_c, symbol);
}

const char *probe_refusal_words(enum probe_refusal refusal)
{
	switch (refusal) {
	case PROBE_ALLOWED:
		return "can be traced";
	case PROBE_REFUSED_START:
		return "starts or ends the program or a thread";
	case PROBE_REFUSED_LOADER:
		return "part of the dynamic loader";
	case PROBE_REFUSED_RESOLVER:
		return "only chooses a function (IFUNC)";
	case PROBE_REFUSED_TWICE:
		return "returns twice or changes stacks";
	case PROBE_REFUSED_UNWINDER:
		return "part of the exception machinery";
	case PROBE_REFUSED_HELPER:
		return "a compiler's helper";
	case PROBE_REFUSED_PART:
		return "only a part of a function";
	case PROBE_REFUSED_OVERLAP:
		return "lies within another function";
	case PROBE_REFUSED_NO_SIZE:
		return "its end is not known";
	case PROBE_REFUSED_CODE:
		return "does not begin with an instruction that can be probed";
	case PROBE_REFUSED_NO_STUB:
		return "called without a stub, and not found in one library";
	case PROBE_REFUSED_BORDER:
		return "lies outside of the executable segments";
	}
	return "refused";
}
