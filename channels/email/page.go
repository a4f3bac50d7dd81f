package email

// pageTemplate is the HTML part. Mail programs ignore style sheets, so each element has its styles.
const pageTemplate = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family: sans-serif; color: #222; margin: 1em;">
<h1 style="font-size: 1.2em; border-left: 6px solid {{if .Down}}#c62828{{else}}#2e7d32{{end}}; padding-left: 0.5em;">
{{- .Title}}</h1>
{{- if .Verdict}}
<p>{{.Verdict}}</p>
{{- end}}
{{- if .Rows}}
<table style="border-collapse: collapse;">
{{- range .Rows}}
<tr style="vertical-align: top;"><th style="text-align: left; padding: 2px 1em 2px 0; white-space: nowrap;">{{.Label}}</th><td>{{.Value}}</td></tr>
{{- end}}
</table>
{{- end}}
{{- range .Groups}}
<h2 style="font-size: 1em; margin: 1em 0 0.3em;">{{.Reason}}</h2>
<ul style="margin: 0; padding-left: 1.5em;">
{{- range .Checks}}
<li style="padding: 2px 0;">{{if .URL}}<a href="{{.URL}}">{{.Name}}</a>{{else}}<b>{{.Name}}</b>{{end}} <span style="color: #777;">since {{.Since}}</span></li>
{{- end}}
{{- if .More}}
<li style="padding: 2px 0;">and {{.More}} more</li>
{{- end}}
</ul>
{{- end}}
{{- if .URL}}
<p><a href="{{.URL}}">{{.URL}}</a></p>
{{- end}}
{{- if .AckURL}}
<p><a href="{{.AckURL}}" style="display: inline-block; padding: 0.5em 1em; border: 1px solid #777; border-radius: 4px;">I have it</a></p>
{{- end}}
{{- if .Desc}}
<p style="white-space: pre-wrap;">{{.Desc}}</p>
{{- end}}
{{- if .Output}}
<p>{{.OutputTitle}}</p>
<pre style="background: #f4f4f4; padding: 0.5em; white-space: pre-wrap;">{{.Output}}</pre>
{{- end}}
{{- if .Earlier}}
<p>Changes not reported before:</p>
<ul>
{{- range .Earlier}}
<li>{{.}}</li>
{{- end}}
</ul>
{{- end}}
<p style="color: #777; font-size: 0.9em;">{{.Footer}}</p>
</body>
</html>
`
