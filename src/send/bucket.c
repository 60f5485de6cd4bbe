// SPDX-License-Identifier: Apache-2.0
/*
 * What was put is confirmed in three ways: the server checks the body against the checksums in the
 * headers (x-amz-content-sha256, Content-MD5); its ETag is the body's MD5, unless the server
 * encrypts; and a HEAD behind it must show the size, and the SHA-256 that was given as metadata.
 */
#include "send/bucket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "send/bucket_address.h"
#include "send/digest.h"
#include "send/http.h"

/* SHA-256 of no bytes: what a request without a body has. */
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

#define META_SHA256  "x-amz-meta-sha256"

enum {
	LIST_BYTES_MAX = 4 << 20, /* of an answer with 1000 keys of 1024 bytes, escaped */
	SECONDS_LEAST = 60,
	BYTES_PER_SECOND = 64 << 10, /* a slower server is given up */
	CODE_SIZE = 64,
	HEADERS_MAX = 8,
};

struct bucket {
	struct http *http;
	struct bucket_address address;
	struct bucket_keys keys;
	uint64_t retry_after;
};

/* What a reply's headers say. */
struct found {
	uint64_t size;
	char etag[80], sha256[80];
	bool is_encrypted; /* then the ETag is not an MD5 */
};

/* One request, and where its body comes from or goes to. */
struct request {
	struct bucket *bucket;
	const char *method, *key, *query;
	uint64_t size;		  /* of the body, as far as it is known */
	struct digest *digest;	  /* of what is put; null: nothing is */
	int fd;			  /* that is sent, or written to */
	uint64_t sent;		  /* or got, of that file */
	struct digest_sums *sums; /* of what is got */
	struct buf *text;	  /* what is got becomes this instead */
	struct found found;
	struct http_reply reply;
	int err; /* of the file */
};

int bucket_new(const struct bucket_options *options, struct bucket **bucket, struct fail *why)
{
	const struct http_options http = {.ca = options->ca, .stop = options->stop};
	struct bucket *b = calloc(1, sizeof(*b));
	int err = b ? bucket_address_parse(options->address, &b->address, why)
		    : fail_errno(why, -ENOMEM, NULL, "cannot use a bucket");

	if (!err)
		err = bucket_keys_read(options->key_file, &b->keys, why);
	if (!err)
		err = http_new(&http, &b->http, why);
	if (err) {
		bucket_free(b);
		return err;
	}
	*bucket = b;
	return 0;
}

void bucket_free(struct bucket *b)
{
	if (!b)
		return;
	http_free(b->http);
	bucket_address_free(&b->address);
	bucket_keys_free(&b->keys);
	free(b);
}

int bucket_check_address(const char *text, struct fail *why)
{
	struct bucket_address address;
	int err = bucket_address_parse(text, &address, why);

	bucket_address_free(&address);
	return err;
}

uint64_t bucket_retry_after(const struct bucket *b)
{
	return b->retry_after;
}

/* The body that is sent, or that comes */

static long read_file(void *context, char *to, size_t room)
{
	struct request *r = context;
	ssize_t count = pread(r->fd, to, room, (off_t)r->sent);

	if (count < 0) {
		r->err = -errno;
		return -1;
	}
	r->sent += (uint64_t)count;
	return count;
}

static int begin_file_anew(void *context)
{
	struct request *r = context;

	r->sent = 0;
	return 0;
}

static bool write_body(void *context, const char *from, size_t size)
{
	struct request *r = context;

	if (r->text) {
		if (r->text->count + size > LIST_BYTES_MAX)
			r->err = -EFBIG;
		else
			buf_put(r->text, from, size);
	} else if (size > r->size - r->sent) {
		r->err = -EBADMSG; /* it is another one; a server does not fill the disk */
	} else {
		r->sent += size;
		r->err = digest_add(r->sums, from, size);
		if (!r->err)
			r->err = file_write_all(r->fd, from, size);
	}
	return !r->err;
}

/* The value of a header of that name, or null. */
static const char *value_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	if (strncasecmp(line, name, length) != 0 || line[length] != ':')
		return NULL;
	line += length + 1;
	return line + strspn(line, " \t");
}

static void look_at_header(void *context, const char *line)
{
	struct found *found = &((struct request *)context)->found;
	const char *value;

	if ((value = value_of(line, "Content-Length")))
		text_parse_u64(value, 0, INT64_MAX, &found->size);
	else if ((value = value_of(line, "ETag")))
		snprintf(found->etag, sizeof(found->etag), "%s", value);
	else if ((value = value_of(line, META_SHA256)))
		snprintf(found->sha256, sizeof(found->sha256), "%s", value);
	else if ((value = value_of(line, "x-amz-server-side-encryption")))
		found->is_encrypted |= strcmp(value, "AES256") != 0;
	else if (value_of(line, "x-amz-server-side-encryption-customer-algorithm"))
		found->is_encrypted = true;
}

/* Requests */

static char *url_of(const struct request *r)
{
	const struct bucket_address *a = &r->bucket->address;
	struct buf url = {0};

	buf_printf(&url, "%s/", a->server);
	bucket_put_escaped(&url, a->bucket, false);
	if (r->key) {
		buf_put_u8(&url, '/');
		bucket_put_escaped(&url, a->prefix, true);
		if (*a->prefix)
			buf_put_u8(&url, '/');
		bucket_put_escaped(&url, r->key, true);
	}
	if (r->query)
		buf_printf(&url, "?%s", r->query);
	buf_put_u8(&url, 0);
	if (url.failed)
		buf_free(&url);
	return (char *)url.at;
}

/* What a reply says went wrong: "NoSuchBucket", or "". */
static void code_of(const struct http_reply *reply, char code[CODE_SIZE])
{
	static const char begin[] = "<Code>";
	const char *at = strstr(reply->words, begin);
	size_t length = 0;

	if (at) {
		at += strlen(begin);
		length = strcspn(at, "<");
	}
	if (length >= CODE_SIZE)
		length = 0;
	memcpy(code, at ? at : "", length);
	code[length] = 0;
}

struct meaning {
	const char *code;
	int err;
	const char *to_do;
};

#define CHECK_KEYS "check the keys of the bucket, and what they allow"

/* docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
static const struct meaning meanings[] = {
	{"AccessDenied", -EACCES, CHECK_KEYS},
	{"InvalidAccessKeyId", -EACCES, CHECK_KEYS},
	{"SignatureDoesNotMatch", -EACCES, CHECK_KEYS},
	{"ExpiredToken", -EACCES, "get a new AWS_SESSION_TOKEN"},
	{"RequestTimeTooSkewed", -EACCES, "set the clock of this machine"},
	{"AuthorizationHeaderMalformed", -EACCES, "set AWS_REGION to the region of the bucket"},
	{"PermanentRedirect", -EACCES, "use the address of the bucket's own region"},
	{"NoSuchBucket", -ENXIO, "create the bucket, or correct its name"},
	{"BadDigest", -EBADMSG, NULL},
	{"InvalidDigest", -EBADMSG, NULL},
	{"IncompleteBody", -EBADMSG, NULL},
	{"XAmzContentSHA256Mismatch", -EBADMSG, NULL},
	{"RequestTimeout", -EAGAIN, NULL},
};

static struct meaning meaning_of(unsigned int status, const char *code)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (!strcmp(meanings[i].code, code))
			return meanings[i];
	switch (status) {
	case 401:
	case 403:
		return meanings[0];
	case 404:
		return (struct meaning){code, -ENOENT, NULL};
	case 408:
	case 425:
	case 429:
		return (struct meaning){code, -EAGAIN, NULL};
	default:
		return (struct meaning){code, status >= 500 ? -EAGAIN : -EIO, NULL};
	}
}

static int refused(const struct request *r, const char *url, struct fail *why)
{
	char code[CODE_SIZE];
	struct meaning meaning;

	code_of(&r->reply, code);
	meaning = meaning_of(r->reply.status, code);
	return fail(why, meaning.err, meaning.to_do, "%s of %.200s was refused: %u%s%s", r->method,
		    url, r->reply.status, *code ? " " : "", code);
}

static int differs(const char *key, const char *what, struct fail *why)
{
	return fail(why, -EBADMSG,
		    "if it stays so, look at the server's disks and at what is between",
		    "the bucket's %s of %.200s is not that of what was sent", what, key);
}

/* One that speaks to no server: it is away for a while, or there never was one. */
static int unreached(const struct request *r, int err, struct fail *why)
{
	if (r->err == -EBADMSG)
		return differs(r->key, "size", why);
	if (r->err)
		return fail_errno(why, r->err, NULL,
				  r->digest ? "cannot read %s" : "cannot keep %s",
				  r->key ? r->key : "the list of a bucket");
	if (err == -EIO)
		err = -EAGAIN;
	if (why)
		why->err = err;
	return err;
}

/* The headers of a request: to be freed. */
struct headers {
	char content[96], md5[64], meta[96];
	char *session;
	const char *list[HEADERS_MAX];
};

static int make_headers(const struct request *r, struct headers *h)
{
	const char *session = r->bucket->keys.session;
	size_t count = 0;

	h->session = NULL;
	snprintf(h->content, sizeof(h->content), "x-amz-content-sha256: %s",
		 r->digest ? r->digest->sha256 : EMPTY_SHA256);
	h->list[count++] = h->content;
	if (session) {
		if (asprintf(&h->session, "x-amz-security-token: %s", session) < 0) {
			h->session = NULL;
			return -ENOMEM;
		}
		h->list[count++] = h->session;
	}
	if (r->digest) {
		snprintf(h->meta, sizeof(h->meta), META_SHA256 ": %s", r->digest->sha256);
		h->list[count++] = h->meta;
		h->list[count++] = "Content-Type: application/vnd.stackcam.film";
	}
	if (r->digest && *r->digest->md5_base64) {
		snprintf(h->md5, sizeof(h->md5), "Content-MD5: %s", r->digest->md5_base64);
		h->list[count++] = h->md5;
	}
	h->list[count] = NULL;
	return 0;
}

static void free_headers(struct headers *h)
{
	if (h->session)
		explicit_bzero(h->session, strlen(h->session));
	free(h->session);
}

static int perform(struct request *r, struct fail *why)
{
	struct bucket *b = r->bucket;
	const struct http_signer signer = {b->keys.id, b->keys.secret, b->keys.region};
	char *url = url_of(r);
	struct headers headers;
	struct http_post post = {
		.url = url,
		.headers = headers.list,
		.method = r->method,
		.signer = &signer,
		.seconds = SECONDS_LEAST + (unsigned int)(r->size / BYTES_PER_SECOND),
		.size = r->digest ? r->size : 0,
		.read = r->digest ? read_file : NULL,
		.rewind = begin_file_anew,
		.write = r->sums || r->text ? write_body : NULL,
		.header = look_at_header,
		.context = r,
	};
	int err = make_headers(r, &headers);

	b->retry_after = 0;
	if (!url || err)
		err = fail_errno(why, -ENOMEM, NULL, "cannot use a bucket");
	else if ((err = http_post(b->http, &post, &r->reply, why)))
		err = unreached(r, err, why);
	else if (r->reply.status / 100 != 2)
		err = refused(r, url, why);
	if (err == -EAGAIN)
		b->retry_after = r->reply.retry_after;
	free_headers(&headers);
	free(url);
	return err;
}

/* The verbs */

/* An ETag is an MD5 in quotes, if nothing was encrypted, and there were no parts. */
static bool etag_differs(const struct found *found, const struct digest *digest)
{
	char etag[sizeof(found->etag)];
	size_t length = strlen(found->etag);
	bool is_quoted = length >= 2 && found->etag[0] == '"' && found->etag[length - 1] == '"';

	snprintf(etag, sizeof(etag), "%.*s", (int)(is_quoted ? length - 2 : length),
		 found->etag + is_quoted);
	return *digest->md5 && !found->is_encrypted && strlen(etag) == strlen(digest->md5) &&
	       strcasecmp(etag, digest->md5) != 0;
}

static int confirm(struct bucket *b, const char *key, const struct digest *digest, struct fail *why)
{
	struct request r = {.bucket = b, .method = "HEAD", .key = key};
	int err = perform(&r, why);

	if (err)
		return err;
	if (r.found.size != digest->size)
		return differs(key, "size", why);
	if (strcmp(r.found.sha256, digest->sha256) != 0 || etag_differs(&r.found, digest))
		return differs(key, "checksum", why);
	return 0;
}

int bucket_put(struct bucket *b, const char *key, int fd, struct bucket_object *object,
	       struct fail *why)
{
	struct digest digest;
	struct request r = {.bucket = b, .method = "PUT", .key = key, .digest = &digest, .fd = fd};
	int err = digest_file(fd, &digest);

	if (!err && !digest.size)
		err = -ENODATA;
	if (err)
		return fail_errno(why, err, NULL, "cannot send %s", key);
	r.size = object->size = digest.size;
	memcpy(object->sha256, digest.sha256, sizeof(object->sha256));
	err = perform(&r, why);
	if (!err && etag_differs(&r.found, &digest))
		err = differs(key, "checksum", why);
	return err ? err : confirm(b, key, &digest, why);
}

int bucket_get(struct bucket *b, const char *key, const struct bucket_object *expected, int fd,
	       struct fail *why)
{
	struct digest_sums sums;
	struct digest digest;
	struct request r = {.bucket = b,
			    .method = "GET",
			    .key = key,
			    .size = expected->size,
			    .fd = fd,
			    .sums = &sums};
	int err = digest_begin(&sums);

	if (err)
		return fail_errno(why, err, NULL, "cannot read %s", key);
	err = perform(&r, why);
	digest_end(&sums, &digest);
	if (!err && (digest.size != expected->size || strcmp(digest.sha256, expected->sha256) != 0))
		err = differs(key, "copy", why);
	return err;
}

int bucket_delete(struct bucket *b, const char *key, struct fail *why)
{
	struct request r = {.bucket = b, .method = "DELETE", .key = key};
	int err = perform(&r, why);

	return err == -ENOENT ? 0 : err;
}

/* A key of a list, with the escapes of XML that keys of ours can have. False: it is too long. */
static bool key_of(const char *at, size_t length, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < length && used + 1 < size; used++) {
		bool is_and = !strncmp(at + i, "&amp;", 5);

		to[used] = at[i];
		i += is_and ? 5 : 1;
	}
	to[used] = 0;
	return used + 1 < size;
}

static int each_key(const char *text, size_t cut, int (*each)(void *context, const char *key),
		    void *context)
{
	static const char begin[] = "<Key>";
	char key[2048];
	int err = 0;

	for (int n = 0; !err && n < BUCKET_LIST_MAX && (text = strstr(text, begin)); n++) {
		size_t length;

		text += strlen(begin);
		length = strcspn(text, "<");
		if (key_of(text, length, key, sizeof(key)) && strlen(key) > cut)
			err = each(context, key + cut);
	}
	return err;
}

int bucket_list(struct bucket *b, const char *begin, int (*each)(void *context, const char *key),
		void *context, struct fail *why)
{
	const char *prefix = b->address.prefix;
	struct buf query = {0}, text = {0};
	struct request r = {.bucket = b, .method = "GET", .text = &text};
	int err = 0;

	/* in the order of their names, as they are signed */
	buf_printf(&query, "list-type=2&max-keys=%d&prefix=", BUCKET_LIST_MAX);
	bucket_put_escaped(&query, prefix, false);
	buf_put_text(&query, *prefix ? "%2F" : "");
	bucket_put_escaped(&query, begin, false);
	buf_put_u8(&query, 0);
	r.query = (const char *)query.at;
	if (!query.failed)
		err = perform(&r, why);
	buf_put_u8(&text, 0);
	if (query.failed || (!err && text.failed))
		err = fail_errno(why, -ENOMEM, NULL, "cannot list a bucket");
	if (!err)
		err = each_key((const char *)text.at, *prefix ? strlen(prefix) + 1 : 0, each,
			       context);
	buf_free(&query);
	buf_free(&text);
	return err;
}
