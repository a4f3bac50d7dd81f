package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// snsTopic matches the ARN of a topic: partition, region and name.
var snsTopic = regexp.MustCompile(`\Aarn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2}(?:-[a-z]+)+-\d):\d{12}:([\w-]{1,256}(?:\.fifo)?)\z`)

func snsService() service {
	return service{
		info: channels.Type{
			Kind: "sns", Title: "Amazon SNS", Category: channels.CategoryCustom,
			Doc: "Publishes to a topic of Amazon SNS, with the attributes status (up or down) and check (the UUID) for the " +
				"filters of subscriptions.",
			Setup: "In AWS, SNS > Topics shows the ARN of the topic. Create a user in IAM that may call sns:Publish on it, and create an " +
				"access key under Security credentials; the secret is shown once.",
			Settings: []channels.Setting{
				required("topic_arn", "The ARN of the topic, such as arn:aws:sns:eu-north-1:123456789012:alerts.",
					func(value string) error {
						if !snsTopic.MatchString(value) {
							return errors.New("is not the ARN of a topic, such as arn:aws:sns:eu-north-1:123456789012:alerts")
						}
						return nil
					}),
				required("access_key", "The ID of an access key that may publish to the topic.",
					pattern(`[A-Z0-9]{16,128}`, "is not the ID of an access key, such as AKIAIOSFODNN7EXAMPLE")),
				secret("secret_key", "The secret of the access key.", token),
			},
		},
		each: true, // the attribute check, for filters
		send: func(ctx context.Context, m *delivery) error {
			topic := snsTopic.FindStringSubmatch(m.settings["topic_arn"])
			if topic == nil {
				return errors.New("topic_arn is malformed")
			}
			partition, region := topic[1], topic[2]
			host := "sns." + region + ".amazonaws.com"
			if partition == "aws-cn" {
				host += ".cn"
			}
			answer, err := m.do(ctx, request{
				url:  "https://" + host + "/",
				form: snsPublish(m, strings.HasSuffix(topic[3], ".fifo")),
				sign: func(req *http.Request, body []byte) error {
					sum := sha256.Sum256(body)
					credentials := aws.Credentials{AccessKeyID: m.settings["access_key"], SecretAccessKey: m.settings["secret_key"]}
					return v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), "sns", region, m.now())
				},
			})
			return snsError(err, answer)
		},
	}
}

// snsPublish returns the parameters of the action Publish.
func snsPublish(m *delivery, fifo bool) url.Values {
	form := url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {m.settings["topic_arn"]},
		"Subject": {prose.Line(m.title, 98)}, // less than 100 characters
		"Message": {m.titleAndText()},

		"MessageAttributes.entry.1.Name":              {"status"},
		"MessageAttributes.entry.1.Value.DataType":    {"String"},
		"MessageAttributes.entry.1.Value.StringValue": {string(m.n.Status)},
		"MessageAttributes.entry.2.Name":              {"check"},
		"MessageAttributes.entry.2.Value.DataType":    {"String"},
		"MessageAttributes.entry.2.Value.StringValue": {m.n.Check.ID.String()},
	}
	if fifo {
		form.Set("MessageGroupId", m.n.Check.ID.String())
		form.Set("MessageDeduplicationId", m.n.ID)
	}
	return form
}

// snsError returns the error of an answer. Errors about the topic and the parameters are permanent.
func snsError(err error, answer []byte) error {
	var result struct {
		MessageID string `xml:"PublishResult>MessageId"`
		Code      string `xml:"Error>Code"`
	}
	parsed := xml.Unmarshal(answer, &result) == nil
	permanent := []string{"InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "ValidationError", "NotFound"}
	_, failed := errors.AsType[*outbound.StatusError](err)
	switch {
	case failed && parsed && slices.Contains(permanent, result.Code):
		return channels.Permanent(err)
	case err != nil:
		return err
	case !parsed || result.MessageID == "":
		return errAnswer
	}
	return nil
}
