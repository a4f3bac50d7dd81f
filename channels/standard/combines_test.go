package standard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
)

// TestCombines lists which kinds send one message about the checks of a storm, and which send one for each check.
func TestCombines(t *testing.T) {
	types, err := standard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var combine, each []string
	for _, info := range types {
		if info.Combines {
			combine = append(combine, string(info.Kind))
		} else {
			each = append(each, string(info.Kind))
		}
		if _, keeps := info.Notifier.(channels.IncidentNotifier); keeps && info.Combines {
			t.Errorf("%s keeps incidents and combines", info.Kind)
		}
	}
	slices.Sort(combine)
	slices.Sort(each)
	if diff := cmp.Diff(strings.Fields(`apprise bark call dingtalk discord email googlechat gotify ifttt join lark line matrix mattermost
		nextcloudtalk notifiarr ntfy pushbullet rocketchat signal slack sms teams telegram webex webpush wecom whatsapp zulip`), combine); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(strings.Fields(`alertmanager github gitlab goalert group homeassistant ilert incidentio jsm mqtt opsgenie pagerduty
		pushover shell sns splunkoncall webhook`), each); diff != "" {
		t.Error(diff)
	}
}
