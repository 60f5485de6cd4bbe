# SPDX-License-Identifier: Apache-2.0
"""For which requests calls were: inspect and trace --args with -e requests, against what a server was asked."""

import http.client
import json
import subprocess

import pytest

from harness import PATIENCE, free_port, needs_root, running

pytestmark = needs_root

SERVER = """
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int handle(int number) { usleep(2000); return 2 * number; }
int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1, client;
    char asked[4096], answer[200];

    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listening, (void *)&at, sizeof(at)) || listen(listening, 9))
        return 1;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 2 && (client = accept(listening, 0, 0)) >= 0; i++) {
        long got;
        handle(-1);
        while ((got = read(client, asked, sizeof(asked) - 1)) > 0) {
            asked[got] = 0;
            int n = sprintf(answer, "%d\\n", handle(atoi(strstr(asked, "/orders/") + 8)));
            dprintf(client, "HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s", n, answer);
            handle(-2);
        }
        close(client);
    }
    return 0;
}
"""


def ask(port, numbers):
    client = http.client.HTTPConnection("127.0.0.1", port)
    for number in numbers:
        client.request("GET", f"/orders/{number}", headers={"X-Request-Id": f"order-{number}"})
        assert int(client.getresponse().read()) == 2 * number
    client.close()


@pytest.mark.parametrize("verb", [["inspect", "handle"], ["trace", "--args", "-f", "handle"]], ids=["inspect", "trace"])
def test_each_call_has_the_request_that_it_was_for(lab, tmp_path, verb):
    film, program, port = tmp_path / "x.film", tmp_path / "server", free_port()
    (tmp_path / "server.c").write_text(SERVER)
    subprocess.run(["gcc", "-g", "-O1", "-o", program, tmp_path / "server.c"], check=True)
    command = [lab.stackcam, *verb, "-e", "requests", "-o", film, "--", program, str(port)]
    with running(*command) as recorder:
        ask(port, range(5))
        ask(port, range(5, 10))
        recorder.wait()
    done = lab.run("report", "--format", "inspect-json", film)
    calls = [json.loads(line) for line in done.stdout.splitlines()]
    of = {call["args"][0]["value"]: (call.get("request"), call.get("endpoint")) for call in calls if call["args"][0]["value"] >= 0}
    assert of == {n: (f"order-{n}", "GET /orders/*") for n in range(10)}
    # what is done between requests is for none
    assert [call.get("request") for call in calls if call["args"][0]["value"] < 0] == 12 * [None]
    text = lab.run("report", "--format", "inspect", film).stdout
    assert text.count("  for GET /orders/* order-") == 10


def test_events_beside_need_a_film(lab):
    for verb in (["inspect", "main"], ["trace"]):
        done = lab.run(*verb, "-e", "requests", "--", "true")
        assert done.returncode == 2 and "name it with -o" in done.stderr
