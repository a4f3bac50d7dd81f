package discover

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// MarshalJSON writes a command that is not UTF-8 as "command_base64", and standard input as "stdin_base64".
func (j Job) MarshalJSON() ([]byte, error) {
	type plain Job // without this method
	doc := struct {
		plain
		Command       string `json:"command,omitempty"`
		CommandBase64 string `json:"command_base64,omitempty"`
		Stdin         string `json:"stdin,omitempty"`
		StdinBase64   string `json:"stdin_base64,omitempty"`
	}{plain: plain(j)}
	doc.Command, doc.CommandBase64 = textOrBase64(j.Command)
	doc.Stdin, doc.StdinBase64 = textOrBase64(j.Stdin)
	return json.Marshal(doc)
}

func textOrBase64(s string) (text, encoded string) {
	if utf8.ValidString(s) {
		return s, ""
	}
	return "", base64.StdEncoding.EncodeToString([]byte(s))
}
