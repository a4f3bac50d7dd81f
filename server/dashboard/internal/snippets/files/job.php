<?php
const URL = "https://rollcall.example.org/ping/UUID", LIMIT = 100000;

function report(string $path, string $body = ""): void {
    $http = ["method" => "POST", "content" => substr($body, -LIMIT), "timeout" => 5, "header" => "Content-Type: text/plain"];
    foreach ([1, 2, 0] as $pause) {
        if (@file_get_contents(URL . $path, false, stream_context_create(["http" => $http])) !== false) {
            return;
        }
        sleep($pause);
    }
    fwrite(STDERR, "ping failed\n"); // and does not stop the job
}

function job(): void {
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
    report($path, $path === "/fail" ? $written . (error_get_last()["message"] ?? "") : $written);
});
job();
$path = "/0";
