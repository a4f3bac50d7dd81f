package channels_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

const secret = "hunter2"

func secretChannel() channels.Channel {
	return channels.Channel{
		ID:        uuid.MustParse("11111111-1111-4111-8111-111111111111"),
		ProjectID: uuid.MustParse("22222222-2222-4222-8222-222222222222"),
		Name:      "Phone",
		Kind:      channels.SMS,
		Settings:  map[string]string{"to": "+37120000000" + secret, "auth_token": secret},
	}
}

func TestChannelLogValue(t *testing.T) {
	var log bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	slog.New(slog.NewTextHandler(&log, options)).Info("sent", "channel", secretChannel())
	want := "level=INFO msg=sent channel.id=11111111-1111-4111-8111-111111111111" +
		" channel.project_id=22222222-2222-4222-8222-222222222222 channel.name=Phone channel.kind=sms" +
		" channel.settings=auth_token,to\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Error(diff)
	}
}

// TestChannelHidesSettings prints a channel in all the usual ways.
func TestChannelHidesSettings(t *testing.T) {
	c := secretChannel()
	nested := struct {
		Value   channels.Channel
		Pointer *channels.Channel
		List    []channels.Channel
	}{c, &c, []channels.Channel{c}}
	var texts []string
	for _, v := range []any{c, &c, nested, nested.List} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		document, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("", "v", v)
		texts = append(texts, string(document), log.String())
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			t.Errorf("a setting is shown: %s", text)
		}
	}
	want := `sms channel 11111111-1111-4111-8111-111111111111 "Phone" (settings: auth_token,to)`
	if diff := cmp.Diff(want, c.String()); diff != "" {
		t.Error(diff)
	}
}
