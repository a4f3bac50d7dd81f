package main

import "slices"

// body shows what a request may have in its body.
func (v viewer) body(b requestBody) (*bodyView, error) {
	b, err := resolve(b.Ref, b, v.Components.RequestBodies)
	if err != nil {
		return nil, err
	}
	about, err := phrase(b.Description)
	if err != nil {
		return nil, err
	}
	media := b.Content[0]
	view := &bodyView{About: about, Type: media.Key, Ref: componentName(media.Value.Schema.Ref)}
	if view.Ref == "" {
		return view, nil
	}
	s, err := resolve(media.Value.Schema.Ref, schema{}, v.Components.Schemas)
	if err != nil {
		return nil, err
	}
	view.Fields, err = fields(s)
	return view, err
}

// fields shows the properties of an object.
func fields(s schema) ([]fieldView, error) {
	var list []fieldView
	for _, property := range s.Properties {
		about, err := phrase(property.Value.Description)
		if err != nil {
			return nil, err
		}
		list = append(list, fieldView{
			Name: property.Key, Required: slices.Contains(s.Required, property.Key),
			Rule: describe(property.Value), About: about,
		})
	}
	return list, nil
}

func (v viewer) answers(responses ordered[response]) ([]answerView, error) {
	var list []answerView
	for _, r := range responses {
		resolved, err := resolve(r.Value.Ref, r.Value, v.Components.Responses)
		if err != nil {
			return nil, err
		}
		answer := answerView{Code: r.Key}
		if answer.About, err = phrase(resolved.Description); err != nil {
			return nil, err
		}
		for _, h := range resolved.Headers {
			head, err := resolve(h.Value.Ref, h.Value, v.Components.Headers)
			if err != nil {
				return nil, err
			}
			about, err := phrase(head.Description)
			if err != nil {
				return nil, err
			}
			answer.Headers = append(answer.Headers, fieldView{Name: h.Key, Rule: describe(head.Schema), About: about})
		}
		for _, media := range resolved.Content {
			content, err := contentOf(media)
			if err != nil {
				return nil, err
			}
			answer.Contents = append(answer.Contents, content)
		}
		list = append(list, answer)
	}
	return list, nil
}

func contentOf(media entry[mediaType]) (contentView, error) {
	c := contentView{Type: media.Key, Rule: describe(media.Value.Schema)}
	examples := media.Value.Examples
	if !media.Value.Example.IsZero() {
		examples = ordered[example]{{Value: example{Value: media.Value.Example}}}
	}
	for _, e := range examples {
		text, err := show(&e.Value.Value)
		if err != nil {
			return c, err
		}
		c.Examples = append(c.Examples, exampleView{e.Value.Summary, text})
	}
	return c, nil
}

func (v viewer) schema(name string, s schema) (schemaView, error) {
	view := schemaView{Name: name, Rule: describe(s)}
	var err error
	if view.About, err = prose(s.Description); err != nil {
		return view, err
	}
	if view.Fields, err = fields(s); err != nil {
		return view, err
	}
	for _, base := range s.AllOf {
		view.Extends = componentName(base.Ref)
	}
	if view.Extends != "" && len(s.Required) > 0 {
		view.Kinds = append(view.Kinds, kindView{"Always", s.Required})
	}
	for _, kind := range s.OneOf {
		view.Kinds = append(view.Kinds, kindView{kind.Title, kind.Required})
	}
	return view, nil
}
