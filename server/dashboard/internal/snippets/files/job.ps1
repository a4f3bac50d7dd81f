$url = "https://rollcall.example.org/ping/UUID"
function Report($path, $body = "") {
    try { # without MaximumRedirection, a redirected POST would become a GET
        $answer = Invoke-RestMethod -Uri "$url$path" -Method Post -Body $body -TimeoutSec 5 -MaximumRedirection 0 -ErrorAction Stop
        if ($answer -ne "OK") { throw "the answer is not OK" }
    }
    catch { Write-Warning "ping failed: $($_.Exception.Message)" } # and does not stop the job
}

Report "/start"
& C:\job.exe 2>&1 | Tee-Object -Variable written
$status = $LASTEXITCODE
$text = $written | Out-String
$path = if ($null -eq $status -or $status -lt 0 -or $status -gt 255) { "/fail" } else { "/$status" }
Report $path $text.Substring([Math]::Max(0, $text.Length - 100000))
exit $status
