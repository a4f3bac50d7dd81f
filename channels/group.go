package channels

// Group is the kind that stands for other channels of the project: each member gets the alert once.
const Group Kind = "group"

// GroupType returns the type of the kind [Group]. Monitors and package standard list it: a monitor delivers to the members.
func GroupType() Type {
	return Type{
		Kind: Group, Title: "Group of integrations", Category: CategoryGroups,
		Doc: "Stands for several other integrations of the project. Each gets the alerts to the group, " +
			"and none gets the same alert twice.",
		Settings: []Setting{{
			Name: "channels",
			Doc: "The names or IDs of the integrations, separated by commas, or * for all that exist now. " +
				"None of them can be a group.",
			Required: true, KeepsSecrets: true,
		}},
	}
}
