// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tokens.h"

#define ONE "0123456789abcdef"
#define TWO "fedcba9876543210"
#define DIGEST                             \
	"00112233445566778899aabbccddeeff" \
	"ffeeddccbbaa998877665544332211ff"

static void test_what_lines_say(void **state)
{
	struct tokens tokens = {0};
	const struct token *t;

	(void)state;
	assert_int_equal(tokens_parse("# a comment\n\n" ONE "\tread \r\n  " TWO " write host=web1\n"
				      "third-third-third read write",
				      "file", &tokens, NULL),
			 0);
	assert_int_equal(tokens.all.count, 3);
	t = tokens.all.at;
	assert_string_equal(t[0].text, ONE);
	assert_true(t[0].may_read && !t[0].may_upload && !t[0].host);
	assert_true(!t[1].may_read && t[1].may_upload);
	assert_string_equal(t[1].host, "web1");
	assert_true(t[2].may_read && t[2].may_upload);
	assert_ptr_equal(tokens_to_read(&tokens), &t[0]);
	assert_true(t[0].id && t[1].id && t[0].id != t[1].id);
	tokens_free(&tokens);
	/* as it was when a file held one token */
	assert_int_equal(tokens_parse(ONE " \r\n", "file", &tokens, NULL), 0);
	assert_true(tokens.all.at[0].may_read && tokens.all.at[0].may_upload);
	tokens_free(&tokens);
}

/* A token of a team, of which the file has the digest alone, and the rights by name. */
static void test_teams(void **state)
{
	struct tokens tokens = {0};
	const struct token *t;

	(void)state;
	assert_int_equal(tokens_parse("sha256:" DIGEST " read services=shop-*,cart questions=60"
				      " name=shop.team\n" ONE " upload host=a\n" TWO
				      " record\nadmin-admin-admin admin\n",
				      "file", &tokens, NULL),
			 0);
	t = tokens.all.at;
	assert_null(t[0].text);
	assert_int_equal(t[0].digest[0], 0x00);
	assert_int_equal(t[0].digest[31], 0xff);
	assert_true(t[0].id && t[0].may_read && !t[0].may_upload && !t[0].may_record);
	assert_string_equal(t[0].services, "shop-*,cart");
	assert_string_equal(t[0].name, "shop.team");
	assert_int_equal(t[0].questions, 60);
	assert_true(!t[1].may_read && t[1].may_upload && !t[1].may_record);
	assert_true(!t[2].may_read && !t[2].may_upload && t[2].may_record);
	assert_true(t[3].may_read && t[3].may_upload && t[3].may_record && !t[3].services);
	/* a page that is opened with one shows all */
	assert_ptr_equal(tokens_to_read(&tokens), &t[3]);
	tokens_free(&tokens);
}

static void test_what_is_no_token(void **state)
{
	static const char *const bad[] = {
		"",
		"# nothing\n",
		"short",
		"0123456789abcde\xc3\xa4",
		ONE "\n" TWO "\n",
		ONE " read\n" ONE " write\n",
		ONE " all",
		ONE " read host=web1",
		ONE " host=web1",
		ONE " write host=",
		ONE " write host=a host=b",
		ONE " read\nmore\n",
		ONE " services=shop",
		ONE " upload services=shop",
		ONE " read services=",
		ONE " read services=a,,b",
		ONE " read services=a services=b",
		ONE " read services=*a*b*c*d*",
		ONE " read name=",
		ONE " read name=a\"b",
		ONE " read name=a name=b",
		ONE " read questions=0",
		ONE " read questions=many",
		"sha256:" ONE " read",
		"sha256:" DIGEST "0 read",
		"sha256:" DIGEST " read\nsha256:" DIGEST " upload\n",
	};
	char longest[TOKEN_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tokens tokens = {0};
		struct fail why = {0};

		assert_int_equal(tokens_parse(bad[i], "file", &tokens, &why), -EINVAL);
		assert_int_equal(tokens.all.count, 0);
		assert_non_null(strstr(why.what, "file"));
		/* what it says is read by others than the secret */
		assert_null(strstr(why.what, ONE));
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	struct tokens tokens = {0};
	assert_int_equal(tokens_parse(longest, "file", &tokens, NULL), -EINVAL);
	assert_int_equal(tokens_parse(longest + 1, "file", &tokens, NULL), 0);
	tokens_free(&tokens);
}

static void test_made_ones(void **state)
{
	char folder[] = "/tmp/stackcam-tokens-XXXXXX", path[64];
	struct tokens tokens = {0}, again = {0};
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/tokens", folder);
	assert_int_equal(tokens_read(path, &tokens, NULL), -ENOENT);
	umask(0);
	assert_int_equal(tokens_make(path, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(tokens_exposed(path), 0);
	assert_int_equal(tokens_read(path, &tokens, NULL), 0);
	assert_int_equal(tokens.all.count, 2);
	assert_string_not_equal(tokens.all.at[0].text, tokens.all.at[1].text);
	assert_true(tokens.all.at[0].may_read && !tokens.all.at[0].may_upload);
	assert_true(!tokens.all.at[1].may_read && tokens.all.at[1].may_upload);
	assert_int_equal(strlen(tokens.all.at[0].text), 48);
	/* they stay what they are */
	assert_int_equal(tokens_make(path, NULL), -EEXIST);
	assert_int_equal(tokens_read(path, &again, NULL), 0);
	assert_int_equal(again.all.at[0].id, tokens.all.at[0].id);
	for (unsigned int mode = 0; mode < 0700; mode++) {
		assert_int_equal(chmod(path, mode), 0);
		assert_int_equal(tokens_exposed(path), mode & 026 ? mode : 0);
		/* one that others can change is not used */
		if (!(mode & 0400))
			continue;
		tokens_free(&again);
		assert_int_equal(tokens_read(path, &again, NULL), mode & 022 ? -EPERM : 0);
	}
	tokens_free(&tokens);
	tokens_free(&again);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_lines_say),
		cmocka_unit_test(test_teams),
		cmocka_unit_test(test_what_is_no_token),
		cmocka_unit_test(test_made_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
