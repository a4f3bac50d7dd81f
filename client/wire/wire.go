// Package wire holds the JSON documents of the management API (section 2 of the [API]), which the server and the client
// share.
//
// [Request] writes the body of a request from the settings that it gives:
//
//	body, err := wire.Request(checks.Spec{Name: new("backup"), Timeout: new(time.Hour)}, checks.UniqueName)
//
// The documents are responses: [Check], [Ping], [Flip], [Stats], [Channel], [BadgeSet] and the lists of them, [Status] and
// [Error]. Use encoding/json to read and write them. [ChannelDetail], [Project] and [StatusPage] are those of a key with the
// scope admin, with [ChannelRequest], [ProjectRequest] and [StatusPageRequest] for requests.
//
// Of this module, it imports only package checks.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package wire

// Error is the body of every response with a status of 400 or above.
type Error struct {
	// Error says what is wrong, for a person.
	Error string `json:"error"`
	// Field names the field or query parameter at fault, such as "grace". It is "" when none or several are.
	Field string `json:"field,omitempty"`
}

// Status is the response of a successful database connectivity test.
type Status struct {
	Status string `json:"status"`
}

// Ping is an entry of the ping log.
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

// Pings is the response of section 4.8 of the API.
type Pings struct {
	Pings []Ping `json:"pings"`
}

// Flip is a status change. The response of section 4.10 of the API is a bare array of them.
type Flip struct {
	Timestamp Time `json:"timestamp"`
	Up        int  `json:"up"` // 1 if the check went up, 0 if it went down
}

// Channel is a channel, an "integration" in section 2.4 of the API.
type Channel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Channels is the response of section 4.11 of the API.
type Channels struct {
	Channels []Channel `json:"channels"`
}

// BadgeSet holds the URLs of the badges of a tag. Those with a 3 in their name report three states.
type BadgeSet struct {
	SVG      string `json:"svg"`
	SVG3     string `json:"svg3"`
	JSON     string `json:"json"`
	JSON3    string `json:"json3"`
	Shields  string `json:"shields"`
	Shields3 string `json:"shields3"`
}

// Badges is the response of section 4.12 of the API, by tag. The tag "*" stands for all checks of the project.
type Badges struct {
	Badges map[string]BadgeSet `json:"badges"`
}
