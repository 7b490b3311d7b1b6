# Sends a request to http://ADDRESS/ ten times a second, each on a new connection, and writes
# the results into FILE.
import http.client
import json
import os
import sys
import time

address, file = sys.argv[1:]
requests, failed, longest, errors, answered = 0, 0, 0.0, [], time.monotonic()
while True:
    began = time.monotonic()
    requests += 1
    try:
        connection = http.client.HTTPConnection(address, timeout=2)
        connection.request("GET", "/")
        if connection.getresponse().status != 200:
            raise OSError("status")
        connection.close()
        longest, answered = max(longest, time.monotonic() - answered), time.monotonic()
    except Exception as e:
        failed += 1
        errors = (errors + [time.strftime("%H:%M:%S ") + repr(e)])[-20:]
    if requests % 10 == 0:
        with open(file + ".new", "w") as f:
            json.dump({"requests": requests, "failed": failed, "longest": longest, "errors": errors}, f)
        os.rename(file + ".new", file)
    time.sleep(max(0, 0.1 - (time.monotonic() - began)))
