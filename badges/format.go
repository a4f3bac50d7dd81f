package badges

import "encoding/json"

// A Format is the kind of document that a badge is.
type Format string

const (
	// SVG is a picture: [SVGDoc].
	SVG Format = "svg"
	// JSON is a document for a badge of one's own making: [JSONDoc].
	JSON Format = "json"
	// Shields is a document for the endpoint badge of Shields: [ShieldsDoc].
	Shields Format = "shields"
)

// Valid reports whether f is one of [SVG], [JSON] and [Shields].
func (f Format) Valid() bool {
	return f == SVG || f == JSON || f == Shields
}

// ContentType returns the media type of documents of the format, for the header
// Content-Type. It is "application/octet-stream" for an invalid format.
func (f Format) ContentType() string {
	switch f {
	case SVG:
		return "image/svg+xml"
	case JSON, Shields:
		return "application/json"
	}
	return "application/octet-stream"
}

// Document returns the badge of the format for the checks that sum counts. It
// has three states if late is true, and two otherwise. [JSON] does not show the
// label. The document of an invalid format is nil.
func (f Format) Document(label string, sum Summary, late bool) []byte {
	switch f {
	case SVG:
		return SVGDoc(label, sum.State(late))
	case JSON:
		return JSONDoc(sum, late)
	case Shields:
		return ShieldsDoc(label, sum.State(late))
	}
	return nil
}

// JSONDoc returns a JSON object with the state of the checks, under "status",
// and the counts of sum under "total", "grace" and "down". The counts are the
// same for badges of two and three states; late tells only whether the status
// can be "late".
func JSONDoc(sum Summary, late bool) []byte {
	return marshal(struct {
		Status State `json:"status"`
		Total  int   `json:"total"`
		Grace  int   `json:"grace"`
		Down   int   `json:"down"`
	}{sum.State(late), sum.Total, sum.Grace, sum.Down})
}

// ShieldsDoc returns a JSON object in the schema, version 1, of the endpoint
// badge of Shields. The color is "success" for [Up], "important" for [Late],
// "critical" for [Down] and "inactive" for any other state. Bytes of the label
// that are not UTF-8 are replaced by U+FFFD.
func ShieldsDoc(label string, s State) []byte {
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

// marshal encodes a value that cannot fail to encode: strings and integers.
func marshal(v any) []byte {
	document, err := json.Marshal(v)
	if err != nil {
		panic("badges: " + err.Error())
	}
	return document
}
