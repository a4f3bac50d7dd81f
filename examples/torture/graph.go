package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// panel is one of the graphs of a soak.
type panel struct {
	name    string
	value   func(sample) float64
	bounded bool // it must not grow with time
}

func (r *soakReport) panels() []panel {
	const mega = 1 << 20
	milliseconds := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	list := []panel{
		{"pings a second", func(s sample) float64 { return s.rate }, false},
		{"median latency, ms", func(s sample) float64 { return milliseconds(s.p50) }, false},
		{"p99 latency, ms", func(s sample) float64 { return milliseconds(s.p99) }, false},
		{"memory, MB", func(s sample) float64 { return float64(s.memory) / mega }, true},
		{"database, MB", func(s sample) float64 { return float64(s.files) / mega }, true},
	}
	for _, s := range r.samples {
		if s.goroutines > 0 {
			return append(list, panel{"goroutines", func(s sample) float64 { return s.goroutines }, true})
		}
	}
	return list
}

// Measures of the drawing.
const (
	graphWidth, panelHeight  = 720, 120
	marginLeft, marginRight  = 70, 20
	marginTop, marginBetween = 30, 34
)

// svg draws the samples, one graph below the other, each from zero to its highest value.
func (r *soakReport) svg(w io.Writer) error {
	panels := r.panels()
	height := marginTop + len(panels)*(panelHeight+marginBetween)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `, graphWidth, height)
	fmt.Fprintf(&b, `font-family="sans-serif" font-size="12">`+"\n")
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for i, p := range panels {
		r.panel(&b, p, marginTop+i*(panelHeight+marginBetween))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *soakReport) panel(b *strings.Builder, p panel, top int) {
	const width = graphWidth - marginLeft - marginRight
	most := 0.0
	for _, s := range r.samples {
		most = max(most, p.value(s))
	}
	if most == 0 {
		most = 1
	}
	end := r.samples[len(r.samples)-1].at
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", marginLeft, top-6, p.name)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%.4g</text>`+"\n", marginLeft-6, top+10, most)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">0</text>`+"\n", marginLeft-6, top+panelHeight)
	const right, bottom = marginLeft + width, panelHeight
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%v</text>`+"\n", right, top+bottom+14, end.Round(time.Second))
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#999"/>`+"\n", marginLeft, top, top+bottom, right)
	b.WriteString(`<polyline fill="none" stroke="#0a6" points="`)
	for _, s := range r.samples {
		x := float64(marginLeft) + float64(width)*s.at.Seconds()/end.Seconds()
		y := float64(top) + panelHeight*(1-p.value(s)/most)
		fmt.Fprintf(b, "%.1f,%.1f ", x, y)
	}
	b.WriteString(`"/>` + "\n")
}
