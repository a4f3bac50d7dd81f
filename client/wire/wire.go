// Package wire holds the JSON documents of the management interface (API-V3.md section 2), shared by the server and
// the client.
//
// What the server sends are structs that encoding/json writes and reads: [Check], [Ping], [Flip], [Channel],
// [BadgeSet], and the lists of them. What it is sent are [CheckCreate] and [CheckUpdate], in which a field that is
// nil is left out:
//
//	body, err := json.Marshal(wire.CheckCreate{CheckUpdate: wire.CheckUpdate{Name: new("backup"), Timeout: new(int64(3600))}})
//
// The server reads them with [ParseBody], which is stricter than encoding/json: keys match exactly, null is refused,
// and every error names the field.
//
// The package is pure and imports nothing of the server.
package wire

// Error is the body of every response with a status of 400 or above. API-V3.md section 7 leaves its form open.
type Error struct {
	// Error says what is wrong, for a person.
	Error string `json:"error"`
	// Field names the field or query parameter at fault, such as "grace". It is "" when none or several are.
	Field string `json:"field,omitempty"`
}

// Status is the answer of the database connectivity test when the query succeeded (API-V3.md section 4.13). Its form
// is Rollcall's own.
type Status struct {
	Status string `json:"status"`
}

// Check is a check as API-V3.md section 2.1 shows it. Fields that are not in every variant of the document are left
// out when they are empty.
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

	// The alert rules are Rollcall's own, and left out where there are none.
	AlertAfter  int64  `json:"alert_after,omitempty"`  // failures in a row, up to 100
	RepeatEvery int64  `json:"repeat_every,omitempty"` // seconds
	QuietHours  string `json:"quiet_hours,omitempty"`  // windows in the form of package checks/quiet

	BadgeURL string `json:"badge_url"`

	UniqueKey string `json:"unique_key,omitempty"` // with a read-only key only

	// These are left out with a read-only key.
	UUID      string  `json:"uuid,omitempty"`
	PingURL   string  `json:"ping_url,omitempty"`
	UpdateURL string  `json:"update_url,omitempty"`
	PauseURL  string  `json:"pause_url,omitempty"`
	ResumeURL string  `json:"resume_url,omitempty"`
	Channels  *string `json:"channels,omitempty"` // integrations with commas between, "" for none

	// These are "" in the answers of create, update, pause, resume and delete, and left out elsewhere.
	Subject     *string `json:"subject,omitempty"`
	SubjectFail *string `json:"subject_fail,omitempty"`
}

// Checks is the answer of API-V3.md section 4.1.
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
	RID        *string  `json:"rid"`                // the run identifier, null when none
	Duration   *float64 `json:"duration,omitempty"` // seconds, in steps of 0.01; only on pings that ended a run
	BodyURL    *string  `json:"body_url"`           // null when the ping had no body
}

// Pings is the answer of API-V3.md section 4.8.
type Pings struct {
	Pings []Ping `json:"pings"`
}

// Flip is a status change (API-V3.md section 2.3). The answer of section 4.10 is a bare array of them.
type Flip struct {
	Timestamp Time `json:"timestamp"`
	Up        int  `json:"up"` // 1 when the check went up, 0 when it went down
}

// Channel is an integration (API-V3.md section 2.4).
type Channel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Channels is the answer of API-V3.md section 4.11.
type Channels struct {
	Channels []Channel `json:"channels"`
}

// BadgeSet holds the addresses of the badges of a tag (API-V3.md section 2.5). A 3 is in the names of those that
// report three states.
type BadgeSet struct {
	SVG      string `json:"svg"`
	SVG3     string `json:"svg3"`
	JSON     string `json:"json"`
	JSON3    string `json:"json3"`
	Shields  string `json:"shields"`
	Shields3 string `json:"shields3"`
}

// Badges is the answer of API-V3.md section 4.12, by tag; the tag "*" stands for all checks of the project.
type Badges struct {
	Badges map[string]BadgeSet `json:"badges"`
}
