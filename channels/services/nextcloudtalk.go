package services

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func nextcloudtalkService() service {
	return service{
		info: channels.Type{
			Kind: "nextcloudtalk", Title: "Nextcloud Talk", Category: channels.CategoryChat,
			Doc: "Posts to Nextcloud Talk. Credentials are either username and password, or bot_secret for a bot with the " +
				"feature response (occ talk:bot:install) that is enabled in the conversations.",
			Setup: "In Nextcloud, create an app password under Personal settings > Security. The token of a conversation is the end of its " +
				"address.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the Nextcloud server, such as https://cloud.example.org.", serverWithout("/ocs", "/index.php"))),
				required("rooms", "The tokens of the conversations, such as n3xtc10ud of https://cloud.example.org/call/n3xtc10ud, "+
					"separated by commas.",
					each(pattern(`[a-z0-9]{4,30}`, "has an item that is not the token of a conversation"))),
				primary(optional("username", "The ID of the user.", user)),
				primary(notRequired(secret("password", "An app password of the user.", nil))),
				notRequired(secret("bot_secret", "The secret of the bot.", nil)),
				withDefault(choice("silent", "yes sends without a notification.", "yes", "no"), "no"),
			},
			Check: checkNextcloudTalk,
		},
		escape: talkEscape,
		limit:  16_000, // of 32,000 characters
		send: func(ctx context.Context, m *delivery) error {
			if err := checkNextcloudTalk(m.settings); err != nil {
				return err
			}
			return m.each("rooms", func(room string) error { return sendNextcloudTalk(ctx, m, room) })
		},
	}
}

func checkNextcloudTalk(settings map[string]string) *channels.SettingError {
	switch {
	case settings["bot_secret"] != "" && settings["username"] != "":
		return conflict("bot_secret", "username")
	case settings["bot_secret"] != "":
		return nil
	case settings["username"] == "":
		return &channels.SettingError{Setting: "username", Reason: "and bot_secret are both missing"}
	case settings["password"] == "":
		return missing("password", "username")
	}
	return nil
}

func sendNextcloudTalk(ctx context.Context, m *delivery, room string) error {
	text := m.titleAndText()
	path := []string{"ocs", "v2.php", "apps", "spreed", "api", "v1"}
	header := map[string]string{"OCS-APIRequest": "true", "Accept": "application/json"}
	if key := m.settings["bot_secret"]; key != "" {
		path = append(path, "bot", room, "message")
		random := make([]byte, 32)
		rand.Read(random)
		header["X-Nextcloud-Talk-Bot-Random"] = hex.EncodeToString(random)
		header["X-Nextcloud-Talk-Bot-Signature"] = sign(key, header["X-Nextcloud-Talk-Bot-Random"]+text)
	} else {
		path = append(path, "chat", room)
		m.authorize(header)
	}
	res, answer, err := m.fetch(ctx, request{
		url:    join(m.settings["server_url"], path...),
		header: header,
		json:   map[string]any{"message": text, "silent": m.settings["silent"] == "yes"},
	})
	if err == nil && res.StatusCode != http.StatusCreated { // such as a page to sign in
		return errAnswer
	}
	status, failed := errors.AsType[*outbound.StatusError](err)
	if failed && status.Status == http.StatusRequestEntityTooLarge {
		var result struct {
			OCS *struct{} `json:"ocs"`
		}
		if json.Unmarshal(answer, &result) == nil && result.OCS != nil {
			return channels.Permanent(err)
		}
	}
	return err
}

// sign returns the HMAC with SHA-256 of text, in hexadecimal.
func sign(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// talkEscape escapes the Markdown of Nextcloud Talk, and separates mentions and tags. Its clients encode < before they
// look for escapes.
func talkEscape(text string) string {
	pairs := []string{"@", "@" + gap, "<", "<" + gap}
	for _, c := range "\\*_~`|[]#!" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
