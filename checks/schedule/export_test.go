package schedule

import (
	"maps"
	"slices"
)

// AdvisedZones returns the zones that errors suggest.
func AdvisedZones() []string {
	return slices.AppendSeq(slices.Collect(maps.Values(places)), maps.Values(abbreviations))
}
