package job

import (
	"context"
	"io"
	"log/slog"
	"slices"
)

// maxOutput bounds the bytes of output that a run keeps.
const maxOutput = defaultBodyLimit

// runKey is the key of a [Run] in a context.
type runKey struct{}

// Output returns a writer for the output of the run that ctx belongs to, such as that of a command. The ping that ends
// the run carries the output; of more than 100,000 bytes, the beginning and the end. Without a run, the writer discards. It is safe for
// concurrent use and never fails.
func Output(ctx context.Context) io.Writer {
	if r, ok := ctx.Value(runKey{}).(*Run); ok {
		return r.output
	}
	return io.Discard
}

// logHandler is the handler that [NewLogHandler] returns.
type logHandler struct {
	next    slog.Handler
	options slog.HandlerOptions
	text    []func(slog.Handler) slog.Handler // the calls of WithAttrs and WithGroup
}

// NewLogHandler returns a handler that writes the records of a run to its [Output], as a [slog.TextHandler] does, and
// passes all records on to next, which may be [slog.DiscardHandler]. A record belongs to the run of its context: use
// [slog.InfoContext] and the like. The options are those of the text handler for the output of runs; nil selects the
// defaults. The level of next is its own.
//
// A logger for [slog.SetDefault] must not have the handler of the initial [slog.Default] as next: that one writes to
// package log, which then writes to the default logger, without end. Use [slog.NewTextHandler] instead.
func NewLogHandler(next slog.Handler, options *slog.HandlerOptions) slog.Handler {
	h := &logHandler{next: next}
	if options != nil {
		h.options = *options
	}
	return h
}

// collects reports whether the output of the run of ctx, if there is one, has records with a level.
func (h *logHandler) collects(ctx context.Context, level slog.Level) bool {
	least := slog.LevelInfo
	if h.options.Level != nil {
		least = h.options.Level.Level()
	}
	return level >= least && Output(ctx) != io.Discard
}

// Enabled reports whether the next handler or the output of the run handles records with this level.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.collects(ctx, level) || h.next.Enabled(ctx, level)
}

// Handle writes a record to the output of the run and passes it on. The error is that of the next handler.
func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	if h.collects(ctx, record.Level) {
		var text slog.Handler = slog.NewTextHandler(Output(ctx), &h.options)
		for _, wrap := range h.text {
			text = wrap(text)
		}
		_ = text.Handle(ctx, record) // writing to an Output does not fail
	}
	if !h.next.Enabled(ctx, record.Level) {
		return nil
	}
	return h.next.Handle(ctx, record)
}

// WithAttrs returns a handler whose records have the attributes too.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = slices.Clone(attrs)
	return h.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup returns a handler that puts the attributes that follow into a group.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (h *logHandler) with(wrap func(slog.Handler) slog.Handler) slog.Handler {
	derived := *h
	derived.next = wrap(h.next)
	derived.text = append(slices.Clip(h.text), wrap)
	return &derived
}
