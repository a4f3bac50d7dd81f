package wire

import "github.com/google/uuid"

// The documents of this file are extensions by Rollcall. Their endpoints need a key with the scope admin.

// ChannelDetail is a channel with its settings.
type ChannelDetail struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Settings has the values of the settings that are set and not secret.
	Settings map[string]string `json:"settings"`
	// Secrets names the secret settings that are set. No response has their values.
	Secrets []string `json:"secrets"`
	// Sources says where the values of some settings come from, such as "$NAME" for an environment variable. They are
	// among the Secrets.
	Sources map[string]string `json:"sources,omitempty"`
	// State says whether alerts arrive: "notified", "partial", "failing", "skipped", "undeliverable" or "empty".
	State string `json:"state"`
	// FailedAt is since when alerts do not arrive, or not all, null if they do. Error says why.
	FailedAt *Time  `json:"failed_at"`
	Error    string `json:"error"`
}

// ChannelRequest is the body of a request that creates or replaces a channel.
type ChannelRequest struct {
	// Kind is required to create a channel. To replace one, it may be "" or the kind that the channel has.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name"`
	// Settings replaces all settings. A secret setting that is left out keeps its value; "" removes it.
	Settings map[string]string `json:"settings"`
	// Sources says where the values of some settings come from, so that they are never shown. A setting that keeps its value
	// keeps its source.
	Sources map[string]string `json:"sources,omitempty"`
	// Unique may be ["name"] in a request that creates a channel: if the project has a channel with the name, the request
	// replaces its settings instead.
	Unique []string `json:"unique,omitempty"`
}

// ChannelKinds is the response with all kinds of channels.
type ChannelKinds struct {
	Kinds []ChannelKind `json:"kinds"`
}

// ChannelKind describes a kind of channels.
type ChannelKind struct {
	Kind     string `json:"kind"`
	Title    string `json:"title"`
	Category string `json:"category"`
	Doc      string `json:"doc"`
	// Setup says where the URL, token or key of a channel comes from. It may be empty.
	Setup string `json:"setup"`
	// Configured reports whether this server can deliver to channels of the kind.
	Configured bool `json:"configured"`
	// Privileged reports whether only a key of the installation may create and change channels of the kind.
	Privileged bool `json:"privileged"`
	// NeedsBrowser reports whether a required setting usually comes from a browser (see [ChannelSetting.NeedsBrowser]).
	NeedsBrowser bool             `json:"needs_browser"`
	Settings     []ChannelSetting `json:"settings"`
}

// ChannelSetting describes a setting of a kind of channels.
type ChannelSetting struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Required bool   `json:"required"`
	// Primary reports whether forms show the setting although it is not required.
	Primary bool   `json:"primary"`
	Secret  bool   `json:"secret"`
	Default string `json:"default"`
	// Options lists the values that the setting may have. It is empty if any text will do.
	Options []string `json:"options"`
	// KeepsSecrets reports whether the setting may change while secrets of the channel keep their values.
	KeepsSecrets bool `json:"keeps_secrets"`
	// Lines reports whether the value may have several lines.
	Lines bool `json:"lines"`
	// NeedsBrowser reports whether a click in a browser usually fills in the setting. A request gives the JSON of the
	// browser's PushSubscription instead.
	NeedsBrowser bool `json:"needs_browser"`
}

// Project is a project.
type Project struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Account string `json:"account"`
	Plan    string `json:"plan"`
	// MaxChecks is how many checks the project may have, or 0 for as many as its plan allows.
	MaxChecks int    `json:"max_checks"`
	PingKey   string `json:"ping_key"`
	// StormChecks is how many checks must go down, or come up, within StormWindow seconds for their alerts to be sent together, or
	// 0 for never.
	StormChecks int   `json:"storm_checks"`
	StormWindow int64 `json:"storm_window"`
}

// Projects is the response with the projects that a key may see.
type Projects struct {
	Projects []Project `json:"projects"`
}

// CreatedProject is the response of a request that creates a project. Its keys are shown this once.
type CreatedProject struct {
	Project
	APIKey         string `json:"api_key"`
	APIKeyReadOnly string `json:"api_key_readonly"`
}

// ProjectRequest is the body of a request that creates or changes a project. Only a new project needs a name. In a change, account,
// plan and max_checks may be left out or have the values that the project has.
type ProjectRequest struct {
	Name        *string `json:"name,omitempty"`
	Account     *string `json:"account,omitempty"`
	Plan        *string `json:"plan,omitempty"`
	MaxChecks   *int    `json:"max_checks,omitempty"`
	StormChecks *int    `json:"storm_checks,omitempty"`
	StormWindow *int64  `json:"storm_window,omitempty"`
}

// StatusPage is a status page.
type StatusPage struct {
	ID          string `json:"id"`
	Slug        string `json:"slug"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Tags        string `json:"tags"` // separated by spaces
	// Names has the public names of checks by their UUIDs.
	Names map[string]string `json:"names"`
	// MinOutage is how many seconds an outage must last to be published, or 0.
	MinOutage int64  `json:"min_outage"`
	URL       string `json:"url"`
}

// PublicNames returns the Names of the document of a status page.
func PublicNames(names map[uuid.UUID]string) map[string]string {
	texts := make(map[string]string, len(names))
	for id, name := range names {
		texts[id.String()] = name
	}
	return texts
}

// StatusPages is the response with the status pages of a project.
type StatusPages struct {
	StatusPages []StatusPage `json:"status_pages"`
}

// StatusPageRequest is the body of a request that creates or replaces a status page.
type StatusPageRequest struct {
	Slug        string `json:"slug"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Tags        string `json:"tags"` // separated by spaces
	// Names has the public names of checks by their UUIDs or slugs.
	Names     map[string]string `json:"names,omitempty"`
	MinOutage int64             `json:"min_outage,omitempty"` // in seconds
}
