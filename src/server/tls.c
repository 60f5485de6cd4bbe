// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "server/internal.h"

enum {
	FILE_MAX = 1 << 20
};

struct tls_files {
	char *certificate, *key, *client_ca; /* the last may be null */
};

/* A whole file as a string, to be freed. */
static int read_file(const char *path, char **text, struct fail *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err = fail_errno(why, -errno, NULL, "cannot read %s", path);
	else if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		err = fail(why, -EINVAL, NULL, "%s is not a certificate or key in PEM", path);
	if (!err)
		*text = calloc(1, (size_t)st.st_size + 1);
	if (!err && (!*text || !file_read_at(fd, 0, *text, (size_t)st.st_size)))
		err = fail_errno(why, *text ? -EIO : -ENOMEM, NULL, "cannot read %s", path);
	if (fd >= 0)
		close(fd);
	return err;
}

int tls_load(const struct server_options *options, struct tls_files **files, struct fail *why)
{
	int err;

	if (!options->tls_certificate != !options->tls_key)
		return fail(why, -EINVAL, NULL, "TLS needs both a certificate and its key");
	if (options->client_ca && !options->tls_key)
		return fail(why, -EINVAL, NULL, "certificates of clients need TLS");
	if (!options->tls_key)
		return 0;
	*files = calloc(1, sizeof(**files));
	if (!*files)
		return fail_errno(why, -ENOMEM, NULL, "cannot read the certificate");
	err = read_file(options->tls_certificate, &(*files)->certificate, why);
	if (!err)
		err = read_file(options->tls_key, &(*files)->key, why);
	if (!err && options->client_ca)
		err = read_file(options->client_ca, &(*files)->client_ca, why);
	return err;
}

void tls_free(struct tls_files *files)
{
	if (!files)
		return;
	if (files->key)
		explicit_bzero(files->key, strlen(files->key));
	free(files->certificate);
	free(files->key);
	free(files->client_ca);
	free(files);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool tls_same(const struct tls_files *a, const struct tls_files *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->certificate, b->certificate) && same_text(a->key, b->key) &&
	       same_text(a->client_ca, b->client_ca);
}

const char *tls_certificate(const struct tls_files *files)
{
	return files->certificate;
}

const char *tls_key(const struct tls_files *files)
{
	return files->key;
}

const char *tls_client_ca(const struct tls_files *files)
{
	return files->client_ca;
}

/*
 * libmicrohttpd asks a client for its certificate, and leaves the judgement to us. One
 * that says what it is for (extended key usage) must say that it is for clients: else every server
 * that the CA has signed could ask.
 */
int tls_check_client(struct MHD_Connection *connection, uint64_t *id, struct fail *why)
{
	char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st wanted = {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)purpose, 0};
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned int status = 0, count = 0;

	const gnutls_datum_t *chain =
		info && info->tls_session ? gnutls_certificate_get_peers(info->tls_session, &count)
					  : NULL;

	if (chain && count &&
	    gnutls_certificate_verify_peers(info->tls_session, &wanted, 1, &status) ==
		    GNUTLS_E_SUCCESS &&
	    !status) {
		*id = hash_bytes(chain[0].data, chain[0].size) | 1;
		return 0;
	}
	return fail(why, -EPERM, NULL,
		    count && (status & GNUTLS_CERT_PURPOSE_MISMATCH)
			    ? "the certificate is not one for clients"
			    : "this server answers only clients with a certificate of its CA");
}
