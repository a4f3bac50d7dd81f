package badges

import "testing"

// BenchmarkDocument draws a badge in each format.
func BenchmarkDocument(b *testing.B) {
	s := Summarize(func(yield func(string) bool) { yield("up") })
	for _, format := range []Format{SVG, JSON, Shields} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				format.Document("nightly backup", s, false)
			}
		})
	}
}
