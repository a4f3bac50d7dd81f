package server

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/keywords"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/text"
)

// cutHeader is in a ping whose sender left out bytes of the middle of the body, and in the answer that returns such a body. Its
// value is their number.
const cutHeader = "Ping-Body-Cut"

// charsetParameter matches the parameter charset of a content type.
var charsetParameter = regexp.MustCompile(`(?i)\bcharset\s*=\s*["']?([^\s"';,]{1,100})`)

// readPingBody reads the body of a ping into a signal: what to store and, if that is something else, the text to search for
// keywords (server/API.md section 2.1.1).
func (s *Server) readPingBody(r *http.Request, b *body, signal *pings.Signal) error {
	kept, start, cut, err := b.readEnds(r.Context(), s.bodyLimit, keywords.MaxHTTPBody)
	if err != nil || len(kept) == 0 {
		return err
	}
	signal.Body, signal.BodyCut = kept, cut
	if already, err := strconv.ParseInt(r.Header.Get(cutHeader), 10, 64); err == nil && already > 0 && already < 1<<50 {
		signal.BodyCut += already
	}
	if cut > 0 && s.bodyLimit/2 < keywords.MaxHTTPBody {
		signal.Filtered = start
	}
	if encoding := strings.TrimSpace(r.Header.Get("Content-Encoding")); strings.EqualFold(encoding, "gzip") || strings.EqualFold(encoding, "x-gzip") {
		if inflated := text.Gunzip(kept[:pings.Head(int64(len(kept)), cut)], keywords.MaxHTTPBody); inflated != nil {
			start, signal.Filtered = inflated, inflated
		}
	}
	name := ""
	if m := charsetParameter.FindStringSubmatch(r.Header.Get("Content-Type")); m != nil {
		if name = m[1]; !text.Known(name) && s.unknownCharsets.Pass(name) {
			s.log.WarnContext(r.Context(), "a ping is in an unknown character set, and was read as it is", "charset", name)
		}
	}
	if signal.BodyCharset = text.Charset(name, start); signal.BodyCharset == "" {
		return nil
	}
	if decoded := text.Decode(signal.BodyCharset, start); decoded != string(start) {
		signal.Filtered = []byte(decoded)
	}
	return nil
}
