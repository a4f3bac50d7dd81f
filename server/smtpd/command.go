package smtpd

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/emersion/go-smtp"
)

// The library refuses commands that devices send although none of what it dislikes means anything for a ping: a greeting
// without a name, a sender that is no address, parameters that it does not know. It has no hook for them, so a connection
// passes it each command in a form that it takes. TLS is below that and therefore the connection's own.

const (
	// maxCommand is how long a command may be to be understood, in bytes. The library gets longer ones as they are, up to
	// longestCommand: its own limit is that of lines of a message.
	maxCommand, longestCommand = 4000, 1_000_000
	// maxIdle is how many commands a client may send without a message that is accepted, not counting those that name recipients
	// and deliver it, and maxNamed how many recipients it may name.
	maxIdle, maxNamed = 100, 1000
	// maxDropped is how long a chunk of a refused message may be, in bytes, for the connection to go on.
	maxDropped = 64 << 10
	// firstExtension begins the line after which the answer to EHLO offers STARTTLS.
	firstExtension = "250-PIPELINING\r\n"
)

var (
	greeting   = regexp.MustCompile(`(?i)^(HELO|EHLO)(\s|$)`)
	anyOrder   = regexp.MustCompile(`(?i)^(NOOP|QUIT|STARTTLS|VRFY)(\s|$)`)
	mailFrom   = regexp.MustCompile(`(?i)^MAIL\s+FROM\s*:?\s*(.*)$`)
	delivering = regexp.MustCompile(`(?i)^(DATA|BDAT|QUIT)(\s|$)`)
	emptyChunk = regexp.MustCompile(`(?i)^BDAT\s+0+(\s|$)`)
	rcptTo     = regexp.MustCompile(`(?i)^RCPT\s+TO\s*:?\s*(.*)$`)
	chunkSize  = regexp.MustCompile(`(?i)^BDAT\s+([0-9]+)\b`)
	dataWord   = regexp.MustCompile(`(?i)^DATA\s`)
	startTLS   = regexp.MustCompile(`(?i)^STARTTLS`)
	// parameter matches one at the end of a command, and size the one that says how long the message is.
	parameter = regexp.MustCompile(`\s+[A-Za-z0-9-]+(?:=\S*)?$`)
	size      = regexp.MustCompile(`(?i)\sSIZE=([0-9]{1,15})(?:\s|$)`)
	// simplePath matches an address that the library takes: of a usual form, in quotes or after a route.
	simplePath = regexp.MustCompile(`^(?:[^\s<>"(),:;\\\[\]@]+@[^\s<>@]+|".*"@[^\s<>]+|@[^\s<>:]+:[^\s<>]+@[^\s<>]+)?$`)
)

// commands reads the commands of a client.
type commands struct {
	in    []byte // received, not yet read
	out   []byte // to be read before anything else
	chunk int    // bytes of a chunk that follow
	long  int    // bytes of a long command, the rest of which follows
	fresh bool   // TLS has begun, and the client has not greeted the server since
	// chunks is the length of the message in chunks so far.
	chunks int64

	sender string // of MAIL, where the library gets none
	size   int64  // that MAIL announced, or 0
}

// Read returns commands one at a time, because the next bytes may be those of a message, and messages as they are.
func (c *conn) Read(b []byte) (n int, err error) {
	if c.over.Load() {
		return 0, io.EOF
	}
	if c.data.on {
		n, err = c.data.read(b, c.receive)
	} else {
		n, err = c.readCommand(b)
	}
	if err != nil {
		c.broken.Store(true)
	}
	return n, err
}

// receive reads bytes as the client sent them.
func (c *conn) receive(b []byte) (int, error) {
	if len(c.in) > 0 {
		n := copy(b, c.in)
		c.in = c.in[n:]
		return n, nil
	}
	return c.stream().Read(b)
}

func (c *conn) readCommand(b []byte) (int, error) {
	if held := c.data.held; len(held) > 0 { // what followed a message
		c.in, c.data.held = append(held, c.in...), nil
	}
	for len(c.out) == 0 {
		if c.chunk > 0 {
			n, err := c.receive(b[:min(len(b), c.chunk)])
			c.chunk -= n
			return n, err
		}
		end := bytes.IndexByte(c.in, '\n') + 1
		switch {
		case end > 0 && c.long > 0, end > maxCommand:
			if err := c.countIdle(); err != nil {
				return 0, err
			}
			c.out, c.in, c.long = c.in[:end], c.in[end:], 0
		case end > 0:
			line := string(c.in[:end])
			c.in = c.in[end:]
			if err := c.command(line); err != nil {
				return 0, err
			}
		case c.long > longestCommand:
			return 0, smtp.ErrTooLongLine // the library answers 500 and closes the connection
		case len(c.in) > maxCommand:
			c.out, c.in, c.long = c.in, nil, c.long+len(c.in)
		default:
			more := make([]byte, maxCommand)
			n, err := c.stream().Read(more)
			if c.in = append(c.in, more[:n]...); err != nil {
				return 0, err
			}
		}
	}
	n := copy(b, c.out)
	c.out = c.out[n:]
	return n, nil
}

// command passes a command to the library, or starts TLS.
func (c *conn) command(line string) error {
	text := strings.Trim(line, " \t\r\n")
	if err := c.count(text); err != nil {
		return err
	}
	switch {
	case startTLS.MatchString(text) && c.offersTLS():
		return c.secure()
	case greeting.MatchString(text):
		c.fresh = false
		text = text[:len("EHLO")] + " " + cmp.Or(strings.TrimSpace(text[len("EHLO"):]), "unknown")
	case c.fresh && !anyOrder.MatchString(text):
		text = "HELP" // is refused; the next greeting ends what was before TLS
	case chunkSize.MatchString(text):
		size, err := strconv.ParseInt(chunkSize.FindStringSubmatch(text)[1], 10, 64)
		if err != nil { // digits, but too many
			size = math.MaxInt32
		}
		if err := c.mayChunk(size); err != nil {
			return err
		}
		c.chunk = int(size)
	case mailFrom.MatchString(text):
		address, parameters := splitPath(mailFrom.FindStringSubmatch(text)[1])
		c.sender, c.size, c.chunks = "", 0, 0
		if m := size.FindStringSubmatch(parameters + " "); m != nil {
			c.size, _ = strconv.ParseInt(m[1], 10, 64)
		}
		if !simplePath.MatchString(address) {
			c.sender, address = address, ""
		}
		text = "MAIL FROM:<" + address + ">"
	case rcptTo.MatchString(text):
		address, _ := splitPath(rcptTo.FindStringSubmatch(text)[1])
		text = "RCPT TO:<" + address + ">"
	case dataWord.MatchString(text):
		text = "DATA"
	}
	c.out = []byte(text + "\r\n")
	return nil
}

// count counts a command. A client that sends many and no message must connect again.
func (c *conn) count(text string) error {
	switch {
	case rcptTo.MatchString(text):
		if c.named.Add(1) > maxNamed {
			return c.dismiss("421 4.7.0 Too many recipients without a message")
		}
		return nil
	case delivering.MatchString(text) && !emptyChunk.MatchString(text):
		return nil
	}
	return c.countIdle()
}

func (c *conn) countIdle() error {
	if c.idle.Add(1) > maxIdle {
		return c.dismiss("421 4.7.0 Too many commands without a message")
	}
	return nil
}

// delivered begins to count commands again, because the client has delivered a message.
func (c *conn) delivered() {
	c.idle.Store(0)
	c.named.Store(0)
}

// mayChunk ends the connection instead of a long chunk that the library would read only to drop it.
func (c *conn) mayChunk(size int64) error {
	size = min(size, math.MaxInt32)
	tooLarge, dropped := c.chunks+size > c.server.config.MaxReceivedBytes, !c.hasRecipients.Load()
	c.chunks += size
	switch {
	case !tooLarge && !dropped:
		return nil
	case size <= maxDropped:
		return c.countIdle()
	case dropped:
		return c.dismiss("503 5.5.1 There is no recipient")
	}
	refusal := c.server.refuse(c, errTooLarge, "", c.chunks)
	return c.dismiss(fmt.Sprintf("%d 5.3.4 %s", refusal.Code, refusal.Message))
}

// dismiss sends a last answer and ends the connection.
func (c *conn) dismiss(answer string) error {
	c.lingers.Store(true)
	c.over.Store(true)
	if _, err := c.stream().Write([]byte(answer + "\r\n")); err != nil {
		return err
	}
	return io.EOF
}

// splitPath splits the argument of MAIL or RCPT: an address, in angle brackets or not, perhaps after a name, and parameters.
func splitPath(text string) (address, parameters string) {
	if open := strings.IndexByte(text, '<'); open >= 0 {
		address, rest := text[open+1:], ""
		quoted := false
		for i := range len(address) {
			if address[i] == '"' && (i == 0 || address[i-1] != '\\') {
				quoted = !quoted
			}
			if address[i] == '>' && !quoted {
				address, rest = address[:i], address[i+1:]
				break
			}
		}
		return strings.TrimSpace(address), rest
	}
	address = text
	for {
		end := parameter.FindStringIndex(address)
		if end == nil || !strings.Contains(address[end[0]:], "=") && !strings.Contains(address[:end[0]], "@") {
			return strings.TrimSpace(address), text[len(address):]
		}
		address = address[:end[0]]
	}
}

// Write sends an answer of the library, which does not know about TLS.
func (c *conn) Write(b []byte) (int, error) {
	if string(b) == firstExtension && c.offersTLS() {
		if _, err := c.stream().Write([]byte("250-STARTTLS\r\n")); err != nil {
			return 0, err
		}
	}
	return c.stream().Write(b)
}

func (c *conn) offersTLS() bool { return c.server.config.TLS != nil && c.tls == nil }

// secure starts TLS. It drops what the client sent before it knew the server.
func (c *conn) secure() error {
	if _, err := c.Conn.Write([]byte("220 2.0.0 Ready to start TLS\r\n")); err != nil {
		return err
	}
	over := tls.Server(c.Conn, c.server.config.TLS)
	if err := over.Handshake(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tls, c.in, c.fresh = over, nil, true
	return nil
}

// stream is the connection to read from and to write to.
func (c *conn) stream() interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
} {
	if c.tls != nil {
		return c.tls
	}
	return c.Conn
}
