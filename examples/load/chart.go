package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

// chart measures latency at several shares of the closed loop's rate, and draws it.
func (m *measurement) chart(ctx context.Context, p *process, own []round) error {
	rates := make([]float64, len(own))
	for i, r := range own {
		rates[i] = r.rate
	}
	most := median(rates)
	var points []outcome
	for _, share := range []float64{0.1, 0.25, 0.5, 0.65, 0.8, 0.9} {
		l := m.load(p)
		l.rate = share * most
		o, err := l.generate(ctx)
		if err != nil {
			return err
		}
		points = append(points, o)
	}
	title := fmt.Sprintf("Latency of a ping over load: %s, %d checks, %d connections", kindOf(m.Database), m.Checks, m.Connections)
	return os.WriteFile(m.SVG, drawLatency(title, points), 0o666)
}

// The area of the chart within its margins, in pixels.
const (
	chartLeft, chartTop     = 60, 40
	chartWidth, chartHeight = 560, 280
)

// drawLatency draws quantiles of latency over load as an SVG document. Latency is on a logarithmic scale from 0.1 ms
// to 1 s, because its tail is what is to be seen.
func drawLatency(title string, points []outcome) []byte {
	most := 1.0
	for _, p := range points {
		most = max(most, p.rate)
	}
	x := func(rate float64) float64 { return chartLeft + chartWidth*rate/most }
	y := func(latency time.Duration) float64 {
		decades := math.Log10(max(us(latency), 100) / 100) // above 0.1 ms
		return chartTop + chartHeight*(1-min(decades, 4)/4)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		chartLeft+chartWidth+80, chartTop+chartHeight+50)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="20" font-size="14">%s</text>`+"\n", chartLeft, escape(title))
	for exponent, label := range []string{"0.1 ms", "1 ms", "10 ms", "100 ms", "1 s"} {
		at := y(time.Duration(math.Pow10(exponent)) * 100 * time.Microsecond)
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			chartLeft, at, chartWidth, chartLeft-6, at+4, label)
	}
	for _, p := range points {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.0f</text>`+"\n", x(p.rate), chartTop+chartHeight+18, p.rate)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">pings a second</text>`+"\n", chartLeft+chartWidth/2, chartTop+chartHeight+40)
	for _, line := range []struct {
		share        float64
		label, color string
	}{{0.5, "p50", "#2a7ab8"}, {0.9, "p90", "#3a9a5b"}, {0.99, "p99", "#c8641b"}, {1, "max", "#999"}} {
		var at []string
		for _, p := range points {
			at = append(at, fmt.Sprintf("%.1f,%.1f", x(p.rate), y(p.quantile(line.share))))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(at, " "), line.color)
		last := points[len(points)-1]
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x(last.rate)+8, y(last.quantile(line.share))+4, line.color, line.label)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
