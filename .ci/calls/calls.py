"""Calls the client that openapi-python-client generates, once for each kind of operation.

The arguments are the OpenAPI document, the address of a server, a key of the installation, and a project: its identifier, its
ping key and a read-write key.
"""

import importlib
import io
import json
import pathlib
import sys
import uuid

import rollcall.models
from rollcall.client import AuthenticatedClient, Client
from rollcall.types import File

document, url, installation, project, ping_key, read_write = sys.argv[1:]
project = uuid.UUID(project)

# Every operation of the document by its name without underscores, such as "createcheck".
operations = {
    path.stem.replace("_", ""): importlib.import_module(f"rollcall.api.{path.parent.name}.{path.stem}")
    for path in pathlib.Path(rollcall.__file__).parent.glob("api/*/[a-z]*.py")
}
missing = [
    operation["operationId"]
    for item in json.load(open(document))["paths"].values()
    for method, operation in item.items()
    if method != "parameters" and operation["operationId"].lower() not in operations
]
if missing:
    sys.exit(f"the Python client lacks {missing}")


def model(kind, /, **fields):
    return getattr(rollcall.models, kind).from_dict(fields)


def body(text):
    return File(payload=io.BytesIO(text))


def call(operation, status, *path, key=read_write, **arguments):
    """Calls an operation, expects a status, and returns the typed answer. A status that the document lacks raises."""
    settings = dict(base_url=url, raise_on_unexpected_status=True)
    client = AuthenticatedClient(token=key, prefix="", auth_header_name="X-Api-Key", **settings) if key else Client(**settings)
    answer = operations[operation.lower()].sync_detailed(*path, client=client, **arguments)
    if answer.status_code != status:
        sys.exit(f"{operation}: status {answer.status_code}, want {status}: {answer.content}")
    return answer.parsed


def equal(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


# Checks.
wanted = dict(name="Nightly", slug="nightly", tags="prod", timeout=3600, unique=["name"])
check = call("createCheck", 201, body=model("CreateCheck", **wanted))
equal("the check after an upsert", call("createCheck", 200, body=model("CreateCheck", **wanted)).uuid, check.uuid)
equal("the check", call("getCheck", 200, str(check.uuid)).name, "Nightly")
equal("the period", call("updateCheck", 200, check.uuid, body=model("UpdateCheck", timeout=7200)).timeout, 7200)
equal("checks", [c.uuid for c in call("listChecks", 200, slug="nightly", tag=["prod"]).checks], [check.uuid])

# Pings.
run = uuid.uuid4()
call("pingStart", 200, check.uuid, key=None, rid=run)
equal("a ping with a body", call("postPingSuccess", 200, check.uuid, key=None, rid=run, body=body(b"412 tables\n")), "OK")
equal("a ping by HEAD", call("headPingSuccess", 200, check.uuid, key=None), None)
call("pingFailure", 200, check.uuid, key=None)
call("postPingExitStatus", 200, check.uuid, 3, key=None, body=body(b"disk full"))
call("postPingLog", 200, check.uuid, key=None, rollcall_at="2026-03-01T12:00:00Z", body=body(b""))
call("pingSlugSuccess", 200, ping_key, "nightly", key=None)
equal("a ping that creates", call("postPingSlugSuccess", 201, ping_key, "fresh", key=None, create="1"), "Created")
equal("an unknown check", call("pingSuccess", 404, uuid.uuid4(), key=None), "not found")
call("headPingSlugSuccess", 404, ping_key, "none", key=None)

# What the check has seen.
pings = call("listPings", 200, check.uuid).pings
equal("pings", [p.type_ for p in pings], ["success", "log", "fail", "fail", "success", "success", "start"])
equal("the run", pings[-2].rid, run)
equal("the body", call("getPingBody", 200, check.uuid, pings[-2].n), "412 tables\n")
equal("a ping without a body", call("getPingBody", 404, check.uuid, 1).error, "not found")
equal("flips", [f.up for f in call("listFlips", 200, str(check.uuid), seconds=3600)], [1, 0, 1])
equal("runs", call("listStats", 200, str(check.uuid)).total.runs, 5)
assert 'rollcall_check_up{name="Nightly"' in call("getMetrics", 200)

# Badges.
badges = call("listBadges", 200).badges["prod"]
key, signature = badges.json.split("/")[-3:-1]
equal("the badge of a tag", call("getTagBadgeJSON", 200, key, signature, "prod", key=None).total, 1)
own = uuid.UUID(check.badge_url.split("/")[-1].removesuffix(".svg"))
assert call("getCheckBadgeSVG", 200, 2, own, key=None).startswith("<svg")
equal("the badge for Shields", call("getCheckBadgeShields", 200, 3, own, key=None).message, "up")

# Errors.
refused = call("updateCheck", 400, check.uuid, body=model("UpdateCheck", timeout=59))
equal("a value out of bounds", (refused.field, refused.error), ("timeout", "timeout is too small: 59, the minimum is 60"))
equal("a wrong key", call("listChecks", 401, key="x" * 32).error, "wrong api key")
call("pauseCheck", 200, check.uuid)
equal("the status", call("resumeCheck", 200, check.uuid).status, "new")
equal("a check that runs", call("resumeCheck", 409, check.uuid).error, "check is not paused")
call("deleteCheck", 200, check.uuid)
equal("a deleted check", call("getCheck", 404, str(check.uuid)).error, "not found")
equal("a key without the right", call("listProjects", 403).error, "this needs an api key with the scope admin")

# Administration.
admin = dict(key=installation, project=project)
kinds = [k.kind for k in call("listChannelKinds", 200).kinds]
assert "ntfy" in kinds, kinds
channel = call("createChannel", 201, **admin, body=model("CreateChannel", kind="ntfy", name="Chat", settings={"topic": "jobs", "token": "tk_1"}))
equal("secrets", channel.secrets, ["token"])
call("replaceChannel", 200, channel.id, **admin, body=model("ReplaceChannel", name="Pager", settings={"topic": "jobs"}))
equal("the integration", call("getChannel", 200, channel.id, **admin).name, "Pager")
equal("integrations", [c.name for c in call("listChannels", 200).channels], ["Pager"])
call("deleteChannel", 200, channel.id, **admin)
page = call("createStatusPage", 201, **admin, body=model("StatusPageRequest", slug="python", title="Jobs"))
equal("the page", call("replaceStatusPage", 200, page.id, **admin, body=model("StatusPageRequest", slug="python", title="Runs")).title, "Runs")
equal("pages", len(call("listStatusPages", 200, **admin).status_pages), 1)
call("deleteStatusPage", 200, page.id, **admin)
fresh = call("createProject", 201, key=installation, body=model("CreateProject", name="Python"))
equal("a name in use", call("createProject", 409, key=installation, body=model("CreateProject", name="Python")).error, "already exists")
equal("the project", call("updateProject", 200, fresh.id, key=installation, body=model("UpdateProject", name="Snake")).name, "Snake")
call("deleteProject", 200, fresh.id, key=installation)

# The server.
equal("the server", call("getStatus", 200, key=None).status, "ok")
assert call("getReference", 200, key=None).startswith("<!DOCTYPE html>")
call("getOpenAPI", 200, key=None)
