package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// tolerance is the clock difference between sender and receiver that [Verify] accepts.
	tolerance = 5 * time.Minute

	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"

	// secretPrefix marks a secret in base64.
	secretPrefix = "whsec_"
	version      = "v1,"
)

// ErrSignature is the error of a request with a missing, wrong or outdated signature.
var ErrSignature = errors.New("webhook: invalid signature")

// Verify checks the Standard Webhooks signature of a request in a receiver: the sender knows the secret and sent the
// request within 5 minutes of now. The body is the raw, complete body. If secret holds several secrets, separated by
// spaces, any one of them may have signed.
//
// A bad signature is an error that wraps [ErrSignature] and says what is wrong; a malformed secret is another error. A
// verified request may be a retry: drop it if you have seen its webhook-id before.
func Verify(secret string, header http.Header, body []byte, now time.Time) error {
	keys, err := parseSecret(secret)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return errors.New("webhook: the secret is empty")
	}
	id, timestamp, signatures := header.Get(headerID), header.Get(headerTimestamp), header.Get(headerSignature)
	if id == "" || timestamp == "" || signatures == "" {
		return fmt.Errorf("%w: %s, %s or %s is missing", ErrSignature, headerID, headerTimestamp, headerSignature)
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: the timestamp is not a number", ErrSignature)
	}
	at := time.Unix(seconds, 0)
	if at.Before(now.Add(-tolerance)) || at.After(now.Add(tolerance)) {
		return fmt.Errorf("%w: the timestamp is more than %v off", ErrSignature, tolerance)
	}
	for signature := range strings.FieldsSeq(signatures) {
		for _, key := range keys {
			if hmac.Equal([]byte(signature), []byte(signatureV1(key, id, timestamp, string(body)))) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: no signature matches the secret", ErrSignature)
}

// sign sets the signature headers if there is a secret.
func sign(header http.Header, secret, id string, at time.Time, body string) error {
	keys, err := parseSecret(secret)
	if err != nil || len(keys) == 0 {
		return err
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		signatures[i] = signatureV1(key, id, timestamp, body)
	}
	header.Set(headerID, id)
	header.Set(headerTimestamp, timestamp)
	header.Set(headerSignature, strings.Join(signatures, " "))
	return nil
}

func signatureV1(key []byte, id, timestamp, body string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	return version + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func parseSecret(secret string) ([][]byte, error) {
	var keys [][]byte
	for text := range strings.FieldsSeq(secret) {
		key := []byte(text)
		if encoded, found := strings.CutPrefix(text, secretPrefix); found {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil || len(key) == 0 {
				return nil, errors.New("the secret is not base64 after " + secretPrefix) // the error may repeat the secret
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}
