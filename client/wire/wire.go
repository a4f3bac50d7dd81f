// Package wire holds the JSON documents of the management API (API-V3.md section 2), which the server and the client
// share.
//
// [CheckCreate] and [CheckUpdate] are the bodies of requests; fields that are nil are left out:
//
//	update := wire.CheckUpdate{Name: new("backup"), Timeout: new(int64(3600))}
//	body, err := json.Marshal(wire.CheckCreate{CheckUpdate: update, Unique: []string{"name"}})
//
// All other documents are responses: [Check], [Ping], [Flip], [Channel], [BadgeSet] and the lists of them, [Status] and
// [Error]. Use encoding/json to read and write them.
//
// A server reads the body of a request with [ParseBody], which is stricter than encoding/json: keys match exactly, null
// is refused, and every error names the field.
//
//	body, err := wire.ParseBody(data)
//	update, err := body.Update()
//
// The package imports no other package of the module.
package wire

// Error is the body of every response with a status of 400 or above. API-V3.md section 7 leaves its form open.
type Error struct {
	// Error says what is wrong, for a person.
	Error string `json:"error"`
	// Field names the field or query parameter at fault, such as "grace". It is "" when none or several are.
	Field string `json:"field,omitempty"`
}

// Status is the response of a successful database connectivity test. API-V3.md section 4.13 leaves its form open.
type Status struct {
	Status string `json:"status"`
}

// Check is a check (API-V3.md section 2.1). Fields that some variants of the document lack are left out if they are
// empty.
type Check struct {
	Name  string `json:"name"`
	Slug  string `json:"slug"`
	Tags  string `json:"tags"`
	Desc  string `json:"desc"`
	Grace int64  `json:"grace"` // seconds

	Timeout  int64  `json:"timeout,omitempty"`  // seconds; Simple checks only
	Schedule string `json:"schedule,omitempty"` // Cron checks only
	TZ       string `json:"tz,omitempty"`       // Cron checks, and Simple ones with quiet hours

	NPings   int64  `json:"n_pings"`
	Status   string `json:"status"`
	Started  bool   `json:"started"`
	LastPing *Time  `json:"last_ping"`
	NextPing *Time  `json:"next_ping"`

	ManualResume      bool   `json:"manual_resume"`
	Methods           string `json:"methods"`
	StartKW           string `json:"start_kw"`
	SuccessKW         string `json:"success_kw"`
	FailureKW         string `json:"failure_kw"`
	FilterSubject     bool   `json:"filter_subject"`
	FilterBody        bool   `json:"filter_body"`
	FilterHTTPBody    bool   `json:"filter_http_body"`
	FilterDefaultFail bool   `json:"filter_default_fail"`

	// The alert rules are an extension by Rollcall, left out if they are not set.
	AlertAfter  int64  `json:"alert_after,omitempty"`  // failures in a row, up to 100
	RepeatEvery int64  `json:"repeat_every,omitempty"` // seconds
	QuietHours  string `json:"quiet_hours,omitempty"`  // windows in the form of package checks/quiet

	BadgeURL string `json:"badge_url"`

	UniqueKey string `json:"unique_key,omitempty"` // only with a read-only key

	// Left out with a read-only key.
	UUID      string  `json:"uuid,omitempty"`
	PingURL   string  `json:"ping_url,omitempty"`
	UpdateURL string  `json:"update_url,omitempty"`
	PauseURL  string  `json:"pause_url,omitempty"`
	ResumeURL string  `json:"resume_url,omitempty"`
	Channels  *string `json:"channels,omitempty"` // comma-separated integrations, "" for none

	// "" in the responses of create, update, pause, resume and delete, left out elsewhere.
	Subject     *string `json:"subject,omitempty"`
	SubjectFail *string `json:"subject_fail,omitempty"`
}

// Checks is the response of API-V3.md section 4.1.
type Checks struct {
	Checks []Check `json:"checks"`
}

// Ping is an entry of the ping log (API-V3.md section 2.2).
type Ping struct {
	Type       string   `json:"type"`
	Date       Micros   `json:"date"`
	N          int64    `json:"n"`
	Scheme     string   `json:"scheme"`
	RemoteAddr string   `json:"remote_addr"`
	Method     string   `json:"method"`
	UA         string   `json:"ua"`
	RID        *string  `json:"rid"`                // the run identifier, null if there is none
	Duration   *float64 `json:"duration,omitempty"` // seconds, in steps of 0.01; only on pings that end a run
	BodyURL    *string  `json:"body_url"`           // null if the ping has no body
}

// Pings is the response of API-V3.md section 4.8.
type Pings struct {
	Pings []Ping `json:"pings"`
}

// Flip is a status change (API-V3.md section 2.3). The response of section 4.10 is a bare array of them.
type Flip struct {
	Timestamp Time `json:"timestamp"`
	Up        int  `json:"up"` // 1 if the check went up, 0 if it went down
}

// Channel is an integration (API-V3.md section 2.4).
type Channel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Channels is the response of API-V3.md section 4.11.
type Channels struct {
	Channels []Channel `json:"channels"`
}

// BadgeSet holds the URLs of the badges of a tag (API-V3.md section 2.5). Those with a 3 in their name report three
// states.
type BadgeSet struct {
	SVG      string `json:"svg"`
	SVG3     string `json:"svg3"`
	JSON     string `json:"json"`
	JSON3    string `json:"json3"`
	Shields  string `json:"shields"`
	Shields3 string `json:"shields3"`
}

// Badges is the response of API-V3.md section 4.12, by tag. The tag "*" stands for all checks of the project.
type Badges struct {
	Badges map[string]BadgeSet `json:"badges"`
}
