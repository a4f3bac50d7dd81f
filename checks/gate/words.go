package gate

// Words says in words what keeps an alert back or has dropped it, such as "acknowledged by Anna", for the Why and the Name of a
// [Decision].
func (w Why) Words(name string) string {
	said := func(text string) string {
		if name == "" {
			return text
		}
		return text + ": " + name
	}
	switch w {
	case ByCheck:
		return "the check never alerts"
	case ByFailures:
		return "too few failures in a row"
	case ByRepeat:
		return "too early for a reminder"
	case BySnooze:
		return said("snoozed")
	case ByParent:
		return name + " is down or late, or has just come up"
	case ByAck:
		return "acknowledged by " + name
	case ByStep:
		return "a later step of the escalation policy"
	case ByQuiet:
		return "quiet hours"
	case ByStorm:
		return "will be sent together with other alerts"
	}
	return said(string(w))
}
