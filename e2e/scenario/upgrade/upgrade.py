# Asks http://ADDRESS/ ten times a second, each time by a connection of its own, and
# keeps in FILE how that went.
import http.client
import json
import os
import sys
import time

address, file = sys.argv[1:]
asked, lost, longest, errors, answered = 0, 0, 0.0, [], time.monotonic()
while True:
    began = time.monotonic()
    asked += 1
    try:
        connection = http.client.HTTPConnection(address, timeout=2)
        connection.request("GET", "/")
        if connection.getresponse().status != 200:
            raise OSError("status")
        connection.close()
        longest, answered = max(longest, time.monotonic() - answered), time.monotonic()
    except Exception as e:
        lost += 1
        errors = (errors + [time.strftime("%H:%M:%S ") + repr(e)])[-20:]
    if asked % 10 == 0:
        with open(file + ".new", "w") as f:
            json.dump({"asked": asked, "lost": lost, "longest": longest, "errors": errors}, f)
        os.rename(file + ".new", file)
    time.sleep(max(0, 0.1 - (time.monotonic() - began)))
