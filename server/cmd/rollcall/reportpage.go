package main

import "html/template"

// reportPage is the report as a page that loads nothing. A day that was up is a light bar, one that was down in part a
// lower dark bar, one that was down a high dark bar, and one that was not watched a line.
var reportPage = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Project}}, {{.Month}}</title>
<style>
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; }
p { margin: .25rem 0 1.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { padding: .4rem .75rem .4rem 0; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 11rem; }
th:nth-child(2) { text-align: left; }
tfoot td { font-weight: 600; border-bottom: 0; }
svg { display: block; }
.up { fill: #7cb98f; } .part { fill: #b3541e; } .down { fill: #8f1d1d; } .none { fill: #888; }
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; } * { print-color-adjust: exact; } }
</style>
</head>
<body>
<h1>{{.Project}}, {{.Month}}</h1>
<p>Until {{.Until}}. Days are those of UTC. Time in which a check was paused or new does not count for its availability.</p>
<div class="wide">
<table>
<thead><tr><th>Check</th><th>Days</th><th>Runs</th><th>Failed</th><th>Availability</th><th>Down</th><th>Unwatched</th><th>Mean</th><th>Shortest</th><th>Longest</th></tr></thead>
<tbody>
{{- range .Checks}}
<tr><td>{{.Title}}</td><td><svg width="310" height="16" role="img" aria-label="Days">{{range .Days}}<rect class="{{.Class}}" x="{{.X}}" y="{{.Y}}" width="8" height="{{.Height}}"><title>{{.Text}}</title></rect>{{end}}</svg></td>{{range .Columns}}<td>{{.}}</td>{{end}}</tr>
{{- else}}
<tr><td colspan="10">No check existed in this month.</td></tr>
{{- end}}
</tbody>
<tfoot><tr><td>All checks</td><td></td>{{range .All.Columns}}<td>{{.}}</td>{{end}}</tr></tfoot>
</table>
</div>
<p>A light bar is a day up, a low dark bar a day that was down in part, a high dark bar a day down, a line a day that was not watched.</p>
</body>
</html>
`))
