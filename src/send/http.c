// SPDX-License-Identifier: Apache-2.0
#include "send/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/tokens.h"

enum {
	CONNECT_SECONDS = 10,
	POST_SECONDS = 120,
	SLOW_SECONDS = 30, /* with less than SLOW_BYTES per second */
	SLOW_BYTES = 100,
	RETRY_AFTER_MAX = 3600, /* s */
	TOKEN_LONGEST = 4096,
	TOKEN_FILE_MAX = 64 << 10, /* of which is read */
	HEADER_LONGEST = 1024,	   /* of a reply, that is looked at */
};

struct http {
	CURL *curl;
	char *ca, *certificate, *key, *token_file;
	const atomic_bool *stop;
	char error[CURL_ERROR_SIZE];
	/* of the post that is under way */
	const struct http_post *post;
	struct http_reply *reply;
	size_t sent;
};

static char *copied(const char *s, bool *failed)
{
	char *copy = s ? strdup(s) : NULL;

	*failed |= s && !copy;
	return copy;
}

int http_new(const struct http_options *options, struct http **http, struct fail *why)
{
	struct http *h = calloc(1, sizeof(*h));
	bool failed = !h || curl_global_init(CURL_GLOBAL_DEFAULT);

	if (!failed) {
		h->ca = copied(options->ca, &failed);
		h->certificate = copied(options->certificate, &failed);
		h->key = copied(options->key, &failed);
		h->token_file = copied(options->token_file, &failed);
		h->stop = options->stop;
		h->curl = curl_easy_init();
		failed |= !h->curl;
	}
	if (failed) {
		http_free(h);
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	}
	*http = h;
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	free(h->ca);
	free(h->certificate);
	free(h->key);
	free(h->token_file);
	free(h);
}

static bool is_loopback(const char *host)
{
	size_t length = strlen(host);

	return !strcmp(host, "localhost") || !strcmp(host, "[::1]") ||
	       (!strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length);
}

size_t http_user(const char *text, const char **user)
{
	const char *scheme = strstr(text, "://"), *end;
	size_t length;

	*user = scheme ? scheme + 3 : text + strlen(text);
	/* up to the last '@' before the path */
	length = strcspn(*user, "/?#");
	end = memrchr(*user, '@', length);
	return end ? (size_t)(end + 1 - *user) : 0;
}

const char *http_shown(const char *url)
{
	const char *user;
	size_t length = http_user(url, &user);

	return length ? user + length : url;
}

bool http_is_local(const char *url)
{
	char *host = NULL;
	CURLU *parsed = curl_url();
	bool is_local = parsed && !curl_url_set(parsed, CURLUPART_URL, url, 0) &&
			!curl_url_get(parsed, CURLUPART_HOST, &host, 0) && is_loopback(host);

	curl_free(host);
	curl_url_cleanup(parsed);
	return is_local;
}

static int bad_url(struct fail *why, const char *url)
{
	return fail(why, -EINVAL, "write it as https://HOST:PORT",
		    "'%.200s' is not the address of a server", http_shown(url));
}

void http_escape(struct buf *to, const char *text)
{
	for (const char *c = text; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		    (*c >= '0' && *c <= '9'))
			buf_put_u8(to, (uint8_t)*c);
		else
			buf_printf(to, "%%%02X", (unsigned char)*c);
}

int http_check_url(const char *url, bool has_token, struct fail *why)
{
	char *host = NULL, *scheme = NULL;
	CURLU *parsed = curl_url();
	int err = 0;

	if (!parsed)
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	if (curl_url_set(parsed, CURLUPART_URL, url, 0) ||
	    curl_url_get(parsed, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) ||
	    (strcmp(scheme, "http") && strcmp(scheme, "https")))
		err = bad_url(why, url);
	else if (has_token && strcmp(scheme, "https") && !is_loopback(host))
		err = fail(why, -EINVAL, "use https://",
			   "cannot send a token to %.200s: everyone on the way could read it",
			   http_shown(url));
	curl_free(host);
	curl_free(scheme);
	curl_url_cleanup(parsed);
	return err;
}

/*
 * The token to send of a file's text: the first that is not there to read with alone
 * (base/tokens.h). One that stands alone in its line may be of any server, and longer than ours
 * are. Returns it with a zero behind it, or null.
 */
static char *pick_token(char *text)
{
	char *lines = NULL, *words;

	for (char *line = strtok_r(text, "\r\n", &lines); line;
	     line = strtok_r(NULL, "\r\n", &lines)) {
		char *token = strtok_r(line, " \t", &words), *word;
		bool is_alone = true, may_upload = false;

		if (!token || *token == '#')
			continue;
		while ((word = strtok_r(NULL, " \t", &words))) {
			is_alone = false;
			may_upload |= !strcmp(word, "write") || !strcmp(word, "upload") ||
				      !strcmp(word, "admin");
		}
		if (is_alone || may_upload)
			return token;
	}
	return NULL;
}

static int check_token(const char *token, const char *file, struct fail *why)
{
	if (!token)
		return fail(why, -EINVAL, "write it there, in a line of its own",
			    "there is no token in %s that allows to send", file);
	if (strlen(token) > TOKEN_LONGEST)
		return fail(why, -EINVAL, NULL, "the token in %s is too long", file);
	/* anything else could end the header */
	for (const char *c = token; *c; c++)
		if (*c <= ' ' || *c > '~')
			return fail(why, -EINVAL, "it may have letters, digits and signs",
				    "the token in %s has other characters", file);
	return 0;
}

/* The header with the token, which is read each time: it may have been changed. */
static int token_header(const struct http *h, char *to, size_t size, struct fail *why)
{
	char text[TOKEN_FILE_MAX + 1];
	int fd = open(h->token_file, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, text, TOKEN_FILE_MAX);
	int err = count < 0 ? -errno : 0;
	const char *token;

	if (!err && tokens_check(fd, h->token_file, why)) {
		explicit_bzero(text, sizeof(text));
		close(fd);
		return -EPERM;
	}
	if (fd >= 0)
		close(fd);
	if (err)
		return fail_errno(why, err,
				  err == -EACCES ? "run as its owner (--user), or name a file of "
						   "your own with --token-file"
						 : NULL,
				  "cannot read the token of %s", h->token_file);
	text[count] = 0;
	token = pick_token(text);
	err = check_token(token, h->token_file, why);
	if (!err)
		snprintf(to, size, "Authorization: Bearer %s", token);
	explicit_bzero(text, sizeof(text));
	return err;
}

static size_t read_body(char *to, size_t size, size_t count, void *context)
{
	struct http *h = context;
	size_t room = size * count, left;
	long given;

	if (h->post->read) {
		given = h->post->read(h->post->context, to, room);
		return given < 0 ? CURL_READFUNC_ABORT : (size_t)given;
	}
	left = h->post->size - h->sent;
	if (left > room)
		left = room;
	memcpy(to, (const char *)h->post->body + h->sent, left);
	h->sent += left;
	return left;
}

/* A connection that was kept may prove to be gone: then the whole request is sent once more. */
static int begin_anew(void *context, curl_off_t offset, int origin)
{
	struct http *h = context;

	if (offset || origin != SEEK_SET)
		return CURL_SEEKFUNC_FAIL;
	h->sent = 0;
	return h->post->read && h->post->rewind(h->post->context) ? CURL_SEEKFUNC_FAIL
								  : CURL_SEEKFUNC_OK;
}

static size_t add_body(char *from, size_t size, size_t count, void *context)
{
	struct http *h = context;
	size_t all = size * count, kept = sizeof(h->reply->words) - 1 - h->reply->size;
	long status = 0;

	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (h->post->write && status / 100 == 2)
		return h->post->write(h->post->context, from, all) ? all : CURL_WRITEFUNC_ERROR;
	if (kept > all)
		kept = all;
	memcpy(h->reply->words + h->reply->size, from, kept);
	h->reply->size += kept;
	h->reply->words[h->reply->size] = 0;
	return all;
}

static void pass_header(const struct http_post *post, const char *line, size_t length)
{
	char text[HEADER_LONGEST + 1];

	if (!post->header || length > HEADER_LONGEST)
		return;
	memcpy(text, line, length);
	text[length] = 0;
	text[strcspn(text, "\r\n")] = 0;
	post->header(post->context, text);
}

static size_t handle_header(char *line, size_t size, size_t count, void *context)
{
	static const char name[] = "retry-after:";
	struct http *h = context;
	size_t length = size * count;
	char value[32];
	uint64_t seconds;

	pass_header(h->post, line, length);
	if (length > sizeof(name) && length - sizeof(name) < sizeof(value) &&
	    !strncasecmp(line, name, sizeof(name) - 1)) {
		memcpy(value, line + sizeof(name) - 1, length - sizeof(name) + 1);
		value[length - sizeof(name)] = 0;
		value[strcspn(value, "\r\n")] = 0;
		if (!text_parse_u64(value + strspn(value, " "), 0, RETRY_AFTER_MAX, &seconds))
			h->reply->retry_after = seconds * SECOND_NS;
	}
	return length;
}

static int look_whether_stopped(void *context, curl_off_t a, curl_off_t b, curl_off_t c,
				curl_off_t d)
{
	const struct http *h = context;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return h->stop && atomic_load(h->stop);
}

static struct curl_slist *make_headers(struct http *h, const char *token, bool *failed)
{
	struct curl_slist *list = NULL, *longer;
	const char *own[4] = {NULL};
	const char *const *sources[] = {own, h->post->headers};
	size_t count = 0;

	/*
	 * an answer to "Expect" would be waited for with each film; of one that is signed, libcurl
	 * would sign it, although it is not sent
	 */
	if (!h->post->signer)
		own[count++] = "Expect:";
	if (*token)
		own[count++] = token;
	/* how long it will be is not known */
	if (h->post->read && !h->post->size)
		own[count++] = "Transfer-Encoding: chunked";

	for (int i = 0; i < 2; i++)
		for (const char *const *header = sources[i]; header && *header; header++) {
			longer = curl_slist_append(list, *header);
			*failed |= !longer;
			list = longer ? longer : list;
		}
	return list;
}

/* POST and PUT have a body, the others none. */
static void set_method(CURL *curl, const struct http_post *post)
{
	const char *method = post->method ? post->method : "POST";

	if (!strcmp(method, "PUT")) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)post->size);
	} else if (!strcmp(method, "POST")) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		if (!post->read || post->size)
			curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->size);
	} else if (!strcmp(method, "HEAD")) {
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	} else {
		curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	}
}

static void set_signer(CURL *curl, const struct http_signer *signer)
{
	char provider[128];

	snprintf(provider, sizeof(provider), "aws:amz:%.100s:s3", signer->region);
	curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider);
	curl_easy_setopt(curl, CURLOPT_USERNAME, signer->id);
	curl_easy_setopt(curl, CURLOPT_PASSWORD, signer->secret);
}

static void set_options(struct http *h, struct curl_slist *headers)
{
	long seconds = h->post->seconds ? (long)h->post->seconds : (long)POST_SECONDS;
	CURL *curl = h->curl;

	/* connections and what is known of names stay */
	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, h->post->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	set_method(curl, h->post);
	if (h->post->signer)
		set_signer(curl, h->post->signer);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "stackcam/" STACKCAM_VERSION);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
	curl_easy_setopt(curl, CURLOPT_READDATA, h);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, begin_anew);
	curl_easy_setopt(curl, CURLOPT_SEEKDATA, h);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, handle_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, h);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_whether_stopped);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, h);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, seconds);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SLOW_SECONDS);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, h->error);
	/*
	 * a token goes to this machine at most in clear text (http_check_url()): not by way of a
	 * proxy
	 */
	if (h->token_file && strncasecmp(h->post->url, "https:", 6))
		curl_easy_setopt(curl, CURLOPT_PROXY, "");
	if (h->ca) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, h->ca);
		/* only this one's signature counts then */
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	}
	if (h->certificate)
		curl_easy_setopt(curl, CURLOPT_SSLCERT, h->certificate);
	if (h->key)
		curl_easy_setopt(curl, CURLOPT_SSLKEY, h->key);
}

/*
 * What its words say besides, where that is of help. Those that count milliseconds would differ
 * from try to try, and be told each time.
 */
static int cannot_post(const struct http *h, CURLcode code, struct fail *why)
{
	const char *words = *h->error ? h->error : curl_easy_strerror(code), *to_do = NULL;
	const char *where = http_shown(h->post->url);
	const char *what = h->post->write ? "read from" : "send to";
	char hint[sizeof(why->to_do)];
	long os_error = 0;

	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		return fail(why, -ECANCELED, NULL, "stopped: cannot %s %s", what, where);
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(h->curl, CURLINFO_OS_ERRNO, &os_error);
		words = os_error ? strerror((int)os_error) : curl_easy_strerror(code);
		to_do = "is the server running, and this its address?";
		break;
	case CURLE_OPERATION_TIMEDOUT:
		words = curl_easy_strerror(code);
		to_do = "is the server running, and this its address?";
		break;
	case CURLE_SSL_CONNECT_ERROR:
		/* of the same thing, these differ from try to try, too */
		snprintf(hint, sizeof(hint), "does the server speak TLS? %.200s", words);
		words = curl_easy_strerror(code);
		to_do = hint;
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		to_do = "is the server running, and this its address?";
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		to_do = "name the file of the authority that signed its certificate (--tls-ca; of "
			"serve --bucket-ca and --sums-ca)";
		break;
	case CURLE_OUT_OF_MEMORY:
		return fail_errno(why, -ENOMEM, NULL, "cannot %s %s", what, where);
	default:
		break;
	}
	return fail(why, -EIO, to_do, "cannot %s %s: %s", what, where, words);
}

int http_post(struct http *h, const struct http_post *post, struct http_reply *reply,
	      struct fail *why)
{
	char token[TOKEN_LONGEST + 64] = "";
	struct curl_slist *headers;
	bool failed = false;
	CURLcode code;
	long status = 0;
	int err = h->token_file ? token_header(h, token, sizeof(token), why) : 0;

	if (err)
		return err;
	*reply = (struct http_reply){0};
	h->post = post;
	h->reply = reply;
	h->sent = 0;
	h->error[0] = 0;
	headers = make_headers(h, token, &failed);
	if (failed) {
		err = fail_errno(why, -ENOMEM, NULL, "cannot send to %s", http_shown(post->url));
	} else {
		set_options(h, headers);
		code = curl_easy_perform(h->curl);
		curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
		reply->status = (unsigned int)status;
		/* a server that has enough of a body may answer and hang up before its end */
		if (code && (status < 400 || code == CURLE_ABORTED_BY_CALLBACK))
			err = cannot_post(h, code, why);
	}
	curl_slist_free_all(headers);
	explicit_bzero(token, sizeof(token));
	return err;
}
