import collections, sys, time, traceback

URL, LIMIT = "https://rollcall.example.org/ping/UUID", 100000
written = collections.deque(maxlen=2000)  # the end of the output

def report(path, body=""):
    for pause in 1, 2, 0:
        try:
            import urllib.request
            class Follow(urllib.request.HTTPRedirectHandler):  # without it, a POST becomes a GET
                def redirect_request(self, request, file, code, text, headers, url):
                    return urllib.request.Request(url, request.data)
                http_error_308 = urllib.request.HTTPRedirectHandler.http_error_307
            data = body.encode("utf-8", "replace")[-LIMIT:]
            answer = urllib.request.build_opener(Follow).open(URL + path, data, timeout=5)
            if answer.read(100) == b"OK":
                return
            raise OSError("this is no Rollcall server")
        except Exception as e:  # a failed ping does not stop the job
            error = e
            time.sleep(pause)
    sys.stderr.write("ping failed: %s\n" % error)

class Tee:
    def __init__(self, file): self.file = file
    def __getattr__(self, name): return getattr(self.file, name)
    def write(self, text): written.append(text); return self.file.write(text)

def job():
    pass  # your code

report("/start")
sys.stdout, sys.stderr, status = Tee(sys.stdout), Tee(sys.stderr), 1
try:
    job()
    status = 0
except SystemExit as e:
    status = e.code & 255 if isinstance(e.code, int) else int(e.code is not None)
    raise
except BaseException:
    written.append(traceback.format_exc())
    raise
finally:
    report("/%d" % status, "".join(written))
