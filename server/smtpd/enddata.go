package smtpd

import "bytes"

// endFinder finds the end of a message if the library misses it. Programs that convert LF to CR LF twice send CR CR LF.
// The library does not take that for a line break and misses the end in CR CR LF . CR LF, so the client would wait
// forever for a reply.
//
// Only the goroutine that serves the connection calls its methods.
type endFinder struct {
	on     bool   // a message is being received after DATA
	tail   []byte // the last bytes that read returned
	held   []byte // received after the end of the message, not yet returned
	missed bool   // the library missed the end
}

var (
	endOfData = []byte("\r\n.\r\n")
	// closing ends the message for the library, which is at the start of a line after the missed end.
	closing = []byte(".\r\n")
)

func (f *endFinder) start() { *f = endFinder{on: true, held: f.held} }

// finish ends the message and returns it without the added closing.
func (f *endFinder) finish(message []byte) []byte {
	f.on = false
	if f.missed {
		return bytes.TrimSuffix(message, closing)
	}
	return message
}

// read calls the function read and returns its bytes up to the end of the message.
func (f *endFinder) read(b []byte, read func([]byte) (int, error)) (n int, err error) {
	if f.on && bytes.HasSuffix(f.tail, endOfData) {
		f.missed, f.tail = true, nil
		return copy(b, closing), nil
	}
	if len(f.held) > 0 {
		n = copy(b, f.held)
		f.held = f.held[n:]
	} else if n, err = read(b); err != nil {
		return n, err
	}
	if !f.on {
		return n, nil
	}
	seen := append(f.tail, b[:n]...)
	if end := bytes.Index(seen, endOfData); end >= 0 {
		end += len(endOfData)
		if rest := seen[end:]; len(rest) > 0 {
			f.held = append(bytes.Clone(rest), f.held...)
			n -= len(rest)
			seen = seen[:end]
		}
	}
	f.tail = bytes.Clone(seen[max(0, len(seen)-len(endOfData)):])
	return n, nil
}
