package smtpd

import "bytes"

// endFinder finds the end of a message after DATA where the library does not: it takes CR CR LF for the middle of a line,
// and then does not know the end in CR CR LF . CR LF. Programs that turn LF into CR LF once too often send just that,
// and would wait for an answer in vain.
//
// It works on connections without TLS. All its methods are called by the goroutine that serves the connection.
type endFinder struct {
	on     bool   // a message is received after DATA
	tail   []byte // the last bytes that were passed on of it
	held   []byte // what has come after its end, and is not passed on yet
	missed bool   // the library has not known its end
}

var (
	endOfData = []byte("\r\n.\r\n")
	// closing ends the message for the library, which is at the start of a line after an end that it has missed.
	closing = []byte(".\r\n")
)

// start begins a message.
func (f *endFinder) start() { *f = endFinder{on: true, held: f.held} }

// finish ends it and returns the message without what was added to close it.
func (f *endFinder) finish(message []byte) []byte {
	f.on = false
	if f.missed {
		return bytes.TrimSuffix(message, closing)
	}
	return message
}

// read passes on what read returns, and no more at once than up to the end of the message.
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
