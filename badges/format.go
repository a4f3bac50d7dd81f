package badges

import "encoding/json"

// A Format is the kind of a badge's document.
type Format string

const (
	// SVG is a picture, made by [RenderSVG].
	SVG Format = "svg"
	// JSON is a document for custom badges, made by [RenderJSON].
	JSON Format = "json"
	// Shields is a document for the endpoint badge of Shields, made by [RenderShields].
	Shields Format = "shields"
)

// Valid reports whether f is one of [SVG], [JSON] and [Shields].
func (f Format) Valid() bool {
	return f == SVG || f == JSON || f == Shields
}

// ContentType returns the media type of the format's documents, or "application/octet-stream" for an invalid format.
func (f Format) ContentType() string {
	switch f {
	case SVG:
		return "image/svg+xml"
	case JSON, Shields:
		return "application/json"
	}
	return "application/octet-stream"
}

// Document returns the badge in this format for the checks in sum: with three states if late is true, otherwise with
// two. [JSON] does not show the label. The document of an invalid format is nil.
func (f Format) Document(label string, sum Summary, late bool) []byte {
	switch f {
	case SVG:
		return RenderSVG(label, sum.State(late))
	case JSON:
		return RenderJSON(sum, late)
	case Shields:
		return RenderShields(label, sum.State(late))
	}
	return nil
}

// RenderJSON returns a JSON object with the state of the checks as "status" and the counts of sum as "total", "grace" and
// "down". The counts do not depend on late, which only allows the status "late".
func RenderJSON(sum Summary, late bool) []byte {
	return marshal(struct {
		Status State `json:"status"`
		Total  int   `json:"total"`
		Grace  int   `json:"grace"`
		Down   int   `json:"down"`
	}{sum.State(late), sum.Total, sum.Grace, sum.Down})
}

// RenderShields returns the JSON object of a Shields endpoint badge, schema version 1. The color is "success" for [Up],
// "important" for [Late], "critical" for [Down] and "inactive" for any other state. Invalid UTF-8 in the label becomes
// U+FFFD.
func RenderShields(label string, s State) []byte {
	color := "inactive"
	switch s {
	case Up:
		color = "success"
	case Late:
		color = "important"
	case Down:
		color = "critical"
	}
	return marshal(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       State  `json:"message"`
		Color         string `json:"color"`
	}{1, label, s, color})
}

// marshal encodes strings and integers, which cannot fail.
func marshal(v any) []byte {
	document, err := json.Marshal(v)
	if err != nil {
		panic("badges: " + err.Error())
	}
	return document
}
