package services_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/services"
)

const (
	snsPublished = `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult>` +
		`<MessageId>567910cd-659e-55d4-8ccb-5aaf14679dc0</MessageId></PublishResult></PublishResponse>`
	snsTopic = "arn:aws:sns:eu-north-1:123456789012:alerts"
)

func snsSample() sample {
	return sample{
		settings: values{"topic_arn": snsTopic, "access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": "s3cr3tX/K7MDENG/bPxRfiCYEXAMPLEKEY"},
		answers:  ok(snsPublished),
		rules:    snsRules,
		want: []request{{"POST", "https://sns.eu-north-1.amazonaws.com/", values{"Authorization": "AWS4-HMAC-SHA256 " +
			"Credential=AKIAIOSFODNN7EXAMPLE/20270115/eu-north-1/sns/aws4_request, SignedHeaders=content-length;content-type;host;x-amz-date, " +
			"Signature=" + snsSignature}, snsForm()}},
	}
}

// snsSignature is the signature of the sample, computed with hashlib and hmac of Python by the steps of
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
const snsSignature = "6bf3f347f4a44fe1d0d91faa5a4355db2c5ec57b5dbc94d748e03763679bbb18"

func snsForm() url.Values {
	return url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {snsTopic},
		"Subject": {title}, "Message": {unquote(full)},
		"MessageAttributes.entry.1.Name": {"status"}, "MessageAttributes.entry.1.Value.DataType": {"String"},
		"MessageAttributes.entry.1.Value.StringValue": {"down"},
		"MessageAttributes.entry.2.Name":              {"check"}, "MessageAttributes.entry.2.Value.DataType": {"String"},
		"MessageAttributes.entry.2.Value.StringValue": {"00000000-0000-0000-0000-000000000000"},
	}
}

func snsRefusal(status int, code string) *answer {
	return refuse(status, `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>`+
		code+`</Code><Message>as the test says</Message></Error></ErrorResponse>`)
}

// snsRules are those of https://docs.aws.amazon.com/sns/latest/api/API_Publish.html and CommonErrors.html.
func snsRules(r *http.Request, body any) *answer {
	form, _ := body.(url.Values)
	topic := form.Get("TopicArn")
	parts := strings.Split(topic, ":")
	domain := ".amazonaws.com"
	if parts[1] == "aws-cn" {
		domain += ".cn"
	}
	subject, fifo := form.Get("Subject"), strings.HasSuffix(topic, ".fifo")
	switch {
	case r.URL.Host != "sns."+parts[3]+domain || r.Method != http.MethodPost || r.URL.Path != "/":
		return snsRefusal(404, "UnknownOperation")
	case r.Header.Get("Authorization") != signSNS(r, form.Encode(), parts[3]):
		return snsRefusal(403, "SignatureDoesNotMatch")
	case form.Get("Action") != "Publish" || form.Get("Version") != "2010-03-31":
		return snsRefusal(400, "InvalidAction")
	case utf8.RuneCountInString(subject) >= 100 || regexp.MustCompile(`[[:cntrl:]]`).MatchString(subject):
		return snsRefusal(400, "InvalidParameter")
	case form.Get("Message") == "" || len(form.Get("Message")) > 262_144:
		return snsRefusal(400, "InvalidParameter")
	case fifo != form.Has("MessageGroupId"), len(form.Get("MessageGroupId")) > 128, len(form.Get("MessageDeduplicationId")) > 128:
		return snsRefusal(400, "InvalidParameter")
	}
	return nil
}

// signSNS returns the header that the key of the sample makes of the request.
func signSNS(r *http.Request, body, region string) string {
	req, err := http.NewRequest(r.Method, r.URL.String(), strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	sum := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "s3cr3tX/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, req, hex.EncodeToString(sum[:]), "sns", region, at); err != nil {
		return err.Error()
	}
	return req.Header.Get("Authorization")
}

func TestSNS(t *testing.T) {
	long := down()
	long.Check.Name = strings.Repeat("ž", 100)
	tests := []struct {
		name, topic string
		n           channels.Notification
		fifo        []string
	}{
		{"up", snsTopic, up(), []string{"", ""}},
		{"China", "arn:aws-cn:sns:cn-north-1:123456789012:alerts", down(), []string{"", ""}},
		{"GovCloud", "arn:aws-us-gov:sns:us-gov-west-1:123456789012:alerts", down(), []string{"", ""}},
		{"FIFO", snsTopic + ".fifo", down(), []string{"00000000-0000-0000-0000-000000000000", "n-1"}},
		{"long name", snsTopic, long, []string{"", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveSample(t, snsSample())
			settings := snsSample().settings
			settings["topic_arn"] = tt.topic
			if err := s.send("sns", settings, tt.n); err != nil {
				t.Fatal(err)
			}
			form := s.got[0].Body.(url.Values)
			if diff := cmp.Diff(tt.fifo, []string{form.Get("MessageGroupId"), form.Get("MessageDeduplicationId")}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSNSAnswers(t *testing.T) {
	testAnswers(t, snsSample(), "sns", []outcome{
		{"a page", answer{200, "<html></html>", nil}, true, false, 0},
		{"no message", answer{200, "<PublishResponse></PublishResponse>", nil}, true, false, 0},
		{"no such topic", *snsRefusal(404, "NotFound"), true, true, 0},
		{"a proxy's 404", answer{404, "<html>", nil}, true, false, 0},
		{"invalid", *snsRefusal(400, "InvalidParameter"), true, true, 0},
		{"not allowed", *snsRefusal(403, "AuthorizationError"), true, false, 0},
		{"wrong key", *snsRefusal(403, "InvalidClientTokenId"), true, false, 0},
		{"too fast", *snsRefusal(400, "Throttling"), true, false, 0},
		{"server error", *snsRefusal(500, "InternalFailure"), true, false, 0},
	})
	wrong := snsSample().settings
	wrong["secret_key"] = "wrong"
	err := serveSample(t, snsSample()).send("sns", wrong, down())
	if err == nil || channels.IsPermanent(err) || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Error(err)
	}
}

func TestSNSSettings(t *testing.T) {
	for _, topic := range []string{
		"alerts", "arn:aws:sqs:eu-north-1:123456789012:a", "arn:aws:sns:evil.org/:123456789012:a", "arn:aws:sns:eu-north-1:1:a",
		"arn:aws:sns:eu-north-1:123456789012:a:b", "arn:aws:sns:eu-north-1:123456789012:",
	} {
		settings := snsSample().settings
		settings["topic_arn"] = topic
		const want = "sns: topic_arn is not the ARN of a topic, such as arn:aws:sns:eu-north-1:123456789012:alerts"
		if _, err := channels.Validate(services.New(nil), "sns", settings, nil); fmt.Sprint(err) != want {
			t.Errorf("%s: %v", topic, err)
		}
	}
}
