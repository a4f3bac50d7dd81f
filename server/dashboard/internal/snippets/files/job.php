<?php
const URL = "https://rollcall.example.org/ping/UUID", LIMIT = 100000;

function report($path, $body = "") {
    $http = ["method" => "POST", "content" => substr($body, -LIMIT), "timeout" => 5, "header" => "Content-Type: text/plain"];
    foreach ([1, 2, 0] as $pause) {
        try {
            if (@file_get_contents(URL . $path, false, stream_context_create(["http" => $http])) !== false) {
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
