const url = "https://rollcall.example.org/ping/UUID", limit = 100000;

let written = ""; // the end of the output
for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream);
  stream.write = (chunk, ...rest) => {
    written = (written + chunk).slice(-limit);
    return write(chunk, ...rest);
  };
}

async function send(to, body, redirects = 5) {
  const answer = await fetch(to, { method: "POST", body, redirect: "manual", signal: AbortSignal.timeout(5000) });
  const text = await answer.text(), next = answer.headers.get("location");
  if (next && redirects) return send(new URL(next, to), body, redirects - 1); // fetch makes a GET of some
  if (text !== "OK") throw new Error("status " + answer.status);
}

async function report(path) {
  const body = Buffer.from(written).subarray(-limit);
  let error;
  for (const pause of [1000, 2000, 0]) {
    try {
      return await send(url + path, body);
    } catch (e) { // a failed ping does not stop the job
      error = e;
      await new Promise(done => setTimeout(done, pause));
    }
  }
  console.error("ping failed:", String(error.cause || error));
}

async function job() {
  // Your code. Return or throw; process.exit() would skip the last ping.
}

(async () => {
  await report("/start");
  try {
    await job();
  } catch (e) {
    console.error(e);
    process.exitCode = 1;
  }
  await report("/" + (process.exitCode || 0));
})();
