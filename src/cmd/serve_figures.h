/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SERVE_FIGURES_H
#define CMD_SERVE_FIGURES_H

#include "host/archive.h"
#include "host/cost.h"
#include "host/flight.h"
#include "host/namer.h"
#include "host/recorder.h"
#include "server/server.h"

/* What the parts of "stackcam serve" say of themselves, as its server shows it; any thread. */
void figures_of_recorder(struct recorder *of, struct cost *from, struct server_recorder *recorder);
void figures_of_flight(struct flight *flight, struct server_camera *camera);
void figures_of_archive(struct archive *archive, struct server_bucket *bucket);
void figures_of_namer(struct namer *namer, struct server_names *names);

#endif
