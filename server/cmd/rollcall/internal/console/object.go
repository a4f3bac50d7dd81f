package console

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object whose members keep their order.
type Object []Member

// Member is a member of an [Object].
type Member struct {
	Name  string
	Value any
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(m.Name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := encoder.Encode(m.Value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
