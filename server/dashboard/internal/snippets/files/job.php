<?php
const URL = "https://rollcall.example.org/ping/UUID", LIMIT = 100000;

function send($to, $body, $redirects = 5) { // PHP would make a GET of a redirected POST
    $http = ["method" => "POST", "content" => $body, "timeout" => 5, "header" => "Content-Type: text/plain", "follow_location" => 0];
    $answer = @fopen($to, "r", false, stream_context_create(["http" => $http]));
    foreach ($answer && $redirects ? stream_get_meta_data($answer)["wrapper_data"] : [] as $line) {
        if (preg_match('/^Location: *(\S+)/i', $line, $next)) {
            $host = $next[1][0] === "/" ? implode("/", array_slice(explode("/", $to), 0, 3)) : "";
            return send($host . $next[1], $body, $redirects - 1);
        }
    }
    return $answer && stream_get_contents($answer) === "OK";
}

function report($path, $body = "") {
    foreach ([1, 2, 0] as $pause) {
        try {
            if (send(URL . $path, substr($body, -LIMIT))) {
                return;
            }
        } catch (Throwable $e) { // a failed ping does not stop the job
        }
        sleep($pause);
    }
    fwrite(STDERR, "ping failed\n");
}

function job() {
    // Your code. Return or throw; exit() counts as a failure.
}

report("/start");
$written = ""; // the end of the output
ob_start(function (string $chunk) use (&$written) {
    $written = substr($written . $chunk, -LIMIT);
    return $chunk;
}, 1);
$path = "/fail";
register_shutdown_function(function () use (&$path, &$written) {
    $error = error_get_last();
    report($path, $path === "/fail" && $error ? $written . $error["message"] : $written);
});
job();
$path = "/0";
